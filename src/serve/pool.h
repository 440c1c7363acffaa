/* pool: buffers for what a connection has to keep between two turns of its loop.
 *
 * That is rare: a request that came in pieces, or an answer that the peer does not read. What comes
 * and goes within a turn uses the loop's own buffers, so an idle connection keeps nothing. Buffers
 * come in a few sizes, are allocated on first need and kept for the next one; a pool never holds
 * more than its limit, whatever the peers do. What was kept for some time and not needed goes back
 * to the system, but for one of each size, so that what comes now and then allocates nothing.
 *
 * Threads: one pool a loop. Ownership: a buffer taken belongs to the connection until pool_give. */
#ifndef INTERLUDE_SERVE_POOL_H
#define INTERLUDE_SERVE_POOL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { POOL_CLASSES = 5, POOL_BYTES_KEPT_MAX = 128 * 1024, POOL_AGED_MAX = 64 };

struct pool_buf {
    char *data; /* NULL: none */
    size_t cap;
};

struct pool_free;

struct pool {
    struct pool_free *free[POOL_CLASSES];
    uint32_t kept[POOL_CLASSES];  /* in `free` */
    uint32_t spare[POOL_CLASSES]; /* so many of them, at least, since the last pool_age */
    size_t bytes, bytes_max;      /* allocated: in use or kept */
};

void pool_init(struct pool *p, size_t bytes_max);

/* Keeps one of each size, as far as the limit and memory allow: for a start. */
void pool_warm(struct pool *p);

/* At least `need` bytes, not cleared. Sizes over POOL_BYTES_KEPT_MAX are not kept when given back.
 * False if the limit is reached or there is no memory; *out is then untouched. */
bool pool_take(struct pool *p, size_t need, struct pool_buf *out) MUST_CHECK;

/* Gives back what *b holds, if anything, and empties it. */
void pool_give(struct pool *p, struct pool_buf *b);

/* Frees those that were kept since the last call, POOL_AGED_MAX of each size at most, but for one.
 */
void pool_age(struct pool *p);

/* Frees what is kept. Buffers in use must have come back. */
void pool_done(struct pool *p);

#endif
