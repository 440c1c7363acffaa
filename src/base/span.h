/* span: a view of bytes that somebody else owns.
 *
 * Not NUL-terminated; may hold any byte. A span of length 0 may have data NULL.
 * Threads: values, no state. Ownership: the bytes belong to whoever made the span; each function
 * that hands one out says how long they live. */
#ifndef INTERLUDE_BASE_SPAN_H
#define INTERLUDE_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
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

static inline bool span_equal(struct span a, struct span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Compares with a literal; the size is known, so no call is made. */
#define SPAN_IS(span, literal) \
    ((span).len == sizeof(literal) - 1 && memcmp((span).data, (literal), sizeof(literal) - 1) == 0)

static inline bool span_is(struct span a, const char *text)
{
    return span_equal(a, span_of(text));
}

#endif
