/* nearest: the name that was probably meant. For messages; not for the request path. */
#ifndef INTERLUDE_BASE_NEAREST_H
#define INTERLUDE_BASE_NEAREST_H

#include "base/span.h"

/* The nearest of `count` names to `wanted`: edit distance (insert, delete, replace, swap of
 * neighbours) at most 2 and less than the length of `wanted`, the first of equals. An empty span
 * where none is near, or `wanted` is longer than 64 bytes. */
struct span nearest_name(struct span wanted, const struct span *names, size_t count);

#endif
