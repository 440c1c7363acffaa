/* signals: what the program says about itself, without ever waiting for anybody.
 *
 * Each thread that has something to tell owns a signal_writer: cells that only it writes (a count
 * is one load and one store), and a ring into which it copies typed records of anomalies. One
 * scribe thread reads the rings, renders JSON lines and writes them; a scrape adds the cells up.
 * What a plan's names resolve to is looked up once, when the plan is loaded: signal_cells.
 *
 * Threads: signal_* functions belong to the writer's thread, and do not allocate, lock, wait or
 * make a system call (but for the clock, in those that say so). signals_* functions may be called
 * from any thread but a worker's; they take a lock that no writer ever takes. Ownership: signals
 * owns its writers. Records hold copies; nothing refers to a plan after the call returns, but for
 * signal_cells, which its owner releases when the plan is retired. */
#ifndef INTERLUDE_SIGNAL_SIGNALS_H
#define INTERLUDE_SIGNAL_SIGNALS_H

#include "base/buf.h"
#include "base/err.h"
#include "decide/decide.h"
#include "plan/plan_compare.h"
#include "plan/settings.h"
#include "table/signal_table.h"

enum {
    SIGNALS_WRITERS_MAX = 256,
    SIGNALS_CELLS_MAX = 65536, /* of each writer: the most series, and what is always counted */
    /* The greatest text of a sample: four labels with names all of quotes, and what is around. */
    SIGNALS_SAMPLE_BYTES_MAX = 768,
    SIGNALS_THREADS_MAX = 256,
    SIGNALS_THREAD_NAME_BYTES_MAX = 15,
    /* So all metrics together are at most: */
    SIGNALS_METRICS_BYTES_MAX =
        (SIGNALS_CELLS_MAX + SIGNALS_THREADS_MAX) * SIGNALS_SAMPLE_BYTES_MAX,
    SIGNALS_LIST_BYTES_MAX = SITE_COUNT * 2048 + 2,
};

struct signals;
struct signal_writer;
struct signal_cells;

struct signals_config {
    int writers;                    /* each thread that tells: 1 to SIGNALS_WRITERS_MAX */
    const struct settings_log *log; /* level, sink, budgets; not kept */
    struct span program, commit;    /* for interlude_build_info; copied */
    /* Posteriors are counted by variants and actions of which no policy reads any, too: for a
     * caller that tells signal_decision something else than decide() would. */
    bool all_posteriors;
    /* 0: the default. For tests. */
    size_t ring_bytes;          /* of each writer; a power of two, 256 KiB or more; 512 KiB */
    uint32_t cells_max;         /* of each writer; 65,536 */
    int64_t report_interval_ms; /* between two log_suppressed lines; 10,000 */
    int64_t window_ms;          /* in which a site is judged, see watch.h; 300,000 */
    int64_t quiet_ms;           /* without a firing: the site is quiet; 3,600,000 */
};

/* Opens the sink and starts the scribe. ERR_SYSTEM with a text that names the file and what to do
 * if the sink cannot be opened (a FIFO without a reader is not an error: it is waited for). */
enum err_code signals_open(const struct signals_config *config, struct signals **out,
                           struct err *e) MUST_CHECK;

/* Stops the scribe once everything fired is written, or at the deadline (clock_mono_ns); what is
 * then left is dropped, reason shutdown. No writer may be in use. Returns the number of records
 * that were left. Returns soon after the deadline even if the scribe is blocked in a write; then
 * the memory is left to the end of the process. NULL is allowed. */
uint64_t signals_close(struct signals *signals, uint64_t deadline_ns);

/* Writer `index`, from 0; the caller gives each to one thread. Valid until signals_close. */
struct signal_writer *signals_writer(struct signals *signals, int index);

/* The cells of a plan, made before it is served. A label set that had a series before gets the same
 * cell again. NULL: there is not enough memory, and nothing has changed. */
struct signal_cells *signals_cells(struct signals *signals, const struct plan *plan) MUST_CHECK;

/* It is served: from now on it is the plan of interlude_plan_info, and this log level and these
 * budgets are in force (its sink is not: that takes a start). */
