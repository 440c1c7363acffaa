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

/* The generator itself, and whether it, or the machine under it, was what held up, and not the
 * server: it worked or waited for a core in more than 90 % of the schedule's time, or took up more
 * than 0.1 % of all requests over 1 ms late. */
struct summary_generator {
    double work;       /* of a core, while the schedule lasted; polling in vain left out */
    double spin;       /* of a core: polling in vain */
    double starved;    /* of that time: it could have run, and had no core */
    double taken_late; /* of all requests that were due */
    bool busy, late;   /* which of the two it was */
    bool bottleneck;   /* either */
};
struct summary_generator summary_generator_of(const struct load_result *r);

/* Whether the q-quantile of the latencies is the server's: the generator was not busy, and at most
 * half as many requests were taken up late as lie beyond the quantile. 0.5 % for a p99. */
bool summary_carries(const struct summary_generator *g, double q);

/* For people, and as one JSON object. `jitter`: of this machine's timers before the run. A buf of
 * SUMMARY_BYTES_MAX suffices. */
enum { SUMMARY_BYTES_MAX = 512 * 1024 };
void summary_print(struct buf *b, const struct load_options *o, const struct load_result *r,
                   const struct hist *jitter);
void summary_json(struct buf *b, const struct load_options *o, const struct load_result *r,
                  const struct hist *jitter);

#endif
