#include "lab/summary.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* Answers of 1 to `answered` us, and `failed` requests that got none. */
static struct capture_interval interval_of(uint64_t answered, uint64_t failed)
{
    struct capture_interval i;
    capture_interval_init(&i, 0);
    for (uint64_t n = 1; n <= answered; n++) hist_record(&i.latency, n * 1000);
    i.errors[CAPTURE_STATUS] = failed / 2;
    i.unsent = failed - failed / 2;
    return i;
}

/* A request without an answer is slower than any with one. */
static void failed_requests_are_the_slowest(void **state)
{
    (void)state;
    static const struct {
        uint64_t answered, failed;
        double q;
        uint64_t us; /* 0: none */
    } rows[] = {
        {1000, 0, 0.5, 500}, {1000, 0, 0.99, 990}, {1000, 0, 0.999, 999}, {1000, 0, 1, 1000},
        {1000, 0, 0, 1},     {990, 10, 0.5, 500},  {990, 10, 0.99, 990},  {990, 10, 0.991, 0},
        {990, 10, 0.999, 0}, {989, 11, 0.99, 0},   {500, 500, 0.5, 500},  {499, 501, 0.5, 0},
        {0, 10, 0.5, 0},     {0, 0, 0.5, 0},       {1, 0, 0.999, 1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct capture_interval interval = interval_of(rows[i].answered, rows[i].failed);
        uint64_t ns = 0;
        bool known = summary_quantile(&interval, rows[i].q, &ns);
        double off = fabs((double)ns / 1000 - (double)rows[i].us);
        if (known != (rows[i].us > 0) || off > 0.016 * (double)rows[i].us)
            fail_msg("row %zu: %d, %llu ns", i, known, (unsigned long long)ns);
    }
}

/* Failed connects are no requests: whoever waited for the connection is counted elsewhere. */
static void connects_do_not_count(void **state)
{
    (void)state;
    struct capture_interval interval = interval_of(100, 0);
    interval.errors[CAPTURE_CONNECT] = 1000;
    uint64_t ns;
    assert_true(summary_quantile(&interval, 0.99, &ns));
}

static void the_generator_tells_on_itself(void **state)
{
    (void)state;
    static const struct {
        uint64_t cpu_ms, spin_ms, starved_ms, taken, late;
        bool bottleneck;
    } rows[] = {
        {500, 0, 0, 10000, 0, false},   {950, 0, 0, 10000, 0, true},
        {990, 600, 0, 10000, 0, false}, {500, 0, 450, 10000, 0, true},
        {500, 0, 350, 10000, 0, false}, {100, 0, 0, 10000, 10, false},
        {100, 0, 0, 10000, 11, true},   {0, 0, 0, 0, 0, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        static struct load_result r;
        memset(&r, 0, sizeof r);
        r.targets = 2;
        r.wall_ns = 1000000000;
        r.cpu_ns = rows[i].cpu_ms * 1000000;
        r.spin_ns = rows[i].spin_ms * 1000000;
        r.starved_ns = rows[i].starved_ms * 1000000;
        r.taken_after.count = rows[i].taken;
        r.total[0].taken_late = rows[i].late / 2;
        r.total[1].taken_late = rows[i].late - rows[i].late / 2;
        /* What had to wait for a connection is no fault of the generator's. */
        r.total[1].late = r.total[1].queued = rows[i].taken;
        assert_int_equal(summary_generator_of(&r).bottleneck, rows[i].bottleneck);
    }
}

/* At most half of what lies beyond the percentile may have been taken up late. */
static void what_a_late_generator_carries(void **state)
{
    (void)state;
    static const struct {
        double taken_late, q;
        bool busy, carries;
    } rows[] = {
        {0, 0.999, false, true},       {0, 0.5, true, false},       {0.0004, 0.999, false, true},
        {0.0006, 0.999, false, false}, {0.0049, 0.99, false, true}, {0.0051, 0.99, false, false},
        {0.0051, 0.5, false, true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct summary_generator g = {.taken_late = rows[i].taken_late, .busy = rows[i].busy};
        assert_int_equal(summary_carries(&g, rows[i].q), rows[i].carries);
    }
}

static void both_forms_tell_the_same(void **state)
{
    (void)state;
    static const struct load_target targets[] = {{.url = "http://127.0.0.1:1/a"},
                                                 {.url = "http://127.0.0.1:2/b"}};
    struct load_options o = {.targets = targets, .target_count = 2};
    static struct load_result r;
    r.targets = 2;
    r.wall_ns = r.cpu_ns = 1000000000;
    r.total[0] = interval_of(1000, 0);
    r.total[0].active_us = 2000000;
    r.total[0].steal_us = 1500;
    r.total[0].throttled_us = MACHINE_UNKNOWN;
    r.total[1] = interval_of(80, 20);
    r.total[1].target = 1;
    r.total[1].due = 100;
    struct hist jitter;
    hist_init(&jitter);
    hist_record(&jitter, 40000);
    hist_init(&r.taken_after);
    for (int i = 0; i < 100; i++) hist_record(&r.taken_after, i < 98 ? 1000 : 500000000);
    r.total[1].taken_late = 2;
    r.statuses[0][200] = 1000;
    r.statuses[1][200] = 80;
    r.statuses[1][400] = 4;
    r.statuses[1][LOAD_STATUS_MAX] = 6;

    static char memory[SUMMARY_BYTES_MAX];
    struct buf b = buf_of(memory, sizeof memory);
    summary_json(&b, &o, &r, &jitter);
    json_t *value = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(value);
    json_t *first = json_array_get(json_object_get(value, "targets"), 0);
    json_t *second = json_array_get(json_object_get(value, "targets"), 1);
    assert_string_equal(json_string_value(json_object_get(first, "url")), targets[0].url);
    assert_int_equal(json_integer_value(json_object_get(first, "answered")), 1000);
    assert_true(json_number_value(json_object_get(first, "answers_per_second")) == 500);
    json_t *statuses = json_object_get(second, "statuses");
    assert_int_equal(json_object_size(json_object_get(first, "statuses")), 1);
    assert_int_equal(json_object_size(statuses), 3);
    assert_int_equal(json_integer_value(json_object_get(statuses, "200")), 80);
    assert_int_equal(json_integer_value(json_object_get(statuses, "999")), 6);
    assert_true(json_is_integer(json_object_get(first, "p99_ns")));
    assert_true(json_is_null(json_object_get(second, "p99_ns")));
    assert_true(json_is_integer(json_object_get(second, "p50_ns")));
    json_t *machine = json_object_get(value, "machine");
    assert_int_equal(json_integer_value(json_object_get(machine, "steal_us")), 1500);
    assert_true(json_is_null(json_object_get(machine, "throttled_us")));
    json_t *generator = json_object_get(value, "generator");
    assert_true(json_is_true(json_object_get(generator, "bottleneck")));
    assert_true(json_number_value(json_object_get(generator, "taken_up_late")) == 0.02);
    /* The share and the percentiles are of the same requests, so they cannot contradict. */
    json_t *taken_up = json_object_get(generator, "taken_up_after_due");
    assert_true(json_integer_value(json_object_get(taken_up, "p50_ns")) < 1100);
    assert_true(json_integer_value(json_object_get(taken_up, "p99_ns")) > 1000000);
    json_decref(value);

    b = buf_of(memory, sizeof memory);
    summary_print(&b, &o, &r, &jitter);
    assert_false(b.full);
    buf_char(&b, 0);
    static const char *const parts[] = {
        "http://127.0.0.1:1/a",
        "1000 answered, 500.0 a second",
        "p99 none",
        "\n  statuses   200: 1000\n",
        "\n  statuses   200: 80, 400: 4, 999: 6\n",
        "status 10",
        "10 never sent",
        "p99.9 500 ms, max 500 ms; 2.00 % over 1 ms",
        "worked in 100 % of the time and waited for a core in 0 %",
        "took up 2.00 % of all requests over 1 ms late",
        "10.00 % of the requests to target 2 were never sent",
        "20 requests to target 2 got no 2xx answer",
        "throttled not known",
    };
    for (size_t i = 0; i < COUNT(parts); i++)
        if (!strstr(b.data, parts[i])) fail_msg("`%s` is not in\n%s", parts[i], b.data);
}

/* As many targets and statuses as there can be, with the longest numbers. */
static void the_longest_fits(void **state)
{
    (void)state;
    static struct load_target targets[CAPTURE_TARGETS_MAX];
    static struct load_result r;
    static char memory[SUMMARY_BYTES_MAX];
    struct load_options o = {.targets = targets, .target_count = CAPTURE_TARGETS_MAX};
    struct hist jitter;
    hist_init(&jitter);
    hist_init(&r.taken_after);
    r.targets = CAPTURE_TARGETS_MAX;
    for (uint32_t t = 0; t < r.targets; t++) {
        memset(targets[t].url, '"', sizeof targets[t].url - 1);
        r.total[t] = interval_of(1, 0);
        r.total[t].target = t;
        for (int status = 100; status <= LOAD_STATUS_MAX; status++)
            r.statuses[t][status] = UINT64_MAX;
    }
    for (int json = 0; json < 2; json++) {
        struct buf b = buf_of(memory, sizeof memory);
        json ? summary_json(&b, &o, &r, &jitter) : summary_print(&b, &o, &r, &jitter);
        assert_false(b.full);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failed_requests_are_the_slowest),
        cmocka_unit_test(connects_do_not_count),
        cmocka_unit_test(the_generator_tells_on_itself),
        cmocka_unit_test(what_a_late_generator_carries),
        cmocka_unit_test(both_forms_tell_the_same),
        cmocka_unit_test(the_longest_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
