/* What is made of runs that are already there; load_run_test.c makes some. */
#include "lab/pairs_run.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static struct load_target targets[] = {
    {.url = "http://127.0.0.1:1"}, {.url = "http://127.0.0.1:2"}, {.url = "http://127.0.0.1:3"}};
static double bar = 1.05;
static char memory[PAIRS_BYTES_MAX];

static struct pairs_options options(enum pairs_metric metric)
{
    return (struct pairs_options){
        .load = {.targets = targets, .target_count = 2, .shape = {.duration_ns = 10000000000}},
        .pairs = 20,
        .metric = metric,
        .bar = &bar};
}

/* 20 pairs in which B takes `b` times what A takes, falling; `ab_out` and `aa_out` of them are left
 * out because the generator was late. */
static void result_make(struct pairs_result *r, double b, size_t ab_out, size_t aa_out)
{
    *r = (struct pairs_result){.pairs = 20, .bottlenecks = ab_out + aa_out};
    for (size_t i = 0; i < 20; i++) {
        double noise = 1.01 - 0.001 * (double)i;
        r->ab.ratios[i] = i < ab_out ? NAN : b * noise;
        r->aa.ratios[i] = i < aa_out ? NAN : noise;
    }
    r->ab.late = ab_out;
    r->aa.late = aa_out;
}

static const char *text_of(const struct pairs_options *o, const struct pairs_result *r)
{
    struct buf b = buf_of(memory, sizeof memory - 1);
    pairs_print(&b, o, r);
    assert_false(b.full);
    memory[b.len] = 0;
    return memory;
}

static json_t *json_of(const struct pairs_options *o, const struct pairs_result *r)
{
    struct buf b = buf_of(memory, sizeof memory);
    pairs_json(&b, o, r);
    assert_false(b.full);
    json_error_t error;
    json_t *value = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, &error);
    if (!value) fail_msg("%s in %.*s", error.text, (int)b.len, b.data);
    return value;
}

static void assert_json_text(json_t *of, const char *key, const char *expected)
{
    json_t *value = json_object_get(of, key);
    assert_non_null(value);
    if (expected)
        assert_string_equal(json_string_value(value), expected);
    else
        assert_true(json_is_null(value));
}

static const struct {
    double b;
    size_t ab_out, aa_out;
    uint64_t failed;
    enum pairs_verdict verdict;
    enum pairs_bar bar;
    const char *why, *told; /* NULL: not void; whatever the text says */
} rows[] = {
    {1.2, 0, 0, 0, PAIRS_SLOWER, PAIRS_MISSED, NULL, "slower\nbar 1.05: missed\n"},
    {0.8, 0, 0, 0, PAIRS_FASTER, PAIRS_MET, NULL, "faster\nbar 1.05: met\n"},
    {1, 0, 0, 0, PAIRS_NO_DIFFERENCE, PAIRS_MET, NULL, "no difference\n"},
    {1.05, 0, 0, 0, PAIRS_SLOWER, PAIRS_NOT_RESOLVED, NULL, "slower\nbar 1.05: not resolved\n"},
    {1.2, 2, 1, 0, PAIRS_SLOWER, PAIRS_MISSED, NULL,
     "3 of 40 pairs left out because the generator was late\n"},
    {0.8, 14, 0, 0, PAIRS_FASTER, PAIRS_MET, NULL, "of 6 pairs"},
    {0.8, 15, 0, 0, PAIRS_VOID, PAIRS_NOT_RESOLVED, "too few pairs",
     "void\nbar 1.05: not resolved\n15 of 40 pairs left out"},
    {0.8, 0, 15, 0, PAIRS_VOID, PAIRS_NOT_RESOLVED, "too few pairs", "lower --rate"},
    {1.2, 0, 0, 1, PAIRS_VOID, PAIRS_BAR_VOID, "failed requests", "void\nbar 1.05: void\nvoid: in"},
    {0.8, 0, 0, 1, PAIRS_VOID, PAIRS_BAR_VOID, "failed requests", "1 requests got no 2xx answer"},
    {0.8, 20, 20, 9, PAIRS_VOID, PAIRS_BAR_VOID, "failed requests", "no interval: 0 pairs"},
};

/* Yes only where the bar, if there is one, is met for certain. */
static void what_the_answer_is(void **state)
{
    (void)state;
    static const enum pairs_verdict verdicts[] = {PAIRS_FASTER, PAIRS_SLOWER, PAIRS_NO_DIFFERENCE,
                                                  PAIRS_VOID};
    static const enum pairs_bar bars[] = {PAIRS_MET, PAIRS_MISSED, PAIRS_NOT_RESOLVED,
                                          PAIRS_BAR_VOID};
    struct pairs_options with = options(PAIRS_P99), without = with;
    without.bar = NULL;
    static struct pairs_result r;
    for (size_t v = 0; v < COUNT(verdicts); v++) {
        for (size_t i = 0; i < COUNT(bars); i++) {
            r.verdict = verdicts[v];
            r.bar = bars[i];
            bool valid = verdicts[v] != PAIRS_VOID;
            assert_int_equal(pairs_answer(&with, &r), valid && bars[i] == PAIRS_MET);
            assert_int_equal(pairs_answer(&without, &r), valid);
        }
    }
}

