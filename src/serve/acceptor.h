/* acceptor: one thread that accepts for both ports, and gives each connection to the loop that has
 * the fewest. docs/decisions/0005-one-acceptor.md.
 *
 * What it cannot accept it does not spin on: where the system is out of descriptors or memory,
 * accepting pauses for a moment. Where a port has all the connections that it may have, the loop
 * with the most of those that are silent is asked to close the ones that have been so the longest
 * (loop_ask), and a further one waits for the place. Where none is silent, or none has been for
 * long enough, it is told so (refusals.h) if the port has as many as it has slots; if it has as
 * many as the descriptors allow, it goes on waiting. Where a loop makes room by itself
 * (loop_config.kept_max), a further one waits to be accepted until one is closed. The one port's
 * waiting is not the other's. A pause is told once, however often it is tried in vain to end it.
 *
 * Where one address may only have so many, a further one of it is told so at once, and costs nobody
 * else his place.
 *
 * At the end nobody is lost whom the kernel has taken: docs/decisions/0005-one-acceptor.md. The
 * ports first ignore callers that are new, who try again by themselves a second later; then what
 * has come is accepted, until there is no more; then the ports close. A listener that was inherited
 * is another matter: others go on to accept from it. So it is only closed, and whom we did not
 * accept is theirs.
 *
 * Threads: all functions on one; the rest runs on the acceptor's own.
 * Ownership: the loops and connection slots are the server's; listening sockets become the
 * acceptor's when acceptor_open succeeds. */
#ifndef INTERLUDE_SERVE_ACCEPTOR_H
#define INTERLUDE_SERVE_ACCEPTOR_H

#include "serve/accept_shared.h"
#include "serve/loop.h"
#include "serve/per_address.h"
#include "serve/refusals.h"

#include <pthread.h>
#include <semaphore.h>

enum {
    ACCEPTOR_DOORS_MAX = 2,
    ACCEPTOR_PAUSE_MS = 100,
    ACCEPTOR_IDLE_MS =
        2000,              /* a turn comes at least as often: a thread that does not is found out */
    ACCEPTOR_TURN_MS = 50, /* where something is to be waited for */
    ACCEPTOR_ROOM_MS = 2,  /* where that is a loop that makes room, which it does at once */
    /* So long somebody waits for a silent connection to give way, which at first may not have been
     * silent for long enough, if the loops were asked so often in that time: they may get no CPU.
     * The end is after ACCEPTOR_HELD_MS_MAX, and as many turns: the process may stand still. Where
     * it was in vain, others are refused at once for a while. */
    ACCEPTOR_HELD_MS = 250,
    ACCEPTOR_HELD_ASKS = 100,
    ACCEPTOR_HELD_MS_MAX = 5000,
    ACCEPTOR_VAIN_MS = 1000,
    ACCEPTOR_ASKED_MAX = 16, /* silent ones at a time: there may be more at the door */
    ACCEPTOR_BATCH = 64,
    /* At the end. A handshake whose SYN has been answered is over after one round trip. */
    ACCEPTOR_SETTLE_MS = 50,
    ACCEPTOR_FINISH_TURN_MS = 5,
};

/* A port, the loops behind it, and its share of the slots. */
struct door_config {
    int listen_fd;
    struct loop **loops;
    int loop_count;
    uint32_t slot_first, slot_count;
    uint32_t open_max; /* what descriptors allow; at most slot_count */
    bool inherited;    /* the socket is shared with processes that stay */
    bool makes_room;   /* its one loop closes connections so that a further one has a place */
    bool counted;      /* its connections are those of the metrics */
    uint32_t per_address_max; /* connections; 0: no limit */
};

struct door {
    struct door_config config;
    uint32_t *free; /* a stack of slots */
    uint32_t free_count;
    uint32_t *open; /* by loop: handed in and not given back */
    unsigned next;  /* where the search for the fewest starts, so that ties go round */
    bool waits;     /* full: accepting goes on once a connection is closed */
    /* Accepted, and waits for a place. */
    int held_fd; /* -1: none */
    address_key held_key;
    uint64_t held_since_ns;
    uint32_t held_asks, held_turns;
    bool held_told;         /* it waits because descriptors are short, and that has been told */
    uint64_t vain_until_ns; /* silent connections gave no place: nobody waits for that until then */
    struct per_address addresses;
};

struct acceptor {
    struct signal_writer *writer;
    struct conn *conns;
    _Atomic uint64_t *turned_ns;
    int epoll_fd, wake_fd;
    int door_count;
    struct door doors[ACCEPTOR_DOORS_MAX];
    struct refusals refusals;
    uint64_t paused_until_ns; /* 0: accepting */
    bool pause_told;          /* until something is accepted again */
    bool shared;              /* a door is inherited: accept_shared is open */
    struct accept_shared accept_shared;
    pthread_t thread;
    sem_t begun; /* the thread has told whether it can run: */
    int begin_error;
    bool started;
    _Atomic bool stop, finished, ended;
    _Atomic uint64_t finish_by_ns; /* UINT64_MAX: it goes on */
};

/* One that was never opened, and may be closed. */
void acceptor_init(struct acceptor *a);

/* `refused_max`: from 1 to REFUSALS_MAX. *turned_ns, the caller's, tells when the last turn
 * began; 0 before the first and after the last one. On failure the sockets stay the caller's. */
enum err_code acceptor_open(struct acceptor *a, const struct door_config *doors, int door_count,
                            struct conn *conns, int refused_max, struct signal_writer *writer,
                            _Atomic uint64_t *turned_ns, struct err *e) MUST_CHECK;

/* Starts the thread. Nothing can fail after it; nothing is accepted before acceptor_accept. */
enum err_code acceptor_start(struct acceptor *a, struct err *e) MUST_CHECK;
void acceptor_accept(struct acceptor *a);

/* Ends it, and returns at once: accepts what has come, then closes the listening sockets, at the
 * latest in `limit_ms`, where a port has no place. Asked for again, the earlier end holds. */
void acceptor_finish(struct acceptor *a, int64_t limit_ms);

/* The listening sockets are closed, and no connection is handed over any more. */
bool acceptor_finished(const struct acceptor *a);

/* Those that were told 503 have gone, too. */
bool acceptor_ended(const struct acceptor *a);

/* Closes whatever is open, and ends the thread. Idempotent. */
void acceptor_close(struct acceptor *a);

#endif
