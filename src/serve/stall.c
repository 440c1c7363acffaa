#include "serve/stall.h"

void stall_init(struct stall *s, struct signals *signals, const struct loop *watcher)
{
    s->signals = signals;
    s->watcher = watcher;
    s->count = 0;
}

void stall_add(struct stall *s, const struct stall_thread *thread)
{
    INVARIANT(s->count < STALL_THREADS_MAX);
    struct stall_thread *added = &s->threads[s->count++];
    *added = *thread;
    added->name = signals_thread_add(s->signals, thread->name);
}

static uint64_t turned_of_loop(const void *loop)
{
    return loop_turned_ns(loop);
}

static uint64_t turned_of_acceptor(const void *turned_ns)
{
    return atomic_load_explicit((const _Atomic uint64_t *)turned_ns, memory_order_relaxed);
}

static uint64_t turned_of_scribe(const void *signals)
{
    return signals_scribe_turned_ns(signals);
}

static uint64_t turned_of_reload(const void *reload)
{
    return reload_turned_ns(reload);
}

void stall_add_loop(struct stall *s, const char *name, const struct loop *loop)
{
    stall_add(s, &(struct stall_thread){name, turned_of_loop, loop, STALL_LIMIT_MS, true});
}

void stall_add_others(struct stall *s, const _Atomic uint64_t *acceptor_turned_ns,
                      const struct reload *reload)
{
    const struct stall_thread others[] = {
        {"acceptor", turned_of_acceptor, acceptor_turned_ns, STALL_LIMIT_MS, true},
        {"scribe", turned_of_scribe, s->signals, STALL_LIMIT_MS, false},
        {"reload", turned_of_reload, reload, RELOAD_STALL_MS, false},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) stall_add(s, &others[i]);
}

uint64_t stall_ns(const struct stall *s, int i, uint64_t now_ns)
{
    uint64_t since_ns = s->threads[i].turned_ns(s->threads[i].of);
    uint64_t returned_ns = atomic_load_explicit(&s->watcher->returned_ns, memory_order_relaxed);
    uint64_t watched_ns = loop_turned_ns(s->watcher);
    if (since_ns == 0) return 0;
    if (since_ns < returned_ns) since_ns = returned_ns;
    if (watched_ns < now_ns) now_ns = watched_ns;
    return since_ns < now_ns ? now_ns - since_ns : 0;
}

bool stall_is(const struct stall *s, int i, uint64_t now_ns)
{
    return stall_ns(s, i, now_ns) >= s->threads[i].limit_ms * 1000000ull;
}
