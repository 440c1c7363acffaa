/* plan_compare: what a plan takes away from the one before it.
 *
 * Half a plan's file is often a plan too: with fewer guardrails, without an experiment, with a
 * policy that lost its floor. So before a plan takes another one's place, what it would take away
 * is listed: a guardrail that is gone or looser; an action, segment, attribute, policy, variant or
 * experiment that is gone; a key of one of these, a rule or its condition that is gone or has lost
 * its end. A guardrail's condition that changed counts as looser: whether it is cannot be told by
 * looking at it. A rule that was rewritten is somebody's work, and not looked into.
 *
 * Pure; any thread; nothing allocates. */
#ifndef INTERLUDE_PLAN_PLAN_COMPARE_H
#define INTERLUDE_PLAN_PLAN_COMPARE_H

#include "decide/plan.h"

enum { PLAN_WEAKER_MAX = 64, PLAN_WEAKER_TEXT_BYTES = 160 };

/* Each is one line that names the key, and says what became of it; guardrails first.
 * `more` counts those beyond PLAN_WEAKER_MAX. */
struct plan_weaker {
    int count, more;
    char texts[PLAN_WEAKER_MAX][PLAN_WEAKER_TEXT_BYTES]; /* NUL-terminated */
};

void plan_weaker_find(const struct plan *before, const struct plan *after, struct plan_weaker *out);

/* The share of units, in millionths, that are given another variant or none instead of one: of
 * PLAN_UNITS_SAMPLED made-up unit ids, so exact to about half a per cent. */
enum { PLAN_UNITS_SAMPLED = 20000 };
uint32_t plan_units_moved_ppm(const struct plan *before, const struct plan *after);

#endif
