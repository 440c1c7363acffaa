/* When a signal is useless, window by window. */
#include "signal/watch.h"

#include "support.h"

#include <jansson.h>

enum { MINUTE = 60 };
static const uint64_t second_ns = 1000000000;

/* One site, window by window: how often it fired, of how many, and the state afterwards. */
static const struct {
    const char *name;
    struct {
        uint64_t fired, opportunities;
        enum signal_state state;
    } windows[20];
    int count, turned; /* how often it became constant */
} courses[] = {
    {"two windows make it constant",
     {{1000, 1000, SIGNAL_STATE_NORMAL}, {5000, 5000, SIGNAL_STATE_CONSTANT}},
     2,
     1},
    {"and two make it normal again",
     {{1000, 1000, SIGNAL_STATE_NORMAL},
      {1000, 1000, SIGNAL_STATE_CONSTANT},
      {0, 1000, SIGNAL_STATE_CONSTANT},
      {0, 1000, SIGNAL_STATE_NORMAL}},
     4,
     1},
    {"one other window in between changes nothing",
     {{1000, 1000, SIGNAL_STATE_NORMAL},
      {3, 1000, SIGNAL_STATE_NORMAL},
      {1000, 1000, SIGNAL_STATE_NORMAL},
      {3, 1000, SIGNAL_STATE_NORMAL},
      {1000, 1000, SIGNAL_STATE_NORMAL},
      {1000, 1000, SIGNAL_STATE_CONSTANT},
      {3, 1000, SIGNAL_STATE_CONSTANT},
      {1000, 1000, SIGNAL_STATE_CONSTANT}},
     8,
     1},
    {"it is told each time that it becomes constant",
     {{1000, 1000, SIGNAL_STATE_NORMAL},
      {1000, 1000, SIGNAL_STATE_CONSTANT},
      {1, 1000, SIGNAL_STATE_CONSTANT},
      {1, 1000, SIGNAL_STATE_NORMAL},
      {1000, 1000, SIGNAL_STATE_NORMAL},
      {1000, 1000, SIGNAL_STATE_CONSTANT}},
     6,
     2},
    {"99% is enough",
     {{990, 1000, SIGNAL_STATE_NORMAL}, {9900, 10000, SIGNAL_STATE_CONSTANT}},
     2,
     1},
    {"less than 99% is not",
     {{989, 1000, SIGNAL_STATE_NORMAL}, {9899, 10000, SIGNAL_STATE_NORMAL}},
     2,
     0},
    {"fewer than 1,000 say nothing",
     {{999, 999, SIGNAL_STATE_NORMAL}, {999, 999, SIGNAL_STATE_NORMAL}},
     2,
     0},
    {"an hour and a window make it quiet; two windows wake it",
     {{1, 9000, SIGNAL_STATE_NORMAL},
      {0, 9000, SIGNAL_STATE_NORMAL},
      {0, 9000, SIGNAL_STATE_NORMAL},
      {0, 9000, SIGNAL_STATE_NORMAL},
      {0, 9000, SIGNAL_STATE_NORMAL},
      {0, 9000, SIGNAL_STATE_NORMAL},
      {0, 9000, SIGNAL_STATE_NORMAL},
      {0, 9000, SIGNAL_STATE_NORMAL},
      {0, 9000, SIGNAL_STATE_NORMAL},
      {0, 9000, SIGNAL_STATE_NORMAL},
      {0, 9000, SIGNAL_STATE_NORMAL},
      {0, 9000, SIGNAL_STATE_NORMAL},
      {0, 9000, SIGNAL_STATE_NORMAL},
      {0, 9000, SIGNAL_STATE_QUIET},
      {1, 9000, SIGNAL_STATE_QUIET},
      {1, 9000, SIGNAL_STATE_NORMAL}},
     16,
     0},
    {"from quiet to constant",
     {{0, 0, SIGNAL_STATE_NORMAL},
      {0, 0, SIGNAL_STATE_NORMAL},
      {0, 0, SIGNAL_STATE_NORMAL},
      {0, 0, SIGNAL_STATE_NORMAL},
      {0, 0, SIGNAL_STATE_NORMAL},
      {0, 0, SIGNAL_STATE_NORMAL},
      {0, 0, SIGNAL_STATE_NORMAL},
      {0, 0, SIGNAL_STATE_NORMAL},
      {0, 0, SIGNAL_STATE_NORMAL},
      {0, 0, SIGNAL_STATE_NORMAL},
      {0, 0, SIGNAL_STATE_NORMAL},
      {0, 0, SIGNAL_STATE_NORMAL},
      {0, 0, SIGNAL_STATE_QUIET},
      {1000, 1000, SIGNAL_STATE_QUIET},
      {1000, 1000, SIGNAL_STATE_CONSTANT}},
     15,
     1},
};