void signals_adopt(struct signals *signals, const struct plan *plan,
                   const struct settings_log *log);

/* When no thread uses them any more. NULL is allowed. */
void signals_release(struct signals *signals, struct signal_cells *cells);

/* SIGUSR1: the scribe opens the log file anew, soon. Async-signal-safe. No file: nothing. */
void signals_reopen(struct signals *signals);

/* clock_mono_ns() of the scribe's last turn. It turns at least ten times a second, with a sink that
 * takes nothing too, unless it is blocked inside a write. */
uint64_t signals_scribe_turned_ns(const struct signals *signals);

/* ---- the request path: a worker's own writer ---- */

/* Counts all there is to count about a decision, and records its anomalies. `request->request_id`
 * is the one that was answered with; `wall_us` the clock's time. */
void signal_decision(struct signal_writer *writer, const struct signal_cells *cells,
                     const struct plan *plan, const struct request *request,
                     const struct decision *decision, int64_t wall_us);

/* Instead of it, for a made-up request: its anomalies fire as those of any other and their lines
 * have "drill": true, but nothing else is counted. Only on a thread that serves no decisions. */
void signal_drill(struct signal_writer *writer, const struct plan *plan,
                  const struct request *request, const struct decision *decision, int64_t wall_us);

/* An answer on the decision port, decision or problem. `status` 100 to 599. */
void signal_http(struct signal_writer *writer, int status);

/* The variant's duration, see interlude_request_duration_seconds. The variant is
 * signal_decision_variant()'s, kept by the caller until the answer is written. */
void signal_duration(struct signal_writer *writer, const struct signal_cells *cells, int variant,
                     uint64_t ns);

/* Where the time of a sampled request went. */
void signal_stages(struct signal_writer *writer, const struct probe *probe);

/* A number for the variant as metrics know it: that of the decision, or the last one, `unknown`. */
static inline int signal_decision_variant(const struct plan *plan, const struct decision *decision)
{
    return decision->variant_unknown ? plan->variant_count : decision->variant;
}

/* ---- counters that no plan closes; any writer ---- */

enum signal_counter {
    COUNTER_CONNECTIONS_ACCEPTED,
    COUNTER_CONNECTIONS_REFUSED_MAX,         /* reason connections_max */
    COUNTER_CONNECTIONS_REFUSED_PER_ADDRESS, /* reason per_address_max */
    COUNTER_ACCEPT_PAUSED_DESCRIPTORS,       /* reason descriptors: all are taken, or shared out */
    COUNTER_ACCEPT_PAUSED_MEMORY,            /* reason memory: ENOBUFS, ENOMEM */
    COUNTER_CONNECTIONS_LAST = COUNTER_ACCEPT_PAUSED_MEMORY,
    COUNTER_CONNECTIONS_REFUSED_BUFFERS, /* reason buffers_max */
    COUNTER_CONNECTIONS_UNTOLD,
    COUNTER_SCRAPES_CUT,
    SIGNAL_COUNTER_COUNT,
};

void signal_count(struct signal_writer *writer, enum signal_counter counter);

/* ---- gauges; any thread ---- */

enum signal_gauge {
    GAUGE_CONNECTIONS,
    GAUGE_CONNECTIONS_MAX,
    GAUGE_WORKERS,
    GAUGE_LOOP_LAG_SECONDS,
    GAUGE_RELOAD_SUCCESSFUL,
    GAUGE_RELOAD_TIMESTAMP_SECONDS,
    SIGNAL_GAUGE_COUNT,
};

#define SIGNALS_PLAN_FILE_INVALID "invalid"

/* What the plan's file holds: a fingerprint, SIGNALS_PLAN_FILE_INVALID, or "": there is no file.
 * For interlude_plan_file_info. Takes the lock. */
void signals_plan_file_set(struct signals *signals, const char *fingerprint);

/* Waits for nobody: one store. The last value set is the one that is scraped. */
void signals_gauge_set(struct signals *signals, enum signal_gauge gauge, double value);

/* A thread of interlude_thread_stalled: the first that is added is 0. Before anything is scraped.
 * `name`: up to SIGNALS_THREAD_NAME_BYTES_MAX bytes. Returns a copy that lives as long as the
 * signals. */
