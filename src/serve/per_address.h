/* per_address: how many connections each address has, so that one cannot have them all.
 *
 * An IPv4 address counts by itself, also where it comes mapped into IPv6; an IPv6 address counts by
 * its /64, which is what one customer has. Whatever is neither is not counted. Behind a proxy every
 * connection has the proxy's address.
 *
 * A hash table with as many places as there can be connections: nothing is allocated after the
 * start, and finding, taking and giving back are O(1). Its hash has a key of its own, so that
 * nobody can choose addresses that fall together.
 *
 * Threads: all on one. Ownership: the caller's struct; the memory is the table's own. */
#ifndef INTERLUDE_SERVE_PER_ADDRESS_H
#define INTERLUDE_SERVE_PER_ADDRESS_H

#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* 0: not counted. */
typedef uint64_t address_key;

struct per_address_entry {
    address_key key;
    uint32_t count; /* 0: free */
    uint32_t next;  /* in its chain, or of the free ones: an index and 1; 0: the last */
};

struct per_address {
    uint32_t max; /* 0: no limit, and nothing is counted */
    struct hash128 hash_key;
    uint32_t mask;
    uint32_t *chains;                  /* by hash: an index of `entries` and 1; 0: none */
    struct per_address_entry *entries; /* as many as slots: each connection may have its own */
    uint32_t *of_slot;                 /* its entry's index and 1; 0: it is not counted */
    uint32_t free;                     /* the first of those that were used before */
    uint32_t used;                     /* from here on they never were */
};

/* False if there is not enough memory. `max` 0: none is needed. */
bool per_address_init(struct per_address *p, uint32_t slot_count, uint32_t max) MUST_CHECK;
void per_address_done(struct per_address *p);

address_key address_key_of(const struct sockaddr_storage *address);

/* How many it has. */
uint32_t per_address_count(const struct per_address *p, address_key key);

/* The connection in `slot`, from 0 to slot_count - 1, is that address's from here to
 * per_address_give. */
void per_address_take(struct per_address *p, uint32_t slot, address_key key);
void per_address_give(struct per_address *p, uint32_t slot);

#endif
