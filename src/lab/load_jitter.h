/* load_jitter: how late this machine's timers end while there is nothing else to do: the floor
 * under every send. Takes about `waits` ms, of sleep. */
#ifndef INTERLUDE_LAB_LOAD_JITTER_H
#define INTERLUDE_LAB_LOAD_JITTER_H

#include "base/hist.h"

void load_jitter(struct hist *late, int waits);

#endif
