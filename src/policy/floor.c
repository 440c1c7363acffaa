/* floor: p' = (1 - f) p + f / K over the K eligible actions, or f on the fallback's choice.
 *
 * The uniform pick is the inverse of the distribution function over the eligible actions ordered by
 * ads, from a word of its own: so leaving out heavier actions never makes a pick heavier. */
#include "base/rng.h"
#include "policy/policy.h"

void floor_choose(const struct policy *policy, const struct choice_input *in, struct hash128 seed,
                  struct choice *out)
{
    uint64_t words[4];
    rng_block(seed, (struct rng_stream){DRAW_FLOOR, 0}, 0, words);
    if (rng_open01(words[0]) >= policy->floor) return;

    int action;
    if (policy->floor_toward == FLOOR_FALLBACK) {
        struct choice_input inner = *in;
        inner.eligible &= policy->fallback->actions;
        struct choice fallback;
        policy_choose(policy->fallback, &inner, &fallback);
        action = fallback.action;
    } else {
        int place = (int)(rng_open01(words[1]) * action_count(in->eligible));
        action = action_at(in->actions, in->eligible, place);
    }
    *out = (struct choice){
        .action = action, .wanted = action, .rule = -1, .cooldown_ms = -1, .floored = true};
}
