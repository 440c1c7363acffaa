/* What the list of signals says, and which of them are constant. */
#include "lab/signals_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum err_code read_list(const char *json, struct signals_list *out, struct err *e)
{
    static char scratch[65536];
    return signals_list_read(span_of(json), scratch, out, e);
}

#define SITE(name, state, expected)                                                       \
    "{\"name\":\"" name "\",\"state\":\"" state "\",\"expected\":\"" expected             \
    "\",\"level\":\"warning\",\"fired\":12,\"opportunities\":345,\"written\":1,"          \
    "\"dropped\":2,\"suppressed\":3,\"outranked\":4,\"queued\":2,\"share\":0.25,"         \
    "\"recent\":{\"fired\":6,\"opportunities\":7,\"x\":[]},"                              \
    "\"cost\":{\"records_per_second\":1.5,\"lines_per_second\":2,\"bytes_per_second\":3," \
    "\"other\":null}}"

static void a_list_is_read(void **state)
{
    (void)state;
    struct signals_list list;
    struct err e;
    assert_int_equal(
        read_list("{\"started_at\":\"2026\",\"other\":[{}],\"signals\":[" SITE(
                      "a\\u0062", "normal", "rare") "," SITE("c", "quiet", "never") "]}\n",
                  &list, &e),
        ERR_OK);
    assert_int_equal(list.count, 2);
    assert_true(span_is(list.started_at, "2026"));
    const struct signals_site *s = signals_list_find(&list, SPAN("ab"));
    assert_non_null(s);
    assert_int_equal(s->fired, 12);
    assert_int_equal(s->opportunities, 345);
    assert_int_equal(s->recent_fired, 6);
    assert_int_equal(s->recent_opportunities, 7);
    assert_int_equal(signals_site_settled(s), 10);
    assert_true(s->share == 0.25 && s->records_per_s == 1.5 && s->lines_per_s == 2);
    assert_true(span_is(signals_list_find(&list, SPAN("c"))->state, "quiet"));
    assert_null(signals_list_find(&list, SPAN("b")));
}

static void what_is_no_list_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"signals\":[]}",
        "{\"signals\":{}}",
        "{\"signals\":[1]}",
        "{\"signals\":[{}]}",
        "{\"signals\":[{\"name\":\"a\",\"state\":\"normal\"}]}",
        "{\"signals\":[{\"name\":1,\"state\":\"normal\",\"expected\":\"rare\"}]}",
        "{\"signals\":[{\"name\":\"a\",\"state\":\"s\",\"expected\":\"r\",\"fired\":-1}]}",
        "{\"signals\":[{\"name\":\"a\",\"state\":\"s\",\"expected\":\"r\",\"fired\":1.5}]}",
        "{\"signals\":[{\"name\":\"a\",\"state\":\"s\",\"expected\":\"r\",\"cost\":1}]}",
        "{\"signals\":[{\"name\":\"a\",\"state\":\"s\",\"expected\":\"r\",\"recent\":1}]}",
        "{\"started_at\":1,\"signals\":[{\"name\":\"a\",\"state\":\"s\",\"expected\":\"r\"}]}",
        "{\"signals\":[{\"name\":\"a\",\"state\":\"s\",\"expected\":\"r\",\"share\":\"1\"}]}",
        "{\"signals\":[{\"name\":\"a\",\"state\":\"s\",\"expected\":\"r\"}]",
        "{\"signals\":[{\"name\":\"a\",\"state\":\"s\",\"expected\":\"r\"}]} x",
        "<html>",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct signals_list list = {.count = -7};
        struct err e;
        if (read_list(texts[i], &list, &e) == ERR_OK) fail_msg("%s", texts[i]);
        assert_int_equal(list.count, -7);
        assert_true(e.text[0] != '\0');
    }
}

static void too_many_are_refused(void **state)
{
    (void)state;
    static char text[SIGNALS_CHECK_SITES_MAX * 100 + 200];
    for (int more = 0; more < 2; more++) {
        strcpy(text, "{\"signals\":[");
        for (int i = 0; i < SIGNALS_CHECK_SITES_MAX + more; i++)
            strcat(text, i ? ",{\"name\":\"a\",\"state\":\"s\",\"expected\":\"r\"}"
                           : "{\"name\":\"a\",\"state\":\"s\",\"expected\":\"r\"}");
        strcat(text, "]}");
        struct signals_list list;
        struct err e;
        assert_int_equal(read_list(text, &list, &e) == ERR_OK, !more);
    }
}

