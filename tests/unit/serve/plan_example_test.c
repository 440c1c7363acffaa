/* Requests to try a plan with: each is decided without an anomaly, whatever the plan reads. */
#include "serve/plan_example.h"

#include "plan/plan_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct plan_example *example;

static int setup(void **state)
{
    (void)state;
    example = malloc(sizeof *example);
    return example ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    free(example);
    return 0;
}

static struct plan *plan_of(struct span text)
{
    struct plan_errors *errors = calloc(1, sizeof *errors);
    assert_non_null(errors);
    struct plan *plan = plan_load(text, NULL, errors);
    if (!plan) fail_msg("%u: %s", errors->errors[0].line, errors->errors[0].text);
    free(errors);
    return plan;
}

/* Decides it as anybody would; returns whether a policy was asked, with an ad to choose. */
static bool hears_ads(const struct plan *plan, int variant, struct span body)
{
    static struct request request;
    static char scratch[REQUEST_BYTES_MAX];
    struct decision d;
    struct err e;
    if (request_read(plan, body, scratch, &request, &e)) fail_msg("%s", e.text);
    int64_t now_us = request.time_us != REQUEST_TIME_NONE ? request.time_us : example->wall_us;
    decide(plan, &request, now_us, NULL, &d);
    assert_int_equal(d.variant, variant);
    assert_int_equal(d.assignment, ASSIGNMENT_CALLER);
    assert_int_equal(d.state.status, STATE_COMPLETE);
    if (d.presence.status != POSTERIORS_BY_DESIGN && d.presence.status != POSTERIORS_COMPLETE)
        fail_msg("%s: %.*s", posteriors_status_name(d.presence.status), (int)body.len, body.data);
    return d.asked && d.eligible & plan->actions.with_ads;
}

#define HEAD                                                                                   \
    "salt: s\nactions:\n  - {name: none, ads: 0, cooldown: 60s}\n"                             \
    "  - {name: pod, ads: 1, max_duration: 30s, cooldown: 6m}\nsegments: [new, core, heavy]\n" \
    "attributes: {genre: string, live: bool, score: double, skips: int}\n"                     \
    "default_variant: a\n"
#define RULES "  rules: {kind: fixed, rules: [{action: pod}]}\n"
#define ONE HEAD "policies:\n" RULES "variants:\n  a: {policy: rules}\n"
#define LEARNED(more)                                                                            \
    HEAD "policies:\n" RULES "  learned: {kind: thompson, fallback: rules" more "}\nvariants:\n" \
         "  a: {policy: learned}\n"
#define GATE(condition) LEARNED("") "guardrails: {ad_free: \"" condition "\"}\n"

