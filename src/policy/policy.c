#include "policy/policy.h"

#include "base/err.h"

#include <endian.h>

/* One row a kind: this table is all that has to know a new one. */
static const struct policy_ops kinds[POLICY_KIND_COUNT] = {
    [POLICY_FIXED] = {"fixed", false, fixed_choose},
    [POLICY_THOMPSON] = {"thompson", true, thompson_choose},
    [POLICY_GREEDY] = {"greedy", true, greedy_choose},
    [POLICY_UNIFORM] = {"uniform", false, uniform_choose},
};

const struct policy_ops *policy_ops(enum policy_kind kind)
{
    return &kinds[kind];
}

int policy_kind_find(struct span name)
{
    for (int i = 0; i < POLICY_KIND_COUNT; i++)
        if (span_is(name, kinds[i].name)) return i;
    return -1;
}

void policy_choose(const struct policy *policy, const struct choice_input *in, struct choice *out)
{
    *out = (struct choice){.rule = -1, .cooldown_ms = -1};
    kinds[policy->kind].choose(policy, in, out);
    if (policy->floor > 0) floor_choose(policy, in, out);
}

/* A digest of the parts, each behind its length, so that no two lists of parts read the same. */
static struct hash128 seed_of(const struct span *parts, int count)
{
    char text[8 * 4 + 4 * 512];
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        INVARIANT(used + 8 + parts[i].len <= sizeof text);
        uint64_t len = htole64(parts[i].len);
        memcpy(text + used, &len, 8);
        memcpy(text + used + 8, parts[i].data, parts[i].len);
        used += 8 + parts[i].len;
    }
    return hash_sip128((struct hash128){0, 0}, (struct span){text, used});
}

void policy_seeds_init(struct policy_seeds *seeds, const struct action_table *actions,
                       struct span salt, struct span variant)
{
    for (int i = 0; i < actions->count; i++)
        seeds->draw[i] =
            seed_of((struct span[]){SPAN("draw"), actions->actions[i].name, salt, variant}, 4);
    seeds->pick = seed_of((struct span[]){SPAN("pick"), salt, variant}, 3);
    seeds->floor = seed_of((struct span[]){SPAN("floor"), salt, variant}, 3);
}
