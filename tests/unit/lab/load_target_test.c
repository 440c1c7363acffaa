#include "lab/load_target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static void urls(void **state)
{
    (void)state;
    static const struct {
        const char *url, *host, *path; /* host NULL: refused */
        int port;
    } rows[] = {
        {"http://127.0.0.1:7070", "127.0.0.1:7070", "/default", 7070},
        {"http://127.0.0.1:7070/", "127.0.0.1:7070", "/default", 7070},
        {"http://127.0.0.1:7070/a?b=c", "127.0.0.1:7070", "/a?b=c", 7070},
        {"http://127.8.9.10/a", "127.8.9.10", "/a", 80},
        {"http://localhost:1/a", "localhost:1", "/a", 1},
        {"http://[::1]:65535/a", "[::1]:65535", "/a", 65535},
        {"http://[::1]/a", "[::1]", "/a", 80},
        {"https://127.0.0.1/", NULL, NULL, 0},
        {"127.0.0.1:7070", NULL, NULL, 0},
        {"http://", NULL, NULL, 0},
        {"http://:80/", NULL, NULL, 0},
        {"http://10.0.0.1/", NULL, NULL, 0},
        {"http://128.0.0.1/", NULL, NULL, 0},
        {"http://example.org/", NULL, NULL, 0},
        {"http://[::2]/", NULL, NULL, 0},
        {"http://user@127.0.0.1/", NULL, NULL, 0},
        {"http://127.0.0.1:0/", NULL, NULL, 0},
        {"http://127.0.0.1:65536/", NULL, NULL, 0},
        {"http://127.0.0.1:x/", NULL, NULL, 0},
        {"http://127.0.0.1:/", NULL, NULL, 0},
        {"http://127.0.0.1?x", NULL, NULL, 0},
        {"http://127.0.0.1/a#b", NULL, NULL, 0},
        {"http://127.0.0.1/a b", NULL, NULL, 0},
        {"http://127.0.0.1/a\r\nX: y", NULL, NULL, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct load_target t = {0};
        struct err e;
        enum err_code code = load_target_parse(rows[i].url, "/default", &t, &e);
        if (code != (rows[i].host ? ERR_OK : ERR_USAGE)) fail_msg("%s", rows[i].url);
        if (code) continue;
        assert_string_equal(t.host, rows[i].host);
        assert_string_equal(t.path, rows[i].path);
        struct sockaddr_in6 v6;
        memcpy(&v6, &t.address, sizeof v6); /* the port stands at the same place in both */
        assert_int_equal(ntohs(v6.sin6_port), rows[i].port);
    }
    char large[LOAD_URL_MAX + 10];
    memset(large, 'a', sizeof large);
    memcpy(large, "http://127.0.0.1/", 17);
    large[LOAD_URL_MAX] = 0;
    struct load_target t;
    assert_int_equal(load_target_parse(large, "/", &t, NULL), ERR_USAGE);
    large[LOAD_URL_MAX - 1] = 0;
    assert_int_equal(load_target_parse(large, "/", &t, NULL), ERR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(urls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
