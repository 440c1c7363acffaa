/* clock: the only place that reads the time. Any thread. Both are read in user space (vDSO). */
#ifndef INTERLUDE_BASE_CLOCK_H
#define INTERLUDE_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds on a clock that never goes back. For deadlines and durations. */
uint64_t clock_mono_ns(void);

/* Microseconds since 1970-01-01T00:00:00Z, leap seconds not counted. */
int64_t clock_wall_us(void);

#endif
