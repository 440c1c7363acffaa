/* action: the entries of the action space, and sets of them.
 *
 * Immutable once a plan is loaded; any thread. Names live in the plan's arena. */
#ifndef INTERLUDE_POLICY_ACTION_H
#define INTERLUDE_POLICY_ACTION_H

#include "base/span.h"

#include <stdint.h>

enum { ACTIONS_MAX = 16, NAME_BYTES_MAX = 64, ADS_MAX = 100 };

/* Bit i: the plan's action i. */
typedef uint16_t action_set;

static inline bool action_in(action_set set, int action)
{
    return set >> action & 1;
}
static inline action_set action_bit(int action)
{
    return (action_set)(1u << action);
}
static inline int action_count(action_set set)
{
    return __builtin_popcount(set);
}

struct action {
    struct span name;        /* 1 to NAME_BYTES_MAX bytes of [A-Za-z0-9_.:-] */
    int ads;                 /* 0 to ADS_MAX; 0 for exactly one action of a plan */
    int64_t cooldown_ms;     /* >= 0 */
    int64_t max_duration_ms; /* of the whole pod; 0: not given */
    uint64_t digest;         /* of the name: whose draws are whose, see policy.h */
};

struct action_table {
    int count;                          /* 2 to ACTIONS_MAX */
    int no_ads;                         /* the action without ads */
    struct action actions[ACTIONS_MAX]; /* in plan order */
    uint8_t by_ads[ACTIONS_MAX];        /* action numbers by ads, equals in plan order */
    action_set with_ads;
};

/* The action of that name, or -1. Linear. */
int action_find(const struct action_table *table, struct span name);

/* Fills by_ads, no_ads, with_ads and the digests from count and actions. */
void action_table_finish(struct action_table *table);

/* Actions of more ads than `ads`. */
action_set action_heavier(const struct action_table *table, int ads);

/* The place-th (from 0) action of a set that is not empty, ordered by ads, equals in plan order;
 * the last one if there are fewer. */
int action_at(const struct action_table *table, action_set set, int place);

/* The member with the most ads that has at most `ads`; the first of equals in plan order; the
 * action without ads if there is none. */
int action_at_most(const struct action_table *table, action_set set, int ads);

#endif
