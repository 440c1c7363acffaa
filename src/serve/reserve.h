/* reserve: two small buffers for each connection that are always to be had.
 *
 * What a connection keeps between two turns comes from its loop's pool, which has a limit. When
 * slow peers hold all of it, an ordinary request that came in two pieces must still have a place,
 * and so must the rest of an ordinary answer. So each slot has room for one of each, in address
 * space that was reserved at the start. It is touched only when the pool has nothing, and goes back
 * to the system as soon as it is not needed any more.
 *
 * Threads: a slot's part belongs to the connection's loop. Ownership: the server's struct. */
#ifndef INTERLUDE_SERVE_RESERVE_H
#define INTERLUDE_SERVE_RESERVE_H

#include "serve/pool.h"

enum { RESERVE_BYTES = 4096 };

enum reserve_side { RESERVE_IN, RESERVE_OUT, RESERVE_SIDES };

struct reserve {
    char *memory;
    size_t bytes;
};

/* For slots from 0 to slot_count - 1. False if there is not so much address space. */
bool reserve_init(struct reserve *r, uint32_t slot_count) MUST_CHECK;
void reserve_done(struct reserve *r);

/* At least `need` bytes for that slot, whose side must not be taken. False where `need` is above
 * RESERVE_BYTES; *out is then untouched. `r` NULL: nothing is reserved. */
bool reserve_take(const struct reserve *r, uint32_t slot, enum reserve_side side, size_t need,
                  struct pool_buf *out) MUST_CHECK;

/* Gives *b back and empties it, if it is from here; else returns false. */
bool reserve_give(const struct reserve *r, struct pool_buf *b);

#endif
