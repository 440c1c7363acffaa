/* How the draws are made.
 *
 * Everything with a gamma in it is carried as a logarithm: log g = log(scale) + rest. A gamma of
 * shape 1e-10 is e^-(1e10), far below any double; its logarithm is an ordinary number. And a Beta
 * is kept as the difference of two such logarithms, which says more near 0 and near 1 than the
 * ratio can. Keeping `scale` apart lets two scales be divided before one logarithm is taken: the
 * spread of a Beta(1e10, 1e10) is 1e-5 in log-odds, and rounding must stay far below that.
 *
 * A draw reads its own stream of words in order: two for each proposal of a gamma (a normal and a
 * uniform), one more for a shape below 1, one for a normal. So four words, one block of the
 * generator, make the usual Beta. Changing how many words are read, or their order, changes every
 * decision. */
#include "policy/sample.h"

#include "base/num.h"

#include <float.h>

/* A proposal is accepted with probability 0.95 or more, so that all of them are refused less than
 * once in 2^270 draws; the mode is taken then. */
enum { PROPOSALS_MAX = 64 };

#define SHAPE_MIN 0x1p-1000
#define NIG_ALPHA_MIN 1e-40

/* Beyond e^600, draws grow with their logarithm instead. */
#define LOG_LINEAR 600.0

/* Of a draw g: log g = log(scale) + rest. */
struct log_gamma {
    double scale; /* a normal number */
    double rest;
};

static inline double draw_normal(struct rng *r)
{
    return num_normal_quantile(rng_open01(rng_next(r)));
}

/* What log(1 + t) is above the logarithm of the rounded sum w, to first order in what was lost. */
static inline double log_lost(double t, double w)
{
    return (t - (w - 1)) / w;
}

/* log(a / b), with the quotient taken first, unless it would overflow or lose bits. */
static inline double log_ratio(double a, double b)
{
    double q = a / b;
    if (q >= DBL_MIN && q <= DBL_MAX) return num_log(q);
    return num_log(a) - num_log(b);
}

/* log(1 + t) - t + t^2/2 - t^3/3, to the rounding of t. */
static double log_remainder(double t)
{
    return num_log(1 + t) + log_lost(t, 1 + t) - t * (1 - t * (1.0 / 2 - t / 3));
}

/* Marsaglia and Tsang, "A simple method for generating gamma variables", 2000: with x normal and
 * t = x / (3 sqrt(d)), d (1 + t)^3 is gamma of shape d + 1/3, if accepted with probability
 * exp(x^2/2 + d (1 - v + log v)), v = (1 + t)^3. As x^2/2 = 9 d t^2/2, that exponent is
 * 3 d log_remainder(t), off by about 10^-16 x sqrt(d); as written there it would be off by
 * 10^-16 d. Most are accepted by their bound 1 - 0.0331 x^4. d >= 2/3.
 *
 * 1 + t is at least 2^-53, and at most 1 where d exceeds 10^33: the scale stays a normal number. */
static inline struct log_gamma draw_cube(double d, struct rng *r)
{
    double c = 1 / (3 * __builtin_sqrt(d));
    for (int i = 0; i < PROPOSALS_MAX; i++) {
        double x = draw_normal(r), u = rng_open01(rng_next(r));
        double t = x * c, w = 1 + t, square = x * x;
        if (!(w > 0)) continue;
        if (u < 1 - 0.0331 * square * square || num_log(u) < 3 * d * log_remainder(t))
            return (struct log_gamma){d * w * w * w, 3 * log_lost(t, w)};
    }
    return (struct log_gamma){d, 0};
}

/* A gamma of that shape and rate 1. Below 1, by the same paper's section 6: a gamma of shape + 1
 * times u^(1/shape). */
static inline struct log_gamma draw_gamma(double shape, struct rng *r)
{
    if (shape >= 1) return draw_cube(shape - 1.0 / 3, r);
    if (shape < SHAPE_MIN) shape = SHAPE_MIN;
    struct log_gamma g = draw_cube(shape + 2.0 / 3, r);
    g.rest += num_log(rng_open01(rng_next(r))) / shape;
    return g;
}

static double draw_beta_log_odds(const double p[4], struct rng *r)
{
    struct log_gamma a = draw_gamma(p[0], r), b = draw_gamma(p[1], r);
    return log_ratio(a.scale, b.scale) + (a.rest - b.rest);
}

static double draw_gamma_log(double shape, double rate, struct rng *r)
{
    struct log_gamma g = draw_gamma(shape, r);
    return log_ratio(g.scale, rate) + g.rest;
}

static double draw_normal_value(const double p[4], struct rng *r)
{
    return p[0] + __builtin_sqrt(p[1]) * draw_normal(r);
}

/* exp(log), straightened beyond e^600. */
static double exp_extended(double log)
{
    if (log <= LOG_LINEAR) return num_exp(log);
    return num_exp(LOG_LINEAR) * (1 + (log - LOG_LINEAR));
}

/* The precision tau is gamma (alpha, rate beta), the mean normal (mu, 1 / (lambda tau)). The normal
 * is never 0: words are mapped to the middles of their intervals. */
static double draw_nig_mean(const double p[4], struct rng *r)
{
    double z = draw_normal(r);
    double alpha = p[2] < NIG_ALPHA_MIN ? NIG_ALPHA_MIN : p[2];
    double log_tau = draw_gamma_log(alpha, p[3], r);
    double log_size = num_log(z < 0 ? -z : z) - 0.5 * (num_log(p[1]) + log_tau);
    double size = exp_extended(log_size), value = z < 0 ? p[0] - size : p[0] + size;
    if (value > DBL_MAX) return DBL_MAX;
    return value < -DBL_MAX ? -DBL_MAX : value;
}

double sample_ordered(const struct posterior *p, struct rng *r)
{
    switch ((enum posterior_family)p->family) {
    case FAMILY_BETA:
        return draw_beta_log_odds(p->p, r);
    case FAMILY_GAMMA:
        return draw_gamma_log(p->p[0], p->p[1], r);
    case FAMILY_NIG:
        return draw_nig_mean(p->p, r);
    case FAMILY_NORMAL:
    case FAMILY_COUNT:
        break;
    }
    return draw_normal_value(p->p, r);
}

double sample_value(const struct posterior *p, struct rng *r)
{
    double ordered = sample_ordered(p, r);
    if (p->family == FAMILY_BETA) {
        double e = num_exp(ordered < 0 ? ordered : -ordered);
        return ordered < 0 ? e / (1 + e) : 1 / (1 + e);
    }
    if (p->family == FAMILY_GAMMA) {
        double value = num_exp(ordered);
        return value <= DBL_MAX ? value : DBL_MAX;
    }
    return ordered;
}
