#include "serve/worker.h"

#include "decide/reply.h"
#include "serve/answer.h"

/* The plan is pinned for the turn: all that came together is decided by one plan, and an idle
 * worker holds none. */
static void worker_turn_begin(struct service *service)
{
    struct worker *w = (struct worker *)service;
    const struct plan_served *served = plan_live_enter(w->live, w->reader);
    w->request.plan = served->plan;
    w->request.cells = served->cells;
    service->plan_tag = served->serial;
}

static void worker_turn_end(struct service *service)
{
    struct worker *w = (struct worker *)service;
    plan_live_leave(w->live, w->reader);
}

bool worker_answer_other(const struct worker *w, struct exchange *x)
{
    if (x->reader->method == HTTP_POST) return false;
    if (x->reader->method == HTTP_OPTIONS)
        answer_options(x);
    else
        answer_ready(x, atomic_load_explicit(w->ready, memory_order_relaxed));
    return true;
}

static void worker_answer(struct service *service, struct exchange *x)
{
    struct worker *w = (struct worker *)service;
    if (worker_answer_other(w, x)) return;
    x->head.fields = NULL;
    w->request.wall_us = x->wall_us;
    w->request.probe = x->probe;
    struct request_outcome outcome = request_serve(&w->request, x->body, &x->head, x->out);
    x->status = outcome.status;
    x->variant = outcome.variant;
}

/* An answer that waited for its peer while the plan changed has no cell any more to be counted in:
 * the numbers of the old plan's variants say nothing in the new one. */
static void worker_answered(struct service *service, int variant, uint64_t plan, uint64_t ns)
{
    struct worker *w = (struct worker *)service;
    if (plan == service->plan_tag)
        signal_duration(w->request.writer, w->request.cells, variant, ns);
}

static void worker_sampled(struct service *service, const struct probe *probe)
{
    struct worker *w = (struct worker *)service;
    signal_stages(w->request.writer, probe);
}

void worker_init(struct worker *w, struct plan_live *live, int reader, struct signal_writer *writer,
                 const _Atomic bool *ready)
{
    w->service = (struct service){
        .routes = &route_decisions,
        .http = writer,
        .fields = ANSWER_FIELDS,
        .writer = writer,
        .answer_bytes_max = REPLY_EXPLAIN_BYTES_MAX + 1024,
        .turn_begin = worker_turn_begin,
        .turn_end = worker_turn_end,
        .answer = worker_answer,
        .answered = worker_answered,
        .sampled = worker_sampled,
    };
    w->live = live;
    w->reader = reader;
    w->ready = ready;
    w->request.writer = writer;
    w->request.explain = false;
    w->request.probe = NULL;
    request_id_init(&w->request.ids);
}
