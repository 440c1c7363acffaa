#include "serve/listen.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void listens(void **state)
{
    (void)state;
    int fd = -1, other = -1;
    char bound[ADDRESS_TEXT_MAX], own[ADDRESS_TEXT_MAX];
    struct err e;
    assert_int_equal(listen_open(SPAN("127.0.0.1:0"), &fd, bound, &e), ERR_OK);
    assert_memory_equal(bound, "127.0.0.1:", 10);
    assert_string_not_equal(bound, "127.0.0.1:0");
    listen_address_write(fd, own);
    assert_string_equal(own, bound);

    char again[ADDRESS_TEXT_MAX] = "untouched";
    assert_int_equal(listen_open(span_of(bound), &other, again, &e), ERR_SYSTEM);
    assert_non_null(strstr(e.text, bound));
    assert_non_null(strstr(e.text, "in use"));
    assert_int_equal(other, -1);
    assert_string_equal(again, "untouched");
    close(fd);
}

static void addresses_that_are_none(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        ":",
        "127.0.0.1",
        "127.0.0.1:",
        ":80",
        "127.0.0.1:x",
        "::1:80",
        "[::1:80",
        "127.0.0.1:-1",
        "[]:80",
        "a b:80",
        "127.0.0.1:65536",
        "[::1]80",
        "127.0.0.1:8 ",
        "127.0.0.1:000080",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int fd = -1;
        char bound[ADDRESS_TEXT_MAX];
        struct err e;
        assert_int_equal(listen_open(span_of(rows[i]), &fd, bound, &e), ERR_USAGE);
        assert_non_null(strstr(e.text, rows[i]));
        assert_int_equal(fd, -1);
    }
}

