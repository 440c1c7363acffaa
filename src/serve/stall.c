#include "serve/stall.h"

void stall_init(struct stall *s, const struct loop *watcher)
{
    s->watcher = watcher;
    s->count = 0;
}

void stall_add(struct stall *s, const struct stall_thread *thread)
{
    INVARIANT(s->count < STALL_THREADS_MAX);
    s->threads[s->count++] = *thread;
}

uint64_t stall_ns(const struct stall *s, int i, uint64_t now_ns)
{
    uint64_t since_ns = s->threads[i].turned_ns(s->threads[i].of);
    uint64_t returned_ns = atomic_load_explicit(&s->watcher->returned_ns, memory_order_relaxed);
    if (since_ns == 0) return 0;
    if (since_ns < returned_ns) since_ns = returned_ns;
    return since_ns < now_ns ? now_ns - since_ns : 0;
}

bool stall_is(const struct stall *s, int i, uint64_t now_ns)
{
    return stall_ns(s, i, now_ns) >= s->threads[i].limit_ms * 1000000ull;
}
