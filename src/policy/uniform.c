/* uniform: any eligible action, each with the same probability. */
#include "base/rng.h"
#include "policy/policy.h"

void uniform_choose(const struct policy *policy, const struct choice_input *in, struct hash128 seed,
                    struct choice *out)
{
    (void)policy;
    uint64_t words[4];
    rng_block(seed, (struct rng_stream){DRAW_PICK, 0}, 0, words);
    int place = (int)(rng_open01(words[0]) * action_count(in->eligible));
    out->action = out->wanted = action_at(in->actions, in->eligible, place);
}
