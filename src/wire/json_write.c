#include "wire/json_write.h"

#include "base/decimal.h"
#include "base/printed.h"
#include "wire/json_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- strings ---- */

static void write_unit(struct buf *b, uint32_t code)
{
    buf_lit(b, "\\u");
    buf_hex(b, code, 4);
}

static void write_escape(struct buf *b, unsigned char c)
{
    switch (c) {
    case '"':
        buf_lit(b, "\\\"");
        return;
    case '\\':
        buf_lit(b, "\\\\");
        return;
    case '\b':
        buf_lit(b, "\\b");
        return;
    case '\f':
        buf_lit(b, "\\f");
        return;
    case '\n':
        buf_lit(b, "\\n");
        return;
    case '\r':
        buf_lit(b, "\\r");
        return;
    case '\t':
        buf_lit(b, "\\t");
        return;
    default:
        break;
    }
    write_unit(b, c);
}

/* `printed`: see json_write_printed. */
static void write_mixed(struct buf *b, const char *at, const char *end, bool printed)
{
    buf_char(b, '"');
    while (at < end) {
        const char *plain = json_plain_end(at, end);
        const char *del = printed ? memchr(at, 0x7f, (size_t)(plain - at)) : NULL;
        if (del) plain = del;
        buf_put(b, at, (size_t)(plain - at));
        at = plain;
        if (at == end) break;
        unsigned char c = (unsigned char)*at;
        if (c < 0x80) {
            write_escape(b, c);
            at++;
            continue;
        }
        uint32_t code;
        size_t len = json_utf8_length(at, end);
        if (len && printed && printed_control(at, end, &code))
            write_unit(b, code);
        else if (len)
            buf_put(b, at, len);
        else
            buf_lit(b, "\xef\xbf\xbd"); /* U+FFFD */
        at += len ? len : 1;
    }
    buf_char(b, '"');
}

void json_write_string(struct buf *b, struct span text)
{
    if (text.len == 0) {
        buf_lit(b, "\"\"");
        return;
    }
    const char *end = text.data + text.len;
    if (json_plain_end(text.data, end) != end) {
        write_mixed(b, text.data, end, false);
        return;
    }
    char *at = buf_take(b, text.len + 2);
    if (!at) return;
    at[0] = '"';
    memcpy(at + 1, text.data, text.len);
    at[1 + text.len] = '"';
}

void json_write_printed(struct buf *b, struct span text)
{
    /* DEL is the one of them that a plain text may have in it. */
    const char *end = text.len ? text.data + text.len : NULL;
    if (text.len && (json_plain_end(text.data, end) != end || memchr(text.data, 0x7f, text.len)))
        write_mixed(b, text.data, end, true);
    else
        json_write_string(b, text);
}

void json_write_key(struct buf *b, struct span key)
{
    if (b->len > 0 && b->data[b->len - 1] != '{') buf_char(b, ',');
    json_write_string(b, key);
    buf_char(b, ':');
}

/* ---- doubles ----
 *
 * 17 digits always read back as the same double. Digits are taken off from the end while one of the
 * two decimals on either side still does; if none of n digits does, none of fewer can. At the
 * length that is left, the decimal nearest to the value is the one to write, if it reads back: it
 * need not, just above a power of two, where doubles are denser below than above. */

enum { DIGITS_ALWAYS_ENOUGH = 17 };

struct digits {
    uint64_t word;
    int count;    /* digits of `word`, which does not begin with 0 */
    int exponent; /* the value is word * 10^exponent */
};

/* The nearest decimal of `count` digits. printf puts the locale's decimal point between them, which
 * may be any bytes that are no digits. */
static struct digits digits_nearest(double value, int count)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", count - 1, value);
    struct digits d = {.count = count};
    const char *at = text;
    for (; *at != 'e'; at++)
        if (*at >= '0' && *at <= '9') d.word = d.word * 10 + (uint64_t)(*at - '0');
    d.exponent = (int)strtol(at + 1, NULL, 10) - (count - 1);
    return d;
}

static bool digits_read_back(struct digits d, double value)
{
    char memory[40];
    struct buf b = buf_of(memory, sizeof memory);
    buf_u64(&b, d.word);
    buf_char(&b, 'e');
    buf_i64(&b, d.exponent);
    struct decimal read;
    return decimal_read(buf_text(&b), &read) == b.len && read.value == value;
}

/* `value` is finite and above 0. */
static struct digits digits_shortest(double value)
{
    const struct digits all = digits_nearest(value, DIGITS_ALWAYS_ENOUGH);
    struct digits best = all;
    uint64_t unit = 1;
    while (best.count > 1) {
        unit *= 10;
        struct digits below = {all.word / unit, best.count - 1, best.exponent + 1};
        struct digits above = below;
        above.word++;
        if (digits_read_back(below, value))
            best = below;
        else if (digits_read_back(above, value))
            best = above;
        else
            break;
    }
    struct digits nearest = digits_nearest(value, best.count);
    if (digits_read_back(nearest, value)) best = nearest;
    while (best.word % 10 == 0) { /* 9.99 may have been rounded up to 10.00 */
        best.word /= 10;
        best.exponent++;
    }
    return best;
}

static void write_zeros(struct buf *b, int count)
{
    while (count-- > 0) buf_char(b, '0');
}

/* Where the point goes, and from where on there is an exponent, is what ECMAScript's
 * Number.prototype.toString does (ECMA-262, Number::toString). */
static void write_digits(struct buf *b, struct digits d)
{
    char memory[24];
    struct buf digits = buf_of(memory, sizeof memory);
    buf_u64(&digits, d.word);
    int count = (int)digits.len, point = count + d.exponent; /* digits before the point */
    int before = point;
    bool scientific = point > 21 || point <= -6;
    if (scientific) before = 1;
    if (before <= 0) {
        buf_lit(b, "0.");
        write_zeros(b, -before);
        buf_put(b, memory, (size_t)count);
    } else if (before >= count) {
        buf_put(b, memory, (size_t)count);
        write_zeros(b, before - count);
    } else {
        buf_put(b, memory, (size_t)before);
        buf_char(b, '.');
        buf_put(b, memory + before, (size_t)(count - before));
    }
    if (!scientific) return;
    buf_char(b, 'e');
    if (point > 0) buf_char(b, '+');
    buf_i64(b, point - 1);
}

void json_write_double(struct buf *b, double value)
{
    if (!isfinite(value)) {
        buf_lit(b, "null");
        return;
    }
    if (signbit(value)) buf_char(b, '-');
    if (value == 0)
        buf_char(b, '0');
    else
        write_digits(b, digits_shortest(fabs(value)));
}
