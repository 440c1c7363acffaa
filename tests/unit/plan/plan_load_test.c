#include "plan_files.h"

#include "decide/guardrail.h"

#include "interlude.h"

#include <malloc.h>
#include <math.h>

static char memory[PLAN_BYTES_MAX + 1024];

#define X10 "xxxxxxxxxx"
#define X50 X10 X10 X10 X10 X10
#define X250 X50 X50 X50 X50 X50

static void test_demo_is_the_example(void **state)
{
    (void)state;
    struct span file = file_read("examples/interlude.yaml"), text = plan_demo_text();
    assert_true(span_equal(file, text));
    assert_int_equal(text.data[text.len], '\0');
    free((void *)file.data);
}

static void check_action(const struct plan *plan, int i, const char *name, int ads,
                         int64_t max_duration_s, int64_t cooldown_s)
{
    const struct action *a = &plan->actions.actions[i];
    assert_true(span_is(a->name, name));
    assert_int_equal(a->ads, ads);
    assert_int_equal(a->max_duration_ms, max_duration_s * 1000);
    assert_int_equal(a->cooldown_ms, cooldown_s * 1000);
}

static void test_demo_labels(void **state)
{
    (void)state;
    struct plan *plan = load_good(plan_demo_text(), "demo");
    assert_true(span_is(plan->version, "demo-1"));
    assert_true(span_is(plan->salt, "interlude-demo"));
    assert_int_equal(strlen(plan->fingerprint), 12);
    assert_int_equal(plan->actions.count, 4);
    assert_int_equal(plan->actions.no_ads, 0);
    assert_int_equal(plan->actions.with_ads, 0xe);
    check_action(plan, 0, "none", 0, 0, 60);
    check_action(plan, 1, "pod_1", 1, 30, 360);
    check_action(plan, 2, "pod_2", 2, 60, 720);
    check_action(plan, 3, "pod_3", 3, 90, 1200);
    assert_int_equal(plan->segment_count, 4);
    assert_int_equal(plan_segment_find(plan, SPAN("heavy")), 3);
    assert_int_equal(plan->schema.count, ATTRIBUTE_BUILT_IN_COUNT + 1);
    assert_int_equal(plan_attribute_find(plan, SPAN("genre")), ATTRIBUTE_BUILT_IN_COUNT);
    assert_int_equal(plan->schema.attributes[ATTRIBUTE_BUILT_IN_COUNT].source, ATTRIBUTE_DECLARED);
    assert_int_equal(plan->timezone_offset_s, 0);
    plan_free(plan);
}

static const struct policy *policy_named(const struct plan *plan, const char *name)
{
    for (int i = 0; i < plan->policy_count; i++)
        if (span_is(plan->policies[i].name, name)) return &plan->policies[i];
    fail_msg("there is no policy `%s`", name);
    return NULL;
}

static void test_demo_policies(void **state)
{
    (void)state;
    struct plan *plan = load_good(plan_demo_text(), "demo");
    assert_int_equal(plan->policy_count, 4);
    const struct policy *fixed = policy_named(plan, "promoted"),
                        *bayes = policy_named(plan, "bayesian"),
                        *greedy = policy_named(plan, "greedy"),
                        *random = policy_named(plan, "random");
    assert_int_equal(fixed->kind, POLICY_FIXED);
    assert_int_equal(fixed->rule_count, 3);
    assert_true(
        span_is(rule_text(fixed->rules[0].when), "tracks_played >= 6 && elapsed_s >= 1200"));
    assert_int_equal(fixed->rules[0].action, 2);
    assert_int_equal(fixed->rules[0].cooldown_ms, -1);
    assert_int_equal(fixed->rules[1].cooldown_ms, 300000);
    assert_null(fixed->rules[2].when);
    assert_int_equal(bayes->kind, POLICY_THOMPSON);
    assert_ptr_equal(bayes->fallback, fixed);
    assert_true(bayes->floor == 0.01);
    assert_true(bayes->values_equal && bayes->weight[3] == 1 && bayes->offset[3] == 0);
    assert_false(bayes->has_prior);
    assert_int_equal(bayes->actions, 0xf);
    assert_int_equal(greedy->kind, POLICY_GREEDY);
    assert_true(greedy->floor == 0);
    assert_int_equal(random->kind, POLICY_UNIFORM);
    assert_null(random->fallback);

    assert_int_equal(plan->variant_count, 4);
    assert_int_equal(plan->default_variant, plan_variant_find(plan, SPAN("control")));
    assert_ptr_equal(plan->variants[plan_variant_find(plan, SPAN("bayes"))].policy, bayes);
    const struct plan_experiment *e = &plan->experiments[0];
    assert_int_equal(plan->experiment_count, 1);
    assert_int_equal(e->slice_ppm, 200000);
    assert_int_equal(e->split_count, 2);
    assert_int_equal(e->split[0].up_to, 500000);
    assert_int_equal(e->split[1].up_to, 1000000);
    assert_int_equal(e->split[0].variant, plan_variant_find(plan, SPAN("bayes")));
    assert_int_equal(e->split[1].variant, plan_variant_find(plan, SPAN("control")));
    plan_free(plan);
}

