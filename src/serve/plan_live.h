/* plan_live: the plan that requests are decided by, and how an old one is let go.
 *
 * One atomic pointer. Readers (the worker and operations loops) never wait: each says once a turn
 * of its loop that it starts to use the current plan, and at the end of the turn that it is done.
 * The one who publishes stores the new pointer, then polls until no reader can still hold the old
 * one, and frees it. Nobody is woken, nobody takes a lock. docs/decisions/0004-retiring-plans.md.
 *
 * The rule that makes it right: a reader stores "in use since E" before it loads the pointer, the
 * publisher stores the pointer before it advances E and looks at the readers, and all of that is
 * sequentially consistent. So a reader that the publisher sees idle will load the new pointer.
 *
 * Threads: each reader slot belongs to one thread; plan_live_publish is called by one thread at a
 * time (reload.c sees to that), never by a thread between its own enter and leave.
 * Ownership: the current plan belongs to plan_live. */
#ifndef INTERLUDE_SERVE_PLAN_LIVE_H
#define INTERLUDE_SERVE_PLAN_LIVE_H

#include "decide/plan.h"
#include "signal/signals.h"

#include <stdalign.h>
#include <stdatomic.h>

enum { PLAN_LIVE_READERS_MAX = 256 };

/* A plan, the counter cells it resolves to, and what it is served with: they come and go together.
 */
struct plan_served {
    struct plan *plan;
    struct signal_cells *cells;
    uint64_t serial;                 /* of this process's plans: from 1 */
    const struct settings *settings; /* of the same file; reload.c's, and as long-lived */
};

struct plan_reader {
    alignas(64) _Atomic uint64_t since; /* 0: idle */
};

struct plan_live {
    _Atomic(const struct plan_served *) current;
    alignas(64) _Atomic uint64_t epoch;
    int reader_count;
    struct plan_reader readers[PLAN_LIVE_READERS_MAX];
};

/* `first` is what is current from the start. */
void plan_live_init(struct plan_live *l, const struct plan_served *first, int reader_count);

/* From here to plan_live_leave the plan that is returned stays. */
const struct plan_served *plan_live_enter(struct plan_live *l, int reader);
void plan_live_leave(struct plan_live *l, int reader);

/* The current plan, for the thread that publishes. */
const struct plan_served *plan_live_current(const struct plan_live *l);

/* Makes `next` current, waits until every reader has passed on, and returns the one before, which
 * nobody can reach any more: the caller frees it. */
const struct plan_served *plan_live_publish(struct plan_live *l,
                                            const struct plan_served *next) MUST_CHECK;

#endif
