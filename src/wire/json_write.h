/* json_write: JSON text into a buf. Writers never fail; the buf's `full` tells, once, at the end.
 * Threads, ownership: those of the buf. Nothing allocates. */
#ifndef INTERLUDE_WIRE_JSON_WRITE_H
#define INTERLUDE_WIRE_JSON_WRITE_H

#include "base/buf.h"

/* `text` in quotes. `text` must be valid UTF-8 (what json_read gives is); bytes that are not come
 * out as U+FFFD, so that the output is always valid JSON. */
void json_write_string(struct buf *b, struct span text);

/* The same, and what may not be printed as it is (base/printed.h) is escaped too: for what people
 * read as text. It reads back as the same string. */
void json_write_printed(struct buf *b, struct span text);

/* The shortest decimal that reads back as the same double; `null` if not finite. */
void json_write_double(struct buf *b, double value);

/* A key and its colon; writes a comma first unless the last byte in the buf is '{'. */
void json_write_key(struct buf *b, struct span key);

#endif
