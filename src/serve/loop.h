/* loop: one thread's connections, turned by one epoll.
 *
 * A turn: wait; note the time; take over the connections that the acceptor has handed in; serve
 * what has come, each connection to its end of what it sent; end what is due; give back the slots
 * of connections that are closed. A turn comes at least every LOOP_TURN_MS, and at once when
 * a connection is handed in; a loop that does not turn is found out by /healthz.
 *
 * A request that comes in one piece costs epoll_wait, recv and send: it is read into the loop's own
 * buffer, answered into the loop's other one, and both are free again at the end of the turn.
 *
 * Threads: a loop belongs to the thread that loop_run runs on. Others may: put into `arrived`, take
 * from `freed` (the acceptor); loop_phase_set; read the atomics at the end.
 * Ownership: the connection slots are the server's, those handed in are the loop's until freed. */
#ifndef INTERLUDE_SERVE_LOOP_H
#define INTERLUDE_SERVE_LOOP_H

#include "serve/conn.h"
#include "serve/handoff.h"
#include "serve/service.h"

enum {
    LOOP_TURN_MS = 2000,
    LOOP_GAP_MS = LOOP_TURN_MS + 1000, /* between two turns: it, or the process, stood still */
    LOOP_TURN_ENDING_MS = 10,
    LOOP_EVENTS_MAX = 256,
    LOOP_IN_BYTES = POOL_BYTES_KEPT_MAX,
    LOOP_ANSWERED_MAX = 256,
    LOOP_LAG_SECONDS = 10,
    SAMPLE_EVERY = 127, /* a prime, so as not to fall in step with callers */
};

_Static_assert((int)LOOP_IN_BYTES > (int)HTTP_REQUEST_BYTES_MAX, "a request fits");

enum loop_phase {
    LOOP_SERVING,
    LOOP_DRAINING, /* answers say Connection: close */
    LOOP_CLOSING,  /* connections that have been idle for long are closed, too: CONN_QUIET_MS */
    LOOP_ENDING,   /* no more are handed in: what has begun is finished; then the loop ends */
    LOOP_ABANDON,  /* everything is closed, and the loop ends */
};

struct loop_config {
    struct service *service;
    struct conn *conns; /* the server's slots, indexed by what comes through `arrived` */
    uint32_t conn_count;
    uint64_t timeout_ns[DEADLINE_COUNT];
    size_t pool_bytes_max;
    /* Where more are open, those that have waited longest are closed at the end of a turn: an idle
     * or slow client cannot keep another one out. 0: none is. */
    uint32_t kept_max;
};

struct loop {
    struct service *service;
    int epoll_fd, wake_fd;
    struct conn *conns;
    struct handoff arrived, freed;

    struct pool pool;
    struct deadlines deadlines;
    char *in;            /* LOOP_IN_BYTES */
    struct buf out;      /* empty between two connections */
    struct conn *closed; /* in this turn */
    uint32_t open, kept_max;

    /* Of this turn. */
    enum loop_phase phase_seen;
    uint64_t now_ns, last_ns; /* when it began; when it last sent an answer */
    int64_t wall_us;
    int64_t date_s; /* the second that `date` tells */
    char date[HTTP_DATE_BYTES];
    /* One request in SAMPLE_EVERY is probed, if its service wants that. */
    uint32_t sample_in; /* reads until the next one */
    enum { SAMPLE_NONE, SAMPLE_READING, SAMPLE_ANSWERED } sample;
    struct probe probe;
    /* The answers in `out` whose duration is to be counted. */
    int answered_count;
    struct conn_answered answered[LOOP_ANSWERED_MAX];

    /* The longest turn of each of the last seconds, slot by second. */
    struct {
        _Atomic uint64_t second, longest_ns;
    } lag[LOOP_LAG_SECONDS + 1];

    alignas(64) _Atomic int phase;
    _Atomic uint64_t turned_ns;   /* when the last turn began */
    _Atomic uint64_t returned_ns; /* when one began after a gap the last time; 0: never */
    _Atomic uint32_t open_seen;   /* `open`, for others */
    _Atomic bool ended;
};

enum err_code loop_open(struct loop *l, const struct loop_config *config, struct err *e) MUST_CHECK;

/* Turns until the phase says that it is over and no connection is left. */
void loop_run(struct loop *l);

/* The loop's thread has ended or never ran. Closes what connections there are. */
void loop_close(struct loop *l);

/* Any thread. Wakes the loop, so that it is seen at once. */
void loop_phase_set(struct loop *l, enum loop_phase phase);

/* Any thread. The loop turns soon, whether anything has come or not. */
void loop_wake(struct loop *l);

/* When the last turn began; 0: the loop has ended. Any thread. */
uint64_t loop_turned_ns(const struct loop *l);

/* The longest turn that ended in the last LOOP_LAG_SECONDS, or has not ended yet. Any thread. */
uint64_t loop_lag_ns(const struct loop *l, uint64_t now_ns);

/* ---- for conn.c ---- */

/* True if another answer has room in `out`. */
static inline bool loop_has_room(const struct loop *l)
{
    return l->out.cap - l->out.len >= l->service->answer_bytes_max &&
           l->answered_count < LOOP_ANSWERED_MAX;
}

#endif
