/* The counts of a run, cut into intervals, under a clock of the test's. */
#include "lab/load_meter.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000ull

static struct load_meter m;
static struct capture_interval got[16];
static int got_count;
static struct load_progress progress;
static int progress_count;

static void keep(void *context, const struct capture_interval *interval)
{
    assert_ptr_equal(context, &m);
    assert_true(got_count < 16);
    got[got_count++] = *interval;
}

static void keep_progress(void *context, const struct load_progress *p)
{
    assert_ptr_equal(context, &m);
    progress = *p;
    progress_count++;
}

static struct load_options options;
static uint64_t start_ns;

/* Two targets, 1,000 ms of which each 300 ms are an interval. */
static int setup(void **state)
{
    (void)state;
    options = (struct load_options){.shape = {.duration_ns = 1000 * MS},
                                    .target_count = 2,
                                    .interval_ns = 300 * MS,
                                    .context = &m,
                                    .interval = keep};
    got_count = progress_count = 0;
    memset(&m, 0, sizeof m);
    load_meter_init(&m, &options);
    start_ns = clock_mono_ns();
    return 0;
}

static void interval_is(int i, uint32_t target, uint64_t start_us, uint64_t length_us,
                        uint64_t active_us, uint64_t due)
{
    assert_int_equal(got[i].target, target);
    assert_int_equal(got[i].start_us - m.started_us, start_us);
    assert_int_equal(got[i].length_us, length_us);
    assert_int_equal(got[i].active_us, active_us);
    assert_int_equal(got[i].due, due);
}

static void intervals_end_in_their_time(void **state)
{
    (void)state;
    int64_t before_us = clock_wall_us();
    load_meter_start(&m, start_ns + 50 * MS);
    start_ns += 50 * MS;
    /* So much after the clock of the wall as the schedule is after that of the machine. */
    int64_t early_us = m.started_us - before_us;
    assert_true(early_us <= 50000 + (clock_wall_us() - before_us));
    assert_int_equal(load_meter_next(&m), start_ns + 300 * MS);
    load_meter_take(&m, 0, start_ns + 10 * MS, start_ns + 10 * MS);
    load_meter_take(&m, 1, start_ns + 20 * MS, start_ns + 20 * MS);
    load_meter_take(&m, 1, start_ns + 30 * MS, start_ns + 30 * MS);
    load_meter_tick(&m, start_ns + 300 * MS - 1);
    assert_int_equal(got_count, 0);
    load_meter_tick(&m, start_ns + 300 * MS);
    assert_int_equal(got_count, 2);
    interval_is(0, 0, 0, 300000, 300000, 1);
    interval_is(1, 1, 0, 300000, 300000, 2);
    assert_int_equal(load_meter_next(&m), start_ns + 600 * MS);

    /* A late one is longer, and the next is shorter. */
    load_meter_take(&m, 0, start_ns + 700 * MS, start_ns + 700 * MS);
    load_meter_tick(&m, start_ns + 750 * MS);
    interval_is(2, 0, 300000, 450000, 450000, 1);
    interval_is(3, 1, 300000, 450000, 450000, 0);
    assert_int_equal(load_meter_next(&m), start_ns + 900 * MS);
    load_meter_tick(&m, start_ns + 900 * MS);
    interval_is(4, 0, 750000, 150000, 150000, 0);

    /* The last one lasts until the last answer; what is beyond the schedule is nobody's turn. */
    assert_int_equal(load_meter_next(&m), UINT64_MAX);
    load_meter_tick(&m, start_ns + 1200 * MS);
    assert_int_equal(got_count, 6);
    load_meter_finish(&m, start_ns + 1500 * MS);
    assert_int_equal(got_count, 8);
    interval_is(6, 0, 900000, 600000, 100000, 0);
    interval_is(7, 1, 900000, 600000, 100000, 0);
    assert_int_equal(m.total[0].due, 2);
    assert_int_equal(m.total[1].due, 2);
    assert_int_equal(m.total[0].active_us, 1000000);
}

static void who_takes_turns_is_active_in_his_own(void **state)
{
    (void)state;
    options.spread = LOAD_ALTERNATE;
    options.turn_ns = 200 * MS;
    load_meter_start(&m, start_ns);
    load_meter_tick(&m, start_ns + 300 * MS);
    interval_is(0, 0, 0, 300000, 200000, 0);
    interval_is(1, 1, 0, 300000, 100000, 0);
    load_meter_finish(&m, start_ns + 1000 * MS);
    assert_int_equal(m.total[0].active_us, 600000);
    assert_int_equal(m.total[1].active_us, 400000);
}

