#include "lab/load_conn.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

void load_conn_list_append(struct load_conn_list *list, struct load_conn *c)
{
    load_conn_list_remove(c);
    c->list = list;
    c->prev = list->last;
    c->next = NULL;
    if (list->last)
        list->last->next = c;
    else
        list->first = c;
    list->last = c;
}

void load_conn_list_remove(struct load_conn *c)
{
    struct load_conn_list *list = c->list;
    if (!list) return;
    if (c->prev)
        c->prev->next = c->next;
    else
        list->first = c->next;
    if (c->next)
        c->next->prev = c->prev;
    else
        list->last = c->prev;
    c->prev = c->next = NULL;
    c->list = NULL;
}

void load_conn_init(struct load_conn *c, uint32_t index, uint32_t target)
{
    *c = (struct load_conn){.index = index, .target = target, .fd = -1};
    c->out = malloc(LOAD_REQUEST_BYTES_MAX);
    INVARIANT(c->out != NULL);
}

void load_conn_done(struct load_conn *c)
{
    load_conn_close(c);
    free(c->out);
}

void load_conn_close(struct load_conn *c)
{
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
    c->state = CONN_CLOSED;
}

static enum load_step step_fail(struct load_conn *c, enum capture_stage stage, int sys)
{
    c->failed = stage;
    c->sys = sys;
    return STEP_FAILED;
}

enum load_step load_conn_open(struct load_conn *c, const struct load_target *t, int epoll)
{
    c->fd = socket(t->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) return step_fail(c, CAPTURE_CONNECT, errno);
    int on = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    c->generation++;
    c->state = CONN_CONNECTING;
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
        .data.u64 = (uint64_t)c->generation << 32 | c->index,
    };
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) < 0)
        return step_fail(c, CAPTURE_CONNECT, errno);
    if (connect(c->fd, (const struct sockaddr *)&t->address, t->address_len) < 0 &&
        errno != EINPROGRESS)
        return step_fail(c, CAPTURE_CONNECT, errno);
    return STEP_WAIT;
}

static int socket_error(const struct load_conn *c)
{
    int error = 0;
    socklen_t len = sizeof error;
    return getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno : error;
}

static enum load_step conn_connected(struct load_conn *c)
{
    int error = socket_error(c);
    if (error) return step_fail(c, CAPTURE_CONNECT, error);
    c->state = CONN_IDLE;
    load_answer_init(&c->answer);
    return STEP_CONNECTED;
}

/* The connection ended in the middle of a request. Had the server read all of it? A kernel resets a
 * connection that is closed with bytes unread, or that gets bytes after it was closed; and where
 * its answer to those is still on its way, they are not acknowledged. Otherwise the server took the
 * request and chose to end. */
static bool conn_unread(const struct load_conn *c, int error)
{
    int unacknowledged = 0;
    if (!load_answer_idle(&c->answer)) return false;
    if (error) return error == ECONNRESET || error == EPIPE;
    if (socket_error(c)) return true;
    return ioctl(c->fd, SIOCOUTQ, &unacknowledged) == 0 && unacknowledged > 0;
}

static enum load_step send_failed(struct load_conn *c, int error)
{
    step_fail(c, CAPTURE_SEND, error);
    return conn_unread(c, error) ? STEP_UNREAD : STEP_FAILED;
}

static enum load_step conn_send(struct load_conn *c)
{
    while (c->out_sent < c->out_len) {
        ssize_t n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return STEP_WAIT;
        if (n < 0) return send_failed(c, errno);
        c->out_sent += (size_t)n;
    }
    c->state = CONN_RECEIVING;
    return STEP_WAIT;
}

enum load_step load_conn_request(struct load_conn *c)
{
    c->state = CONN_SENDING;
    c->out_sent = 0;
    load_answer_init(&c->answer);
    return conn_send(c);
}

/* The bytes after an answer would be an answer to nothing: what follows could not be matched. */
static enum load_step conn_take(struct load_conn *c, const char *bytes, size_t len)
{
    size_t used;
    switch (load_answer_read(&c->answer, bytes, len, &used)) {
    case LOAD_ANSWER_MORE:
        return STEP_WAIT;
    case LOAD_ANSWER_DONE:
        if (used < len || c->state == CONN_SENDING) c->answer.close = true;
        c->state = CONN_IDLE;
        return STEP_ANSWERED;
    default:
        return step_fail(c, CAPTURE_RECEIVE, EPROTO);
    }
}

static enum load_step conn_ended(struct load_conn *c, int error)
{
    if (c->state == CONN_IDLE) return STEP_CLOSED;
    if (!error && load_answer_end(&c->answer)) {
        c->state = CONN_IDLE;
        return STEP_ANSWERED;
    }
    step_fail(c, CAPTURE_RECEIVE, error);
    return conn_unread(c, error) ? STEP_UNREAD : STEP_FAILED;
}

/* Until there is nothing more, or an answer is whole. The connection's end may have been told
 * together with that answer and is no edge of its own then: whoever got the events looks. */
static enum load_step conn_receive(struct load_conn *c)
{
    char bytes[16 * 1024];
    for (;;) {
        ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return STEP_WAIT;
        if (n <= 0) return conn_ended(c, n < 0 ? errno : 0);
        if (c->state == CONN_IDLE) return STEP_CLOSED;
        enum load_step step = conn_take(c, bytes, (size_t)n);
        if (step != STEP_WAIT) return step;
    }
}

enum load_step load_conn_event(struct load_conn *c, uint32_t events)
{
    switch (c->state) {
    case CONN_CLOSED:
        return STEP_WAIT;
    case CONN_CONNECTING:
        return conn_connected(c);
    case CONN_SENDING: {
        /* A server may answer a request that it refuses before it has read all of it. */
        enum load_step sent = conn_send(c);
        if (sent != STEP_WAIT) return sent;
        break;
    }
    default:
        break;
    }
    enum load_step step = conn_receive(c);
    if (step == STEP_ANSWERED && events & (EPOLLRDHUP | EPOLLHUP)) c->answer.close = true;
    return step;
}
