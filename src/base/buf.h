/* buf: bytes written one after the other into memory of a fixed size.
 *
 * What does not fit is not written, and `full` stays set: writers never check, the owner checks
 * once at the end. Nothing here allocates. Threads: one at a time. Ownership: the caller owns the
 * memory; the buf only points at it. */
#ifndef INTERLUDE_BASE_BUF_H
#define INTERLUDE_BASE_BUF_H

#include "base/span.h"

#include <stdint.h>

struct buf {
    char *data;
    size_t len, cap;
    bool full; /* something did not fit; `data[0..len)` is then a cut text */
};

static inline struct buf buf_of(char *memory, size_t cap)
{
    return (struct buf){memory, 0, cap, false};
}

/* Room for `n` bytes at the end, or NULL and `full`. The caller writes exactly `n` bytes there. */
static inline char *buf_take(struct buf *b, size_t n)
{
    if (b->full || b->cap - b->len < n) {
        b->full = true;
        return NULL;
    }
    char *at = b->data + b->len;
    b->len += n;
    return at;
}

static inline void buf_put(struct buf *b, const void *bytes, size_t n)
{
    char *at = buf_take(b, n);
    if (at && n) memcpy(at, bytes, n);
}

/* Mostly names: up to 16 bytes are copied here, in two steps that overlap, without a call. */
static inline void buf_span(struct buf *b, struct span s)
{
    char *at = buf_take(b, s.len);
    if (!at || !s.len) return;
    if (s.len > 16 || s.len < 4) {
        memcpy(at, s.data, s.len);
    } else if (s.len >= 8) {
        memcpy(at, s.data, 8);
        memcpy(at + s.len - 8, s.data + s.len - 8, 8);
    } else {
        memcpy(at, s.data, 4);
        memcpy(at + s.len - 4, s.data + s.len - 4, 4);
    }
}
static inline void buf_char(struct buf *b, char c)
{
    buf_put(b, &c, 1);
}
#define buf_lit(b, literal) buf_put((b), (literal), sizeof(literal) - 1)

void buf_u64(struct buf *b, uint64_t value);
void buf_i64(struct buf *b, int64_t value);
/* The last `digits` hexadecimal digits of the value, 1 to 16, in lower case. */
void buf_hex(struct buf *b, uint64_t value, int digits);

/* For text that is not on the request path. */
void buf_format(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline struct span buf_text(const struct buf *b)
{
    return (struct span){b->data, b->len};
}

#endif
