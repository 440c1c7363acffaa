/* loop: one thread's connections, turned by one epoll.
 *
 * A turn: wait; note the time; take over the connections that the acceptor has handed in; serve
 * what has come; end what is due; give back the slots of connections that are closed. A turn comes
 * at least every LOOP_TURN_MS, and at once when a connection is handed in; a loop that does not
 * turn is found out by /healthz.
 *
 * Nobody keeps the others waiting for long: in a turn a connection gets CONN_ANSWERS_MAX answers,
 * and all of them together LOOP_SERVE_MS, or as many answers as the service says. Whoever has more
 * to ask for goes to the end of a queue, which is served in the next turns, before what has come in
 * the meantime; the wait is then none. Where a service has urgent routes, what has come is read
 * first, and those are answered at once: so few answers come before them, however long the queue
 * is.
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
#include "serve/reserve.h"
#include "serve/service.h"

enum {
    LOOP_TURN_MS = 2000,
    LOOP_GAP_MS = LOOP_TURN_MS + 1000, /* between two turns: it, or the process, stood still */
    LOOP_TURN_ENDING_MS = 10,
    LOOP_SERVE_MS = 20,
    LOOP_EVENTS_MAX = 256,
    LOOP_IN_BYTES = POOL_BYTES_KEPT_MAX,
    /* What is read at a time of a connection that keeps nothing: what is left of it when its turn
     * is over has to be kept. */
    LOOP_READ_BYTES = 16 * 1024,
    /* What the pool has not needed goes back in a turn in which nobody asked, after so long; where
     * there is no such turn, later. */
    LOOP_POOL_AGE_MS = 300000,
    LOOP_POOL_AGE_BUSY_MS = 3600000,
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
    const struct reserve *reserve; /* for what the pool has no place for; NULL: none */
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
    const struct reserve *reserve;
    struct deadlines deadlines; /* DEADLINE_QUEUED is the queue of those that wait for their turn */
    char *in;                   /* LOOP_IN_BYTES */
    struct buf out;             /* empty between two connections; so is: */
    struct text_hold text;      /* the last answer's body, behind `out` */
    struct conn *closed;        /* in this turn */
    uint32_t open, kept_max;
    uint64_t pool_age_ns; /* when the pool ages next */

    /* Of this turn. */
    enum loop_phase phase_seen;
    uint32_t visit_left, turn_left; /* answers: of the connection that is served; of all of them */
    bool no_place;            /* for what the connection that is served leaves to the next turn */
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
    _Atomic uint64_t turned_ns;    /* when the last turn began */
    _Atomic uint64_t returned_ns;  /* when one began after a gap the last time; 0: never */
    _Atomic uint32_t open_seen;    /* `open`, for others */
    _Atomic uint32_t silent_seen;  /* deadline_silent_count, for others */
    _Atomic uint32_t arrived_seen; /* of those handed in, so many had been when that was counted */
    _Atomic uint32_t asked;        /* so many of the silent ones are to give way: loop_ask */
    _Atomic bool ended;
};

enum err_code loop_open(struct loop *l, const struct loop_config *config, struct err *e) MUST_CHECK;

/* One turn. False when it was the last one. For loop_run, and for who turns a loop himself. */
bool loop_turn(struct loop *l);

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

/* Any thread. Asks the loop to close `count` connections of which no byte of a request has come,
 * those that have been silent the longest, in its next turn; fewer, if there are not so many that
 * have been silent for CONN_SILENT_MS. */
void loop_ask(struct loop *l, uint32_t count);

/* Any thread. So many could be asked for; those that have been, and are not closed yet, apart. */
uint32_t loop_silent(const struct loop *l);

/* The thread that hands connections in. Whether loop_silent counts all of them, and none is asked
 * for; else it will. */
bool loop_silent_is_known(const struct loop *l);

/* The longest turn that ended in the last LOOP_LAG_SECONDS, or has not ended yet. Any thread. */
uint64_t loop_lag_ns(const struct loop *l, uint64_t now_ns);

/* ---- for conn.c ---- */

/* True if what is in `out` has to be sent before another answer. */
static inline bool loop_must_flush(const struct loop *l)
{
    return l->out.len &&
           (l->service->answers_alone || l->out.cap - l->out.len < l->service->answer_bytes_max ||
            l->answered_count == LOOP_ANSWERED_MAX);
}

/* True if this turn has taken so long that the next one has to come. */
static inline bool loop_is_over(const struct loop *l)
{
    return l->last_ns - l->now_ns >= LOOP_SERVE_MS * 1000000ull;
}

#endif
