#include "plan_files.h"

#include "base/printed.h"

static char memory[2][PLAN_BYTES_MAX];

static struct span print(const struct plan *plan, const struct settings *settings, int which)
{
    struct buf b = buf_of(memory[which], sizeof memory[which]);
    plan_print(&b, plan);
    settings_print(&b, settings);
    assert_false(b.full);
    return buf_text(&b);
}

/* Both hashes are of the printed plan, so they cannot tell what printing loses. These compare what
 * was compiled, field by field. */
static bool same_rule(const struct rule *a, const struct rule *b)
{
    return a && b ? span_equal(rule_text(a), rule_text(b)) : a == b;
}

static bool same_cap(const struct plan_cap *a, const struct plan_cap *b)
{
    if (a->count != b->count) return false;
    for (int i = 0; i < a->count; i++)
        if (a->items[i].max != b->items[i].max || !same_rule(a->items[i].when, b->items[i].when))
            return false;
    return true;
}

static bool same_policy(const struct plan *p, const struct policy *a, const struct plan *q,
                        const struct policy *b)
{
    if (a->rule_count != b->rule_count) return false;
    for (int i = 0; i < a->rule_count; i++) {
        const struct policy_rule *r = &a->rules[i], *s = &b->rules[i];
        if (r->action != s->action || r->cooldown_ms != s->cooldown_ms ||
            !same_rule(r->when, s->when))
            return false;
    }
    bool fallbacks = a->fallback && b->fallback
                         ? a->fallback - p->policies == b->fallback - q->policies
                         : a->fallback == b->fallback;
    return span_equal(a->name, b->name) && a->kind == b->kind && a->actions == b->actions &&
           a->on_partial == b->on_partial && a->on_empty == b->on_empty &&
           a->on_stale == b->on_stale && a->max_posterior_age_us == b->max_posterior_age_us &&
           a->has_prior == b->has_prior && fallbacks && a->values_equal == b->values_equal &&
           memcmp(a->prior, b->prior, sizeof a->prior) == 0 &&
           memcmp(a->offset, b->offset, sizeof a->offset) == 0 &&
           memcmp(a->weight, b->weight, sizeof a->weight) == 0 && a->floor == b->floor &&
           a->floor_toward == b->floor_toward && a->attributes_read == b->attributes_read &&
           a->attributes_needed == b->attributes_needed;
}

static bool same_labels(const struct plan *a, const struct plan *b)
{
    if (a->actions.count != b->actions.count || a->segment_count != b->segment_count ||
        a->schema.count != b->schema.count)
        return false;
    for (int i = 0; i < a->actions.count; i++) {
        const struct action *x = &a->actions.actions[i], *y = &b->actions.actions[i];
        if (!span_equal(x->name, y->name) || x->ads != y->ads || x->cooldown_ms != y->cooldown_ms ||
            x->max_duration_ms != y->max_duration_ms)
            return false;
    }
    for (int i = 0; i < a->segment_count; i++)
        if (!span_equal(a->segments[i], b->segments[i])) return false;
    for (uint32_t i = 0; i < a->schema.count; i++)
        if (!span_equal(a->schema.attributes[i].name, b->schema.attributes[i].name) ||
            a->schema.attributes[i].type != b->schema.attributes[i].type)
            return false;
    return span_equal(a->salt, b->salt) && a->timezone_offset_s == b->timezone_offset_s;
}

static bool same_allocation(const struct plan *a, const struct plan *b)
{
    if (a->variant_count != b->variant_count || a->experiment_count != b->experiment_count)
        return false;
    for (int i = 0; i < a->variant_count; i++)
        if (!span_equal(a->variants[i].name, b->variants[i].name) ||
            a->variants[i].policy - a->policies != b->variants[i].policy - b->policies)
            return false;
    for (int i = 0; i < a->experiment_count; i++) {
        const struct plan_experiment *x = &a->experiments[i], *y = &b->experiments[i];
        if (!span_equal(x->name, y->name) || !span_equal(x->salt, y->salt) ||
            x->slice_ppm != y->slice_ppm || x->split_count != y->split_count)
            return false;
        for (int s = 0; s < x->split_count; s++)
            if (x->split[s].variant != y->split[s].variant ||
                x->split[s].up_to != y->split[s].up_to)
                return false;
    }
    return a->default_variant == b->default_variant;
}