/* Over 1 ms after it was due. */
static void what_is_taken_up_late(void **state)
{
    (void)state;
    load_meter_start(&m, start_ns);
    load_meter_take(&m, 1, start_ns, start_ns + LOAD_LATE_NS);
    assert_int_equal(m.now[1].taken_late, 0);
    load_meter_take(&m, 1, start_ns, start_ns + LOAD_LATE_NS + 1);
    assert_int_equal(m.now[1].taken_late, 1);
    assert_int_equal(m.now[1].due, 2);
    assert_int_equal(m.now[0].due, 0);
    assert_int_equal(m.taken_after.count, 2);
    assert_int_equal(m.taken_after.max, LOAD_LATE_NS + 1);
}

static void a_stop_ends_the_schedule_early(void **state)
{
    (void)state;
    static const struct {
        int64_t at_ms;
        uint64_t end_ms;
    } rows[] = {{-5, 0}, {0, 0}, {400, 400}, {999, 999}, {1000, 1000}, {1001, 1000}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setup(NULL);
        load_meter_start(&m, start_ns);
        load_meter_stop(&m, start_ns + (uint64_t)(rows[i].at_ms * (int64_t)MS));
        assert_int_equal(m.end_ns - start_ns, rows[i].end_ms * MS);
        load_meter_finish(&m, start_ns + 1300 * MS);
        assert_int_equal(m.total[0].active_us, rows[i].end_ms * 1000);
        assert_int_equal(got[0].length_us, 1300000);
    }
}

/* Before it has begun: an interval of nothing. */
static void an_end_before_the_beginning(void **state)
{
    (void)state;
    load_meter_start(&m, start_ns + 100 * MS);
    load_meter_finish(&m, start_ns);
    interval_is(0, 0, 0, 0, 0, 0);
}

static void progress_is_of_late(void **state)
{
    (void)state;
    options.progress = keep_progress;
    options.shape.duration_ns = 2500 * MS;
    options.interval_ns = 800 * MS;
    load_meter_start(&m, start_ns);
    m.now[0].errors[CAPTURE_CONNECT] = 1;
    m.now[1].errors[CAPTURE_STATUS] = 2;
    for (int i = 0; i < 100; i++) hist_record(&m.now[0].latency, 1000);
    load_meter_tick(&m, start_ns + 800 * MS);
    assert_int_equal(load_meter_next(&m), start_ns + 1000 * MS);
    m.now[0].errors[CAPTURE_CONNECT] = 4;
    m.now[1].unsent = 8;
    for (int i = 0; i < 50; i++) hist_record(&m.now[1].latency, 2000);
    load_meter_tick(&m, start_ns + 1000 * MS - 1);
    assert_int_equal(progress_count, 0);
    load_meter_tick(&m, start_ns + 1000 * MS);
    assert_int_equal(progress_count, 1);
    assert_int_equal(progress.done_ns, 1000 * MS);
    assert_int_equal(progress.duration_ns, 2500 * MS);
    assert_int_equal(progress.recent.count, 150);
    assert_int_equal(progress.failed, 1 + 2 + 4 + 8);
    assert_true(progress.rate > 149.99 && progress.rate < 150.01);
    assert_int_equal(load_meter_next(&m), start_ns + 1600 * MS);

    /* Two intervals later, only the last one and what has come of the next count. */
    load_meter_tick(&m, start_ns + 1600 * MS);
    load_meter_tick(&m, start_ns + 2400 * MS);
    for (int i = 0; i < 30; i++) hist_record(&m.now[0].latency, 3000);
    load_meter_tick(&m, start_ns + 3400 * MS);
    assert_int_equal(progress.done_ns, 2500 * MS); /* and no more */
    assert_int_equal(progress.recent.count, 30);
    assert_true(progress.rate > 30 / 1.801 && progress.rate < 30 / 1.799);
    assert_int_equal(progress.failed, 1 + 2 + 4 + 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(intervals_end_in_their_time, setup),
        cmocka_unit_test_setup(who_takes_turns_is_active_in_his_own, setup),
        cmocka_unit_test_setup(what_is_taken_up_late, setup),
        cmocka_unit_test_setup(a_stop_ends_the_schedule_early, setup),
        cmocka_unit_test_setup(an_end_before_the_beginning, setup),
        cmocka_unit_test_setup(progress_is_of_late, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
