/* The reference is libm, whose log and exp are within 1 ulp; so what is within 2 ulp of the truth
 * is within 3 of it. The quantiles were computed with 60 digits. */
#include "base/hash.h"
#include "base/num.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { POINTS = 1000000 };

static const struct hash128 seed = {20, 26};

static double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A double's place in the order of all doubles: neighbours differ by 1. */
static int64_t place_of(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}

static int64_t ulps(double a, double b)
{
    int64_t d = place_of(a) - place_of(b);
    return d < 0 ? -d : d;
}

/* Each maps a word to an argument. */
static double any_positive(uint64_t w)
{
    return double_of(w % 0x7ff0000000000000u);
}
static double subnormal(uint64_t w)
{
    return double_of((w >> 12) + 1);
}
static double from_half_to_two(uint64_t w)
{
    return 0.5 + 1.5 * rng_open01(w);
}
static double about_one(uint64_t w)
{
    return 1 + ldexp(rng_open01(w) - 0.5, -(int)(w & 31)); /* the low bits are not in open01 */
}
static double open01(uint64_t w)
{
    return rng_open01(w);
}
static double all_of_exp(uint64_t w)
{
    return -708 + 1417.7 * rng_open01(w);
}
static double about_zero(uint64_t w)
{
    return ldexp(rng_open01(w) - 0.5, -(int)(w & 63));
}
static double to_subnormal(uint64_t w)
{
    return -745.1 + 36.8 * rng_open01(w);
}
static double ordinary(uint64_t w)
{
    return 80 * (rng_open01(w) - 0.5);
}

static const struct {
    const char *name;
    double (*ours)(double), (*theirs)(double), (*argument)(uint64_t);
} accuracy[] = {
    {"log, any", num_log, log, any_positive},
    {"log, subnormal", num_log, log, subnormal},
    {"log, 1/2 to 2", num_log, log, from_half_to_two},
    {"log, about 1", num_log, log, about_one},
    {"log, of a uniform", num_log, log, open01},
    {"exp, all", num_exp, exp, all_of_exp},
    {"exp, about 0", num_exp, exp, about_zero},
    {"exp, to subnormals", num_exp, exp, to_subnormal},
    {"exp, ordinary", num_exp, exp, ordinary},
};

static void test_accuracy(void **state)
{
    (void)state;
    const int points = POINTS / (int)(sizeof accuracy / sizeof *accuracy) + 1;
    for (size_t i = 0; i < sizeof accuracy / sizeof *accuracy; i++) {
        struct rng r;
        rng_init(&r, seed);
        for (int n = 0; n < points; n++) {
            double x = accuracy[i].argument(rng_next(&r));
            int64_t off = ulps(accuracy[i].ours(x), accuracy[i].theirs(x));
            if (off > 1) fail_msg("%s: %a is off by %lld ulp", accuracy[i].name, x, (long long)off);
        }
    }
}

static const struct {
    double (*f)(double);
    double x, y;
} exact[] = {
    {num_log, 0.0, -INFINITY},
    {num_log, -0.0, -INFINITY},
    {num_log, INFINITY, INFINITY},
    {num_log, -INFINITY, NAN},
    {num_log, -1, NAN},
    {num_log, -0x1p-1074, NAN},
    {num_log, NAN, NAN},
    {num_log, 1, 0},
    {num_log, 2, 0x1.62e42fefa39efp-1},
    {num_log, 0.5, -0x1.62e42fefa39efp-1},
    {num_log, 0x1p-1074, -0x1.74385446d71c3p9},
    {num_log, 0x1p-1022, -0x1.6232bdd7abcd2p9},
    {num_log, 0x1.fffffffffffffp1023, 0x1.62e42fefa39efp9},
    {num_exp, 0.0, 1},
    {num_exp, -0.0, 1},
    {num_exp, 0x1p-60, 1},
    {num_exp, INFINITY, INFINITY},
    {num_exp, -INFINITY, 0},
    {num_exp, NAN, NAN},
    {num_exp, 0x1.62e42fefa39fp9, INFINITY},
    {num_exp, 711, INFINITY},
    {num_exp, 1e300, INFINITY},
    {num_exp, -745.2, 0},
    {num_exp, -747, 0},
    {num_exp, -1e300, 0},
    {num_exp, -745, 0x1p-1074},
    {num_normal_quantile, 0.5, 0},
    {num_normal_quantile, 0, NAN},
    {num_normal_quantile, 1, NAN},
    {num_normal_quantile, -0.25, NAN},
    {num_normal_quantile, 1.25, NAN},
    {num_normal_quantile, NAN, NAN},
};

static void test_exact_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        double y = exact[i].f(exact[i].x);
        if (isnan(exact[i].y) ? !isnan(y) : y != exact[i].y)
            fail_msg("row %zu: f(%a) is %a, not %a", i, exact[i].x, y, exact[i].y);
    }
}

/* Where an exponent, a quotient or a region changes. The stride is in ulp: of nearer neighbours,
 * the difference may be less than the rounding. */