#define guardrail(plan, code) plan_guardrail_find((plan), GUARDRAIL_##code)

static void test_demo_guardrails_and_defaults(void **state)
{
    (void)state;
    struct settings *settings;
    struct plan *plan = load_both(plan_demo_text(), &settings, "demo");
    assert_int_equal(plan->guardrail_count, 5);
    assert_non_null(guardrail(plan, AD_FREE)->when);
    assert_int_equal(guardrail(plan, GRACE_PERIOD)->ms, 180000);
    assert_int_equal(guardrail(plan, MIN_GAP)->ms, 300000);
    const struct plan_cap *hour = &guardrail(plan, ADS_PER_HOUR)->cap;
    assert_int_equal(hour->count, 1);
    assert_null(hour->items[0].when);
    assert_int_equal(hour->items[0].max, 6);
    assert_int_equal(guardrail(plan, AD_SECONDS_PER_HOUR)->cap.items[0].max, 240);
    for (int i = 0; i < plan->guardrail_count; i++) assert_false(plan->guardrails[i].permissive);
    const struct settings_server *s = &settings->server;
    assert_true(span_is(s->listen, "127.0.0.1:7070") && span_is(s->admin, "127.0.0.1:7071"));
    assert_int_equal(s->workers, 0);
    assert_int_equal(s->connections_max, 10000);
    assert_int_equal(s->per_address_max, 0);
    assert_int_equal(s->drain_ms, 10000);
    assert_int_equal(s->head_timeout_ms, 5000);
    assert_int_equal(s->body_timeout_ms, 5000);
    assert_int_equal(s->answer_timeout_ms, 5000);
    assert_int_equal(s->idle_timeout_ms, 120000);
    assert_int_equal(settings->log.level, LOG_INFO);
    assert_int_equal(settings->log.sink, LOG_STDOUT);
    assert_true(settings->log.budget.rate == 10 && settings->log.budget.burst == 100);
    settings_free(settings);
    plan_free(plan);
}

/* The plan that uses every key. */
static void test_everything(void **state)
{
    (void)state;
    struct span text = file_read("tests/cases/plans/good-everything.yaml");
    struct settings *settings;
    struct plan *plan = load_both(text, &settings, "good-everything");
    free((void *)text.data); /* nothing of the text is kept */
    const struct policy *t = policy_named(plan, "t"), *g = policy_named(plan, "g");
    assert_int_equal(t->on_partial, ON_PARTIAL_PRIOR);
    assert_int_equal(t->on_empty, ON_EMPTY_COLD_START);
    assert_int_equal(t->on_stale, ON_STALE_FALLBACK);
    assert_int_equal(t->floor_toward, FLOOR_FALLBACK);
    assert_int_equal(t->max_posterior_age_us, 1501000);
    assert_int_equal(t->actions, 6);
    assert_true(t->has_prior && t->prior[1].family == FAMILY_NIG && t->prior[2].p[0] == 0.1);
    assert_false(signbit(t->prior[1].p[0]));
    assert_true(t->weight[2] == -1 && t->offset[2] == 0.30000000000000004);
    assert_false(t->values_equal);
    assert_true(g->values_equal);
    assert_int_equal(g->prior[0].family, FAMILY_GAMMA);
    assert_int_equal(plan->experiments[0].slice_ppm, 1);
    assert_int_equal(plan->experiments[0].split[2].up_to, 1000000);
    assert_int_equal(plan->timezone_offset_s, -12600);
    for (int i = 0; i < plan->guardrail_count; i++) {
        enum reason r = plan->guardrails[i].row->reason;
        assert_int_equal(plan->guardrails[i].permissive,
                         r == REASON_MIN_GAP || r == REASON_CONTENT_BOUNDARY);
    }
    assert_int_equal(guardrail(plan, ADS_PER_HOUR)->cap.count, 2);
    assert_int_equal(guardrail(plan, MIN_GAP)->ms, 90000);
    assert_int_equal(guardrail(plan, GRACE_PERIOD)->ms, 0);
    assert_non_null(guardrail(plan, COOLDOWN));
    assert_non_null(guardrail(plan, CONTENT_REMAINING));
    assert_int_equal(settings->log.sink, LOG_FILE);
    assert_string_equal(settings->log.file.data, "/var/log/a \"b\" \\ caf\xc3\xa9.log");
    const struct log_budget *partial = &settings->log.sites[SITE_POSTERIORS_PARTIAL].budget;
    const struct log_budget *invalid = &settings->log.sites[SITE_SESSION_INVALID].budget;
    assert_true(partial->rate == 0 && partial->burst == 3);
    assert_true(isinf(invalid->rate) && invalid->burst == 7.5);
    for (int site = 0; site < SITE_COUNT; site++)
        assert_int_equal(settings->log.sites[site].own,
                         site == SITE_POSTERIORS_PARTIAL || site == SITE_SESSION_INVALID);
    assert_int_equal(settings->server.head_timeout_ms, 1500);
    assert_true(plan->reads_time);
    settings_free(settings);
    plan_free(plan);
}

