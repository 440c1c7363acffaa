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
    struct request_context request;
};

void worker_init(struct worker *w, struct plan_live *live, int reader,
                 struct signal_writer *writer);

#endif
