/* Draws against exact distributions: moments, whole distribution functions (Kolmogorov-Smirnov),
 * and probabilities of being the best. Seeds are fixed, so nothing here fails by chance; the bounds
 * are wide enough (5 standard errors) that a sound change of the sampler keeps within them, except
 * for the golden table, which is there to notice any change. */
#include "policy/sample.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DRAWS = 100000 };
#define STANDARD_ERRORS 5.0

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define BETA(a, b)   \
    {                \
        FAMILY_BETA, \
        {            \
            a, b     \
        }            \
    }
#define GAMMA(shape, rate) \
    {                      \
        FAMILY_GAMMA,      \
        {                  \
            shape, rate    \
        }                  \
    }
#define NORMAL(mean, variance) \
    {                          \
        FAMILY_NORMAL,         \
        {                      \
            mean, variance     \
        }                      \
    }
#define NIG(mu, lambda, alpha, beta) \
    {                                \
        FAMILY_NIG,                  \
        {                            \
            mu, lambda, alpha, beta  \
        }                            \
    }

typedef double draw_fn(const struct posterior *p, struct hash128 key);

/* A draw from the front of a key's first stream. */
static double ordered_of(const struct posterior *p, struct hash128 key)
{
    struct rng r;
    rng_init(&r, key);
    return sample_ordered(p, &r);
}

static double value_of(const struct posterior *p, struct hash128 key)
{
    struct rng r;
    rng_init(&r, key);
    return sample_value(p, &r);
}

static struct hash128 key_of(uint64_t row, uint64_t stream, uint64_t draw)
{
    return (struct hash128){row << 32 | stream, draw};
}

/* ---- moments ---- */

/* The derivatives of log Gamma: its first (digamma), second and fourth, which are the mean, the
 * variance and the fourth cumulant of the logarithm of a gamma of shape x. By the recurrence up to
 * x >= 30, then by the asymptotic series (Abramowitz and Stegun 6.3.18, 6.4.11). */
struct cumulants {
    double mean, variance, fourth;
};

static struct cumulants log_gamma_cumulants(double x)
{
    struct cumulants c = {0, 0, 0};
    for (; x < 30; x += 1) {
        c.mean -= 1 / x;
        c.variance += 1 / (x * x);
        c.fourth += 6 / (x * x) / (x * x);
    }
    double y = 1 / x, y2 = y * y;
    c.mean += log(x) - y / 2 - y2 * (1. / 12 - y2 * (1. / 120 - y2 * (1. / 252 - y2 / 240)));
    c.variance += y + y2 / 2 + y * y2 * (1. / 6 - y2 * (1. / 30 - y2 * (1. / 42 - y2 / 30)));
    c.fourth += y * y2 * (2 + 3 * y + 2 * y2 - y2 * y2);
    return c;
}

static struct cumulants beta_log_odds(const double p[4])
{
    struct cumulants a = log_gamma_cumulants(p[0]), b = log_gamma_cumulants(p[1]);
    return (struct cumulants){a.mean - b.mean, a.variance + b.variance, a.fourth + b.fourth};
}

static struct cumulants beta_value(const double p[4])
{
    double a = p[0], b = p[1], s = a + b, variance = a / s * (b / s) / (s + 1);
    double excess =
        6 * ((a - b) * (a - b) * (s + 1) - a * b * (s + 2)) / (a * b * (s + 2) * (s + 3));
    return (struct cumulants){a / s, variance, excess * variance * variance};
}

static struct cumulants gamma_log(const double p[4])
{
    struct cumulants c = log_gamma_cumulants(p[0]);
    c.mean -= log(p[1]);
    return c;
}

static struct cumulants gamma_value(const double p[4])
{
    double variance = p[0] / p[1] / p[1];
    return (struct cumulants){p[0] / p[1], variance, 6 / p[0] * variance * variance};
}

static struct cumulants normal(const double p[4])
{
    return (struct cumulants){p[0], p[1], 0};
}

/* Where the fourth moment exists: alpha > 2. */
static struct cumulants nig(const double p[4])
{
    double variance = p[3] / (p[1] * (p[2] - 1));
    return (struct cumulants){p[0], variance, 3 / (p[2] - 2) * variance * variance};
}