/* Whether what orders the values is the draw alone: only where no action used has a value of its
 * own. */
static void test_values_that_are_equal(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool equal;
    } rows[] = {
        {"{}", true},
        {"{none: {}}", true},
        {"{none: {weight: 1}, pod_1: {offset: 0}}", true},
        {"{none: {weight: 2}, pod_1: {weight: 2}, pod_2: {weight: 2}, pod_3: {weight: 2}}", true},
        {"{none: {weight: 0.5}}", false},
        {"{pod_1: {weight: 2}}", false},
        {"{pod_3: {weight: 2}}", false},
        {"{pod_3: {weight: 0.5}}", false},
        {"{none: {offset: 1}}", false},
        {"{pod_3: {offset: 1}}", false},
        {"{pod_3: {offset: -1}}", false},
        {"{pod_1: {weight: 2}, pod_2: {weight: 2}, pod_3: {weight: 2}}", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct span demo = plan_demo_text();
        const char *at = strstr(demo.data, "{kind: greedy,");
        assert_non_null(at);
        struct buf b = buf_of(memory, sizeof memory);
        buf_format(&b, "%.*s{kind: greedy, value: %s,%s", (int)(at - demo.data), demo.data,
                   rows[i].value, at + strlen("{kind: greedy,"));
        struct plan *plan = load_good(buf_text(&b), rows[i].value);
        if (policy_named(plan, "greedy")->values_equal != rows[i].equal)
            fail_msg("%s: equal is %d", rows[i].value, !rows[i].equal);
        plan_free(plan);
    }
}

/* A key of `server` with each value, in a plan that is good otherwise. */
static bool server_takes(const char *key, const char *value)
{
    static struct plan_errors errors;
    struct span demo = plan_demo_text();
    const char *at = strstr(demo.data, "server: {");
    assert_non_null(at);
    struct buf b = buf_of(memory, sizeof memory);
    buf_format(&b, "%.*sserver: {%s: %s}\n...\n", (int)(at - demo.data), demo.data, key, value);
    assert_false(b.full);
    struct settings *settings = NULL;
    struct plan *plan = plan_load(buf_text(&b), &settings, &errors);
    if (plan) settings_free(settings);
    plan_free(plan);
    return plan != NULL;
}

/* The demonstration plan with one place changed; NULL: it is refused. */
static struct plan *plan_with(const char *from, const char *to)
{
    static struct plan_errors errors;
    struct span demo = plan_demo_text();
    const char *at = strstr(demo.data, from);
    if (!at) fail_msg("the demonstration plan has no `%s`", from);
    struct buf b = buf_of(memory, sizeof memory);
    buf_format(&b, "%.*s%s%s", (int)(at - demo.data), demo.data, to, at + strlen(from));
    assert_false(b.full);
    return plan_load(buf_text(&b), NULL, &errors);
}

