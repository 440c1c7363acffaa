/* What a plan takes away from the one before it; and that half a file cannot. */
#include "plan_files.h"

#include "plan/plan_compare.h"

/* ---- one change a row ---- */

static char edited[8192];

static struct span edit_demo(const char *from, const char *to)
{
    struct span demo = plan_demo_text();
    const char *at = strstr(demo.data, from);
    if (!at) fail_msg("the demonstration plan has no `%s`", from);
    int n = snprintf(edited, sizeof edited, "%.*s%s%s", (int)(at - demo.data), demo.data, to,
                     at + strlen(from));
    assert_true(n > 0 && (size_t)n < sizeof edited);
    return span_of(edited);
}

static void weaker_is(struct span before_text, struct span after_text, const char *expected)
{
    struct plan *before = load_good(before_text, "before"), *after = load_good(after_text, "after");
    struct plan_weaker weaker;
    plan_weaker_find(before, after, &weaker);
    if (!*expected && weaker.count) fail_msg("%s, and nothing was expected", weaker.texts[0]);
    if (*expected && !weaker.count) fail_msg("nothing, and expected was: %s", expected);
    if (*expected) assert_string_equal(weaker.texts[0], expected);
    plan_free(before);
    plan_free(after);
}

/* Nothing that a plan says is less than itself. */
static void no_plan_takes_from_itself(void **state)
{
    (void)state;
    weaker_is(plan_demo_text(), plan_demo_text(), "");
    struct span everything = file_read("tests/cases/plans/good-everything.yaml");
    weaker_is(everything, everything, "");
    free((void *)everything.data);
}

/* The first action is an action like any other. */
static void the_first_action_is_named_too(void **state)
{
    (void)state;
    char before[512], after[512];
    static const char format[] =
        "salt: s\nactions: [{name: p1, ads: 1, cooldown: 1s}, {name: none, ads: 0, cooldown: 1s}, "
        "{name: p2, ads: 2, cooldown: 1s}]\npolicies: {u: {kind: uniform, actions: [none, %s]}}\n"
        "variants: {v: {policy: u}}\ndefault_variant: v\n...\n";
    snprintf(before, sizeof before, format, "p1");
    snprintf(after, sizeof after, format, "p2");
    weaker_is(span_of(before), span_of(after), "policies.u.actions: p1 is gone");
    weaker_is(span_of(after), span_of(before), "policies.u.actions: p2 is gone");
}

