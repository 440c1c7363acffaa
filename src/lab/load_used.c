#include "lab/load_used.h"

#include "base/clock.h"

#include <stdio.h>
#include <time.h>

/* The second number of three (Documentation/scheduler/sched-stats.rst). */
static uint64_t starved_ns(void)
{
    unsigned long long ran, waited = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    if (!file) return 0;
    if (fscanf(file, "%llu %llu", &ran, &waited) != 2) waited = 0;
    fclose(file);
    return waited;
}

void load_used_read(struct load_used *out)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    *out = (struct load_used){
        .at_ns = clock_mono_ns(),
        .cpu_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec,
        .starved_ns = starved_ns(),
    };
}
