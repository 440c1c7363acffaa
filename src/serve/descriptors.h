/* descriptors: how many connections the limit of open files allows, and whose they are.
 *
 * Whoever lets connections take every descriptor there is can neither be asked what is wrong with
 * it nor read its plan anew. So they are shared out beforehand: what the process holds itself and a
 * few to spare come first, then a part for the operations port and one for connections that are
 * told 503, and decisions get the rest, up to connections_max.
 * Not on the request path. Any thread. */
#ifndef INTERLUDE_SERVE_DESCRIPTORS_H
#define INTERLUDE_SERVE_DESCRIPTORS_H

#include <stdint.h>

/* Beside connections and what is open at the start: a plan that is read, a scrape that reads /proc,
 * a log that is opened anew, a connection between accept and its answer. */
enum { DESCRIPTORS_SPARE = 10 };

/* Connections; at least 1 of each, and 2 of operations: one can then make room for the other. */
struct descriptors {
    uint32_t decisions, operations, refused;
};

/* `limit` open files, of which `held` are open already. Nobody gets more than `wanted`; where there
 * are too few, operations get no more than an eighth, and those refused a sixteenth, of what is
 * left for connections. */
struct descriptors descriptors_share(uint64_t limit, uint64_t held,
                                     const struct descriptors *wanted);

/* Raises the soft limit so that `wanted` fit beside `held`, or as far as the hard limit allows.
 * Returns the limit that is then in force. */
uint64_t descriptors_raise(uint64_t held, const struct descriptors *wanted);

/* Descriptors that are open now; an estimate where /proc is missing. */
uint64_t descriptors_held(void);

#endif
