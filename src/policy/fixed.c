/* fixed: ordered rules. The first whose condition holds gives the action; a condition that ends in
 * an error does not hold. Where the guardrails have masked the action, the eligible one with the
 * most ads not above it is served, and the choice tells both. */
#include "policy/policy.h"

void fixed_choose(const struct policy *policy, const struct choice_input *in, struct hash128 seed,
                  struct choice *out)
{
    (void)seed;
    const struct policy_rule *found = NULL;
    for (int i = 0; i < policy->rule_count && !found; i++) {
        const struct policy_rule *rule = &policy->rules[i];
        enum rule_result result = rule->when ? rule_eval(rule->when, in->attributes) : RULE_TRUE;
        if (result == RULE_ERROR) out->rule_errors++;
        if (result != RULE_TRUE) continue;
        found = rule;
        out->rule = i;
    }
    out->wanted = found ? found->action : in->actions->no_ads;
    if (action_in(in->eligible, out->wanted)) {
        out->action = out->wanted;
        if (found) out->cooldown_ms = found->cooldown_ms;
        return;
    }
    /* The rule's cooldown belongs to the action that is not served. */
    out->action = action_at_most(in->actions, in->eligible, in->actions->actions[out->wanted].ads);
}
