/* load_meter: the counts of a run, cut into intervals.
 *
 * The run counts into `now`; at an interval's end the meter hands it to the hook, adds it to the
 * total and begins the next. A request is counted in the interval in which a thing happened to it,
 * so one that is due in one interval may be answered in another.
 *
 * Threads: that of its run. Ownership: values; `options` must outlive it. */
#ifndef INTERLUDE_LAB_LOAD_METER_H
#define INTERLUDE_LAB_LOAD_METER_H

#include "lab/load_run.h"

struct load_meter {
    const struct load_options *o;
    struct capture_interval now[CAPTURE_TARGETS_MAX];
    struct capture_interval last[CAPTURE_TARGETS_MAX]; /* the interval before */
    struct capture_interval total[CAPTURE_TARGETS_MAX];
    struct hist taken_after; /* of all requests: how long after they were due they were taken up */

    int64_t started_us;
    uint64_t start_ns, end_ns; /* of the schedule */
    uint64_t from_ns;          /* when the interval began */
    uint64_t next_ns;          /* when it ends; the last one has no such time */
    uint64_t progress_ns;      /* when to tell how far it is */
    struct disturbance before; /* at from_ns */
};

void load_meter_init(struct load_meter *m, const struct load_options *o);

/* The schedule begins at start_ns, now or soon: `now` keeps what was counted while connections were
 * opened. */
void load_meter_start(struct load_meter *m, uint64_t start_ns);

/* A request of `target` is taken up: the first that happens to it. */
void load_meter_take(struct load_meter *m, uint32_t target, uint64_t due_ns, uint64_t now_ns);

/* The schedule was ended early. */
void load_meter_stop(struct load_meter *m, uint64_t now_ns);

/* Ends intervals whose time has come, and tells progress. */
void load_meter_tick(struct load_meter *m, uint64_t now_ns);

/* When load_meter_tick has something to do next. */
uint64_t load_meter_next(const struct load_meter *m);

/* Ends the last interval. */
void load_meter_finish(struct load_meter *m, uint64_t now_ns);

/* Of [from, to), both from the schedule's start: how much was `target`'s turn. */
uint64_t load_meter_active(const struct load_options *o, uint32_t target, uint64_t from_ns,
                           uint64_t to_ns);

#endif
