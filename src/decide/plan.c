#include "decide/plan.h"

#include <stdlib.h>

/* Cheap, and good enough for some dozens of short names: the table is four times their number. */
static uint8_t attribute_hash(struct span name)
{
    uint32_t h = (uint32_t)name.len * 0x9e3779b1u;
    h ^= (uint8_t)name.data[0] * 0x85ebca6bu;
    h ^= (uint8_t)name.data[name.len - 1] * 0xc2b2ae35u;
    h ^= (uint8_t)name.data[name.len / 2] * 0x27d4eb2fu;
    return (uint8_t)(h >> 24);
}

int plan_attribute_find(const struct plan *plan, struct span name)
{
    if (!name.len) return -1;
    for (uint8_t at = attribute_hash(name); plan->attribute_index[at]; at++) {
        int slot = plan->attribute_index[at] - 1;
        if (span_equal(plan->schema.attributes[slot].name, name)) return slot;
    }
    return -1;
}

int plan_segment_find(const struct plan *plan, struct span name)
{
    for (int i = 0; i < plan->segment_count; i++)
        if (span_equal(plan->segments[i], name)) return i;
    return -1;
}

int plan_variant_find(const struct plan *plan, struct span name)
{
    for (int i = 0; i < plan->variant_count; i++)
        if (span_equal(plan->variants[i].name, name)) return i;
    return -1;
}

static void index_attributes(struct plan *plan)
{
    memset(plan->attribute_index, 0, sizeof plan->attribute_index);
    for (uint32_t slot = 0; slot < plan->schema.count; slot++) {
        const struct attribute *a = &plan->schema.attributes[slot];
        if (!attribute_in_session(a)) continue; /* a session cannot set those */
        uint8_t at = attribute_hash(a->name);
        while (plan->attribute_index[at]) at++;
        plan->attribute_index[at] = (uint8_t)(slot + 1);
    }
}

static void read_rule(const struct rule *rule, uint64_t *read, uint64_t *needed)
{
    if (!rule) return;
    *read |= rule_reads(rule);
    *needed |= rule_needs(rule);
}

static void read_rules(struct policy *policy, const struct policy *of)
{
    for (int i = 0; i < of->rule_count; i++)
        read_rule(of->rules[i].when, &policy->attributes_read, &policy->attributes_needed);
}

#define SLOT_BIT(name) ((uint64_t)1 << ATTRIBUTE_SLOT_##name)

static void read_cap(struct plan *plan, const struct plan_cap *cap, uint64_t slot)
{
    if (!cap->count) return;
    plan->guardrails_read |= slot;
    plan->guardrails_needed |= slot;
    for (int i = 0; i < cap->count; i++)
        read_rule(cap->items[i].when, &plan->guardrails_read, &plan->guardrails_needed);
}

/* What each guardrail reads: the table of DESIGN, as bits. */
static void read_guardrails(struct plan *plan)
{
    const struct plan_guardrails *g = &plan->guardrails;
    read_rule(g->ad_free, &plan->gate_read, &plan->gate_needed);
    plan->guardrails_read = plan->gate_read;
    plan->guardrails_needed = plan->gate_needed;

    uint64_t needed = 0;
    if (g->grace_period_ms >= 0) needed |= SLOT_BIT(ELAPSED_S);
    if (g->min_gap_ms >= 0) needed |= SLOT_BIT(SECONDS_SINCE_LAST_BREAK_END);
    if (g->cooldown) needed |= SLOT_BIT(LAST_SECONDS_AGO) | SLOT_BIT(LAST_COOLDOWN_S);
    if (g->content_remaining) needed |= SLOT_BIT(CONTENT_REMAINING_S);
    if (g->content_boundary) needed |= SLOT_BIT(AT_CONTENT_BOUNDARY);
    plan->guardrails_needed |= needed;
    plan->guardrails_read |= needed;
    /* Asked only where the gap is unknown: it may be absent, but not be nonsense. */
    if (g->min_gap_ms >= 0) plan->guardrails_read |= SLOT_BIT(BREAKS_IN_SESSION);

    read_cap(plan, &g->ads_per_hour, SLOT_BIT(ADS_LAST_HOUR));
    read_cap(plan, &g->ad_seconds_per_hour, SLOT_BIT(AD_SECONDS_LAST_HOUR));
    read_cap(plan, &g->ads_per_day, SLOT_BIT(ADS_TODAY));
}

void plan_finish(struct plan *plan)
{
    action_table_finish(&plan->actions);
    index_attributes(plan);

    plan->guardrails_read = plan->guardrails_needed = plan->gate_read = plan->gate_needed = 0;
    read_guardrails(plan);
    uint64_t read = plan->guardrails_read;
    for (int i = 0; i < plan->policy_count; i++) {
        struct policy *policy = &plan->policies[i];
        policy->attributes_read = policy->attributes_needed = 0;
        read_rules(policy, policy);
        if (policy->fallback) read_rules(policy, policy->fallback);
        read |= policy->attributes_read;
    }
    plan->reads_time = read & (SLOT_BIT(HOUR) | SLOT_BIT(WEEKDAY));

    for (int i = 0; i < plan->variant_count; i++)
        plan->variants[i].draw_key = policy_draw_key(plan->salt, plan->variants[i].name);
}

void plan_free(struct plan *plan)
{
    if (!plan) return;
    arena_done(&plan->arena);
    free(plan);
}