static bool same_guardrails(const struct plan *a, const struct plan *b)
{
    if (a->guardrail_count != b->guardrail_count || a->gate_count != b->gate_count) return false;
    for (int i = 0; i < a->guardrail_count; i++) {
        const struct plan_guardrail *x = &a->guardrails[i], *y = &b->guardrails[i];
        if (x->row != y->row || x->permissive != y->permissive || x->ms != y->ms ||
            !same_rule(x->when, y->when) || !same_cap(&x->cap, &y->cap))
            return false;
    }
    return true;
}

static bool same_settings(const struct settings *p, const struct settings *q)
{
    const struct settings_server *a = &p->server, *b = &q->server;
    const struct settings_log *x = &p->log, *y = &q->log;
    for (int site = 0; site < SITE_COUNT; site++)
        if (x->sites[site].own != y->sites[site].own ||
            x->sites[site].budget.rate != y->sites[site].budget.rate ||
            x->sites[site].budget.burst != y->sites[site].budget.burst)
            return false;
    for (int i = 0; i < a->host_count && i < b->host_count; i++)
        if (!span_equal(a->hosts[i], b->hosts[i])) return false;
    return a->host_count == b->host_count && span_equal(a->listen, b->listen) &&
           span_equal(a->admin, b->admin) && a->workers == b->workers &&
           a->connections_max == b->connections_max && a->per_address_max == b->per_address_max &&
           a->drain_ms == b->drain_ms && a->head_timeout_ms == b->head_timeout_ms &&
           a->body_timeout_ms == b->body_timeout_ms &&
           a->answer_timeout_ms == b->answer_timeout_ms &&
           a->idle_timeout_ms == b->idle_timeout_ms && x->level == y->level && x->sink == y->sink &&
           span_equal(x->file, y->file) && x->budget.rate == y->budget.rate &&
           x->budget.burst == y->budget.burst;
}

static void check_same(const struct plan *a, const struct plan *b, const char *name)
{
    bool policies = a->policy_count == b->policy_count;
    for (int i = 0; policies && i < a->policy_count; i++)
        policies = same_policy(a, &a->policies[i], b, &b->policies[i]);
    const struct {
        const char *what;
        bool same;
    } parts[] = {
        {"policies", policies},
        {"labels", same_labels(a, b)},
        {"allocation", same_allocation(a, b)},
        {"guardrails", same_guardrails(a, b)},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!parts[i].same) fail_msg("%s: loads again with other %s", name, parts[i].what);
}

/* A plan in which one line can be exchanged. */
struct edit {
    const char *from, *to;
};

static char edited[8192];

static struct span edit_demo(struct edit edit)
{
    struct span demo = plan_demo_text();
    const char *at = strstr(demo.data, edit.from);
    if (!at) fail_msg("the demonstration plan has no `%s`", edit.from);
    int n = snprintf(edited, sizeof edited, "%.*s%s%s", (int)(at - demo.data), demo.data, edit.to,
                     at + strlen(edit.from));
    assert_true(n > 0 && (size_t)n < sizeof edited);
    return span_of(edited);
}

/* The text loads to an equal plan, and is printed the same. */
static void check_round_trip(struct span text, const char *name)
{
    struct settings *settings, *again_settings;
    struct plan *plan = load_both(text, &settings, name);
    struct span printed = print(plan, settings, 0);
    uint32_t code;
    for (const char *at = printed.data, *end = at + printed.len; at < end; at++)
        if (printed_control(at, end, &code) && code != '\n')
            fail_msg("%s: U+%04X is printed as it is", name, code);
    struct plan *again = load_both(printed, &again_settings, name);
    assert_string_equal(plan->fingerprint, again->fingerprint);
    assert_memory_equal(&settings->identity, &again_settings->identity, sizeof settings->identity);
    assert_true(same_settings(settings, again_settings));
    assert_true(span_equal(plan->version, again->version));
    check_same(plan, again, name);
    if (!span_equal(printed, print(again, again_settings, 1)))
        fail_msg("%s: printed differently again", name);
    plan_free(plan);
    plan_free(again);
    settings_free(settings);
    settings_free(again_settings);
}

static void check_file(const char *path)
{
    struct span text = file_read(path);
    check_round_trip(text, path);
    free((void *)text.data);
}

static void test_round_trip(void **state)
{
    (void)state;
    check_round_trip(plan_demo_text(), "demo");
    /* The first and the last character of each length, and of each range that is escaped. */
    check_round_trip(
        edit_demo((struct edit){
            "salt: interlude-demo",
            "salt: \" ~\\u0080\\u009f\\u00a0\\u07ff\\u0800\\u0fff\\u1000\\u2027\\u202a"
            "\\u202f\\u2065\\u2066\\u206a\\ufefe\\ufeff\\uff00\\U00010000\\U0010fffd\""}),
        "characters");
    assert_true(cases_each("good-", check_file) >= 2);
}

