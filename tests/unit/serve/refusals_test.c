#include "serve/refusals.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { CLIENTS = 200, EVENT_FIRST = 1000, MAX = 4 };

#define MS 1000000ull

/* Refusals over socket pairs, and the time that they are told. */
struct fixture {
    struct refusals refusals;
    struct signals *signals;
    uint64_t now_ns;
    int epoll_fd;
    int clients[CLIENTS], client_count;
};

static struct fixture *f;

static int setup(void **state)
{
    (void)state;
    f = calloc(1, sizeof *f);
    const struct settings_log log = {.sink = LOG_FILE, .file = SPAN("/dev/null")};
    struct err e;
    if (!f || signals_open(&(struct signals_config){.writers = 1, .log = &log}, &f->signals, &e))
        return -1;
    f->now_ns = 7000 * MS;
    f->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return refusals_open(&f->refusals, MAX, f->epoll_fd, EVENT_FIRST, signals_writer(f->signals, 0))
               ? 0
               : -1;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < f->client_count; i++)
        if (f->clients[i] >= 0) close(f->clients[i]);
    refusals_close(&f->refusals);
    refusals_close(&f->refusals);
    close(f->epoll_fd);
    signals_close(f->signals, 1000);
    free(f);
    return 0;
}

static int refuse(bool counted)
{
    int ends[2];
    struct err why;
    assert_true(f->client_count < CLIENTS);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    err_set(&why, ERR_CONNECTIONS_MAX, "no place");
    refusals_add(&f->refusals, ends[0], &why, counted, f->now_ns);
    f->clients[f->client_count] = ends[1];
    return f->client_count++;
}

/* Everything that has come is told, until nothing comes any more. */
static void turn(void)
{
    struct epoll_event events[2 * MAX];
    for (int n; (n = epoll_wait(f->epoll_fd, events, 2 * MAX, 0)) > 0;)
        for (int i = 0; i < n; i++)
            refusals_event(&f->refusals, (int)(events[i].data.u64 - EVENT_FIRST), f->now_ns);
    refusals_expire(&f->refusals, f->now_ns);
}

static void pass(uint64_t ms)
{
    f->now_ns += ms * MS;
    turn();
}

static void say(int client, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = send(f->clients[client], bytes, len, MSG_NOSIGNAL);
        assert_true(n > 0 || errno == EAGAIN);
        if (n > 0) bytes += n, len -= (size_t)n;
        turn();
    }
}

static void client_close(int client)
{
    close(f->clients[client]);
    f->clients[client] = -1;
    turn();
}

enum heard { NOTHING, TOLD, TOLD_HEAD, ENDED };

/* What the client has got since it listened last. */
static enum heard heard(int client)
{
    char answer[2048];
    size_t len = 0;
    ssize_t n;
    while ((n = recv(f->clients[client], answer + len, sizeof answer - 1 - len, 0)) > 0)
        len += (size_t)n;
    answer[len] = '\0';
    if (len == 0) return n == 0 || errno == ECONNRESET ? ENDED : NOTHING;
    assert_int_equal(n, 0); /* our side is shut behind it */
    assert_int_equal(strncmp(answer, "HTTP/1.1 503 ", 13), 0);
    assert_non_null(strstr(answer, "\r\nConnection: close\r\n"));
    assert_non_null(strstr(answer, "\r\nRetry-After: 1\r\n"));
    const char *body = strstr(answer, "\r\n\r\n") + 4;
    if (!*body) return TOLD_HEAD;
    assert_non_null(strstr(body, "\"connections_max\""));
    assert_int_equal(strtoul(strstr(answer, "Content-Length:") + 15, NULL, 10), strlen(body));
    return TOLD;
}

static int metric(const char *name)
{
    static char memory[SIGNALS_METRICS_BYTES_MAX];
    struct buf out = buf_of(memory, sizeof memory - 1);
    signals_render_metrics(f->signals, METRICS_PROMETHEUS, &out);
    memory[out.len] = '\0';
    const char *at = strstr(memory, name);
    return at ? atoi(at + strlen(name)) : 0;
}

#define COUNT_TOLD "\ninterlude_http_requests_total{code=\"503\"} "
#define COUNT_UNTOLD "\ninterlude_connections_untold_total "

#define DECIDE "POST /v1/decide HTTP/1.1\r\nHost: a\r\n"

