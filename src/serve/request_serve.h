/* request_serve: what happens to a request for a decision, from its body to its answer.
 *
 * Threads: a context belongs to one worker. Ownership: the plan and its cells are pinned by the
 * caller for the length of the call; everything else is the context's. Nothing allocates, locks,
 * waits or asks the system for anything. */
#ifndef INTERLUDE_SERVE_REQUEST_SERVE_H
#define INTERLUDE_SERVE_REQUEST_SERVE_H

#include "base/buf.h"
#include "decide/decide.h"
#include "serve/request_id.h"
#include "signal/signals.h"
#include "wire/http_write.h"

struct request_context {
    const struct plan *plan;
    const struct signal_cells *cells;
    struct signal_writer *writer; /* NULL: nothing is counted (`/v1/explain`) */
    int64_t wall_us;              /* the clock, read when the request's last byte was seen */
    bool explain;                 /* whatever the request says */
    struct probe *probe;          /* where the time goes; NULL: not asked */

    struct request_id_maker ids;
    char made_id[REQUEST_ID_MADE_BYTES];
    char scratch[REQUEST_BYTES_MAX];
    struct request request;
    struct decision decision;
};

struct request_outcome {
    int status;  /* of the answer */
    int variant; /* signal_decision_variant(); -1: no decision was made */
};

/* Appends the whole answer to `out`: the decision, or the problem document that says why there is
 * none. `head` tells how the answer ends the connection or not; its status and content type are
 * set here. `out` must have room for REPLY_EXPLAIN_BYTES_MAX and a head. */
struct request_outcome request_serve(struct request_context *x, struct span body,
                                     struct http_head *head, struct buf *out);

/* The same, but nothing is told of the decision: x->request and x->decision are the caller's to
 * tell, where a decision was made. */
struct request_outcome request_answer(struct request_context *x, struct span body,
                                      struct http_head *head, struct buf *out);

#endif