/* Each row is looked at both ways: what one direction takes away, the other gives. */
static void each_change_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *weaker, *weaker_back;
    } rows[] = {
        {"version: demo-1", "version: demo-2", "", ""},
        {"salt: interlude-demo", "salt: other", "", ""},
        {"level: info", "level: error", "", ""},
        /* guardrails */
        {"  min_gap:", "  # min_gap:", "guardrails.min_gap is gone", ""},
        {"min_gap: 5m", "min_gap: 4m", "guardrails.min_gap: 300000 ms became 240000 ms", ""},
        {"  grace_period:", "  # grace_period:", "guardrails.grace_period is gone", ""},
        {"grace_period: 3m", "grace_period: 0s", "guardrails.grace_period: 180000 ms became 0 ms",
         ""},
        {"  ads_per_hour: 6\n", "", "guardrails.ads_per_hour is gone", ""},
        {"  ads_per_hour: 6\n", "  ads_per_hour: 7\n",
         "guardrails.ads_per_hour: the cap of 6 is gone or higher", ""},
        {"  ads_per_hour: 6\n", "  ads_per_hour: [{when: car, max: 6}]\n",
         "guardrails.ads_per_hour: the cap of 6 is gone or higher",
         "guardrails.ads_per_hour: the condition of the cap of 6 is gone or shorter"},
        {"  ads_per_hour: 6\n", "  ads_per_hour: [{when: car, max: 2}, {max: 6}]\n", "",
         "guardrails.ads_per_hour: the cap of 2 when car is gone or higher"},
        {"  ads_per_hour: 6\n", "  ads_per_hour: [{max: 6}, {max: 1, when: car}]\n", "",
         "guardrails.ads_per_hour: the cap of 1 when car is gone or higher"},
        {"  ad_seconds_per_hour: 240\n", "", "guardrails.ad_seconds_per_hour is gone", ""},
        {"guardrails:\n", "guardrails:\n  ads_per_day: 9\n", "", "guardrails.ads_per_day is gone"},
        {"guardrails:\n", "guardrails:\n  cooldown: true\n", "", "guardrails.cooldown is gone"},
        {"guardrails:\n", "guardrails:\n  content_remaining: true\n", "",
         "guardrails.content_remaining is gone"},
        {"guardrails:\n", "guardrails:\n  content_boundary: true\n", "",
         "guardrails.content_boundary is gone"},
        {"guardrails:\n", "guardrails:\n  on_unknown: {min_gap: permissive}\n",
         "guardrails.on_unknown: min_gap is permissive now",
         "guardrails.on_unknown.min_gap is gone"},
        {"== 'premium'", "== 'plus'",
         "guardrails.ad_free: its condition changed, and may hold less often",
         "guardrails.ad_free: its condition changed, and may hold less often"},
        /* what is declared */
        {"heavy]", "heavy, more]", "", "segments.more is gone"},
        {"genre: string", "genre: string, more: int", "", "attributes.more is gone"},
        {"max_duration: 90s", "max_duration: 80s",
         "actions.pod_3: its max_duration is shorter, so caps count less of it", ""},
        {"ads: 3, max", "ads: 2, max", "actions.pod_3: it counts as 2 ads, not 3", ""},
        {"default_variant: control", "default_variant: control\ntimezone_offset: +01:00", "",
         "timezone_offset is gone"},
        /* policies */
        {"      - {action: none}\n", "", "policies.promoted.rules: 1 of 3 rules are gone", ""},
        {", cooldown: 5m}", "}", "policies.promoted.rules: the cooldown of rule 2 is gone", ""},
        {"cooldown: 5m}", "cooldown: 4m}", "", ""}, /* somebody's work */
        {">= 6 && elapsed_s >= 1200\"", ">= 6\"",
         "policies.promoted.rules: the condition of rule 1 is gone or shorter", ""},
        {"tracks_played >= 3\"", "tracks_played >= 4\"", "", ""},
        {"- {name: pod_3, ads: 3, max_duration: 90s, cooldown: 20m}\n",
         "- {name: pod_3, ads: 3, max_duration: 90s, cooldown: 20m}\n"
         "  - {name: pod_4, ads: 4, max_duration: 90s, cooldown: 20m}\n",
         "", "actions.pod_4 is gone"},
        {"salt: adload-1", "salt: adload", "experiments.adload.salt is shorter", ""},
        {"salt: interlude-demo", "salt: interlude", "salt is shorter", ""},
        {"floor: 0.01, ", "", "policies.bayesian.floor is gone", ""},
        {"floor: 0.01", "floor: 0.02", "", ""},
        {"kind: greedy,", "kind: greedy, max_posterior_age: 1h, on_stale: fallback,", "",
         "policies.greedy.on_stale is gone"},
        {"kind: greedy,", "kind: greedy, prior: {alpha: 1, beta: 1},", "",
         "policies.greedy.prior is gone"},
        {"kind: greedy,", "kind: greedy, value: {none: {weight: -1}},", "",
         "policies.greedy.value is gone"},
        {"kind: greedy,", "kind: greedy, actions: [none, pod_1],",
         "policies.greedy.actions: pod_2 is gone",
         "policies.greedy.actions: it uses every action now"},
        {"kind: greedy,", "kind: greedy, actions: [none, pod_1, pod_2, pod_3],", "", ""},
        {"  random: {kind: uniform}\n", "  random: {kind: uniform}\n  more: {kind: uniform}\n", "",
         "policies.more is gone"},
        /* variants and experiments */
        {"  random:  {policy: random}\n", "", "variants.random is gone", ""},
        {"slice: 20%, ", "", "experiments.adload.slice is gone: it takes everybody", ""},
        {"slice: 20%", "slice: 30%", "", ""},
        {", bayes: 50%", "", "experiments.adload.split.bayes is gone", ""},
        {"name: adload,", "name: other,", "experiments.adload is gone",
         "experiments.other is gone"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct span other = edit_demo(rows[i].from, rows[i].to);
        weaker_is(plan_demo_text(), other, rows[i].weaker);
        weaker_is(other, plan_demo_text(), rows[i].weaker_back);
    }
}

