#include "serve/conn.h"

#include "serve/loop.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    INPUT_ROOM_MIN = 2048,
    READS_MAX = 16, /* from one connection in one turn; then the others come first */
};

void conn_open(struct loop *l, struct conn *c)
{
    int fd = c->fd;
    uint32_t slot = c->slot;
    *c = (struct conn){.deadline = {.kind = DEADLINE_NONE},
                       .since_kind = DEADLINE_NONE,
                       .fd = fd,
                       .slot = slot,
                       .state = CONN_READING};
    http_reader_init(&c->reader);
    deadline_arm(&l->deadlines, &c->deadline, DEADLINE_FRESH, l->now_ns);
    l->open++;
    struct epoll_event event = {.events = (uint32_t)CONN_WATCHED, .data.ptr = c};
    if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) conn_close(l, c);
}

/* ---- buffers ---- */

/* From the pool; where that has nothing, a small one from what is reserved for the connection. */
static bool conn_take(struct loop *l, struct conn *c, enum reserve_side side, size_t need,
                      struct pool_buf *out)
{
    return pool_take(&l->pool, need, out) || reserve_take(l->reserve, c->slot, side, need, out);
}

static void conn_give(struct loop *l, struct pool_buf *b)
{
    if (b->data && !reserve_give(l->reserve, b)) pool_give(&l->pool, b);
}

static void conn_tell_lack(struct loop *l)
{
    if (l->service->writer) signal_buffers_max_reached(l->service->writer, (int)l->open);
}

void conn_close(struct loop *l, struct conn *c)
{
    if (c->state == CONN_CLOSED) return;
    c->state = CONN_CLOSED;
    close(c->fd);
    deadline_disarm(&l->deadlines, &c->deadline);
    conn_give(l, &c->in);
    conn_give(l, &c->out);
    text_release(&c->text);
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
    conn_give(l, &c->in);
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
    uint64_t now_ns = clock_mono_ns();
    for (int i = 0; i < count; i++)
        l->service->answered(l->service, answered[i].variant, answered[i].plan,
                             now_ns - answered[i].seen_ns);
    l->last_ns = now_ns;
}

