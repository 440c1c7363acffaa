#include "serve/request_serve.h"

#include "decide/reply.h"

static void request_reply(struct request_context *x, int64_t now_us, struct http_head *head,
                          struct buf *out, struct err *e)
{
    size_t begin = out->len;
    head->status = 200;
    head->content_type = "application/json";
    size_t mark = http_head_begin(out, head);
    reply_write(out, x->plan, &x->request, &x->decision, now_us);
    buf_char(out, '\n');
    http_head_end(out, mark);
    if (!out->full) return;
    out->len = begin;
    out->full = false;
    err_set(e, ERR_INTERNAL, "the answer is longer than answers can be");
}

struct request_outcome request_answer(struct request_context *x, struct span body,
                                      struct http_head *head, struct buf *out)
{
    struct request_outcome outcome = {200, -1};
    struct err e;
    e.code = request_read(x->plan, body, x->scratch, &x->request, &e);
    probe_mark(x->probe, STAGE_PARSE);
    if (!e.code) {
        int64_t now_us = request_complete(&x->request, &x->ids, x->made_id, x->wall_us);
        x->request.explain |= x->explain;
        decide(x->plan, &x->request, now_us, x->probe, &x->decision);
        request_reply(x, now_us, head, out, &e);
        probe_mark(x->probe, STAGE_ENCODE);
    }
    if (!e.code) {
        outcome.variant = signal_decision_variant(x->plan, &x->decision);
    } else {
        outcome.status = err_status(e.code);
        http_write_problem(out, &e, head, false);
    }
    return outcome;
}

struct request_outcome request_serve(struct request_context *x, struct span body,
                                     struct http_head *head, struct buf *out)
{
    struct request_outcome outcome = request_answer(x, body, head, out);
    if (outcome.variant >= 0 && x->writer)
        signal_decision(x->writer, x->cells, x->plan, &x->request, &x->decision, x->wall_us);
    return outcome;
}
