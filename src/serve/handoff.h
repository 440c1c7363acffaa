/* handoff: numbers from one thread to one other, in order, without a lock or a wake-up.
 *
 * Carries connection slots from the acceptor to a loop, and back when they are free. It holds as
 * many numbers as there are slots, so it cannot overflow: that would be a bug, and aborts.
 * Threads: one puts, one takes. Ownership: the caller's struct; the numbers' memory is the
 * handoff's. */
#ifndef INTERLUDE_SERVE_HANDOFF_H
#define INTERLUDE_SERVE_HANDOFF_H

#include "base/err.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct handoff {
    uint32_t *items;
    uint32_t mask;
    alignas(64) _Atomic uint32_t put;   /* written by the one who puts */
    alignas(64) _Atomic uint32_t taken; /* written by the one who takes */
};

/* Room for `count` numbers. False if there is no memory. */
bool handoff_init(struct handoff *h, uint32_t count) MUST_CHECK;
void handoff_done(struct handoff *h);

static inline void handoff_put(struct handoff *h, uint32_t item)
{
    uint32_t put = atomic_load_explicit(&h->put, memory_order_relaxed);
    INVARIANT(put - atomic_load_explicit(&h->taken, memory_order_acquire) <= h->mask);
    h->items[put & h->mask] = item;
    atomic_store_explicit(&h->put, put + 1, memory_order_release);
}

static inline bool handoff_take(struct handoff *h, uint32_t *item)
{
    uint32_t taken = atomic_load_explicit(&h->taken, memory_order_relaxed);
    if (taken == atomic_load_explicit(&h->put, memory_order_acquire)) return false;
    *item = h->items[taken & h->mask];
    atomic_store_explicit(&h->taken, taken + 1, memory_order_release);
    return true;
}

#endif
