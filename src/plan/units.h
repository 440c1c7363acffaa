/* units: durations and shares, as a plan has them. Exact: no floating point. Pure; any thread. */
#ifndef INTERLUDE_PLAN_UNITS_H
#define INTERLUDE_PLAN_UNITS_H

#include "base/buf.h"

#define UNIT_SECOND_MS ((int64_t)1000)
#define UNIT_HOUR_MS (3600 * UNIT_SECOND_MS)
#define UNIT_DAY_MS (24 * UNIT_HOUR_MS)

/* "1.5m" to milliseconds; false: it is no duration, or no whole number of them. */
bool duration_read(struct span text, int64_t *ms);
/* In the largest unit that gives a whole number. A plan is printed without days. */
void duration_write(struct buf *b, int64_t ms, bool days);

/* "12.5%" to millionths; false: it is none from 0% to 100%, or has more than four decimals. */
bool share_read(struct span text, uint32_t *ppm);
void share_write(struct buf *b, uint64_t ppm);

#endif