const char *signals_thread_add(struct signals *signals, const char *name);

/* Waits for nobody. */
void signals_thread_set(struct signals *signals, int thread, bool stalled);

/* ---- log lines of the threads around the workers. They read the clock. ---- */

void signal_server_started(struct signal_writer *writer, struct span program, struct span commit,
                           const struct plan *plan, struct span file, int64_t pid);
void signal_server_ready(struct signal_writer *writer, const struct plan *plan, struct span listen,
                         struct span admin, int workers);
void signal_server_draining(struct signal_writer *writer, struct span reason, int64_t drain_ms);
void signal_server_stopped(struct signal_writer *writer, struct span reason);
/* A reload, as its line tells it; what is empty is left out. */
struct signal_reload {
    struct span trigger, peer, file, fingerprint_before;
    const struct plan_weaker *weaker; /* what it took away, or would have */
    uint32_t units_moved_ppm;
    struct span message; /* what the new plan's file says and a reload does not apply */
};
void signal_plan_reloaded(struct signal_writer *writer, const struct plan *plan,
                          const struct signal_reload *reload);
/* `served`: the plan that stays. `first`: the first of `errors` errors. */
void signal_plan_refused(struct signal_writer *writer, const struct plan *served,
                         const struct signal_reload *reload, const struct err *first, int errors);
void signal_version_reused(struct signal_writer *writer, const struct plan *plan);
/* Counts as well. `counter`: COUNTER_ACCEPT_PAUSED_*. */
void signal_accept_paused(struct signal_writer *writer, enum signal_counter counter,
                          int connections);
/* The limit of open files, `descriptors`, allows so many `connections` of `connections_max`. */
void signal_descriptors_short(struct signal_writer *writer, int connections, int connections_max,
                              int64_t descriptors);
/* The operations port listens at `admin`, which is beyond loopback. */
void signal_operations_exposed(struct signal_writer *writer, struct span admin);
/* Counts as well. */
void signal_connections_max_reached(struct signal_writer *writer, int connections);
/* Count as well. `peer`: HOST:PORT. `connections`: of that address; of that loop. */
void signal_per_address_max_reached(struct signal_writer *writer, struct span peer,
                                    int connections);
void signal_buffers_max_reached(struct signal_writer *writer, int connections);

/* ---- what is told when asked; allocates nothing ---- */

enum metrics_format { METRICS_PROMETHEUS, METRICS_OPENMETRICS };

#define METRICS_PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Appends all metrics. SIGNALS_METRICS_BYTES_MAX bytes of room always suffice. */
void signals_render_metrics(struct signals *signals, enum metrics_format format, struct buf *out);

/* Appends the log sites as a JSON array of objects, with their counts, states and costs; those come
 * first whose firings are the least worth. SIGNALS_LIST_BYTES_MAX bytes of room always suffice. */
void signals_render_list(struct signals *signals, struct buf *out);

/* When it was opened, in microseconds since 1970: the same as before, and it is the same process.
 */
int64_t signals_started_us(const struct signals *signals);

/* One site's account at a moment: fired = written + dropped + suppressed + outranked + queued. */
struct signal_account {
    uint64_t fired, queued, opportunities;
    uint64_t bytes; /* of the lines written */
    uint64_t outcomes[OUTCOME_COUNT];
};

void signals_account(struct signals *signals, struct signal_account accounts[SITE_COUNT]);

/* The part of the account that drills are. It balances by itself: what became of a drill is told
 * whatever else fires at the same time. */
struct signal_drills {
    uint64_t fired, queued;
    uint64_t outcomes[OUTCOME_COUNT];
};

void signals_drills(struct signals *signals, struct signal_drills drills[SITE_COUNT]);

/* docs/signals.md, from the table. */
void signals_doc_print(struct buf *b);

/* Opens /dev/null on those of the descriptors 0, 1 and 2 that are closed, so that no socket or file
 * ever becomes one of them. Call first in main. False: errno tells why not. */
bool signals_standard_descriptors(void);

#endif
