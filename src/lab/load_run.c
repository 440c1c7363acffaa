#include "lab/load_run.h"

#include "base/clock.h"
#include "lab/load_conn.h"
#include "lab/load_meter.h"
#include "lab/load_queue.h"
#include "lab/load_used.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MAX = 64, HEAD_BYTES_MAX = 1024 };

#define OPENING_NS 5000000000ull /* for all connections, before the schedule begins */
#define RETRY_NS 50000000ull     /* from a connection's failed connect to its next */
#define FIRST_NS 5000000ull      /* from the start of the clock to the schedule's beginning */
#define LOOK_NS 500000000ull     /* how often to look whether to stop, at least */

/* One target, as the run sees it. */
struct side {
    const struct load_target *target;
    struct load_conn_list idle;
    struct load_queue queue;
    char head[HEAD_BYTES_MAX]; /* of every request, up to the value of Content-Length */
    size_t head_len;
};

struct run {
    const struct load_options *o;
    struct load_meter meter;
    int epoll;
    struct side sides[CAPTURE_TARGETS_MAX];
    struct load_conn *conns;
    uint32_t conn_count;
    struct load_conn_list busy;  /* connecting or with a request; the longest first */
    struct load_conn_list retry; /* closed; the longest first */
    uint64_t requests;           /* under way */
    uint64_t queued;             /* in all queues */
    uint64_t reconnects, spin_ns;
    uint64_t statuses[CAPTURE_TARGETS_MAX][LOAD_STATUS_MAX + 1];
    int sys;             /* of the last failed connect */
    uint64_t give_up_ns; /* when nothing is waited for any longer: it was stopped; else never */

    bool over;                    /* the schedule is, and these are known: */
    struct load_used first, last; /* at its beginning and end */
    uint64_t schedule_spin_ns;

    struct load_plan plan;
    bool due_known;      /* `due` is the next request */
    struct load_due due; /* its time is absolute */
    char body[LOAD_BODY_BYTES_MAX];
};

/* ---- connections and their requests ---- */

static void run_step(struct run *r, struct load_conn *c, enum load_step step);

static void conn_open(struct run *r, struct load_conn *c)
{
    c->since_ns = clock_mono_ns();
    load_conn_list_append(&r->busy, c);
    run_step(r, c, load_conn_open(c, r->sides[c->target].target, r->epoll));
}

static void request_write(struct run *r, struct load_conn *c, uint64_t seq)
{
    const struct side *side = &r->sides[c->target];
    struct buf body = buf_of(r->body, sizeof r->body);
    load_bodies_make(r->o->bodies, r->o->shape.seed, seq, &body);
    struct buf b = buf_of(c->out, LOAD_REQUEST_BYTES_MAX);
    buf_put(&b, side->head, side->head_len);
    buf_u64(&b, body.len);
    buf_lit(&b, "\r\n\r\n");
    buf_span(&b, buf_text(&body));
    INVARIANT(!body.full && !b.full);
    c->out_len = b.len;
}

static void request_go(struct run *r, struct load_conn *c)
{
    c->since_ns = clock_mono_ns();
    load_conn_list_append(&r->busy, c);
    run_step(r, c, load_conn_request(c));
}

static void request_send(struct run *r, struct load_conn *c, struct load_due due, bool was_queued)
{
    request_write(r, c, due.seq);
    c->due_ns = due.due_ns;
    c->resent = false;
    bool late = clock_mono_ns() - due.due_ns > LOAD_LATE_NS;
    struct capture_interval *now = &r->meter.now[c->target];
    now->sent++;
    now->late += late;
    now->late_free += late && !was_queued;
    r->requests++;
    request_go(r, c);
}

static void conn_idle(struct run *r, struct load_conn *c)
{
    struct side *side = &r->sides[c->target];
    if (c->again) {
        c->again = false;
        request_go(r, c);
    } else if (side->queue.count) {
        r->queued--;
        request_send(r, c, load_queue_pop(&side->queue), true);
    } else {
        load_conn_list_append(&side->idle, c);
    }
}

