/* sample: draws from posteriors that are the same on every machine.
 *
 * Random words come from a counter-based generator (Philox-4x64-10: Salmon et al., "Parallel random
 * numbers: as easy as 1, 2, 3", 2011), so a draw is a pure function of the stream that it reads.
 * Only + - * / sqrt and our own log and exp (base/num.h) lead to a value. Pure; a stream belongs to
 * one thread; nothing allocates. */
#ifndef INTERLUDE_POLICY_SAMPLE_H
#define INTERLUDE_POLICY_SAMPLE_H

#include "base/rng.h"
#include "policy/posterior.h"

/* One draw's comparison key, from the next words of `r`: larger is better, ties only where the
 * draws are equal. For actions of equal offset and positive weight: Beta gives the log-odds of the
 * draw, Gamma its logarithm, so that tiny shapes do not saturate to ties; Normal and NIG the draw
 * itself. Finite.
 *
 * Shapes below 2^-1000 count as 2^-1000. */
double sample_ordered(const struct posterior *p, struct rng *r);

/* One draw: Beta in [0, 1], Gamma in [0, DBL_MAX], Normal; NIG draws the mean. Finite; where a Beta
 * or a Gamma has no nearer double it is 0, 1 or DBL_MAX.
 *
 * The mean of a NIG is mu + d with d from a Student t of 2 alpha degrees of freedom, which for a
 * tiny alpha is beyond any double. So d is itself up to e^600; where log|d| = L > 600 it is
 * sign(d) e^600 (1 + (L - 600)): still finite, still in the same order. For NIG an alpha below
 * 1e-40 counts as 1e-40, and the sum ends at +-DBL_MAX. */
double sample_value(const struct posterior *p, struct rng *r);

#endif