static void more_than_fit_are_counted(void **state)
{
    (void)state;
    char text[4096];
    struct buf b = buf_of(text, sizeof text);
    buf_lit(&b,
            "salt: s\nactions: [{name: none, ads: 0, cooldown: 0s}, {name: p, ads: 1, cooldown: "
            "0s}]\npolicies: {r: {kind: uniform}}\nvariants: {v: {policy: r}}\n"
            "default_variant: v\n");
    size_t bare = b.len;
    buf_lit(&b, "segments: [s0");
    for (int i = 1; i < 32; i++) buf_format(&b, ", s%d", i);
    buf_lit(&b, "]\nattributes: {a0: int");
    for (int i = 1; i < 40; i++) buf_format(&b, ", a%d: int", i);
    buf_lit(&b, "}\nguardrails: {cooldown: true}\n");
    struct plan *before = load_good(buf_text(&b), "before"),
                *after = load_good((struct span){text, bare}, "after");
    struct plan_weaker weaker;
    plan_weaker_find(before, after, &weaker);
    assert_int_equal(weaker.count, PLAN_WEAKER_MAX);
    assert_int_equal(weaker.more, 1 + 32 + 40 - PLAN_WEAKER_MAX);
    /* What a listener would feel comes first. */
    assert_string_equal(weaker.texts[0], "guardrails.cooldown is gone");
    assert_string_equal(weaker.texts[1], "segments.s0 is gone");
    plan_free(before);
    plan_free(after);
}

/* ---- half a file ---- */

static int half_files;

/* Every prefix, read over the whole: refused, or nothing of what decides is missing in it. */
static void no_prefix_of(const char *whole, size_t whole_len, const char *path)
{
    struct plan *served = load_good((struct span){whole, whole_len}, path);
    for (size_t len = 0; len < whole_len; len++) {
        static struct plan_errors errors;
        struct span text = {whole, len};
        struct plan *plan = plan_load_file(text, NULL, &errors);
        if (!plan) continue;
        struct plan_weaker weaker;
        plan_weaker_find(served, plan, &weaker);
        bool refused = weaker.count && plan_end_of(text) != PLAN_END_MARKED;
        half_files += refused;
        if (!refused && strcmp(plan->fingerprint, served->fingerprint) != 0)
            fail_msg("%s: its first %zu bytes are another plan, and would be served", path, len);
        plan_free(plan);
    }
    plan_free(served);
}

static void no_prefix_takes_anything_away(const char *path)
{
    struct span whole = file_read(path);
    no_prefix_of(whole.data, whole.len, path);
    free((void *)whole.data);
}

