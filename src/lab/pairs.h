/* pairs: is B faster than A, on a machine that never stands still?
 *
 * Runs of A and B alternate (A B, B A, A B, ...), so that what drifts slowly hits both sides of a
 * pair alike and the order favours neither. Each pair gives one ratio B/A. What is told is the
 * median of the ratios and an interval that holds the true median with at least 95 % probability
 * whatever the noise is distributed like: of n independent values, the number that lie below their
 * median is Binomial(n, 1/2), so the k-th smallest and the k-th largest enclose it with probability
 * 1 - 2 P(Binomial(n, 1/2) < k) (the sign test, turned round). Fewer than 6 pairs have no such k.
 *
 * Beside them stands a set of A/A pairs, made the same way. It shows what this machine makes out of
 * no difference at all; a difference that does not stand clear of that is none.
 *
 * Pure; any thread; nothing allocates. */
#ifndef INTERLUDE_LAB_PAIRS_H
#define INTERLUDE_LAB_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

enum { PAIRS_MIN = 6, PAIRS_MAX = 1000 };

struct pairs_interval {
    double median, low, high;
    double confidence; /* at least 0.95 */
};

/* The k of the interval for n in [PAIRS_MIN, PAIRS_MAX]: from the k-th smallest to the k-th
 * largest, k from 1; and its exact confidence. */
size_t pairs_rank(size_t n, double *confidence);

/* `ratios` are put in order. n in [PAIRS_MIN, PAIRS_MAX]; all finite. */
struct pairs_interval pairs_interval_of(double *ratios, size_t n);

/* Of pair `i` (from 0): does A run first? */
bool pairs_a_first(size_t i);

enum pairs_verdict { PAIRS_NO_DIFFERENCE, PAIRS_FASTER, PAIRS_SLOWER };

/* Less is faster. No difference: the interval contains 1, or touches that of the A/A pairs. */
enum pairs_verdict pairs_judge(struct pairs_interval ab, struct pairs_interval aa);
const char *pairs_verdict_name(enum pairs_verdict verdict);

enum pairs_bar { PAIRS_MET, PAIRS_MISSED, PAIRS_NOT_RESOLVED };

/* Met: the interval ends under the bar. Missed: it begins over it. */
enum pairs_bar pairs_judge_bar(struct pairs_interval ab, double bar);
const char *pairs_bar_name(enum pairs_bar judged);

#endif
