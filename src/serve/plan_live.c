#include "serve/plan_live.h"

#include <time.h>

void plan_live_init(struct plan_live *l, const struct plan_served *first, int reader_count)
{
    INVARIANT(reader_count >= 0 && reader_count <= PLAN_LIVE_READERS_MAX);
    atomic_init(&l->current, first);
    atomic_init(&l->epoch, 1);
    l->reader_count = reader_count;
    for (int i = 0; i < PLAN_LIVE_READERS_MAX; i++) atomic_init(&l->readers[i].since, 0);
}

const struct plan_served *plan_live_enter(struct plan_live *l, int reader)
{
    atomic_store(&l->readers[reader].since, atomic_load(&l->epoch));
    return atomic_load(&l->current);
}

void plan_live_leave(struct plan_live *l, int reader)
{
    atomic_store_explicit(&l->readers[reader].since, 0, memory_order_release);
}

const struct plan_served *plan_live_current(const struct plan_live *l)
{
    return atomic_load(&l->current);
}

const struct plan_served *plan_live_publish(struct plan_live *l, const struct plan_served *next)
{
    const struct plan_served *before = atomic_exchange(&l->current, next);
    uint64_t epoch = atomic_fetch_add(&l->epoch, 1) + 1;
    const struct timespec nap = {.tv_nsec = 200000};
    for (int i = 0; i < l->reader_count; i++) {
        for (;;) {
            uint64_t since = atomic_load(&l->readers[i].since);
            if (since == 0 || since >= epoch) break;
            nanosleep(&nap, NULL);
        }
    }
    return before;
}
