#include "lab/load_jitter.h"

#include "base/clock.h"

#include <sys/prctl.h>
#include <time.h>

void load_jitter(struct hist *late, int waits)
{
    hist_init(late);
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    for (int i = 0; i < waits; i++) {
        uint64_t until = clock_mono_ns() + 1000000;
        struct timespec t = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
        if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == 0)
            hist_record(late, clock_mono_ns() - until);
    }
}