/* Words that some readers of YAML take for a bool, a number or nothing are printed in quotes;
 * others that begin or end like them are not. */
static void test_words_are_quoted(void **state)
{
    (void)state;
    static const char *const quoted[] = {"y",     "n",    "yes", "no",  "on", "off", "true",
                                         "false", "null", "nan", "inf", "Y",  "NO",  "False",
                                         "NULL",  "7",    "-x",  ".a",  "a:b"};
    static const char *const plain[] = {"yess", "falsey", "nul", "infi", "x", "_", "on1", "a.b-c"};
    for (int q = 0; q < 2; q++) {
        const char *const *words = q ? quoted : plain;
        size_t count = q ? sizeof quoted / sizeof *quoted : sizeof plain / sizeof *plain;
        for (size_t i = 0; i < count; i++) {
            char to[64], expected[64];
            snprintf(to, sizeof to, "heavy, \"%s\"]", words[i]);
            snprintf(expected, sizeof expected, q ? "heavy, \"%s\"]" : "heavy, %s]", words[i]);
            struct span text = edit_demo((struct edit){"heavy]", to});
            struct settings *settings;
            struct plan *plan = load_both(text, &settings, to);
            char printed[PLAN_BYTES_MAX / 16];
            struct buf b = buf_of(printed, sizeof printed - 1);
            plan_print(&b, plan);
            assert_false(b.full);
            printed[b.len] = 0;
            if (!strstr(printed, expected)) fail_msg("%s is not printed", expected);
            plan_free(plan);
            settings_free(settings);
        }
    }
}

/* What is printed of the plan that uses every key, as it stands in a file: a key that is read into
 * another's place is printed there. UPDATE_DOCS=1 writes the file anew. */
static void test_everything_is_printed_as_it_was_written(void **state)
{
    (void)state;
    static const char path[] = "tests/cases/plans/printed-everything.yaml";
    struct settings *settings;
    struct span text = file_read("tests/cases/plans/good-everything.yaml");
    struct plan *plan = load_both(text, &settings, "good-everything");
    free((void *)text.data);
    struct span printed = print(plan, settings, 0);
    if (getenv("UPDATE_DOCS")) {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(printed.data, 1, printed.len, f), printed.len);
        fclose(f);
    }
    struct span expected = file_read(path);
    if (!span_equal(printed, expected))
        fail_msg("%s is another:\n%.*s", path, (int)printed.len, printed.data);
    free((void *)expected.data);
    settings_free(settings);
    plan_free(plan);
}

/* ---- identity ---- */

static void check_identity(struct edit edit, bool same_fingerprint, bool same_settings)
{
    struct settings *a, *b;
    struct plan *demo = load_both(plan_demo_text(), &a, "demo"),
                *other = load_both(edit_demo(edit), &b, edit.to);
    bool fingerprint = strcmp(demo->fingerprint, other->fingerprint) == 0;
    bool settings = memcmp(&a->identity, &b->identity, sizeof a->identity) == 0;
    assert_int_equal(fingerprint, memcmp(&demo->identity, &other->identity, 16) == 0);
    if (fingerprint != same_fingerprint || settings != same_settings)
        fail_msg("%s -> %s: fingerprint %s, settings %s", edit.from, edit.to,
                 fingerprint ? "same" : "differs", settings ? "same" : "differ");
    plan_free(demo);
    plan_free(other);
    settings_free(a);
    settings_free(b);
}

