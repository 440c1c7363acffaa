#include "serve/request_id.h"

#include "base/err.h"

#include <sys/random.h>

static void put_hex(char *at, uint64_t value, int digits)
{
    struct buf b = buf_of(at, (size_t)digits);
    buf_hex(&b, value, digits);
}

void request_id_init(struct request_id_maker *maker)
{
    uint64_t random;
    INVARIANT(getrandom(&random, sizeof random, 0) == sizeof random);
    put_hex(maker->prefix, random, sizeof maker->prefix);
    maker->count = 0;
}

struct span request_id_make(struct request_id_maker *maker, char *memory)
{
    memcpy(memory, maker->prefix, sizeof maker->prefix);
    put_hex(memory + sizeof maker->prefix, maker->count, 8);
    if (++maker->count == 0) request_id_init(maker);
    return (struct span){memory, REQUEST_ID_MADE_BYTES};
}
