#include "serve/pool.h"

#include <stdlib.h>

struct pool_free {
    struct pool_free *next;
};

static const size_t class_bytes[POOL_CLASSES] = {1024, 4096, 16 * 1024, 64 * 1024,
                                                 POOL_BYTES_KEPT_MAX};

void pool_init(struct pool *p, size_t bytes_max)
{
    *p = (struct pool){.bytes_max = bytes_max};
}

/* POOL_CLASSES: larger than what is kept. */
static int class_of(size_t bytes)
{
    int c = 0;
    while (c < POOL_CLASSES && class_bytes[c] < bytes) c++;
    return c;
}

/* The first kept one of a size. There must be one. */
static struct pool_free *pool_pop(struct pool *p, int c)
{
    struct pool_free *first = p->free[c];
    p->free[c] = first->next;
    p->kept[c]--;
    if (p->kept[c] < p->spare[c]) p->spare[c] = p->kept[c];
    return first;
}

static void pool_free_one(struct pool *p, int c)
{
    free(pool_pop(p, c));
    p->bytes -= class_bytes[c];
}

static void pool_trim(struct pool *p)
{
    for (int c = 0; c < POOL_CLASSES; c++)
        while (p->free[c]) pool_free_one(p, c);
}

void pool_age(struct pool *p)
{
    for (int c = 0; c < POOL_CLASSES; c++) {
        uint32_t count = p->spare[c] < POOL_AGED_MAX ? p->spare[c] : POOL_AGED_MAX;
        while (count-- > 0 && p->kept[c] > 1) pool_free_one(p, c);
        p->spare[c] = p->kept[c];
    }
}

bool pool_take(struct pool *p, size_t need, struct pool_buf *out)
{
    int c = class_of(need);
    size_t cap = c < POOL_CLASSES ? class_bytes[c] : need;
    if (c < POOL_CLASSES && p->free[c]) {
        *out = (struct pool_buf){(char *)pool_pop(p, c), cap};
        return true;
    }
    /* Kept buffers of other sizes must not be what keeps this one from being had. */
    if (cap > p->bytes_max - p->bytes) pool_trim(p);
    if (cap > p->bytes_max - p->bytes) return false;
    char *data = malloc(cap);
    if (!data) return false;
    p->bytes += cap;
    *out = (struct pool_buf){data, cap};
    return true;
}

void pool_warm(struct pool *p)
{
    struct pool_buf all[POOL_CLASSES] = {{0}};
    for (int c = 0; c < POOL_CLASSES; c++)
        if (!pool_take(p, class_bytes[c], &all[c])) break;
    for (int c = 0; c < POOL_CLASSES; c++) pool_give(p, &all[c]);
}

void pool_give(struct pool *p, struct pool_buf *b)
{
    if (!b->data) return;
    if (b->cap <= POOL_BYTES_KEPT_MAX) {
        int c = class_of(b->cap);
        struct pool_free *kept = (struct pool_free *)(void *)b->data;
        kept->next = p->free[c];
        p->free[c] = kept;
        p->kept[c]++;
    } else {
        free(b->data);
        p->bytes -= b->cap;
    }
    *b = (struct pool_buf){0};
}

void pool_done(struct pool *p)
{
    pool_trim(p);
    INVARIANT(p->bytes == 0);
}
