/* load_describe: the header of a run's capture. Asks the targets' operations ports over HTTP, so it
 * is for before the run. */
#ifndef INTERLUDE_LAB_LOAD_DESCRIBE_H
#define INTERLUDE_LAB_LOAD_DESCRIBE_H

#include "lab/load_run.h"

/* Fills all but `started_us`. `bodies` says what was sent. `admins`, of which there are admin_count
 * (0 or as many as targets), tell builds and plans at their paths. ERR_USAGE: it would have more
 * than CAPTURE_INTERVALS_MAX intervals; other errors are load_target_fetch's. */
enum err_code load_describe(const struct load_options *o, const char *bodies,
                            const struct load_target *admins, uint32_t admin_count,
                            struct capture_header *out, struct err *e) MUST_CHECK;

#endif