/* What each value may be: the last that is taken, and the first that is not. */
static void test_limits_of_values(void **state)
{
    (void)state;
    static const struct {
        const char *from, *format;
        const char *taken[3], *refused[4];
    } rows[] = {
        {"ads: 3", "ads: %s", {"1", "100"}, {"101", "-1", "0", "1.5"}},
        {"max_duration: 90s",
         "max_duration: %s",
         {"1s", "1h", "60m"},
         {"999ms", "3601s", "1500ms"}},
        {"cooldown: 20m",
         "cooldown: %s",
         {"0s", "1ms", "7d"},
         {"604800001ms", "-1s", "20", "20 m"}},
        {"cooldown: 5m", "cooldown: %s", {"0s", "1ms", "7d"}, {"604800001ms", "-1s"}},
        {"floor: 0.01", "floor: %s", {"0", "1", "1e-300"}, {"-0.1", "1.0000000000000002", ".inf"}},
        {"kind: greedy,",
         "kind: greedy, max_posterior_age: %s,",
         {"1s", "3650d"},
         {"0s", "999ms", "3651d"}},
        {"kind: greedy,",
         "kind: greedy, value: {none: {offset: %s}},",
         {"1000000000000", "-1000000000000", "-0.0"},
         {"1000000000001", "-1000000000001"}},
        {"slice: 20%",
         "slice: %s",
         {"0%", "100%", "0.0001%"},
         {"100.0001%", "-1%", "20", "0.00001%"}},
        {"control: 50%", "control: %s", {"0%", "100%"}, {"100.0001%", "1.%", "%"}},
        {"grace_period: 3m", "grace_period: %s", {"0s", "30d"}, {"2592000001ms"}},
        {"min_gap: 5m", "min_gap: %s", {"0s", "30d"}, {"2592000001ms"}},
        {"ads_per_hour: 6", "ads_per_hour: %s", {"0", "1000000"}, {"1000001", "-1", "6.5"}},
        {"default_variant: control",
         "default_variant: control\ntimezone_offset: \"%s\"",
         {"-14:00", "+14:00", "+05:59"},
         {"+14:01", "-14:01", "+05:60", " 05:00"}},
        {"rate: 10,", "rate: %s,", {"0", "1000000", "0.001"}, {"1000001", "-1"}},
        {"burst: 100", "burst: %s", {"1", "1000000"}, {"0.5", "1000001"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        for (int t = 0; t < 3 && rows[i].taken[t]; t++) {
            snprintf(text, sizeof text, rows[i].format, rows[i].taken[t]);
            struct plan *plan = plan_with(rows[i].from, text);
            if (!plan) fail_msg("%s is refused", text);
            plan_free(plan);
        }
        for (int t = 0; t < 4 && rows[i].refused[t]; t++) {
            snprintf(text, sizeof text, rows[i].format, rows[i].refused[t]);
            struct plan *plan = plan_with(rows[i].from, text);
            if (plan) fail_msg("%s is taken", text);
        }
    }
}

static void test_durations_and_shares(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } durations[] = {{"7ms", 7},      {"1.5s", 1500},    {"0.001s", 1},    {"2m", 120000},
                     {"1.5m", 90000}, {"0.25h", 900000}, {"1d", 86400000}, {"0.5d", 43200000},
                     {"2.000ms", 2},  {"010s", 10000}};
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
        char text[64];
        snprintf(text, sizeof text, "min_gap: %s", durations[i].text);
        struct plan *plan = plan_with("min_gap: 5m", text);
        assert_non_null(plan);
        assert_int_equal(guardrail(plan, MIN_GAP)->ms, durations[i].ms);
        plan_free(plan);
    }
    static const struct {
        const char *text;
        uint32_t ppm;
    } shares[] = {{"1%", 10000},   {"0.0001%", 1},     {"12.5%", 125000},  {"99.9999%", 999999},
                  {"007%", 70000}, {"1.0200%", 10200}, {"100.0%", 1000000}};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        char text[64];
        snprintf(text, sizeof text, "slice: %s", shares[i].text);
        struct plan *plan = plan_with("slice: 20%", text);
        assert_non_null(plan);
        assert_int_equal(plan->experiments[0].slice_ppm, shares[i].ppm);
        plan_free(plan);
    }
    static const struct {
        const char *text;
        int32_t s;
    } zones[] = {
        {"+00:00", 0}, {"-00:01", -60}, {"+05:45", 20700}, {"-12:00", -43200}, {"+14:00", 50400}};
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        char text[96];
        snprintf(text, sizeof text, "default_variant: control\ntimezone_offset: \"%s\"",
                 zones[i].text);
        struct plan *plan = plan_with("default_variant: control", text);
        if (!plan) fail_msg("%s", zones[i].text);
        assert_int_equal(plan->timezone_offset_s, zones[i].s);
        plan_free(plan);
    }
}

