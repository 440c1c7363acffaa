#include "wire/http_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define DATE "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

static void writes_dates(void **state)
{
    (void)state;
    static const struct {
        int64_t unix_s;
        const char *line;
    } rows[] = {
        {784111777, DATE},
        {0, "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"},
        {68169599, "Date: Mon, 28 Feb 1972 23:59:59 GMT\r\n"},
        {68169600, "Date: Tue, 29 Feb 1972 00:00:00 GMT\r\n"},
        {951782400, "Date: Tue, 29 Feb 2000 00:00:00 GMT\r\n"},
        {951868800, "Date: Wed, 01 Mar 2000 00:00:00 GMT\r\n"},
        {1796025599, "Date: Mon, 30 Nov 2026 07:59:59 GMT\r\n"},
        {4107542400, "Date: Mon, 01 Mar 2100 00:00:00 GMT\r\n"},
        {253402300799, "Date: Fri, 31 Dec 9999 23:59:59 GMT\r\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[HTTP_DATE_BYTES + 1] = {0};
        http_date_write(line, rows[i].unix_s);
        assert_string_equal(line, rows[i].line);
    }
    /* Every day of 400 years against the C library. */
    for (int64_t day = 0; day < 146097; day++) {
        char line[HTTP_DATE_BYTES + 1] = {0}, other[64];
        time_t second = (time_t)(day * 86400 + day % 86400);
        struct tm tm;
        http_date_write(line, second);
        strftime(other, sizeof other, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n",
                 gmtime_r(&second, &tm));
        assert_string_equal(line, other);
    }
}

static void writes_heads(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct http_head head;
        const char *body, *text;
    } rows[] = {
        {"a decision",
         {.status = 200, .content_type = "application/json"},
         "{}",
         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length:          "
         "2\r\n\r\n{}"},
        {"everything",
         {.status = 405, .content_type = "text/plain", .close = true, .extra = "Allow: GET\r\n"},
         "no, never",
         "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain\r\nAllow: GET\r\n"
         "Connection: close\r\nContent-Length:          9\r\n\r\nno, never"},
        {"what all answers have, and this one",
         {.status = 204, .fields = "A: b\r\nC: d\r\n", .extra = "Allow: POST\r\n"},
         "",
         "HTTP/1.1 204 No Content\r\nA: b\r\nC: d\r\nAllow: POST\r\n\r\n"},
        {"HTTP/1.0",
         {.status = 200, .content_type = "a/b", .keep_alive_1_0 = true},
         "0123456789",
         "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nConnection: keep-alive\r\n"
         "Content-Length:         10\r\n\r\n0123456789"},
        {"close goes before keep-alive",
         {.status = 503, .close = true, .keep_alive_1_0 = true},
         "",
         "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
         "Content-Length:          0\r\n\r\n"},
        {"a status without a name",
         {.status = 299},
         "",
         "HTTP/1.1 299 \r\nContent-Length:          0\r\n\r\n"},
        {"dated",
         {.status = 200, .content_type = "a/b", .date = DATE},
         "",
         "HTTP/1.1 200 OK\r\n" DATE "Content-Type: a/b\r\nContent-Length:          0\r\n\r\n"},
        {"204, dated",
         {.status = 204, .date = DATE},
         "",
         "HTTP/1.1 204 No Content\r\n" DATE "\r\n"},
        {"100 has no date", {.status = 100, .date = DATE}, "", "HTTP/1.1 100 Continue\r\n\r\n"},
        {"100", {.status = 100}, "", "HTTP/1.1 100 Continue\r\n\r\n"},
        {"204", {.status = 204}, "", "HTTP/1.1 204 No Content\r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char memory[512];
        struct buf b = buf_of(memory, sizeof memory);
        buf_lit(&b, "before"); /* the answer before it, pipelined */
        size_t mark = http_head_begin(&b, &rows[i].head);
        buf_span(&b, span_of(rows[i].body));
        http_head_end(&b, mark);
        assert_false(b.full);
        if (!span_is((struct span){memory + 6, b.len - 6}, rows[i].text))
            print_error("%s: %.*s\n", rows[i].name, (int)b.len, memory);
        assert_true(span_is((struct span){memory + 6, b.len - 6}, rows[i].text));
        assert_memory_equal(memory, "before", 6);
    }
}

/* Cut anywhere: nothing outside the buf is touched, and it says so. */
static void writes_nothing_past_a_full_buf(void **state)
{
    (void)state;
    struct http_head head = {.status = 200, .content_type = "application/json", .close = true};
    struct err e;
    err_set(&e, ERR_FIELD_TYPE, "text");
    char whole[512];
    struct buf b = buf_of(whole, sizeof whole);
    http_write_problem(&b, &e, &head, false);
    assert_false(b.full);
    for (size_t cap = 0; cap <= b.len; cap++) {
        char *memory = malloc(cap ? cap : 1);
        struct buf small = buf_of(memory, cap);
        size_t mark = http_head_begin(&small, &head);
        buf_lit(&small, "body");
        http_head_end(&small, mark);
        small = buf_of(memory, cap);
        http_write_problem(&small, &e, &head, false);
        assert_int_equal(small.full, cap < b.len);
        free(memory);
    }
}

static void counts_long_bodies(void **state)
{
    (void)state;
    size_t cap = 2 * 1024 * 1024;
    char *memory = malloc(cap), *length;
    struct buf b = buf_of(memory, cap);
    size_t mark = http_head_begin(&b, &(struct http_head){.status = 200});
    char *body = buf_take(&b, 1234567);
    assert_non_null(body);
    memset(body, 'x', 1234567);
    http_head_end(&b, mark);
    assert_int_equal(strtoull(memory + mark, &length, 10), 1234567);
    assert_memory_equal(length, "\r\n\r\nx", 5);
    free(memory);
}

static void names_every_status_it_answers(void **state)
{
    (void)state;
    for (int code = ERR_OK; code < ERR_COUNT; code++) {
        int status = err_status((enum err_code)code);
        if (status && http_reason(status)[0] == '\0') fail_msg("%d has no reason phrase", status);
    }
    /* As RFC 9110 and RFC 6585 have them. */
    static const struct {
        int status;
        const char *reason;
    } rows[] = {
        {100, "Continue"},
        {200, "OK"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
    };
    size_t next = 0;
    for (int status = 0; status < 600; status++) {
        bool named = next < sizeof rows / sizeof *rows && rows[next].status == status;
        assert_string_equal(http_reason(status), named ? rows[next].reason : "");
        next += named;
    }
}

#define TYPE "{\"type\":\"about:blank\",\"title\":"

static void writes_problems(void **state)
{
    (void)state;
    static const struct {
        struct err e;
        const char *text;
    } rows[] = {
        {{ERR_FIELD_TYPE, .pointer = "/session/tier", .text = "tier must be a \"string\""},
         TYPE "\"A field has the wrong type\",\"status\":400,\"code\":\"field_type\","
              "\"detail\":\"tier must be a \\\"string\\\"\",\"pointer\":\"/session/tier\"}"},
        {{ERR_JSON_SYNTAX, .offset = 17, .text = "expected a value"},
         TYPE "\"The body is not valid JSON\",\"status\":400,\"code\":\"json_syntax\","
              "\"detail\":\"expected a value\",\"offset\":17}"},
        {{ERR_HTTP_SYNTAX, .text = "TLS"},
         TYPE "\"The request is not valid HTTP/1.1\",\"status\":400,\"code\":\"http_syntax\","
              "\"detail\":\"TLS\",\"offset\":0}"},
        {{ERR_UNKNOWN_PATH, .offset = 17},
         TYPE "\"There is nothing at this path\",\"status\":404,\"code\":\"unknown_path\"}"},
        {{ERR_PLAN_INVALID, .line = 3, .column = 14, .text = "a"},
         TYPE "\"The plan has errors\",\"status\":422,\"code\":\"plan_invalid\",\"detail\":\"a\","
              "\"line\":3,\"column\":14}"},
        {{ERR_FIELD_RANGE, .pointer = "/\x7f", .text = "no `\xe2\x80\xae\xc2\x85\x1b`"},
         TYPE "\"A field is out of range\",\"status\":400,\"code\":\"field_range\","
              "\"detail\":\"no `\\u202e\\u0085\\u001b`\",\"pointer\":\"/\\u007f\"}"},
        {{ERR_LIMIT, .text = "a"},
         TYPE "\"A limit was reached\",\"status\":500,\"code\":\"limit\",\"detail\":\"a\"}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char memory[512];
        struct buf b = buf_of(memory, sizeof memory - 1);
        http_write_problem_body(&b, &rows[i].e);
        memory[b.len] = '\0';
        assert_string_equal(memory, rows[i].text);
    }
    /* An offset is told of what is read byte by byte, and of nothing else. */
    for (int code = ERR_OK + 1; code < ERR_COUNT; code++) {
        char memory[512];
        struct buf b = buf_of(memory, sizeof memory - 1);
        http_write_problem_body(&b, &(struct err){(enum err_code)code, .offset = 17});
        memory[b.len] = '\0';
        bool told = code == ERR_JSON_SYNTAX || code == ERR_JSON_DEPTH ||
                    code == ERR_JSON_DUPLICATE_KEY || code == ERR_HTTP_SYNTAX;
        assert_int_equal(strstr(memory, ",\"offset\":17}") != NULL, told);
    }
}

static void answers_with_problems(void **state)
{
    (void)state;
    struct err e;
    err_set(&e, ERR_METHOD, "use POST");
    struct http_head head = {.status = 200, .content_type = "a/b", .extra = "Allow: POST\r\n"};
    static const char text[] =
        "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: application/problem+json\r\n"
        "Allow: POST\r\nContent-Length:        125\r\n\r\n" TYPE
        "\"This path takes another method\",\"status\":405,\"code\":\"method_not_allowed\","
        "\"detail\":\"use POST\"}\n";
    for (int head_only = 0; head_only <= 1; head_only++) {
        char memory[512];
        struct buf b = buf_of(memory, sizeof memory - 1);
        http_write_problem(&b, &e, &head, head_only);
        memory[b.len] = '\0';
        const char *body = strstr(text, "\r\n\r\n") + 4;
        assert_int_equal(b.len, head_only ? (size_t)(body - text) : sizeof text - 1);
        assert_memory_equal(memory, text, b.len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_dates),
        cmocka_unit_test(writes_heads),
        cmocka_unit_test(writes_nothing_past_a_full_buf),
        cmocka_unit_test(counts_long_bodies),
        cmocka_unit_test(names_every_status_it_answers),
        cmocka_unit_test(writes_problems),
        cmocka_unit_test(answers_with_problems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
