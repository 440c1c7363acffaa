#include "serve/conn.h"

#include "serve/loop.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    INPUT_ROOM_MIN = 2048,
    READS_MAX = 16, /* from one connection in one turn; then the others come first */
};

void conn_open(struct loop *l, struct conn *c)
{
    int fd = c->fd;
    uint32_t slot = c->slot;
    *c = (struct conn){
        .deadline = {.kind = DEADLINE_NONE}, .fd = fd, .slot = slot, .state = CONN_READING};
    http_reader_init(&c->reader);
    deadline_arm(&l->deadlines, &c->deadline, DEADLINE_FRESH, l->now_ns);
    l->open++;
    struct epoll_event event = {.events = (uint32_t)CONN_WATCHED, .data.ptr = c};
    if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) conn_close(l, c);
}

void conn_close(struct loop *l, struct conn *c)
{
    if (c->state == CONN_CLOSED) return;
    c->state = CONN_CLOSED;
    close(c->fd);
    deadline_disarm(&c->deadline);
    pool_give(&l->pool, &c->in);
    pool_give(&l->pool, &c->out);
    c->next_closed = l->closed;
    l->closed = c;
    l->open--;
}

static void conn_watch(struct loop *l, struct conn *c, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = c};
    INVARIANT(epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, c->fd, &event) == 0);
}

/* Shuts our side after the last answer. */
static void conn_linger(struct loop *l, struct conn *c)
{
    if (c->peer_ended) {
        conn_close(l, c);
        return;
    }
    shutdown(c->fd, SHUT_WR);
    conn_watch(l, c, EPOLLIN); /* as long as there is something to throw away */
    c->state = CONN_LINGERING;
    c->linger_left = CONN_LINGER_BYTES_MAX;
    pool_give(&l->pool, &c->in);
    c->in_len = 0;
    deadline_arm(&l->deadlines, &c->deadline, DEADLINE_LINGER, l->now_ns);
}

/* ---- sending ---- */

static bool send_failed(void)
{
    return errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
}

static void count_answered(struct loop *l, const struct conn_answered *answered, int count)
{
    if (count == 0) return;
    uint64_t now_ns = clock_mono_ns();
    for (int i = 0; i < count; i++)
        l->service->answered(l->service, answered[i].variant, answered[i].plan,
                             now_ns - answered[i].seen_ns);
    l->last_ns = now_ns;
}

/* Keeps what the peer did not take of l->out. */
static void conn_hold_back(struct loop *l, struct conn *c, size_t sent)
{
    size_t rest = l->out.len - sent, answered_at = (rest + 7) & ~(size_t)7;
    size_t answered_bytes = (size_t)l->answered_count * sizeof l->answered[0];
    if (!pool_take(&l->pool, answered_at + answered_bytes, &c->out)) {
        conn_close(l, c);
        return;
    }
    memcpy(c->out.data, l->out.data + sent, rest);
    memcpy(c->out.data + answered_at, l->answered, answered_bytes);
    c->out_at = 0;
    c->out_len = rest;
    c->answered_count = l->answered_count;
    c->state = CONN_SENDING;
    deadline_arm(&l->deadlines, &c->deadline, DEADLINE_ANSWER, l->now_ns);
    conn_watch(l, c, EPOLLOUT);
}

/* ---- sampling ---- */

static void sample_begin(struct loop *l)
{
    if (l->sample_in-- > 0 || !l->service->sampled) return;
    l->sample_in = SAMPLE_EVERY - 1;
    l->sample = SAMPLE_READING;
    l->probe = (struct probe){.tick = clock_mono_ns, .last_ns = clock_mono_ns()};
}

/* The answers in l->out have been sent since `begun_ns`. */
static void sample_end(struct loop *l, uint64_t begun_ns)
{
    l->sample = SAMPLE_NONE;
    l->probe.last_ns = begun_ns;
    probe_mark(&l->probe, STAGE_WRITE);
    l->service->sampled(l->service, &l->probe);
}

/* Sends what is in l->out, and empties it. The connection is then READING, or SENDING where the
 * peer did not take it all, or CLOSED. */