/* `on_unknown` for all of the guardrails that the plan names, and for each by its name. */
static void test_permissive_guardrails(void **state)
{
    (void)state;
    static const char *const values[] = {[GUARDRAIL_CONDITION] = "car",
                                         [GUARDRAIL_DURATION] = "0s",
                                         [GUARDRAIL_SWITCH] = "true",
                                         [GUARDRAIL_CAP] = "1"};
    enum { ROWS = GUARDRAIL_COUNT };
    struct span demo = plan_demo_text();
    int before = (int)(strstr(demo.data, "\nguardrails:") + 1 - demo.data);
    for (int i = -1; i < ROWS; i++)
        for (int only = 0; only < 2; only++) {
            struct buf b = buf_of(memory, sizeof memory);
            buf_format(&b, "%.*sguardrails:\n", before, demo.data);
            uint64_t expected = 0, found = 0;
            for (int k = 0; k < ROWS; k++) {
                if (only && i >= 0 && k != i) continue;
                buf_format(&b, "  %s: %s\n", guardrail_table[k].word.data,
                           values[guardrail_table[k].shape]);
                if (i < 0 || k == i) expected |= REASON_BIT(guardrail_table[k].reason);
            }
            if (i < 0 || only)
                buf_lit(&b, "  on_unknown: permissive\n...\n");
            else
                buf_format(&b, "  on_unknown: {%s: permissive}\n...\n",
                           guardrail_table[i].word.data);
            struct plan *plan =
                load_good(buf_text(&b), i < 0 ? "all" : guardrail_table[i].word.data);
            for (int g = 0; g < plan->guardrail_count; g++)
                if (plan->guardrails[g].permissive)
                    found |= REASON_BIT(plan->guardrails[g].row->reason);
            if (found != expected)
                fail_msg("%s: %#llx, not %#llx", i < 0 ? "all" : guardrail_table[i].word.data,
                         (unsigned long long)found, (unsigned long long)expected);
            plan_free(plan);
        }
}

static void test_names(void **state)
{
    (void)state;
    static const char *const taken[] = {"a",  "z",  "A",    "Z",     "_",
                                        "m0", "a9", "aZ_9", "sizes", "hass"};
    static const char *const refused[] = {
        "0",      "9a",    "'a-b'", "'a.b'",    "'a b'",     "'a{'",   "'a@'", "'a['",
        "'a`'",   "'a/'",  "'a:'",  "''",       "true",      "false",  "null", "in",
        "as",     "break", "const", "continue", "else",      "for",    "if",   "function",
        "import", "let",   "loop",  "package",  "namespace", "return", "var",  "void",
        "while",  "has",   "size",  "session",  "params",    "tier",   "hour", "variant"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s: int", taken[i]);
        struct plan *plan = plan_with("genre: string", text);
        if (!plan) fail_msg("%s is refused", taken[i]);
        assert_true(plan_attribute_find(plan, span_of(taken[i])) >= 0);
        plan_free(plan);
    }
    static const char *const names[] = {"'a'", "'zZ09_.:-'", "'A'", "'0'", "'" X50 X10 "xxxx'"};
    static const char *const no_names[] = {"''",    "'a b'",     "'a/b'",     "'a;b'",
                                           "'a@b'", "'a[b'",     "'a`b'",     "'a{b'",
                                           "'a,b'", "\"a\\0b\"", "caf\u00e9", "'" X50 X10 "xxxxx'"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[128];
        snprintf(text, sizeof text, "version: %s", names[i]);
        struct plan *plan = plan_with("version: demo-1", text);
        if (!plan) fail_msg("%s is refused", text);
        plan_free(plan);
    }
    for (size_t i = 0; i < sizeof no_names / sizeof *no_names; i++) {
        char text[128];
        snprintf(text, sizeof text, "version: %s", no_names[i]);
        struct plan *plan = plan_with("version: demo-1", text);
        if (plan) fail_msg("%s is taken", text);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s: int", refused[i]);
        struct plan *plan = plan_with("genre: string", text);
        if (plan) fail_msg("%s is taken", refused[i]);
    }
}

