/* plan: what decides, compiled and immutable. (What a plan's file says about ports, limits and the
 * log decides nothing: it is plan/settings.h.)
 *
 * Everything that a request could make the server look up is resolved here, once: names are
 * numbers, conditions are programs, texts that go into answers are ready to copy. A plan is built
 * by src/plan, never changed after, and shared by every thread until plan_free.
 * Ownership: everything hangs in the plan's own arena. Units are in the names. */
#ifndef INTERLUDE_DECIDE_PLAN_H
#define INTERLUDE_DECIDE_PLAN_H

#include "decide/words.h"
#include "policy/policy.h"

enum {
    PLAN_VARIANTS_MAX = 32,
    PLAN_SEGMENTS_MAX = 32,
    PLAN_POLICIES_MAX = 32,
    PLAN_RULES_MAX = 256,
    PLAN_EXPERIMENTS_MAX = 16,
    PLAN_CAP_ITEMS_MAX = 8,
    PPM = 1000000,
};

struct plan_variant {
    struct span name;
    const struct policy *policy;
    struct hash128 draw_key; /* policy_draw_key */
};

struct plan_experiment {
    struct span name, salt;
    uint32_t slice_ppm; /* in the slice if the unit's ppm is below */
    int split_count;
    struct { /* in the byte order of the variants' names: a mapping has no order */
        int variant;
        uint64_t up_to; /* cumulative weight; the last is the sum: PPM, as plans are loaded */
    } split[PLAN_VARIANTS_MAX];
};

/* A cap: the smallest max of the items whose condition holds; none holds: no cap. */
struct plan_cap {
    int count;
    struct {
        const struct rule *when; /* NULL: always */
        int64_t max;
    } items[PLAN_CAP_ITEMS_MAX];
};

/* A guardrail that the plan names. */
struct plan_guardrail {
    const struct guardrail *row; /* guardrail.h */
    bool permissive;             /* on_unknown */
    /* By the row's shape. */
    const struct rule *when;
    int64_t ms;
    struct plan_cap cap;
    /* What follows from them: `ms`, rounded up to a second; what each action costs of the unit. */
    int64_t s;
    int32_t cost[ACTIONS_MAX];
};

struct plan {
    struct arena arena;
    struct span version;     /* 1 to NAME_BYTES_MAX bytes */
    struct hash128 identity; /* a hash of all that bears on a decision, see plan_print_decides */
    char fingerprint[13];    /* its first 12 hexadecimal digits, and a NUL */
    struct span salt;

    struct action_table actions;
    int segment_count;
    struct span segments[PLAN_SEGMENTS_MAX]; /* `other` and `unset` come on top: see words.h */
    struct attribute_schema schema;
    /* slot + 1 by attribute_hash of the name, open addressing; 0: free */
    uint8_t attribute_index[256];
    int64_t timezone_offset_s;

    int policy_count;
    struct policy policies[PLAN_POLICIES_MAX];
    int variant_count;
    struct plan_variant variants[PLAN_VARIANTS_MAX];
    int default_variant;
    int experiment_count;
    struct plan_experiment experiments[PLAN_EXPERIMENTS_MAX];
    /* Those that the plan names, in the table's order: so the gates come first. */
    int guardrail_count, gate_count;
    uint32_t guardrails_left; /* bit i: guardrails[i] may lengthen a cooldown */
    struct plan_guardrail guardrails[GUARDRAIL_COUNT];

    /* What the guardrails read: all of them, and the gates alone, which are all that is looked at
     * where nobody is asked. See rule_reads, rule_needs. */
    uint64_t guardrails_read, guardrails_needed;
    uint64_t gate_read, gate_needed;
    bool reads_time; /* a condition reads `hour` or `weekday` */
};

/* An empty plan, all zero but for its arena, to one that has the built-in attributes. */
void plan_init(struct plan *plan);

/* Fills what follows from the rest: attribute_index, draw keys, what is read and needed. Call once,
 * when actions, schema, salt, policies, variants and guardrails are in place. */
void plan_finish(struct plan *plan);

/* Milliseconds, not negative, to seconds: rounded up. */
static inline int64_t seconds_up(int64_t ms)
{
    return (ms + 999) / 1000;
}

/* The slot of a session attribute of that name, or -1. */
int plan_attribute_find(const struct plan *plan, struct span name);
int plan_segment_find(const struct plan *plan, struct span name);
int plan_variant_find(const struct plan *plan, struct span name);

/* NULL: the plan does not name it. */
const struct plan_guardrail *plan_guardrail_find(const struct plan *plan, enum guardrail_code code);
/* Makes room for one that the plan does not have yet, in its place. */
struct plan_guardrail *plan_guardrail_add(struct plan *plan, enum guardrail_code code);

void plan_free(struct plan *plan);

#endif
