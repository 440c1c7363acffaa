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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listens),
        cmocka_unit_test(addresses_that_are_none),
        cmocka_unit_test(hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
