/* Connections of a loop that is turned by hand. */
#include "serve/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { ANSWER_BYTES = 65 * 1024, CONNS = 4 };

#define REQUEST "POST /v1/decide HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"

static struct loop loop;
static struct conn conns[CONNS];
static size_t body_bytes;

static void turn(struct service *service)
{
    (void)service;
}

static void answer(struct service *service, struct exchange *x)
{
    (void)service;
    x->status = x->head.status = 200;
    size_t mark = http_head_begin(x->out, &x->head);
    char *body = buf_take(x->out, body_bytes);
    if (body) memset(body, 'x', body_bytes);
    http_head_end(x->out, mark);
    x->variant = 0;
}

static int answered_count;
static void answered(struct service *service, int variant, uint64_t plan, uint64_t ns)
{
    (void)service, (void)variant, (void)plan, (void)ns;
    answered_count++;
}

static struct service service = {.routes = &route_decisions,
                                 .answer_bytes_max = ANSWER_BYTES,
                                 .turn_begin = turn,
                                 .turn_end = turn,
                                 .answer = answer,
                                 .answered = answered};

static int setup(void **state)
{
    (void)state;
    struct loop_config config = {
        .service = &service, .conns = conns, .conn_count = CONNS, .pool_bytes_max = 1024 * 1024};
    for (int kind = 0; kind < DEADLINE_COUNT; kind++) config.timeout_ns[kind] = UINT64_MAX / 4;
    struct err e;
    answered_count = 0;
    return loop_open(&loop, &config, &e) == ERR_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    loop_close(&loop);
    return 0;
}

/* Returns the client's end. */
static int connect_to(struct conn *c)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    int bytes = 4096;
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    c->fd = ends[0];
    conn_open(&loop, c);
    return ends[1];
}

/* Everything that comes until the connection waits for a request again. */
static size_t read_all(struct conn *c, int client)
{
    static char memory[1 << 16];
    size_t all = 0;
    for (;;) {
        ssize_t n = recv(client, memory, sizeof memory, 0);
        if (n > 0)
            all += (size_t)n;
        else if (c->state == CONN_SENDING || c->deadline.kind == DEADLINE_QUEUED)
            loop_turn(&loop);
        else
            return all;
    }
}

/* Two of the longest answers, and a peer that does not read: what is kept of them came from fresh
 * memory each time, since the pool keeps no buffer of that size. */
static void pipelined_answers_that_are_not_read_fit_a_buffer_of_the_pool(void **state)
{
    (void)state;
    struct conn *c = &conns[0];
    int client = connect_to(c);
    static const size_t bodies[] = {ANSWER_BYTES - 1024, 60 * 1024, 30 * 1024, 10};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        body_bytes = bodies[i];
        size_t kept = 0;
        for (int round = 0; round < 20; round++) {
            answered_count = 0;
            assert_int_equal(send(client, REQUEST REQUEST REQUEST, 3 * strlen(REQUEST), 0),
                             3 * strlen(REQUEST));
            loop_turn(&loop);
            assert_true(c->out.cap <= POOL_BYTES_KEPT_MAX);
            if (body_bytes > 10) assert_int_equal(c->state, CONN_SENDING);
            assert_true(read_all(c, client) > 3 * body_bytes);
            assert_int_equal(answered_count, 3);
            if (round) assert_int_equal(loop.pool.bytes, kept);
            kept = loop.pool.bytes;
        }
    }
    close(client);
}

static void answers_are_dated(void **state)
{
    (void)state;
    static const char *const requests[] = {REQUEST, "GET /none HTTP/1.1\r\nHost: a\r\n\r\n",
                                           "NONSENSE\r\n\r\n"};
    body_bytes = 10;
    for (int i = 0; i < 3; i++) {
        struct conn *c = &conns[i];
        char text[1024] = {0};
        int client = connect_to(c);
        assert_true(send(client, requests[i], strlen(requests[i]), 0) > 0);
        loop_turn(&loop);
        assert_true(recv(client, text, sizeof text - 1, 0) > 0);
        const char *date = strstr(text, "\r\nDate: ");
        if (!date) fail_msg("%s", text);
        assert_memory_equal(date + 2, loop.date, HTTP_DATE_BYTES);
        close(client);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            pipelined_answers_that_are_not_read_fit_a_buffer_of_the_pool, setup, teardown),
        cmocka_unit_test_setup_teardown(answers_are_dated, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
