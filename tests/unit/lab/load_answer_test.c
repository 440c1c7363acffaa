#include "lab/load_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define OK "HTTP/1.1 200 OK\r\n"
#define X100                                                                                       \
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" \
    "xxxxxxxx"

static const struct row {
    const char *text;
    enum load_answer_result result;
    int status;
    bool close;
    size_t rest; /* bytes after the answer */
} rows[] = {
    {OK "Content-Length: 5\r\n\r\nhello", LOAD_ANSWER_DONE, 200, false, 0},
    {OK "content-length:5\r\n\r\nhelloHTTP", LOAD_ANSWER_DONE, 200, false, 4},
    {OK "Content-Length:      5  \r\n\r\nhello", LOAD_ANSWER_DONE, 200, false, 0},
    {OK "Content-Length: 0\r\n\r\n", LOAD_ANSWER_DONE, 200, false, 0},
    {"HTTP/1.1 404 \r\nContent-Length: 1\r\n\r\nx", LOAD_ANSWER_DONE, 404, false, 0},
    {"HTTP/1.1 503\r\nContent-Length: 1\r\n\r\nx", LOAD_ANSWER_DONE, 503, false, 0},
    {OK "X: " X100 X100 X100 "\r\nContent-Length: 2\r\n\r\nab", LOAD_ANSWER_DONE, 200, false, 0},
    {OK "Content-Length: 1\r\nConnection: close\r\n\r\nx", LOAD_ANSWER_DONE, 200, true, 0},
    {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", LOAD_ANSWER_DONE, 200, true, 0},
    {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n\r\nx", LOAD_ANSWER_DONE,
     200, false, 0},
    {"HTTP/1.1 204 No Content\r\n\r\nx", LOAD_ANSWER_DONE, 204, false, 1},
    {"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", LOAD_ANSWER_DONE, 304, false, 0},
    {"HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 1\r\n\r\nx", LOAD_ANSWER_DONE, 200, false,
     0},
    {OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;a=b\r\n!\r\n0\r\n\r\n", LOAD_ANSWER_DONE,
     200, false, 0},
    {OK "Transfer-Encoding: Chunked\r\n\r\n0A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nrest",
     LOAD_ANSWER_DONE, 200, false, 4},
    {"HTTP/1.1 200 OK\nContent-Length: 1\n\nx", LOAD_ANSWER_DONE, 200, false, 0},
    {OK "Content-Length: 5\r\n\r\nhell", LOAD_ANSWER_MORE, 200, false, 0},
    {OK "Content-Length: 5\r\n", LOAD_ANSWER_MORE, 200, false, 0},
    {OK "\r\nto the end", LOAD_ANSWER_MORE, 200, true, 0},
    {"HTTP/1.1 20", LOAD_ANSWER_MORE, 0, false, 0},
    {"HTTP/1.1 2x0 OK\r\n", LOAD_ANSWER_FAILED, 0, false, 0},
    {"HTTP/1.1 099 OK\r\n", LOAD_ANSWER_FAILED, 99, false, 0},
    {"HTTP/2.0 200 OK\r\n", LOAD_ANSWER_FAILED, 0, false, 0},
    {"SSH-2.0\r\n", LOAD_ANSWER_FAILED, 0, false, 0},
    {"\r\n", LOAD_ANSWER_FAILED, 0, false, 0},
    {"HTTP/1.1 101 Switching\r\n\r\n", LOAD_ANSWER_FAILED, 0, false, 0},
    {OK "Content-Length: 5\r\nContent-Length: 5\r\n", LOAD_ANSWER_FAILED, 200, false, 0},
    {OK "Content-Length: -5\r\n", LOAD_ANSWER_FAILED, 200, false, 0},
    {OK "Content-Length: 5x\r\n", LOAD_ANSWER_FAILED, 200, false, 0},
    {OK "Content-Length:\r\n", LOAD_ANSWER_FAILED, 200, false, 0},
    {OK "Content-Length: 18446744073709551616\r\n", LOAD_ANSWER_FAILED, 200, false, 0},
    {OK "Transfer-Encoding: gzip\r\n", LOAD_ANSWER_FAILED, 200, false, 0},
    {OK "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", LOAD_ANSWER_FAILED, 200, false,
     0},
    {OK "Transfer-Encoding: chunked\r\n\r\nx\r\n", LOAD_ANSWER_FAILED, 200, false, 0},
    {OK "Transfer-Encoding: chunked\r\n\r\n5x\r\n", LOAD_ANSWER_FAILED, 200, false, 0},
    {OK "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", LOAD_ANSWER_FAILED, 200, false, 0},
};

static void assert_row(size_t i, const struct load_answer *a, enum load_answer_result result,
                       size_t rest)
{
    const struct row *row = &rows[i];
    if (result != row->result || a->status != row->status || a->close != row->close)
        fail_msg("row %zu: result %d, status %d, close %d", i, (int)result, a->status, a->close);
    if (result == LOAD_ANSWER_DONE && rest != row->rest) fail_msg("row %zu: rest %zu", i, rest);
}

static void whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct load_answer a;
        load_answer_init(&a);
        assert_true(load_answer_idle(&a));
        size_t len = strlen(rows[i].text), used;
        enum load_answer_result result = load_answer_read(&a, rows[i].text, len, &used);
        assert_row(i, &a, result, len - used);
        assert_false(load_answer_idle(&a));
    }
}

/* However the bytes are split, the answer is the same. */
static void in_pieces(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t len = strlen(rows[i].text);
        for (size_t piece = 1; piece < len; piece += piece < 5 ? 1 : 7) {
            struct load_answer a;
            load_answer_init(&a);
            enum load_answer_result result = LOAD_ANSWER_MORE;
            size_t at = 0, used;
            while (result == LOAD_ANSWER_MORE && at < len) {
                size_t n = len - at < piece ? len - at : piece;
                result = load_answer_read(&a, rows[i].text + at, n, &used);
                at += used;
            }
            assert_row(i, &a, result, len - at);
        }
    }
}

static void only_some_end_with_the_connection(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct load_answer a;
        size_t used;
        load_answer_init(&a);
        load_answer_read(&a, rows[i].text, strlen(rows[i].text), &used);
        assert_int_equal(load_answer_end(&a), strstr(rows[i].text, "to the end") != NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole),
        cmocka_unit_test(in_pieces),
        cmocka_unit_test(only_some_end_with_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
