#include "plan/load.h"

static key_read load_rule_action;

/* A rule while it is read: what its action may be depends on its policy. */
struct rule_reading {
    struct policy_rule rule;
    const struct policy *policy;
};

static const struct key rule_keys[] = {
    {"when", load_key_condition, offsetof(struct rule_reading, rule.when)},
    {"action", load_rule_action, .required = true},
    {"cooldown", load_key_duration, offsetof(struct rule_reading, rule.cooldown_ms), 0,
     (int64_t)7 * 24 * 3600 * 1000},
};
const struct key_table load_rule_keys = KEY_TABLE("policies.NAME.rules", rule_keys);

static const struct key rule_action_keys[] = {{"alternate", NULL}};
const struct key_table load_rule_action_keys =
    KEY_TABLE("policies.NAME.rules.action", rule_action_keys);

static void load_rule_action(struct load *l, const struct yaml_tree *node, const struct key *key,
                             void *into)
{
    (void)key;
    struct rule_reading *reading = into;
    if (node->kind == TREE_MAPPING && node->count) {
        load_keys(l, node, &load_rule_action_keys, NULL);
        return;
    }
    int action = load_action_name(l, node);
    if (action < 0) return;
    reading->rule.action = action;
    if (!action_in(reading->policy->actions, action))
        load_error(l, node->place, "`%s` is not among the policy's `actions`",
                   load_show(node->text).text);
}

static void load_rule(struct load *l, const struct yaml_tree *node, const struct policy *policy,
                      struct policy_rule *rule)
{
    struct rule_reading reading = {{.cooldown_ms = -1}, policy};
    if (!load_is_mapping(l, node, "a rule, {when, action, cooldown}")) return;
    load_keys(l, node, &load_rule_keys, &reading);
    *rule = reading.rule;
}

/* An unknown key may be a condition. */
static bool knows_keys(const struct yaml_tree *node)
{
    uint32_t known = 0;
    for (size_t i = 0; i < load_rule_keys.count; i++)
        known += yaml_tree_find(node, span_of(rule_keys[i].name)) != NULL;
    return known == node->count && !node->lossy;
}

/* Always holds: has no condition, or one that reads nothing and is true. */
static bool rule_is_certain(const struct yaml_tree *node, const struct policy_rule *rule)
{
    static const struct attributes nothing;
    if (node->kind != TREE_MAPPING) return false;
    if (!yaml_tree_find(node, SPAN("when"))) return knows_keys(node);
    return rule->when && !rule_reads(rule->when) && rule_eval(rule->when, &nothing) == RULE_TRUE;
}

void load_rules(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    (void)key;
    struct policy *policy = into;
    if (!load_is_list(l, node, "a list of rules")) return;
    if (!node->count) {
        load_error(l, node->place, "expected at least one rule");
        return;
    }
    l->rules += (int)node->count;
    if (l->rules > PLAN_RULES_MAX) {
        if (l->rules - (int)node->count <= PLAN_RULES_MAX) /* once */
            load_error(l, node->place, "expected at most %d rules in all policies, found %d so far",
                       PLAN_RULES_MAX, l->rules);
        return;
    }
    struct policy_rule *rules = arena_alloc(&l->plan->arena, node->count * sizeof *rules);
    const struct yaml_tree *always = NULL;
    int i = 0;
    for (const struct yaml_tree *child = node->first; child; child = child->next, i++) {
        load_rule(l, child, policy, &rules[i]);
        if (always)
            load_error(l, child->place, "can never match: the rule in line %u always does",
                       always->place.line);
        else if (rule_is_certain(child, &rules[i]))
            always = child;
    }
    policy->rules = rules;
    policy->rule_count = i;
}
