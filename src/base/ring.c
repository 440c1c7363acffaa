#include "base/ring.h"

#include "base/err.h"

/* A frame is one word and then its bytes. The word is its length, or SKIP: go on at the start. Head
 * and tail are always multiples of 8, so there is always room for a word before the end. */
#define SKIP UINT64_MAX

static uint64_t *word_at(const struct ring *r, uint64_t position)
{
    return (uint64_t *)(void *)(r->data + (position & (r->cap - 1)));
}

void ring_init(struct ring *r, void *memory, size_t cap)
{
    INVARIANT(cap >= 64 && (cap & (cap - 1)) == 0 && (uintptr_t)memory % sizeof(uint64_t) == 0);
    *r = (struct ring){.data = memory, .cap = cap};
}

void *ring_reserve(struct ring *r, size_t n)
{
    if (n > r->cap) return NULL;
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    size_t frame = ring_frame_bytes(n);
    size_t to_end = r->cap - (size_t)(head & (r->cap - 1));
    size_t skip = frame > to_end ? to_end : 0;
    if (frame + skip > r->cap - (size_t)(head - r->tail_seen)) {
        r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
        if (frame + skip > r->cap - (size_t)(head - r->tail_seen)) return NULL;
    }
    r->reserved = n;
    r->skipped = skip;
    return word_at(r, head + skip) + 1;
}

void ring_commit(struct ring *r, size_t n)
{
    INVARIANT(n <= r->reserved);
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    if (r->skipped) *word_at(r, head) = SKIP;
    head += r->skipped;
    *word_at(r, head) = n;
    r->reserved = 0;
    atomic_store_explicit(&r->head, head + ring_frame_bytes(n), memory_order_release);
}

/* Where the oldest frame's word is, or `head` if there is none. */
static uint64_t frame_first(const struct ring *r, uint64_t head)
{
    uint64_t at = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (at != head && *word_at(r, at) == SKIP) at += r->cap - (at & (r->cap - 1));
    return at;
}

const void *ring_peek(struct ring *r, size_t *n)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
    uint64_t at = frame_first(r, head);
    if (at == head) return NULL;
    *n = (size_t)*word_at(r, at);
    return word_at(r, at) + 1;
}

void ring_release(struct ring *r)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
    uint64_t at = frame_first(r, head);
    INVARIANT(at != head);
    atomic_store_explicit(&r->tail, at + ring_frame_bytes((size_t)*word_at(r, at)),
                          memory_order_release);
}

size_t ring_used(const struct ring *r)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    return (size_t)(atomic_load_explicit(&r->head, memory_order_acquire) - tail);
}
