/* learned: what the policies that read posteriors share. */
#ifndef INTERLUDE_POLICY_LEARNED_H
#define INTERLUDE_POLICY_LEARNED_H

#include "policy/policy.h"

/* Where offset and weight are the same for every action, what orders the values is the draw alone,
 * with the weight's sign: so it can be compared in a scale that does not saturate. */
static inline double learned_sign(const struct policy *policy, int action)
{
    double weight = policy->weight[action];
    return weight > 0 ? 1.0 : weight < 0 ? -1.0 : 0.0;
}

/* Keeps the best value seen, the first of equals; call in plan order. */
struct learned_best {
    int action; /* -1: none yet */
    double value;
};

static inline void learned_offer(struct learned_best *best, int action, double value)
{
    if (best->action < 0 || value > best->value) *best = (struct learned_best){action, value};
}

#endif