static void request_answered(struct run *r, struct load_conn *c)
{
    struct capture_interval *now = &r->meter.now[c->target];
    r->requests--;
    r->statuses[c->target][c->answer.status]++;
    if (c->answer.status / 100 == 2)
        hist_record(&now->latency, clock_mono_ns() - c->due_ns);
    else
        now->errors[CAPTURE_STATUS]++;
    if (!c->answer.close) {
        conn_idle(r, c);
        return;
    }
    load_conn_close(c);
    conn_open(r, c);
}

static void request_failed(struct run *r, struct load_conn *c, enum capture_stage stage)
{
    r->meter.now[c->target].errors[stage]++;
    r->requests--;
    c->again = false;
}

static void conn_failed(struct run *r, struct load_conn *c)
{
    load_conn_close(c);
    if (c->failed == CAPTURE_CONNECT) {
        r->meter.now[c->target].errors[CAPTURE_CONNECT]++;
        if (c->again) request_failed(r, c, CAPTURE_RECEIVE);
        r->sys = c->sys;
        c->since_ns = clock_mono_ns();
        load_conn_list_append(&r->retry, c);
    } else {
        request_failed(r, c, c->failed);
        conn_open(r, c);
    }
}

/* The request goes out on the next connection, but only once: a server that reads none fails them.
 */
static void request_unread(struct run *r, struct load_conn *c)
{
    if (c->resent) {
        conn_failed(r, c);
        return;
    }
    c->again = c->resent = true;
    r->reconnects++;
    load_conn_close(c);
    conn_open(r, c);
}

static void run_step(struct run *r, struct load_conn *c, enum load_step step)
{
    switch (step) {
    case STEP_WAIT:
        return;
    case STEP_CONNECTED:
        conn_idle(r, c);
        return;
    case STEP_ANSWERED:
        request_answered(r, c);
        return;
    case STEP_CLOSED:
        r->reconnects++;
        load_conn_close(c);
        conn_open(r, c);
        return;
    case STEP_UNREAD:
        request_unread(r, c);
        return;
    case STEP_FAILED:
        conn_failed(r, c);
        return;
    }
}

static void run_expire(struct run *r, uint64_t now_ns)
{
    struct load_conn *c;
    while ((c = r->busy.first) && c->since_ns + r->o->timeout_ns <= now_ns) {
        c->failed = c->state == CONN_CONNECTING ? CAPTURE_CONNECT : CAPTURE_TIMEOUT;
        c->sys = ETIMEDOUT;
        conn_failed(r, c);
    }
    while ((c = r->retry.first) && c->since_ns + RETRY_NS <= now_ns) conn_open(r, c);
}

/* ---- the schedule ---- */

static void due_next(struct run *r)
{
    uint64_t at_ns;
    r->due_known = load_plan_next(&r->plan, &at_ns);
    if (r->due_known) r->due.due_ns = r->meter.start_ns + at_ns;
}

static uint32_t due_target(const struct run *r)
{
    if (r->o->spread == LOAD_INTERLEAVE) return (uint32_t)(r->due.seq % r->o->target_count);
    return (uint32_t)((r->due.due_ns - r->meter.start_ns) / r->o->turn_ns % r->o->target_count);
}

/* Sends what is due, or has it wait for a connection. How late that is, is this loop's own doing,
 * and is asked before anything that depends on the server. */
static void run_take_due(struct run *r)
{
    uint64_t now_ns;
    while (r->due_known && r->due.due_ns <= (now_ns = clock_mono_ns())) {
        struct load_due due = r->due;
        uint32_t target = due_target(r);
        struct side *side = &r->sides[target];
        r->due.seq++;
        due_next(r);
        load_meter_take(&r->meter, target, due.due_ns, now_ns);
        if (side->idle.first) {
            request_send(r, side->idle.first, due, false);
        } else {
            r->meter.now[target].queued++;
            r->queued++;
            load_queue_push(&side->queue, due);
        }
    }
}

static void queues_give_up(struct run *r)
{
    for (uint32_t t = 0; t < r->o->target_count; t++) {
        r->meter.now[t].unsent += r->sides[t].queue.count;
        r->sides[t].queue.count = 0;
    }
    r->queued = 0;
}

