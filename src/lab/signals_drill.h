/* signals_drill: what became of a drill, by the server's books of drills and by its refusal.
 *
 * Values; any thread. Ownership: spans point into the text or into the scratch that were given. */
#ifndef INTERLUDE_LAB_SIGNALS_DRILL_H
#define INTERLUDE_LAB_SIGNALS_DRILL_H

#include "lab/signals_check.h"

/* Nothing that was fired waits for its outcome. */
static inline bool signals_drills_settled(const struct signals_drills *d)
{
    return d->written + d->dropped + d->suppressed + d->outranked == d->fired;
}

/* What became of the drills between two looks that are settled: "written" where every line was, so
 * it is true of each, whoever else drilled meanwhile. NULL: none fired, or the server was started
 * anew. */
const char *signals_drill_outcome(const struct signals_drills *before,
                                  const struct signals_drills *now);

/* A problem document's members; empty where it has none, or is none. */
struct signals_refusal {
    struct span code, detail;
};

/* `scratch` holds at least json.len bytes. */
void signals_refusal_read(struct span json, char *scratch, struct signals_refusal *out);

/* The plan leaves no request that could fire the signal: there is nothing to prove. Any other
 * refusal leaves it unproved. */
static inline bool signals_refusal_harmless(const struct signals_refusal *r)
{
    return span_is(r->code, "cannot_fire");
}

#endif
