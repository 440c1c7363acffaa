#include "signal/state.h"
#include "support.h"

#include <math.h>

#include <jansson.h>

static struct bench bench;
static struct plan *plan;
static struct signal_cells *cells;
static char *text;

static void scrape(enum metrics_format format)
{
    struct buf out = room();
    signals_render_metrics(bench.signals, format, &out);
    free(text);
    text = strndup(out.data, out.len);
    assert_int_equal(strlen(text), out.len);
    free(out.data);
}

static int fresh(void **state)
{
    (void)state;
    bench_prepare(&bench);
    bench_open(&bench, 3, 0);
    plan = plan_of("v1");
    cells = adopt(bench.signals, plan, &bench.log);
    signals_plan_file_set(bench.signals, plan->fingerprint);
    signals_thread_add(bench.signals, "worker-0");
    tell(signals_writer(bench.signals, 1), cells, plan,
         "{\"variant\":\"learned\",\"session\":{\"elapsed_s\":-1}}");
    signal_duration(signals_writer(bench.signals, 2), cells, 1, 123456);
    signal_http(signals_writer(bench.signals, 2), 200);
    return 0;
}

static int done(void **state)
{
    (void)state;
    free(text);
    text = NULL;
    signals_release(bench.signals, cells);
    plan_free(plan);
    bench_done(&bench);
    return 0;
}

static const char *type_name(enum metric_type type, enum metrics_format format)
{
    static const char *const names[] = {[METRIC_COUNTER] = "counter",
                                        [METRIC_GAUGE] = "gauge",
                                        [METRIC_HISTOGRAM] = "histogram",
                                        [METRIC_INFO] = "info"};
    return type == METRIC_INFO && format == METRICS_PROMETHEUS ? "gauge" : names[type];
}

/* The name's suffix in the family's head, and that of its samples. */
static const char *suffix(enum metric_type type)
{
    return type == METRIC_COUNTER ? "_total" : type == METRIC_INFO ? "_info" : "";
}

/* Every metric of the table, in its order, has its head and at least one sample under it; nothing
 * else is there; and no sample stands twice. */
static void every_metric_is_told(void **state)
{
    for (int format = METRICS_PROMETHEUS; format <= METRICS_OPENMETRICS; format++) {
        scrape((enum metrics_format)format);
        char *at = text;
        for (int m = 0; m < METRIC_COUNT; m++) {
            const struct signal_metric_row *row = &signal_metrics[m];
            const char *in_head = format == METRICS_PROMETHEUS ? suffix(row->type) : "";
            char head[1024], name[128];
            int n = snprintf(head, sizeof head, "# HELP %s%s %s\n# TYPE %s%s %s\n", row->name,
                             in_head, row->help, row->name, in_head,
                             type_name(row->type, (enum metrics_format)format));
            if (strncmp(at, head, (size_t)n) != 0) fail_msg("%.200s\n%s", at, head);
            at += n;
            n = snprintf(name, sizeof name, "%s%s", row->name, suffix(row->type));
            int samples = 0;
            for (; strncmp(at, name, (size_t)n) == 0; samples++) {
                char *end = strchr(at, '\n');
                assert_non_null(end);
                char *space = memchr(at, ' ', (size_t)(end - at));
                assert_non_null(space);
                *space = '\0';
                assert_true(space[1] >= '0' && space[1] <= '9');
                at = end + 1;
            }
            assert_true(samples > 0);
        }
        assert_string_equal(at, format == METRICS_OPENMETRICS ? "# EOF\n" : "");
    }
    (void)state;
}

/* The prefix of each sample up to the value, sorted by nothing: quadratic, and short enough. */
static void no_sample_stands_twice(void **state)
{
    (void)state;
    scrape(METRICS_PROMETHEUS);
    char *copy = strdup(text);
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        if (*line == '#') continue;
        char sample[1024];
        size_t len = (size_t)(strchr(line, ' ') + 1 - line);
        assert_true(len + 1 < sizeof sample);
        sample[0] = '\n';
        memcpy(sample + 1, line, len);
        sample[1 + len] = '\0';
        if (count_of(copy, sample) != 1) fail_msg("%s", sample);
    }
    free(copy);
}

