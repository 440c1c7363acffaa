/* What a decision counts and tells, one request a row. */
#include "support.h"

static struct bench bench;
static struct plan *plan;
static struct signal_cells *cells;
static struct signal_writer *writer;

static int fresh(void **state)
{
    (void)state;
    bench_prepare(&bench);
    bench_open(&bench, 1, 0);
    writer = signals_writer(bench.signals, 0);
    plan = plan_of("v1");
    cells = adopt(bench.signals, plan, &bench.log);
    return 0;
}

static int done(void **state)
{
    (void)state;
    signals_release(bench.signals, cells);
    plan_free(plan);
    bench_done(&bench);
    return 0;
}

/* The text after `sample` and a space, or -1. */
static double scraped(const char *sample)
{
    struct buf out = room();
    signals_render_metrics(bench.signals, METRICS_PROMETHEUS, &out);
    char *text = malloc(out.len + 2);
    text[0] = '\n';
    memcpy(text + 1, out.data, out.len);
    text[out.len + 1] = '\0';
    char line[512];
    snprintf(line, sizeof line, "\n%s ", sample);
    const char *at = strstr(text, line);
    double value = at ? strtod(at + strlen(line), NULL) : -1;
    free(text);
    free(out.data);
    return value;
}

#define SESSION "\"session\":{\"elapsed_s\":900,\"tracks_played\":5}"
#define BETA "{\"alpha\":2,\"beta\":3}"
#define COMPLETE "\"none\":" BETA ",\"pod_1\":" BETA ",\"pod_2\":" BETA
#define LEARNED "\"variant\":\"learned\",\"segment_id\":\"core\"," SESSION

