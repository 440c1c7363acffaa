/* rng: a counter-based generator: word number n of a stream under a key is a pure function of key,
 * stream and n. The counter has 256 bits, so one key serves many purposes: a stream is two words of
 * the counter, and its blocks are the first.
 *
 * Philox-4x64-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011; known-answer vectors of Random123's kat_vectors). Any thread. */
#ifndef INTERLUDE_BASE_RNG_H
#define INTERLUDE_BASE_RNG_H

#include "base/hash.h"

/* Counters (block, purpose, item, 0) for every block. */
struct rng_stream {
    uint64_t purpose, item;
};

struct rng {
    struct hash128 key;
    struct rng_stream stream;
    uint64_t block; /* of the next four words */
    uint64_t words[4];
    uint32_t left;
};

/* Stream (0, 0). */
void rng_init(struct rng *r, struct hash128 key);

void rng_init_stream(struct rng *r, struct hash128 key, struct rng_stream stream);

/* The function itself, on a whole counter. `out` may be `counter`. */
void rng_philox(struct hash128 key, const uint64_t counter[4], uint64_t out[4]);

/* Four words of a stream. */
void rng_block(struct hash128 key, struct rng_stream stream, uint64_t block, uint64_t out[4]);

/* Words in order: those of block 0, then of block 1, ... */
uint64_t rng_next(struct rng *r);

/* In (0, 1): (top 52 bits + 1/2) / 2^52; never 0, never 1 (with 53 bits the largest would round to
 * 1). Exact, and so is one minus it, which is the number of the inverted word. */
double rng_open01(uint64_t word);

#endif
