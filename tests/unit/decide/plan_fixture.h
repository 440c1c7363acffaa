/* plan_fixture: the demonstration plan, built by hand.
 *
 * The decide room does not see the room that reads plan files, so its tests make the plan that they
 * need: fixture_plan() gives DESIGN's demonstration plan, a test changes what it wants to see
 * changed, and fixture_finish() compiles what follows from it.
 *
 * Requests are written as JSON with ' for ", so that a table of them can be read. A body is copied
 * to the heap at its exact size: a read beyond its end is then found by AddressSanitizer. */
#ifndef INTERLUDE_TESTS_PLAN_FIXTURE_H
#define INTERLUDE_TESTS_PLAN_FIXTURE_H

#include "decide/guardrail.h"
#include "decide/reply.h"

#include <stdio.h>
#include <stdlib.h>

static struct arena rule_scratch; /* of rule_compile */

enum { NONE, POD_1, POD_2, POD_3 };
enum { N = 1, P1 = 2, P2 = 4, P3 = 8, ALL = 15 }; /* as sets */

enum { PROMOTED, BAYESIAN, GREEDY, RANDOM };     /* policies */
enum { V_CONTROL, V_BAYES, V_GREEDY, V_RANDOM }; /* variants */

/* 2026-11-30T08:00:00.123Z, a Monday. */
#define FIXTURE_NOW_US INT64_C(1796025600123000)

static inline const struct rule *fixture_rule(struct plan *plan, const char *text)
{
    const struct rule *rule = NULL;
    struct err e;
    enum err_code code =
        rule_compile(&plan->arena, &rule_scratch, &plan->schema, span_of(text), &rule, &e);
    if (code != ERR_OK) {
        fprintf(stderr, "%s: %s\n", text, e.text);
        abort();
    }
    return rule;
}

static inline struct policy *fixture_policy(struct plan *plan, const char *name,
                                            enum policy_kind kind)
{
    struct policy *policy = &plan->policies[plan->policy_count++];
    policy->name = span_of(name);
    policy->kind = kind;
    policy_init(policy, &plan->actions);
    if (policy_reads_posteriors(policy)) policy->fallback = &plan->policies[PROMOTED];
    return policy;
}

static inline void fixture_variant(struct plan *plan, const char *name, int policy)
{
    struct plan_variant *variant = &plan->variants[plan->variant_count++];
    variant->name = span_of(name);
    variant->policy = &plan->policies[policy];
}

/* The plan's guardrail of that kind, named by this at the latest. */
static inline struct plan_guardrail *fixture_guardrail(struct plan *plan, enum guardrail_code code)
{
    for (int i = 0; i < plan->guardrail_count; i++)
        if (plan->guardrails[i].row == &guardrail_table[code]) return &plan->guardrails[i];
    return plan_guardrail_add(plan, code);
}

static inline void fixture_period(struct plan *plan, enum guardrail_code code, int64_t ms)
{
    fixture_guardrail(plan, code)->ms = ms;
}

static inline void fixture_ad_free(struct plan *plan, const char *condition)
{
    fixture_guardrail(plan, GUARDRAIL_AD_FREE)->when = fixture_rule(plan, condition);
}

/* One more item. */
static inline void fixture_cap(struct plan *plan, enum guardrail_code code, const struct rule *when,
                               int64_t max)
{
    struct plan_cap *cap = &fixture_guardrail(plan, code)->cap;
    cap->items[cap->count].when = when;
    cap->items[cap->count].max = max;
    cap->count++;
}

/* Of those that the plan names, the ones whose REASON_BIT is in the set. */
static inline void fixture_permissive(struct plan *plan, uint64_t reasons)
{
    for (int i = 0; i < plan->guardrail_count; i++)
        plan->guardrails[i].permissive = reasons & REASON_BIT(plan->guardrails[i].row->reason);
}

static inline void fixture_actions(struct plan *plan)
{
    static const struct action actions[] = {
        {SPAN("none"), 0, 60000, 0},
        {SPAN("pod_1"), 1, 360000, 30000},
        {SPAN("pod_2"), 2, 720000, 60000},
        {SPAN("pod_3"), 3, 1200000, 90000},
    };
    plan->actions.count = 4;
    memcpy(plan->actions.actions, actions, sizeof actions);
}

static inline void fixture_policies(struct plan *plan)
{
    struct policy_rule *rules = (struct policy_rule *)arena_alloc(&plan->arena, 3 * sizeof *rules);
    const char *busy = "tracks_played >= 6 && elapsed_s >= 1200";
    rules[0] = (struct policy_rule){fixture_rule(plan, busy), POD_2, -1};
    rules[1] = (struct policy_rule){fixture_rule(plan, "tracks_played >= 3"), POD_1, 300000};
    rules[2] = (struct policy_rule){NULL, NONE, -1};

    struct policy *promoted = fixture_policy(plan, "promoted", POLICY_FIXED);
    promoted->rules = rules;
    promoted->rule_count = 3;
    fixture_policy(plan, "bayesian", POLICY_THOMPSON)->floor = 0.01;
    fixture_policy(plan, "greedy", POLICY_GREEDY);
    fixture_policy(plan, "random", POLICY_UNIFORM);

    fixture_variant(plan, "control", PROMOTED);
    fixture_variant(plan, "bayes", BAYESIAN);
    fixture_variant(plan, "greedy", GREEDY);
    fixture_variant(plan, "random", RANDOM);
    plan->default_variant = V_CONTROL;
}

