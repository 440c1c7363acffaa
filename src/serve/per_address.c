#include "serve/per_address.h"

#include "base/clock.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Chance where there is some; else at least nothing that can be known from outside. */
static struct hash128 key_make(const void *here)
{
    struct hash128 key;
    if (getrandom(&key, sizeof key, GRND_NONBLOCK) == sizeof key) return key;
    return (struct hash128){(uint64_t)(uintptr_t)here, clock_mono_ns()};
}

bool per_address_init(struct per_address *p, uint32_t slot_count, uint32_t max)
{
    *p = (struct per_address){.max = max};
    if (max == 0) return true;
    uint32_t chains = 1;
    while (chains < slot_count) chains *= 2;
    p->mask = chains - 1;
    p->chains = calloc(chains, sizeof p->chains[0]);
    p->entries = calloc(slot_count, sizeof p->entries[0]);
    p->of_slot = calloc(slot_count, sizeof p->of_slot[0]);
    p->hash_key = key_make(p->chains);
    return p->chains && p->entries && p->of_slot;
}

void per_address_done(struct per_address *p)
{
    free(p->chains);
    free(p->entries);
    free(p->of_slot);
    *p = (struct per_address){0};
}

/* Of ::/8 nothing is anybody's but for ::1 and mapped addresses, so the keys of the two kinds do
 * not meet. */
static address_key key_of_v4(uint32_t address)
{
    return (address_key)0xffff << 32 | address;
}

address_key address_key_of(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        return key_of_v4(ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr));
    if (address->ss_family != AF_INET6) return 0;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
    const uint8_t *bytes = v6->s6_addr;
    address_key key = 0;
    if (IN6_IS_ADDR_V4MAPPED(v6)) {
        for (int i = 12; i < 16; i++) key = key << 8 | bytes[i];
        return key_of_v4((uint32_t)key);
    }
    for (int i = 0; i < 8; i++) key = key << 8 | bytes[i];
    return key ? key : 1; /* ::1 */
}

static uint32_t *chain_of(const struct per_address *p, address_key key)
{
    struct span bytes = {(const char *)&key, sizeof key};
    return &p->chains[hash_sip128(p->hash_key, bytes).lo & p->mask];
}

/* Its entry's index and 1; 0: it has none. */
static uint32_t entry_find(const struct per_address *p, address_key key)
{
    uint32_t at = *chain_of(p, key);
    while (at && p->entries[at - 1].key != key) at = p->entries[at - 1].next;
    return at;
}

uint32_t per_address_count(const struct per_address *p, address_key key)
{
    uint32_t at = p->max && key ? entry_find(p, key) : 0;
    return at ? p->entries[at - 1].count : 0;
}

static uint32_t entry_new(struct per_address *p, address_key key)
{
    uint32_t at = p->free, *chain = chain_of(p, key);
    if (at)
        p->free = p->entries[at - 1].next;
    else
        at = ++p->used;
    p->entries[at - 1] = (struct per_address_entry){.key = key, .next = *chain};
    *chain = at;
    return at;
}

void per_address_take(struct per_address *p, uint32_t slot, address_key key)
{
    if (!p->max || !key) return;
    INVARIANT(p->of_slot[slot] == 0);
    uint32_t at = entry_find(p, key);
    if (!at) at = entry_new(p, key);
    p->entries[at - 1].count++;
    p->of_slot[slot] = at;
}

void per_address_give(struct per_address *p, uint32_t slot)
{
    uint32_t at = p->max ? p->of_slot[slot] : 0;
    if (!at) return;
    p->of_slot[slot] = 0;
    struct per_address_entry *entry = &p->entries[at - 1];
    if (--entry->count > 0) return;
    uint32_t *link = chain_of(p, entry->key);
    while (*link != at) link = &p->entries[*link - 1].next;
    *link = entry->next;
    entry->next = p->free;
    p->free = at;
}
