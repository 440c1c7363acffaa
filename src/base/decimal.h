/* decimal: text to double, correctly rounded (nearest, ties to even), in any locale, on any
 * machine. Pure; any thread; nothing allocates. */
#ifndef INTERLUDE_BASE_DECIMAL_H
#define INTERLUDE_BASE_DECIMAL_H

#include "base/span.h"

#include <stdint.h>

struct decimal {
    double value;    /* correctly rounded; +-infinity where out of range, +-0 where too small */
    bool integral;   /* an integer (1, 1.0, 1e3) whose exact value fits int64_t */
    int64_t integer; /* where integral: exact, even where a double cannot hold it; else 0 */
};

/* Reads the longest prefix of `text` that is a JSON number:
 * -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? Returns its length in bytes, or 0, with *out
 * untouched, if there is none or what follows makes it wrong ("01", "1.", "1e"). */
size_t decimal_read(struct span text, struct decimal *out);

/* The length alone: what decimal_read would return, without working out the value. */
size_t decimal_length(struct span text);

#endif
