#include "decide/guardrail.h"

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

static void read_guardrail(const struct plan_guardrail *g, uint64_t *read, uint64_t *needed)
{
    *read |= g->row->needed | g->row->read;
    *needed |= g->row->needed;
    read_rule(g->when, read, needed);
    for (int i = 0; i < g->cap.count; i++) read_rule(g->cap.items[i].when, read, needed);
}

static void finish_guardrail(struct plan *plan, struct plan_guardrail *g)
{
    g->s = seconds_up(g->ms);
    for (int i = 0; i < plan->actions.count; i++)
        g->cost[i] = (int32_t)guardrail_cost(g->row->unit, &plan->actions.actions[i]);
}

static void read_guardrails(struct plan *plan)
{
    plan->guardrails_read = plan->guardrails_needed = plan->gate_read = plan->gate_needed = 0;
    plan->gate_count = 0;
    plan->guardrails_left = 0;
    for (int i = 0; i < plan->guardrail_count; i++) {
        struct plan_guardrail *g = &plan->guardrails[i];
        finish_guardrail(plan, g);
        if (g->row->left_s) plan->guardrails_left |= 1u << i;
        read_guardrail(g, &plan->guardrails_read, &plan->guardrails_needed);
        if (!g->row->gate) continue;
        read_guardrail(g, &plan->gate_read, &plan->gate_needed);
        plan->gate_count++;
    }
}

const struct plan_guardrail *plan_guardrail_find(const struct plan *plan, enum guardrail_code code)
{
    for (int i = 0; i < plan->guardrail_count; i++)
        if (plan->guardrails[i].row == &guardrail_table[code]) return &plan->guardrails[i];
    return NULL;
}

struct plan_guardrail *plan_guardrail_add(struct plan *plan, enum guardrail_code code)
{
    int at = plan->guardrail_count++;
    for (; at > 0 && plan->guardrails[at - 1].row > &guardrail_table[code]; at--)
        plan->guardrails[at] = plan->guardrails[at - 1];
    plan->guardrails[at] = (struct plan_guardrail){.row = &guardrail_table[code]};
    return &plan->guardrails[at];
}

void plan_init(struct plan *plan)
{
    attribute_schema_init(&plan->schema);
}

void plan_finish(struct plan *plan)
{
    action_table_finish(&plan->actions);
    index_attributes(plan);

    read_guardrails(plan);
    uint64_t read = plan->guardrails_read;
    for (int i = 0; i < plan->policy_count; i++) {
        struct policy *policy = &plan->policies[i];
        policy->attributes_read = policy->attributes_needed = 0;
        read_rules(policy, policy);
        if (policy->fallback) read_rules(policy, policy->fallback);
        read |= policy->attributes_read;
    }
    plan->reads_time = read & (ATTRIBUTE_BIT(HOUR) | ATTRIBUTE_BIT(WEEKDAY));

    for (int i = 0; i < plan->variant_count; i++)
        plan->variants[i].draw_key = policy_draw_key(plan->salt, plan->variants[i].name);
}

void plan_free(struct plan *plan)
{
    if (!plan) return;
    arena_done(&plan->arena);
    free(plan);
}
