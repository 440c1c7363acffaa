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

static const char whole_text[] =
    "http://127.0.0.1:1/a\n"
    "  requests   1100 due, 1000 answered, 500.0 a second\n"
    "  latency    p50 532 us   p90 975 us   p99 none   p99.9 none   max 1.00 ms\n"
    "  statuses   200: 1000, 503: 7\n"
    "  errors     connect 2, send 3, receive 4, status 5, timeout 6\n"
    "  sending    51 waited for a connection, 21 sent over 1 ms after they were due, 61 "
    "never sent\n"
    "http://127.0.0.1:2/b\n"
    "  requests   1200 due, 1000 answered, 250.0 a second\n"
    "  latency    p50 3.51 ms   p90 3.90 ms   p99 3.96 ms   p99.9 4.00 ms   max 4.00 ms\n"
    "  statuses   none\n"
    "  errors     connect 0, send 0, receive 0, status 0, timeout 0\n"
    "  sending    52 waited for a connection, 22 sent over 1 ms after they were due, 0 "
    "never sent\n"
    "generator, while the schedule lasted\n"
    "  all requests    taken up after due: p50 2.52 ms, p99.9 5.00 ms, max 5.00 ms; 3.00 "
    "% over 1 ms\n"
    "  a core's share  30 % work, 10 % polling; without a core 70 %\n"
    "  reconnects      41\n"
    "machine\n"
    "  timers late     p50 99.3 us, p99.9 200 us, max 200 us (before the run)\n"
    "  in the run      steal 1.500 s, throttled 2.500 s\n"
    "warning: this generator worked in 30 % of the time and waited for a core in 70 %: "
    "it, or the machine under it, was the bottleneck\n"
    "warning: this generator took up 3.00 % of all requests over 1 ms late: it, or the "
    "machine under it, was the bottleneck\n"
    "warning: 79 requests to target 1 got no 2xx answer; percentiles count them as "
    "slower than all others\n"
    "warning: 5.55 % of the requests to target 1 were never sent: no connection was free "
    "up to the end\n";
static const char whole_json[] =
    "{\"targets\":[{\"url\":\"http://127.0.0.1:1/a\",\"due\":1100,\"sent\":1001,"
    "\"answered\":1000,\"answers_per_second\":500,\"p50_ns\":532480,"
    "\"p90_ns\":974848,\"p99_ns\":null,\"p999_ns\":null,\"max_ns\":1000000,"
    "\"statuses\":{\"200\":1000,\"503\":7},\"errors\":{\"connect\":2,\"send\":3,\"receive\":4,"
    "\"status\":5,\"timeout\":6},"
    "\"late\":21,\"late_free\":31,\"taken_late\":3,\"queued\":51,\"unsent\":61},"
    "{\"url\":\"http://127.0.0.1:2/b\",\"due\":1200,\"sent\":1002,\"answered\":1000,"
    "\"answers_per_second\":250,\"p50_ns\":3506176,\"p90_ns\":3899392,"
    "\"p99_ns\":3964928,\"p999_ns\":4000000,\"max_ns\":4000000,"
    "\"statuses\":{},\"errors\":{\"connect\":0,\"send\":0,\"receive\":0,\"status\":0,\"timeout\":0}"
    ","
    "\"late\":22,\"late_free\":32,\"taken_late\":0,\"queued\":52,\"unsent\":0}],"
    "\"generator\":{\"taken_up_after_due\":{\"p50_ns\":2523136,\"p99_ns\":4915200,"
    "\"p999_ns\":5000000,\"max_ns\":5000000},\"taken_up_late\":0.03,\"work\":0.3,"
    "\"polling\":0.1,\"without_a_core\":0.7,\"reconnects\":41,\"bottleneck\":true,"
    "\"carries\":{\"p50_ns\":false,\"p90_ns\":false,\"p99_ns\":false,"
    "\"p999_ns\":false}},\"machine\":{\"timers_late\":{\"p50_ns\":99328,"
    "\"p99_ns\":198656,\"p999_ns\":200000,\"max_ns\":200000},\"steal_us\":1500000,"
    "\"throttled_us\":2500000}}";

/* Every figure is another one, so that none can stand in another's place. */
static void the_whole_summary(void **state)
{
    (void)state;
    static const struct load_target targets[] = {{.url = "http://127.0.0.1:1/a"},
                                                 {.url = "http://127.0.0.1:2/b"}};
    const struct load_options o = {.targets = targets, .target_count = 2};
    static struct load_result r;
    memset(&r, 0, sizeof r);
    r.targets = 2;
    r.wall_ns = 4000000000;
    r.cpu_ns = 1600000000;
    r.spin_ns = 400000000;
    r.starved_ns = 2800000000;
    r.reconnects = 41;
    hist_init(&r.taken_after);
    for (uint64_t n = 1; n <= 100; n++) hist_record(&r.taken_after, n * 50000);
    for (uint32_t t = 0; t < 2; t++) {
        struct capture_interval *i = &r.total[t];
        capture_interval_init(i, t);
        for (uint64_t n = 1; n <= 1000; n++) hist_record(&i->latency, (n + 3000 * t) * 1000);
        for (int s = 0; s < CAPTURE_STAGE_COUNT; s++) i->errors[s] = t ? 0 : 2 + (uint64_t)s;
        i->due = 1000 + 100 * (t + 1);
        i->sent = 1001 + t;
        i->late = 21 + t;
        i->late_free = 31 + t;
        i->taken_late = t ? 0 : 3;
        i->queued = 51 + t;
        i->unsent = t ? 0 : 61;
        i->active_us = 2000000 * (t + 1);
        i->steal_us = 1500000;
        i->throttled_us = 2500000;
    }
    r.statuses[0][200] = 1000;
    r.statuses[0][503] = 7;
    struct hist jitter;
    hist_init(&jitter);
    for (uint64_t n = 1; n <= 100; n++) hist_record(&jitter, n * 2000);

    static char memory[SUMMARY_BYTES_MAX];
    struct buf b = buf_of(memory, sizeof memory);
    summary_print(&b, &o, &r, &jitter);
    buf_char(&b, 0);
    assert_string_equal(memory, whole_text);
    b = buf_of(memory, sizeof memory);
    summary_json(&b, &o, &r, &jitter);
    buf_char(&b, 0);
    assert_string_equal(memory, whole_json);
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
        cmocka_unit_test(the_whole_summary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
