/* http_scan: the first byte that may not stand where it does. The part of http_read that sees every
 * byte of a head; nothing else includes it. Pure; any thread. */
#ifndef INTERLUDE_WIRE_HTTP_SCAN_H
#define INTERLUDE_WIRE_HTTP_SCAN_H

#include "wire/http_field.h"

/* The first byte in buf[at..end) that is not of `class`, or `end`. */
static inline uint32_t class_scan(const char *buf, uint32_t at, uint32_t end, uint8_t class)
{
    const char *p = buf + at, *stop = buf + end;
    for (; stop - p >= 4; p += 4) {
        if (!http_byte_is(p[0], class)) return (uint32_t)(p - buf);
        if (!http_byte_is(p[1], class)) return (uint32_t)(p + 1 - buf);
        if (!http_byte_is(p[2], class)) return (uint32_t)(p + 2 - buf);
        if (!http_byte_is(p[3], class)) return (uint32_t)(p + 3 - buf);
    }
    while (p < stop && http_byte_is(*p, class)) p++;
    return (uint32_t)(p - buf);
}

/* The first control character in buf[at..end), or `end`; eight bytes at a time. A borrow can mark
 * only bytes after one that is marked rightly, so the first mark is right. */
static inline uint32_t control_scan(const char *buf, uint32_t at, uint32_t end)
{
    const uint64_t ones = 0x0101010101010101u, highs = ones << 7;
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, buf + at, sizeof word);
        uint64_t deleted = word ^ (ones * 0x7f);
        uint64_t marks = (((word - ones * ' ') & ~word) | ((deleted - ones) & ~deleted)) & highs;
        if (marks) return at + (uint32_t)__builtin_ctzll(marks) / 8;
    }
    while (at < end && (uint8_t)buf[at] >= ' ' && buf[at] != 0x7f) at++;
    return at;
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte is the lowest of a word");

/* The first byte in buf[at..end) that may not stand in a field value (RFC 9110, 5.5: any but
 * control characters, tabs allowed), or `end`. */
static inline uint32_t value_scan(const char *buf, uint32_t at, uint32_t end)
{
    while ((at = control_scan(buf, at, end)) < end && buf[at] == '\t') at++;
    return at;
}

#endif
