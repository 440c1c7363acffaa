/* The public face of the library: what include/interlude.h promises. */
#include "plan_files.h"

#include "decide/reply.h"
#include "interlude.h"

#include <stdalign.h>

static alignas(16) char work[INTERLUDE_WORK_BYTES + INTERLUDE_REQUEST_BYTES_MAX + 1];

static struct interlude_plan *demo(void)
{
    size_t count = 99;
    struct interlude_plan *plan =
        interlude_plan_load(interlude_demo_plan(), strlen(interlude_demo_plan()), NULL, 0, &count);
    assert_non_null(plan);
    assert_int_equal(count, 0);
    return plan;
}

static void a_plan_is_loaded(void **state)
{
    (void)state;
    struct interlude_plan *plan = demo();
    assert_string_equal(interlude_plan_version(plan), "demo-1");
    assert_int_equal(strspn(interlude_plan_fingerprint(plan), "0123456789abcdef"), 12);
    assert_int_equal(strlen(interlude_plan_fingerprint(plan)), 12);
    interlude_plan_free(plan);
    interlude_plan_free(NULL);
}

/* So many errors, that not all of them are kept; and room for fewer. */
static void errors_are_told_in_order_and_counted(void **state)
{
    (void)state;
    static char text[4096];
    size_t len = 0;
    for (int i = 0; i < 100; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "x%d: 1\n", i);
    struct interlude_error errors[70];
    for (size_t max = 0; max <= 70; max += 7) {
        size_t count = 0;
        memset(errors, 0x5a, sizeof errors);
        assert_null(interlude_plan_load(text, len, max ? errors : NULL, max, &count));
        assert_in_range(count, 101, 120); /* and keys are missing */
        for (size_t i = 0; i < 70; i++) {
            if (i >= max || i >= PLAN_ERRORS_MAX) {
                assert_int_equal(errors[i].line, 0x5a5a5a5a);
                continue;
            }
            assert_string_equal(errors[i].code, "plan_invalid");
            assert_string_equal(errors[i].pointer, "");
            if (i > 0) assert_true(errors[i].line >= errors[i - 1].line);
        }
    }
    assert_null(interlude_plan_load("a: [b\n", 6, errors, 1, NULL));
    assert_int_equal(errors[0].line, 2);
    assert_true(strlen(errors[0].text) > 0);
    size_t count = 0;
    assert_null(interlude_plan_load(NULL, 0, NULL, 0, &count));
    assert_true(count > 0);
}

#define NOW INT64_C(1796025600123000)
#define SESSION                                                                                 \
    "\"session\":{\"elapsed_s\":1830,\"tracks_played\":9,\"seconds_since_last_break_end\":915," \
    "\"breaks_in_session\":1,\"ads_last_hour\":5,\"ad_seconds_last_hour\":55,\"tier\":\"free\"}"

static int ask(const struct interlude_plan *plan, const char *text, struct interlude_decision *out,
               struct interlude_error *error)
{
    return interlude_decide(plan, text, strlen(text), NOW, work, sizeof work, out, error);
}

static void every_part_of_a_decision_is_told(void **state)
{
    (void)state;
    struct interlude_plan *plan = demo();
    struct interlude_decision d;
    struct interlude_error e;
    assert_int_equal(ask(plan, "{\"variant\":\"bayes\"," SESSION "}", &d, &e), 0);
    assert_string_equal(d.variant, "bayes");
    assert_string_equal(d.assignment, "caller");
    assert_string_equal(d.policy, "promoted");
    assert_string_equal(d.action, "pod_1");
    assert_string_equal(d.wanted, "pod_2");
    assert_string_equal(d.posteriors, "absent");
    assert_string_equal(d.state, "complete");
    assert_int_equal(d.ads, 1);
    assert_int_equal(d.max_duration_s, 30);
    assert_int_equal(d.cooldown_s, 360);
    assert_int_equal(ask(plan, "{\"variant\":\"x\"}", &d, NULL), 0);
    assert_string_equal(d.variant, "unknown");
    assert_string_equal(d.state, "partial");
    interlude_plan_free(plan);
}

