#include "serve/answer.h"

struct answer answer_begin(struct exchange *x, int status, const char *content_type)
{
    x->status = x->head.status = status;
    x->head.content_type = content_type;
    size_t begin = x->out->len, mark = http_head_begin(x->out, &x->head);
    return (struct answer){begin, mark, x->out->len};
}

void answer_problem(struct exchange *x, const struct err *e)
{
    x->status = err_status(e->code);
    http_write_problem(x->out, e, &x->head, x->head_only);
}

void answer_too_long(struct exchange *x)
{
    struct err e;
    err_set(&e, ERR_INTERNAL, "the answer is longer than answers can be");
    answer_problem(x, &e);
}

void answer_end(struct exchange *x, struct answer a)
{
    if (x->out->full) {
        x->out->len = a.begin;
        x->out->full = false;
        answer_too_long(x);
        return;
    }
    http_head_end(x->out, a.mark);
    if (x->head_only) x->out->len = a.body_at;
}

void answer_with(struct exchange *x, int status, const char *content_type, struct span body)
{
    struct answer a = answer_begin(x, status, content_type);
    buf_span(x->out, body);
    answer_end(x, a);
}

void answer_ready(struct exchange *x, bool ready)
{
    x->counted = false; /* a probe is no caller, and its 503 while draining no fault */
    if (ready)
        answer_with(x, 200, ANSWER_TEXT, SPAN("ready\n"));
    else
        answer_with(x, 503, ANSWER_TEXT, SPAN("draining\n"));
}

void answer_options(struct exchange *x)
{
    x->head.extra = route_allow(x->route);
    answer_end(x, answer_begin(x, 204, NULL));
}