static void test_addresses_and_limits_of_a_server(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
        bool taken;
    } rows[] = {
        {"listen", "'a:1'", true},
        {"listen", "'Az09.-_:0'", true},
        {"listen", "':1'", false},
        {"listen", "'a:'", false},
        {"listen", "'a'", false},
        {"listen", "'a:65535'", true},
        {"listen", "'a:65536'", false},
        {"listen", "'a:00001'", true},
        {"listen", "'a:000001'", false},
        {"listen", "'a:1x'", false},
        {"listen", "'a:-1'", false},
        {"listen", "'a b:1'", false},
        {"listen", "'a@b:1'", false},
        {"listen", "'a[b:1'", false},
        {"listen", "'a`b:1'", false},
        {"listen", "'a{b:1'", false},
        {"listen", "'zZ:1'", true},
        {"listen", "'[::]:1'", true},
        {"listen", "'[fe80::1%eth0]:1'", true},
        {"listen", "'[]:1'", false},
        {"listen", "'[::1:1'", false},
        {"listen", "'[:_:]:1'", false},
        {"listen", "'" X250 "xxx:1'", true}, /* 255 bytes */
        {"listen", "'" X250 "xxxx:1'", false},
        {"hosts", "[a]", true},
        {"hosts", "['']", false},
        {"hosts", "['_a']", true},
        {"hosts", "['@a']", false},
        {"hosts", "['a@']", false},
        {"hosts", "['a:1']", false},
        {"hosts", "['::']", true},
        {"hosts", "['[::]']", true},
        {"hosts", "['[a]']", false},
        {"hosts", "['[]']", false},
        {"hosts", "[':a']", false},
        {"hosts", "['::g']", false},
        {"hosts", "['::A.f0']", true},
        {"hosts", "['::G']", false},
        {"hosts", "['0123:4567:89ab:cdef:0123:4567:255.255.255.255']", true}, /* 45 bytes */
        {"hosts", "['0123:4567:89ab:cdef:0123:4567:0255.255.255.255']", false},
        {"hosts", "['" X250 "xxx']", true}, /* 253 bytes */
        {"hosts", "['" X250 "xxxx']", false},
        {"workers", "auto", true},
        {"workers", "0", false},
        {"workers", "1", true},
        {"workers", "240", true},
        {"workers", "241", false},
        {"connections_max", "0", false},
        {"connections_max", "1", true},
        {"connections_max", "1000000", true},
        {"connections_max", "1000001", false},
        {"per_address_max", "0", true},
        {"per_address_max", "1000000", true},
        {"per_address_max", "1000001", false},
        {"per_address_max", "-1", false},
        {"drain", "0s", true},
        {"drain", "60m", true},
        {"drain", "3600001ms", false},
        {"head_timeout", "0s", false},
        {"head_timeout", "1ms", true},
        {"head_timeout", "60m", true},
        {"head_timeout", "3600001ms", false},
        {"body_timeout", "0s", false},
        {"body_timeout", "1ms", true},
        {"body_timeout", "60m", true},
        {"body_timeout", "3600001ms", false},
        {"answer_timeout", "0s", false},
        {"answer_timeout", "1ms", true},
        {"answer_timeout", "60m", true},
        {"answer_timeout", "3600001ms", false},
        {"idle_timeout", "0s", false},
        {"idle_timeout", "1ms", true},
        {"idle_timeout", "24h", true},
        {"idle_timeout", "1d", true},
        {"idle_timeout", "86400001ms", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (server_takes(rows[i].key, rows[i].value) != rows[i].taken)
            fail_msg("%s: %s is %s", rows[i].key, rows[i].value,
                     rows[i].taken ? "refused" : "taken");
}

/* Each error with its place. */
static void check_bad_file(const char *path)
{
    struct span text = file_read(path);
    const struct plan_errors *errors = load_bad(text, path);
    expected_check(path, text, errors);
    free((void *)text.data);
}

static void test_bad_files(void **state)
{
    (void)state;
    assert_true(cases_each("bad-", check_bad_file) >= 30);
}

/* ---- limits: a plan at the limit loads, one beyond it does not ---- */

static void put_list(struct buf *b, const char *before, const char *format, int count,
                     const char *after)
{
    buf_format(b, "%s", before);
    for (int i = 0; i < count; i++) {
        for (const char *c = format; *c; c++) {
            if (*c == '#')
                buf_i64(b, i);
            else
                buf_char(b, *c);
        }
    }
    buf_format(b, "%s", after);
}

struct sizes {
    int pods, segments, attributes, policies, rules, variants, experiments, caps;
};

static struct span plan_of_sizes(const struct sizes *s)
{
    struct buf b = buf_of(memory, sizeof memory);
    buf_lit(&b, "salt: s\ndefault_variant: v0\n");
    put_list(&b, "actions:\n  - {name: none, ads: 0, cooldown: 1s}\n",
             "  - {name: pod_#, ads: 1, cooldown: 1s}\n", s->pods, "");
    put_list(&b, "segments: [", "s#, ", s->segments, "]\n");
    put_list(&b, "attributes: {", "a#: int, ", s->attributes, "}\n");
    put_list(&b, "policies:\n  p0: {kind: fixed, rules: [", "{when: \"car\", action: none}, ",
             s->rules, "]}\n");
    put_list(&b, "  # the others\n", "  q#: {kind: uniform}\n", s->policies - 1, "");
    put_list(&b, "variants:\n", "  v#: {policy: p0}\n", s->variants, "");
    put_list(&b, "experiments: [", "{name: e#, salt: x#, slice: 1%, split: {v0: 1%}}, ",
             s->experiments, "]\n");
    put_list(&b, "guardrails:\n  ads_per_day: [", "{max: #}, ", s->caps, "]\n");
    assert_false(b.full);
    return buf_text(&b);
}

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        struct sizes sizes;
        const char *error; /* NULL: it loads */
    } cases[] = {
        {{15, 5, 42, 32, 256, 5, 16, 8}, NULL},
        {{1, 32, 0, 1, 1, 32, 0, 1}, NULL},
        {{16, 1, 1, 1, 1, 1, 1, 1}, "expected 2 to 16 actions, found 17"},
        {{0, 1, 1, 1, 1, 1, 1, 1}, "expected 2 to 16 actions, found 1"},
        {{1, 33, 1, 1, 1, 1, 1, 1}, "expected at most 32 segments, found 33"},
        {{1, 1, 43, 1, 1, 1, 1, 1}, "expected at most 42 attributes, found 43"},
        {{1, 1, 1, 33, 1, 1, 1, 1}, "expected 1 to 32 policies, found 33"},
        {{1, 1, 1, 1, 257, 1, 1, 1},
         "expected at most 256 rules in all policies, found 257 so far"},
        {{1, 1, 1, 1, 1, 33, 1, 1}, "expected 1 to 32 variants, found 33"},
        {{1, 1, 1, 1, 1, 1, 17, 1}, "expected at most 16 experiments, found 17"},
        {{1, 1, 1, 1, 1, 1, 1, 9}, "expected 1 to 8 caps, found 9"},
        {{15, 20, 1, 1, 1, 32, 1, 1},
         "metric series, most of them interlude_decisions_total: at most 20000 are allowed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct span text = plan_of_sizes(&cases[i].sizes);
        if (!cases[i].error) {
            plan_free(load_good(text, "limits"));
            continue;
        }
        const struct plan_errors *errors = load_bad(text, cases[i].error);
        if (!strstr(errors->errors[0].text, cases[i].error))
            fail_msg("%s: no `%s`", errors->errors[0].text, cases[i].error);
        assert_int_equal(errors->count, 1);
    }
}