static const struct {
    struct posterior p;
    draw_fn *draw;
    struct cumulants (*expected)(const double p[4]);
} moments[] = {
    {BETA(1e-10, 1e-10), ordered_of, beta_log_odds},
    {BETA(1e-10, 1e10), ordered_of, beta_log_odds},
    {BETA(0.01, 0.3), ordered_of, beta_log_odds},
    {BETA(0.5, 1), ordered_of, beta_log_odds},
    {BETA(0.999, 1.001), ordered_of, beta_log_odds},
    {BETA(1.5, 4), ordered_of, beta_log_odds},
    {BETA(20, 80), ordered_of, beta_log_odds},
    {BETA(1e10, 1e10), ordered_of, beta_log_odds},
    {BETA(1e10, 3e9), ordered_of, beta_log_odds},
    {BETA(1e10, 2), ordered_of, beta_log_odds},
    {BETA(0.1, 0.1), value_of, beta_value},
    {BETA(0.3, 2), value_of, beta_value},
    {BETA(3, 2), value_of, beta_value},
    {BETA(20, 80), value_of, beta_value},
    {BETA(1e5, 1e7), value_of, beta_value},
    {BETA(1e10, 1e10), value_of, beta_value},
    {GAMMA(1e-10, 1), ordered_of, gamma_log},
    {GAMMA(1e-6, 1e10), ordered_of, gamma_log},
    {GAMMA(0.05, 3), ordered_of, gamma_log},
    {GAMMA(0.7, 1e-10), ordered_of, gamma_log},
    {GAMMA(2.5, 4), ordered_of, gamma_log},
    {GAMMA(3000, 7), ordered_of, gamma_log},
    {GAMMA(1e10, 1e10), ordered_of, gamma_log},
    {GAMMA(1e10, 1e-10), ordered_of, gamma_log},
    {GAMMA(1e20, 1e20), ordered_of, gamma_log},
    {GAMMA(0.5, 2), value_of, gamma_value},
    {GAMMA(12, 0.5), value_of, gamma_value},
    {GAMMA(1e10, 1e10), value_of, gamma_value},
    {NORMAL(-1e10, 1e-10), ordered_of, normal},
    {NORMAL(1e-10, 1e-10), value_of, normal},
    {NORMAL(3, 1e10), value_of, normal},
    {NIG(0, 1, 5, 1), ordered_of, nig},
    {NIG(-3, 1e10, 20, 1e-10), ordered_of, nig},
    {NIG(1e-10, 1e-10, 6, 1e10), value_of, nig},
    {NIG(7, 4, 1e10, 1e10), value_of, nig},
};

static void test_moments(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(moments); i++) {
        struct cumulants e = moments[i].expected(moments[i].p.p);
        double sum = 0, squares = 0;
        for (uint64_t n = 0; n < DRAWS; n++) {
            double z =
                (moments[i].draw(&moments[i].p, key_of(i, 1, n)) - e.mean) / sqrt(e.variance);
            sum += z, squares += z * z;
        }
        double mean_off = sum / DRAWS * sqrt(DRAWS);
        double variance_off =
            (squares / DRAWS - 1) / sqrt((2 + e.fourth / e.variance / e.variance) / DRAWS);
        if (!(fabs(mean_off) < STANDARD_ERRORS && fabs(variance_off) < STANDARD_ERRORS))
            fail_msg("row %zu: mean is off by %.1f, variance by %.1f standard errors", i, mean_off,
                     variance_off);
    }
}

/* ---- distribution functions ---- */

static double cdf_normal(double x)
{
    return erfc(-x / sqrt(2)) / 2;
}

static double cdf_of_normal(double x, const double p[4])
{
    return cdf_normal((x - p[0]) / sqrt(p[1]));
}

static double cdf_gamma_half(double x, const double p[4])
{
    return erf(sqrt(x * p[1]));
}
static double cdf_gamma_one(double x, const double p[4])
{
    return -expm1(-x * p[1]);
}

static double cdf_gamma_two(double x, const double p[4])
{
    return 1 - exp(-x * p[1]) * (1 + x * p[1]);
}

/* A tiny shape: the logarithm is that of u^(1/shape), but for some units in 1/shape. */
static double cdf_log_gamma_tiny(double x, const double p[4])
{
    return fmin(1, exp(x * p[0]));
}

static double cdf_log_gamma_large(double x, const double p[4])
{
    return cdf_normal((x - log(p[0] / p[1])) * sqrt(p[0]));
}

