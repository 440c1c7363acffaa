#include "plan/key.h"
#include "plan/units.h"

static const struct key rule_action_rows[] = {
    {"alternate", NULL, .help = "actions taken in turn"},
};
const struct key_table rule_action_keys = KEY_TABLE("policies.NAME.rules.action", rule_action_rows);

static void read_action(struct load *l, const struct yaml_tree *node, const struct key *key,
                        void *into)
{
    if (node->kind == TREE_MAPPING && node->count) {
        keys_read(l, node, &rule_action_keys, NULL);
        return;
    }
    int action = load_action_name(l, node);
    if (action < 0) return;
    ((struct policy_rule *)into)->action = action;
    if (!action_in(l->policy->actions, action))
        load_error(l, node->place, "`%s` is not among the policy's `actions`",
                   load_show(node->text).text);
}

static void print_action(struct print *p, const struct key *key, const void *from)
{
    int action = ((const struct policy_rule *)from)->action;
    print_text(p->b, p->plan->actions.actions[action].name);
}

static const struct key_kind kind_rule_action = {read_action, print_action, key_schema_name,
                                                 "an action"};

static const struct key rule_rows[] = {
    {"when", KEY_CONDITION(policy_rule, when), .help = "left out, the rule always holds"},
    {"action", .kind = &kind_rule_action, .required = true, .help = ""},
    {"cooldown", KEY_DURATION(policy_rule, cooldown_ms), .max = 7 * UNIT_DAY_MS,
     .help = "instead of the action's own; only where the rule's action is served. Where a "
             "guardrail takes it away, the cooldown of the action that is served in its place "
             "counts"},
};
const struct key_table rule_keys = KEY_TABLE("policies.NAME.rules", rule_rows);

static void load_rule(struct load *l, const struct yaml_tree *node, struct policy_rule *rule)
{
    *rule = (struct policy_rule){.cooldown_ms = -1};
    if (load_is_mapping(l, node, "a rule, {when, action, cooldown}"))
        keys_read(l, node, &rule_keys, rule);
}

/* An unknown key may be a condition. */
static bool knows_keys(const struct yaml_tree *node)
{
    uint32_t known = 0;
    for (size_t i = 0; i < rule_keys.count; i++)
        known += yaml_tree_find(node, span_of(rule_keys.keys[i].name)) != NULL;
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

static void read_rules(struct load *l, const struct yaml_tree *node, const struct key *key,
                       void *into)
{
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
        load_rule(l, child, &rules[i]);
        if (always)
            load_error(l, child->place, "can never match: the rule in line %u always does",
                       always->place.line);
        else if (rule_is_certain(child, &rules[i]))
            always = child;
    }
    policy->rules = rules;
    policy->rule_count = i;
}

static void print_rules(struct print *p, const struct key *key, const void *from)
{
    const struct policy *policy = from;
    buf_char(p->b, '\n');
    for (int i = 0; i < policy->rule_count; i++)
        keys_print_item(p, &rule_keys, &policy->rules[i], 6);
}

const struct key_kind kind_rules = {read_rules, print_rules,      key_schema_list,
                                    "list,",    key_bound_number, .block = true};
