#include "lab/pairs.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>

size_t pairs_rank(size_t n, double *confidence)
{
    INVARIANT(n >= PAIRS_MIN && n <= PAIRS_MAX);
    /* P(Binomial(n, 1/2) = i) by its logarithm, for 2^-1000 is too near to the end of doubles. */
    double below = 0, log_term = -(double)n * log(2.0);
    size_t k = 0;
    for (;; k++) {
        double with_k = below + exp(log_term);
        if (2 * with_k > 0.05) break;
        below = with_k;
        log_term += log((double)(n - k) / (double)(k + 1));
    }
    *confidence = 1 - 2 * below;
    return k;
}

static int double_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct pairs_interval pairs_interval_of(double *ratios, size_t n)
{
    qsort(ratios, n, sizeof *ratios, double_order);
    struct pairs_interval interval;
    size_t k = pairs_rank(n, &interval.confidence);
    interval.low = ratios[k - 1];
    interval.high = ratios[n - k];
    interval.median = n % 2 ? ratios[n / 2] : (ratios[n / 2 - 1] + ratios[n / 2]) / 2;
    return interval;
}

bool pairs_a_first(size_t i)
{
    return i % 2 == 0;
}

enum pairs_verdict pairs_judge(struct pairs_interval ab, struct pairs_interval aa)
{
    if (ab.low <= 1 && ab.high >= 1) return PAIRS_NO_DIFFERENCE;
    if (ab.low <= aa.high && ab.high >= aa.low) return PAIRS_NO_DIFFERENCE;
    return ab.high < 1 ? PAIRS_FASTER : PAIRS_SLOWER;
}

const char *pairs_verdict_name(enum pairs_verdict verdict)
{
    static const char *const names[] = {"no difference", "faster", "slower"};
    return names[verdict];
}

enum pairs_bar pairs_judge_bar(struct pairs_interval ab, double bar)
{
    if (ab.high < bar) return PAIRS_MET;
    return ab.low > bar ? PAIRS_MISSED : PAIRS_NOT_RESOLVED;
}

const char *pairs_bar_name(enum pairs_bar judged)
{
    static const char *const names[] = {"met", "missed", "not resolved"};
    return names[judged];
}