static double cdf_beta_half(double x, const double p[4])
{
    (void)p;
    return 2 / M_PI * asin(sqrt(x));
}

static double cdf_beta_a_one(double x, const double p[4])
{
    return pow(x, p[0]);
}
static double cdf_beta_one_b(double x, const double p[4])
{
    return 1 - pow(1 - x, p[1]);
}

static double cdf_logistic(double x, const double p[4])
{
    (void)p;
    return 1 / (1 + exp(-x));
}

/* Beta(a, 1) with a large a: 1 - x is exponential of rate a. */
static double cdf_log_odds_large_one(double x, const double p[4])
{
    return exp(-p[0] * exp(-x));
}

static double cdf_log_odds_large(double x, const double p[4])
{
    return cdf_normal((x - log(p[0] / p[1])) / sqrt(1 / p[0] + 1 / p[1]));
}

/* Student t, scaled by sqrt(beta / (alpha lambda)), of 2 alpha = 1, 2, 4 and 2e10 degrees. */
static double nig_t(double x, const double p[4])
{
    return (x - p[0]) * sqrt(p[2] * p[1] / p[3]);
}

static double cdf_nig_1(double x, const double p[4])
{
    return 0.5 + atan(nig_t(x, p)) / M_PI;
}

static double cdf_nig_2(double x, const double p[4])
{
    double t = nig_t(x, p);
    return 0.5 + t / (2 * sqrt(2 + t * t));
}

static double cdf_nig_4(double x, const double p[4])
{
    double t = nig_t(x, p), w = 1 + t * t / 4;
    return 0.5 + 3. / 8 * t / sqrt(w) * (1 - t * t / (12 * w));
}

static double cdf_nig_large(double x, const double p[4])
{
    return cdf_normal(nig_t(x, p));
}

/* A tiny alpha: log|x - mu| is exponential of rate 2 alpha, but for some units in 1/alpha, and x is
 * straightened beyond e^600. */
static double cdf_nig_tiny(double x, const double p[4])
{
    double size = fabs(x - p[0]), huge_size = exp(600);
    double log_size = size < huge_size ? log(size) : 600 + (size / huge_size - 1);
    double half = log_size > 0 ? -expm1(-2 * p[2] * log_size) / 2 : 0;
    return x < p[0] ? 0.5 - half : 0.5 + half;
}

static const struct {
    struct posterior p;
    draw_fn *draw;
    double (*cdf)(double x, const double p[4]);
} distributions[] = {
    {NORMAL(0, 1), value_of, cdf_of_normal},
    {NORMAL(-3, 1e-10), ordered_of, cdf_of_normal},
    {GAMMA(0.5, 0.5), value_of, cdf_gamma_half},
    {GAMMA(1, 1), value_of, cdf_gamma_one},
    {GAMMA(1, 1e-10), value_of, cdf_gamma_one},
    {GAMMA(2, 3), value_of, cdf_gamma_two},
    {GAMMA(1e-10, 5), ordered_of, cdf_log_gamma_tiny},
    {GAMMA(1e-6, 5), ordered_of, cdf_log_gamma_tiny},
    {GAMMA(1e10, 5), ordered_of, cdf_log_gamma_large},
    {BETA(1, 1), value_of, cdf_beta_a_one},
    {BETA(1, 1), ordered_of, cdf_logistic},
    {BETA(0.5, 0.5), value_of, cdf_beta_half},
    {BETA(0.2, 1), value_of, cdf_beta_a_one},
    {BETA(3, 1), value_of, cdf_beta_a_one},
    {BETA(1, 7), value_of, cdf_beta_one_b},
    {BETA(1e10, 1), ordered_of, cdf_log_odds_large_one},
    {BETA(1e10, 1e10), ordered_of, cdf_log_odds_large},
    {NIG(1, 1, 0.5, 0.5), value_of, cdf_nig_1},
    {NIG(0, 2, 1, 1e-10), ordered_of, cdf_nig_2},
    {NIG(0, 1e-10, 2, 1e10), value_of, cdf_nig_4},
    {NIG(5, 3, 1e10, 1e10), value_of, cdf_nig_large},
    {NIG(0, 1, 1e-5, 1), value_of, cdf_nig_tiny},
    {NIG(0, 3, 1e-10, 2), ordered_of, cdf_nig_tiny},
    {NIG(7, 3, 1e-40, 2), ordered_of, cdf_nig_tiny},
};

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* sqrt(n) D > 2.6 has the probability of 5 standard errors. */
static void test_distributions(void **state)
{
    (void)state;
    double *x = malloc(DRAWS * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < COUNT(distributions); i++) {
        for (uint64_t n = 0; n < DRAWS; n++)
            x[n] = distributions[i].draw(&distributions[i].p, key_of(i, 2, n));
        qsort(x, DRAWS, sizeof *x, by_size);
        double d = 0;
        for (int n = 0; n < DRAWS; n++) {
            double f = distributions[i].cdf(x[n], distributions[i].p.p);
            if (!(f >= 0 && f <= 1)) fail_msg("row %zu: F(%g) is %g", i, x[n], f);
            d = fmax(d, fmax(f - (double)n / DRAWS, (n + 1.) / DRAWS - f));
        }
        if (!(sqrt(DRAWS) * d < 2.6)) fail_msg("row %zu: sqrt(n) D is %.2f", i, sqrt(DRAWS) * d);
    }
    free(x);
}