static const struct {
    const char *body;
    struct {
        const char *sample;
        double value;
    } expected[8];
} rows[] = {
    {"{\"variant\":\"control\",\"segment_id\":\"new\"," SESSION "}",
     {{"interlude_decisions_total{variant=\"control\",segment_id=\"new\",action=\"pod_1\"}", 1},
      {"interlude_assignments_total{experiment=\"none\",assignment=\"caller\",variant=\"control\"}",
       1},
      {"interlude_posteriors_total{variant=\"control\",segment_id=\"new\",status=\"by_design\"}",
       1},
      {"interlude_state_total{variant=\"control\",status=\"complete\"}", 1},
      {"interlude_ads_decided_total{variant=\"control\"}", 1},
      {"interlude_covered_seconds_total{variant=\"control\"}", 390}}},
    {"{\"variant\":\"control\",\"segment_id\":\"strange\",\"posteriors\":{\"none\":" BETA
     "}," SESSION "}",
     {{"interlude_posteriors_total{variant=\"control\",segment_id=\"other\",status="
       "\"unsolicited\"}",
       1}}},
    {"{\"variant\":\"control\",\"session\":{\"elapsed_s\":10,\"tracks_played\":5}}",
     {{"interlude_decisions_total{variant=\"control\",segment_id=\"unset\",action=\"none\"}", 1},
      {"interlude_guardrail_total{variant=\"control\",guardrail=\"grace_period\"}", 1},
      {"interlude_guardrail_total{variant=\"control\",guardrail=\"ad_free\"}", 0},
      {"interlude_ads_decided_total{variant=\"control\"}", 0},
      {"interlude_covered_seconds_total{variant=\"control\"}", 170}}},
    {"{\"variant\":\"control\",\"session\":{\"elapsed_s\":900,\"tracks_played\":5,"
     "\"tier\":\"premium\"}}",
     {{"interlude_guardrail_total{variant=\"control\",guardrail=\"ad_free\"}", 1}}},
    {"{\"variant\":\"control\",\"session\":{\"tracks_played\":-1}}",
     {{"interlude_state_total{variant=\"control\",status=\"invalid\"}", 1},
      {"interlude_attribute_unknown_total{attribute=\"tracks_played\",why=\"invalid\"}", 1},
      {"interlude_attribute_unknown_total{attribute=\"elapsed_s\",why=\"absent\"}", 1},
      {"interlude_rule_errors_total{variant=\"control\"}", 1},
      {"interlude_signal_fired_total{signal=\"session_invalid\"}", 1}}},
    {"{\"variant\":\"control\",\"last\":{\"seconds_ago\":-1}," SESSION "}",
     {{"interlude_state_total{variant=\"control\",status=\"invalid\"}", 1},
      {"interlude_attribute_unknown_total{attribute=\"last.seconds_ago\",why=\"invalid\"}", 1},
      {"interlude_attribute_unknown_total{attribute=\"last.cooldown_s\",why=\"absent\"}", 1},
      {"interlude_guardrail_total{variant=\"control\",guardrail=\"cooldown\"}", 1},
      {"interlude_signal_fired_total{signal=\"session_invalid\"}", 1}}},
    {"{\"variant\":\"control\",\"last\":{\"seconds_ago\":900}," SESSION "}",
     {{"interlude_state_total{variant=\"control\",status=\"partial\"}", 1},
      {"interlude_attribute_unknown_total{attribute=\"last.cooldown_s\",why=\"absent\"}", 1},
      {"interlude_attribute_unknown_total{attribute=\"last.seconds_ago\",why=\"absent\"}", 0},
      {"interlude_guardrail_total{variant=\"control\",guardrail=\"cooldown\"}", 1}}},
    {"{" LEARNED ",\"posteriors\":{" COMPLETE "}}",
     {{"interlude_posteriors_total{variant=\"learned\",segment_id=\"core\",status=\"complete\"}",
       1},
      {"interlude_posteriors_unused_total{variant=\"learned\"}", 0},
      {"interlude_signal_opportunities_total{signal=\"posteriors_partial\"}", 1},
      {"interlude_signal_fired_total{signal=\"posteriors_partial\"}", 0}}},
    {"{" LEARNED ",\"posteriors\":{" COMPLETE ",\"pod_3\":" BETA "}}",
     {{"interlude_posteriors_unused_total{variant=\"learned\"}", 1},
      {"interlude_posteriors_total{variant=\"learned\",segment_id=\"core\",status=\"complete\"}",
       1}}},
    {"{" LEARNED "}",
     {{"interlude_posteriors_total{variant=\"learned\",segment_id=\"core\",status=\"absent\"}", 1},
      {"interlude_fallback_total{variant=\"learned\",reason=\"absent\"}", 1},
      {"interlude_missing_posteriors_total{variant=\"learned\",segment_id=\"core\","
       "missing_action=\"none\",version=\"v1\"}",
       1},
      {"interlude_missing_posteriors_total{variant=\"learned\",segment_id=\"core\","
       "missing_action=\"pod_2\",version=\"v1\"}",
       1},
      /* An action that the policy does not use is never missing. */
      {"interlude_missing_posteriors_total{variant=\"learned\",segment_id=\"core\","
       "missing_action=\"pod_3\",version=\"v1\"}",
       -1},
      {"interlude_signal_fired_total{signal=\"posteriors_absent\"}", 1}}},
    /* Three conditions at once: the gravest has the line, the others are outranked. */
    {"{" LEARNED ",\"posteriors\":{\"none\":" BETA ",\"pod_2\":{\"alpha\":-1,\"beta\":1},"
     "\"pod_9\":" BETA "}}",
     {{"interlude_posteriors_total{variant=\"learned\",segment_id=\"core\",status=\"invalid\"}", 1},
      {"interlude_missing_posteriors_total{variant=\"learned\",segment_id=\"core\","
       "missing_action=\"pod_1\",version=\"v1\"}",
       1},
      {"interlude_missing_posteriors_total{variant=\"learned\",segment_id=\"core\","
       "missing_action=\"pod_2\",version=\"v1\"}",
       1},
      {"interlude_signal_fired_total{signal=\"posteriors_partial\"}", 1},
      {"interlude_log_records_total{signal=\"posteriors_partial\",outcome=\"outranked\"}", 1},
      {"interlude_log_records_total{signal=\"posteriors_unknown_action\",outcome=\"outranked\"}",
       1},
      {"interlude_log_records_total{signal=\"posteriors_invalid\",outcome=\"outranked\"}", 0},
      {"interlude_signal_fired_total{signal=\"posteriors_invalid\"}", 1}}},
    {"{" LEARNED ",\"posteriors\":{" COMPLETE "},\"time\":\"2026-11-30T08:00:00Z\","
     "\"posteriors_as_of\":\"2026-11-30T06:00:00Z\"}",
     {{"interlude_posteriors_total{variant=\"learned\",segment_id=\"core\",status=\"stale\"}", 1},
      {"interlude_signal_opportunities_total{signal=\"posteriors_stale\"}", 1},
      {"interlude_signal_fired_total{signal=\"posteriors_stale\"}", 1}}},
    /* How old they are is asked only of dated, valid ones, and by a policy that minds. */
    {"{" LEARNED ",\"posteriors\":{" COMPLETE "},\"time\":\"2026-11-30T08:00:00Z\","
     "\"posteriors_as_of\":\"2026-11-30T07:59:00Z\"}",
     {{"interlude_signal_opportunities_total{signal=\"posteriors_stale\"}", 1},
      {"interlude_signal_fired_total{signal=\"posteriors_stale\"}", 0}}},
    {"{" LEARNED ",\"posteriors\":{" COMPLETE "}}",
     {{"interlude_signal_opportunities_total{signal=\"posteriors_stale\"}", 0},
      {"interlude_signal_opportunities_total{signal=\"posteriors_absent\"}", 1}}},
    {"{" LEARNED ",\"posteriors_as_of\":\"2026-11-30T06:00:00Z\"}",
     {{"interlude_signal_opportunities_total{signal=\"posteriors_stale\"}", 0}}},
    {"{\"variant\":\"control\"," SESSION ",\"posteriors\":{" COMPLETE "},"
     "\"posteriors_as_of\":\"2026-11-30T06:00:00Z\"}",
     {{"interlude_signal_opportunities_total{signal=\"posteriors_stale\"}", 0}}},
    {"{\"variant\":\"nope\"," SESSION "}",
     {{"interlude_decisions_total{variant=\"unknown\",segment_id=\"unset\",action=\"pod_1\"}", 1},
      {"interlude_assignments_total{experiment=\"none\",assignment=\"unknown_variant\","
       "variant=\"unknown\"}",
       1},
      {"interlude_posteriors_total{variant=\"unknown\",segment_id=\"unset\",status=\"by_design\"}",
       1},
      {"interlude_signal_opportunities_total{signal=\"unknown_variant\"}", 1},
      {"interlude_signal_fired_total{signal=\"unknown_variant\"}", 1}}},
    {"{" SESSION "}",
     {{"interlude_signal_opportunities_total{signal=\"unknown_variant\"}", 0},
      {"interlude_signal_opportunities_total{signal=\"session_invalid\"}", 1},
      {"interlude_signal_opportunities_total{signal=\"posteriors_absent\"}", 0}}},
};