static const struct {
    const char *name, *plan;
    int requests;
    bool shut; /* nobody hears an ad */
    const char *has;
} rows[] = {
    {"the fewest things", ONE, 1, false,
     "\"request_id\":\"example-rules\",\"segment_id\":\"core\""},
    {"no more than is read", ONE, 1, false, "\"session\":{}}"},
    {"one for each policy", LEARNED("") "  b: {policy: rules}\n  c: {policy: learned}\n", 2, false,
     "\"variant\":\"a\""},
    {"Beta", LEARNED(""), 1, false, "\"posteriors\":{\"none\":{\"alpha\":20,\"beta\":80},"},
    {"the prior's family", LEARNED(", prior: {mean: 1, variance: 2}"), 1, false,
     "\"none\":{\"mean\":1,\"variance\":2}"},
    {"four parameters", LEARNED(", prior: {mu: 1, lambda: 2, alpha: 3, beta: 4}"), 1, false,
     "\"none\":{\"mu\":1,\"lambda\":2,\"alpha\":3,\"beta\":4}"},
    {"a rate", LEARNED(", prior: {shape: 3, rate: 2}"), 1, false,
     "\"none\":{\"shape\":3,\"rate\":2}"},
    {"an age", LEARNED(", max_posterior_age: 1h, on_stale: fallback"), 1, false,
     "\"variant\":\"a\""},
    {"what the plan declares",
     HEAD "policies:\n  rules: {kind: fixed, rules: [{when: \"genre == 'jazz' && live && "
          "score > 0.1 && skips > 2\", action: pod}, {action: none}]}\n"
          "variants:\n  a: {policy: rules}\n",
     1, false, "\"session\":{\"genre\":\"jazz\",\"live\":false,\"score\":0.5,\"skips\":1}"},
    {"no segments",
     "salt: s\nactions: [{name: none, ads: 0, cooldown: 1m}, {name: pod, ads: 1, cooldown: 2m}]\n"
     "policies: {rules: {kind: fixed, rules: [{action: none}]}}\n"
     "variants: {control: {policy: rules}}\ndefault_variant: control\n",
     1, false, "{\"request_id\":\"example-rules\",\"unit_id\":"},
    {"the last answer", ONE "guardrails: {cooldown: true}\n", 1, false,
     "\"last\":{\"seconds_ago\":"},
    {"a long grace", ONE "guardrails: {grace_period: 2h}\n", 1, false, "\"elapsed_s\":7200"},
    {"a long gap", ONE "guardrails: {min_gap: 3h}\n", 1, false,
     "\"seconds_since_last_break_end\":10800"},
    {"low caps", ONE "guardrails: {ads_per_hour: 1, ads_per_day: 1, ad_seconds_per_hour: 30}\n", 1,
     false, "\"ads_last_hour\":0"},
    {"a boundary", ONE "guardrails: {content_boundary: true, content_remaining: true}\n", 1, false,
     "\"at_content_boundary\":true"},
    {"a tier that only the plan knows", GATE("tier != 'gold'"), 1, false, "\"tier\":\"gold\""},
    {"what is best left unsaid", GATE("has(tier)"), 1, false, "\"session\":{}"},
    {"another segment", GATE("segment_id != 'heavy'"), 1, false, "\"segment_id\":\"heavy\""},
    {"an hour", GATE("hour != 4"), 1, false, "\"time\":\"20"},
    {"nobody gets through", GATE("true"), 1, true, "\"session\":{}}"},
    {"nobody but whom it does not know", GATE("tier != 'gold' || tier == 'gold'"), 1, true,
     "\"tier\":\"free\"}}"},
    {"quotes", GATE("tier != '\\u0022'"), 1, false, "\"tier\":\"\\\"\""},
};

static void each_is_decided(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan *plan = plan_of(span_of(rows[i].plan));
        struct span body;
        int variant, count = 0;
        bool found = false;
        plan_example_init(example, plan, 1796030000000000);
        while (plan_example_next(example, &variant, &body)) {
            count++;
            if (hears_ads(plan, variant, body) == rows[i].shut) fail_msg("%s", rows[i].name);
            found |= memmem(body.data, body.len, rows[i].has, strlen(rows[i].has)) != NULL;
            if (!found && count == rows[i].requests)
                fail_msg("%s: %.*s", rows[i].name, (int)body.len, body.data);
            assert_null(memchr(body.data, '\n', body.len));
        }
        if (count != rows[i].requests) fail_msg("%s: %d", rows[i].name, count);
        plan_free(plan);
    }
}

/* In the order of the variants, each by the first that asks it. */
static void of_the_demonstration_plan(void **state)
{
    (void)state;
    static const char *const names[] = {"bayes", "control", "greedy", "random"};
    struct plan *plan = plan_of(plan_demo_text());
    struct span body;
    int variant, count = 0;
    plan_example_init(example, plan, 1796030000000000);
    for (; plan_example_next(example, &variant, &body); count++) {
        assert_true(count < 4);
        assert_true(span_is(plan->variants[variant].name, names[count]));
        assert_true(hears_ads(plan, variant, body));
    }
    assert_int_equal(count, 4);
    assert_false(plan_example_next(example, &variant, &body));
    plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_is_decided, setup, teardown),
        cmocka_unit_test_setup_teardown(of_the_demonstration_plan, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