/* ---- which is the best ---- */

enum { BY_ORDER = 1, BY_VALUE = 2, BOTH = 3 };

static const struct {
    int by, count;
    struct posterior p[4];
    double best[4];
} contests[] = {
    {BOTH, 2, {BETA(3, 2), BETA(2, 3)}, {53. / 70, 17. / 70}},
    {BOTH, 3, {BETA(1, 1), BETA(2, 1), BETA(3, 1)}, {1. / 6, 1. / 3, 1. / 2}},
    {BOTH, 3, {BETA(1, 1), BETA(1, 2), BETA(1, 3)}, {7. / 12, 4. / 15, 3. / 20}},
    {BOTH,
     4,
     {BETA(20, 80), BETA(25, 75), BETA(30, 70), BETA(22, 78)},
     {0.0254188, 0.1862940, 0.7262481, 0.0620391}},
    {BOTH, 2, {NORMAL(1, 0.5), NORMAL(0, 0.5)}, {0.8413447, 0.1586553}},
    {BOTH, 3, {NORMAL(0, 4), NORMAL(0, 1), NORMAL(0, 1)}, {0.3975836, 0.3012082, 0.3012082}},
    {BOTH, 2, {NIG(1, 1, 0.5, 0.5), NIG(0, 1, 0.5, 0.5)}, {0.6475836, 0.3524164}},
    {BOTH, 2, {GAMMA(2, 2), GAMMA(1, 1)}, {5. / 9, 4. / 9}},
    /* Shapes so small that draws as doubles would all be 0 or 1. */
    {BY_ORDER, 2, {BETA(1e-6, 1e-6), BETA(1e-6, 3e-6)}, {21. / 32, 11. / 32}},
    {BY_ORDER, 2, {BETA(1e-10, 1e-10), BETA(1e-10, 3e-10)}, {21. / 32, 11. / 32}},
    {BY_ORDER, 2, {BETA(1e-300, 3e-300), BETA(1e-300, 1e-300)}, {11. / 32, 21. / 32}},
    {BY_ORDER, 2, {GAMMA(1e-10, 1e-10), GAMMA(3e-10, 1e10)}, {0.25, 0.75}},
    {BY_ORDER, 2, {NIG(0, 1, 1e-10, 1), NIG(9, 1, 3e-10, 1)}, {0.5, 0.5}},
    /* Means half a standard deviation of the difference apart, then 1/sqrt(2) of it. */
    {BOTH, 2, {BETA(1e10, 1e10), BETA(1.00001e10, 1e10)}, {0.3085375, 0.6914625}},
    {BOTH, 2, {GAMMA(1e10, 3), GAMMA(1.00001e10, 3)}, {0.2397501, 0.7602499}},
    {BY_ORDER, 2, {BETA(1e30, 1e30), BETA(1e30, 1e30)}, {0.5, 0.5}},
};

