#include "base/hist.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void buckets_join_without_gap(void **state)
{
    (void)state;
    for (size_t b = 0; b < HIST_BUCKETS; b++) {
        uint64_t first = hist_bucket_first(b), next = hist_bucket_first(b + 1);
        assert_true(first < next);
        if (first > HIST_MAX_NS) continue;
        assert_int_equal(hist_bucket(first), b);
        if (next <= HIST_MAX_NS) assert_int_equal(hist_bucket(next - 1), b);
        if (first >= 64) assert_true((next - first) * 32 <= first);
    }
    assert_true(hist_bucket(HIST_MAX_NS) < HIST_BUCKETS);
    assert_int_equal(hist_bucket(UINT64_MAX), hist_bucket(HIST_MAX_NS));
}

static void one_value_is_told_within_the_error(void **state)
{
    (void)state;
    static const uint64_t values[] = {0,    1,       63,        64,          65,
                                      127,  128,     1000,      12345,       999999,
                                      48e6, 1000001, 123456789, 99999999999, HIST_MAX_NS};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct hist h;
        hist_init(&h);
        hist_record_n(&h, values[i], 2);
        hist_record(&h, values[i] + values[i] / 50); /* or the extremes would tell it exactly */
        uint64_t told = hist_quantile(&h, 0.5);
        double off = fabs((double)told - (double)values[i]);
        assert_true(off <= 0.03 * (double)values[i]);
    }
}

/* The middle of a bucket may lie outside of what was recorded. */
static void no_quantile_lies_outside_of_what_was_recorded(void **state)
{
    (void)state;
    for (size_t b = 64; b < HIST_BUCKETS && hist_bucket_first(b + 1) <= HIST_MAX_NS; b++) {
        const uint64_t first = hist_bucket_first(b), last = hist_bucket_first(b + 1) - 1;
        struct hist low, high;
        hist_init(&low), hist_init(&high);
        hist_record_n(&low, last, 3);
        hist_record(&low, 4 * last);
        assert_int_equal(hist_quantile(&low, 0.5), last);
        hist_record_n(&high, first, 3);
        hist_record(&high, first / 4);
        assert_int_equal(hist_quantile(&high, 0.75), first);
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Against the exact nearest-rank percentile of a spread over eight decades. */
static void quantiles_match_a_sorted_list(void **state)
{
    (void)state;
    enum { N = 20001 };
    static uint64_t values[N];
    struct hist h;
    hist_init(&h);
    uint64_t random = 88172645463325252ull;
    for (int i = 0; i < N; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        values[i] = (uint64_t)pow(10, 1 + 8 * (double)(random >> 11) / 9007199254740992.0);
        hist_record(&h, values[i]);
    }
    qsort(values, N, sizeof *values, by_value);
    static const double shares[] = {0, 0.00001, 0.01, 0.5, 0.9, 0.99, 0.999, 0.9999, 1};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        double rank = ceil(shares[i] * N);
        double exact = (double)values[rank < 1 ? 0 : (size_t)rank - 1];
        assert_true(fabs((double)hist_quantile(&h, shares[i]) - exact) <= 0.03 * exact);
    }
    assert_int_equal(hist_quantile(&h, 0), values[0]);
    assert_int_equal(hist_quantile(&h, 1), values[N - 1]);
}

static void adding_loses_nothing(void **state)
{
    (void)state;
    struct hist all, parts[3], sum;
    hist_init(&all), hist_init(&sum);
    for (int p = 0; p < 3; p++) hist_init(&parts[p]);
    for (uint64_t i = 0; i < 5000; i++) {
        uint64_t ns = i * i * i % 7919 * (i + 1);
        hist_record(&all, ns);
        hist_record(&parts[i % 2], ns); /* the third stays empty */
    }
    for (int p = 0; p < 3; p++) hist_add(&sum, &parts[p]);
    assert_memory_equal(&sum, &all, sizeof sum);
}

static void the_edges(void **state)
{
    (void)state;
    struct hist h;
    hist_init(&h);
    assert_int_equal(hist_quantile(&h, 0.99), 0);
    assert_true(hist_mean(&h) == 0);
    hist_record_n(&h, 7, 0);
    assert_int_equal(h.count, 0);
    hist_record(&h, HIST_MAX_NS - 1);
    assert_int_equal(h.over, 0);
    hist_record(&h, HIST_MAX_NS);
    hist_record(&h, 5 * HIST_MAX_NS);
    assert_int_equal(h.over, 2);
    assert_int_equal(h.max, 5 * HIST_MAX_NS);
    assert_int_equal(h.sum, 7 * HIST_MAX_NS - 1);
    assert_int_equal(hist_quantile(&h, 1), 5 * HIST_MAX_NS);
}

static void counting_up_to_a_bound(void **state)
{
    (void)state;
    struct hist h;
    hist_init(&h);
    for (uint64_t i = 0; i < 100; i++) hist_record(&h, i);
    assert_int_equal(hist_count_upto(&h, 0), 1);
    assert_int_equal(hist_count_upto(&h, 49), 50);
    assert_int_equal(hist_count_upto(&h, 64), 64); /* 64 and 65 share a bucket */
    assert_int_equal(hist_count_upto(&h, 65), 66);
    assert_int_equal(hist_count_upto(&h, UINT64_MAX), 100);
    assert_true(hist_mean(&h) == 49.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_join_without_gap),
        cmocka_unit_test(one_value_is_told_within_the_error),
        cmocka_unit_test(no_quantile_lies_outside_of_what_was_recorded),
        cmocka_unit_test(quantiles_match_a_sorted_list),
        cmocka_unit_test(adding_loses_nothing),
        cmocka_unit_test(the_edges),
        cmocka_unit_test(counting_up_to_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