static const struct {
    double (*f)(double);
    double x;
    int stride;
} breakpoints[] = {
    {num_log, 0x1.6a09e667f3bcdp-1, 8},
    {num_log, 0x1.6a09e667f3bcdp0, 8},
    {num_log, 0x1.6a09e667f3bcdp1, 8},
    {num_log, 0x1.6a09e667f3bcdp-40, 64},
    {num_log, 0x1.6a09e667f3bcdp500, 2048},
    {num_log, 1, 1},
    {num_log, 2, 8},
    {num_log, 0x1p-1022, 2048},
    {num_exp, 0x1.62e42fefa39efp-2, 8},
    {num_exp, -0x1.62e42fefa39efp-2, 8},
    {num_exp, 0x1.0a2b23f3bab73p0, 8},
    {num_exp, -0x1.0a2b23f3bab73p0, 8},
    {num_exp, 0x1.bb9d3beb8c86bp0, 8},
    {num_exp, -0x1.6232bdd7abcd2p9, 8},
    {num_exp, 0x1.62e42fefa39efp9, 8},
    {num_normal_quantile, 0.075, 8},
    {num_normal_quantile, 0.925, 8},
    {num_normal_quantile, 0x1.e8a37a45fc32ep-37, 512}, /* e^-25 */
};

static void test_monotone_at_breakpoints(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof breakpoints / sizeof *breakpoints; i++) {
        int64_t middle = place_of(breakpoints[i].x);
        double last = -INFINITY;
        for (int64_t step = -1000; step <= 1000; step++) {
            int64_t place = middle + breakpoints[i].stride * step;
            double x = place < 0 ? -double_of((uint64_t)-place) : double_of((uint64_t)place);
            double y = breakpoints[i].f(x);
            if (!(y >= last)) fail_msg("row %zu falls at %a: %a, %a", i, x, last, y);
            last = y;
        }
    }
}

static const struct {
    double p, z;
} quantiles[] = {
    {0x1.0000000000001p-1, 2.7829164246717669222e-16},
    {0x1.0000000000000p-2, -0.6744897501960817432},
    {0x1.3333333333333p-2, -0.52440051270804081597},
    {0x1.999999999999ap-4, -1.2815515655446004353},
    {0x1.3333333333333p-4, -1.4395314709384559349},
    {0x1.32ca57a786c22p-4, -1.4402382675279636631},
    {0x1.33343fa2ad3e9p-4, -1.4395244066035214827},
    {0x1.d99999999999ap-1, 1.4395314709384562291},
    {0x1.d99ae924f227dp-1, 1.4396021182393162092},
    {0x1.f333333333333p-1, 1.9599639845400538556},
    {0x1.fae147ae147aep-1, 2.3263478740408407676},
    {0x1.0624dd2f1a9fcp-10, -3.0902323061678135354},
    {0x1.0c6f7a0b5ed8dp-20, -4.7534243088228989573},
    {0x1.c965971ea9c5cp-37, -6.6676114565107408347},
    {0x1.ec94ca210599ep-37, -6.6567230915181836356},
    {0x1.19799812dea11p-40, -7.0344838253011319326},
    {0x1.0000000000000p-53, -8.2095361516013868556},
    {0x1.fffffffffffffp-1, 8.2095361516013868556},
    {0x1.79ca10c924223p-67, -9.2623400897984075796},
    {0x1.bff2ee48e0530p-333, -21.273453560965324294},
    {0x1.56e1fc2f8f359p-997, -37.047096299361199237},
    {0x0.0000000000001p-1022, -38.467405617144346251},
};

static void test_normal_quantiles(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        double z = num_normal_quantile(quantiles[i].p), expected = quantiles[i].z;
        if (!(fabs(z - expected) <= 2e-15 * fabs(expected)))
            fail_msg("quantile of %a is %.17g, not %.17g", quantiles[i].p, z, expected);
    }
}

static void test_quantile_is_odd(void **state)
{
    (void)state;
    struct rng r;
    rng_init(&r, seed);
    for (int n = 0; n < 100000; n++) {
        double p = rng_open01(rng_next(&r));
        assert_true(num_normal_quantile(1 - p) == -num_normal_quantile(p));
    }
}

/* Every bit of every result bears on decisions, which must be the same from any compiler: so a
 * result that another polynomial, or another place to change from one to the next, would give as
 * well is another one. */
static void test_every_bit_is_pinned(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double (*of)(double);
        uint64_t digest;
    } rows[] = {
        {"log", num_log, UINT64_C(0x6f891f0da1567e6c)},
        {"exp", num_exp, UINT64_C(0xab72588b1078792a)},
        {"normal quantile", num_normal_quantile, UINT64_C(0xd359c733543c944d)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hash128 digest = {0, 0};
        struct rng r;
        rng_init(&r, seed);
        for (int n = 0; n < 200000; n++) {
            double u = rng_open01(rng_next(&r)), x = u;
            if (i == 0) x = n % 2 ? double_of(rng_next(&r) >> 2) : 0.5 + u;
            if (i == 1) x = (u - 0.5) * (n % 2 ? 1500 : 4);
            if (i == 2 && n % 4 == 0) x = num_exp(-30 * u);
            double y = rows[i].of(x);
            digest = hash_sip128(digest, (struct span){(const char *)&y, sizeof y});
        }
        if (digest.lo != rows[i].digest)
            fail_msg("%s: %#llx", rows[i].name, (unsigned long long)digest.lo);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_exact_values),
        cmocka_unit_test(test_monotone_at_breakpoints),
        cmocka_unit_test(test_normal_quantiles),
        cmocka_unit_test(test_quantile_is_odd),
        cmocka_unit_test(test_every_bit_is_pinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