static void run_contest(size_t row, draw_fn *draw)
{
    int count = contests[row].count, won[4] = {0};
    for (uint64_t n = 0; n < DRAWS; n++) {
        int best = 0;
        double most = -INFINITY;
        for (int i = 0; i < count; i++) {
            double x = draw(&contests[row].p[i], key_of(row, 8 + (uint64_t)i, n));
            if (x > most) best = i, most = x;
        }
        won[best]++;
    }
    for (int i = 0; i < count; i++) {
        double p = contests[row].best[i], off = (won[i] - p * DRAWS) / sqrt(DRAWS * p * (1 - p));
        if (!(fabs(off) < STANDARD_ERRORS))
            fail_msg("row %zu, action %d: %d of %d is off by %.1f standard errors", row, i, won[i],
                     DRAWS, off);
    }
}

static void test_probability_of_the_best(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(contests); i++) {
        if (contests[i].by & BY_ORDER) run_contest(i, ordered_of);
        if (contests[i].by & BY_VALUE) run_contest(i, value_of);
    }
}

/* ---- the ends of the range ---- */

static const double positives[] = {0x1p-1074, 1e-300, 1e-41, 1e-10, 1, 1e10, 1e41, 1e300, DBL_MAX};
static const double locations[] = {-DBL_MAX, -1, 0, 1e200, DBL_MAX};

static void check_finite(const struct posterior *p)
{
    for (uint64_t n = 0; n < 30; n++) {
        double ordered = ordered_of(p, key_of(99, p->family, n));
        double value = value_of(p, key_of(99, p->family, n));
        double low = p->family == FAMILY_BETA || p->family == FAMILY_GAMMA ? 0 : -DBL_MAX;
        double high = p->family == FAMILY_BETA ? 1 : DBL_MAX;
        if (!isfinite(ordered) || !(value >= low && value <= high))
            fail_msg("%s %g %g %g %g: %g, %g",
                     posterior_family_name((enum posterior_family)p->family), p->p[0], p->p[1],
                     p->p[2], p->p[3], ordered, value);
    }
}

static void test_draws_are_finite(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(positives); i++) {
        double a = positives[i];
        for (size_t j = 0; j < COUNT(positives); j++) {
            double b = positives[j];
            check_finite(&(struct posterior)BETA(a, b));
            check_finite(&(struct posterior)GAMMA(a, b));
            for (size_t k = 0; k < COUNT(positives) * COUNT(locations); k++)
                check_finite(&(struct posterior){
                    FAMILY_NIG,
                    {locations[k % COUNT(locations)], a, b, positives[k / COUNT(locations)]}});
        }
        for (size_t k = 0; k < COUNT(locations); k++)
            check_finite(&(struct posterior)NORMAL(locations[k], a));
    }
}

/* The widest ranges have no ties, or plan order would decide. */
static const struct posterior spread[] = {
    BETA(1e-10, 1e-10), BETA(1e10, 1e10),    BETA(1e-10, 1e10),
    GAMMA(1e-10, 1e10), NIG(0, 1, 1e-40, 1), NIG(0, 1, 1e-3, 1),
    BETA(1e100, 1e100), NIG(0, 1, 1e-41, 1), NIG(0, 1, 1e-300, 1),
};

/* The rate only shifts the logarithm of a gamma, also where their quotient is no normal number. */
static void test_a_rate_shifts_the_logarithm(void **state)
{
    (void)state;
    static const double rates[] = {1e-308, 1e-300, 0.5, 1e300, 1.7e308};
    static const double shapes[] = {1e-3, 2, 1e10, 1e300};
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t i = 0; i < COUNT(rates); i++)
            for (uint64_t n = 0; n < 100; n++) {
                struct posterior one = {FAMILY_GAMMA, {shapes[s], 1}};
                struct posterior other = {FAMILY_GAMMA, {shapes[s], rates[i]}};
                double shift =
                    ordered_of(&one, key_of(1, 9, n)) - ordered_of(&other, key_of(1, 9, n));
                if (!(fabs(shift - log(rates[i])) < 1e-9))
                    fail_msg("shape %g, rate %g: %g", shapes[s], rates[i], shift);
            }
}

static void test_draws_do_not_tie(void **state)
{
    (void)state;
    enum { FEW = 10000 };
    double x[FEW];
    for (size_t i = 0; i < COUNT(spread); i++) {
        for (uint64_t n = 0; n < FEW; n++) x[n] = ordered_of(&spread[i], key_of(i, 3, n));
        qsort(x, FEW, sizeof *x, by_size);
        for (int n = 1; n < FEW; n++)
            if (x[n] == x[n - 1]) fail_msg("row %zu: %a twice", i, x[n]);
    }
}