/* Nothing is told before the last piece. */
static void told_when_the_request_has_come(void **state)
{
    (void)state;
    static const struct {
        const char *pieces[5];
        bool ends; /* the client shuts its side behind them, and that is what tells */
        enum heard heard;
    } cases[] = {
        {{DECIDE "Content-Length: 2\r\n\r\n{}"}, false, TOLD},
        {{"P", "OST /v1/decide HT", "TP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r", "\n{", "}"},
         false,
         TOLD},
        {{DECIDE "Transfer-Encoding: chunked\r\n\r\n", "2\r\n{}\r\n", "0\r\n", "\r\n"},
         false,
         TOLD},
        {{DECIDE, "\r\n"}, false, TOLD},
        {{"GET /readyz HTTP/1.1\r\nHost: a\r\n", "\r\n"}, false, TOLD},
        {{"HEAD /readyz HTTP/1.1\r\nHost: a\r\n", "\r\n"}, false, TOLD_HEAD},
        {{DECIDE, "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"}, false, TOLD},
        {{DECIDE "Content-Length: 2\r\n\r\n{}" DECIDE}, false, TOLD},
        {{"GET /", " HTTP/1.1\r\n A: b\r\n"}, false, TOLD},
        {{DECIDE "Content-Length: 2\r\n", "\r\n"}, true, TOLD},
        {{"P"}, true, TOLD},
        {{"\r\n"}, true, ENDED},
        {{NULL}, true, ENDED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int client = refuse(true);
        turn();
        for (int piece = 0; piece < 5 && cases[i].pieces[piece]; piece++) {
            if (heard(client) != NOTHING) fail_msg("case %zu, before piece %d", i, piece);
            say(client, cases[i].pieces[piece], strlen(cases[i].pieces[piece]));
        }
        if (cases[i].ends) {
            if (heard(client) != NOTHING) fail_msg("case %zu, before the end", i);
            shutdown(f->clients[client], SHUT_WR);
            turn();
        }
        enum heard got = heard(client);
        if (got != cases[i].heard) fail_msg("case %zu: %d", i, (int)got);
        client_close(client);
        assert_int_equal(f->refusals.count, 0);
    }
    assert_int_equal(metric(COUNT_TOLD), 11);
    assert_int_equal(metric(COUNT_UNTOLD), 0);
}

static void a_large_body_is_read_and_its_memory_given_back(void **state)
{
    (void)state;
    static char body[HTTP_BODY_BYTES_MAX];
    memset(body, ' ', sizeof body);
    int client = refuse(true);
    char head[200];
    int len = snprintf(head, sizeof head, DECIDE "Content-Length: %zu\r\n\r\n", sizeof body);
    say(client, head, (size_t)len);
    say(client, body, sizeof body - 1);
    assert_int_equal(heard(client), NOTHING);
    say(client, " ", 1);
    /* And what still comes is thrown away, so that the answer is not lost. */
    for (int i = 0; i < 20; i++) say(client, body, sizeof body);
    assert_int_equal(heard(client), TOLD);
    client_close(client);
    unsigned char pages[32];
    assert_int_equal(mincore(f->refusals.memory, sizeof pages * 4096, pages), 0);
    for (size_t i = 1; i < 24; i++) assert_int_equal(pages[i] & 1, 0);
}

static void who_says_nothing_is_told_nothing(void **state)
{
    (void)state;
    int client = refuse(true), empty_line = refuse(true);
    say(empty_line, "\r\n", 2);
    pass(REFUSAL_REQUEST_MS - 1);
    assert_int_equal(heard(client), NOTHING);
    assert_int_equal(metric(COUNT_UNTOLD), 0);
    pass(1);
    assert_int_equal(heard(client), ENDED);
    assert_int_equal(heard(empty_line), ENDED);
    assert_int_equal(metric(COUNT_UNTOLD), 2);
    assert_int_equal(metric(COUNT_TOLD), 0);
}

static void half_a_request_is_told_after_a_second(void **state)
{
    (void)state;
    int client = refuse(true);
    say(client, DECIDE, strlen(DECIDE));
    pass(REFUSAL_REQUEST_MS - 1);
    assert_int_equal(heard(client), NOTHING);
    pass(1);
    assert_int_equal(heard(client), TOLD);
    assert_int_equal(f->refusals.count, 1);
    pass(REFUSAL_LINGER_MS - 1);
    assert_int_equal(f->refusals.count, 1);
    pass(1);
    assert_int_equal(f->refusals.count, 0);
    assert_int_equal(metric(COUNT_TOLD), 1);
    assert_int_equal(metric(COUNT_UNTOLD), 0);
}

/* The request was there, and nobody looked, for as long as a process may stand still. */
static void what_came_while_we_stood_still_is_told(void **state)
{
    (void)state;
    int client = refuse(true);
    const char whole[] = DECIDE "\r\n";
    assert_int_equal(send(f->clients[client], whole, strlen(whole), 0), strlen(whole));
    f->now_ns += 60000 * MS;
    refusals_expire(&f->refusals, f->now_ns);
    assert_int_equal(heard(client), TOLD);
    pass(REFUSAL_LINGER_MS - 1);
    assert_int_equal(f->refusals.count, 1);
}

static void a_peer_that_has_gone_is_no_loss(void **state)
{
    (void)state;
    client_close(refuse(true));
    assert_int_equal(f->refusals.count, 0);
    int client = refuse(true);
    say(client, DECIDE, strlen(DECIDE));
    client_close(client);
    assert_int_equal(f->refusals.count, 0);
    assert_int_equal(metric(COUNT_UNTOLD), 0);
}

static void for_a_further_one_the_least_is_lost(void **state)
{
    (void)state;
    int clients[MAX];
    for (int i = 0; i < MAX; i++) {
        clients[i] = refuse(true);
        pass(1);
    }
    say(clients[3], DECIDE "\r\n", strlen(DECIDE "\r\n"));
    assert_int_equal(heard(clients[3]), TOLD);
    /* The one that was told goes before those that wait, though it came last. */
    int further = refuse(true);
    assert_int_equal(metric(COUNT_UNTOLD), 0);
    for (int i = 0; i < 3; i++) assert_int_equal(heard(clients[i]), NOTHING);
    /* Then the one that has been waited for the longest. */
    refuse(true);
    assert_int_equal(heard(clients[0]), ENDED);
    assert_int_equal(heard(clients[1]), NOTHING);
    assert_int_equal(metric(COUNT_UNTOLD), 1);
    assert_int_equal(f->refusals.count, MAX);
    say(further, DECIDE "\r\n", strlen(DECIDE "\r\n"));
    assert_int_equal(heard(further), TOLD);
    for (int i = 0; i < 100; i++) refuse(true);
    assert_int_equal(f->refusals.count, MAX);
}

/* More come at once than there are places, and nobody has looked yet at what they sent. */
static void who_makes_room_is_told_if_he_has_asked(void **state)
{
    (void)state;
    const char whole[] = DECIDE "\r\n";
    for (int i = 0; i < 10; i++) {
        int client = refuse(true);
        assert_int_equal(send(f->clients[client], whole, strlen(whole), 0), strlen(whole));
    }
    turn();
    for (int i = 0; i < 10; i++) assert_int_equal(heard(i), TOLD);
    assert_int_equal(metric(COUNT_TOLD), 10);
    assert_int_equal(metric(COUNT_UNTOLD), 0);
}

static void another_port_is_not_counted(void **state)
{
    (void)state;
    int client = refuse(false), silent = refuse(false);
    say(client, DECIDE "\r\n", strlen(DECIDE "\r\n"));
    assert_int_equal(heard(client), TOLD);
    pass(REFUSAL_REQUEST_MS);
    assert_int_equal(heard(silent), ENDED);
    assert_int_equal(metric(COUNT_TOLD), 0);
    assert_int_equal(metric(COUNT_UNTOLD), 0);
}

static void what_was_never_opened_may_be_closed(void **state)
{
    (void)state;
    struct refusals *r = calloc(1, sizeof *r);
    assert_non_null(r);
    refusals_init(r);
    refusals_expire(r, 1);
    refusals_close(r);
    free(r);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(told_when_the_request_has_come),
        TEST(a_large_body_is_read_and_its_memory_given_back),
        TEST(who_says_nothing_is_told_nothing),
        TEST(half_a_request_is_told_after_a_second),
        TEST(what_came_while_we_stood_still_is_told),
        TEST(a_peer_that_has_gone_is_no_loss),
        TEST(for_a_further_one_the_least_is_lost),
        TEST(who_makes_room_is_told_if_he_has_asked),
        TEST(another_port_is_not_counted),
        cmocka_unit_test(what_was_never_opened_may_be_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