/* Others' readers, where they are installed. */
#define STRICT_PARSER                                                                     \
    "/usr/bin/python3 -c 'import sys; from prometheus_client.openmetrics import parser; " \
    "list(parser.text_string_to_metric_families(sys.stdin.read()))'"

static const struct {
    const char *available, *missing, *command;
    enum metrics_format format;
} readers[] = {
    {"command -v promtool >/dev/null 2>&1", "promtool is missing: apt-get install prometheus",
     "promtool check metrics >&2", METRICS_PROMETHEUS},
    {"/usr/bin/python3 -c 'import prometheus_client.openmetrics' 2>/dev/null",
     "a strict reader is missing: apt-get install python3-prometheus-client", STRICT_PARSER,
     METRICS_OPENMETRICS},
};

static void other_readers_accept_it(void **state)
{
    (void)state;
    bool all = true;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        if (system(readers[i].available) != 0) {
            print_message("skipped: %s\n", readers[i].missing);
            all = false;
            continue;
        }
        scrape(readers[i].format);
        FILE *reader = popen(readers[i].command, "we");
        assert_non_null(reader);
        fputs(text, reader);
        assert_int_equal(pclose(reader), 0);
    }
    if (!all) skip();
}

static double told_of(const char *metric)
{
    char line[64];
    snprintf(line, sizeof line, "\n%s ", metric);
    const char *at = strstr(text, line);
    assert_non_null(at);
    return strtod(at + strlen(line), NULL);
}

static void the_process_is_told(void **state)
{
    (void)state;
    struct process_facts before, after;
    process_read(&before);
    scrape(METRICS_PROMETHEUS);
    process_read(&after);
    assert_true(told_of("process_open_fds") == (double)after.open_fds);
    assert_true(told_of("process_max_fds") == (double)after.max_fds);
    assert_true(told_of("process_cpu_seconds_total") >= before.cpu_s);
    assert_true(told_of("process_cpu_seconds_total") <= after.cpu_s);
    /* The text's memory was there, and is not any more; a sanitizer keeps what was given back. */
    const double more = SIGNALS_METRICS_BYTES_MAX + 1024 * 1024;
    const double least = fmin((double)before.virtual_bytes, (double)after.virtual_bytes);
    const double most = fmax((double)before.virtual_bytes, (double)after.virtual_bytes);
    double virtual_bytes = told_of("process_virtual_memory_bytes");
    double resident_bytes = told_of("process_resident_memory_bytes");
    assert_true(virtual_bytes >= least && virtual_bytes <= most + more);
    assert_true(resident_bytes >= 0.5 * (double)after.resident_bytes &&
                resident_bytes <= 2 * (double)after.resident_bytes);
    assert_true(resident_bytes < virtual_bytes);
    double start_s = told_of("process_start_time_seconds");
    assert_true(start_s - process_start_s() < 0.1 && start_s - process_start_s() > -0.1);
}

/* Who looks for restarts looks whether it changes: two clocks were read anew for each scrape. */
static void the_start_is_told_once(void **state)
{
    (void)state;
    char first[64];
    for (int i = 0; i < 20; i++) {
        scrape(METRICS_PROMETHEUS);
        const char *at = strstr(text, "\nprocess_start_time_seconds ");
        assert_non_null(at);
        size_t len = strcspn(at + 1, "\n");
        assert_true(len < sizeof first);
        if (i == 0) snprintf(first, sizeof first, "%.*s", (int)len, at + 1);
        assert_int_equal(len, strlen(first));
        assert_memory_equal(at + 1, first, len);
    }
}

static void threads_that_stand_still(void **state)
{
    (void)state;
    assert_string_equal(signals_thread_add(bench.signals, "scribe"), "scribe");
    signals_thread_set(bench.signals, 1, true);
    scrape(METRICS_PROMETHEUS);
    assert_non_null(strstr(text, "\ninterlude_thread_stalled{thread=\"worker-0\"} 0\n"
                                 "interlude_thread_stalled{thread=\"scribe\"} 1\n"));
    signals_thread_set(bench.signals, 1, false);
    scrape(METRICS_PROMETHEUS);
    assert_non_null(strstr(text, "\ninterlude_thread_stalled{thread=\"scribe\"} 0\n"));
}

