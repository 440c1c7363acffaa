/* sample: draws from posteriors that are the same on every machine.
 *
 * Random words come from a counter-based generator (Philox-4x64-10: Salmon et al., "Parallel random
 * numbers: as easy as 1, 2, 3", 2011), so a draw is a pure function of its key. Only + - * / sqrt
 * and our own log and exp (base/num.h) lead to a value. Pure; any thread; nothing allocates. */
#ifndef INTERLUDE_POLICY_SAMPLE_H
#define INTERLUDE_POLICY_SAMPLE_H

#include "base/hash.h"
#include "policy/posterior.h"

/* One draw's comparison key under `family`, larger is better, ties only where the draws are equal.
 * For actions of equal offset and positive weight: Beta gives the log-odds of the draw, Gamma its
 * logarithm, so that tiny shapes do not saturate to ties; Normal and NIG the draw itself. */
double sample_ordered(const struct posterior *p, struct hash128 key);

/* One draw: Beta in [0, 1], Gamma in [0, inf), Normal; NIG draws the mean. May saturate; finite. */
double sample_value(const struct posterior *p, struct hash128 key);

#endif