static void test_value_and_order_are_of_one_draw(void **state)
{
    (void)state;
    const struct posterior beta = BETA(2, 5), gamma = GAMMA(0.4, 9);
    const struct posterior same[] = {NORMAL(1, 2), NIG(1, 2, 3, 4)};
    for (uint64_t n = 0; n < 1000; n++) {
        struct hash128 key = key_of(0, 4, n);
        double x = value_of(&beta, key), y = value_of(&gamma, key);
        assert_true(fabs(log(x) - log1p(-x) - ordered_of(&beta, key)) < 1e-13);
        assert_true(fabs(log(y) - ordered_of(&gamma, key)) < 1e-13);
        for (size_t i = 0; i < COUNT(same); i++)
            assert_true(value_of(&same[i], key) == ordered_of(&same[i], key));
    }
}

/* As in a decision: one key, and for each action a stream of its own. */
static void test_streams_of_one_key_are_independent(void **state)
{
    (void)state;
    enum { STREAMS = 4 };
    const struct posterior normal = NORMAL(0, 1);
    static const struct rng_stream streams[STREAMS] = {{1, 0}, {1, 1}, {1, UINT64_MAX}, {2, 0}};
    double sum[STREAMS] = {0}, product[STREAMS][STREAMS] = {{0}};
    for (uint64_t n = 0; n < DRAWS; n++) {
        double x[STREAMS];
        for (int s = 0; s < STREAMS; s++) {
            struct rng r;
            rng_init_stream(&r, key_of(0, 6, n), streams[s]);
            x[s] = sample_ordered(&normal, &r);
            sum[s] += x[s];
            for (int t = 0; t <= s; t++) product[s][t] += x[s] * x[t];
        }
    }
    for (int s = 0; s < STREAMS; s++) {
        assert_true(fabs(sum[s]) < 5 * sqrt(DRAWS));
        for (int t = 0; t < s; t++) assert_true(fabs(product[s][t]) < 5 * sqrt(DRAWS));
        assert_true(fabs(product[s][s] - DRAWS) < 5 * sqrt(2.0 * DRAWS));
    }
}

/* ---- the very bits ---- */

/* These change only if decisions are to change. */
static const struct hash128 golden_keys[] = {{0x0123456789abcdef, 0xfedcba9876543210},
                                             {0x243f6a8885a308d3, 0x13198a2e03707344}};