static void each_decision_counts_what_it_is(void **state)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (i) done(state), fresh(state);
        tell(writer, cells, plan, rows[i].body);
        for (int k = 0; k < 8 && rows[i].expected[k].sample; k++) {
            double value = scraped(rows[i].expected[k].sample);
            if (value != rows[i].expected[k].value)
                fail_msg("row %zu: %s is %g", i, rows[i].expected[k].sample, value);
        }
        assert_true(scraped("interlude_metric_overflow_total") == 0);
    }
}

/* Whatever the units, every decision is in one experiment's assignment or outside of all. */
static void the_sums_are_the_decisions(void **state)
{
    (void)state;
    char body[128];
    for (int i = 0; i < 500; i++) {
        snprintf(body, sizeof body, "{\"unit_id\":\"u%d\",\"segment_id\":\"%s\"}", i,
                 i % 3 ? "core" : "what");
        tell(writer, cells, plan, body);
    }
    static const char *const sums[] = {"interlude_decisions_total{", "interlude_posteriors_total{",
                                       "interlude_assignments_total{", "interlude_state_total{"};
    struct buf out = room();
    signals_render_metrics(bench.signals, METRICS_PROMETHEUS, &out);
    char *text = strndup(out.data, out.len);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        double sum = 0;
        for (char *at = text; (at = strstr(at, sums[i])); at++)
            sum += strtod(strstr(at, "} ") + 2, NULL);
        assert_true(sum == 500);
    }
    free(text);
    free(out.data);
    assert_true(scraped("interlude_assignments_total{experiment=\"adload\",assignment="
                        "\"experiment\",variant=\"learned\"}") > 50);
    assert_true(scraped("interlude_metric_overflow_total") == 0);
}

