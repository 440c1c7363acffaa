/* What learned policies have of each action: a prior, and what its draw is worth. */
#include "plan/key.h"

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
        else if (values[parameter] <= 0 &&
                 posterior_parameter_is_positive((enum posterior_parameter)parameter)) {
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

static void read_prior(struct load *l, const struct yaml_tree *node, const struct key *key,
                       void *into)
{
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

/* The policy's actions, each with what `print_of` prints of it. */
static void print_by_action(struct print *p, const struct policy *policy,
                            void (*print_of)(struct print *p, const struct policy *policy,
                                             int action))
{
    bool first = true;
    buf_char(p->b, '{');
    for (int i = 0; i < p->plan->actions.count; i++) {
        if (!action_in(policy->actions, i)) continue;
        print_comma(p->b, &first);
        print_text(p->b, p->plan->actions.actions[i].name);
        buf_lit(p->b, ": ");
        print_of(p, policy, i);
    }
    buf_char(p->b, '}');
}

static void print_posterior(struct print *p, const struct policy *policy, int action)
{
    const struct posterior *prior = &policy->prior[action];
    int count;
    const uint8_t *names = posterior_parameters((enum posterior_family)prior->family, &count);
    buf_char(p->b, '{');
    for (int i = 0; i < count; i++) {
        if (i) buf_lit(p->b, ", ");
        print_word(p->b, posterior_parameter_name((enum posterior_parameter)names[i]));
        buf_lit(p->b, ": ");
        print_number(p->b, prior->p[i]);
    }
    buf_char(p->b, '}');
}

static void print_prior(struct print *p, const struct key *key, const void *from)
{
    print_by_action(p, from, print_posterior);
}

static bool prior_is_set(const struct key *key, const void *from)
{
    return ((const struct policy *)from)->has_prior;
}

static void schema_posterior(struct buf *b)
{
    buf_lit(b, "{\"oneOf\":[");
    for (int f = 0; f < FAMILY_COUNT; f++) {
        int count;
        const uint8_t *names = posterior_parameters((enum posterior_family)f, &count);
        buf_format(b,
                   "%s{\"type\":\"object\",\"additionalProperties\":false,\"minProperties\":%d,"
                   "\"properties\":{",
                   f ? "," : "", count);
        for (int i = 0; i < count; i++)
            buf_format(b, "%s\"%s\":{\"type\":\"number\"}", i ? "," : "",
                       posterior_parameter_name((enum posterior_parameter)names[i]));
        buf_lit(b, "}}");
    }
    buf_lit(b, "]}");
}

static void schema_prior(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"anyOf\":[");
    schema_posterior(b);
    buf_lit(b, ",{\"type\":\"object\",\"minProperties\":1,\"additionalProperties\":");
    schema_posterior(b);
    buf_lit(b, "}]}");
}

const struct key_kind kind_prior = {read_prior, print_prior, schema_prior, "mapping",
                                    .is_set = prior_is_set};

/* ---- value ---- */

struct value {
    double offset, weight;
};

/* Large enough for money in any unit, small enough that no sum of such values overflows. */
#define VALUE_MAX ((int64_t)1000000000000)

static const struct key value_rows[] = {
    {"offset", KEY_DOUBLE(value, offset), .min = -VALUE_MAX, .max = VALUE_MAX, .initial = "0",
     .help = ""},
    {"weight", KEY_DOUBLE(value, weight), .min = -VALUE_MAX, .max = VALUE_MAX, .initial = "1",
     .help = ""},
};
const struct key_table value_keys = KEY_TABLE("policies.NAME.value", value_rows);

static void read_values(struct load *l, const struct yaml_tree *node, const struct key *key,
                        void *into)
{
    struct policy *policy = into;
    if (!load_is_mapping(l, node, "a mapping from action to {offset, weight}")) return;
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        int action = used_action(l, policy, child);
        struct value value;
        keys_init(l, &value_keys, &value);
        if (!load_is_mapping(l, child, "{offset, weight}")) continue;
        keys_read(l, child, &value_keys, &value);
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

static void print_value(struct print *p, const struct policy *policy, int action)
{
    const struct value value = {policy->offset[action], policy->weight[action]};
    keys_print_flow(p, &value_keys, &value);
}

static void print_values(struct print *p, const struct key *key, const void *from)
{
    print_by_action(p, from, print_value);
}

const struct key_kind kind_values = {read_values, print_values, key_schema_by_name, "mapping"};
