/* guardrail: what no answer breaks, whatever a policy or a rule says.
 *
 * Guardrails take actions away before the choice; nothing is cut after it. A cap or gap that is
 * exactly met allows. Unknown is not zero: where an attribute is not known, the conservative
 * reading is in force, unless the plan says `permissive` for that guardrail: then what is unknown
 * takes nothing away. A condition that ends in an error counts as true likewise, and as false where
 * its guardrail is permissive. Each guardrail is judged by itself, so that each one that would have
 * taken an action away is told, not just the first.
 *
 * A request walks the plan's own list, so a guardrail that no plan names costs nothing. To add one:
 * a row in guardrail_table.h, and its functions in the table of guardrail.c. Pure; any thread. */
#ifndef INTERLUDE_DECIDE_GUARDRAIL_H
#define INTERLUDE_DECIDE_GUARDRAIL_H

#include "decide/decide.h"

struct mask;

struct guardrail {
    struct span word; /* its reason, its label, its key in a plan */
    enum reason reason;
    enum guardrail_shape shape;
    enum guardrail_unit unit;
    uint64_t needed, read; /* bits of attribute slots */
    const char *help, *why;

    /* Either of these. `gate` holds before a policy is asked: then none is, and the answer is no
     * ad. `mask` takes actions away. */
    bool (*gate)(const struct plan_guardrail *g, const struct plan *plan,
                 const struct attributes *a, struct decision *out);
    void (*mask)(const struct plan_guardrail *g, struct mask *m);
    /* Seconds for which it still holds every ad back after this answer, which plays ads or not; at
     * most 0: none. NULL: it does not lengthen a cooldown. */
    int64_t (*left_s)(const struct plan_guardrail *g, const struct attributes *a, bool ads);
};

extern const struct guardrail guardrail_table[GUARDRAIL_COUNT];

/* What an action costs of a cap in that unit. */
static inline int64_t guardrail_cost(enum guardrail_unit unit, const struct action *action)
{
    if (unit == GUARDRAIL_ADS) return action->ads;
    if (unit == GUARDRAIL_SECONDS) return seconds_up(action->max_duration_ms);
    return action->ads > 0; /* a break */
}

/* Whether a gate settles the decision. Adds to out->masked, assumed and unenforced; `out` may be
 * NULL. */
bool guardrail_gate(const struct plan *plan, const struct request *request, struct decision *out);

/* Returns the actions that are left of `from`, and sets out->masked; adds to out->assumed and
 * out->unenforced. */
action_set guardrail_mask(const struct plan *plan, const struct request *request, action_set from,
                          struct decision *out);

/* The cooldown, raised to what the guardrails still ask for; seconds, rounded up. */
int64_t guardrail_cooldown_s(const struct plan *plan, const struct request *request, int64_t own_ms,
                             bool ads);

#endif
