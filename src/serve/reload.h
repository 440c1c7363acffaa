/* reload: the plan's file read anew, and its plan put in the place of the one that is served.
 *
 * A reload changes nothing, or everything: the new plan is compiled aside and its counters are
 * found places; then it is published with one pointer store, and once no loop can hold the old one
 * any more that is freed. What only a start can apply (ports, threads, limits, the log's sink)
 * stays as it was, and the outcome says so.
 *
 * Half a file must not open anything. So a file that is cut in the middle of a line is refused; so
 * is one that would take something away (plan_compare.h), unless it ends with the mark that says
 * that it is all there.
 *
 * A version that was served before with other contents is served all the same, and a warning says
 * so: who compares what two plans did has to go by the fingerprint.
 *
 * Reading can take as long as RELOAD_READ_MS, where what stands at the path is no file, or one that
 * is being written. So a reload that nobody waits for runs on a thread of its own: who asks for it
 * by reload_ask goes on at once. Every RELOAD_LOOK_MS the same thread looks at the file without
 * serving it, so that interlude_plan_file_info tells what a reload would bring.
 *
 * Threads: reload_run may be called from any thread that is not between plan_live_enter and
 * plan_live_leave; one reload runs at a time, others wait. It allocates and reads a file. */
#ifndef INTERLUDE_SERVE_RELOAD_H
#define INTERLUDE_SERVE_RELOAD_H

#include "plan/plan_compare.h"
#include "plan/plan_load.h"
#include "serve/plan_live.h"

#include <pthread.h>
#include <sys/stat.h>

enum {
    RELOAD_READ_MS = 2000,
    RELOAD_LOOK_MS = 10000,
    /* Without a turn for so long, its thread stands still: it waits for a look at the file, and
     * then reads it and compiles the plan. */
    RELOAD_STALL_MS = RELOAD_LOOK_MS + RELOAD_READ_MS + 3000,
    RELOAD_VERSIONS_MAX = 1024, /* remembered; beyond them the oldest is forgotten */
    RELOAD_NOT_APPLIED_BYTES = 512,
};

/* Who asked. */
#define RELOAD_TRIGGERS(X) \
    X(SIGNAL, "signal")    \
    X(POST, "post")
#define RELOAD_TRIGGER_ENUM(code, name) RELOAD_##code,
enum reload_trigger { RELOAD_TRIGGERS(RELOAD_TRIGGER_ENUM) RELOAD_TRIGGER_COUNT };
#undef RELOAD_TRIGGER_ENUM
const char *reload_trigger_name(enum reload_trigger trigger);

struct reload_outcome {
    enum err_code code; /* ERR_OK, ERR_PLAN_INVALID, ERR_PLAN_TAKES_AWAY, ERR_NO_MEMORY */
    enum reload_trigger trigger;
    bool changed, version_reused;
    char version[NAME_BYTES_MAX + 1]; /* of the plan that is served now */
    char fingerprint[13], fingerprint_before[13];
    uint32_t units_moved_ppm; /* see plan_units_moved_ppm */
    struct settings_names not_applied;
    struct plan_weaker weaker; /* what it took away, or would have */
    struct plan_errors errors; /* where code is not ERR_OK; at least one */
};

struct reload_version {
    struct hash128 version, identity;
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
    int look_ms;               /* RELOAD_LOOK_MS; a test's may be shorter */
    char *path;                /* NULL: the built-in plan */
    struct settings *started;  /* what the start applied */
    struct settings *settings; /* those beside the plan that is served; may be `started` */
    uint64_t serial;
    uint32_t version_count; /* ever remembered */
    struct reload_version versions[RELOAD_VERSIONS_MAX];
    struct stat looked;         /* the file, when it was looked at last */
    uint64_t looked_serial;     /* of the plan that was served then */
    struct reload_outcome mine; /* the thread's */
    _Atomic uint64_t turned_ns; /* when the thread last woke; 0: it does not run */
};

/* The first plan is `first`; it is published in `live`, and is `reload`'s from here on, as its
 * settings are. `path` is copied. False if there is no memory: they are then still the caller's,
 * and there is nothing to be undone. */
bool reload_init(struct reload *r, struct plan_live *live, struct signals *signals,
                 const char *path, struct plan *first, struct settings *settings,
                 int readers) MUST_CHECK;

/* Starts the thread that reload_ask asks; `writer` becomes that thread's. */
enum err_code reload_start(struct reload *r, struct signal_writer *writer,
                           struct err *e) MUST_CHECK;

/* A reload, soon. Any thread; waits for nobody. Asked for again before it begins, it is one. */
void reload_ask(struct reload *r);

/* Ends the thread. A reload that is being read is given up, on any thread, and so is every later
 * one that would have to wait. Idempotent. */
void reload_stop(struct reload *r);

/* `peer`: who posted; or "". Tells the outcome by `writer` too, which is the calling thread's. */
void reload_run(struct reload *r, enum reload_trigger trigger, const char *peer,
                struct signal_writer *writer, struct reload_outcome *out);

/* clock_mono_ns() of when the thread last woke; 0: it does not run. Any thread. */
uint64_t reload_turned_ns(const struct reload *r);

/* Where the plan comes from: plan_file_name of its path. */
const char *reload_file(const struct reload *r);

/* What is served, which stays so until reload_release. Waits for a plan that is being put in place,
 * not for one that is being read; for threads that are no reader. */
struct reload_held {
    const struct plan *plan;
    const struct settings *settings;
};
struct reload_held reload_hold(struct reload *r);
void reload_release(struct reload *r);

/* Frees the plan that is served. No loop may be running. */
void reload_done(struct reload *r);

#endif
