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

void arena_init(struct arena *a, jmp_buf *no_memory)
{
    *a = (struct arena){.no_memory = no_memory};
}

_Noreturn void arena_no_memory(struct arena *a)
{
    INVARIANT(a->no_memory != NULL);
    longjmp(*a->no_memory, 1);
}

static struct arena_block *block_new(struct arena *a, size_t room)
{
    struct arena_block *b = calloc(1, sizeof *b + room);
    if (b) {
        b->size = room;
        return b;
    }
    arena_no_memory(a);
}

void *arena_alloc(struct arena *a, size_t size)
{
    INVARIANT(size < (size_t)1 << 40);
    size_t need = (size + 15) & ~(size_t)15;
    struct arena_block *b = a->blocks;
    if (!b || b->size - b->used < need) {
        b = block_new(a, need > BLOCK_BYTES ? need : BLOCK_BYTES);
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

static void blocks_free(struct arena_block *b)
{
    for (struct arena_block *next; b; b = next) {
        next = b->next;
        free(b);
    }
}

void arena_reset(struct arena *a)
{
    struct arena_block *kept = a->blocks;
    a->bytes = 0;
    if (!kept) return;
    blocks_free(kept->next);
    kept->next = NULL;
    memset(kept->data, 0, kept->used);
    kept->used = 0;
}

void arena_done(struct arena *a)
{
    blocks_free(a->blocks);
    arena_init(a, a->no_memory);
}