static void the_state_follows_the_windows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof courses / sizeof *courses; i++) {
        struct watch w;
        struct signal_account accounts[SITE_COUNT] = {0};
        uint64_t now_ns = 7;
        watch_init(&w, 5 * MINUTE * second_ns, 60 * MINUTE * second_ns, now_ns);
        int turned = 0;
        for (int k = 0; k < courses[i].count; k++) {
            accounts[SITE_POSTERIORS_ABSENT].fired += courses[i].windows[k].fired;
            accounts[SITE_POSTERIORS_ABSENT].opportunities += courses[i].windows[k].opportunities;
            for (int look = 1; look <= WATCH_LOOKS; look++) {
                now_ns += 30 * second_ns;
                uint32_t bits = watch_take(&w, accounts, now_ns);
                assert_int_equal(bits & ~(1u << SITE_POSTERIORS_ABSENT), 0);
                assert_true(look == WATCH_LOOKS || bits == 0);
                turned += bits != 0;
            }
            if (w.sites[SITE_POSTERIORS_ABSENT].state != courses[i].windows[k].state)
                fail_msg("%s: window %d", courses[i].name, k);
        }
        if (turned != courses[i].turned) fail_msg("%s: turned %d times", courses[i].name, turned);
    }
}

static uint64_t minded_count(void)
{
    uint64_t minded = 0;
    for (int site = 0; site < SITE_COUNT; site++) minded += watch_minds((enum signal_site)site);
    return minded;
}

/* Windows do not depend on when it is looked: a thread that was held up makes one longer. */
static void a_late_look_ends_one_window(void **state)
{
    (void)state;
    struct watch w;
    struct signal_account accounts[SITE_COUNT] = {0};
    watch_init(&w, 100, 1000, 0);
    accounts[SITE_POSTERIORS_ABSENT] =
        (struct signal_account){.fired = 5000, .opportunities = 5000};
    watch_take(&w, accounts, 100000);
    assert_int_equal(w.sites[SITE_POSTERIORS_ABSENT].verdict, SIGNAL_STATE_CONSTANT);
    assert_int_equal(w.sites[SITE_POSTERIORS_ABSENT].state, SIGNAL_STATE_NORMAL);
    assert_int_equal(w.window_end_ns, 100100);
    assert_int_equal(w.sites[SITE_POSTERIORS_ABSENT].windows_silent, 0);
    assert_int_equal(w.sites[SITE_POSTERIORS_STALE].windows_silent, 1);
    assert_int_equal(w.judged, minded_count());
}

/* A thousand reloads in a row, each of them told, are no fault of the signal that tells them. */
static void reloads_that_all_succeed_are_no_constant_signal(void **state)
{
    (void)state;
    struct watch w;
    struct signal_account accounts[SITE_COUNT] = {0};
    watch_init(&w, 100, 200, 0);
    for (uint64_t window = 1; window <= 3; window++) {
        accounts[SITE_PLAN_RELOADED].fired += 5000;
        accounts[SITE_PLAN_RELOADED].opportunities += 5000;
        assert_int_equal(watch_take(&w, accounts, window * 100), 0);
    }
    assert_int_equal(w.sites[SITE_PLAN_RELOADED].state, SIGNAL_STATE_CONSTANT);
    assert_false(watch_minds(SITE_PLAN_RELOADED));
    /* Nor is it one that no server was started lately. */
    assert_int_equal(w.sites[SITE_SERVER_STARTED].state, SIGNAL_STATE_QUIET);
    struct watch_rates rates[SITE_COUNT];
    for (int site = 0; site < SITE_COUNT; site++)
        watch_rates(&w, (enum signal_site)site, &accounts[site], 300, &rates[site]);
    assert_true(rates[SITE_PLAN_RELOADED].wrong == 0);
    enum signal_site order[SITE_COUNT];
    watch_order(&w, rates, order);
    assert_int_equal(order[0], SITE_PLAN_RELOADED); /* all the others are quiet */
}

