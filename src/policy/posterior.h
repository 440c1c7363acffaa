/* posterior: the Bayesian state of one action, as the caller sent it.
 *
 * Families are told by their parameters' names: Beta {alpha, beta}; Normal {mean, variance};
 * Normal-inverse-gamma {mu, lambda, alpha, beta}; Gamma {shape, rate}.
 * Values; any thread. */
#ifndef INTERLUDE_POLICY_POSTERIOR_H
#define INTERLUDE_POLICY_POSTERIOR_H

#include "base/span.h"

#include <stdint.h>

enum posterior_family {
    FAMILY_BETA,
    FAMILY_NORMAL,
    FAMILY_NIG,
    FAMILY_GAMMA,
    FAMILY_COUNT,
};

/* The eight names, as bits of a set. */
enum posterior_parameter {
    PARAMETER_ALPHA,
    PARAMETER_BETA,
    PARAMETER_MEAN,
    PARAMETER_VARIANCE,
    PARAMETER_MU,
    PARAMETER_LAMBDA,
    PARAMETER_SHAPE,
    PARAMETER_RATE,
    PARAMETER_COUNT,
};

enum { POSTERIOR_PARAMETERS_MAX = 4 }; /* of one family */

struct posterior {
    uint8_t family; /* enum posterior_family */
    /* Beta: alpha, beta. Normal: mean, variance. NIG: mu, lambda, alpha, beta. Gamma: shape, rate.
     * Finite; all but mean and mu > 0. */
    double p[POSTERIOR_PARAMETERS_MAX];
};

/* The parameter of that name, or -1. */
int posterior_parameter_find(struct span name);
const char *posterior_parameter_name(enum posterior_parameter parameter);

/* The family whose names are exactly this set of bits, or -1. */
int posterior_family_of(uint32_t parameters);
const char *posterior_family_name(enum posterior_family family);
/* Of enum posterior_parameter, in the order of struct posterior's p. */
const uint8_t *posterior_parameters(enum posterior_family family, int *count);
/* Must be more than 0; the others may be any finite number. */
bool posterior_parameter_is_positive(enum posterior_parameter parameter);

/* From a value for each parameter (indexed by enum posterior_parameter) to *out. False, with *out
 * untouched, if one that the family uses is not finite, or is <= 0 and must not be. */
bool posterior_make(enum posterior_family family, const double values[PARAMETER_COUNT],
                    struct posterior *out);

/* The mean: alpha / (alpha + beta); mean; mu; shape / rate. Finite: at most DBL_MAX. */
double posterior_mean(const struct posterior *p);

/* The standard deviation: sqrt(m (1 - m) / (alpha + beta + 1)) of a Beta with mean m;
 * sqrt(variance); of a Normal-inverse-gamma's mean, sqrt(beta / (lambda (alpha - 1))), which no
 * alpha up to 1 has: then DBL_MAX; sqrt(shape) / rate. From 0 to DBL_MAX. */
double posterior_deviation(const struct posterior *p);

#endif
