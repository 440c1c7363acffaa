#include "lab/load_run.h"

#include "base/clock.h"
#include "lab/load_conn.h"
#include "lab/load_meter.h"
#include "lab/load_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MAX = 64, HEAD_BYTES_MAX = 1024 };

#define OPENING_NS 5000000000ull /* for all connections, before the schedule begins */
#define RETRY_NS 50000000ull     /* from a connection's failed connect to its next */
#define FIRST_NS 1000000ull      /* from the start of the clock to the schedule's beginning */

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
    int sys; /* of the last failed connect */

    struct load_plan plan;
    bool due_known;      /* `due` is the next request */
    struct load_due due; /* its time is absolute */
    char body[LOAD_BODY_BYTES_MAX];
};

/* ---- connections and their requests
 * -------------------------------------------------------------- */

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

static void request_send(struct run *r, struct load_conn *c, struct load_due due, bool was_queued)
{
    request_write(r, c, due.seq);
    c->due_ns = due.due_ns;
    c->since_ns = clock_mono_ns();
    uint64_t delay = c->since_ns - due.due_ns;
    struct capture_interval *now = &r->meter.now[c->target];
    now->sent++;
    if (delay > LOAD_LATE_NS) now->late++;
    if (!was_queued) {
        if (delay > LOAD_LATE_NS) now->late_free++;
        hist_record(&r->meter.send_delay, delay);
    }
    r->requests++;
    load_conn_list_append(&r->busy, c);
    run_step(r, c, load_conn_request(c));
}

static void conn_idle(struct run *r, struct load_conn *c)
{
    struct side *side = &r->sides[c->target];
    if (side->queue.count) {
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

static void conn_failed(struct run *r, struct load_conn *c)
{
    r->meter.now[c->target].errors[c->failed]++;
    load_conn_close(c);
    if (c->failed == CAPTURE_CONNECT) {
        r->sys = c->sys;
        c->since_ns = clock_mono_ns();
        load_conn_list_append(&r->retry, c);
    } else {
        r->requests--;
        conn_open(r, c);
    }
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

/* ---- the schedule
 * -------------------------------------------------------------------------------- */

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

/* Sends what is due, or has it wait for a connection. */
static void run_take_due(struct run *r)
{
    while (r->due_known && r->due.due_ns <= clock_mono_ns()) {
        struct load_due due = r->due;
        uint32_t target = due_target(r);
        struct side *side = &r->sides[target];
        r->due.seq++;
        due_next(r);
        r->meter.now[target].due++;
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

static bool run_finished(struct run *r, uint64_t now_ns)
{
    if (r->o->stop && *r->o->stop && r->due_known) {
        r->due_known = false;
        load_meter_stop(&r->meter, now_ns);
    }
    if (r->due_known || now_ns < r->meter.end_ns) return false;
    if (now_ns >= r->meter.end_ns + LOAD_GRACE_NS) queues_give_up(r);
    return r->queued == 0 && r->requests == 0;
}

/* ---- waiting
 * ------------------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* When something must be done even if no connection has anything to tell. */
static uint64_t run_wake_ns(const struct run *r, uint64_t now_ns)
{
    uint64_t wake = load_meter_next(&r->meter);
    if (r->due_known)
        wake = earlier(wake, r->due.due_ns - earlier(r->o->spin_ns, r->due.due_ns));
    else
        wake = earlier(wake, now_ns < r->meter.end_ns ? r->meter.end_ns
                                                      : r->meter.end_ns + LOAD_GRACE_NS);
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
static void run_event(struct run *r, uint64_t data)
{
    struct load_conn *c = &r->conns[(uint32_t)data];
    if (c->generation == (uint32_t)(data >> 32)) run_step(r, c, load_conn_event(c));
}

static void run_schedule(struct run *r)
{
    struct epoll_event events[EVENTS_MAX];
    uint64_t now = clock_mono_ns();
    load_meter_start(&r->meter, now + FIRST_NS);
    load_plan_init(&r->plan, &r->o->shape);
    due_next(r);
    for (; !run_finished(r, now); now = clock_mono_ns()) {
        if (now >= load_meter_next(&r->meter)) load_meter_tick(&r->meter, now);
        run_expire(r, now);
        run_take_due(r);
        int n = run_wait(r, events, run_wake_ns(r, now));
        for (int i = 0; i < n; i++) {
            run_event(r, events[i].data.u64);
            run_take_due(r);
        }
    }
    load_meter_finish(&r->meter, now);
}

/* ---- beginning and end
 * --------------------------------------------------------------------------- */

/* Opens everything, and waits until each connection is open or has failed. */
static enum err_code run_open(struct run *r, struct err *e)
{
    struct epoll_event events[EVENTS_MAX];
    uint64_t end_ns = clock_mono_ns() + earlier(OPENING_NS, r->o->timeout_ns);
    for (uint32_t i = 0; i < r->conn_count; i++) conn_open(r, &r->conns[i]);
    while (r->busy.first && clock_mono_ns() < end_ns) {
        int n = run_wait(r, events, end_ns);
        for (int i = 0; i < n; i++) run_event(r, events[i].data.u64);
    }
    for (uint32_t t = 0; t < r->o->target_count; t++)
        if (!r->sides[t].idle.first)
            return err_set_sys(e, ERR_SYSTEM, r->sys ? r->sys : ETIMEDOUT, "connecting to %.150s",
                               r->sides[t].target->url);
    return ERR_OK;
}

static enum err_code run_init(struct run *r, const struct load_options *o, struct err *e)
{
    r->o = o;
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

static uint64_t thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

enum err_code load_run(const struct load_options *options, struct load_result *out, struct err *e)
{
    struct run *r = calloc(1, sizeof *r);
    INVARIANT(r != NULL);
    enum err_code code = run_init(r, options, e);
    if (!code) code = run_open(r, e);
    if (!code) {
        uint64_t wall = clock_mono_ns(), cpu = thread_cpu_ns();
        r->spin_ns = 0;
        run_schedule(r);
        out->wall_ns = clock_mono_ns() - wall;
        out->cpu_ns = thread_cpu_ns() - cpu;
        out->spin_ns = earlier(r->spin_ns, out->cpu_ns);
        out->reconnects = r->reconnects;
        out->started_us = r->meter.started_us;
        out->targets = options->target_count;
        memcpy(out->total, r->meter.total, sizeof out->total);
        out->send_delay = r->meter.send_delay;
    }
    run_done(r);
    return code;
}
