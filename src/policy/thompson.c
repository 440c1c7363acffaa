/* thompson: one draw from each eligible action's posterior; the best value wins.
 * Thompson, "On the likelihood that one unknown probability exceeds another in view of the evidence
 * of two samples", Biometrika 25, 1933. */
#include "base/rng.h"
#include "policy/learned.h"

void thompson_choose(const struct policy *policy, const struct choice_input *in,
                     struct hash128 seed, struct choice *out)
{
    struct learned_best best = {-1, 0};
    for (int i = 0; i < in->actions->count; i++) {
        if (!action_in(in->eligible, i)) continue;
        struct rng r;
        rng_init_stream(&r, seed, (struct rng_stream){DRAW_ACTION, in->actions->actions[i].digest});
        const struct posterior *p = in->posteriors[i];
        double value = policy->values_equal
                           ? learned_sign(policy, i) * sample_ordered(p, &r)
                           : policy->offset[i] + policy->weight[i] * sample_value(p, &r);
        learned_offer(&best, i, value);
    }
    out->action = out->wanted = best.action;
}
