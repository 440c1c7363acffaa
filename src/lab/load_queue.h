/* load_queue: requests that are due and wait for a connection, first in, first out. Grows as
 * needed: a schedule has an end, and so has its queue. Threads: one at a time; load_queue_done
 * frees. */
#ifndef INTERLUDE_LAB_LOAD_QUEUE_H
#define INTERLUDE_LAB_LOAD_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct load_due {
    uint64_t due_ns, seq;
};

/* Zeroed, it is empty. */
struct load_queue {
    struct load_due *places; /* `size` of them, 0 or a power of two */
    size_t size, first, count;
};

void load_queue_push(struct load_queue *q, struct load_due due);

/* The queue must not be empty. */
struct load_due load_queue_pop(struct load_queue *q);

void load_queue_done(struct load_queue *q);

#endif