/* The policy with one rule too many is told, and not those after it. */
static void test_too_many_rules_are_told_once(void **state)
{
    (void)state;
    struct buf b = buf_of(memory, sizeof memory);
    buf_lit(&b, "salt: s\ndefault_variant: v\nvariants: {v: {policy: p}}\n"
                "actions: [{name: none, ads: 0, cooldown: 1s}, {name: p, ads: 1, cooldown: 1s}]\n"
                "policies:\n  p: {kind: fixed, rules: [{action: none}]}\n");
    put_list(&b, "  q: {kind: fixed, rules: [", "{when: \"car\", action: none}, ", 256, "]}\n");
    buf_lit(&b, "  r: {kind: fixed, rules: [{action: none}]}\n");
    const struct plan_errors *errors = load_bad(buf_text(&b), "many rules");
    assert_int_equal(errors->count, 1);
    assert_string_equal(errors->errors[0].text,
                        "expected at most 256 rules in all policies, found 257 so far");
    assert_int_equal(errors->errors[0].line, 7);
}

static void test_longest_names(void **state)
{
    (void)state;
    static const struct {
        size_t bytes;
        bool ok;
    } cases[] = {{1, true}, {64, true}, {65, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = buf_of(memory, sizeof memory);
        buf_lit(&b, "salt: s\nactions: [{name: none, ads: 0, cooldown: 0s}, {name: p, ads: 1, "
                    "cooldown: 0s}]\npolicies: {p: {kind: uniform}}\nvariants: {v: {policy: p}}\n"
                    "default_variant: v\nsegments: [");
        for (size_t n = 0; n < cases[i].bytes; n++) buf_char(&b, 'a');
        buf_lit(&b, "]\n");
        if (cases[i].ok)
            plan_free(load_good(buf_text(&b), "names"));
        else
            load_bad(buf_text(&b), "names");
    }
}

static void test_too_long(void **state)
{
    (void)state;
    struct span demo = plan_demo_text();
    memcpy(memory, demo.data, demo.len);
    memset(memory + demo.len, '\n', sizeof memory - demo.len);
    plan_free(load_good((struct span){memory, PLAN_BYTES_MAX}, "1 MiB"));
    const struct plan_errors *errors = load_bad((struct span){memory, PLAN_BYTES_MAX + 1}, "more");
    assert_string_equal(errors->errors[0].text, "the plan is over 1 MiB");
    assert_int_equal(errors->errors[0].line, 1);
}

/* The first ones in the file are kept, although its sections are read in another order. */
static void test_more_errors_than_are_kept(void **state)
{
    (void)state;
    struct buf b = buf_of(memory, sizeof memory);
    put_list(&b, "server: {", "x#: 1,\n ", 50, "}\nguardrails: {");
    put_list(&b, "", "y#: 1,\n ", 50, "}\n");
    const struct plan_errors *errors = load_bad(buf_text(&b), "many");
    assert_int_equal(errors->count, PLAN_ERRORS_MAX);
    assert_int_equal(errors->more, 100 + 5 - PLAN_ERRORS_MAX); /* and five keys are missing */
    for (int i = 1; i < errors->count; i++)
        assert_true(errors->errors[i - 1].line <= errors->errors[i].line);
    assert_string_equal(errors->errors[63].text, "unknown key `y8` in guardrails");
    assert_int_equal(errors->errors[63].line, 60);
}

static void test_byte_order_mark(void **state)
{
    (void)state;
    struct buf b = buf_of(memory, sizeof memory);
    buf_lit(&b, "\xef\xbb\xbf");
    buf_span(&b, plan_demo_text());
    struct plan *plan = load_good(buf_text(&b), "with a mark"),
                *same = load_good(plan_demo_text(), "without");
    assert_string_equal(plan->fingerprint, same->fingerprint);
    plan_free(plan);
    plan_free(same);
    assert_int_equal(load_bad(SPAN("\xef\xbb\xbf"
                                   "a: 1"),
                              "mark")
                         ->errors[0]
                         .column,
                     1);
    load_bad(SPAN("\xff\xfe"
                  "a\0:\0 \0"
                  "1\0"),
             "UTF-16");
}

/* What loading takes for itself is given back, whether the plan is good or not. The allocator keeps
 * some of it: less than a leak of a block a load would be. (A sanitizer has an allocator of its
 * own, which this does not see, and a leak detector.) */
static void test_loading_leaves_nothing_behind(void **state)
{
    (void)state;
    static struct plan_errors errors;
    const struct span everything = file_read("tests/cases/plans/good-everything.yaml");
    const struct span texts[] = {everything, SPAN("salt: [x]\n"), SPAN("{a: b\n"), SPAN("")};
    size_t used = 0;
    for (int turn = 0; turn < 400; turn++) {
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            struct settings *settings = NULL;
            struct plan *plan = plan_load(texts[i], turn % 2 ? &settings : NULL, &errors);
            assert_int_equal(plan != NULL, i == 0);
            plan_free(plan);
            if (plan) settings_free(settings);
        }
        if (turn == 10) used = mallinfo2().uordblks;
    }
    free((void *)everything.data);
    assert_in_range(mallinfo2().uordblks, 0, used + 256 * 1024);
}

