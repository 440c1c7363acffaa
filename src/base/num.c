#include "base/num.h"

#include <stdint.h>
#include <string.h>

/* Both functions reduce their argument to an interval around 1 (or 0) and sum a Taylor series
 * there. A minimax polynomial would save three terms; these coefficients can be checked by eye.
 *
 * ln 2 in two parts: the first has 32 significant bits, so that its product with an exponent is
 * exact. */
#define LN2_HI 0x1.62e42feep-1
#define LN2_LO 0x1.a39ef35793c76p-33
#define INVERSE_LN2 0x1.71547652b82fep+0

static inline uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define BITS_MIN 0x0010000000000000u /* of the smallest normal number */
#define BITS_INFINITY 0x7ff0000000000000u
#define BITS_SQRT_HALF 0x3fe6a09e667f3bcdu

/* x = 2^k (1 + f) with 1 + f from sqrt(1/2) to sqrt(2). With s = f / (2 + f),
 *
 *     log(1 + f) = 2 atanh(s) = 2 s + s R,   R = 2 s^2/3 + 2 s^4/5 + ...
 *
 * and, as s (2 + f) = f, 2 s = f - f^2/2 + s f^2/2: written so, the rounding of s touches only
 * small terms. s^2 <= 0.0295, so what follows the tenth term is below 2^-60 of the result. */
double num_log(double x)
{
    uint64_t bits = bits_of(x);
    int64_t k = 0;
    if (bits - BITS_MIN >= BITS_INFINITY - BITS_MIN) {
        if (x == 0) return -__builtin_inf();
        if (!(x > 0)) return __builtin_nan("");
        if (bits == BITS_INFINITY) return x;
        bits = bits_of(x * 0x1p54);
        k = -54;
    }
    int64_t shift = (int64_t)(bits - BITS_SQRT_HALF) >> 52;
    double e = (double)(k + shift);
    double f = double_of(bits - ((uint64_t)shift << 52)) - 1;

    double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
    double r = 2.0 / 21;
    r = r * z + 2.0 / 19;
    r = r * z + 2.0 / 17;
    r = r * z + 2.0 / 15;
    r = r * z + 2.0 / 13;
    r = r * z + 2.0 / 11;
    r = r * z + 2.0 / 9;
    r = r * z + 2.0 / 7;
    r = r * z + 2.0 / 5;
    r = r * z + 2.0 / 3;
    return e * LN2_HI + (f - (half - (s * (half + r * z) + e * LN2_LO)));
}

/* x = k ln 2 + r with |r| <= ln 2 / 2; the term after r^13/13! is below 2^-57. Multiplying by 2^k
 * in two halves keeps both factors normal, so that only the last product rounds, overflows or
 * underflows. */
double num_exp(double x)
{
    if (x != x) return x;
    if (x > 710) return __builtin_inf();
    if (x < -746) return 0;
    /* Adding 1.5 * 2^52 rounds to an integer. */
    double whole = (x * INVERSE_LN2 + 0x1.8p52) - 0x1.8p52;
    double r = (x - whole * LN2_HI) - whole * LN2_LO;

    double p = 1.0 / 6227020800;
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 1.0 / 2;
    double y = 1 + (r + r * r * p);

    int k = (int)whole, first = k / 2;
    y *= double_of((uint64_t)(1023 + first) << 52);
    return y * double_of((uint64_t)(1023 + k - first) << 52);
}

/* The coefficients of AS 241, from the constant up, by region: the middle, the tails, and the tails
 * below e^-25. */
static const double middle_over[8] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                                      1.9715909503065514427e3, 1.3731693765509461125e4,
                                      4.5921953931549871457e4, 6.7265770927008700853e4,
                                      3.3430575583588128105e4, 2.5090809287301226727e3};
static const double middle_under[8] = {1.0,
                                       4.2313330701600911252e1,
                                       6.8718700749205790830e2,
                                       5.3941960214247511077e3,
                                       2.1213794301586595867e4,
                                       3.9307895800092710610e4,
                                       2.8729085735721942674e4,
                                       5.2264952788528545610e3};
static const double tail_over[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                    5.76949722146069140550e0,  3.64784832476320460504e0,
                                    1.27045825245236838258e0,  2.41780725177450611770e-1,
                                    2.27238449892691845833e-2, 7.74545014278341407640e-4};
static const double tail_under[8] = {1.0,
                                     2.05319162663775882187e0,
                                     1.67638483018380384940e0,
                                     6.89767334985100004550e-1,
                                     1.48103976427480074590e-1,
                                     1.51986665636164571966e-2,
                                     5.47593808499534494600e-4,
                                     1.05075007164441684324e-9};
static const double far_over[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                   1.78482653991729133580e0,  2.96560571828504891230e-1,
                                   2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                   2.71155556874348757815e-5, 2.01033439929228813265e-7};
static const double far_under[8] = {1.0,
                                    5.99832206555887937690e-1,
                                    1.36929880922735805310e-1,
                                    1.48753612908506148525e-2,
                                    7.86869131145613259100e-4,
                                    1.84631831751005468180e-5,
                                    1.42151175831644588870e-7,
                                    2.04426310338993978564e-15};

/* Written out: as a loop it stays one. */
static inline double polynomial(const double c[8], double x)
{
    return ((((((c[7] * x + c[6]) * x + c[5]) * x + c[4]) * x + c[3]) * x + c[2]) * x + c[1]) * x +
           c[0];
}

double num_normal_quantile(double p)
{
    double q = p - 0.5;
    if (q >= -0.425 && q <= 0.425) {
        double r = 0.180625 - q * q;
        return q * polynomial(middle_over, r) / polynomial(middle_under, r);
    }
    double r = __builtin_sqrt(-num_log(q < 0 ? p : 1 - p)), z;
    if (r <= 5)
        z = polynomial(tail_over, r - 1.6) / polynomial(tail_under, r - 1.6);
    else
        z = polynomial(far_over, r - 5) / polynomial(far_under, r - 5);
    return q < 0 ? -z : z;
}
