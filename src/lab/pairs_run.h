/* pairs_run: the runs behind a verdict of pairs.h.
 *
 * For each of N pairs: A and B, in alternating order, and then A and A, in the same way. Both runs
 * of a pair have the same schedule and the same requests; each pair has its own. */
#ifndef INTERLUDE_LAB_PAIRS_RUN_H
#define INTERLUDE_LAB_PAIRS_RUN_H

#include "base/buf.h"
#include "lab/load_run.h"
#include "lab/pairs.h"

enum pairs_metric { PAIRS_P50, PAIRS_P99, PAIRS_P999, PAIRS_CPU };

/* p50, p99, p999 or cpu; false if it is another word. */
bool pairs_metric_of(const char *name, enum pairs_metric *out);
const char *pairs_metric_name(enum pairs_metric metric);

struct pairs_options {
    struct load_options load; /* two targets: A and B; its duration is that of one run */
    size_t pairs;             /* PAIRS_MIN to PAIRS_MAX */
    enum pairs_metric metric;
    bool has_pids;                     /* PAIRS_CPU: else `metrics` */
    int pids[2];                       /* of A and B */
    const struct load_target *metrics; /* two */
    const double *bar;                 /* or NULL */

    void *context;
    void (*progress)(void *context, size_t runs_done, size_t runs); /* may be NULL */
};

struct pairs_result {
    size_t pairs;
    double ab_ratios[PAIRS_MAX], aa_ratios[PAIRS_MAX]; /* in order of size */
    struct pairs_interval ab, aa;
    enum pairs_verdict verdict;
    enum pairs_bar bar; /* if there is one */
    size_t bottlenecks; /* runs in which the generator was the bottleneck */
    uint64_t failed;    /* requests without a 2xx answer */
};

/* ERR_LIMIT: a run's figure cannot be told, because too many of its requests failed;
 * ERR_UNSUPPORTED: it was stopped; else those of load_run and target_cpu. */
enum err_code pairs_run(const struct pairs_options *o, struct pairs_result *out,
                        struct err *e) MUST_CHECK;

/* A buf of PAIRS_BYTES_MAX suffices. */
enum { PAIRS_BYTES_MAX = 128 * 1024 };
void pairs_print(struct buf *b, const struct pairs_options *o, const struct pairs_result *r);
void pairs_json(struct buf *b, const struct pairs_options *o, const struct pairs_result *r);

#endif
