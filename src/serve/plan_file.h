/* plan_file: a plan's text, out of whatever stands at a path, within a limit of time.
 *
 * That need not be a file: a FIFO that nobody writes to, or a writer that stops halfway, must not
 * keep whoever asks for a reload, nor a server that is to stop. So it is opened without waiting for
 * anybody, and every wait is in poll, for all of the text together.
 *
 * And a file may be half written. One that changed while it was read, or less than
 * PLAN_FILE_REST_MS before, is read again until it has been at rest for so long.
 * Any thread but a worker's: it allocates, and reads. */
#ifndef INTERLUDE_SERVE_PLAN_FILE_H
#define INTERLUDE_SERVE_PLAN_FILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { PLAN_FILE_REST_MS = 200 };

struct plan_file {
    char *memory; /* from malloc */
    size_t len;   /* at most PLAN_BYTES_MAX + 1: so a loader sees that it is too long */
};

/* Whether the path means stdin: it is `-`. A file of that name is `./-`. */
bool plan_file_is_stdin(const char *path);

/* How answers and log lines call it: the path; "built-in" where that is NULL. */
const char *plan_file_name(const char *path);

/* Reads on until the end, for at most `limit_ms`, or until `cancel_fd` (-1: none) can be read. For
 * stdin, which somebody may be typing, there is no limit but the end and `cancel_fd`. On
 * success out->memory is the caller's to free. ERR_PLAN_INVALID, with a text that says why;
 * ERR_NO_MEMORY. */
enum err_code plan_file_read(const char *path, int limit_ms, int cancel_fd, struct plan_file *out,
                             struct err *e) MUST_CHECK;

#endif
