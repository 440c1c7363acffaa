#include "base/hash.h"

#include "base/err.h"

#include <endian.h>

enum { PARTS_MAX = 4, PART_BYTES_MAX = 512 };

static inline uint64_t rotl64(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}
static inline uint32_t rotl32(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static inline uint64_t load64(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return le64toh(x);
}

static inline uint32_t load32(const char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return le32toh(x);
}

struct sip {
    uint64_t v0, v1, v2, v3;
};

static inline void sip_round(struct sip *s)
{
    s->v0 += s->v1, s->v1 = rotl64(s->v1, 13), s->v1 ^= s->v0, s->v0 = rotl64(s->v0, 32);
    s->v2 += s->v3, s->v3 = rotl64(s->v3, 16), s->v3 ^= s->v2;
    s->v0 += s->v3, s->v3 = rotl64(s->v3, 21), s->v3 ^= s->v0;
    s->v2 += s->v1, s->v1 = rotl64(s->v1, 17), s->v1 ^= s->v2, s->v2 = rotl64(s->v2, 32);
}

static inline void sip_absorb(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    sip_round(s);
    sip_round(s);
    s->v0 ^= word;
}

static inline uint64_t sip_finish(struct sip *s)
{
    for (int i = 0; i < 4; i++) sip_round(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

static inline struct sip sip_begin(struct hash128 key)
{
    return (struct sip){0x736f6d6570736575 ^ key.lo, 0x646f72616e646f6d ^ key.hi ^ 0xee,
                        0x6c7967656e657261 ^ key.lo, 0x7465646279746573 ^ key.hi};
}

/* The rest of a message of which `before` bytes, whole words, are absorbed; and the end. */
static inline struct hash128 sip_end(struct sip s, struct span rest, size_t before)
{
    size_t words = rest.len / 8;
    for (size_t i = 0; i < words; i++) sip_absorb(&s, load64(rest.data + 8 * i));

    uint64_t last = (uint64_t)((before + rest.len) & 0xff) << 56;
    for (size_t i = 8 * words; i < rest.len; i++)
        last |= (uint64_t)(unsigned char)rest.data[i] << 8 * (i & 7);
    sip_absorb(&s, last);

    struct hash128 out;
    s.v2 ^= 0xee;
    out.lo = sip_finish(&s);
    s.v1 ^= 0xdd;
    out.hi = sip_finish(&s);
    return out;
}

struct hash128 hash_sip128(struct hash128 key, struct span message)
{
    return sip_end(sip_begin(key), message, 0);
}

struct hash128 hash_sip128_framed(struct hash128 key, struct span message)
{
    struct sip s = sip_begin(key);
    sip_absorb(&s, message.len);
    return sip_end(s, message, 8);
}

struct hash128 hash_parts(const struct span *parts, int count)
{
    char text[PARTS_MAX * (8 + PART_BYTES_MAX)];
    size_t used = 0;
    INVARIANT(count <= PARTS_MAX);
    for (int i = 0; i < count; i++) {
        INVARIANT(parts[i].len <= PART_BYTES_MAX);
        uint64_t len = htole64(parts[i].len);
        memcpy(text + used, &len, 8);
        memcpy(text + used + 8, parts[i].data, parts[i].len);
        used += 8 + parts[i].len;
    }
    return hash_sip128((struct hash128){0, 0}, (struct span){text, used});
}

uint32_t hash_murmur3_32(struct span message, uint32_t seed)
{
    const uint32_t c1 = 0xcc9e2d51, c2 = 0x1b873593;
    uint32_t h = seed;
    size_t words = message.len / 4;
    for (size_t i = 0; i < words; i++) {
        uint32_t k = load32(message.data + 4 * i) * c1;
        h ^= rotl32(k, 15) * c2;
        h = rotl32(h, 13) * 5 + 0xe6546b64;
    }
    uint32_t tail = 0;
    for (size_t i = message.len; i > 4 * words; i--)
        tail = tail << 8 | (unsigned char)message.data[i - 1];
    h ^= rotl32(tail * c1, 15) * c2;

    h ^= (uint32_t)message.len;
    h = (h ^ h >> 16) * 0x85ebca6b;
    h = (h ^ h >> 13) * 0xc2b2ae35;
    return h ^ h >> 16;
}
