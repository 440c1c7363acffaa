/* sink: where log lines go, which may fail in every way.
 *
 * One attempt at a time, and no attempt waits where the kernel can tell beforehand that it would:
 * readiness is asked for first, writes to anything but a file are at most PIPE_BUF long (which a
 * pipe that is ready takes whole), and a socket is asked not to wait. O_NONBLOCK is never set on a
 * descriptor that was inherited: it belongs to everybody who shares it. Somebody else may have set
 * it; that is an attempt later.
 *
 * Private to the room. Threads: the scribe alone, after sink_open. SIGPIPE must be ignored. */
#ifndef INTERLUDE_SIGNAL_SINK_H
#define INTERLUDE_SIGNAL_SINK_H

#include "base/err.h"
#include "plan/settings.h"

enum sink_result {
    SINK_OK,   /* some or all of it was taken */
    SINK_BUSY, /* not now: nothing was taken, nothing is lost */
    SINK_GONE, /* nobody reads */
    /* That these two are over, only a write that succeeds can tell. */
    SINK_FULL,   /* no space */
    SINK_FAILED, /* an error that is none of the above: EBADF, EIO */
};

struct sink {
    int fd;     /* -1: a FIFO that nobody has opened yet */
    char *path; /* NULL: inherited */
    bool is_socket;
    bool mid_line;    /* it ends in the middle of a line: a newline belongs before the next */
    size_t batch_max; /* the most that one write may be */
};

/* ERR_SYSTEM if a file cannot be opened. */
enum err_code sink_open(struct sink *s, const struct settings_log *log, struct err *e) MUST_CHECK;
/* Writes to a descriptor that stays the caller's. What a file holds already, opened here or there,
 * is looked at for mid_line. */
void sink_use(struct sink *s, int fd);
void sink_close(struct sink *s);

/* Opens the path anew, as after a rotation; a FIFO that nobody reads is then waited for, as at the
 * start. mid_line is kept where the path leads to the same FIFO or device. False: it could not be
 * opened, errno tells why, and what was open is kept. Inherited: true, and nothing happens. */
bool sink_reopen(struct sink *s);

/* Whether a write might be taken, as far as can be told without one. Opens a FIFO that somebody has
 * begun to read. */
enum sink_result sink_ready(struct sink *s);

/* One attempt, after sink_ready said SINK_OK; `n` is at most batch_max. *done: what was taken, with
 * SINK_OK; at least 1. */
enum sink_result sink_write(struct sink *s, const void *data, size_t n, size_t *done);

#endif
