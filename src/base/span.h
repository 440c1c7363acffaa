/* span: a view of bytes that somebody else owns.
 *
 * Not NUL-terminated; may hold any byte. A span of length 0 may have data NULL.
 * Threads: values, no state. Ownership: the bytes belong to whoever made the span; each function
 * that hands one out says how long they live. */
#ifndef INTERLUDE_BASE_SPAN_H
#define INTERLUDE_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
    const char *data;
    size_t len;
};

#define SPAN(literal) ((struct span){(literal), sizeof(literal) - 1})

static inline struct span span_of(const char *text)
{
    return (struct span){text, text ? strlen(text) : 0};
}

/* Names are short, and memcmp is a call: up to 32 bytes are compared here, the last step of 8 or 4
 * overlapping the one before. */
static inline bool span_bytes_equal(const char *a, const char *b, size_t n)
{
    if (n >= 8) {
        if (n > 32) return memcmp(a, b, n) == 0;
        uint64_t x, y;
        for (size_t i = 0; i + 8 < n; i += 8) {
            memcpy(&x, a + i, 8);
            memcpy(&y, b + i, 8);
            if (x != y) return false;
        }
        memcpy(&x, a + n - 8, 8);
        memcpy(&y, b + n - 8, 8);
        return x == y;
    }
    if (n >= 4) {
        uint32_t x[2], y[2];
        memcpy(&x[0], a, 4);
        memcpy(&y[0], b, 4);
        memcpy(&x[1], a + n - 4, 4);
        memcpy(&y[1], b + n - 4, 4);
        return x[0] == y[0] && x[1] == y[1];
    }
    while (n && a[n - 1] == b[n - 1]) n--;
    return n == 0;
}

static inline bool span_equal(struct span a, struct span b)
{
    return a.len == b.len && span_bytes_equal(a.data, b.data, b.len);
}

/* Less than, equal to or greater than 0: the order of the bytes, which for UTF-8 is that of the
 * code points; of two of which one begins the other, the shorter is less. */
static inline int span_compare(struct span a, struct span b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int first = n ? memcmp(a.data, b.data, n) : 0;
    return first ? first : (a.len > b.len) - (a.len < b.len);
}

/* Compares with a literal; the size is known, so no call is made. */
#define SPAN_IS(span, literal) \
    ((span).len == sizeof(literal) - 1 && memcmp((span).data, (literal), sizeof(literal) - 1) == 0)

static inline bool span_is(struct span a, const char *text)
{
    size_t n = strlen(text);
    return a.len == n && (n == 0 || memcmp(a.data, text, n) == 0);
}

#endif