static void conn_flush(struct loop *l, struct conn *c)
{
    if (l->out.len == 0) return;
    bool sampled = l->sample == SAMPLE_ANSWERED;
    uint64_t begun_ns = sampled ? clock_mono_ns() : 0;
    ssize_t n = send(c->fd, l->out.data, l->out.len, MSG_NOSIGNAL);
    if (sampled) sample_end(l, begun_ns);
    if (n < 0 && send_failed())
        conn_close(l, c);
    else if (n >= 0 && (size_t)n == l->out.len)
        count_answered(l, l->answered, l->answered_count);
    else
        conn_hold_back(l, c, n < 0 ? 0 : (size_t)n);
    l->out.len = 0;
    l->answered_count = 0;
}

/* ---- answering ---- */

/* `more`: bytes of a further request are there already. While draining, the answer that ends the
 * connection is that to the last request that was sent. */
static struct http_head head_next(const struct loop *l, struct conn *c, bool more)
{
    const struct http_reader *r = &c->reader;
    if (!r->keep_alive || (l->phase_seen != LOOP_SERVING && !more)) c->last = true;
    return (struct http_head){.close = c->last,
                              .keep_alive_1_0 = r->http_1_0 && !c->last,
                              .fields = l->service->fields,
                              .date = l->date};
}

static void conn_problem(struct loop *l, struct http_head head, const struct err *e, bool head_only)
{
    http_write_problem(&l->out, e, &head, head_only);
    if (l->service->http) signal_http(l->service->http, err_status(e->code));
}

/* The last answer of a connection on which it is not certain where a next request would begin. */
static void conn_give_up(struct loop *l, struct conn *c, const struct err *e)
{
    c->last = true;
    struct http_head head = {.close = true, .fields = l->service->fields, .date = l->date};
    if (e->code == ERR_CONNECTIONS_MAX) head.extra = "Retry-After: 1\r\n";
    conn_problem(l, head, e, c->in_body && c->reader.method == HTTP_HEAD);
}

/* What the head alone shows to be wrong. `bytes` is the request. */
static void conn_refuse(struct loop *l, struct conn *c, const char *bytes, bool more)
{
    const struct route *route;
    struct err e;
    enum err_code code = route_check(l->service->routes, &c->reader, bytes, &route, &e);
    /* A client that sent neither a length nor chunks may have sent a body all the same. */
    if (code == ERR_LENGTH_REQUIRED) c->last = true;
    struct http_head head = head_next(l, c, more);
    if (code == ERR_METHOD) head.extra = route_allow(route);
    if (code == ERR_MEDIA_TYPE && c->reader.encoded) head.extra = "Accept-Encoding: identity\r\n";
    conn_problem(l, head, &e, c->reader.method == HTTP_HEAD);
}

static void conn_answer(struct loop *l, struct conn *c, const char *bytes, bool more,
                        struct probe *probe)
{
    if (c->refused) {
        conn_refuse(l, c, bytes, more);
        return;
    }
    struct exchange x = {
        .route = c->route,
        .reader = &c->reader,
        .bytes = bytes,
        .body = http_text(bytes, c->reader.body),
        .fd = c->fd,
        .now_ns = l->now_ns,
        .wall_us = l->wall_us,
        .head = head_next(l, c, more),
        .head_only = c->reader.method == HTTP_HEAD,
        .out = &l->out,
        .probe = probe,
        .variant = -1,
        .counted = true,
    };
    l->service->answer(l->service, &x);
    INVARIANT(!l->out.full);
    if (l->service->http && x.counted) signal_http(l->service->http, x.status);
    probe_mark(probe, STAGE_SIGNALS);
    if (x.variant >= 0)
        l->answered[l->answered_count++] =
            (struct conn_answered){l->service->plan_tag, l->now_ns, x.variant};
}

/* The head is there. Returns what reading on gives. */
static enum http_result conn_head(struct loop *l, struct conn *c, char *bytes, size_t len)
{
    struct http_reader *r = &c->reader;
    struct err e;
    c->in_body = true;
    c->refused = route_check(l->service->routes, r, bytes, &c->route, &e) != ERR_OK;
    enum http_result result = http_read(r, bytes, len);
    if (result != HTTP_MORE) return result;