static void test_not_part_of_a_decision(void **state)
{
    (void)state;
    static const struct edit spelling[] = {
        {"# The demonstration", "# A demonstration"},
        {"cooldown: 60s", "cooldown: 1m"},
        {"slice: 20%", "slice: 20.0%"},
        {"{kind: uniform}", "{kind: uniform, actions: [pod_3, pod_2, pod_1, none]}"},
        {"split: {control: 50%, bayes: 50%}", "split: {control: 1%, bayes: 1%}"},
        {"floor: 0.01", "floor: 1e-2"},
        {"ads_per_hour: 6", "ads_per_hour: [{max: 6}]"},
        {"salt: interlude-demo", "\"salt\": 'interlude-demo'"},
        {"guardrails:\n", "guardrails:\n  cooldown: false\n  on_unknown: conservative\n"},
        {"default_variant: control", "default_variant: control\ntimezone_offset: -00:00"},
        {"version: demo-1", "version: demo-2"},
        {"version: demo-1\n", ""},
    };
    for (size_t i = 0; i < sizeof spelling / sizeof *spelling; i++)
        check_identity(spelling[i], true, true);
    static const struct edit operation[] = {
        {"listen: 127.0.0.1:7070", "listen: 127.0.0.1:7072"},
        {"workers: auto", "workers: 2"},
        {"workers: auto", "drain: 11s"},
        {"level: info", "level: error"},
        {"rate: 10", "rate: unlimited"},
        {"sink: stdout", "sink: {file: /tmp/log}"},
        {"burst: 100}", "burst: 100}, sites: {session_invalid: {rate: 1}}"},
    };
    for (size_t i = 0; i < sizeof operation / sizeof *operation; i++)
        check_identity(operation[i], true, false);
}

static void test_part_of_a_decision(void **state)
{
    (void)state;
    static const struct edit edits[] = {
        {"salt: interlude-demo", "salt: interlude-demo2"},
        {"ads: 3, max", "ads: 4, max"},
        {"max_duration: 90s", "max_duration: 91s"},
        {"cooldown: 20m", "cooldown: 20.5m"},
        {"[new, casual", "[casual, new"},
        {"heavy]", "heavy, more]"},
        {"genre: string", "genre: int"},
        {"genre: string", "genre: string, more: int"},
        {">= 6 &&", ">= 7 &&"},
        {", cooldown: 5m}", "}"},
        {"- {action: none}", ""},
        {"- {action: none}", "- {action: none, cooldown: 0s}"}, /* 0 is not "its own" */
        {"- {action: none}", "- {action: none, cooldown: 1ms}"},
        {"floor: 0.01", "floor: 0.010000000000000002"},
        {"floor: 0.01", "floor: 0.01, floor_toward: fallback"},
        {"on_partial: exclude, fallback: promoted, floor",
         "on_partial: fallback, fallback: promoted, floor"},
        {"kind: greedy,", "kind: greedy, max_posterior_age: 1h,"},
        {"kind: greedy,", "kind: greedy, prior: {alpha: 1, beta: 1},"},
        {"kind: greedy,", "kind: greedy, prior: {alpha: 1, beta: 1}, on_empty: cold_start,"},
        {"kind: greedy,", "kind: greedy, max_posterior_age: 1h, on_stale: fallback,"},
        {"kind: greedy,", "kind: greedy, value: {none: {weight: -1}},"},
        {"kind: greedy,", "kind: greedy, actions: [none, pod_1],"},
        {"{kind: greedy, on_partial: exclude, fallback: promoted}",
         "{kind: greedy, on_partial: exclude, fallback: random}"},
        {"kind: thompson,", "kind: greedy,"},
        {"{policy: random}", "{policy: greedy}"},
        {"slice: 20%", "slice: 20.0001%"},
        {"bayes: 50%", "bayes: 49.9998%"},
        {"salt: adload-1", "salt: adload-2"},
        {"name: adload,", "name: adloads,"},
        {"default_variant: control", "default_variant: bayes"},
        {"default_variant: control", "default_variant: control\ntimezone_offset: +01:00"},
        {"== 'premium'", "== 'plus'"},
        {"grace_period: 3m", "grace_period: 181s"},
        {"  min_gap: 5m", "  # no gap"},
        {"  min_gap: 5m", "  min_gap: 0s"},
        {"grace_period: 3m", "# no grace"},
        {"grace_period: 3m", "grace_period: 0s"},
        {"ads_per_hour: 6", "ads_per_hour: 7"},
        {"ads_per_hour: 6", "ads_per_hour: 6\n  ads_per_day: 6"},
        {"ads_per_hour: 6", "ads_per_hour: [{when: car, max: 6}]"},
        {"ad_seconds_per_hour: 240", "ad_seconds_per_hour: 241"},
        {"guardrails:\n", "guardrails:\n  cooldown: true\n"},
        {"guardrails:\n", "guardrails:\n  content_remaining: true\n"},
        {"guardrails:\n", "guardrails:\n  content_boundary: true\n"},
        {"guardrails:\n", "guardrails:\n  on_unknown: permissive\n"},
    };
    enum { EDITS = sizeof edits / sizeof *edits };
    char fingerprints[EDITS][13];
    for (int i = 0; i < EDITS; i++) {
        check_identity(edits[i], false, true);
        struct plan *plan = load_good(edit_demo(edits[i]), edits[i].to);
        memcpy(fingerprints[i], plan->fingerprint, sizeof fingerprints[i]);
        plan_free(plan);
        for (int j = 0; j < i; j++)
            if (strcmp(fingerprints[i], fingerprints[j]) == 0)
                fail_msg("%s and %s: one fingerprint", edits[i].to, edits[j].to);
    }
}

