/* A plan's counters are found places for, or nothing has changed: while every allocation fails in
 * turn. */
#include "signal/state.h"
#include "support.h"

#include "no_memory.h"

static struct bench bench;

static int fresh(void **state)
{
    (void)state;
    bench_prepare(&bench);
    bench_open(&bench, 1, 0);
    return 0;
}

static int done(void **state)
{
    (void)state;
    bench_done(&bench);
    return 0;
}

/* The plan's own metrics as they are scraped; the caller frees them. */
static char *scraped(void)
{
    struct buf out = room();
    signals_render_metrics(bench.signals, METRICS_PROMETHEUS, &out);
    buf_char(&out, '\0');
    const char *from = strstr(out.data, "# HELP interlude_decisions_total");
    const char *to = strstr(out.data, "# HELP interlude_request_duration_seconds");
    char *text = strndup(from, (size_t)(to - from));
    free(out.data);
    return text;
}

static void all_cells_or_none(void **state)
{
    (void)state;
    struct plan *served = plan_of("served");
    struct signal_cells *cells = adopt(bench.signals, served, &bench.log);
    tell(signals_writer(bench.signals, 0), cells, served, "{\"variant\":\"learned\"}");
    struct plan *plans[5];
    char name[32];
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "next-%d", i);
        plans[i] = plan_of(name);
    }
    /* The fifth version after it would take the first one's series away. */
    for (int i = 0; i < 5; i++) {
        struct signal_cells *next = NULL;
        long at = 0;
        while (!next) {
            char *before = scraped();
            uint32_t count = bench.signals->series.count;
            uint64_t serial = bench.signals->series.serial;
            at++;
            no_memory_arm(at, at % 2);
            next = signals_cells(bench.signals, plans[i]);
            bool failed = no_memory_disarm();
            assert_int_equal(failed, next == NULL);
            char *after = scraped();
            if (failed) {
                assert_string_equal(after, before);
                assert_int_equal(bench.signals->series.count, count);
                assert_int_equal(bench.signals->series.serial, serial);
            }
            free(before);
            free(after);
        }
        assert_true(at > 10);
        signals_release(bench.signals, cells);
        cells = next;
        tell(signals_writer(bench.signals, 0), cells, plans[i], "{\"variant\":\"learned\"}");
    }
    char *text = scraped();
    assert_null(strstr(text, "version=\"served\""));
    assert_non_null(strstr(text, "version=\"next-1\""));
    /* Six decisions, whatever was tried in vain between them. */
    uint64_t sum = series_sum(&bench.signals->series, METRIC_STATE, 0, STATE_STATUS_COUNT);
    assert_int_equal(sum, 6);
    free(text);
    signals_release(bench.signals, cells);
    plan_free(served);
    for (int i = 0; i < 5; i++) plan_free(plans[i]);
}

static void a_start_without_memory_says_so(void **state)
{
    (void)state;
    struct signals_config config = {.writers = 2, .log = &bench.log};
    for (long at = 1;; at++) {
        struct signals *signals = NULL;
        struct err e = {0};
        no_memory_arm(at, true);
        enum err_code code = signals_open(&config, &signals, &e);
        if (!no_memory_disarm()) {
            assert_int_equal(code, ERR_OK);
            assert_int_equal(signals_close(signals, in_ms(2000)), 0);
            assert_true(at > 3);
            return;
        }
        assert_int_equal(code, ERR_NO_MEMORY);
        assert_null(signals);
        assert_non_null(strstr(e.text, "memory"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_cells_or_none, fresh, done),
        cmocka_unit_test_setup_teardown(a_start_without_memory_says_so, fresh, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
