/* summary: what a run tells at its end.
 *
 * Percentiles are of all requests that were due, not of those that were answered: one that failed
 * or was never sent took longer than any that was answered. So where 2 % failed there is no p99,
 * and none is printed. Any thread; nothing here keeps anything. */
#ifndef INTERLUDE_LAB_SUMMARY_H
#define INTERLUDE_LAB_SUMMARY_H

#include "base/buf.h"
#include "lab/load_run.h"

/* The q-quantile of all requests that were due, in ns. False if it is one of those without a 2xx
 * answer, or there were none. */
bool summary_quantile(const struct capture_interval *i, double q, uint64_t *ns);

/* Answers a second of the time that was the target's. */
double summary_rate(const struct capture_interval *i);

/* The generator itself: the share of a core that its work took (polling in vain left out), of the
 * requests the share that it sent late although a connection was free, and whether either says that
 * it, not the server, was what held up: work over 90 %, or more than 0.1 % late. */
struct summary_generator {
    double work, spin; /* of a core */
    double late_free;  /* of requests sent */
    bool bottleneck;
};
struct summary_generator summary_generator_of(const struct load_result *r);

/* For people, and as one JSON object. `jitter`: of this machine's timers before the run. A buf of
 * SUMMARY_BYTES_MAX suffices. */
enum { SUMMARY_BYTES_MAX = 64 * 1024 };
void summary_print(struct buf *b, const struct load_options *o, const struct load_result *r,
                   const struct hist *jitter);
void summary_json(struct buf *b, const struct load_options *o, const struct load_result *r,
                  const struct hist *jitter);

#endif
