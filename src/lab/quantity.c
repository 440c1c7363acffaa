#include "lab/quantity.h"

#include "base/decimal.h"

#include <math.h>
#include <stdio.h>

static const struct {
    const char *name;
    double ns;
} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};

#define DURATION_MAX_NS (3650.0 * 86400 * 1e9)

/* The number at the beginning, and what follows it. */
static bool number_begin(const char *text, struct decimal *out, const char **rest)
{
    size_t len = decimal_read(span_of(text), out);
    if (!len || !isfinite(out->value) || out->value < 0) return false;
    *rest = text + len;
    return true;
}

bool quantity_duration(const char *text, uint64_t *ns)
{
    struct decimal n;
    const char *unit;
    if (!number_begin(text, &n, &unit)) return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(unit, units[i].name) != 0) continue;
        if (n.value * units[i].ns > DURATION_MAX_NS) return false;
        *ns = (uint64_t)llround(n.value * units[i].ns);
        return true;
    }
    return false;
}

bool quantity_number(const char *text, double *out)
{
    struct decimal n;
    const char *rest;
    if (!number_begin(text, &n, &rest) || *rest) return false;
    *out = n.value;
    return true;
}

bool quantity_integer(const char *text, int64_t min, int64_t max, int64_t *out)
{
    struct decimal n;
    size_t len = decimal_read(span_of(text), &n);
    if (!len || text[len] || !n.integral || n.integer < min || n.integer > max) return false;
    *out = n.integer;
    return true;
}

const char *quantity_print_ns(char *to, uint64_t ns)
{
    double value = (double)ns;
    const char *unit = "ns";
    if (ns >= 999500000)
        value /= 1e9, unit = "s";
    else if (ns >= 999500)
        value /= 1e6, unit = "ms";
    else if (ns >= 1000)
        value /= 1e3, unit = "us";
    int digits = ns < 1000 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(to, QUANTITY_TEXT_MAX, "%.*f %s", digits, value, unit);
    return to;
}
