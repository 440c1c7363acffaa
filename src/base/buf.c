#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

void buf_u64(struct buf *b, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    buf_put(b, digits + at, sizeof digits - at);
}

void buf_i64(struct buf *b, int64_t value)
{
    if (value < 0) buf_char(b, '-');
    buf_u64(b, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void buf_format(struct buf *b, const char *format, ...)
{
    if (b->full) return;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(b->data + b->len, b->cap - b->len, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= b->cap - b->len)
        b->full = true; /* the NUL must fit as well */
    else
        b->len += (size_t)n;
}

void buf_hex(struct buf *b, uint64_t value, int digits)
{
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
        buf_char(b, "0123456789abcdef"[value >> shift & 15]);
}