/* Block style, with what can be cut at the very end: the last key is another one each time. */
static void no_prefix_of_a_block_takes_anything_away(void)
{
    static const char head[] = "salt: s\n"
                               "actions:\n"
                               "  - {name: none, ads: 0, cooldown: 1m}\n"
                               "  - {name: pod_1, ads: 1, max_duration: 30s, cooldown: 6m}\n"
                               "  - {name: pod_2, ads: 2, max_duration: 60s, cooldown: 12m}\n"
                               "variants: {v: {policy: rules}, w: {policy: learned}}\n"
                               "default_variant: v\n";
    static const char *const tails[] = {
        /* a rule's condition, over several lines and last */
        "policies:\n"
        "  learned: {kind: thompson, fallback: rules}\n"
        "  rules:\n"
        "    kind: fixed\n"
        "    rules:\n"
        "      - action: pod_1\n"
        "        when: tracks_played >= 3\n"
        "      - action: pod_2\n"
        "        cooldown: 30m\n"
        "        when: >-\n"
        "          tracks_played >= 6\n"
        "          && elapsed_s >= 1200\n"
        "          && !background\n",
        /* a cap's condition, after its max */
        "policies: {rules: {kind: fixed, rules: [{action: pod_2}]}, learned: {kind: thompson, "
        "fallback: rules}}\n"
        "guardrails:\n"
        "  ads_per_hour:\n"
        "    - max: 8\n"
        "    - max: 1\n"
        "      when: tenure_days < 7\n"
        "        || tier == 'new'\n",
        /* a learned policy's keys */
        "policies:\n"
        "  rules: {kind: fixed, rules: [{action: pod_2}]}\n"
        "  learned:\n"
        "    kind: thompson\n"
        "    fallback: rules\n"
        "    actions:\n"
        "      - none\n"
        "      - pod_1\n"
        "    max_posterior_age: 1h\n"
        "    on_stale: fallback\n"
        "    prior:\n"
        "      alpha: 1\n"
        "      beta: 1\n"
        "    on_partial: prior\n"
        "    floor: 0.02\n"
        "    value:\n"
        "      none: {weight: 0.5}\n"
        "      pod_1:\n"
        "        offset: 1\n"
        "        weight: 2\n",
        /* the actions that a policy uses, last */
        "policies:\n"
        "  rules: {kind: fixed, rules: [{action: none}]}\n"
        "  learned:\n"
        "    kind: thompson\n"
        "    fallback: rules\n"
        "    actions:\n"
        "      - pod_1\n"
        "      - none\n"
        "      - pod_2\n",
        /* an experiment's keys, and a salt over two lines */
        "policies: {rules: {kind: fixed, rules: [{action: pod_2}]}, learned: {kind: thompson, "
        "fallback: rules}}\n"
        "timezone_offset: \"+02:00\"\n"
        "attributes:\n"
        "  genre: string\n"
        "  mood: string\n"
        "segments:\n"
        "  - new\n"
        "  - core\n"
        "experiments:\n"
        "  - name: e\n"
        "    split:\n"
        "      v: 50%\n"
        "      w: 50%\n"
        "    slice: 20%\n"
        "    salt: >-\n"
        "      first\n"
        "      second\n",
        /* guardrails, the permissive ones last */
        "policies: {rules: {kind: fixed, rules: [{action: pod_2}]}, learned: {kind: thompson, "
        "fallback: rules}}\n"
        "guardrails:\n"
        "  cooldown: true\n"
        "  content_boundary: true\n"
        "  ad_free: |\n"
        "    has(tier) && (tier == 'premium'\n"
        "    || tier == 'family')\n"
        "  on_unknown:\n"
        "    cooldown: permissive\n"
        "    content_boundary: permissive\n",
    };
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        static char text[8192];
        int len = snprintf(text, sizeof text, "%s%s", head, tails[i]);
        no_prefix_of(text, (size_t)len, "a plan in block style");
    }
}

static void half_a_file_is_served_by_nobody(void **state)
{
    (void)state;
    no_prefix_takes_anything_away("examples/interlude.yaml");
    no_prefix_takes_anything_away("tests/golden/plan.yaml");
    assert_true(half_files >= 8); /* such as do load: or nothing was tried */
    cases_each("good-", no_prefix_takes_anything_away);
    no_prefix_of_a_block_takes_anything_away();
}

/* ---- the end of a file ---- */

