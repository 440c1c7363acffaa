/* hist: how often each duration came, in buckets that keep every duration to within 3 %.
 *
 * Log-linear: below 64 ns every value has a bucket of its own; above, each power of two is divided
 * into 32 equal buckets, so a bucket is at most 1/32 of its lower bound wide, and its middle, which
 * is what is told, is at most 1/64 (1.6 %) off any value in it. HIST_MAX_NS and more share the last
 * bucket and are counted in `over` as well.
 *
 * Two histograms always have the same buckets, so adding one to another loses nothing: the sum is
 * what one histogram of all values would have been. That is why it is used wherever percentiles of
 * several connections, workers or intervals are put together.
 *
 * Threads: one at a time. Ownership: a value without pointers; it can be copied and written out. */
#ifndef INTERLUDE_BASE_HIST_H
#define INTERLUDE_BASE_HIST_H

#include <stddef.h>
#include <stdint.h>

#define HIST_MAX_NS 100000000000ull /* 100 s */

enum {
    HIST_SUB_BITS = 5,
    /* 2 x 32 exact ones, then 32 for each power of two from 2^6 up to that of HIST_MAX_NS, 2^36. */
    HIST_BUCKETS = 64 + 32 * (36 - 6 + 1),
};

struct hist {
    uint64_t count;    /* of all values */
    uint64_t over;     /* of those that were >= HIST_MAX_NS */
    uint64_t sum;      /* of all values as they were recorded, in ns; not rounded, not capped */
    uint64_t min, max; /* exact; min is UINT64_MAX and max 0 while count is 0 */
    uint64_t buckets[HIST_BUCKETS];
};

void hist_init(struct hist *h);
void hist_record(struct hist *h, uint64_t ns);
void hist_record_n(struct hist *h, uint64_t ns, uint64_t n);

/* Adds every value of `from` to `into`. Exact. */
void hist_add(struct hist *into, const struct hist *from);

/* The smallest recorded value, to within 1.6 %, that at least a share `q` of all values does not
 * exceed: the nearest-rank percentile, rank = ceil(q x count), at least 1. `q` in [0, 1]; 0 gives
 * the minimum and 1 the maximum, both exact. 0 if nothing was recorded. */
uint64_t hist_quantile(const struct hist *h, double q);

/* Values that were recorded and lie in buckets wholly at or below `ns`. */
uint64_t hist_count_upto(const struct hist *h, uint64_t ns);

double hist_mean(const struct hist *h); /* 0 if nothing was recorded */

/* The bucket of a value, and the first value of a bucket (the first after it ends it). */
size_t hist_bucket(uint64_t ns);
uint64_t hist_bucket_first(size_t bucket);

#endif
