/* num: logarithm and exponential that give the same bits everywhere.
 *
 * libm's are free to differ between versions and machines; what leads to an action may not. Only
 * + - * / and bit operations, so IEEE 754 alone fixes the result. Pure; any thread. */
#ifndef INTERLUDE_BASE_NUM_H
#define INTERLUDE_BASE_NUM_H

#include <float.h>

_Static_assert(FLT_EVAL_METHOD == 0, "doubles must be evaluated as doubles");

/* Natural logarithm; error under 2 ulp. log(0) = -infinity; x < 0 or NaN gives NaN; subnormals are
 * right. */
double num_log(double x);

/* e to the x; error under 2 ulp; overflows to infinity, underflows to 0 (subnormals are right to 1
 * ulp of theirs). */
double num_exp(double x);

/* The standard normal quantile of p in (0, 1) (Wichura, "Algorithm AS 241: the percentage points of
 * the normal distribution", 1988, PPND16): relative error about 1e-15. Outside (0, 1): NaN. */
double num_normal_quantile(double p);

#endif
