/* body_write: the parts that made-up requests have in common: a drill's, an example's.
 * Threads, ownership: those of the buf. */
#ifndef INTERLUDE_SERVE_BODY_WRITE_H
#define INTERLUDE_SERVE_BODY_WRITE_H

#include "base/buf.h"
#include "decide/plan.h"

/* The value of an attribute, as JSON. */
void body_put_value(struct buf *b, enum attribute_type type, union attribute_value value);

/* `"time":...`: the next one after `wall_us` that has the hour and the weekday which `wanted` has
 * values of; nothing where it has neither. */
void body_put_time(struct buf *b, const struct plan *plan, const struct attributes *wanted,
                   int64_t wall_us);

#endif
