/* arena: memory that is handed out in pieces and given back at once.
 *
 * For things that are built once and die together (a compiled plan). Not for the request path.
 * Threads: one at a time. Ownership: the arena owns every piece; pieces live until arena_done.
 *
 * Whoever builds with arenas does not check each piece: where there is no memory, arena_alloc jumps
 * to the one place that the arena was given for that, which frees all that was built so far. So
 * between that place's setjmp and here, nobody may hold anything that only the arenas' owner does
 * not know of. */
#ifndef INTERLUDE_BASE_ARENA_H
#define INTERLUDE_BASE_ARENA_H

#include "base/span.h"

#include <setjmp.h>

struct arena_block;

struct arena {
    struct arena_block *blocks;
    size_t bytes; /* handed out, so far */
    jmp_buf *no_memory;
};

/* `no_memory`: set by setjmp in a function that has not returned whenever arena_alloc is called.
 * NULL: there a lack of memory ends the process. */
void arena_init(struct arena *a, jmp_buf *no_memory);

/* `size` bytes (0 is allowed), zeroed, aligned to 16. Never NULL. */
void *arena_alloc(struct arena *a, size_t size);

/* A copy of the bytes, followed by a NUL that is not counted. */
struct span arena_copy(struct arena *a, struct span text);

/* Where arena_alloc goes without memory: for who builds with this arena and finds none elsewhere.
 */
_Noreturn void arena_no_memory(struct arena *a);

/* Takes back every piece, and keeps one block for the next ones. */
void arena_reset(struct arena *a);

/* Frees all. The arena is then as after arena_init. */
void arena_done(struct arena *a);

#endif