/* A verdict stood although requests had failed, or the generator had been late. */
static void void_figures_have_no_verdict(void **state)
{
    (void)state;
    struct pairs_options o = options(PAIRS_P99);
    static struct pairs_result r;
    for (size_t i = 0; i < COUNT(rows); i++) {
        result_make(&r, rows[i].b, rows[i].ab_out, rows[i].aa_out);
        r.failed = r.failed_runs = rows[i].failed;
        pairs_conclude(&o, &r);
        if (r.verdict != rows[i].verdict || r.bar != rows[i].bar)
            fail_msg("row %zu: %s, %s", i, pairs_verdict_name(r.verdict), pairs_bar_name(r.bar));
        assert_int_equal(pairs_answer(&o, &r), rows[i].bar == PAIRS_MET);
        const char *text = text_of(&o, &r);
        if (!strstr(text, rows[i].told)) fail_msg("row %zu: %s", i, text);
        assert_int_equal(!strstr(text, "nine times in ten"), r.verdict == PAIRS_VOID);
        json_t *told = json_of(&o, &r);
        assert_json_text(told, "verdict", pairs_verdict_name(rows[i].verdict));
        assert_json_text(told, "judged", pairs_bar_name(rows[i].bar));
        assert_json_text(told, "void", rows[i].why);
        assert_int_equal(json_array_size(json_object_get(told, "found_beyond")),
                         r.verdict == PAIRS_VOID ? 0 : 2);
        json_decref(told);
    }
}

/* Without a bar only a verdict is asked for. */
static void the_answer_without_a_bar(void **state)
{
    (void)state;
    struct pairs_options o = options(PAIRS_P99);
    static struct pairs_result r;
    o.bar = NULL;
    result_make(&r, 1.2, 0, 0);
    pairs_conclude(&o, &r);
    assert_true(pairs_answer(&o, &r));
    r.failed = 1;
    pairs_conclude(&o, &r);
    assert_false(pairs_answer(&o, &r));
}

static void a_late_generator_does_not_void_processor_time(void **state)
{
    (void)state;
    struct pairs_options o = options(PAIRS_CPU);
    static struct pairs_result r;
    result_make(&r, 1.2, 0, 0);
    r.bottlenecks = 5;
    pairs_conclude(&o, &r);
    assert_int_equal(r.verdict, PAIRS_SLOWER);
    assert_non_null(strstr(text_of(&o, &r), "In 5 of 80 runs the generator was late"));
}

/* Sorted ratios show no drift. */
static void ratios_are_told_in_the_order_of_the_runs(void **state)
{
    (void)state;
    struct pairs_options o = options(PAIRS_P99);
    static struct pairs_result r;
    result_make(&r, 1.2, 1, 0);
    pairs_conclude(&o, &r);
    json_t *told = json_of(&o, &r);
    json_t *ratios = json_object_get(json_object_get(told, "ab"), "ratios");
    assert_int_equal(json_array_size(ratios), 20);
    assert_true(json_is_null(json_array_get(ratios, 0)));
    for (size_t i = 2; i < 20; i++)
        assert_true(json_real_value(json_array_get(ratios, i)) <
                    json_real_value(json_array_get(ratios, i - 1)));
    json_decref(told);
}

static void which_second_a(void **state)
{
    (void)state;
    struct pairs_options o = options(PAIRS_P99);
    static struct pairs_result r;
    result_make(&r, 1.2, 0, 0);
    pairs_conclude(&o, &r);
    assert_non_null(strstr(text_of(&o, &r), "the same server twice"));
    json_t *told = json_of(&o, &r);
    assert_json_text(told, "twin", NULL);
    json_decref(told);
    o.load.target_count = 3;
    assert_non_null(strstr(text_of(&o, &r), "A's twin  http://127.0.0.1:3\n"));
    told = json_of(&o, &r);
    assert_json_text(told, "twin", "http://127.0.0.1:3");
    json_decref(told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_answer_is),
        cmocka_unit_test(void_figures_have_no_verdict),
        cmocka_unit_test(the_answer_without_a_bar),
        cmocka_unit_test(a_late_generator_does_not_void_processor_time),
        cmocka_unit_test(ratios_are_told_in_the_order_of_the_runs),
        cmocka_unit_test(which_second_a),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