static void what_is_refused(void **state)
{
    (void)state;
    static char long_text[INTERLUDE_REQUEST_BYTES_MAX + 2];
    struct interlude_plan *plan = demo();
    struct interlude_decision d, before;
    struct interlude_error e;
    memset(&d, 0x5a, sizeof d);
    before = d;

    assert_int_equal(ask(plan, "{\"session\":3}", &d, &e), -1);
    assert_string_equal(e.code, "field_type");
    assert_string_equal(e.pointer, "/session");
    assert_true(strlen(e.text) > 0);
    assert_int_equal(ask(plan, "{\"a\":1,}", &d, &e), -1);
    assert_string_equal(e.code, "json_syntax");
    assert_int_equal(e.offset, 7);
    assert_int_equal(ask(plan, "{\"a\":1,}", &d, NULL), -1);

    const char *empty = "{}";
    static const struct {
        int64_t now_us;
        size_t work_less;
        const char *code; /* NULL: it is decided */
    } rows[] = {
        {NOW, 0, NULL},
        {NOW, 1, "limit"},
        {0, 0, NULL},
        {INT64_C(-62167219200000000), 0, NULL},
        {INT64_C(-62167219200000001), 0, "limit"},
        {INT64_C(253402300799999999), 0, NULL},
        {INT64_C(253402300800000000), 0, "limit"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct interlude_decision out = before;
        int code = interlude_decide(plan, empty, 2, rows[i].now_us, work,
                                    INTERLUDE_WORK_BYTES + 2 - rows[i].work_less, &out, &e);
        assert_int_equal(code, rows[i].code ? -1 : 0);
        if (rows[i].code) assert_string_equal(e.code, rows[i].code);
        if (rows[i].code) assert_memory_equal(&out, &before, sizeof out);
    }

    memset(long_text, ' ', sizeof long_text);
    memcpy(long_text, empty, 2);
    struct interlude_decision out;
    assert_int_equal(interlude_decide(plan, long_text, INTERLUDE_REQUEST_BYTES_MAX, NOW, work,
                                      sizeof work, &out, &e),
                     0);
    assert_int_equal(interlude_decide(plan, long_text, INTERLUDE_REQUEST_BYTES_MAX + 1, NOW, work,
                                      sizeof work, &d, &e),
                     -1);
    assert_string_equal(e.code, "body_too_large");
    assert_memory_equal(&d, &before, sizeof d);
    interlude_plan_free(plan);
}

/* The answer's bytes, in a buffer of just their size; a byte less is too few. */
static void the_answer_is_the_servers(void **state)
{
    (void)state;
    static const struct {
        const char *request, *time;
    } rows[] = {
        {"{\"request_id\":\"r\"," SESSION "}", "\"decided_at\":\"2026-11-30T08:00:00.123Z\""},
        {"{\"time\":\"2026-01-02T03:04:05Z\"}", "\"decided_at\":\"2026-01-02T03:04:05.000Z\""},
        {"{\"explain\":true}", "\"considered\":["},
    };
    struct interlude_plan *plan = demo();
    struct interlude_error e;
    static char first[INTERLUDE_ANSWER_BYTES_MAX + 1], second[INTERLUDE_ANSWER_BYTES_MAX];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = rows[i].request;
        size_t len = 0, again = 0;
        assert_int_equal(interlude_decide_json(plan, text, strlen(text), NOW, work, sizeof work,
                                               first, sizeof second, &len, &e),
                         0);
        first[len] = 0;
        assert_int_equal(first[0], '{');
        assert_int_equal(first[len - 1], '}');
        assert_non_null(strstr(first, rows[i].time));
        assert_int_equal(interlude_decide_json(plan, text, strlen(text), NOW, work, sizeof work,
                                               second, len, &again, &e),
                         0);
        assert_int_equal(again, len);
        assert_memory_equal(first, second, len);
        assert_int_equal(interlude_decide_json(plan, text, strlen(text), NOW, work, sizeof work,
                                               second, len - 1, &again, &e),
                         -1);
        assert_string_equal(e.code, "limit");
        assert_int_equal(again, len);
    }
    size_t len = 7;
    assert_int_equal(
        interlude_decide_json(plan, "{", 1, NOW, work, sizeof work, first, 10, &len, &e), -1);
    assert_string_equal(e.code, "json_syntax");
    assert_int_equal(len, 7);
    interlude_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_loaded),
        cmocka_unit_test(errors_are_told_in_order_and_counted),
        cmocka_unit_test(every_part_of_a_decision_is_told),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(the_answer_is_the_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