/* As send(), of both. */
static ssize_t send_both(int fd, struct span first, struct span then)
{
    if (then.len == 0) return send(fd, first.data, first.len, MSG_NOSIGNAL);
    struct iovec parts[] = {{(char *)(uintptr_t)first.data, first.len},
                            {(char *)(uintptr_t)then.data, then.len}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

/* What is left of a text from `at` on. */
static struct span text_rest(const struct text_hold *hold, size_t at)
{
    return hold->text ? (struct span){hold->text->data + at, hold->text->len - at}
                      : (struct span){NULL, 0};
}

/* Keeps what the peer did not take of l->out and l->text, of which `sent` bytes are gone. */
static void conn_hold_back(struct loop *l, struct conn *c, size_t sent)
{
    size_t head = sent < l->out.len ? l->out.len - sent : 0, answered_at = (head + 7) & ~(size_t)7;
    size_t answered_bytes = (size_t)l->answered_count * sizeof l->answered[0];
    c->text = l->text;
    c->text_at = sent > l->out.len ? sent - l->out.len : 0;
    l->text = (struct text_hold){0};
    if (head + answered_bytes) {
        if (!conn_take(l, c, RESERVE_OUT, answered_at + answered_bytes, &c->out)) {
            conn_tell_lack(l);
            conn_close(l, c);
            return;
        }
        memcpy(c->out.data, l->out.data + l->out.len - head, head);
        memcpy(c->out.data + answered_at, l->answered, answered_bytes);
    }
    c->out_at = 0;
    c->out_len = head;
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

/* Sends what is in l->out, and the text behind it, and empties both. The connection is then
 * READING, or SENDING where the peer did not take it all, or CLOSED. */
static void conn_flush(struct loop *l, struct conn *c)
{
    if (l->out.len == 0) return;
    bool sampled = l->sample == SAMPLE_ANSWERED;
    uint64_t begun_ns = sampled ? clock_mono_ns() : 0;
    size_t all = l->out.len;
    ssize_t n;
    if (l->text.text) {
        struct span text = text_rest(&l->text, 0);
        all += text.len;
        n = send_both(c->fd, buf_text(&l->out), text);
    } else {
        n = send(c->fd, l->out.data, l->out.len, MSG_NOSIGNAL);
    }
    if (sampled) sample_end(l, begun_ns);
    if (n < 0 && send_failed())
        conn_close(l, c);
    else if (n >= 0 && (size_t)n == all)
        count_answered(l, l->answered, l->answered_count);
    else
        conn_hold_back(l, c, n < 0 ? 0 : (size_t)n);
    if (l->text.text) text_release(&l->text);
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
    if (e->code == ERR_BUFFERS_MAX) head.extra = "Retry-After: 1\r\n";
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
        .now_ns = c->seen_ns ? c->seen_ns : l->now_ns,
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
    if (x.text.text) l->text = x.text;
    if (l->service->http && x.counted) signal_http(l->service->http, x.status);
    probe_mark(probe, STAGE_SIGNALS);
    if (x.variant >= 0)
        l->answered[l->answered_count++] =
            (struct conn_answered){l->service->plan_tag, x.now_ns, x.variant};
}

/* What the request waited for has come. */
static void conn_waited(struct loop *l, struct conn *c)
{
    deadline_disarm(&l->deadlines, &c->deadline);
    c->since_kind = DEADLINE_NONE;
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

    conn_waited(l, c); /* for the head */
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

/* What is answered in any turn. */
static bool conn_must_answer(const struct loop *l, const struct conn *c)
{
    bool urgent = c->in_body && !c->refused && l->service->urgent_routes >> c->route->id & 1;
    return l->no_place || (urgent && l->visit_left);
}

/* Whether a whole request, or a fault, is answered in this turn: if so, that is counted. The first
 * one of a connection whose turn has come always is, so that all get on however slow the machine.
 */
static bool conn_may_answer(struct loop *l, const struct conn *c)
{
    bool first = l->visit_left == CONN_ANSWERS_MAX;
    bool goes_on = l->visit_left && l->turn_left && (first || !loop_is_over(l));
    if (!goes_on && !conn_must_answer(l, c)) return false;
    if (l->visit_left) l->visit_left--;
    if (l->turn_left) l->turn_left--;
    return true;
}

/* Serves at most one request, which begins at `bytes`. Returns its length; 0: it is not whole, or
 * not answered in this turn (c->unserved), or nothing is to be read any more (c->last). */
static size_t conn_step(struct loop *l, struct conn *c, char *bytes, size_t len)
{
    enum http_result result = http_read(&c->reader, bytes, len);
    if (result == HTTP_HEAD_READ) result = conn_head(l, c, bytes, len);
    if (result == HTTP_MORE) return 0;
    /* Reading it again gives the same. */
    c->unserved = !conn_may_answer(l, c);
    if (c->unserved) return 0;
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
    conn_waited(l, c);
    return used;
}

/* ---- reading ---- */

/* Keeps what is left for the next turn. False if there is no room for it. */
static bool conn_keep(struct loop *l, struct conn *c, const char *rest, size_t len)
{
    if (len == 0) {
        conn_give(l, &c->in);
    } else if (c->in.data) {
        memmove(c->in.data, rest, len);
    } else {
        if (!conn_take(l, c, RESERVE_IN, len, &c->in)) return false;
        memcpy(c->in.data, rest, len);
    }
    c->in_len = len;
    return true;
}

static void conn_no_buffer(struct loop *l, struct conn *c)
{
    struct err e;
    err_set(&e, ERR_BUFFERS_MAX, "too many requests are under way; try again in a second");
    conn_tell_lack(l);
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
    if (kind == DEADLINE_IDLE && c->since_kind == DEADLINE_FRESH) kind = DEADLINE_FRESH;
    if (kind == DEADLINE_IDLE && c->deadline.kind == DEADLINE_FRESH) return;
    if (c->deadline.kind == kind) return;
    /* From the last answer on, where there was one in this turn. */
    deadline_arm(&l->deadlines, &c->deadline, kind,
                 c->since_kind == kind ? c->since_ns : l->last_ns);
    c->since_kind = DEADLINE_NONE;
}

static bool conn_is_queued(const struct conn *c)
{
    return c->deadline.kind == DEADLINE_QUEUED;
}

void conn_put_off(struct loop *l, struct conn *c, uint32_t events)
{
    c->pending |= events;
    if (conn_is_queued(c)) return;
    if (!c->seen_ns) c->seen_ns = l->now_ns;
    if (c->deadline.kind != DEADLINE_NONE) {
        c->since_kind = c->deadline.kind;
        c->since_ns = deadline_armed_ns(&l->deadlines, &c->deadline);
    }
    deadline_arm(&l->deadlines, &c->deadline, DEADLINE_QUEUED, l->now_ns);
}

/* Serves what begins at `bytes`, until it ends or the connection's turn does. Returns how much. */
static size_t conn_serve_some(struct loop *l, struct conn *c, char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len && c->state == CONN_READING && !c->last) {
        if (loop_must_flush(l)) {
            conn_flush(l, c);
            continue;
        }
        size_t used = conn_step(l, c, bytes + at, len - at);
        if (used == 0) break;
        at += used;
    }
    if (c->state == CONN_READING) conn_flush(l, c);
    return c->last ? len : at;
}

/* Serves what is there: bytes[0..len), which lies in l->in or in c->in. */
static void conn_serve(struct loop *l, struct conn *c, char *bytes, size_t len)
{
    c->unserved = false;
    size_t at = 0;
    bool kept;
    for (;;) {
        at += conn_serve_some(l, c, bytes + at, len - at);
        l->no_place = false;
        if (c->state == CONN_CLOSED) return;
        kept = conn_keep(l, c, bytes + at, len - at);
        if (kept || !c->unserved || c->state != CONN_READING) break;
        /* There is no place to keep for its next turn what is there: so all of it is served now. */
        l->no_place = true;
    }
    if (!kept && c->state == CONN_SENDING) {
        conn_tell_lack(l);
        conn_close(l, c);
    } else if (!kept) {
        conn_no_buffer(l, c);
    } else if (c->state == CONN_READING) {
        if (c->last)
            conn_linger(l, c);
        else if (c->unserved)
            conn_put_off(l, c, 0);
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
    conn_give(l, &c->in);
    c->in = larger;
    return true;
}

/* Returns whether more may be there already. */
static bool conn_read(struct loop *l, struct conn *c)
{
    if (c->in.data && c->in.cap - c->in_len < INPUT_ROOM_MIN && c->in.cap < POOL_BYTES_KEPT_MAX &&
        !conn_grow(l, c) && c->in_len == c->in.cap) {
        conn_no_buffer(l, c);
        return false;
    }
    char *bytes = c->in.data ? c->in.data : l->in;
    size_t cap = c->in.data ? c->in.cap : LOOP_READ_BYTES;
    INVARIANT(c->in_len < cap);
    sample_begin(l);
    size_t room = cap - c->in_len;
    ssize_t n;
    do n = recv(c->fd, bytes + c->in_len, room, 0);
    while (n < 0 && errno == EINTR); /* what is left unread, nobody tells of again */
    if (n > 0)
        conn_serve(l, c, bytes, c->in_len + (size_t)n);
    else if (n == 0)
        conn_ended(l, c);
    else if (send_failed())
        conn_close(l, c);
    l->sample = SAMPLE_NONE; /* where it was no whole request */
    return n > 0 && (size_t)n == room;
}

/* Reads what is there; and where the peer has shut its side, on to the end. What is then left for
 * the next turn, nobody tells again. Inlined where an ordinary request comes, too. */
static inline __attribute__((always_inline)) void conn_read_on(struct loop *l, struct conn *c,
                                                               uint32_t events)
{
    uint32_t ended = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
    bool more = conn_read(l, c);
    for (int reads = 1; c->state == CONN_READING && (more || ended); reads++) {
        if (reads == READS_MAX || conn_is_queued(c)) {
            conn_put_off(l, c, EPOLLIN | ended);
            return;
        }
        more = conn_read(l, c);
    }
}

/* ---- the other states ---- */

static void conn_send(struct loop *l, struct conn *c)
{
    if (!text_is_valid(&c->text)) {
        conn_close(l, c);
        return;
    }
    struct span head = {NULL, 0}, text = text_rest(&c->text, c->text_at);
    if (c->out_len) head = (struct span){c->out.data + c->out_at, c->out_len - c->out_at};
    ssize_t n =
        head.len ? send_both(c->fd, head, text) : send_both(c->fd, text, (struct span){NULL, 0});
    if (n < 0) {
        if (send_failed()) conn_close(l, c);
        return;
    }
    size_t of_head = (size_t)n < head.len ? (size_t)n : head.len;
    c->out_at += of_head;
    c->text_at += (size_t)n - of_head;
    if ((size_t)n < head.len + text.len) return;

    if (c->answered_count) {
        const char *behind = c->out.data + ((c->out_len + 7) & ~(size_t)7);
        count_answered(l, (const struct conn_answered *)(const void *)behind, c->answered_count);
    }
    conn_give(l, &c->out);
    text_release(&c->text);
    c->state = CONN_READING;
    conn_watch(l, c, (uint32_t)CONN_WATCHED);
    if (c->last) {
        conn_linger(l, c);
        return;
    }
    conn_waited(l, c);
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
    l->visit_left = CONN_ANSWERS_MAX;
    switch (c->state) {
    case CONN_READING:
        if (conn_is_queued(c))
            c->pending |= events;
        else
            conn_read_on(l, c, events);
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

void conn_resume(struct loop *l, struct conn *c)
{
    uint32_t events = c->pending;
    c->pending = 0;
    l->visit_left = CONN_ANSWERS_MAX;
    deadline_disarm(&l->deadlines, &c->deadline);
    if (c->unserved) conn_serve(l, c, c->in.data, c->in_len);
    if (c->state == CONN_READING && conn_is_queued(c))
        c->pending |= events;
    else if (c->state == CONN_READING && events) /* else it is told again */
        conn_read_on(l, c, events);
    if (c->state == CONN_READING && c->deadline.kind == DEADLINE_NONE) conn_wait(l, c);
    if (!conn_is_queued(c)) c->seen_ns = 0;
}

/* What came in time may not have been seen yet: the process stood still, or too much came at once.
 * So there is one more look. Returns whether it is late all the same. */
static bool conn_is_late(struct loop *l, struct conn *c)
{
    enum deadline_kind kind = c->deadline.kind;
    uint64_t at_ns = c->deadline.at_ns;
    if (c->state == CONN_LINGERING) return true;
    conn_event(l, c, EPOLLIN);
    return c->state != CONN_CLOSED && c->deadline.kind == kind && c->deadline.at_ns == at_ns;
}

void conn_expire(struct loop *l, struct conn *c)
{
    if (!conn_is_late(l, c)) return;
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
