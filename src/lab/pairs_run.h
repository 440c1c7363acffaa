/* pairs_run: the runs behind a verdict of pairs.h.
 *
 * For each of N pairs: A and B, in alternating order, and then A and A, in the same way. Both runs
 * of a pair have the same schedule and the same requests; each pair has its own. The second A may
 * be a server of its own, A's twin: then the A/A pairs also show what two equal processes differ by
 * (where their memory lies, which core they got), which one server beside itself cannot.
 *
 * What cannot be compared is not: a request without a 2xx answer in any run makes everything void,
 * and percentiles of a run in which the generator was the bottleneck leave its pair out. Processor
 * time per answer does not depend on when a request was sent, so there the generator is only told.
 */
#ifndef INTERLUDE_LAB_PAIRS_RUN_H
#define INTERLUDE_LAB_PAIRS_RUN_H

#include "base/buf.h"
#include "lab/load_run.h"
#include "lab/pairs.h"

enum pairs_metric { PAIRS_P50, PAIRS_P99, PAIRS_P999, PAIRS_CPU };

/* p50, p99, p999 or cpu; false if it is another word. */
bool pairs_metric_of(const char *name, enum pairs_metric *out);
const char *pairs_metric_name(enum pairs_metric metric);

enum { PAIRS_SIDES_MAX = 3 }; /* A, B, and A's twin */

struct pairs_options {
    struct load_options load; /* two targets, A and B, or three; its duration is that of one run */
    size_t pairs;             /* PAIRS_MIN to PAIRS_MAX */
    enum pairs_metric metric;
    bool has_pids;                     /* PAIRS_CPU: else `metrics` */
    int pids[PAIRS_SIDES_MAX];         /* of each target */
    const struct load_target *metrics; /* of each target */
    const double *bar;                 /* or NULL */

    void *context;
    void (*progress)(void *context, size_t runs_done, size_t runs); /* may be NULL */
};

/* The pairs of one kind: B/A, or A/A. */
struct pairs_kind {
    double ratios[PAIRS_MAX];       /* in the order of the runs; NAN: it does not count */
    size_t kept;                    /* of them, count */
    size_t late;                    /* left out because the generator was the bottleneck */
    struct pairs_interval interval; /* if PAIRS_MIN or more are kept */
};

struct pairs_result {
    size_t pairs;
    struct pairs_kind ab, aa;
    size_t bottlenecks; /* runs in which the generator was the bottleneck */
    size_t failed_runs; /* runs in which a request got no 2xx answer */
    uint64_t failed;    /* such requests */

    enum pairs_verdict verdict;
    enum pairs_bar bar;                 /* if there is one */
    struct pairs_resolution resolution; /* unless the verdict is void */
};

/* ERR_LIMIT: a run had no requests; ERR_USAGE: a server used no processor time; ERR_UNSUPPORTED: it
 * was stopped; else those of load_run and target_cpu. */
enum err_code pairs_run(const struct pairs_options *o, struct pairs_result *out,
                        struct err *e) MUST_CHECK;

/* The end of pairs_run: from the ratios and counts to intervals, verdict and bar. Pure. */
void pairs_conclude(const struct pairs_options *o, struct pairs_result *r);

/* There is a verdict, and the bar, if there is one, is met. */
bool pairs_answer(const struct pairs_options *o, const struct pairs_result *r);

/* A buf of PAIRS_BYTES_MAX suffices. */
enum { PAIRS_BYTES_MAX = 128 * 1024 };
void pairs_print(struct buf *b, const struct pairs_options *o, const struct pairs_result *r);
void pairs_json(struct buf *b, const struct pairs_options *o, const struct pairs_result *r);

#endif
