/* What the list of signals says, and which of them are stuck. */
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
    "\"cost\":{\"records_per_second\":1.5,\"lines_per_second\":2,\"bytes_per_second\":3," \
    "\"other\":null}}"

static void a_list_is_read(void **state)
{
    (void)state;
    struct signals_list list;
    struct err e;
    assert_int_equal(
        read_list("{\"other\":[{}],\"signals\":[" SITE("a\\u0062", "normal", "rare") "," SITE(
                      "c", "quiet", "never") "]}\n",
                  &list, &e),
        ERR_OK);
    assert_int_equal(list.count, 2);
    const struct signals_site *s = signals_list_find(&list, SPAN("ab"));
    assert_non_null(s);
    assert_int_equal(s->fired, 12);
    assert_int_equal(s->opportunities, 345);
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

static void stuck_is_against_what_is_declared(void **state)
{
    (void)state;
    static const struct {
        const char *state, *expected;
        bool stuck;
    } rows[] = {
        {"constant", "rare", true}, {"constant", "never", true}, {"constant", "per_request", false},
        {"normal", "never", false}, {"quiet", "rare", false},    {"constant", "always", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct signals_site site = {.state = span_of(rows[i].state),
                                          .expected = span_of(rows[i].expected)};
        assert_int_equal(signals_site_stuck(&site), rows[i].stuck);
    }
}

static void stuck_between_two_looks(void **state)
{
    (void)state;
    static const struct {
        uint64_t fired, opportunities;
        const char *expected;
        bool stuck;
    } rows[] = {
        {1000, 1000, "rare", true},
        {990, 1000, "rare", true},
        {989, 1000, "rare", false},
        {999, 999, "rare", false},
        {1000, 1000, "never", true},
        {1000, 1000, "per_request", false},
        {5000, 5000, "always", false},
        {0, 100000, "rare", false},
        {0, 0, "rare", false},
        {(uint64_t)-50, 2000, "rare", false}, /* another process: it counts from 0 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct signals_site before = {.fired = 70, .opportunities = 90};
        const struct signals_site after = {.expected = span_of(rows[i].expected),
                                           .fired = 70 + rows[i].fired,
                                           .opportunities = 90 + rows[i].opportunities};
        if (signals_site_stuck_between(&before, &after) != rows[i].stuck) fail_msg("row %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_read),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(stuck_is_against_what_is_declared),
        cmocka_unit_test(stuck_between_two_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
