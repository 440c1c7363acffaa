#include "serve/listen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listens),       cmocka_unit_test(addresses_that_are_none),
        cmocka_unit_test(hosts),         cmocka_unit_test(further_hosts),
        cmocka_unit_test(what_is_local),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
