#include "base/rng.h"

void rng_philox(struct hash128 key, const uint64_t counter[4], uint64_t out[4])
{
    uint64_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
    for (int round = 0; round < 10; round++) {
        unsigned __int128 a = (unsigned __int128)x0 * 0xd2e7470ee14c6c93;
        unsigned __int128 b = (unsigned __int128)x2 * 0xca5a826395121157;
        x0 = (uint64_t)(b >> 64) ^ x1 ^ key.lo;
        x1 = (uint64_t)b;
        x2 = (uint64_t)(a >> 64) ^ x3 ^ key.hi;
        x3 = (uint64_t)a;
        key.lo += 0x9e3779b97f4a7c15;
        key.hi += 0xbb67ae8584caa73b;
    }
    out[0] = x0, out[1] = x1, out[2] = x2, out[3] = x3;
}

void rng_block(struct hash128 key, struct rng_stream stream, uint64_t block, uint64_t out[4])
{
    rng_philox(key, (const uint64_t[4]){block, stream.purpose, stream.item}, out);
}

void rng_init(struct rng *r, struct hash128 key)
{
    rng_init_stream(r, key, (struct rng_stream){0, 0});
}

void rng_init_stream(struct rng *r, struct hash128 key, struct rng_stream stream)
{
    r->key = key;
    r->stream = stream;
    r->block = 0;
    r->left = 0;
}

uint64_t rng_next(struct rng *r)
{
    if (r->left == 0) {
        rng_block(r->key, r->stream, r->block++, r->words);
        r->left = 4;
    }
    return r->words[4 - r->left--];
}

double rng_open01(uint64_t word)
{
    return ((double)(int64_t)(word >> 12) + 0.5) * 0x1p-52;
}
