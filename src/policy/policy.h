/* policy: how an action is chosen.
 *
 * Each kind of policy is one file and one row of POLICY_KINDS; nothing else in the product knows
 * the kinds apart but by what the row says. To add one, add its file and its row.
 *
 * A policy is immutable once its plan is loaded and is shared by all threads. Choosing is a pure
 * function: no clock, no allocation, no global.
 *
 * Randomness: one hash a decision, of the exploration key, seeds a counter-based generator; what is
 * drawn for what is told apart by the counter (base/rng.h): its purpose, and for an action's draw
 * the digest of the action's name. So masking an action, or adding one to the plan, leaves the
 * draws of the others as they were. */
#ifndef INTERLUDE_POLICY_POLICY_H
#define INTERLUDE_POLICY_POLICY_H

#include "policy/action.h"
#include "policy/posterior.h"
#include "policy/sample.h"
#include "rule/rule.h"

/* What sets the kinds apart, as bits. */
enum policy_trait {
    POLICY_HAS_RULES = 1,
    POLICY_HAS_POSTERIORS = 2, /* reads them, and needs a fallback for when there are none */
    POLICY_DRAWS = 4,          /* its choice is random, floor or not */
    POLICY_HAS_Z = 8,
};

/* X(CODE, word, traits, function, help): all that there is to know of a kind of policy, but for the
 * body of its function, which is in a file of its own. */
#define POLICY_KINDS(X)                                                                  \
    X(FIXED, "fixed", POLICY_HAS_RULES, fixed_choose, "ordered rules")                   \
    X(THOMPSON, "thompson", POLICY_HAS_POSTERIORS | POLICY_DRAWS, thompson_choose,       \
      "one draw from each posterior, the best wins")                                     \
    X(GREEDY, "greedy", POLICY_HAS_POSTERIORS, greedy_choose, "the best expected value") \
    X(UNIFORM, "uniform", POLICY_DRAWS, uniform_choose, "any action")                    \
    X(UCB, "ucb", POLICY_HAS_POSTERIORS | POLICY_HAS_Z, ucb_choose,                      \
      "the best of the expected values, each with `z` standard deviations added")

#define POLICY_ENUM(code, ...) POLICY_##code,
enum policy_kind { POLICY_KINDS(POLICY_ENUM) POLICY_KIND_COUNT };
#undef POLICY_ENUM

enum on_partial { ON_PARTIAL_EXCLUDE, ON_PARTIAL_PRIOR, ON_PARTIAL_FALLBACK };
enum on_empty { ON_EMPTY_FALLBACK, ON_EMPTY_COLD_START };
enum on_stale { ON_STALE_USE, ON_STALE_FALLBACK };
enum floor_toward { FLOOR_UNIFORM, FLOOR_FALLBACK };

struct policy_rule {
    const struct rule *when; /* NULL: always */
    int action;
    int64_t cooldown_ms; /* -1: the action's own */
};

struct policy {
    struct span name;
    enum policy_kind kind;
    action_set actions; /* what it uses; with the action without ads and at least one other */

    /* fixed */
    const struct policy_rule *rules;
    int rule_count;

    /* policies that read posteriors */
    enum on_partial on_partial;
    enum on_empty on_empty;
    enum on_stale on_stale;
    int64_t max_posterior_age_us; /* 0: none is too old */
    bool has_prior;               /* for every action used, all of one family */
    struct posterior prior[ACTIONS_MAX];
    const struct policy *fallback; /* reads no posteriors; never NULL for a policy that does */
    double offset[ACTIONS_MAX], weight[ACTIONS_MAX]; /* value = offset + weight x draw, maximised */
    bool values_equal; /* offset and weight are the same for every action used */
    double floor;      /* in [0, 1] */
    enum floor_toward floor_toward;
    double z; /* standard deviations that are added to the mean, in [0, 100] */

    /* What the conditions of its rules and of its fallback's read: see rule_reads, rule_needs. */
    uint64_t attributes_read, attributes_needed;
};

/* The first word of a stream. These numbers bear on every decision. */
enum draw_purpose {
    DRAW_ACTION = 1, /* the second word is the action's digest */
    DRAW_PICK = 2,   /* the uniform policy's */
    DRAW_FLOOR = 3,
};

struct choice_input {
    const struct action_table *actions;
    action_set eligible; /* after the mask; holds the action without ads */
    /* By action; valid for the eligible ones, where the policy reads posteriors. */
    const struct posterior *posteriors[ACTIONS_MAX];
    const struct attributes *attributes;
    struct hash128 draw_key;     /* of the variant: policy_draw_key */
    struct span exploration_key; /* what is drawn under the same one is the same */
};

struct choice {
    int action;      /* always eligible */
    int wanted;      /* what the policy would have had; differs where a rule's action is masked */
    int rule;        /* the rule that matched, from 0; -1: none, or no rules */
    int rule_errors; /* rules that ended in an error, and so did not match */
    int64_t cooldown_ms; /* -1: the action's own */
    bool floored;        /* the floor chose */
};

struct policy_ops {
    const char *name; /* as in `kind:` */
    const char *help; /* for docs/plans.md */
    uint32_t traits;  /* of enum policy_trait */
    /* `seed` keys the generator; it is made for those that draw, else 0. */
    void (*choose)(const struct policy *policy, const struct choice_input *in, struct hash128 seed,
                   struct choice *out);
};

const struct policy_ops *policy_ops(enum policy_kind kind);

/* What a policy is where its plan says nothing else: every action, its draw as its value. Leaves
 * name and kind as they are. */
void policy_init(struct policy *policy, const struct action_table *actions);

static inline bool policy_is(const struct policy *policy, enum policy_trait trait)
{
    return policy_ops(policy->kind)->traits & trait;
}

static inline bool policy_reads_posteriors(const struct policy *policy)
{
    return policy_is(policy, POLICY_HAS_POSTERIORS);
}

/* The kind of that name, or -1. */
int policy_kind_find(struct span name);

/* Chooses, floor included. */
void policy_choose(const struct policy *policy, const struct choice_input *in, struct choice *out);

/* The key under which a variant's exploration keys are hashed: a digest of (domain tag, salt,
 * variant), made once when a plan is loaded. */
struct hash128 policy_draw_key(struct span salt, struct span variant);

/* Each kind's own file. */
#define POLICY_FUNCTION(code, word, traits, function, help)                                \
    void function(const struct policy *, const struct choice_input *, struct hash128 seed, \
                  struct choice *);
POLICY_KINDS(POLICY_FUNCTION)
#undef POLICY_FUNCTION

/* floor.c: with probability policy->floor, replaces the choice. */
void floor_choose(const struct policy *, const struct choice_input *, struct hash128 seed,
                  struct choice *);

#endif
