#include "policy/policy.h"

static const struct policy_ops kinds[POLICY_KIND_COUNT] = {
#define ROW(code, word, traits, function, help) [POLICY_##code] = {word, help, traits, function},
    POLICY_KINDS(ROW)
#undef ROW
};

const struct policy_ops *policy_ops(enum policy_kind kind)
{
    return &kinds[kind];
}

void policy_init(struct policy *policy, const struct action_table *actions)
{
    policy->actions = (action_set)((1u << actions->count) - 1);
    for (int i = 0; i < ACTIONS_MAX; i++) policy->weight[i] = 1;
    policy->values_equal = true;
}

int policy_kind_find(struct span name)
{
    for (int i = 0; i < POLICY_KIND_COUNT; i++)
        if (span_is(name, kinds[i].name)) return i;
    return -1;
}

void policy_choose(const struct policy *policy, const struct choice_input *in, struct choice *out)
{
    const struct policy_ops *ops = &kinds[policy->kind];
    *out = (struct choice){.rule = -1, .cooldown_ms = -1};
    if (!(ops->traits & POLICY_DRAWS) && policy->floor == 0) {
        ops->choose(policy, in, (struct hash128){0, 0}, out);
        return;
    }
    struct hash128 seed = hash_sip128_framed(in->draw_key, in->exploration_key);
    ops->choose(policy, in, seed, out);
    if (policy->floor > 0) floor_choose(policy, in, seed, out);
}

struct hash128 policy_draw_key(struct span salt, struct span variant)
{
    return hash_parts((struct span[]){SPAN("draw"), salt, variant}, 3);
}
