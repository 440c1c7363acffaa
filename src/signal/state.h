/* state: everything behind a `struct signals`. Private to the room. */
#ifndef INTERLUDE_SIGNAL_STATE_H
#define INTERLUDE_SIGNAL_STATE_H

#include "signal/cells.h"
#include "signal/scribe.h"

struct signals {
    struct signal_shared shared;
    int writer_count;
    struct signal_writer *writers; /* and their rings and cells, in one mapping */
    int64_t started_us;            /* since 1970 */
    double process_start_s;        /* of the process, which is older */
    void *mapping;
    size_t mapping_bytes, ring_bytes;
    struct scribe scribe;

    _Atomic uint64_t gauges[SIGNAL_GAUGE_COUNT]; /* a double's bits */

    int thread_count; /* see signals_thread_add */
    char thread_names[SIGNALS_THREADS_MAX][SIGNALS_THREAD_NAME_BYTES_MAX + 1];
    _Atomic bool stalled[SIGNALS_THREADS_MAX];

    pthread_mutex_t lock; /* of all that follows */
    struct series_table series;
    bool all_posteriors; /* see struct signals_config */
    char program[NAME_BYTES_MAX + 1], commit[NAME_BYTES_MAX + 1];
    char version[NAME_BYTES_MAX + 1], fingerprint[13]; /* of the plan adopted last; "": none yet */
    char file_fingerprint[13];                         /* see signals_plan_file_set */
};

double signals_gauge_get(const struct signals *signals, enum signal_gauge gauge);

/* account.c: as signals_account and signals_drills, under the lock. */
void account_take(struct signals *signals, struct signal_account accounts[SITE_COUNT]);
void account_drills(struct signals *signals, struct signal_drills drills[SITE_COUNT]);
uint64_t account_counter(const struct signals *signals, enum signal_counter counter);

/* process.c: what the kernel knows about the process. Reads /proc; what cannot be read is 0. */
struct process_facts {
    double cpu_s;
    uint64_t open_fds, max_fds, virtual_bytes, resident_bytes;
};

void process_read(struct process_facts *out);

/* When it was started, in seconds since 1970, as of now: the clock that it is reckoned with can be
 * set, so who tells it more than once asks once. 0: the kernel does not say. */
double process_start_s(void);

#endif