static void test_version_left_out(void **state)
{
    (void)state;
    struct edit edit = {"version: demo-1\n", ""};
    struct plan *plan = load_good(edit_demo(edit), "without a version");
    assert_true(span_is(plan->version, plan->fingerprint));
    assert_int_equal(strspn(plan->fingerprint, "0123456789abcdef"), 12);
    plan_free(plan);
}

/* Whoever changes what this hash is of changes every fingerprint there is. */
static void test_fingerprint_is_pinned(void **state)
{
    (void)state;
    struct plan *plan = load_good(plan_demo_text(), "demo");
    assert_string_equal(plan->fingerprint, "450de3e0d181");
    static const struct hash128 no_key;
    struct buf b = buf_of(memory[0], sizeof memory[0]);
    plan_print_decides(&b, plan);
    uint64_t first = hash_sip128(no_key, buf_text(&b)).lo;
    char digits[13];
    for (int i = 0; i < 6; i++)
        snprintf(digits + 2 * i, 3, "%02x", (unsigned)(first >> (8 * i) & 0xff));
    assert_string_equal(plan->fingerprint, digits);
    plan_free(plan);
}

/* Each printed character is one byte of the file, or its escape: a plan just under the limit may be
 * over it when it is written out. */
static void test_too_long_when_printed(void **state)
{
    (void)state;
    enum { RULES = 250, BYTES = 3900 };
    static char text[PLAN_BYTES_MAX];
    struct buf b = buf_of(text, sizeof text);
    buf_lit(&b,
            "salt: s\nactions: [{name: none, ads: 0, cooldown: 0s}, {name: p, ads: 1, cooldown: "
            "0s}]\nvariants: {v: {policy: p}}\ndefault_variant: v\npolicies:\n  p:\n    kind: "
            "fixed\n    rules:\n");
    for (int i = 0; i < RULES; i++) {
        buf_lit(&b, "      - {action: none, when: 'tier == \"");
        for (int n = 0; n < BYTES; n++) buf_char(&b, '\\');
        buf_lit(&b, "\"'}\n");
    }
    assert_false(b.full);
    const struct plan_errors *errors = load_bad(buf_text(&b), "printed");
    assert_string_equal(errors->errors[0].text,
                        "the plan, with its defaults written out, is over 1 MiB");
}

/* ---- series ---- */

static void test_series(void **state)
{
    (void)state;
    /* The demonstration plan: variants and unknown, segments and other and unset. */
    enum { V = 4 + 1, S = 4 + 2, A = 4, EXPERIMENTS = 1 + 1, ATTRIBUTES = 16 + 1 + 2 };
    const uint64_t expected = V * S * A             /* decisions */
                              + EXPERIMENTS * 5 * V /* assignments */
                              + V * (54 + 1 + 2)    /* durations: buckets, +Inf, sum and count */
                              + V * S * 9           /* posteriors */
                              + V * 3               /* state */
                              + V * S * A           /* missing posteriors */
                              + ATTRIBUTES * 2 /* unknown attributes, `last` too: absent, invalid */
                              + V * GUARDRAIL_COUNT + V * 5 /* fallbacks */
                              + V + V                       /* ads decided, covered seconds */
                              + V + V                       /* unused posteriors, errors of rules */
                              + 1;                          /* plan info */
    struct plan *plan = load_good(plan_demo_text(), "demo");
    const char *largest = NULL;
    assert_int_equal(plan_series_count(plan, &largest), expected);
    assert_string_equal(largest, "interlude_request_duration_seconds");
    plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_words_are_quoted),
        cmocka_unit_test(test_everything_is_printed_as_it_was_written),
        cmocka_unit_test(test_not_part_of_a_decision),
        cmocka_unit_test(test_part_of_a_decision),
        cmocka_unit_test(test_version_left_out),
        cmocka_unit_test(test_fingerprint_is_pinned),
        cmocka_unit_test(test_too_long_when_printed),
        cmocka_unit_test(test_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
