/* ring: bytes from one thread to another, without a lock, a wait or a wake-up.
 *
 * One producer writes frames of any length up to a limit; one consumer reads them in order. A frame
 * lies in one piece: where it would cross the end of the memory, the rest is skipped, so a ring
 * that must always take `n` more bytes needs room for one frame beside them. Nothing is
 * overwritten: what does not fit is refused, and the producer decides what that means.
 *
 * Threads: ring_reserve and ring_commit belong to the producer, ring_peek and ring_release to the
 * consumer; each is one thread at a time. Ownership: the caller gives the memory and keeps it
 * alive. */
#ifndef INTERLUDE_BASE_RING_H
#define INTERLUDE_BASE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
    char *data;
    size_t cap;

    _Alignas(64) _Atomic uint64_t head; /* written by the producer; bytes since the start */
    uint64_t tail_seen;                 /* the producer's last look at `tail`: old, so too small */
    size_t reserved, skipped;           /* between ring_reserve and ring_commit */

    _Alignas(64) _Atomic uint64_t tail; /* written by the consumer */
};

/* The bytes that a frame of `n` bytes takes: its length, and rounding up to 8. */
static inline size_t ring_frame_bytes(size_t n)
{
    return (n + sizeof(uint64_t) + 7) & ~(size_t)7;
}

/* `cap` is a power of two of at least 64, `memory` is aligned to 8. */
void ring_init(struct ring *r, void *memory, size_t cap);

/* Room for a frame of `n` bytes, aligned to 8, or NULL if there is none now. A frame that takes up
 * to half the memory fits once the consumer has released enough; a longer one may never fit. A
 * second reserve forgets the first. */
void *ring_reserve(struct ring *r, size_t n);

/* Hands over the first `n` bytes of what was reserved (at most as many as were). What was written
 * to memory before happens before the consumer's ring_peek that returns the frame. */
void ring_commit(struct ring *r, size_t n);

/* The oldest frame and its length, or NULL if there is none. It stays until ring_release. */
const void *ring_peek(struct ring *r, size_t *n);

/* Gives the frame that ring_peek returned back to the producer. */
void ring_release(struct ring *r);

/* Bytes between the two ends, skipped ones included. From any thread: a moment's picture. */
size_t ring_used(const struct ring *r);

#endif
