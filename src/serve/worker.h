/* worker: the service that decides. One a worker thread.
 * Threads: a worker belongs to its loop's. Ownership: the caller's struct. */
#ifndef INTERLUDE_SERVE_WORKER_H
#define INTERLUDE_SERVE_WORKER_H

#include "serve/plan_live.h"
#include "serve/request_serve.h"
#include "serve/service.h"

struct worker {
    struct service service; /* first: the loop knows a worker by it */
    struct plan_live *live;
    int reader; /* its slot there */
    const _Atomic bool *ready;
    struct request_context request;
};

/* `ready`: what GET /readyz tells. */
void worker_init(struct worker *w, struct plan_live *live, int reader, struct signal_writer *writer,
                 const _Atomic bool *ready);

/* Answers what is no request for a decision: GET /readyz and OPTIONS, which count in no metric of
 * decisions. False: it is one. */
bool worker_answer_other(const struct worker *w, struct exchange *x);

#endif
