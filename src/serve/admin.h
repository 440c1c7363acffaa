/* admin: the service of the operations port: is it well, what does it do, and change the plan.
 *
 * It has a loop and a thread of its own, and may allocate: nothing it does makes a decision wait.
 * Threads: an admin belongs to its loop's. Ownership: the caller's struct; it refers to the
 * server's parts, which outlive it. */
#ifndef INTERLUDE_SERVE_ADMIN_H
#define INTERLUDE_SERVE_ADMIN_H

#include "serve/drill.h"
#include "serve/loop.h"
#include "serve/plan_live.h"
#include "serve/reload.h"
#include "serve/request_serve.h"
#include "serve/stall.h"

enum {
    ADMIN_CONNECTIONS_MAX = 256,
    /* A plan, each byte of it escaped, is the longest but for the metrics, which are texts. What is
     * not used of it is never touched. */
    ADMIN_ANSWER_BYTES_MAX = 6 * PLAN_BYTES_MAX + 64 * 1024,
    ADMIN_POOL_BYTES_MAX = 32 * 1024 * 1024, /* of what slow readers have not taken; texts apart */
    ADMIN_ANSWERS_MAX = 32,                  /* in a turn; /healthz and /readyz apart */
};

struct admin_config {
    struct plan_live *live;
    int reader;
    struct reload *reload;
    struct signals *signals;
    struct signal_writer *writer;
    struct loop **workers;
    int worker_count;
    const struct stall *threads; /* in the order in which the signals know them */
    const _Atomic bool *ready;
};

struct admin {
    struct service service; /* first: the loop knows it by that */
    struct admin_config config;
    const struct plan_served *served; /* pinned for the turn */
    struct request_context explain;
    struct drill drill;
    struct texts metrics; /* by format; whatever can be counted can be scraped */
    struct reload_outcome outcome;
    char plan_text[PLAN_BYTES_MAX]; /* untouched until it is asked for */
};

/* ERR_NO_MEMORY: there is no address space for the texts of scrapes. */
enum err_code admin_init(struct admin *a, const struct admin_config *config,
                         struct err *e) MUST_CHECK;
void admin_done(struct admin *a);

#endif
