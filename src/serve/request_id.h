/* request_id: makes up the id of a request that came without one.
 *
 * An id is 24 hexadecimal digits: a random prefix of 64 bits that each maker draws when it starts,
 * and a counter. Unique within a maker; between makers with the odds of 64 random bits.
 * Threads: a maker belongs to one. */
#ifndef INTERLUDE_SERVE_REQUEST_ID_H
#define INTERLUDE_SERVE_REQUEST_ID_H

#include "decide/request.h"

enum { REQUEST_ID_MADE_BYTES = 24 };

struct request_id_maker {
    char prefix[16];
    uint32_t count;
};

/* Asks the kernel for randomness; not for the request path, where it is done once in 2^32 ids. */
void request_id_init(struct request_id_maker *maker);

/* Writes REQUEST_ID_MADE_BYTES bytes into `memory`, and returns them. */
struct span request_id_make(struct request_id_maker *maker, char *memory);

/* What the caller left out and the edge makes up, for decide() knows no clock and no chance: the
 * id, in `memory`, and the time, which is returned: microseconds since 1970. */
static inline int64_t request_complete(struct request *request, struct request_id_maker *maker,
                                       char *memory, int64_t clock_us)
{
    if (!request->request_id.len) request->request_id = request_id_make(maker, memory);
    return request_now_us(request, clock_us);
}

#endif
