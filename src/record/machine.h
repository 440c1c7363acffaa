/* machine: what a measurement was taken on, and what disturbed it meanwhile.
 *
 * Any thread; reads files of /proc and /sys, so never on the request path. What the machine does
 * not tell is "" or MACHINE_UNKNOWN, never an error: a capture without a CPU's name is still a
 * capture. */
#ifndef INTERLUDE_RECORD_MACHINE_H
#define INTERLUDE_RECORD_MACHINE_H

#include "base/span.h"

#include <stdint.h>

struct machine {
    char cpu_model[96];
    char kernel[96];
    char clock_source[32];
    int cores; /* this process may run on */
};

void machine_read(struct machine *out);

#define MACHINE_UNKNOWN ((int64_t)-1)

/* Both only ever grow; what counts is how much they grew. */
struct disturbance {
    int64_t steal_us;     /* all cores' time that a hypervisor gave to others */
    int64_t throttled_us; /* time that a cgroup quota held back threads of this cgroup */
};

void disturbance_read(struct disturbance *out);

/* later - earlier; MACHINE_UNKNOWN where either is. */
struct disturbance disturbance_since(struct disturbance later, struct disturbance earlier);

/* The pieces that read text, for tests. `stat` is that of /proc/stat, `ticks` its ticks per second;
 * `cpu_stat` a cgroup's cpu.stat, of either version. */
int64_t disturbance_steal_us(struct span stat, long ticks);
int64_t disturbance_throttled_us(struct span cpu_stat);

#endif
