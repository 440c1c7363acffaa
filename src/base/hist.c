#include "base/hist.h"

#include <math.h>

enum { SUB = 1 << HIST_SUB_BITS, EXACT = 2 * SUB };

_Static_assert(HIST_BUCKETS < 2000, "a histogram is small enough to be copied");

size_t hist_bucket(uint64_t ns)
{
    if (ns < EXACT) return (size_t)ns;
    if (ns > HIST_MAX_NS) ns = HIST_MAX_NS;
    int power = 63 - __builtin_clzll(ns);
    size_t sub = (size_t)(ns >> (power - HIST_SUB_BITS)) - SUB;
    return EXACT + (size_t)(power - HIST_SUB_BITS - 1) * SUB + sub;
}

uint64_t hist_bucket_first(size_t bucket)
{
    if (bucket < EXACT) return bucket;
    size_t above = bucket - EXACT;
    return (SUB + above % SUB) << (above / SUB + 1);
}

void hist_init(struct hist *h)
{
    *h = (struct hist){.min = UINT64_MAX};
}

void hist_record(struct hist *h, uint64_t ns)
{
    hist_record_n(h, ns, 1);
}

void hist_record_n(struct hist *h, uint64_t ns, uint64_t n)
{
    if (n == 0) return;
    h->buckets[hist_bucket(ns)] += n;
    h->count += n;
    h->sum += ns * n;
    if (ns >= HIST_MAX_NS) h->over += n;
    if (ns < h->min) h->min = ns;
    if (ns > h->max) h->max = ns;
}

void hist_add(struct hist *into, const struct hist *from)
{
    for (size_t i = 0; i < HIST_BUCKETS; i++) into->buckets[i] += from->buckets[i];
    into->count += from->count;
    into->over += from->over;
    into->sum += from->sum;
    if (from->min < into->min) into->min = from->min;
    if (from->max > into->max) into->max = from->max;
}

/* The middle of a bucket, but never outside of what was recorded. */
static uint64_t bucket_value(const struct hist *h, size_t bucket)
{
    uint64_t first = hist_bucket_first(bucket);
    uint64_t middle = first + (hist_bucket_first(bucket + 1) - first) / 2;
    if (middle < h->min) return h->min;
    return middle > h->max ? h->max : middle;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
    if (h->count == 0) return 0;
    double exact = ceil(q * (double)h->count);
    uint64_t rank = exact < 1 ? 1 : exact >= (double)h->count ? h->count : (uint64_t)exact;
    if (rank == 1) return h->min;
    if (rank == h->count) return h->max;
    uint64_t seen = 0;
    for (size_t i = 0; i < HIST_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen >= rank) return bucket_value(h, i);
    }
    return h->max;
}

uint64_t hist_count_upto(const struct hist *h, uint64_t ns)
{
    uint64_t n = 0;
    for (size_t i = 0; i < HIST_BUCKETS && hist_bucket_first(i + 1) - 1 <= ns; i++)
        n += h->buckets[i];
    return n;
}

double hist_mean(const struct hist *h)
{
    return h->count ? (double)h->sum / (double)h->count : 0;
}
