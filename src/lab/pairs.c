#include "lab/pairs.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

struct pairs_interval pairs_interval_of(const double *ratios, size_t n)
{
    struct pairs_interval interval;
    size_t k = pairs_rank(n, &interval.confidence);
    double sorted[PAIRS_MAX];
    memcpy(sorted, ratios, n * sizeof *ratios);
    qsort(sorted, n, sizeof *sorted, double_order);
    interval.low = sorted[k - 1];
    interval.high = sorted[n - k];
    interval.median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
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
    static const char *const names[] = {"no difference", "faster", "slower", "void"};
    return names[verdict];
}

struct pairs_resolution pairs_resolution_of(struct pairs_interval ab, struct pairs_interval aa)
{
    double down = ab.median / ab.high, up = ab.median / ab.low;
    struct pairs_resolution r = {
        .called_low = fmin(1, aa.low) * down,
        .called_high = fmax(1, aa.high) * up,
    };
    r.found_low = r.called_low * down;
    r.found_high = r.called_high * up;
    return r;
}

enum pairs_bar pairs_judge_bar(struct pairs_interval ab, double bar)
{
    if (ab.high < bar) return PAIRS_MET;
    return ab.low > bar ? PAIRS_MISSED : PAIRS_NOT_RESOLVED;
}

const char *pairs_bar_name(enum pairs_bar judged)
{
    static const char *const names[] = {"met", "missed", "not resolved", "void"};
    return names[judged];
}
