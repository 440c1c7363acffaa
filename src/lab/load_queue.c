#include "lab/load_queue.h"

#include "base/err.h"

#include <stdlib.h>

static void queue_grow(struct load_queue *q)
{
    size_t size = q->size ? 2 * q->size : 1024;
    struct load_due *places = malloc(size * sizeof *places);
    INVARIANT(places != NULL);
    for (size_t i = 0; i < q->count; i++) places[i] = q->places[(q->first + i) & (q->size - 1)];
    free(q->places);
    q->places = places;
    q->size = size;
    q->first = 0;
}

void load_queue_push(struct load_queue *q, struct load_due due)
{
    if (q->count == q->size) queue_grow(q);
    q->places[(q->first + q->count++) & (q->size - 1)] = due;
}

struct load_due load_queue_pop(struct load_queue *q)
{
    INVARIANT(q->count > 0);
    struct load_due due = q->places[q->first];
    q->first = (q->first + 1) & (q->size - 1);
    q->count--;
    return due;
}

void load_queue_done(struct load_queue *q)
{
    free(q->places);
    *q = (struct load_queue){NULL, 0, 0, 0};
}