static void rates_are_of_the_last_looks(void **state)
{
    (void)state;
    struct watch w;
    struct signal_account accounts[SITE_COUNT] = {0}, *a = &accounts[SITE_POSTERIORS_PARTIAL];
    struct watch_rates r;
    watch_init(&w, 100 * second_ns, 1000 * second_ns, 0);
    watch_rates(&w, SITE_POSTERIORS_PARTIAL, a, 0, &r);
    assert_true(r.share == 0 && r.fired == 0 && r.bytes == 0);
    for (int second = 10; second <= 30; second += 10) {
        a->fired += 100;
        a->opportunities += 400;
        a->outcomes[OUTCOME_WRITTEN] += 50;
        a->bytes += 5000;
        watch_take(&w, accounts, (uint64_t)second * second_ns);
    }
    watch_rates(&w, SITE_POSTERIORS_PARTIAL, a, 40 * second_ns, &r);
    assert_true(r.share == 0.25 && r.wrong == 0.25);
    assert_true(r.fired == 5 && r.written == 2.5 && r.bytes == 250); /* since 20 s */
}

static void the_worst_comes_first(void **state)
{
    (void)state;
    struct watch w;
    struct signal_account accounts[SITE_COUNT] = {0};
    watch_init(&w, 100, 1000, 0);
    static const struct {
        enum signal_site site;
        uint64_t fired, opportunities;
        enum signal_state state;
    } rows[] = {
        {SITE_POSTERIORS_STALE, 0, 5000, SIGNAL_STATE_CONSTANT}, /* was, a while ago */
        {SITE_UNKNOWN_VARIANT, 900, 1000, SIGNAL_STATE_NORMAL},
        {SITE_ACCEPT_PAUSED, 100, 2000, SIGNAL_STATE_NORMAL}, /* never: 5% is as bad as 50% */
        {SITE_POSTERIORS_PARTIAL, 40, 100, SIGNAL_STATE_NORMAL},
        {SITE_PLAN_REFUSED, 1, 1, SIGNAL_STATE_NORMAL},
        {SITE_POSTERIORS_ABSENT, 0, 5000, SIGNAL_STATE_NORMAL},
        {SITE_POSTERIORS_INVALID, 0, 5000, SIGNAL_STATE_QUIET},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    struct watch_rates rates[SITE_COUNT];
    for (int i = 0; i < ROWS; i++) {
        accounts[rows[i].site].fired = rows[i].fired;
        accounts[rows[i].site].opportunities = rows[i].opportunities;
        w.sites[rows[i].site].state = rows[i].state;
    }
    for (int site = 0; site < SITE_COUNT; site++)
        watch_rates(&w, (enum signal_site)site, &accounts[site], 50, &rates[site]);
    enum signal_site order[SITE_COUNT];
    int place[SITE_COUNT];
    watch_order(&w, rates, order);
    memset(place, -1, sizeof place);
    for (int i = 0; i < SITE_COUNT; i++) {
        assert_int_equal(place[order[i]], -1);
        place[order[i]] = i;
    }
    for (int i = 1; i < ROWS; i++)
        if (place[rows[i - 1].site] >= place[rows[i].site])
            fail_msg("%s comes after %s", signal_sites[rows[i - 1].site].name,
                     signal_sites[rows[i].site].name);
}

/* The whole way: a site that always fires is told in one line, in the metrics and in the list. */
static void a_constant_signal_says_so(void **state)
{
    (void)state;
    struct bench bench;
    bench_prepare(&bench);
    bench.log.sites[SITE_CONNECTIONS_MAX_REACHED].own = true;
    struct signals_config config = {
        .writers = 1, .log = &bench.log, .window_ms = 150, .quiet_ms = 300};
    struct err e;
    assert_int_equal(signals_open(&config, &bench.signals, &e), ERR_OK);
    /* A busy machine may make single windows as thin as it likes: so it fires until it is told, not
       for a while. */
    struct buf out = room();
    for (int tries = 0;; tries++) {
        for (int i = 0; i < 200; i++)
            signal_connections_max_reached(signals_writer(bench.signals, 0), i);
        out.len = 0;
        signals_render_metrics(bench.signals, METRICS_PROMETHEUS, &out);
        buf_char(&out, '\0');
        if (strstr(out.data, "\ninterlude_signal_state{signal=\"connections_max_reached\","
                             "state=\"constant\"} 1\n") &&
            strstr(out.data,
                   "\ninterlude_signal_state{signal=\"accept_paused\",state=\"quiet\"} 1\n"))
            break;
        assert_true(tries < 20000);
        sleep_ms(5);
    }
    assert_non_null(strstr(out.data, "\ninterlude_signal_state{signal=\"connections_max_reached\","
                                     "state=\"normal\"} 0\n"));
    out.len = 0;
    signals_render_list(bench.signals, &out);
    json_t *list = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *first = json_array_get(list, 0);
    assert_string_equal(json_string_value(json_object_get(first, "name")),
                        "connections_max_reached");
    assert_string_equal(json_string_value(json_object_get(first, "state")), "constant");
    assert_true(json_number_value(json_object_get(first, "share")) == 1);
    const json_t *cost = json_object_get(first, "cost");
    assert_true(json_number_value(json_object_get(cost, "records_per_second")) > 0);
    assert_true(json_number_value(json_object_get(cost, "bytes_per_second")) == 0);
    assert_true(json_number_value(json_object_get(cost, "estimated_ns_per_second")) > 0);
    json_decref(list);
    free(out.data);
    file_wait(bench.path, "\"event\":\"signal_constant\"", 1);
    char *text = file_text(bench.path);
    assert_int_equal(count_of(text, "\"event\":\"signal_constant\""), 1);
    assert_non_null(strstr(text, "\"signal\":\"connections_max_reached\",\"fired\":"));
    assert_non_null(strstr(text, "\"window_ms\":150}\n"));
    free(text);
    bench_done(&bench);
}

/* The warning has a budget of its own. */
static void the_warning_is_budgeted(void **state)
{
    (void)state;
    struct bench bench;
    bench_prepare(&bench);
    bench.log.sites[SITE_SIGNAL_CONSTANT].own = true;
    struct signals_config config = {.writers = 1, .log = &bench.log, .window_ms = 100};
    struct err e;
    assert_int_equal(signals_open(&config, &bench.signals, &e), ERR_OK);
    struct signal_account all[SITE_COUNT];
    for (int tries = 0; tries < 20000; tries++) {
        for (int i = 0; i < 300; i++)
            signal_connections_max_reached(signals_writer(bench.signals, 0), i);
        signals_account(bench.signals, all);
        if (all[SITE_SIGNAL_CONSTANT].fired) break;
        sleep_ms(5);
    }
    site_holds(bench.signals, SITE_SIGNAL_CONSTANT, 1, 0, 0, 1, 0, 0);
    assert_true(all[SITE_SIGNAL_CONSTANT].opportunities >= 2 * minded_count());
    bench_done(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_follows_the_windows),
        cmocka_unit_test(a_late_look_ends_one_window),
        cmocka_unit_test(reloads_that_all_succeed_are_no_constant_signal),
        cmocka_unit_test(rates_are_of_the_last_looks),
        cmocka_unit_test(the_worst_comes_first),
        cmocka_unit_test(a_constant_signal_says_so),
        cmocka_unit_test(the_warning_is_budgeted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
