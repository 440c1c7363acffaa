/* hash: two published hash functions. Pure; any thread; byte order does not matter. */
#ifndef INTERLUDE_BASE_HASH_H
#define INTERLUDE_BASE_HASH_H

#include "base/span.h"

#include <stdint.h>

struct hash128 {
    uint64_t lo, hi;
};

/* SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, "SipHash: a fast short-input PRF",
 * 2012; reference vectors of their siphash.c, vectors_sip128). `key` is the 16 key bytes read as
 * two little-endian words, and so is the result. */
struct hash128 hash_sip128(struct hash128 key, struct span message);

/* The same of the message behind its length as a little-endian word of 8 bytes: so that whatever is
 * ever put behind it, no two messages read the same. */
struct hash128 hash_sip128_framed(struct hash128 key, struct span message);

/* hash_sip128 under the key 0 of the parts one behind the other, each behind its length as above.
 * At most 4 parts of 512 bytes each. Not for the request path. */
struct hash128 hash_parts(const struct span *parts, int count);

/* MurmurHash3_x86_32 (Austin Appleby, public domain). For allocation, where other systems must be
 * able to compute the same number; not for anything that must resist an opponent. */
uint32_t hash_murmur3_32(struct span message, uint32_t seed);

#endif
