/* quantity: durations and rates as people write them. Pure; any thread. */
#ifndef INTERLUDE_LAB_QUANTITY_H
#define INTERLUDE_LAB_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/* A number not below 0 and a unit: ns us ms s m h ("1.5s", "250us"); at most ten years. False, and
 * `out` untouched, for anything else. */
bool quantity_duration(const char *text, uint64_t *ns);

/* A finite number not below 0, alone. */
bool quantity_number(const char *text, double *out);

/* A whole number from min to max, alone. */
bool quantity_integer(const char *text, int64_t min, int64_t max, int64_t *out);

/* "412 us", "9.31 ms", "2.50 s": three digits, for people. `to` has QUANTITY_TEXT_MAX bytes; it is
 * returned. */
enum { QUANTITY_TEXT_MAX = 32 };
const char *quantity_print_ns(char *to, uint64_t ns);

#endif
