/* scribe: the one thread that reads every ring, renders and writes.
 *
 * It polls; nobody wakes it for a record, because a wake-up costs the waker more than the record
 * does. While records come it looks every 10 ms, else every 80 ms (13 wake-ups a second); a record
 * is out within 100 ms. It turns while the sink takes nothing too: it then leaves the records where
 * they are, the rings fill up, and their writers drop the newest.
 *
 * Each site has a budget, a token bucket for the whole process. A record over it is suppressed;
 * while a bucket is empty its site is closed (signal_shared), and its writers do not even copy.
 *
 * The scribe's own lines go straight into the outbox, which keeps room for them: log_suppressed
 * tells by timer what a budget suppressed and what was dropped, until a line that tells it was
 * written; log_lost tells what a sink that takes lines again has missed. A line that finds no room
 * is tried again at the next turn.
 *
 * Private to the room. */
#ifndef INTERLUDE_SIGNAL_SCRIBE_H
#define INTERLUDE_SIGNAL_SCRIBE_H

#include "plan/settings.h"
#include "signal/outbox.h"
#include "signal/watch.h"
#include "signal/writer.h"

#include <pthread.h>

struct bucket {
    double tokens;
    uint64_t filled_ns;
};

struct scribe {
    struct signal_writer *writers;
    int writer_count;
    struct signal_shared *shared;
    uint64_t report_interval_ns;

    /* Set by whoever loads a plan: a double's bits each. */
    _Atomic uint64_t rate[SITE_COUNT], burst[SITE_COUNT];
    _Atomic int level;

    struct outbox outbox;
    struct bucket buckets[SITE_COUNT];
    enum sink_result sink_state;
    uint64_t report_due_ns;
    bool report_owed; /* an interval is over, and its log_suppressed not yet looked after */
    /* What the last written line of its kind told; what the one told that is not written yet. */
    uint64_t told_suppressed[SITE_COUNT], told_dropped[SITE_COUNT], told_lost[LOSS_COUNT];
    uint64_t telling_suppressed[SITE_COUNT], telling_dropped[SITE_COUNT], telling_lost[LOSS_COUNT];
    bool suppressed_underway, lost_underway; /* it is in the outbox */

    /* Below the level as of the last turn. What is suppressed while a site is, is its reader's wish
     * and not told: `silent`, so many before it was hidden last, when there were
     * `suppressed_shown`. */
    bool hidden[SITE_COUNT];
    uint64_t suppressed_shown[SITE_COUNT], silent[SITE_COUNT];

    struct record reopened; /* the last reopening's line */
    bool reopened_untold;   /* it found no room in the outbox yet */

    /* Now and then the scribe asks for a look at the accounts: takes one with watch_take, and sets
     * the bits of *turned. False: not now, because the lock that it needs is taken; the scribe
     * waits for nobody. */
    bool (*look)(void *of, uint64_t now_ns, uint32_t *turned);
    void *look_of;
    struct watch watch;
    uint32_t constant_untold; /* bits of sites that a line is owed for */

    /* Set by whoever loads a plan, `refused` last: label sets that found no series, ever; and how
     * many series there were then, of how many. */
    _Atomic uint64_t series_refused, series, series_max;
    uint64_t told_refused;

    _Alignas(64) _Atomic uint64_t fired[SITE_COUNT]; /* its own lines */
    _Atomic uint64_t suppressed[SITE_COUNT];         /* over the budget, or below the level */
    _Atomic uint64_t drills_suppressed[SITE_COUNT];  /* of those, the drills' */
    _Atomic uint64_t intervals;                      /* report intervals that have passed */
    _Atomic uint64_t turned_ns;

    _Alignas(64) _Atomic bool stopping, reopening;
    _Atomic uint64_t deadline_ns;
    int wake_fd;
    pthread_t thread;
    pthread_mutex_t lock; /* of `done` */
    pthread_cond_t done_changed;
    bool done;
};

/* The sink in scribe->outbox is open, writers and shared are set. */
enum err_code scribe_start(struct scribe *s, struct err *e) MUST_CHECK;

/* False: it is blocked in a write, and its memory must stay. */
bool scribe_stop(struct scribe *s, uint64_t deadline_ns);

/* From any thread; in force from the scribe's next turn on. */
void scribe_configure(struct scribe *s, const struct settings_log *log);

/* Async-signal-safe. */
void scribe_reopen(struct scribe *s);

/* Over budget or below the level, and dropped for any reason: by site, those that writers counted
 * themselves included. From any thread. */
uint64_t scribe_suppressed(const struct scribe *s, int site);
uint64_t scribe_dropped(const struct scribe *s, int site);

#endif
