/* cells: what a plan's variants, segments and actions count in; resolved when it is loaded.
 *
 * Immutable once made; any thread. Everything hangs in one piece of memory. Private to the room. */
#ifndef INTERLUDE_SIGNAL_CELLS_H
#define INTERLUDE_SIGNAL_CELLS_H

#include "signal/series.h"

/* What hangs on the variant alone, in the order in which the cells are given out: an ordinary
 * decision's counts of this kind lie side by side. */
struct variant_cells {
    uint32_t covered_seconds, ads_decided;
    uint32_t state[STATE_STATUS_COUNT];
    uint32_t assigned[ASSIGNMENT_COUNT]; /* outside of experiments */
    uint32_t posteriors_unused, rule_errors;
    uint32_t guardrail[REASON_COUNT];
    uint32_t fallback[FALLBACK_REASON_COUNT];
    uint32_t duration; /* the first of DURATION_CELLS; CELL_OVERFLOW: none */
    uint32_t experiment[PLAN_EXPERIMENTS_MAX];
};

struct signal_cells {
    uint64_t version; /* see struct series_load */
    int variants;     /* the plan's, and `unknown` */
    int segments;     /* the plan's, `other` and `unset` */
    int actions;
    struct variant_cells *variant; /* [variants] */
    uint32_t *decisions;           /* [variants][segments][actions] */
    uint32_t *posteriors;          /* [variants][segments][POSTERIORS_STATUS_COUNT] */
    uint32_t *missing;             /* [variants][segments][actions] */
    uint32_t attribute_absent[ATTRIBUTES_MAX], attribute_invalid[ATTRIBUTES_MAX];
};

/* Gives every label set that the plan closes its cell. One that the plan cannot have, or for which
 * there was no cell left, counts in an overflow cell. `all_posteriors`: as if every variant's
 * policy read posteriors, for all actions. The caller frees the result. NULL: there is no memory,
 * and the table is as it was. */
struct signal_cells *cells_make(struct series_table *table, const struct plan *plan,
                                bool all_posteriors);

static inline uint32_t *cell_decision(const struct signal_cells *c, int variant, int segment)
{
    return c->decisions + (size_t)(variant * c->segments + segment) * (size_t)c->actions;
}

static inline uint32_t *cell_posteriors(const struct signal_cells *c, int variant, int segment)
{
    return c->posteriors + (size_t)(variant * c->segments + segment) * POSTERIORS_STATUS_COUNT;
}

static inline uint32_t *cell_missing(const struct signal_cells *c, int variant, int segment)
{
    return c->missing + (size_t)(variant * c->segments + segment) * (size_t)c->actions;
}

/* `name="value"`, the value escaped as both formats want it, after a comma if it is not the first.
 */
void label_write(struct buf *b, const char *name, struct span value);

#endif
