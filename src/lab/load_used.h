/* load_used: what the calling thread has had of the machine's cores, by the kernel's books. Waiting
 * for a core counts beside working: a generator that another program kept from running was no less
 * in the way than one that was too slow. Any thread, of itself. */
#ifndef INTERLUDE_LAB_LOAD_USED_H
#define INTERLUDE_LAB_LOAD_USED_H

#include <stdint.h>

struct load_used {
    uint64_t at_ns;      /* when this was read; monotone */
    uint64_t cpu_ns;     /* it ran */
    uint64_t starved_ns; /* it could have run, and had no core; 0 if the kernel does not tell */
};

void load_used_read(struct load_used *out);

#endif
