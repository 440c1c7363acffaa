/* ucb: the eligible action whose value may be the best: the posterior's mean, and `z` of its
 * standard deviations to the better side. Where offset and weight turn a cost into a value, the
 * better side of the draw is the lower one. Nothing is drawn.
 * Lai, "Adaptive treatment allocation and the multi-armed bandit problem", Annals of Statistics 15,
 * 1987; Kaufmann, Cappé and Garivier, "On Bayesian upper confidence bounds for bandit problems",
 * AISTATS 2012. */
#include "policy/learned.h"

#include <float.h>

/* Finite, so that no weight makes it no number. */
static double bound_of(const struct posterior *p, double z)
{
    double bound = posterior_mean(p) + z * posterior_deviation(p);
    return bound > DBL_MAX ? DBL_MAX : bound < -DBL_MAX ? -DBL_MAX : bound;
}

void ucb_choose(const struct policy *policy, const struct choice_input *in, struct hash128 seed,
                struct choice *out)
{
    struct learned_best best = {-1, 0};
    for (int i = 0; i < in->actions->count; i++) {
        if (!action_in(in->eligible, i)) continue;
        double sign = learned_sign(policy, i);
        double bound = bound_of(in->posteriors[i], sign * policy->z);
        double value =
            policy->values_equal ? sign * bound : policy->offset[i] + policy->weight[i] * bound;
        learned_offer(&best, i, value);
    }
    out->action = out->wanted = best.action;
}
