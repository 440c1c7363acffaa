#include "base/arena.h"

#include "base/err.h"

#include <stdalign.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 64 * 1024 };

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    alignas(16) char data[];
};

void arena_init(struct arena *a)
{
    *a = (struct arena){0};
}

void *arena_alloc(struct arena *a, size_t size)
{
    INVARIANT(size < (size_t)1 << 40);
    size_t need = (size + 15) & ~(size_t)15;
    struct arena_block *b = a->blocks;
    if (!b || b->size - b->used < need) {
        size_t room = need > BLOCK_BYTES ? need : BLOCK_BYTES;
        b = calloc(1, sizeof *b + room);
        INVARIANT(b != NULL);
        b->size = room;
        b->next = a->blocks;
        a->blocks = b;
    }
    void *piece = b->data + b->used;
    b->used += need;
    a->bytes += need;
    return piece;
}

struct span arena_copy(struct arena *a, struct span text)
{
    char *copy = arena_alloc(a, text.len + 1);
    if (text.len) memcpy(copy, text.data, text.len);
    return (struct span){copy, text.len};
}

void arena_done(struct arena *a)
{
    for (struct arena_block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    arena_init(a);
}