    deadline_disarm(&c->deadline); /* of the head */
    if (!r->expect_continue) return result;
    if (c->refused) {
        /* Whether the body will come after this answer is the client's choice: RFC 9110, 10.1.1. */
        c->last = true;
        conn_refuse(l, c, bytes, false);
    } else {
        buf_lit(&l->out, "HTTP/1.1 100 Continue\r\n\r\n");
    }
    return result;
}

/* Serves at most one request, which begins at `bytes`. Returns its length; 0: it is not whole, or
 * nothing is to be read any more (c->last). */
static size_t conn_step(struct loop *l, struct conn *c, char *bytes, size_t len)
{
    enum http_result result = http_read(&c->reader, bytes, len);
    if (result == HTTP_HEAD_READ) result = conn_head(l, c, bytes, len);
    if (result == HTTP_MORE) return 0;
    if (result == HTTP_FAILED) {
        struct err e;
        err_set(&e, c->reader.error, "%s", c->reader.error_text);
        e.offset = c->reader.error_at;
        conn_give_up(l, c, &e);
        return 0;
    }
    size_t used = c->reader.consumed;
    /* Only the first of several that came together is probed. */
    struct probe *probe = l->sample == SAMPLE_READING && !c->refused ? &l->probe : NULL;
    probe_mark(probe, STAGE_READ);
    conn_answer(l, c, bytes, used < len, probe);
    if (probe) l->sample = SAMPLE_ANSWERED;
    http_reader_init(&c->reader);
    c->in_body = c->refused = false;
    deadline_disarm(&c->deadline);
    return used;
}

/* ---- reading ---- */

/* Keeps what is left for the next turn. False if there is no room for it. */
static bool conn_keep(struct loop *l, struct conn *c, const char *rest, size_t len)
{
    if (len == 0) {
        pool_give(&l->pool, &c->in);
    } else if (c->in.data) {
        memmove(c->in.data, rest, len);
    } else {
        if (!pool_take(&l->pool, len, &c->in)) return false;
        memcpy(c->in.data, rest, len);
    }
    c->in_len = len;
    return true;
}

static void conn_no_memory(struct loop *l, struct conn *c)
{
    struct err e;
    err_set(&e, ERR_CONNECTIONS_MAX, "too many requests are under way; try again in a second");
    conn_give_up(l, c, &e);
    conn_flush(l, c);
    if (c->state == CONN_READING) conn_linger(l, c);
}

/* Arms what the connection waits for now, where it is not that already: a limit is for the whole.
 */
static void conn_wait(struct loop *l, struct conn *c)
{
    enum deadline_kind kind = c->in_body                      ? DEADLINE_BODY
                              : !http_reader_idle(&c->reader) ? DEADLINE_HEAD
                                                              : DEADLINE_IDLE;
    if (kind == DEADLINE_IDLE && c->deadline.kind == DEADLINE_FRESH) return;
    /* From the last answer on, where there was one in this turn. */
    if (c->deadline.kind != kind) deadline_arm(&l->deadlines, &c->deadline, kind, l->last_ns);
}

/* Serves what is there: bytes[0..len), which lies in l->in or in c->in. */
static void conn_serve(struct loop *l, struct conn *c, char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len && c->state == CONN_READING && !c->last) {
        if (!loop_has_room(l)) {
            conn_flush(l, c);
            continue;
        }
        size_t used = conn_step(l, c, bytes + at, len - at);
        if (used == 0) break;
        at += used;
    }
    if (c->state == CONN_READING) conn_flush(l, c);
    if (c->state == CONN_CLOSED) return;
    if (c->last) at = len;
    if (!conn_keep(l, c, bytes + at, len - at)) {
        if (c->state == CONN_SENDING)
            conn_close(l, c);
        else
            conn_no_memory(l, c);
    } else if (c->state == CONN_READING) {
        if (c->last)
            conn_linger(l, c);
        else
            conn_wait(l, c);
    }
}

/* The peer has shut its side: what it asked for whole has been answered. */
static void conn_ended(struct loop *l, struct conn *c)
{
    c->peer_ended = true;
    if (http_reader_idle(&c->reader)) {
        conn_close(l, c);
        return;
    }
    struct err e;
    err_set(&e, ERR_HTTP_SYNTAX, "the connection ended in the middle of a request");
    e.offset = c->in_len;
    conn_give_up(l, c, &e);
    conn_flush(l, c);
    if (c->state == CONN_READING) conn_close(l, c);
}

