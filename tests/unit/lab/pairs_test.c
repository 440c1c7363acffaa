#include "lab/pairs.h"

#include "base/num.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* From tables of the binomial distribution. */
static void ranks(void **state)
{
    (void)state;
    static const struct {
        size_t n, k;
        double confidence;
    } rows[] = {
        {6, 1, 0.96875},    {7, 1, 0.984375},    {8, 1, 0.9921875},    {9, 2, 0.9609375},
        {10, 2, 0.9785156}, {12, 3, 0.9614258},  {15, 4, 0.9648438},   {20, 6, 0.9586105},
        {25, 8, 0.9567146}, {30, 10, 0.9572255}, {100, 40, 0.9647998},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double confidence;
        size_t k = pairs_rank(rows[i].n, &confidence);
        if (k != rows[i].k || fabs(confidence - rows[i].confidence) > 1e-6)
            fail_msg("n %zu: k %zu, %.7f", rows[i].n, k, confidence);
    }
    for (size_t n = PAIRS_MIN; n <= PAIRS_MAX; n++) {
        double confidence;
        size_t k = pairs_rank(n, &confidence);
        assert_true(k >= 1 && 2 * k <= n);
        assert_true(confidence >= 0.95 && confidence < 0.995);
    }
}

static void intervals(void **state)
{
    (void)state;
    double even[] = {6, 1, 4, 2, 5, 3};
    struct pairs_interval i = pairs_interval_of(even, COUNT(even));
    assert_true(i.median == 3.5 && i.low == 1 && i.high == 6);
    /* In order they would hide a drift. */
    assert_true(even[0] == 6 && even[1] == 1 && even[5] == 3);
    double odd[] = {9, 1, 8, 2, 7, 3, 6, 4, 5};
    i = pairs_interval_of(odd, COUNT(odd));
    assert_true(i.median == 5 && i.low == 2 && i.high == 8);
}