static inline void fixture_no_guardrails(struct plan *plan)
{
    plan->guardrail_count = 0;
}

/* The demonstration plan, to be varied and then finished. */
static inline struct plan *fixture_plan(void)
{
    struct plan *plan = (struct plan *)calloc(1, sizeof *plan);
    if (!plan) abort();
    arena_init(&plan->arena, NULL);
    plan->version = SPAN("demo-1");
    memcpy(plan->fingerprint, "9f31c2a07be4", 13);
    plan->salt = SPAN("interlude-demo");
    plan->segment_count = 4;
    plan->segments[0] = SPAN("new");
    plan->segments[1] = SPAN("casual");
    plan->segments[2] = SPAN("core");
    plan->segments[3] = SPAN("heavy");
    plan_init(plan);
    plan->schema.attributes[plan->schema.count++] =
        (struct attribute){SPAN("genre"), ATTRIBUTE_STRING, ATTRIBUTE_DECLARED};
    fixture_actions(plan);
    fixture_policies(plan);

    struct plan_experiment *adload = &plan->experiments[plan->experiment_count++];
    adload->name = SPAN("adload");
    adload->salt = SPAN("adload-1");
    adload->slice_ppm = 200000;
    adload->split_count = 2;
    adload->split[0].variant = V_BAYES;
    adload->split[0].up_to = 50;
    adload->split[1].variant = V_CONTROL;
    adload->split[1].up_to = 100;

    fixture_no_guardrails(plan);
    fixture_ad_free(plan, "has(tier) && tier == 'premium'");
    fixture_period(plan, GUARDRAIL_GRACE_PERIOD, 180000);
    fixture_period(plan, GUARDRAIL_MIN_GAP, 300000);
    fixture_cap(plan, GUARDRAIL_ADS_PER_HOUR, NULL, 6);
    fixture_cap(plan, GUARDRAIL_AD_SECONDS_PER_HOUR, NULL, 240);
    return plan;
}

static inline struct plan *fixture_finish(struct plan *plan)
{
    plan_finish(plan);
    return plan;
}

/* The demonstration plan without guardrails or floor: what is eligible is what is usable. */
static inline struct plan *fixture_bare(void)
{
    struct plan *plan = fixture_plan();
    fixture_no_guardrails(plan);
    plan->policies[BAYESIAN].floor = 0;
    return plan;
}

/* ---- one request and what came of it ---- */

struct run {
    char *body, *scratch;
    struct request request;
    struct decision decision;
    int64_t now_us;
    struct err e;
};

static inline void run_done(struct run *run)
{
    free(run->body);
    free(run->scratch);
    run->body = run->scratch = NULL;
}

/* Reads a body as it stands. */
static inline enum err_code run_read_span(struct run *run, const struct plan *plan,
                                          struct span text)
{
    *run = (struct run){0};
    run->body = (char *)malloc(text.len ? text.len : 1);
    run->scratch = (char *)malloc(text.len ? text.len : 1);
    if (!run->body || !run->scratch) abort();
    if (text.len) memcpy(run->body, text.data, text.len);
    enum err_code code = request_read(plan, (struct span){run->body, text.len}, run->scratch,
                                      &run->request, &run->e);
    run->now_us = run->request.time_us == REQUEST_TIME_NONE ? FIXTURE_NOW_US : run->request.time_us;
    return code;
}

/* Reads a body in which ' stands for ". */
static inline enum err_code run_read(struct run *run, const struct plan *plan, const char *text)
{
    char *json = strdup(text);
    if (!json) abort();
    for (char *at = json; *at; at++)
        if (*at == '\'') *at = '"';
    enum err_code code = run_read_span(run, plan, span_of(json));
    free(json);
    return code;
}

/* Reads and decides; a request that cannot be read is a fault of the test. */
static inline const struct decision *run_decide(struct run *run, const struct plan *plan,
                                                const char *text)
{
    if (run_read(run, plan, text) != ERR_OK) {
        fprintf(stderr, "%s: %s %s\n", text, err_name(run->e.code), run->e.text);
        abort();
    }
    decide(plan, &run->request, run->now_us, NULL, &run->decision);
    return &run->decision;
}

/* Decides a request that was read once again under another id. */
static inline int run_again(struct run *run, const struct plan *plan, uint32_t id)
{
    char text[16];
    int len = snprintf(text, sizeof text, "r-%u", id);
    run->request.request_id = (struct span){text, (size_t)len};
    decide(plan, &run->request, run->now_us, NULL, &run->decision);
    run->request.request_id = (struct span){NULL, 0};
    return run->decision.action;
}

/* "elapsed_s tier": the names of the slots of a set, in slot order. */
static inline const char *slots_text(const struct plan *plan, uint64_t slots, char text[512])
{
    struct buf b = buf_of(text, 511);
    for (uint32_t i = 0; i < plan->schema.count; i++) {
        if (!(slots >> i & 1)) continue;
        if (b.len) buf_char(&b, ' ');
        buf_span(&b, plan->schema.attributes[i].name);
    }
    text[b.len] = 0;
    return text;
}

/* "policy min_gap": the reasons of a set, in the order of an answer. */
static inline const char *reasons_text(uint32_t reasons, char text[512])
{
    struct buf b = buf_of(text, 511);
    for (int r = 0; r < REASON_COUNT; r++) {
        if (!(reasons >> r & 1)) continue;
        if (b.len) buf_char(&b, ' ');
        buf_span(&b, reason_word((enum reason)r));
    }
    text[b.len] = 0;
    return text;
}

#endif
