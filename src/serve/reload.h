/* reload: the plan file read anew, and put in the place of the plan that is served.
 *
 * A reload changes nothing, or everything: the new plan is compiled aside, published with one
 * pointer store, and once no loop can hold the old one any more that is freed. What only a start
 * can apply (ports, threads, limits, the log's sink) stays as it was, and the outcome says so.
 *
 * A version that this process has served may not come back with other contents: answers and metrics
 * of one version must be of one plan. A plan without a version takes its fingerprint for one, so
 * that it cannot lie.
 *
 * Reading can take as long as RELOAD_READ_MS, where what stands at the path is no file. So a reload
 * that nobody waits for runs on a thread of its own: who asks for it by reload_ask goes on at once.
 *
 * Threads: reload_run may be called from any thread that is not between plan_live_enter and
 * plan_live_leave; one reload runs at a time, others wait. It allocates and reads a file. */
#ifndef INTERLUDE_SERVE_RELOAD_H
#define INTERLUDE_SERVE_RELOAD_H

#include "plan/plan_load.h"
#include "serve/plan_live.h"

#include <pthread.h>

enum {
    RELOAD_READ_MS = 2000,
    RELOAD_VERSIONS_MAX = 1024, /* remembered; beyond them the oldest is forgotten */
    RELOAD_NOT_APPLIED_BYTES = 256,
};

/* What only a start applies: name in the plan. */
#define RELOAD_AT_START(X)                       \
    X(LISTEN, "server.listen")                   \
    X(ADMIN, "server.admin")                     \
    X(WORKERS, "server.workers")                 \
    X(CONNECTIONS_MAX, "server.connections_max") \
    X(TIMEOUTS, "server.*_timeout")              \
    X(SINK, "log.sink")

struct reload_version {
    struct hash128 version, contents;
};

struct reload {
    pthread_mutex_t running; /* held for a whole reload: they take effect in their order */
    pthread_mutex_t lock;    /* held while the plan that is served changes, or must not */
    pthread_t thread;
    struct signal_writer *writer; /* the thread's */
    bool threaded;
    int asked_fd, stop_fd; /* -1: no thread was started */
    struct plan_live *live;
    struct signals *signals;
    char *path; /* NULL: the built-in plan */
    struct plan_server started;
    char *started_listen, *started_admin, *started_file;
    enum plan_log_sink started_sink;
    uint64_t serial;
    uint32_t version_count; /* ever remembered */
    struct reload_version versions[RELOAD_VERSIONS_MAX];
};

struct reload_outcome {
    enum err_code code; /* ERR_OK, ERR_PLAN_INVALID, ERR_VERSION_REUSED */
    bool changed;
    char version[NAME_BYTES_MAX + 1]; /* of the plan that is served now */
    char fingerprint[13];
    uint32_t not_applied;      /* bit per RELOAD_AT_START, in its order */
    struct plan_errors errors; /* where code is not ERR_OK; at least one */
};

/* The first plan, which becomes `reload`'s to hand on, is `first`; it is published in `live`.
 * `path` is copied. False if there is no memory. */
bool reload_init(struct reload *r, struct plan_live *live, struct signals *signals,
                 const char *path, struct plan *first, int readers) MUST_CHECK;

/* Starts the thread that reload_ask asks; `writer` becomes that thread's. */
enum err_code reload_start(struct reload *r, struct signal_writer *writer,
                           struct err *e) MUST_CHECK;

/* A reload, soon. Any thread; waits for nobody. Asked for again before it begins, it is one. */
void reload_ask(struct reload *r);

/* Ends the thread. A reload that is being read is given up, on any thread, and so is every later
 * one that would have to wait. Idempotent. */
void reload_stop(struct reload *r);

/* Tells the outcome by `writer` too, which is the calling thread's. */
void reload_run(struct reload *r, struct signal_writer *writer, struct reload_outcome *out);

/* The plan that is served, which stays so until reload_release. Waits for a plan that is being put
 * in place, not for one that is being read; for threads that are no reader. */
const struct plan *reload_hold(struct reload *r);
void reload_release(struct reload *r);

/* The name for bit `i`; NULL: there is none. */
const char *reload_not_applied_name(int i);

/* Frees the plan that is served. No loop may be running. */
void reload_done(struct reload *r);

#endif
