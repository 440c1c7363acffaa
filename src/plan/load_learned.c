#include "plan/load.h"

/* ---- prior ---- */

/* {alpha: 1, beta: 1}: exactly one family's names, with values that it can have. */
static bool load_posterior(struct load *l, const struct yaml_tree *node, struct posterior *out)
{
    static const char what[] = "a posterior: {alpha, beta}, {mean, variance}, "
                               "{mu, lambda, alpha, beta} or {shape, rate}";
    struct span names[PARAMETER_COUNT];
    for (int i = 0; i < PARAMETER_COUNT; i++)
        names[i] = span_of(posterior_parameter_name((enum posterior_parameter)i));
    if (!load_is_mapping(l, node, what)) return false;

    double values[PARAMETER_COUNT] = {0};
    uint32_t parameters = 0;
    bool ok = !node->lossy;
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        int parameter = posterior_parameter_find(child->key->text);
        if (parameter < 0) {
            load_error(l, child->key->place, "unknown parameter `%s`%s",
                       load_show(child->key->text).text,
                       load_nearest(child->key->text, names, PARAMETER_COUNT).text);
            ok = false;
            continue;
        }
        parameters |= 1u << parameter;
        if (!load_number(l, child, &values[parameter]))
            ok = false;
        else if (values[parameter] <= 0 && parameter != PARAMETER_MEAN &&
                 parameter != PARAMETER_MU) {
            load_error(l, child->place, "`%s` must be more than 0", child->key->text.data);
            ok = false;
        }
    }
    if (!ok) return false;
    int family = posterior_family_of(parameters);
    if (family >= 0) return posterior_make((enum posterior_family)family, values, out);
    load_error(l, node->place, "expected %s", what);
    return false;
}

/* An action that the policy uses, by its key. */
static int used_action(struct load *l, const struct policy *policy, const struct yaml_tree *node)
{
    int action = load_action_name(l, node->key);
    if (action < 0 || action_in(policy->actions, action)) return action;
    load_error(l, node->key->place, "`%s` is not among the policy's `actions`",
               load_show(node->key->text).text);
    return -1;
}

static void load_prior_of_each(struct load *l, const struct yaml_tree *node, struct policy *policy)
{
    const struct action_table *table = &l->plan->actions;
    action_set named = 0;
    bool all_known = !node->lossy;
    int family = -1;
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        int action = used_action(l, policy, child);
        struct posterior prior;
        bool ok = load_posterior(l, child, &prior);
        all_known = all_known && action >= 0;
        if (action < 0) continue;
        named |= action_bit(action);
        if (!ok) continue;
        policy->prior[action] = prior;
        if (family >= 0 && prior.family != family)
            load_error(l, child->place, "expected a %s prior like the first one's, found a %s one",
                       posterior_family_name((enum posterior_family)family),
                       posterior_family_name((enum posterior_family)prior.family));
        else
            family = prior.family;
    }
    /* What lacks a prior may be what stands there under a wrong name. */
    if (!all_known || l->unread & UNREAD_ACTIONS_USED) return;
    for (int i = 0; i < table->count; i++)
        if (action_in(policy->actions, i) && !action_in(named, i))
            load_error(l, node->place, "`prior` lacks the action `%s`: every action used needs one",
                       load_show(table->actions[i].name).text);
}

/* One prior for all, or a mapping from action to prior: told apart by whether a value is a mapping,
 * unless a key is a parameter's name and no action's. */
static bool is_prior_of_each(const struct load *l, const struct yaml_tree *node)
{
    bool each = false;
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        if (posterior_parameter_find(child->key->text) >= 0 &&
            action_find(&l->plan->actions, child->key->text) < 0)
            return false;
        each = each || child->kind == TREE_MAPPING;
    }
    return each;
}

void load_prior(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    (void)key;
    struct policy *policy = into;
    policy->has_prior = true;
    if (!load_is_mapping(l, node, "a prior, or a mapping from action to prior")) return;
    if (is_prior_of_each(l, node)) {
        load_prior_of_each(l, node, policy);
        return;
    }
    struct posterior prior;
    if (!load_posterior(l, node, &prior)) return;
    for (int i = 0; i < l->plan->actions.count; i++)
        if (action_in(policy->actions, i)) policy->prior[i] = prior;
}

/* ---- value ---- */

struct value {
    double offset, weight;
};

/* Large enough for money in any unit, small enough that no sum of such values overflows. */
#define VALUE_MAX ((int64_t)1000000000000)

static const struct key value_keys[] = {
    {"offset", load_key_double, offsetof(struct value, offset), -VALUE_MAX, VALUE_MAX},
    {"weight", load_key_double, offsetof(struct value, weight), -VALUE_MAX, VALUE_MAX},
};
const struct key_table load_value_keys = KEY_TABLE("policies.NAME.value", value_keys);

void load_values(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    (void)key;
    struct policy *policy = into;
    if (!load_is_mapping(l, node, "a mapping from action to {offset, weight}")) return;
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        int action = used_action(l, policy, child);
        struct value value = {0, 1};
        if (!load_is_mapping(l, child, "{offset, weight}")) continue;
        load_keys(l, child, &load_value_keys, &value);
        if (action < 0) continue;
        policy->offset[action] = value.offset;
        policy->weight[action] = value.weight;
    }
    int first = -1;
    for (int i = 0; i < l->plan->actions.count; i++) {
        if (!action_in(policy->actions, i)) continue;
        if (first < 0) first = i;
        if (policy->offset[i] != policy->offset[first] ||
            policy->weight[i] != policy->weight[first])
            policy->values_equal = false;
    }
}
