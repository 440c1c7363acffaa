#include "serve/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* A head: method, path, and what it says of its body. */
static enum err_code check(const struct route_table *table, const char *method, const char *path,
                           const char *fields, const struct route **route, struct err *e)
{
    char bytes[512];
    int len =
        snprintf(bytes, sizeof bytes, "%s %s HTTP/1.1\r\nHost: a\r\n%s\r\n", method, path, fields);
    struct http_reader r;
    http_reader_init(&r);
    assert_int_equal(http_read(&r, bytes, (size_t)len), HTTP_HEAD_READ);
    e->text[0] = '\0';
    return route_check(table, &r, bytes, route, e);
}

#define JSON "Content-Type: application/json\r\n"
#define TEXT "Content-Type: text/plain\r\n"
#define LEN "Content-Length: 2\r\n"
#define GZIP "Content-Encoding: gzip\r\n"
#define CHUNKS "Transfer-Encoding: chunked\r\n"

static void checks(void **state)
{
    (void)state;
    static const struct {
        const struct route_table *table;
        const char *method, *path, *fields;
        enum err_code code;
    } rows[] = {
        {&route_decisions, "POST", "/v1/decide", LEN, ERR_OK},
        {&route_decisions, "POST", "/v1/decide", LEN JSON, ERR_OK},
        {&route_decisions, "POST", "/v1/decide", CHUNKS JSON, ERR_OK},
        {&route_decisions, "POST", "/v1/decide?x=1", LEN, ERR_OK},
        {&route_decisions, "POST", "/v1/decide", JSON, ERR_LENGTH_REQUIRED},
        {&route_decisions, "POST", "/v1/decide", LEN TEXT, ERR_MEDIA_TYPE},
        {&route_decisions, "POST", "/v1/decide", LEN JSON GZIP, ERR_MEDIA_TYPE},
        {&route_decisions, "POST", "/v1/decide", CHUNKS JSON GZIP, ERR_MEDIA_TYPE},
        {&route_decisions, "POST", "/v1/decide", "Content-Length: 0\r\n" GZIP, ERR_OK},
        {&route_decisions, "POST", "/v1/decide", LEN "Content-Encoding: identity\r\n", ERR_OK},
        {&route_operations, "POST", "/v1/explain", LEN JSON GZIP, ERR_MEDIA_TYPE},
        {&route_operations, "GET", "/metrics", GZIP, ERR_OK},
        {&route_decisions, "GET", "/v1/decide", "", ERR_METHOD},
        {&route_decisions, "HEAD", "/v1/decide", "", ERR_METHOD},
        {&route_decisions, "GET", "/readyz", "", ERR_OK},
        {&route_decisions, "HEAD", "/readyz?x", "", ERR_OK},
        {&route_decisions, "POST", "/readyz", LEN JSON, ERR_METHOD},
        {&route_decisions, "GET", "/healthz", "", ERR_UNKNOWN_PATH},
        {&route_decisions, "OPTIONS", "*", "", ERR_OK},
        {&route_decisions, "OPTIONS", "/", "", ERR_OK},
        {&route_decisions, "OPTIONS", "/v1/decide", "", ERR_OK},
        {&route_decisions, "OPTIONS", "/v1/decide", LEN TEXT, ERR_OK},
        {&route_decisions, "OPTIONS", "/nothing", "", ERR_UNKNOWN_PATH},
        {&route_decisions, "options", "/", "", ERR_NOT_IMPLEMENTED},
        {&route_operations, "OPTIONS", "*", "", ERR_OK},
        {&route_operations, "OPTIONS", "/", "", ERR_OK},
        {&route_operations, "OPTIONS", "/v1/reload", "", ERR_OK},
        {&route_decisions, "DELETE", "/v1/decide", "", ERR_METHOD},
        {&route_decisions, "delete", "/v1/decide", "", ERR_NOT_IMPLEMENTED},
        {&route_decisions, "POSTS", "/v1/decide", LEN, ERR_NOT_IMPLEMENTED},
        {&route_decisions, "POST", "/v1/decide/", LEN, ERR_UNKNOWN_PATH},
        {&route_decisions, "POST", "/v1/Decide", LEN, ERR_UNKNOWN_PATH},
        {&route_decisions, "POST", "/v1/explain", LEN, ERR_UNKNOWN_PATH},
        {&route_decisions, "GET", "/", "", ERR_UNKNOWN_PATH},
        {&route_operations, "GET", "/", "", ERR_OK},
        {&route_operations, "GET", "/metrics", "", ERR_OK},
        {&route_operations, "HEAD", "/metrics", "", ERR_OK},
        {&route_operations, "POST", "/metrics", LEN JSON, ERR_METHOD},
        {&route_operations, "POST", "/v1/decide", LEN JSON, ERR_UNKNOWN_PATH},
        {&route_operations, "POST", "/v1/explain", LEN JSON, ERR_OK},
        {&route_operations, "POST", "/v1/explain", LEN, ERR_MEDIA_TYPE},
        {&route_operations, "POST", "/v1/explain", JSON, ERR_LENGTH_REQUIRED},
        {&route_operations, "POST", "/v1/reload", JSON, ERR_OK},
        {&route_operations, "POST", "/v1/reload", LEN JSON, ERR_OK},
        {&route_operations, "POST", "/v1/reload", "", ERR_MEDIA_TYPE},
        {&route_operations, "GET", "/v1/reload", "", ERR_METHOD},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct route *route;
        struct err e;
        enum err_code code =
            check(rows[i].table, rows[i].method, rows[i].path, rows[i].fields, &route, &e);
        if (code != rows[i].code)
            fail_msg("%s %s: %s", rows[i].method, rows[i].path, err_name(code));
        assert_true((code == ERR_OK) == (e.text[0] == '\0'));
        if (code == ERR_OK || code == ERR_METHOD) assert_non_null(route);
    }
}

static void what_is_shown_of_a_path_is_short(void **state)
{
    (void)state;
    char path[301];
    memset(path, 'a', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    const struct route *route;
    struct err e;
    assert_int_equal(check(&route_decisions, "GET", path, "", &route, &e), ERR_UNKNOWN_PATH);
    assert_true(strlen(e.text) < 100);
    assert_null(route);
}

static const struct route_table *const tables[] = {&route_decisions, &route_operations};

static void allowed_methods(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < tables[t]->count; i++) {
            const struct route *r = &tables[t]->routes[i];
            assert_string_equal(route_allow(r), r->post ? "Allow: POST, OPTIONS\r\n"
                                                        : "Allow: GET, HEAD, OPTIONS\r\n");
        }
        assert_string_equal(route_allow(tables[t]->port), "Allow: GET, HEAD, POST, OPTIONS\r\n");
    }
}

/* A page of somebody else's gets at three paths of the operations port, and no more. */
static void what_is_guarded(void **state)
{
    (void)state;
    static const char *const open[] = {"/healthz", "/readyz", "/metrics"};
    for (int i = 0; i < route_operations.count; i++) {
        const struct route *r = &route_operations.routes[i];
        bool is_open = false;
        for (size_t k = 0; k < sizeof open / sizeof open[0]; k++)
            is_open |= strcmp(r->path, open[k]) == 0;
        if (r->guarded == is_open) fail_msg("%s", r->path);
    }
    assert_true(route_operations.port->guarded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks),
        cmocka_unit_test(what_is_shown_of_a_path_is_short),
        cmocka_unit_test(allowed_methods),
        cmocka_unit_test(what_is_guarded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
