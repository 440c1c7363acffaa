/* json_text: what the JSON reader and the writer both have to know about the bytes of a string.
 * Pure; any thread. For this room only. */
#ifndef INTERLUDE_WIRE_JSON_TEXT_H
#define INTERLUDE_WIRE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* A byte that stands for itself in a JSON string, and is a whole character: ASCII, but no control
 * character, quote or backslash. */
static inline bool json_is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

#if defined(__SSE2__)
/* Of 16 bytes, those that are not plain, as bits. As signed bytes, what is below a space is the
 * control characters and everything outside ASCII. */
static inline uint32_t json_plain_not16(const char *at)
{
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i found = _mm_cmplt_epi8(x, _mm_set1_epi8(' '));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(x, _mm_set1_epi8('"')));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
    return (uint32_t)_mm_movemask_epi8(found);
}
#endif

/* The first byte in [at, end) that is not plain, or `end`. Sixteen at a time where the processor is
 * known to do that, else eight at a time: each of the four tests sets the high bit of the bytes it
 * finds. A borrow may set the bit of a byte further on, but never of one before the first that is
 * found; and only the first counts. */
static inline const char *json_plain_end(const char *at, const char *end)
{
#if defined(__SSE2__)
    while (end - at >= 16) {
        uint32_t found = json_plain_not16(at);
        if (found) return at + __builtin_ctz(found);
        at += 16;
    }
#endif
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    while (end - at >= 8) {
        uint64_t x;
        memcpy(&x, at, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        x = __builtin_bswap64(x);
#endif
        uint64_t quote = (x ^ ones * '"') - ones;
        uint64_t backslash = (x ^ ones * '\\') - ones;
        uint64_t control = x - ones * 0x20;
        /* A byte that has its own high bit is found by `x`, so the others need not leave it out. */
        uint64_t found = (quote | backslash | control | x) & highs;
        if (found) return at + (__builtin_ctzll(found) >> 3);
        at += 8;
    }
    while (at < end && json_is_plain((unsigned char)*at)) at++;
    return at;
}

/* The first byte in [at, end) that is no blank, or `end`. */
static inline const char *json_blank_end(const char *at, const char *end)
{
    const uint64_t blanks = 0x2020202020202020u;
    while (end - at >= 8) {
        uint64_t x;
        memcpy(&x, at, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        x = __builtin_bswap64(x);
#endif
        x ^= blanks;
        if (x) return at + (__builtin_ctzll(x) >> 3);
        at += 8;
    }
    while (at < end && *at == ' ') at++;
    return at;
}

/* The length of the UTF-8 character outside ASCII that starts at `at` < `end`; 0 if it is not well
 * formed (Unicode, table 3-7: not overlong, no surrogate, not above U+10FFFF) or is cut off. */
static inline size_t json_utf8_length(const char *at, const char *end)
{
    const unsigned char *c = (const unsigned char *)at;
    size_t left = (size_t)(end - at);
    if (c[0] >= 0xc2 && c[0] <= 0xdf) return left >= 2 && (c[1] & 0xc0) == 0x80 ? 2 : 0;
    /* The range of the second byte depends on the first; that of the others does not. */
    unsigned char low = 0x80, high = 0xbf;
    if (c[0] == 0xe0) low = 0xa0;
    if (c[0] == 0xed) high = 0x9f;
    if (c[0] == 0xf0) low = 0x90;
    if (c[0] == 0xf4) high = 0x8f;
    size_t length = c[0] >= 0xe0 && c[0] <= 0xef ? 3 : c[0] >= 0xf0 && c[0] <= 0xf4 ? 4 : 0;
    if (length == 0 || left < length || c[1] < low || c[1] > high) return 0;
    for (size_t i = 2; i < length; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    return length;
}

#endif