static void an_info_is_that_of_the_plan_adopted_last(void **state)
{
    (void)state;
    struct plan *next = plan_of("next");
    struct signal_cells *next_cells = adopt(bench.signals, next, &bench.log);
    scrape(METRICS_PROMETHEUS);
    char line[128];
    snprintf(line, sizeof line, "\ninterlude_plan_info{version=\"next\",fingerprint=\"%s\"} 1\n",
             next->fingerprint);
    assert_non_null(strstr(text, line));
    assert_int_equal(count_of(text, "\ninterlude_plan_info{"), 1);
    signals_release(bench.signals, next_cells);
    plan_free(next);
}

/* With too few cells nothing breaks: what has none of its own is counted all the same, so that it
 * is known how often a signal could have fired; and a line tells it. */
static void too_many_series_overflow(void **state)
{
    (void)state;
    struct signals *small;
    struct signals_config config = {
        .writers = 1, .log = &bench.log, .cells_max = CELL_FIXED_COUNT + 1};
    struct err e;
    assert_int_equal(signals_open(&config, &small, &e), ERR_OK);
    struct signal_cells *few = adopt(small, plan, &bench.log);
    for (int i = 0; i < 3; i++) {
        tell(signals_writer(small, 0), few, plan, "{\"variant\":\"learned\"}");
        tell(signals_writer(small, 0), few, plan, "{\"variant\":\"nobody\"}");
    }
    struct buf out = room();
    signals_render_metrics(small, METRICS_PROMETHEUS, &out);
    buf_char(&out, '\0');
    /* Each decision counts in four ways at least, and in some more for what it lacks; but its
     * cooldown of 60 s or more is no count. */
    const char *at = strstr(out.data, "\ninterlude_metric_overflow_total ") + 33;
    assert_in_range(strtol(at, NULL, 10), 6 * 4, 6 * 20);
    free(out.data);
    static const struct {
        enum signal_site site;
        uint64_t fired, opportunities;
    } expected[] = {
        {SITE_POSTERIORS_ABSENT, 3, 3},
        {SITE_UNKNOWN_VARIANT, 3, 6},
        {SITE_SESSION_INVALID, 0, 6},
    };
    struct signal_account accounts[SITE_COUNT];
    signals_account(small, accounts);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(accounts[expected[i].site].fired, expected[i].fired);
        assert_int_equal(accounts[expected[i].site].opportunities, expected[i].opportunities);
    }
    file_wait(bench.path, "\"event\":\"metric_overflow\",\"label_sets\":", 1);
    file_wait(bench.path, "\"series\":1,\"series_max\":1}", 1);
    for (int v = 0; v < 3; v++) signal_duration(signals_writer(small, 0), few, v, 1);
    signals_release(small, few);
    assert_int_equal(signals_close(small, in_ms(2000)), 0);
}

/* As many series as there can be, and each as long as one can be, are shorter than the limit that
 * others rely on. */
static void what_is_legal_can_be_scraped(void **state)
{
    (void)state;
    struct signals *own;
    struct signals_config config = {.writers = 1, .log = &bench.log};
    struct err e;
    assert_int_equal(signals_open(&config, &own, &e), ERR_OK);
    char labels[SERIES_LABELS_BYTES_MAX];
    memset(labels, 'x', sizeof labels);
    for (int i = 0; !own->series.refused; i++) {
        for (int k = 0; k < 5; k++) labels[k] = (char)('a' + (i >> 4 * k & 15));
        series_resolve(&own->series, i % 4 ? METRIC_MISSING_POSTERIORS : METRIC_REQUEST_DURATION, 0,
                       0, (struct span){labels, sizeof labels});
    }
    for (int format = METRICS_PROMETHEUS; format <= METRICS_OPENMETRICS; format++) {
        struct buf out = room();
        signals_render_metrics(own, (enum metrics_format)format, &out);
        assert_true(out.len > SIGNALS_METRICS_BYTES_MAX / 2); /* or nothing was tried */
        assert_true(out.len <= SIGNALS_METRICS_BYTES_MAX);
        free(out.data);
    }
    assert_int_equal(signals_close(own, in_ms(2000)), 0);
}

