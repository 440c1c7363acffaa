/* arena: memory that is handed out in pieces and given back at once.
 *
 * For things that are built once and die together (a compiled plan). Not for the request path.
 * Threads: one at a time. Ownership: the arena owns every piece; pieces live until arena_done.
 * Running out of memory while a plan is built is not an operating error: arena_alloc aborts. */
#ifndef INTERLUDE_BASE_ARENA_H
#define INTERLUDE_BASE_ARENA_H

#include "base/span.h"

struct arena_block;

struct arena {
    struct arena_block *blocks;
    size_t bytes; /* handed out, so far */
};

void arena_init(struct arena *a);

/* `size` bytes (0 is allowed), zeroed, aligned to 16. Never NULL. */
void *arena_alloc(struct arena *a, size_t size);

/* A copy of the bytes, followed by a NUL that is not counted. */
struct span arena_copy(struct arena *a, struct span text);

void arena_done(struct arena *a);

#endif