/* Makes room behind what c->in holds. */
static bool conn_grow(struct loop *l, struct conn *c)
{
    struct pool_buf larger;
    if (!pool_take(&l->pool, 2 * c->in.cap, &larger)) return false;
    memcpy(larger.data, c->in.data, c->in_len);
    pool_give(&l->pool, &c->in);
    c->in = larger;
    return true;
}

/* Returns whether more may be there already. */
static bool conn_read(struct loop *l, struct conn *c)
{
    if (c->in.data && c->in.cap - c->in_len < INPUT_ROOM_MIN && c->in.cap < POOL_BYTES_KEPT_MAX &&
        !conn_grow(l, c)) {
        conn_no_memory(l, c);
        return false;
    }
    char *bytes = c->in.data ? c->in.data : l->in;
    size_t cap = c->in.data ? c->in.cap : LOOP_IN_BYTES;
    INVARIANT(c->in_len < cap);
    sample_begin(l);
    size_t room = cap - c->in_len;
    ssize_t n = recv(c->fd, bytes + c->in_len, room, 0);
    if (n > 0)
        conn_serve(l, c, bytes, c->in_len + (size_t)n);
    else if (n == 0)
        conn_ended(l, c);
    else if (send_failed())
        conn_close(l, c);
    l->sample = SAMPLE_NONE; /* where it was no whole request */
    return n > 0 && (size_t)n == room;
}

/* Reads what is there; and where the peer has shut its side, on to the end. */
static void conn_read_on(struct loop *l, struct conn *c, bool ended)
{
    bool more = conn_read(l, c);
    for (int reads = 1; c->state == CONN_READING && (more || ended); reads++) {
        if (reads == READS_MAX) {
            conn_watch(l, c, (uint32_t)CONN_WATCHED); /* told again in the next turn */
            return;
        }
        more = conn_read(l, c);
    }
}

/* ---- the other states ---- */

static void conn_send(struct loop *l, struct conn *c)
{
    ssize_t n = send(c->fd, c->out.data + c->out_at, c->out_len - c->out_at, MSG_NOSIGNAL);
    if (n < 0) {
        if (send_failed()) conn_close(l, c);
        return;
    }
    c->out_at += (size_t)n;
    if (c->out_at < c->out_len) return;

    const char *behind = c->out.data + ((c->out_len + 7) & ~(size_t)7);
    count_answered(l, (const struct conn_answered *)(const void *)behind, c->answered_count);
    pool_give(&l->pool, &c->out);
    c->state = CONN_READING;
    conn_watch(l, c, (uint32_t)CONN_WATCHED);
    if (c->last) {
        conn_linger(l, c);
        return;
    }
    deadline_disarm(&c->deadline);
    if (c->in_len)
        conn_serve(l, c, c->in.data, c->in_len);
    else
        conn_wait(l, c);
}

static void conn_discard(struct loop *l, struct conn *c)
{
    ssize_t n = recv(c->fd, l->in, LOOP_IN_BYTES, 0);
    if (n < 0 && !send_failed()) return;
    if (n <= 0 || (size_t)n > c->linger_left)
        conn_close(l, c);
    else
        c->linger_left -= (uint32_t)n;
}

void conn_event(struct loop *l, struct conn *c, uint32_t events)
{
    switch (c->state) {
    case CONN_READING:
        conn_read_on(l, c, events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR));
        break;
    case CONN_SENDING:
        conn_send(l, c);
        break;
    case CONN_LINGERING:
        conn_discard(l, c);
        break;
    case CONN_CLOSED:
        break; /* earlier in this turn */
    }
}

void conn_expire(struct loop *l, struct conn *c)
{
    if (c->deadline.kind != DEADLINE_HEAD && c->deadline.kind != DEADLINE_BODY) {
        conn_close(l, c);
        return;
    }
    struct err e;
    err_set(&e, ERR_TIMEOUT, "the %s of the request did not arrive within %llu ms",
            c->in_body ? "body" : "head",
            (unsigned long long)(l->deadlines.timeout_ns[c->deadline.kind] / 1000000));
    conn_give_up(l, c, &e);
    conn_flush(l, c);
    if (c->state == CONN_READING) conn_linger(l, c);
}