static void the_end_of_a_file(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum plan_end end;
    } rows[] = {
        {"", PLAN_END_CUT},
        {" \n", PLAN_END_OPEN},
        {"a: b", PLAN_END_CUT},
        {"a: b\n", PLAN_END_OPEN},
        {"a: b\r\n", PLAN_END_OPEN},
        {"a: b\n...", PLAN_END_MARKED},
        {"a: b\n...\n", PLAN_END_MARKED},
        {"a: b\r\n...\r\n", PLAN_END_MARKED},
        {"a: b\n...  \n\n", PLAN_END_MARKED},
        {"a: b\n...\n# done\n", PLAN_END_MARKED},
        {"a: b\n....\n", PLAN_END_OPEN},
        {"a: b\n ...\n", PLAN_END_OPEN},
        {"a: {b: c}", PLAN_END_CUT},
        {"{\"a\": 1}", PLAN_END_MARKED},
        {" {\"a\": 1}\n\n", PLAN_END_MARKED},
        {"{\"a\": 1", PLAN_END_CUT},
        {"{\"a\":\n", PLAN_END_OPEN},
        {"\xef\xbb\xbf{\"a\": 1}", PLAN_END_MARKED},
        {"\xef\xbb\xbf"
         "a: b\n...\n",
         PLAN_END_MARKED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (plan_end_of(span_of(rows[i].text)) != rows[i].end) fail_msg("`%s`", rows[i].text);
}

/* A plan in JSON is a plan, and its brace is its end. */
static void json_needs_no_mark(void **state)
{
    (void)state;
    static const char json[] =
        "{\"salt\": \"s\", \"actions\": [{\"name\": \"none\", \"ads\": 0, \"cooldown\": \"0s\"},"
        "{\"name\": \"p\", \"ads\": 1, \"cooldown\": \"0s\"}], \"policies\": {\"r\": {\"kind\": "
        "\"uniform\"}}, \"variants\": {\"v\": {\"policy\": \"r\"}}, \"default_variant\": \"v\","
        " \"guardrails\": {\"cooldown\": true}}";
    static struct plan_errors errors;
    for (size_t len = 0; len < sizeof json - 1; len++)
        assert_null(plan_load_file((struct span){json, len}, NULL, &errors));
    struct plan *plan = plan_load_file(span_of(json), NULL, &errors);
    assert_non_null(plan);
    plan_free(plan);
}

/* ---- who moves ---- */

static uint32_t moved_ppm(const char *from, const char *to)
{
    struct plan *before = load_good(plan_demo_text(), "before"),
                *after = load_good(edit_demo(from, to), "after");
    uint32_t ppm = plan_units_moved_ppm(before, after);
    plan_free(before);
    plan_free(after);
    return ppm;
}

/* 20,000 units: a share is exact to 4 standard errors, 1.2% at most. */
static void the_share_of_units_that_move(void **state)
{
    (void)state;
    assert_int_equal(moved_ppm("floor: 0.01", "floor: 0.02"), 0);
    /* Half of the slice gets bayes, and would get control. */
    assert_in_range(moved_ppm(", bayes: 50%", ""), 100000 - 9000, 100000 + 9000);
    /* Of another tenth, half gets bayes. */
    assert_in_range(moved_ppm("slice: 20%", "slice: 30%"), 50000 - 7000, 50000 + 7000);
    assert_in_range(moved_ppm("slice: 20%", "slice: 100%"), 400000 - 14000, 400000 + 14000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_plan_takes_from_itself),
        cmocka_unit_test(the_first_action_is_named_too),
        cmocka_unit_test(each_change_is_named),
        cmocka_unit_test(more_than_fit_are_counted),
        cmocka_unit_test(half_a_file_is_served_by_nobody),
        cmocka_unit_test(the_end_of_a_file),
        cmocka_unit_test(json_needs_no_mark),
        cmocka_unit_test(the_share_of_units_that_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
