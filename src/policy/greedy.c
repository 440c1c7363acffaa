/* greedy: the eligible action with the best expected value. */
#include "policy/learned.h"

void greedy_choose(const struct policy *policy, const struct choice_input *in, struct hash128 seed,
                   struct choice *out)
{
    (void)seed;
    struct learned_best best = {-1, 0};
    for (int i = 0; i < in->actions->count; i++) {
        if (!action_in(in->eligible, i)) continue;
        double mean = posterior_mean(in->posteriors[i]);
        double value = policy->values_equal ? learned_sign(policy, i) * mean
                                            : policy->offset[i] + policy->weight[i] * mean;
        learned_offer(&best, i, value);
    }
    out->action = out->wanted = best.action;
}
