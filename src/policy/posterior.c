#include "policy/posterior.h"

#include <float.h>
#include <math.h>

static const char *const parameter_names[PARAMETER_COUNT] = {
    [PARAMETER_ALPHA] = "alpha",       [PARAMETER_BETA] = "beta", [PARAMETER_MEAN] = "mean",
    [PARAMETER_VARIANCE] = "variance", [PARAMETER_MU] = "mu",     [PARAMETER_LAMBDA] = "lambda",
    [PARAMETER_SHAPE] = "shape",       [PARAMETER_RATE] = "rate",
};

/* Each family's parameters, in the order of posterior.p, and as a set. */
#define SET2(a, b) (1u << (a) | 1u << (b))
static const struct {
    const char *name;
    uint8_t count, parameters[POSTERIOR_PARAMETERS_MAX];
    uint32_t set;
} families[FAMILY_COUNT] = {
    [FAMILY_BETA] = {"beta",
                     2,
                     {PARAMETER_ALPHA, PARAMETER_BETA},
                     SET2(PARAMETER_ALPHA, PARAMETER_BETA)},
    [FAMILY_NORMAL] = {"normal",
                       2,
                       {PARAMETER_MEAN, PARAMETER_VARIANCE},
                       SET2(PARAMETER_MEAN, PARAMETER_VARIANCE)},
    [FAMILY_NIG] = {"normal_inverse_gamma",
                    4,
                    {PARAMETER_MU, PARAMETER_LAMBDA, PARAMETER_ALPHA, PARAMETER_BETA},
                    SET2(PARAMETER_MU, PARAMETER_LAMBDA) | SET2(PARAMETER_ALPHA, PARAMETER_BETA)},
    [FAMILY_GAMMA] = {"gamma",
                      2,
                      {PARAMETER_SHAPE, PARAMETER_RATE},
                      SET2(PARAMETER_SHAPE, PARAMETER_RATE)},
};
#undef SET2

int posterior_parameter_find(struct span name)
{
    switch (name.len) {
    case 2:
        if (SPAN_IS(name, "mu")) return PARAMETER_MU;
        break;
    case 4:
        if (SPAN_IS(name, "beta")) return PARAMETER_BETA;
        if (SPAN_IS(name, "mean")) return PARAMETER_MEAN;
        if (SPAN_IS(name, "rate")) return PARAMETER_RATE;
        break;
    case 5:
        if (SPAN_IS(name, "alpha")) return PARAMETER_ALPHA;
        if (SPAN_IS(name, "shape")) return PARAMETER_SHAPE;
        break;
    case 6:
        if (SPAN_IS(name, "lambda")) return PARAMETER_LAMBDA;
        break;
    case 8:
        if (SPAN_IS(name, "variance")) return PARAMETER_VARIANCE;
        break;
    }
    return -1;
}

const char *posterior_parameter_name(enum posterior_parameter parameter)
{
    return parameter_names[parameter];
}

int posterior_family_of(uint32_t parameters)
{
    for (int f = 0; f < FAMILY_COUNT; f++)
        if (families[f].set == parameters) return f;
    return -1;
}

const char *posterior_family_name(enum posterior_family family)
{
    return families[family].name;
}

const uint8_t *posterior_parameters(enum posterior_family family, int *count)
{
    *count = families[family].count;
    return families[family].parameters;
}

bool posterior_parameter_is_positive(enum posterior_parameter parameter)
{
    return parameter != PARAMETER_MEAN && parameter != PARAMETER_MU;
}

static bool parameter_holds(enum posterior_parameter parameter, double value)
{
    return value <= DBL_MAX &&
           (posterior_parameter_is_positive(parameter) ? value > 0 : value >= -DBL_MAX);
}

bool posterior_make(enum posterior_family family, const double values[PARAMETER_COUNT],
                    struct posterior *out)
{
    const uint8_t *parameters = families[family].parameters;
    const int count = families[family].count;
    for (int i = 0; i < count; i++)
        if (!parameter_holds(parameters[i], values[parameters[i]])) return false;
    memset(out, 0, sizeof *out); /* what lies between the members too: equals compare equal */
    out->family = (uint8_t)family;
    for (int i = 0; i < count; i++) out->p[i] = values[parameters[i]];
    return true;
}

/* The halves, because the sum of two large parameters may overflow. Of small ones, which lose a bit
 * when halved, the sum is exact enough as it is. */
static double mean_beta(double alpha, double beta)
{
    if (alpha > 1 || beta > 1) return 0.5 * alpha / (0.5 * alpha + 0.5 * beta);
    return alpha / (alpha + beta);
}

double posterior_mean(const struct posterior *p)
{
    switch ((enum posterior_family)p->family) {
    case FAMILY_BETA:
        return mean_beta(p->p[0], p->p[1]);
    case FAMILY_GAMMA: {
        double mean = p->p[0] / p->p[1];
        return mean <= DBL_MAX ? mean : DBL_MAX;
    }
    case FAMILY_NORMAL:
    case FAMILY_NIG:
    case FAMILY_COUNT:
        break;
    }
    return p->p[0];
}

static double deviation_beta(double alpha, double beta)
{
    double mean = mean_beta(alpha, beta);
    return sqrt(mean * (1 - mean) / (alpha + beta + 1));
}

double posterior_deviation(const struct posterior *p)
{
    double deviation = 0;
    switch ((enum posterior_family)p->family) {
    case FAMILY_BETA:
        return deviation_beta(p->p[0], p->p[1]);
    case FAMILY_NORMAL:
        return sqrt(p->p[1]);
    case FAMILY_NIG:
        if (p->p[2] <= 1) return DBL_MAX;
        deviation = sqrt(p->p[3] / p->p[1] / (p->p[2] - 1));
        break;
    case FAMILY_GAMMA:
        deviation = sqrt(p->p[0]) / p->p[1];
        break;
    case FAMILY_COUNT:
        break;
    }
    return deviation <= DBL_MAX ? deviation : DBL_MAX;
}