static void ports_out_of_range(void **state)
{
    (void)state;
    static const struct {
        const char *where;
        bool range;
    } rows[] = {
        {"127.0.0.1:65536", true},
        {"[::1]:99999", true},
        {"localhost:123456789012", true},
        {"127.0.0.1:99999999999999999999", true},
        {"127.0.0.1:-1", false},
        {"127.0.0.1:000080", false},
        {"127.0.0.1:", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int fd = -1;
        char bound[ADDRESS_TEXT_MAX];
        struct err e;
        assert_int_equal(listen_open(span_of(rows[i].where), &fd, bound, &e), ERR_USAGE);
        bool range = strstr(e.text, "ports go from 0 to 65535") != NULL;
        if (range != rows[i].range) fail_msg("%s: %s", rows[i].where, e.text);
    }
}

static void one_port_asked_for_twice(void **state)
{
    (void)state;
    static const struct {
        const char *listens, *wanted; /* the port is appended to both */
        bool overlaps, other_port;
    } rows[] = {
        {"127.0.0.1:", "127.0.0.1:", true},      {"127.0.0.1:", "localhost:", true},
        {"0.0.0.0:", "127.0.0.1:", true},        {"127.0.0.1:", "0.0.0.0:", true},
        {"127.0.0.1:", "[::]:", true},           {"127.0.0.1:", "127.0.0.2:", false},
        {"127.0.0.1:", "[::1]:", false},         {"127.0.0.1:", "127.0.0.1:", false, true},
        {"0.0.0.0:", "127.0.0.1:", false, true}, {"127.0.0.1:", "127.0.0.1:x", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int fd = -1;
        char where[64], bound[ADDRESS_TEXT_MAX];
        struct err e;
        snprintf(where, sizeof where, "%s0", rows[i].listens);
        assert_int_equal(listen_open(span_of(where), &fd, bound, &e), ERR_OK);
        snprintf(where, sizeof where, "%s%s", rows[i].wanted,
                 rows[i].other_port ? "0" : strrchr(bound, ':') + 1);
        if (listen_overlaps(span_of(where), fd) != rows[i].overlaps)
            fail_msg("%s and %s", bound, where);
        close(fd);
    }
}

static void hosts(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        bool ours;
    } rows[] = {
        {"localhost", true},
        {"localhost:80", true},
        {"LOCALHOST", true},
        {"127.0.0.1", true},
        {"127.0.0.1:7071", true},
        {"127.200.3.4", true},
        {"[::1]", true},
        {"[::1]:80", true},
        {"[0:0:0:0:0:0:0:1]", true},
        {"", false},
        {":80", false},
        {"localhost.", false},
        {"localhost.evil", false},
        {"evil.localhost", false},
        {"127.0.0.1.evil", false},
        {"0.0.0.0", false},
        {"10.0.0.1", false},
        {"[::2]", false},
        {"::1", false},
        {"[::1", false},
        {"127.1", false},
        {"128.0.0.1", false},
        {"a-name-that-is-longer-than-any-address-could-ever-be", false},
    };
    int fd;
    char bound[ADDRESS_TEXT_MAX];
    struct err e;
    assert_int_equal(listen_open(SPAN("127.0.0.1:0"), &fd, bound, &e), ERR_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (listen_host_is_ours(span_of(rows[i].host), fd) != rows[i].ours)
            fail_msg("%s: not %d", rows[i].host, rows[i].ours);
    close(fd);
}

static void further_hosts(void **state)
{
    (void)state;
    static const struct span hosts[] = {SPAN("ops.example"), SPAN("10.1.2.3"), SPAN("fd00::7")};
    static const struct {
        const char *host;
        bool listed;
    } rows[] = {
        {"ops.example", true},
        {"OPS.Example:7071", true},
        {"10.1.2.3", true},
        {"10.1.2.3:80", true},
        {"[fd00::7]", true},
        {"[FD00:0::7]:7071", true},
        {"", false},
        {":7071", false},
        {"ops.example.", false},
        {"ops.exampl", false},
        {"ops.example.evil", false},
        {"x.ops.example", false},
        {"10.1.2.30", false},
        {"[fd00::8]", false},
        {"fd00::7", false},
        {"localhost", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (listen_host_is_one_of(span_of(rows[i].host), hosts, 3) != rows[i].listed)
            fail_msg("%s: not %d", rows[i].host, rows[i].listed);
    assert_false(listen_host_is_one_of(SPAN("ops.example"), hosts, 0));
}

static void what_is_local(void **state)
{
    (void)state;
    static const struct {
        const char *where;
        bool local;
    } rows[] = {
        {"127.0.0.1:0", true}, {"127.8.8.8:0", true},          {"0.0.0.0:0", false},
        {"[::1]:0", true},     {"[::ffff:127.0.0.1]:0", true}, {"[::]:0", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int fd;
        char bound[ADDRESS_TEXT_MAX];
        struct err e;
        enum err_code code = listen_open(span_of(rows[i].where), &fd, bound, &e);
        if (code && rows[i].where[0] == '[') continue; /* a machine without IPv6 */
        assert_int_equal(code, ERR_OK);
        if (listen_is_local(fd) != rows[i].local)
            fail_msg("%s: not %d", rows[i].where, rows[i].local);
        close(fd);
    }
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_true(listen_is_local(pair[0]));
    close(pair[0]);
    close(pair[1]);
    assert_false(listen_is_local(-1)); /* who does not know warns */
}

/* Of both ends, and of both families. */
static void addresses_as_they_are_written(void **state)
{
    (void)state;
    static const char *const hosts[] = {"127.0.0.1", "127.0.0.9", "[::1]"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        char where[64], bound[ADDRESS_TEXT_MAX], text[ADDRESS_TEXT_MAX], expected[128];
        snprintf(where, sizeof where, "%s:0", hosts[i]);
        int listener;
        struct err e;
        enum err_code code = listen_open(span_of(where), &listener, bound, &e);
        if (code && *hosts[i] == '[') continue; /* a machine without IPv6 */
        assert_int_equal(code, ERR_OK);
        struct sockaddr_storage a = {0};
        socklen_t len = sizeof a;
        assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);
        unsigned port = a.ss_family == AF_INET
                            ? ntohs(((const struct sockaddr_in *)(const void *)&a)->sin_port)
                            : ntohs(((const struct sockaddr_in6 *)(const void *)&a)->sin6_port);
        snprintf(expected, sizeof expected, "%s:%u", hosts[i], port);
        assert_true(port > 0);
        assert_string_equal(bound, expected);
        listen_address_write(listener, text);
        assert_string_equal(text, expected);
        int caller = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(caller, (const struct sockaddr *)&a, len), 0);
        listen_peer_write(caller, text);
        assert_string_equal(text, expected);
        close(caller);
        close(listener);
    }
    int pair[2];
    char text[ADDRESS_TEXT_MAX] = "?";
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    listen_peer_write(pair[0], text);
    assert_string_equal(text, "");
    listen_address_write(-1, text);
    assert_string_equal(text, "");
    close(pair[0]);
    close(pair[1]);
}

/* ---- a listener that takes nobody new ---- */

static int caller_begin(const struct sockaddr_storage *a, bool deaf)
{
    /* Lets nothing through: the answer to its SYN does not reach it. */
    struct sock_filter nothing[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
    struct sock_fprog filter = {1, nothing};
    int fd = socket(a->ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    if (deaf)
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter), 0);
    if (connect(fd, (const struct sockaddr *)a, sizeof *a) < 0)
        assert_int_equal(errno, EINPROGRESS);
    return fd;
}

static bool is_told(int fd, short events, int wait_ms)
{
    struct pollfd p = {.fd = fd, .events = events};
    return poll(&p, 1, wait_ms) > 0;
}

/* The connection of `caller` comes out of the listener, and carries bytes. */
static void serves(int listener, int caller)
{
    int error = -1;
    socklen_t len = sizeof error;
    char byte;
    assert_true(is_told(caller, POLLOUT, 20000));
    assert_int_equal(getsockopt(caller, SOL_SOCKET, SO_ERROR, &error, &len), 0);
    assert_int_equal(error, 0);
    assert_true(is_told(listener, POLLIN, 20000));
    int fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    assert_int_equal(send(caller, "x", 1, 0), 1);
    assert_true(is_told(fd, POLLIN, 20000));
    assert_int_equal(recv(fd, &byte, 1, 0), 1);
    close(fd);
}

static void ignores_new(const char *where)
{
    char bound[ADDRESS_TEXT_MAX];
    struct err e;
    struct sockaddr_storage a = {0};
    socklen_t len = sizeof a;
    int listener, nothing = 0;
    assert_int_equal(listen_open(span_of(where), &listener, bound, &e), ERR_OK);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);

    int there = caller_begin(&a, false), halfway = caller_begin(&a, true);
    assert_true(is_told(there, POLLOUT, 20000));
    listen_ignore_new(listener);
    int late = caller_begin(&a, false);
    serves(listener, there);
    assert_false(is_told(late, POLLOUT, 100)); /* neither connected nor refused */
    assert_false(is_told(halfway, POLLOUT, 0));
    assert_false(is_told(listener, POLLIN, 0));

    /* The answer to its SYN comes anew after a second; its own word ends the handshake. */
    assert_int_equal(setsockopt(halfway, SOL_SOCKET, SO_DETACH_FILTER, &nothing, sizeof nothing),
                     0);
    serves(listener, halfway);
    assert_false(is_told(late, POLLOUT, 0));
    close(there);
    close(halfway);
    close(late);
    close(listener);
}

static void newcomers_are_ignored_and_nobody_else(void **state)
{
    (void)state;
    ignores_new("127.0.0.1:0");
    int v6 = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool has_v6 = v6 >= 0 && bind(v6, (struct sockaddr *)&loopback, sizeof loopback) == 0;
    if (v6 >= 0) close(v6);
    if (has_v6) ignores_new("[::1]:0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_out_of_range),
        cmocka_unit_test(one_port_asked_for_twice),
        cmocka_unit_test(further_hosts),
        cmocka_unit_test(what_is_local),
        cmocka_unit_test(listens),
        cmocka_unit_test(addresses_that_are_none),
        cmocka_unit_test(hosts),
        cmocka_unit_test(addresses_as_they_are_written),
        cmocka_unit_test(newcomers_are_ignored_and_nobody_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
