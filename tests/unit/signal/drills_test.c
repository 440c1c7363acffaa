/* The books of drills: apart from those of all records, and balanced, whatever else fires. */
#include "support.h"

#define LEARNED "\"request_id\":\"r\",\"variant\":\"learned\""
#define BETA "{\"alpha\":2,\"beta\":3}"
#define ABSENT "{" LEARNED "}"
#define UNKNOWN "{\"request_id\":\"r\",\"variant\":\"nope\"}"
/* Has an action that the plan has not, and so outranks that some are missing. */
#define GRAVER "{" LEARNED ",\"posteriors\":{\"none\":" BETA ",\"x\":" BETA "}}"

static struct bench bench;
static struct plan *plan;
static struct signal_cells *cells;
static struct signal_writer *writer;

static void begin(void)
{
    bench_open(&bench, 2, 0);
    plan = plan_of("t-1");
    cells = adopt(bench.signals, plan, &bench.log);
    writer = signals_writer(bench.signals, 0);
}

static int prepare(void **state)
{
    (void)state;
    bench_prepare(&bench);
    return 0;
}

static int done(void **state)
{
    (void)state;
    signals_release(bench.signals, cells);
    bench_done(&bench);
    plan_free(plan);
    return 0;
}

static void drills_hold(enum signal_site site, uint64_t fired, uint64_t written, uint64_t dropped,
                        uint64_t suppressed, uint64_t outranked)
{
    struct signal_drills all[SITE_COUNT], *d = &all[site];
    for (uint64_t end_ns = in_ms(20000); clock_mono_ns() < end_ns; sleep_ms(10)) {
        signals_drills(bench.signals, all);
        if (!d->queued && d->fired == fired) break;
    }
    assert_int_equal(d->fired, fired);
    assert_int_equal(d->outcomes[OUTCOME_WRITTEN], written);
    assert_int_equal(d->outcomes[OUTCOME_DROPPED], dropped);
    assert_int_equal(d->outcomes[OUTCOME_SUPPRESSED], suppressed);
    assert_int_equal(d->outcomes[OUTCOME_OUTRANKED], outranked);
    assert_int_equal(d->queued, 0);
}

static void live_records_are_no_drills(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 50; i++) tell(signals_writer(bench.signals, 1), cells, plan, ABSENT);
    drills_hold(SITE_POSTERIORS_ABSENT, 0, 0, 0, 0, 0);
    drill(writer, plan, ABSENT);
    for (int i = 0; i < 50; i++) tell(signals_writer(bench.signals, 1), cells, plan, ABSENT);
    drills_hold(SITE_POSTERIORS_ABSENT, 1, 1, 0, 0, 0);
    file_wait(bench.path, "\"drill\":true", 1);
    drills_hold(SITE_UNKNOWN_VARIANT, 0, 0, 0, 0, 0);
}

static void a_graver_one_outranks(void **state)
{
    (void)state;
    begin();
    tell(writer, cells, plan, GRAVER);
    drill(writer, plan, GRAVER);
    drills_hold(SITE_POSTERIORS_UNKNOWN_ACTION, 1, 1, 0, 0, 0);
    drills_hold(SITE_POSTERIORS_PARTIAL, 1, 0, 0, 0, 1);
}

/* One token, and none for a day: who takes it is written, whoever that is. */
static void over_the_budget(bool drill_first)
{
    bench.log.budget = (struct log_budget){1e-5, 1};
    begin();
    if (drill_first) drill(writer, plan, UNKNOWN);
    for (int i = 0; i < 5; i++) tell(writer, cells, plan, UNKNOWN);
    if (!drill_first) drill(writer, plan, UNKNOWN);
    drills_hold(SITE_UNKNOWN_VARIANT, 1, drill_first, 0, !drill_first, 0);
    /* By now the site is closed: the writer itself suppresses. */
    drill(writer, plan, UNKNOWN);
    drills_hold(SITE_UNKNOWN_VARIANT, 2, drill_first, 0, 2 - drill_first, 0);
}

static void the_drill_takes_the_last_token(void **state)
{
    (void)state;
    over_the_budget(true);
}

static void a_live_record_takes_the_last_token(void **state)
{
    (void)state;
    over_the_budget(false);
}

static void a_sink_that_is_full(void **state)
{
    (void)state;
    bench.log.file = SPAN("/dev/full");
    begin();
    tell(writer, cells, plan, UNKNOWN);
    drill(writer, plan, UNKNOWN);
    drills_hold(SITE_UNKNOWN_VARIANT, 1, 0, 1, 0, 0);
}

/* Nobody reads: live records fill the ring, the next drill is dropped, and the one before waits. */
static void a_ring_that_is_full(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(bench.path, 0600), 0);
    int reader = open(bench.path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    begin();
    struct signal_account all[SITE_COUNT];
    do {
        for (int i = 0; i < 1000; i++) tell(writer, cells, plan, UNKNOWN);
        signals_account(bench.signals, all);
        sleep_ms(20); /* the scribe takes some more, until its outbox is full */
    } while (all[SITE_UNKNOWN_VARIANT].outcomes[OUTCOME_DROPPED] < 20000);
    drill(writer, plan, UNKNOWN);
    drills_hold(SITE_UNKNOWN_VARIANT, 1, 0, 1, 0, 0);
    close(reader); /* what is left is lost: the reader is gone */
    do {
        signals_account(bench.signals, all);
        sleep_ms(10);
    } while (all[SITE_UNKNOWN_VARIANT].queued);
}

static void the_list_tells_them(void **state)
{
    (void)state;
    begin();
    drill(writer, plan, GRAVER);
    drills_hold(SITE_POSTERIORS_UNKNOWN_ACTION, 1, 1, 0, 0, 0);
    struct buf text = room();
    signals_render_list(bench.signals, &text);
    buf_char(&text, '\0');
    assert_int_equal(count_of(text.data, "\"drills\":{"), SITE_COUNT);
    const char *site = strstr(text.data, "\"name\":\"posteriors_partial\"");
    assert_non_null(site);
    static const char told[] = "\"drills\":{\"fired\":1,\"written\":0,\"dropped\":0,"
                               "\"suppressed\":0,\"outranked\":1,\"queued\":0}";
    assert_memory_equal(strstr(site, "\"drills\":"), told, sizeof told - 1);
    free(text.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(live_records_are_no_drills, prepare, done),
        cmocka_unit_test_setup_teardown(a_graver_one_outranks, prepare, done),
        cmocka_unit_test_setup_teardown(the_drill_takes_the_last_token, prepare, done),
        cmocka_unit_test_setup_teardown(a_live_record_takes_the_last_token, prepare, done),
        cmocka_unit_test_setup_teardown(a_sink_that_is_full, prepare, done),
        cmocka_unit_test_setup_teardown(a_ring_that_is_full, prepare, done),
        cmocka_unit_test_setup_teardown(the_list_tells_them, prepare, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