static void the_list_is_json(void **state)
{
    (void)state;
    struct buf out = room();
    signals_render_list(bench.signals, &out);
    json_error_t error;
    json_t *list = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(list);
    assert_int_equal(json_array_size(list), SITE_COUNT);
    const json_t *absent = NULL;
    size_t i;
    json_t *site;
    json_array_foreach(list, i, site)
    {
        if (!strcmp(json_string_value(json_object_get(site, "name")), "posteriors_absent"))
            absent = site;
        assert_string_equal(json_string_value(json_object_get(site, "state")), "normal");
        assert_int_equal(json_object_size(json_object_get(site, "cost")), 4);
    }
    assert_non_null(absent);
    assert_string_equal(json_string_value(json_object_get(absent, "expected")), "rare");
    assert_int_equal(json_integer_value(json_object_get(absent, "fired")), 1);
    assert_int_equal(json_integer_value(json_object_get(absent, "opportunities")), 1);
    json_decref(list);
    free(out.data);
}

static int64_t number(const json_t *of, const char *name)
{
    const json_t *value = json_object_get(of, name);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static void text_is(const json_t *of, const char *name, const char *expected)
{
    assert_string_equal(json_string_value(json_object_get(of, name)), expected);
}

/* As the table declares it, and with the numbers of its books. */
static void the_list_tells_each_site(void **state)
{
    (void)state;
    for (int i = 0; i < 9; i++) signal_server_stopped(signals_writer(bench.signals, 0), SPAN("t"));
    site_holds(bench.signals, SITE_SERVER_STOPPED, 9, 9, 0, 0, 0, 0);
    site_holds(bench.signals, SITE_POSTERIORS_ABSENT, 1, 1, 0, 0, 0, 0);
    struct buf out = room();
    signals_render_list(bench.signals, &out);
    struct signal_account all[SITE_COUNT];
    signals_account(bench.signals, all);
    json_t *list = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
    bool seen[SITE_COUNT] = {false};
    size_t i;
    json_t *site;
    json_array_foreach(list, i, site)
    {
        const char *name = json_string_value(json_object_get(site, "name"));
        int s = 0;
        while (s < SITE_COUNT && strcmp(signal_sites[s].name, name) != 0) s++;
        assert_true(s < SITE_COUNT && !seen[s]);
        seen[s] = true;
        text_is(site, "level", log_level_names[signal_sites[s].level]);
        text_is(site, "expected", signal_expected_name(signal_sites[s].expected));
        text_is(site, "budget", signal_budget_name(signal_sites[s].budget));
        text_is(site, "meaning", signal_sites[s].help);
        text_is(site, "opportunity", signal_sites[s].opportunity);
        assert_int_equal(number(site, "fired"), all[s].fired);
        assert_int_equal(number(site, "queued"), all[s].queued);
        for (int o = 0; o < OUTCOME_COUNT; o++)
            assert_int_equal(number(site, signal_outcome_name((enum signal_outcome)o)),
                             all[s].outcomes[o]);
        /* All of it is recent: no window has ended. */
        const json_t *recent = json_object_get(site, "recent");
        assert_int_equal(number(recent, "fired"), all[s].fired);
        assert_int_equal(number(recent, "opportunities"), number(site, "opportunities"));
        double share = json_number_value(json_object_get(site, "share"));
        double opportunities = (double)number(site, "opportunities");
        double expected = opportunities > 0 ? (double)all[s].fired / opportunities : 0;
        assert_true(share > expected - 0.001 && share < expected + 0.001);
        const json_t *cost = json_object_get(site, "cost");
        double records = json_number_value(json_object_get(cost, "records_per_second"));
        double lines = json_number_value(json_object_get(cost, "lines_per_second"));
        double bytes = json_number_value(json_object_get(cost, "bytes_per_second"));
        double ns = json_number_value(json_object_get(cost, "estimated_ns_per_second"));
        assert_int_equal(records > 0, all[s].fired > 0);
        assert_int_equal(lines > 0, all[s].outcomes[OUTCOME_WRITTEN] > 0);
        assert_int_equal(bytes > 0, all[s].bytes > 0);
        assert_true(ns >= records * 60 + lines * 7000 - 5 && ns <= records * 60 + lines * 7000 + 5);
    }
    for (int s = 0; s < SITE_COUNT; s++) assert_true(seen[s]);
    json_decref(list);
    free(out.data);
}

/* A plan of the most places: what `interlude check` counts for it is an upper bound. */
static char *large_plan(int variants, int segments)
{
    char *yaml = NULL;
    size_t len;
    FILE *f = open_memstream(&yaml, &len);
    fprintf(f, "version: large\nsalt: s\nactions:\n  - {name: none, ads: 0, cooldown: 60s}\n");
    for (int i = 1; i < 8; i++)
        fprintf(f, "  - {name: pod_%d, ads: %d, max_duration: 30s, cooldown: 60s}\n", i, i);
    fprintf(f, "segments: [");
    for (int i = 0; i < segments; i++) fprintf(f, "%ssegment_%d", i ? ", " : "", i);
    fprintf(f, "]\npolicies:\n"
               "  rules: {kind: fixed, rules: [{when: 'tracks_played > 1', action: pod_1}, "
               "{action: none}]}\n"
               "  learned: {kind: thompson, fallback: rules}\nvariants:\n");
    for (int i = 0; i < variants; i++)
        fprintf(f, "  v%d: {policy: %s}\n", i, i % 3 ? "learned" : "rules");
    fprintf(f, "experiments:\n  - {name: e, salt: e, slice: 10%%, split: {v0: 50%%, v1: 50%%}}\n"
               "default_variant: v1\n"
               "guardrails: {grace_period: 3m, min_gap: 5m, ads_per_hour: 6, "
               "ad_free: \"tier == 'p'\"}\n");
    fclose(f);
    return yaml;
}

static void no_plan_has_more_series_than_were_counted(void **state)
{
    (void)state;
    char *yamls[] = {large_plan(2, 1), large_plan(12, 10), large_plan(20, 12),
                     strndup(plan_demo_text().data, plan_demo_text().len)};
    for (size_t i = 0; i < sizeof yamls / sizeof *yamls; i++) {
        struct plan_errors errors = {0};
        struct plan *some = plan_load(span_of(yamls[i]), NULL, &errors);
        if (!some) fail_msg("%u: %s", errors.errors[0].line, errors.errors[0].text);
        struct signals *own;
        struct signals_config config = {.writers = 1, .log = &bench.log};
        struct err e;
        assert_int_equal(signals_open(&config, &own, &e), ERR_OK);
        struct signal_cells *some_cells = adopt(own, some, &bench.log);
        struct buf out = room();
        signals_render_metrics(own, METRICS_PROMETHEUS, &out);
        buf_char(&out, '\0');
        double series = strtod(strstr(out.data, "\ninterlude_metric_series ") + 24, NULL);
        const char *largest;
        assert_true(series > 100);
        assert_true(series <= (double)plan_series_count(some, &largest));
        assert_non_null(strstr(out.data, "\ninterlude_metric_overflow_total 0\n"));
        free(out.data);
        signals_release(own, some_cells);
        assert_int_equal(signals_close(own, in_ms(2000)), 0);
        plan_free(some);
        free(yamls[i]);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, done)
    const struct CMUnitTest tests[] = {
        TEST(every_metric_is_told),
        TEST(no_sample_stands_twice),
        TEST(other_readers_accept_it),
        TEST(the_process_is_told),
        TEST(the_start_is_told_once),
        TEST(threads_that_stand_still),
        TEST(an_info_is_that_of_the_plan_adopted_last),
        TEST(too_many_series_overflow),
        TEST(what_is_legal_can_be_scraped),
        TEST(the_list_is_json),
        TEST(the_list_tells_each_site),
        TEST(no_plan_has_more_series_than_were_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