static void durations_and_answers(void **state)
{
    (void)state;
    signal_duration(writer, cells, 0, 10000);
    signal_duration(writer, cells, 0, 1100);
    signal_duration(writer, cells, 0, 1500000001);
    signal_duration(writer, cells, 2, 3000000000);
    signal_http(writer, 200);
    signal_http(writer, 200);
    signal_http(writer, 302);
    signal_count(writer, COUNTER_CONNECTIONS_ACCEPTED);
    signals_gauge_set(bench.signals, GAUGE_LOOP_LAG_SECONDS, 0.25);
    static const struct {
        const char *sample;
        double value;
    } cases[] = {
#define DURATION(rest) "interlude_request_duration_seconds" rest
        {DURATION("_bucket{variant=\"control\",le=\"1e-05\"}"), 2},
        {DURATION("_bucket{variant=\"control\",le=\"1.25\"}"), 2},
        {DURATION("_bucket{variant=\"control\",le=\"1.6\"}"), 3},
        {DURATION("_bucket{variant=\"control\",le=\"2.0\"}"), 3},
        {DURATION("_bucket{variant=\"unknown\",le=\"2.0\"}"), 0},
        {DURATION("_bucket{variant=\"unknown\",le=\"+Inf\"}"), 1},
        {DURATION("_count{variant=\"control\"}"), 3},
        {DURATION("_sum{variant=\"control\"}"), 1.500011101},
        {DURATION("_count{variant=\"learned\"}"), 0},
        {"interlude_http_requests_total{code=\"200\"}", 2},
        {"interlude_http_requests_total{code=\"302\"}", 1},
        {"interlude_http_requests_total{code=\"404\"}", 0},
        {"interlude_http_requests_total{code=\"299\"}", -1},
        {"interlude_connections_accepted_total", 1},
        {"interlude_loop_lag_seconds", 0.25},
        {"interlude_plan_info{version=\"v1\",fingerprint=\"", -1},
        {"interlude_build_info{version=\"1.2.3\",commit=\"abc\"}", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (scraped(cases[i].sample) != cases[i].value) fail_msg("%s", cases[i].sample);
}

static void the_lines_of_anomalies(void **state)
{
    (void)state;
    tell(writer, cells, plan,
         "{\"request_id\":\"r-1\"," LEARNED ",\"posteriors\":{\"none\":" BETA
         ",\"pod_2\":{\"alpha\":-1,\"beta\":1},\"pod_9\":" BETA "}}");
    tell(writer, cells, plan,
         "{\"request_id\":\"r-2\",\"variant\":\"nope\",\"session\":{\"tracks_played\":\"x\"}}");
    tell(writer, cells, plan,
         "{\"request_id\":\"r-3\",\"variant\":\"control\",\"last\":{\"seconds_ago\":-1}," SESSION
         "}");
    file_wait(bench.path, "\n", 4);
    char *text = file_text(bench.path);
    assert_non_null(strstr(text,
                           "\"request_id\":\"r-3\",\"variant\":\"control\",\"version\":\"v1\","
                           "\"invalid_attributes\":[\"last.seconds_ago\"],"
                           "\"absent_attributes\":[\"last.cooldown_s\"]}\n"));
    assert_non_null(strstr(
        text, "\"level\":\"warning\",\"event\":\"posteriors_invalid\",\"request_id\":\"r-1\","
              "\"segment_id\":\"core\",\"variant\":\"learned\",\"version\":\"v1\","
              "\"missing_actions\":[\"pod_1\"],\"invalid_actions\":[\"pod_2\"],"
              "\"unknown_actions\":[\"pod_9\"]}\n"));
    assert_non_null(strstr(text, "\"event\":\"session_invalid\",\"request_id\":\"r-2\",\"variant\":"
                                 "\"unknown\",\"version\":\"v1\",\"invalid_attributes\":"
                                 "[\"tracks_played\"],\"absent_attributes\":[\"elapsed_s\"]}\n"));
    assert_non_null(strstr(text,
                           "\"event\":\"unknown_variant\",\"request_id\":\"r-2\",\"variant\":"
                           "\"unknown\",\"version\":\"v1\",\"requested_variant\":\"nope\"}\n"));
    assert_int_equal(count_of(text, "posteriors_partial"), 0);
    free(text);
}

/* More names than a request keeps, or longer ones: the line says that it does not tell all. */
static void unknown_names_that_were_cut_are_told(void **state)
{
    (void)state;
    char longer[512];
    snprintf(longer, sizeof longer,
             "{\"request_id\":\"r-2\"," LEARNED ",\"posteriors\":{" COMPLETE ",\"%065d\":{}}}", 0);
    tell(writer, cells, plan,
         "{\"request_id\":\"r-1\"," LEARNED ",\"posteriors\":{" COMPLETE
         ",\"a\":{},\"b\":{},\"c\":{},\"d\":{},\"e\":{}}}");
    tell(writer, cells, plan, longer);
    tell(writer, cells, plan,
         "{\"request_id\":\"r-3\"," LEARNED ",\"posteriors\":{" COMPLETE
         ",\"a\":{},\"b\":{},\"c\":{},\"d\":{}}}");
    file_wait(bench.path, "\n", 3);
    char *text = file_text(bench.path);
    assert_int_equal(count_of(text, "\"unknown_actions\":[\"a\",\"b\",\"c\",\"d\"],\"cut\":true}"),
                     1);
    assert_int_equal(count_of(text, "0000\"],\"cut\":true}"), 1);
    assert_int_equal(count_of(text, "\"unknown_actions\":[\"a\",\"b\",\"c\",\"d\"]}"), 1);
    free(text);
}

/* Every line that is neither of the signals nor of the log, nor about the process itself. */
static char *decision_metrics(void)
{
    struct buf out = room();
    signals_render_metrics(bench.signals, METRICS_PROMETHEUS, &out);
    buf_char(&out, '\0');
    char *kept = calloc(1, out.len);
    static const char *const others[] = {"interlude_signal_", "interlude_log_", "process_", "#"};
    for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n")) {
        bool other = false;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            other |= strncmp(line, others[i], strlen(others[i])) == 0;
        if (!other) strcat(strcat(kept, line), "\n");
    }
    free(out.data);
    return kept;
}

/* A drill fires like any other request, says so in its line, and counts in nothing else. */
static void a_drill_is_no_decision(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        enum signal_site site;
    } drills[] = {
        {"{" LEARNED "}", SITE_POSTERIORS_ABSENT},
        {"{" LEARNED ",\"posteriors\":{\"none\":" BETA "}}", SITE_POSTERIORS_PARTIAL},
        {"{" LEARNED ",\"posteriors\":{" COMPLETE "},\"posteriors_as_of\":"
         "\"2001-01-01T00:00:00Z\"}",
         SITE_POSTERIORS_STALE},
        {"{\"variant\":\"control\",\"session\":{\"tracks_played\":[]}}", SITE_SESSION_INVALID},
        {"{\"variant\":\"nope\"}", SITE_UNKNOWN_VARIANT},
    };
    char *before = decision_metrics();
    struct signal_account all[SITE_COUNT];
    for (size_t i = 0; i < sizeof drills / sizeof *drills; i++) {
        drill(writer, plan, drills[i].body);
        signals_account(bench.signals, all);
        for (int site = 0; site < SITE_COUNT; site++)
            assert_true(all[site].fired <= all[site].opportunities);
        assert_int_equal(all[drills[i].site].fired, 1);
        char line[128];
        snprintf(line, sizeof line, "\"event\":\"%s\",\"drill\":true,",
                 signal_sites[drills[i].site].name);
        file_wait(bench.path, line, 1);
    }
    assert_int_equal(all[SITE_POSTERIORS_ABSENT].opportunities, 3);
    assert_int_equal(all[SITE_POSTERIORS_STALE].opportunities, 1);
    assert_int_equal(all[SITE_SESSION_INVALID].opportunities, 5);
    assert_int_equal(all[SITE_UNKNOWN_VARIANT].opportunities, 5);
    char *after = decision_metrics();
    assert_string_equal(before, after);
    free(before);
    free(after);
    tell(writer, cells, plan, drills[0].body);
    file_wait(bench.path, "posteriors_absent", 2);
    char *text = file_text(bench.path);
    assert_int_equal(count_of(text, "\"drill\""), sizeof drills / sizeof *drills);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_decision_counts_what_it_is, fresh, done),
        cmocka_unit_test_setup_teardown(the_sums_are_the_decisions, fresh, done),
        cmocka_unit_test_setup_teardown(durations_and_answers, fresh, done),
        cmocka_unit_test_setup_teardown(the_lines_of_anomalies, fresh, done),
        cmocka_unit_test_setup_teardown(unknown_names_that_were_cut_are_told, fresh, done),
        cmocka_unit_test_setup_teardown(a_drill_is_no_decision, fresh, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