static void a_verdict_takes_evidence(void **state)
{
    (void)state;
    static const struct {
        const char *state, *expected;
        uint64_t fired, opportunities;
        enum signals_verdict verdict;
        bool looks_constant;
    } rows[] = {
        {"constant", "rare", 5000, 5000, SIGNALS_CONSTANT, false},
        {"constant", "never", 5000, 90000, SIGNALS_CONSTANT, false}, /* since not long ago */
        {"constant", "per_request", 5000, 5000, SIGNALS_EXEMPT, false},
        {"constant", "always", 5, 5, SIGNALS_EXEMPT, false},
        {"normal", "always", 1, 1, SIGNALS_EXEMPT, false},
        /* The windows of a young server are not over. */
        {"normal", "rare", 5000, 5000, SIGNALS_TOO_YOUNG, true},
        {"normal", "never", 990, 1000, SIGNALS_TOO_YOUNG, true},
        {"normal", "rare", 989, 1000, SIGNALS_FINE, false},
        {"quiet", "rare", 0, 1000, SIGNALS_FINE, false},
        {"normal", "rare", 999, 999, SIGNALS_TOO_FEW, true},
        {"normal", "rare", 20, 20, SIGNALS_TOO_FEW, true},
        {"normal", "rare", 19, 19, SIGNALS_TOO_FEW, false},
        {"normal", "rare", 500, 999, SIGNALS_TOO_FEW, false},
        {"quiet", "never", 0, 0, SIGNALS_TOO_FEW, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct signals_site site = {.state = span_of(rows[i].state),
                                          .expected = span_of(rows[i].expected),
                                          /* what was long ago is not asked */
                                          .fired = 1000000,
                                          .opportunities = 1000000,
                                          .recent_fired = rows[i].fired,
                                          .recent_opportunities = rows[i].opportunities,
                                          .share = 0.995};
        struct signals_judgement j = signals_site_judge(&site);
        if (j.verdict != rows[i].verdict || j.looks_constant != rows[i].looks_constant)
            fail_msg("row %zu", i);
        if (j.verdict == SIGNALS_CONSTANT) assert_true(j.share == 0.995);
    }
}

static void a_verdict_between_two_looks(void **state)
{
    (void)state;
    static const struct {
        uint64_t fired, opportunities;
        const char *expected;
        enum signals_verdict verdict;
        bool looks_constant;
    } rows[] = {
        {1000, 1000, "rare", SIGNALS_CONSTANT, false},
        {990, 1000, "rare", SIGNALS_CONSTANT, false},
        {989, 1000, "rare", SIGNALS_FINE, false},
        {999, 999, "rare", SIGNALS_TOO_FEW, true},
        {1000, 1000, "never", SIGNALS_CONSTANT, false},
        {1000, 1000, "per_request", SIGNALS_EXEMPT, false},
        {5000, 5000, "always", SIGNALS_EXEMPT, false},
        {0, 100000, "rare", SIGNALS_FINE, false},
        {0, 999, "rare", SIGNALS_TOO_FEW, false},
        {0, 0, "rare", SIGNALS_TOO_FEW, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct signals_site before = {.fired = 70, .opportunities = 90};
        /* The server's own verdict is of another time, and is not asked. */
        const struct signals_site after = {.state = SPAN("constant"),
                                           .expected = span_of(rows[i].expected),
                                           .fired = 70 + rows[i].fired,
                                           .opportunities = 90 + rows[i].opportunities};
        struct signals_judgement j = signals_site_judge_between(&before, &after);
        if (j.verdict != rows[i].verdict || j.looks_constant != rows[i].looks_constant)
            fail_msg("row %zu", i);
        assert_int_equal(j.fired, rows[i].fired);
        assert_int_equal(j.opportunities, rows[i].opportunities);
    }
}

/* The story's own fault was printed as "looks constant so far (171 of 171)", and passed. */
static void what_looks_constant_does_not_pass(void **state)
{
    (void)state;
    static const struct {
        const char *state, *expected;
        uint64_t fired, opportunities;
        bool passes, leniently, where_required, both;
    } rows[] = {
        {"constant", "rare", 5000, 5000, false, false, false, false},
        {"normal", "rare", 5000, 5000, false, false, false, false}, /* too young */
        {"normal", "rare", 171, 171, false, true, false, false},
        {"normal", "never", 20, 20, false, true, false, false},
        {"normal", "rare", 19, 19, true, true, false, false},
        {"normal", "rare", 0, 999, true, true, false, false},
        {"quiet", "never", 0, 0, true, true, false, false},
        {"normal", "rare", 5, 1000, true, true, true, true},
        {"normal", "per_request", 171, 171, true, true, true, true},
        {"constant", "always", 5000, 5000, true, true, true, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct signals_site site = {.state = span_of(rows[i].state),
                                          .expected = span_of(rows[i].expected),
                                          .recent_fired = rows[i].fired,
                                          .recent_opportunities = rows[i].opportunities};
        struct signals_judgement j = signals_site_judge(&site);
        if (signals_judgement_passes(&j, false, false) != rows[i].passes ||
            signals_judgement_passes(&j, true, false) != rows[i].leniently ||
            signals_judgement_passes(&j, false, true) != rows[i].where_required ||
            signals_judgement_passes(&j, true, true) != rows[i].both)
            fail_msg("row %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_read),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(a_verdict_takes_evidence),
        cmocka_unit_test(a_verdict_between_two_looks),
        cmocka_unit_test(what_looks_constant_does_not_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
