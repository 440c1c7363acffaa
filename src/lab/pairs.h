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
 * "No difference" is worth as much as the shift that would have been found, so that is told too.
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

/* `ratios` in any order, which they keep. n in [PAIRS_MIN, PAIRS_MAX]; all finite. */
struct pairs_interval pairs_interval_of(const double *ratios, size_t n);

/* Of pair `i` (from 0): does A run first? */
bool pairs_a_first(size_t i);

/* PAIRS_VOID is for whoever made the runs to find: the figures are no figures. */
enum pairs_verdict { PAIRS_NO_DIFFERENCE, PAIRS_FASTER, PAIRS_SLOWER, PAIRS_VOID };

/* Less is faster. No difference: the interval contains 1, or touches that of the A/A pairs. */
enum pairs_verdict pairs_judge(struct pairs_interval ab, struct pairs_interval aa);
const char *pairs_verdict_name(enum pairs_verdict verdict);

/* What such a scatter lets see. Each is a range around 1, and means: beyond it. */
struct pairs_resolution {
    double called_low, called_high; /* a median that is called faster or slower */
    double found_low, found_high;   /* a true B/A that is found in about nine of ten measurements */
};

/* The interval's ends, as factors of the median, are taken to stay when the median moves. Slower is
 * called if it then begins over both 1 and the A/A interval:
 *
 *     called_high = max(1, aa.high) * ab.median / ab.low
 *
 * Of true ratios just there half are found, for the median falls to either side of it. Another such
 * factor makes room for that:
 *
 *     found_high = called_high * ab.median / ab.low
 *
 * and the same downwards with the other ends. For an interval that is two standard errors of the
 * median to either side, the room is 1.4 standard errors of what is compared, which nine of ten do
 * not exceed. */
struct pairs_resolution pairs_resolution_of(struct pairs_interval ab, struct pairs_interval aa);

enum pairs_bar { PAIRS_MET, PAIRS_MISSED, PAIRS_NOT_RESOLVED, PAIRS_BAR_VOID };

/* Met: the interval ends under the bar. Missed: it begins over it. */
enum pairs_bar pairs_judge_bar(struct pairs_interval ab, double bar);
const char *pairs_bar_name(enum pairs_bar judged);

#endif