static void requests_give_up(struct run *r)
{
    for (uint32_t i = 0; i < r->conn_count; i++) {
        struct load_conn *c = &r->conns[i];
        if (c->again || c->state == CONN_SENDING || c->state == CONN_RECEIVING)
            request_failed(r, c, CAPTURE_TIMEOUT);
        load_conn_close(c);
    }
    INVARIANT(r->requests == 0);
}

static bool stop_asked(const struct run *r)
{
    return r->o->stop && *r->o->stop;
}

/* No more requests; those that wait and those under way have a moment. */
static void run_stop(struct run *r, uint64_t now_ns)
{
    r->due_known = false;
    r->give_up_ns = now_ns + LOAD_GRACE_NS;
    load_meter_stop(&r->meter, now_ns);
}

static void schedule_over(struct run *r)
{
    if (r->over) return;
    r->over = true;
    r->schedule_spin_ns = r->spin_ns;
    load_used_read(&r->last);
}

static bool run_finished(struct run *r, uint64_t now_ns)
{
    if (stop_asked(r) && r->give_up_ns == UINT64_MAX) run_stop(r, now_ns);
    if (r->due_known || now_ns < r->meter.end_ns) return false;
    schedule_over(r);
    if (now_ns >= r->meter.end_ns + LOAD_GRACE_NS || now_ns >= r->give_up_ns) queues_give_up(r);
    if (now_ns >= r->give_up_ns) requests_give_up(r);
    return r->queued == 0 && r->requests == 0;
}

/* ---- waiting ---- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* When something must be done even if no connection has anything to tell. Nothing here may lie in
 * the past for longer than it takes to do it, or waiting becomes spinning. A signal that asks to
 * stop may come just before the wait, and does not end it then. */
static uint64_t run_wake_ns(const struct run *r, uint64_t now_ns)
{
    uint64_t wake = earlier(load_meter_next(&r->meter), r->give_up_ns);
    if (r->o->stop) wake = earlier(wake, now_ns + LOOK_NS);
    if (r->due_known)
        wake = earlier(wake, r->due.due_ns - earlier(r->o->spin_ns, r->due.due_ns));
    else if (!r->over)
        wake = earlier(wake, r->meter.end_ns);
    else if (r->queued)
        wake = earlier(wake, r->meter.end_ns + LOAD_GRACE_NS);
    if (r->busy.first) wake = earlier(wake, r->busy.first->since_ns + r->o->timeout_ns);
    if (r->retry.first) wake = earlier(wake, r->retry.first->since_ns + RETRY_NS);
    return wake;
}

static int run_wait(struct run *r, struct epoll_event *events, uint64_t wake_ns)
{
    uint64_t now = clock_mono_ns(), wait_ns = wake_ns > now ? wake_ns - now : 0;
    struct timespec timeout = {(time_t)(wait_ns / 1000000000), (long)(wait_ns % 1000000000)};
    int n = epoll_pwait2(r->epoll, events, EVENTS_MAX, &timeout, NULL);
    if (n == 0 && wait_ns == 0) r->spin_ns += clock_mono_ns() - now;
    return n;
}

/* An event of a connection that was closed and opened again within the same batch is of another
 * generation, and means nothing any more. */
static void run_event(struct run *r, const struct epoll_event *event)
{
    struct load_conn *c = &r->conns[(uint32_t)event->data.u64];
    if (c->generation == (uint32_t)(event->data.u64 >> 32))
        run_step(r, c, load_conn_event(c, event->events));
}

static void run_schedule(struct run *r)
{
    struct epoll_event events[EVENTS_MAX];
    uint64_t now = clock_mono_ns();
    load_meter_start(&r->meter, now + FIRST_NS);
    if (r->o->began) r->o->began(r->o->context, r->meter.started_us);
    load_plan_init(&r->plan, &r->o->shape);
    due_next(r);
    r->spin_ns = 0;
    load_used_read(&r->first);
    for (; !run_finished(r, now); now = clock_mono_ns()) {
        if (now >= load_meter_next(&r->meter)) load_meter_tick(&r->meter, now);
        run_expire(r, now);
        run_take_due(r);
        int n = run_wait(r, events, run_wake_ns(r, now));
        for (int i = 0; i < n; i++) {
            run_event(r, &events[i]);
            run_take_due(r);
        }
    }
    load_meter_finish(&r->meter, now);
}

