#include "serve/reserve.h"

#include <sys/mman.h>

bool reserve_init(struct reserve *r, uint32_t slot_count)
{
    *r = (struct reserve){.bytes = (size_t)slot_count * RESERVE_SIDES * RESERVE_BYTES};
    r->memory = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->memory == MAP_FAILED) r->memory = NULL;
    return r->memory != NULL;
}

void reserve_done(struct reserve *r)
{
    if (r->memory) munmap(r->memory, r->bytes);
    *r = (struct reserve){0};
}

bool reserve_take(const struct reserve *r, uint32_t slot, enum reserve_side side, size_t need,
                  struct pool_buf *out)
{
    if (!r || need > RESERVE_BYTES) return false;
    size_t at = ((size_t)slot * RESERVE_SIDES + side) * RESERVE_BYTES;
    INVARIANT(at < r->bytes);
    *out = (struct pool_buf){r->memory + at, RESERVE_BYTES};
    return true;
}

bool reserve_give(const struct reserve *r, struct pool_buf *b)
{
    if (!r || b->data < r->memory || b->data >= r->memory + r->bytes) return false;
    madvise(b->data, RESERVE_BYTES, MADV_DONTNEED);
    *b = (struct pool_buf){0};
    return true;
}
