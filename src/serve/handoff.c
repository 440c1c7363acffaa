#include "serve/handoff.h"

#include <stdlib.h>

bool handoff_init(struct handoff *h, uint32_t count)
{
    uint32_t size = 1;
    while (size < count) size *= 2;
    h->items = calloc(size, sizeof h->items[0]);
    h->mask = size - 1;
    atomic_init(&h->put, 0);
    atomic_init(&h->taken, 0);
    return h->items != NULL;
}

void handoff_done(struct handoff *h)
{
    free(h->items);
    h->items = NULL;
}
