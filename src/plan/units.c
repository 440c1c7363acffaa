#include "plan/units.h"

enum { FIXED_BYTES_MAX = 12, PPM_ALL = 1000000 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits, and a fraction of at most `decimals` (0 to 6) digits, off the front: the value
 * times ten to the power `decimals`. A text this short cannot overflow it. */
static bool take_fixed(struct span *text, int decimals, int64_t *value)
{
    const char *p = text->data, *end = p + text->len;
    bool ok = text->len > 0 && text->len <= FIXED_BYTES_MAX && is_digit(*p);
    *value = 0;
    for (; ok && p < end && is_digit(*p); p++) *value = *value * 10 + (*p - '0');
    if (ok && p < end && *p == '.') {
        p++;
        ok = p < end && is_digit(*p);
        for (; p < end && is_digit(*p) && decimals > 0; p++, decimals--)
            *value = *value * 10 + (*p - '0');
    }
    for (; ok && decimals > 0; decimals--) *value *= 10;
    *text = (struct span){p, (size_t)(end - p)};
    return ok;
}

/* ---- durations ---- */

static const struct {
    const char *name;
    int64_t ms;
} units[] = {
    {"ms", 1}, {"s", UNIT_SECOND_MS}, {"m", 60000}, {"h", UNIT_HOUR_MS}, {"d", UNIT_DAY_MS}};
enum { UNITS = sizeof units / sizeof *units, UNIT_SECONDS = 1 };

bool duration_read(struct span text, int64_t *ms)
{
    int64_t thousandths;
    if (!take_fixed(&text, 3, &thousandths)) return false;
    for (size_t i = 0; i < UNITS; i++) {
        if (!span_is(text, units[i].name)) continue;
        __int128 exact = (__int128)thousandths * units[i].ms;
        *ms = (int64_t)(exact / 1000);
        return exact % 1000 == 0 && exact / 1000 <= INT64_MAX;
    }
    return false;
}

void duration_write(struct buf *b, int64_t ms, bool days)
{
    size_t unit = ms == 0 ? UNIT_SECONDS : days ? UNITS - 1 : UNITS - 2;
    while (ms % units[unit].ms != 0) unit--;
    buf_i64(b, ms / units[unit].ms);
    buf_span(b, span_of(units[unit].name));
}

/* ---- shares ---- */

bool share_read(struct span text, uint32_t *ppm)
{
    int64_t value;
    if (!take_fixed(&text, 4, &value) || !span_is(text, "%") || value > PPM_ALL) return false;
    *ppm = (uint32_t)value;
    return true;
}

void share_write(struct buf *b, uint64_t ppm)
{
    buf_u64(b, ppm / 10000);
    uint32_t rest = (uint32_t)(ppm % 10000);
    if (rest) buf_char(b, '.');
    for (uint32_t unit = 1000; rest; rest %= unit, unit /= 10)
        buf_char(b, (char)('0' + rest / unit));
    buf_char(b, '%');
}