static const struct {
    struct posterior p;
    int key;
    double ordered, value;
} golden[] = {
    {BETA(20, 80), 0, -0x1.348abdadc6017p+0, 0x1.d8277458cac16p-3},
    {BETA(20, 80), 1, -0x1.b83cb5a560031p+0, 0x1.371e1661ae697p-3},
    {BETA(25, 75), 0, -0x1.d7de38a64789dp-1, 0x1.2375a5a1ac7f8p-2},
    {BETA(25, 75), 1, -0x1.62ad55501ccd8p+0, 0x1.99dfd4abd107ep-3},
    {BETA(1, 1), 0, 0x1.b60971620b48bp+0, 0x1.b1a6e7fe6dd6ep-1},
    {BETA(1, 1), 1, -0x1.32cb96da72129p+1, 0x1.55aa0db8f7e48p-4},
    {BETA(0.5, 0.5), 0, -0x1.a85e92ad92ad9p+0, 0x1.47d3c92ab0de4p-3},
    {BETA(0.5, 0.5), 1, -0x1.49f79255fce1cp-2, 0x1.ae36f5b466ebcp-2},
    {BETA(1e-10, 3e-10), 0, -0x1.be12777446cfbp+33, 0x0p+0},
    {BETA(1e-10, 3e-10), 1, -0x1.4a555caac8fd6p+32, 0x0p+0},
    {BETA(1e10, 1e10), 0, 0x1.a886665130d84p-17, 0x1.00006a2199944p-1},
    {BETA(1e10, 1e10), 1, -0x1.7a7ba0ef6d83fp-17, 0x1.ffff42c22f885p-2},
    {BETA(1e10, 0.25), 0, 0x1.f093b874ad858p+4, 0x1.ffffffffffed4p-1},
    {BETA(1e10, 0.25), 1, 0x1.837534dcbf3c7p+4, 0x1.ffffffffbd1e6p-1},
    {GAMMA(1, 1), 0, 0x1.cab6fbf7fb7efp-4, 0x1.1e56315a2119dp+0},
    {GAMMA(1, 1), 1, -0x1.ab0ac14a971a1p+1, 0x1.2362b99c9b32ap-5},
    {GAMMA(2, 2), 0, 0x1.3dc088f3fe798p-3, 0x1.2af74b55c8bfep+0},
    {GAMMA(2, 2), 1, -0x1.afcd351e7382dp+0, 0x1.7b22b9016d236p-3},
    {GAMMA(0.1, 3), 0, -0x1.07400e958a8c7p+4, 0x1.3338da25fae22p-24},
    {GAMMA(0.1, 3), 1, -0x1.d3ff79fcaa1b9p+3, 0x1.ddefeb970f7a7p-22},
    {GAMMA(1e-10, 1), 0, -0x1.d024659b56b62p+33, 0x0p+0},
    {GAMMA(1e-10, 1), 1, -0x1.3d53cef56d8f7p+33, 0x0p+0},
    {GAMMA(1e10, 7), 0, 0x1.514774d1c9f9fp+4, 0x1.54997b80434cep+30},
    {GAMMA(1e10, 7), 1, 0x1.51475ff80361ep+4, 0x1.5497bfa5a4f6bp+30},
    {NORMAL(0, 1), 0, 0x1.d831bc3dd099cp-2, 0x1.d831bc3dd099cp-2},
    {NORMAL(0, 1), 1, -0x1.8700202489c9fp+0, -0x1.8700202489c9fp+0},
    {NORMAL(-2.5, 1e-10), 0, -0x1.3fffd9515e452p+1, -0x1.3fffd9515e452p+1},
    {NORMAL(-2.5, 1e-10), 1, -0x1.4000801f7f98ap+1, -0x1.4000801f7f98ap+1},
    {NIG(0, 1, 0.5, 0.5), 0, 0x1.9a0cece719b73p+1, 0x1.9a0cece719b73p+1},
    {NIG(0, 1, 0.5, 0.5), 1, -0x1.b16dd8d076e92p+1, -0x1.b16dd8d076e92p+1},
    {NIG(1, 2, 30, 4), 0, 0x1.239e2e4656c03p+0, 0x1.239e2e4656c03p+0},
    {NIG(1, 2, 30, 4), 1, 0x1.39d6a58e0ec39p-1, 0x1.39d6a58e0ec39p-1},
    {NIG(0, 1, 1e-10, 1), 0, 0x1.3b56071aa635cp+898, 0x1.3b56071aa635cp+898},
    {NIG(0, 1, 1e-10, 1), 1, -0x1.31f1fd3e78b6dp+898, -0x1.31f1fd3e78b6dp+898},
};

static void test_golden_draws(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(golden); i++) {
        struct hash128 key = golden_keys[golden[i].key];
        double ordered = ordered_of(&golden[i].p, key), value = value_of(&golden[i].p, key);
        if (ordered != golden[i].ordered || value != golden[i].value)
            fail_msg("row %zu: %a, %a", i, ordered, value);
    }
}

/* Enough draws for what is rare: proposals refused, far tails. */
static void test_golden_digest(void **state)
{
    (void)state;
    struct hash128 digest = {0, 0};
    for (size_t i = 0; i < COUNT(golden); i += COUNT(golden_keys))
        for (uint64_t n = 0; n < 5000; n++) {
            double draw[2] = {ordered_of(&golden[i].p, key_of(0, 5, n)),
                              value_of(&golden[i].p, key_of(0, 5, n))};
            digest = hash_sip128(digest, (struct span){(const char *)draw, sizeof draw});
        }
    if (digest.lo != 0x7b601c63c5d88f15)
        fail_msg("the digest is %016llx", (unsigned long long)digest.lo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_probability_of_the_best),
        cmocka_unit_test(test_draws_are_finite),
        cmocka_unit_test(test_a_rate_shifts_the_logarithm),
        cmocka_unit_test(test_draws_do_not_tie),
        cmocka_unit_test(test_value_and_order_are_of_one_draw),
        cmocka_unit_test(test_streams_of_one_key_are_independent),
        cmocka_unit_test(test_golden_draws),
        cmocka_unit_test(test_golden_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
