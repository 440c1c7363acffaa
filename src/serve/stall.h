/* stall: which of the process's threads stand still.
 *
 * A thread says when its last turn began; one that has not turned for its limit stands still,
 * unless the watcher, the loop on which this is asked, stood still too: then nobody turned, because
 * the process was stopped, or the machine, and whoever is looked at first afterwards must not be
 * accused of it. So a thread's time counts from the later of its own last turn and the watcher's
 * return from a gap (LOOP_GAP_MS), to the beginning of the watcher's turn: in the middle of it,
 * too, the process may have been stopped.
 *
 * Threads: what is added before the threads run may be asked for by any thread from then on.
 * Ownership: the caller's struct; it refers to its threads' structs, which outlive it. */
#ifndef INTERLUDE_SERVE_STALL_H
#define INTERLUDE_SERVE_STALL_H

#include "serve/loop.h"
#include "serve/reload.h"

enum {
    STALL_THREADS_MAX = SIGNALS_THREADS_MAX,
    STALL_LIMIT_MS = 5000, /* of a thread that turns every two seconds or more often */
};
_Static_assert((int)LOOP_TURN_MS + (int)LOOP_GAP_MS <= (int)STALL_LIMIT_MS,
               "an idle loop is not accused of a gap that is too short to be one");

struct stall_thread {
    const char *name; /* its label in interlude_thread_stalled */
    /* clock_mono_ns() of the last turn of `of`; 0: it does not run yet, or has ended. */
    uint64_t (*turned_ns)(const void *of);
    const void *of;
    uint32_t limit_ms;
    bool restart; /* a restart of the process would mend it: /healthz says so */
};

struct stall {
    struct signals *signals;
    const struct loop *watcher;
    int count;
    struct stall_thread threads[STALL_THREADS_MAX];
};

void stall_init(struct stall *s, struct signals *signals, const struct loop *watcher);

/* Also makes it known to the signals, which copy its name. */
void stall_add(struct stall *s, const struct stall_thread *thread);

/* A worker's. */
void stall_add_loop(struct stall *s, const char *name, const struct loop *loop);

/* The acceptor, the scribe and the thread that reloads. (The watcher does not watch itself, nor the
 * thread that only waits for signals.) */
void stall_add_others(struct stall *s, const _Atomic uint64_t *acceptor_turned_ns,
                      const struct reload *reload);

/* For how long thread `i` has stood still, if it does not run on at this moment. */
uint64_t stall_ns(const struct stall *s, int i, uint64_t now_ns);
/* That is its limit, or more. */
bool stall_is(const struct stall *s, int i, uint64_t now_ns);

#endif