/* ---- beginning and end ---- */

/* Opens everything, and waits until each connection is open or has failed. */
static enum err_code run_open(struct run *r, struct err *e)
{
    struct epoll_event events[EVENTS_MAX];
    uint64_t end_ns = clock_mono_ns() + earlier(OPENING_NS, r->o->timeout_ns);
    for (uint32_t i = 0; i < r->conn_count; i++) conn_open(r, &r->conns[i]);
    for (uint64_t now; r->busy.first && (now = clock_mono_ns()) < end_ns && !stop_asked(r);) {
        int n = run_wait(r, events, earlier(end_ns, now + LOOK_NS));
        for (int i = 0; i < n; i++) run_event(r, &events[i]);
    }
    if (stop_asked(r)) return err_set(e, ERR_UNSUPPORTED, "stopped before the first request");
    for (uint32_t t = 0; t < r->o->target_count; t++)
        if (!r->sides[t].idle.first)
            return err_set_sys(e, ERR_SYSTEM, r->sys ? r->sys : ETIMEDOUT, "connecting to %.150s",
                               r->sides[t].target->url);
    return ERR_OK;
}

static enum err_code run_init(struct run *r, const struct load_options *o, struct err *e)
{
    r->o = o;
    r->give_up_ns = UINT64_MAX;
    load_meter_init(&r->meter, o);
    r->conn_count = o->target_count * o->connections;
    r->conns = calloc(r->conn_count, sizeof *r->conns);
    INVARIANT(r->conns != NULL);
    for (uint32_t i = 0; i < r->conn_count; i++)
        load_conn_init(&r->conns[i], i, i % o->target_count);
    for (uint32_t t = 0; t < o->target_count; t++) {
        struct side *side = &r->sides[t];
        side->target = &o->targets[t];
        struct buf head = buf_of(side->head, sizeof side->head);
        buf_format(&head,
                   "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                   "Content-Length: ",
                   side->target->path, side->target->host);
        INVARIANT(!head.full);
        side->head_len = head.len;
    }
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (r->epoll < 0) return err_set_sys(e, ERR_SYSTEM, errno, "epoll");
    /* Timers that end when they were asked to, not up to 50 us later. */
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    return ERR_OK;
}

static void run_done(struct run *r)
{
    for (uint32_t i = 0; i < r->conn_count; i++) load_conn_done(&r->conns[i]);
    for (uint32_t t = 0; t < r->o->target_count; t++) load_queue_done(&r->sides[t].queue);
    if (r->epoll >= 0) close(r->epoll);
    free(r->conns);
    free(r);
}

static void result_take(const struct run *r, struct load_result *out)
{
    out->started_us = r->meter.started_us;
    out->targets = r->o->target_count;
    memcpy(out->total, r->meter.total, sizeof out->total);
    out->taken_after = r->meter.taken_after;
    memcpy(out->statuses, r->statuses, sizeof out->statuses);
    out->reconnects = r->reconnects;
    out->wall_ns = r->last.at_ns - r->first.at_ns;
    out->cpu_ns = r->last.cpu_ns - r->first.cpu_ns;
    out->spin_ns = earlier(r->schedule_spin_ns, out->cpu_ns);
    out->starved_ns = r->last.starved_ns - r->first.starved_ns;
}

enum err_code load_run(const struct load_options *options, struct load_result *out, struct err *e)
{
    struct run *r = calloc(1, sizeof *r);
    INVARIANT(r != NULL);
    enum err_code code = run_init(r, options, e);
    if (!code) code = run_open(r, e);
    if (!code && options->opened) code = options->opened(options->context, e);
    if (!code) {
        run_schedule(r);
        result_take(r, out);
    }
    run_done(r);
    return code;
}
