/* refusals: connections for which a port has no place, from their accept to their end.
 *
 * Each is told why (503, Retry-After), but not before its request has come whole, or as much of it
 * as comes within a second. An answer that comes before the request is nobody's answer yet: nginx
 * then asks the next server and joins both answers into one, and a client that is still sending
 * may be reset, and lose it. Then our side is shut, and what still comes is thrown away for a
 * while, so that the answer is not lost with it (RFC 9112, 9.6). Who says nothing is told nothing.
 *
 * There are never more than a few. For a further one, the one goes that has been told and lingers
 * the longest; where none has been, the one that has been waited for the longest.
 *
 * Threads: the acceptor's only, but for open and close. Ownership: it owns the descriptors that it
 * was given. Memory for the requests is reserved at the start, touched as bytes come, and given
 * back. */
#ifndef INTERLUDE_SERVE_REFUSALS_H
#define INTERLUDE_SERVE_REFUSALS_H

#include "signal/signals.h"
#include "wire/http_read.h"

enum {
    REFUSALS_MAX = 64,
    REFUSAL_REQUEST_MS = 1000, /* for its request to come */
    REFUSAL_LINGER_MS = 1000,  /* and then for its peer to read the answer, and to close */
};

struct refusal {
    int fd; /* -1: none */
    bool counted;
    bool told;
    bool head_read; /* the reader knows the method */
    uint64_t until_ns;
    size_t len; /* what has come of the request */
    struct http_reader reader;
    struct err why;
};

struct refusals {
    struct signal_writer *writer;
    int epoll_fd;
    uint64_t event_first;
    int max, count;
    char *memory; /* of the requests, one after the other; NULL: not open */
    struct refusal all[REFUSALS_MAX];
};

/* One that was never opened, and may be closed. */
void refusals_init(struct refusals *r);

/* `max`: from 1 to REFUSALS_MAX. They are watched by `epoll_fd`, the caller's: each event's u64 is
 * `event_first` and the place of the connection. False: there is no memory. */
bool refusals_open(struct refusals *r, int max, int epoll_fd, uint64_t event_first,
                   struct signal_writer *writer) MUST_CHECK;

/* Takes over `fd`, which does not block, to tell it `why`. `counted`: its answer counts in the
 * metrics. */
void refusals_add(struct refusals *r, int fd, const struct err *why, bool counted, uint64_t now_ns);

/* Something has come at place `i`. One that is empty by now is passed over. */
void refusals_event(struct refusals *r, int i, uint64_t now_ns);

/* Ends what has waited for long enough. */
void refusals_expire(struct refusals *r, uint64_t now_ns);

/* Closes all that are there. Idempotent. */
void refusals_close(struct refusals *r);

#endif