/* Every signal that has a budget, whoever loads the plan; and none that has not. */
static void test_log_sites(void **state)
{
    (void)state;
    for (int site = 0; site < SITE_COUNT; site++) {
        char text[4096];
        const char *name = signal_site_names()[site].data;
        struct span demo = plan_demo_text();
        int len = snprintf(text, sizeof text, "%.*s", (int)(strstr(demo.data, "log:") - demo.data),
                           demo.data);
        len += snprintf(text + len, sizeof text - (size_t)len, "log: {sites: {%s: {rate: 1}}}\n",
                        name);
        struct interlude_plan *library = interlude_plan_load(text, (size_t)len, NULL, 0, NULL);
        assert_int_equal(library != NULL, site < SITE_SCRIBE_FIRST);
        interlude_plan_free(library);
        if (site < SITE_SCRIBE_FIRST) {
            struct settings *settings;
            plan_free(load_both((struct span){text, (size_t)len}, &settings, name));
            assert_true(settings->log.sites[site].own &&
                        settings->log.sites[site].budget.rate == 1);
            settings_free(settings);
        } else {
            const struct plan_errors *errors = load_bad((struct span){text, (size_t)len}, name);
            assert_non_null(strstr(errors->errors[0].text, "has no budget"));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_demo_is_the_example),
        cmocka_unit_test(test_demo_labels),
        cmocka_unit_test(test_demo_policies),
        cmocka_unit_test(test_demo_guardrails_and_defaults),
        cmocka_unit_test(test_everything),
        cmocka_unit_test(test_values_that_are_equal),
        cmocka_unit_test(test_addresses_and_limits_of_a_server),
        cmocka_unit_test(test_limits_of_values),
        cmocka_unit_test(test_durations_and_shares),
        cmocka_unit_test(test_permissive_guardrails),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_too_many_rules_are_told_once),
        cmocka_unit_test(test_longest_names),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_more_errors_than_are_kept),
        cmocka_unit_test(test_byte_order_mark),
        cmocka_unit_test(test_loading_leaves_nothing_behind),
        cmocka_unit_test(test_log_sites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