static void verdicts(void **state)
{
    (void)state;
    static const struct {
        struct pairs_interval ab, aa;
        enum pairs_verdict verdict;
    } rows[] = {
        {{.low = 0.8, .high = 0.9}, {.low = 0.95, .high = 1.05}, PAIRS_FASTER},
        {{.low = 1.1, .high = 1.2}, {.low = 0.95, .high = 1.05}, PAIRS_SLOWER},
        {{.low = 0.9, .high = 1.1}, {.low = 2, .high = 3}, PAIRS_NO_DIFFERENCE},
        {{.low = 1, .high = 1.1}, {.low = 0.9, .high = 0.95}, PAIRS_NO_DIFFERENCE},
        {{.low = 0.9, .high = 1}, {.low = 1.2, .high = 1.3}, PAIRS_NO_DIFFERENCE},
        {{.low = 0.8, .high = 0.96}, {.low = 0.95, .high = 1.05}, PAIRS_NO_DIFFERENCE},
        {{.low = 1.05, .high = 1.2}, {.low = 0.95, .high = 1.05}, PAIRS_NO_DIFFERENCE},
        {{.low = 1.1, .high = 1.2}, {.low = 1.0, .high = 1.3}, PAIRS_NO_DIFFERENCE},
        {{.low = 1.1, .high = 1.2}, {.low = 1.3, .high = 1.4}, PAIRS_SLOWER},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(pairs_judge(rows[i].ab, rows[i].aa), rows[i].verdict);
    assert_string_equal(pairs_verdict_name(PAIRS_NO_DIFFERENCE), "no difference");
}

static void bars(void **state)
{
    (void)state;
    static const struct {
        double low, high, bar;
        enum pairs_bar judged;
    } rows[] = {
        {0.9, 1.04, 1.05, PAIRS_MET},          {0.9, 1.05, 1.05, PAIRS_NOT_RESOLVED},
        {1.05, 1.2, 1.05, PAIRS_NOT_RESOLVED}, {1.06, 1.2, 1.05, PAIRS_MISSED},
        {0.9, 1.2, 1.05, PAIRS_NOT_RESOLVED},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pairs_interval ab = {.low = rows[i].low, .high = rows[i].high};
        assert_int_equal(pairs_judge_bar(ab, rows[i].bar), rows[i].judged);
    }
    assert_string_equal(pairs_bar_name(PAIRS_NOT_RESOLVED), "not resolved");
}

static void the_order_alternates(void **state)
{
    (void)state;
    assert_true(pairs_a_first(0) && !pairs_a_first(1) && pairs_a_first(2) && !pairs_a_first(3));
}

/* ---- what the verdicts are worth: simulated runs ---- */

/* One run's figure: log-normal noise around `true_value`, and a machine that slows down by `drift`
 * for every run that came before. */
static double figure(struct rng *r, double true_value, double sd, double drift, int *run)
{
    double z = num_normal_quantile(rng_open01(rng_next(r)));
    return true_value * num_exp(sd * z + drift * (*run)++);
}

static double ratio(struct rng *r, size_t pair, double b, double sd, double drift, int *run)
{
    double first = figure(r, pairs_a_first(pair) ? 1 : b, sd, drift, run);
    double second = figure(r, pairs_a_first(pair) ? b : 1, sd, drift, run);
    return pairs_a_first(pair) ? second / first : first / second;
}

/* How many of `series` series of n pairs, with B taking `b` times what A takes, end with `verdict`.
 */
static int series_count(uint64_t seed, int series, size_t n, double b, double sd, double drift,
                        enum pairs_verdict verdict)
{
    struct rng r;
    rng_init(&r, (struct hash128){seed, 0});
    int found = 0;
    for (int s = 0; s < series; s++) {
        double ab[PAIRS_MAX], aa[PAIRS_MAX];
        int run = 0;
        for (size_t i = 0; i < n; i++) {
            ab[i] = ratio(&r, i, b, sd, drift, &run);
            aa[i] = ratio(&r, i, 1, sd, drift, &run);
        }
        found += pairs_judge(pairs_interval_of(ab, n), pairs_interval_of(aa, n)) == verdict;
    }
    return found;
}

static void no_difference_is_found_where_none_is(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        double sd, drift;
    } rows[] = {{20, 0.03, 0}, {20, 0.10, 0},    {6, 0.03, 0},     {7, 0.10, 0},
                {21, 0.03, 0}, {20, 0.03, 0.01}, {20, 0.10, 0.01}, {100, 0.10, 0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        int none = series_count(100 + i, 1000, rows[i].n, 1, rows[i].sd, rows[i].drift,
                                PAIRS_NO_DIFFERENCE);
        if (none < 950) fail_msg("row %zu: %d of 1000", i, none);
    }
}

static void a_tenth_is_found(void **state)
{
    (void)state;
    assert_true(series_count(7, 1000, 20, 1.10, 0.03, 0, PAIRS_SLOWER) >= 900);
    assert_true(series_count(8, 1000, 20, 1 / 1.10, 0.03, 0, PAIRS_FASTER) >= 900);
    assert_true(series_count(9, 1000, 20, 1.10, 0.03, 0.001, PAIRS_SLOWER) >= 900);
    /* And a simulation that always said so would not be one. */
    assert_true(series_count(10, 1000, 20, 1.01, 0.10, 0, PAIRS_SLOWER) <= 50);
}

/* docs/measuring.md has this table: of 1,000 series, how many find that B takes a tenth more. */
static void how_often_a_tenth_is_found(void **state)
{
    (void)state;
    static const double sds[] = {0.03, 0.05, 0.08, 0.10};
    static const struct {
        size_t n;
        int found[COUNT(sds)];
    } rows[] = {
        {7, {308, 53, 16, 6}},
        {20, {995, 668, 206, 108}},
        {40, {1000, 962, 529, 299}},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t k = 0; k < COUNT(sds); k++) {
            int found =
                series_count(20 + 4 * i + k, 1000, rows[i].n, 1.10, sds[k], 0, PAIRS_SLOWER);
            /* Compilers may round otherwise. */
            if (abs(found - rows[i].found[k]) > 2)
                fail_msg("%zu pairs, %g: %d of 1000", rows[i].n, sds[k], found);
        }
}

static int double_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The middle of what 500 series without any difference tell of their resolution. */
static struct pairs_resolution resolution_typical(size_t n, double sd)
{
    enum { SERIES = 500 };
    struct rng r;
    rng_init(&r, (struct hash128){n, (uint64_t)(sd * 1000)});
    double values[4][SERIES];
    for (int s = 0; s < SERIES; s++) {
        double ab[PAIRS_MAX], aa[PAIRS_MAX];
        int run = 0;
        for (size_t i = 0; i < n; i++) {
            ab[i] = ratio(&r, i, 1, sd, 0, &run);
            aa[i] = ratio(&r, i, 1, sd, 0, &run);
        }
        struct pairs_resolution told =
            pairs_resolution_of(pairs_interval_of(ab, n), pairs_interval_of(aa, n));
        values[0][s] = told.called_low;
        values[1][s] = told.called_high;
        values[2][s] = told.found_low;
        values[3][s] = told.found_high;
    }
    for (int v = 0; v < 4; v++) qsort(values[v], SERIES, sizeof values[v][0], double_order);
    return (struct pairs_resolution){values[0][SERIES / 2], values[1][SERIES / 2],
                                     values[2][SERIES / 2], values[3][SERIES / 2]};
}

/* Of true shifts at the end of what is called a difference about half are found; at the end of what
 * is told to be found, about nine of ten. */
static void what_could_have_been_found_is_found(void **state)
{
    (void)state;
    static const size_t ns[] = {7, 20, 40};
    static const double sds[] = {0.03, 0.10};
    for (size_t i = 0; i < COUNT(ns) * COUNT(sds); i++) {
        size_t n = ns[i / COUNT(sds)];
        double sd = sds[i % COUNT(sds)];
        struct pairs_resolution told = resolution_typical(n, sd);
        int half_low = series_count(40 + i, 1000, n, told.called_low, sd, 0, PAIRS_FASTER);
        int half_high = series_count(50 + i, 1000, n, told.called_high, sd, 0, PAIRS_SLOWER);
        int found_low = series_count(60 + i, 1000, n, told.found_low, sd, 0, PAIRS_FASTER);
        int found_high = series_count(70 + i, 1000, n, told.found_high, sd, 0, PAIRS_SLOWER);
        if (half_low < 400 || half_low > 600 || half_high < 400 || half_high > 600)
            fail_msg("%zu pairs, %g: %d and %d are called", n, sd, half_low, half_high);
        if (found_low < 850 || found_high < 850)
            fail_msg("%zu pairs, %g: %d and %d are found", n, sd, found_low, found_high);
    }
}

/* The arithmetic by hand. */
static void resolution(void **state)
{
    (void)state;
    struct pairs_interval ab = {.median = 1, .low = 0.8, .high = 1.25},
                          aa = {.median = 1, .low = 0.9, .high = 1.1};
    struct pairs_resolution r = pairs_resolution_of(ab, aa);
    assert_true(fabs(r.called_low - 0.9 * 0.8) < 1e-12);
    assert_true(fabs(r.called_high - 1.1 * 1.25) < 1e-12);
    assert_true(fabs(r.found_low - 0.9 * 0.8 * 0.8) < 1e-12);
    assert_true(fabs(r.found_high - 1.1 * 1.25 * 1.25) < 1e-12);
    /* Where A/A lies to one side, 1 is still to be stood clear of. */
    aa.low = 1.05;
    r = pairs_resolution_of(ab, aa);
    assert_true(fabs(r.called_low - 0.8) < 1e-12);
}

/* The interval holds the true median as often as it says. */
static void the_interval_covers(void **state)
{
    (void)state;
    struct rng r;
    rng_init(&r, (struct hash128){11, 0});
    int inside = 0;
    double confidence = 0;
    for (int s = 0; s < 4000; s++) {
        double ratios[20];
        int run = 0;
        for (size_t i = 0; i < 20; i++) ratios[i] = ratio(&r, i, 1.3, 0.2, 0, &run);
        struct pairs_interval interval = pairs_interval_of(ratios, 20);
        inside += interval.low <= 1.3 && 1.3 <= interval.high;
        confidence = interval.confidence;
    }
    double error = sqrt(confidence * (1 - confidence) / 4000);
    assert_true(fabs(inside / 4000.0 - confidence) < 5 * error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks),
        cmocka_unit_test(intervals),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(bars),
        cmocka_unit_test(the_order_alternates),
        cmocka_unit_test(no_difference_is_found_where_none_is),
        cmocka_unit_test(a_tenth_is_found),
        cmocka_unit_test(how_often_a_tenth_is_found),
        cmocka_unit_test(resolution),
        cmocka_unit_test(what_could_have_been_found_is_found),
        cmocka_unit_test(the_interval_covers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
