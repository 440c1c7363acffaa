/* cpus: how many workers are worth having. Not on the request path; any thread. */
#ifndef INTERLUDE_SERVE_CPUS_H
#define INTERLUDE_SERVE_CPUS_H

#include "base/span.h"

/* The processors that affinity and the cgroup's CPU quota allow, rounded up; at least 1. `root` is
 * put before the paths of /sys and /proc: "" but in tests. */
int cpus_allowed(const char *root);

/* The processors that a quota allows, rounded up; 0: no limit, or no such text. `text` is the
 * content of cgroup 2's cpu.max: "QUOTA PERIOD" or "max PERIOD", in microseconds. */
int cpus_quota_read(struct span text);

#endif
