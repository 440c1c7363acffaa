/* Each row is what came in on a connection and what must be told about it, as one line of text; and
 * each is told again with the bytes split at every place, and byte by byte. */
#include "base/buf.h"
#include "wire/http_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct row {
    const char *name;
    const char *bytes;
    size_t len;
    const char *told;
};

#define ROW(name, bytes, told)               \
    {                                        \
        name, bytes, sizeof(bytes) - 1, told \
    }

static void tell_head(struct buf *b, const struct http_reader *r, const char *buf)
{
    static const char *const contents[] = {"", " json", " other"};
    static const char *const methods[] = {"GET", "HEAD", "POST", "OPTIONS", "OTHER"};
    buf_char(b, ' ');
    struct span method = http_text(buf, r->method_text);
    if (!span_is(method, methods[r->method])) buf_format(b, "%s:", methods[r->method]);
    buf_span(b, method);
    buf_char(b, ' ');
    buf_span(b, http_text(buf, r->path));
    buf_lit(b, " host=");
    buf_span(b, http_text(buf, r->host));
    if (r->http_1_0) buf_lit(b, " 1.0");
    buf_format(b, "%s%s", r->keep_alive ? " keep" : " close", contents[r->content]);
    if (r->origin.len) buf_lit(b, " origin=");
    buf_span(b, http_text(buf, r->origin));
    if (r->authorization.len) buf_lit(b, " auth=");
    buf_span(b, http_text(buf, r->authorization));
    if (r->expect_continue) buf_lit(b, " expect");
    if (r->encoded) buf_lit(b, " encoded");
    if (r->accept_openmetrics) buf_lit(b, " openmetrics");
    if (r->chunked) buf_lit(b, " chunked");
    if (r->has_length) buf_format(b, " length=%llu", (unsigned long long)r->content_length);
}

/* Reads on as far as it goes. Returns false when the connection is over. */
static bool tell(struct buf *b, struct http_reader *r, char *buf, size_t *len)
{
    for (;;) {
        enum http_result result = http_read(r, buf, *len);
        if (result == HTTP_MORE) return true;
        if (result == HTTP_HEAD_READ) {
            tell_head(b, r, buf);
            continue;
        }
        assert_int_equal(http_read(r, buf, *len), result);
        if (result == HTTP_FAILED) {
            assert_true(r->error_at <= *len);
            assert_non_null(r->error_text);
            buf_format(b, " %s@%u", err_name(r->error), r->error_at);
            return false;
        }
        assert_true(r->consumed <= *len && r->body.at + r->body.len <= r->consumed);
        buf_lit(b, " body=");
        buf_span(b, http_text(buf, r->body));
        buf_lit(b, " |");
        *len -= r->consumed;
        memmove(buf, buf + r->consumed, *len);
        http_reader_init(r);
    }
}

/* What is told when the bytes come in pieces: one of `first` bytes, then ones of `step`. Every
 * piece moves to memory that ends where the bytes end. */
static struct buf told_of(const char *bytes, size_t len, size_t first, size_t step, char *memory,
                          size_t size)
{
    struct buf b = buf_of(memory, size);
    struct http_reader r;
    http_reader_init(&r);
    char *buf = NULL;
    size_t have = 0, from = 0;
    bool open = true;
    for (size_t piece = first; open && from <= len; piece = step) {
        if (piece > len - from) piece = len - from;
        char *moved = malloc(have + piece + (have + piece == 0));
        if (have) memcpy(moved, buf, have);
        memcpy(moved + have, bytes + from, piece);
        free(buf);
        buf = moved;
        have += piece;
        from += piece;
        open = tell(&b, &r, buf, &have);
        if (from == len) break;
    }
    if (open) buf_lit(&b, " more");
    if (open && http_reader_idle(&r)) buf_lit(&b, "(idle)");
    buf_char(&b, '\0');
    free(buf);
    assert_false(b.full);
    return b;
}

static void check(const struct row *row)
{
    static char whole[200 * 1024], split[200 * 1024];
    struct buf told = told_of(row->bytes, row->len, row->len, 1, whole, sizeof whole);
    const char *text = told.data;
    while (*text == ' ') text++;
    if (strcmp(text, row->told) != 0) print_error("%s:\n", row->name);
    assert_string_equal(text, row->told);
    for (size_t at = 0; at <= row->len; at++) {
        /* Long rows: near their ends and at some places between. */
        if (row->len > 2000 && at > 40 && at + 40 < row->len && at % 1009) continue;
        struct buf again = told_of(row->bytes, row->len, at, row->len, split, sizeof split);
        if (strcmp(told.data, again.data) != 0) print_error("%s, split at %zu:\n", row->name, at);
        assert_string_equal(again.data, told.data);
    }
    size_t step = row->len > 2000 ? 97 : 1;
    struct buf again = told_of(row->bytes, row->len, step, step, split, sizeof split);
    assert_string_equal(again.data, told.data);
}

static void check_all(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) check(&rows[i]);
}

#define CHECK_ALL(rows) check_all(rows, sizeof(rows) / sizeof(rows)[0])

#define H "Host: a\r\n"
#define GET "GET / HTTP/1.1\r\n" H
#define POST "POST / HTTP/1.1\r\n" H
#define CHUNKS POST "Transfer-Encoding: chunked\r\n\r\n"

static void reads_requests(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("nothing", "", "more(idle)"),
        ROW("the usual",
            "POST /v1/decide HTTP/1.1\r\nHost: 127.0.0.1:7070\r\nUser-Agent: x/1\r\nAccept: */*\r\n"
            "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
            "POST /v1/decide host=127.0.0.1:7070 keep json length=2 body={} | more(idle)"),
        ROW("no body", GET "\r\n", "GET / host=a keep body= | more(idle)"),
        ROW("body to come", POST "Content-Length: 3\r\n\r\nab", "POST / host=a keep length=3 more"),
        ROW("a GET with a body", GET "Content-Length: 1\r\n\r\nx",
            "GET / host=a keep length=1 body=x | more(idle)"),
        ROW("an empty body", POST "Content-Length: 0\r\n\r\n",
            "POST / host=a keep length=0 body= | more(idle)"),
        ROW("HEAD", "HEAD /x HTTP/1.1\r\n" H "\r\n", "HEAD /x host=a keep body= | more(idle)"),
        ROW("another method", "DELETE /x HTTP/1.1\r\n" H "\r\n",
            "OTHER:DELETE /x host=a keep body= | more(idle)"),
        ROW("methods have case", "get /x HTTP/1.1\r\n" H "\r\n",
            "OTHER:get /x host=a keep body= | more(idle)"),
        ROW("a method of token bytes", "!#$%&'*+-.^_`|~9 / HTTP/1.1\r\n" H "\r\n",
            "OTHER:!#$%&'*+-.^_`|~9 / host=a keep body= | more(idle)"),
        ROW("OPTIONS *", "OPTIONS * HTTP/1.1\r\n" H "\r\n",
            "OPTIONS * host=a keep body= | more(idle)"),
        ROW("HTTP/1.2 is read as HTTP/1.1",
            "POST / HTTP/1.2\r\n" H "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            "POST / host=a keep chunked body=x | more(idle)"),
        ROW("HTTP/1.9", "GET / HTTP/1.9\r\n" H "\r\n", "GET / host=a keep body= | more(idle)"),
        ROW("pipelined", GET "\r\n" POST "Content-Length: 1\r\n\r\nx" CHUNKS "1\r\ny\r\n0\r\n\r\nG",
            "GET / host=a keep body= | POST / host=a keep length=1 body=x | "
            "POST / host=a keep chunked body=y | more"),
        ROW("an empty line before", "\r\n" GET "\r\n", "GET / host=a keep body= | more(idle)"),
        ROW("an empty line between", GET "\r\n\r\n" GET "\r\n\r",
            "GET / host=a keep body= | GET / host=a keep body= | more(idle)"),
        ROW("a query", "GET /a/b?c=/d?e HTTP/1.1\r\n" H "\r\n",
            "GET /a/b host=a keep body= | more(idle)"),
        ROW("nothing but a query", "GET /? HTTP/1.1\r\n" H "\r\n",
            "GET / host=a keep body= | more(idle)"),
        ROW("absolute-form", "GET http://b:80/p?q HTTP/1.1\r\n" H "\r\n",
            "GET /p host=b:80 keep body= | more(idle)"),
        ROW("absolute-form, no path", "GET HTTP://b HTTP/1.1\r\n" H "\r\n",
            "GET / host=b keep body= | more(idle)"),
        ROW("absolute-form, only a query", "GET http://b?q/r HTTP/1.1\r\n" H "\r\n",
            "GET / host=b keep body= | more(idle)"),
    };
    CHECK_ALL(rows);
}

static void reads_fields(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("names in any case", "GET / HTTP/1.1\r\nhOsT:a\r\ncontent-LENGTH:1\r\n\r\nx",
            "GET / host=a keep length=1 body=x | more(idle)"),
        ROW("blanks around a value", "GET / HTTP/1.1\r\nHost: \t a\t \r\n\r\n",
            "GET / host=a keep body= | more(idle)"),
        ROW("a value of all sorts", GET "X:\t!\x80\xff ~\r\nY:\r\nZ: \t \r\n\r\n",
            "GET / host=a keep body= | more(idle)"),
        ROW("names that nearly are", GET "Hosts: b\r\nHos: c\r\nContent_Length: 9\r\n\r\n",
            "GET / host=a keep body= | more(idle)"),
        ROW("the rest",
            GET "Origin: http://o\r\nAuthorization: Bearer t k\r\nExpect: 100-Continue\r\n\r\n",
            "GET / host=a keep origin=http://o auth=Bearer t k expect body= | more(idle)"),
        ROW("close", GET "Connection: close\r\n\r\n", "GET / host=a close body= | more(idle)"),
        ROW("close in a list", GET "Connection: x , CLOSE\r\n\r\n",
            "GET / host=a close body= | more(idle)"),
        ROW("close wins", GET "Connection: close\r\nConnection: keep-alive\r\n\r\n",
            "GET / host=a close body= | more(idle)"),
        ROW("not close", GET "Connection: closed, \"close, x\", ,\r\n\r\n",
            "GET / host=a keep body= | more(idle)"),
        ROW("HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", "GET / host= 1.0 close body= | more(idle)"),
        ROW("HTTP/1.0 keep-alive",
            "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nExpect: 100-continue\r\n\r\n",
            "GET / host= 1.0 keep body= | more(idle)"),
        ROW("HTTP/1.0 and close", "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
            "GET / host= 1.0 close body= | more(idle)"),
        ROW("JSON with parameters", GET "Content-Type: Application/JSON ; charset=utf-8\r\n\r\n",
            "GET / host=a keep json body= | more(idle)"),
        ROW("not JSON", GET "Content-Type: application/jsonx\r\n\r\n",
            "GET / host=a keep other body= | more(idle)"),
        ROW("not JSON either", GET "Content-Type: text/plain; x=application/json\r\n\r\n",
            "GET / host=a keep other body= | more(idle)"),
        ROW("an empty type", GET "Content-Type:\r\n\r\n",
            "GET / host=a keep other body= | more(idle)"),
        ROW("what Prometheus accepts",
            GET "Accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3\r\n\r\n",
            "GET / host=a keep openmetrics body= | more(idle)"),
        ROW("accepted later", GET "Accept: */*\r\nACCEPT: a, Application/OpenMetrics-Text\r\n\r\n",
            "GET / host=a keep openmetrics body= | more(idle)"),
        ROW("accepted not at all", GET "Accept: application/openmetrics-text; Q=0.000, */*\r\n\r\n",
            "GET / host=a keep body= | more(idle)"),
        ROW("accepted a little", GET "Accept: application/openmetrics-text; x=1; q=0.001\r\n\r\n",
            "GET / host=a keep openmetrics body= | more(idle)"),
        ROW("liked less than text",
            GET "Accept: application/openmetrics-text;q=0.1, text/plain;q=0.9\r\n\r\n",
            "GET / host=a keep body= | more(idle)"),
        ROW("liked less than anything",
            GET "Accept: application/openmetrics-text;q=0.25, */*;q=0.251\r\n\r\n",
            "GET / host=a keep body= | more(idle)"),
        ROW("liked as much as anything, and more than text",
            GET "Accept: */*, text/plain;q=0.5, application/openmetrics-text\r\n\r\n",
            "GET / host=a keep openmetrics body= | more(idle)"),
        ROW("another version",
            GET "Accept: application/openmetrics-text; version=0.0.1,text/plain;q=0.5\r\n\r\n",
            "GET / host=a keep body= | more(idle)"),
        ROW("one version of two",
            GET "Accept: application/openmetrics-text;version=\"1.0.0\";escaping=x;q=0.6,"
                "application/openmetrics-text;version=0.0.1;q=0.7,text/plain;q=0.4\r\n\r\n",
            "GET / host=a keep openmetrics body= | more(idle)"),
        ROW("between quotes", GET "Accept: a;b=\"x, application/openmetrics-text, y\"\r\n\r\n",
            "GET / host=a keep body= | more(idle)"),
        ROW("after an escaped quote",
            GET "Accept: a;b=\"\\\", application/openmetrics-text\"\r\n\r\n",
            "GET / host=a keep body= | more(idle)"),
        ROW("in a name", GET "Accept: application/openmetrics-texts\r\n\r\n",
            "GET / host=a keep body= | more(idle)"),
        ROW("a length with zeros before", GET "Content-Length: 00000000000000000000001\r\n\r\nx",
            "GET / host=a keep length=1 body=x | more(idle)"),
        ROW("IPv6", "GET / HTTP/1.1\r\nHost: [::1]:7070\r\n\r\n",
            "GET / host=[::1]:7070 keep body= | more(idle)"),
        ROW("an empty port", "GET / HTTP/1.1\r\nHost: a.b-c_d:\r\n\r\n",
            "GET / host=a.b-c_d: keep body= | more(idle)"),
        ROW("the last port", "GET / HTTP/1.1\r\nHost: a:65535\r\n\r\n",
            "GET / host=a:65535 keep body= | more(idle)"),
    };
    CHECK_ALL(rows);
}

static void refuses_request_lines(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("TLS", "\x16\x03\x01\x02", "http_syntax@0"),
        ROW("TLS after an empty line", "\r\n\x16\x03", "http_syntax@2"),
        ROW("the HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http_syntax@0"),
        ROW("two empty lines", "\r\n\r\n" GET "\r\n", "http_syntax@2"),
        ROW("a bare LF before", "\n" GET "\r\n", "http_syntax@0"),
        ROW("a bare CR before", "\r" GET "\r\n", "http_syntax@1"),
        ROW("a space before", " " GET "\r\n", "http_syntax@0"),
        ROW("a NUL before", "\0" GET "\r\n", "http_syntax@0"),
        ROW("a method that is no token", "G(T / HTTP/1.1\r\n" H "\r\n", "http_syntax@1"),
        ROW("a tab after the method", "GET\t/ HTTP/1.1\r\n" H "\r\n", "http_syntax@3"),
        ROW("only a method", "GET\r\n", "http_syntax@3"),
        ROW("two spaces", "GET  / HTTP/1.1\r\n" H "\r\n", "http_syntax@4"),
        ROW("two spaces before the version", "GET /  HTTP/1.1\r\n" H "\r\n", "http_syntax@6"),
        ROW("HTTP/0.9", "GET /\r\n", "http_syntax@5"),
        ROW("CONNECT", "CONNECT a:80 HTTP/1.1\r\n" H "\r\n", "not_implemented@0"),
        ROW("* for GET", "GET * HTTP/1.1\r\n" H "\r\n", "http_syntax@4"),
        ROW("* and more", "OPTIONS */ HTTP/1.1\r\n" H "\r\n", "http_syntax@8"),
        ROW("authority-form", "GET a:80 HTTP/1.1\r\n" H "\r\n", "http_syntax@4"),
        ROW("for a port with TLS", "GET https://a/ HTTP/1.1\r\n" H "\r\n", "misdirected_request@4"),
        ROW("in capitals", "GET HTTPS://a HTTP/1.1\r\n" H "\r\n", "misdirected_request@4"),
        ROW("OPTIONS without a target", "OPTIONS  HTTP/1.1\r\n" H "\r\n", "http_syntax@8"),
        ROW("another scheme", "GET ftp://a/ HTTP/1.1\r\n" H "\r\n", "http_syntax@4"),
        ROW("one slash", "GET http:/a/ HTTP/1.1\r\n" H "\r\n", "http_syntax@4"),
        ROW("no authority", "GET http:///a HTTP/1.1\r\n" H "\r\n", "http_syntax@11"),
        ROW("a user", "GET http://u@a/ HTTP/1.1\r\n" H "\r\n", "http_syntax@11"),
        ROW("a fragment", "GET /#f HTTP/1.1\r\n" H "\r\n", "http_syntax@5"),
        ROW("a quote", "GET /\" HTTP/1.1\r\n" H "\r\n", "http_syntax@5"),
        ROW("a byte over 127", "GET /\xc3\xa4 HTTP/1.1\r\n" H "\r\n", "http_syntax@5"),
        ROW("a NUL in the target", "GET /\0 HTTP/1.1\r\n" H "\r\n", "http_syntax@5"),
        ROW("a CR in the target", "GET /\r HTTP/1.1\r\n" H "\r\n", "http_syntax@5"),
        ROW("a LF after the version", "GET / HTTP/1.1\n" H "\r\n", "http_syntax@14"),
        ROW("a CR after the version", "GET / HTTP/1.1\r" H "\r\n", "http_syntax@15"),
        ROW("a space after the version", "GET / HTTP/1.1 \r\n" H "\r\n", "http_syntax@14"),
        ROW("HTTP/2.0", "GET / HTTP/2.0\r\n" H "\r\n", "http_syntax@11"),
        ROW("HTTP/1.x", "GET / HTTP/1.x\r\n" H "\r\n", "http_syntax@13"),
        ROW("HTTP/1.2 has a Host too", "GET / HTTP/1.2\r\n\r\n", "http_syntax@17"),
        ROW("HTTP/1.10", "GET / HTTP/1.10\r\n" H "\r\n", "http_syntax@14"),
        ROW("HTTP/01.1", "GET / HTTP/01.1\r\n" H "\r\n", "http_syntax@11"),
        ROW("http/1.1", "GET / http/1.1\r\n" H "\r\n", "http_syntax@6"),
    };
    CHECK_ALL(rows);
}

/* These were all told that a carriage return may not stand there, which is where they go on. */
static void says_what_a_line_lacks(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *says;
    } rows[] = {
        {"BAD\r\n\r\n", "this line has no target and no version: a request line is METHOD"},
        {"GET \r\n\r\n", "this line has no target and no version"},
        {"GET /\r\n", "this line has no version: a request line is METHOD, TARGET and HTTP/1.1"},
        {"GET / \r\n", "this line has no version"},
        {"\r\n\r\n" GET "\r\n", "only one empty line may stand before a request"},
        {GET "Nonsense\r\n\r\n", "this line has no colon: a field is NAME: VALUE"},
        {GET "X\n", "a line must end in CRLF, not in a bare line feed"},
        {GET "X: a\rb", "a carriage return must be followed by a line feed"},
        {GET " X: a\r\n", "a line may not begin with white space"},
        {GET "X : a\r\n", "white space may not stand before a colon"},
        {GET "Host: b\r\n", "this field may stand only once"},
        {POST "Content-Type: a/b\r\nContent-Type: a/b\r\n", "this field may stand only once"},
        {POST "Content-Length: 1\r\nContent-Length: 1\r\n", "this field may stand only once"},
        {POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
         "Content-Length and Transfer-Encoding may not stand together"},
        {POST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
         "Content-Length and Transfer-Encoding may not stand together"},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n", "HTTP/1.0 has no Transfer-Encoding"},
        {POST "Transfer-Encoding: chunked\r\n\r\n0\r\nHost: a\r\n",
         "this field may not stand in a trailer"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char bytes[256];
        size_t len = strlen(rows[i].bytes);
        struct http_reader r;
        memcpy(bytes, rows[i].bytes, len);
        http_reader_init(&r);
        enum http_result result = http_read(&r, bytes, len);
        if (result == HTTP_HEAD_READ) result = http_read(&r, bytes, len);
        if (result != HTTP_FAILED) fail_msg("%s: %d", rows[i].bytes, result);
        if (!strstr(r.error_text, rows[i].says)) fail_msg("%s: %s", rows[i].bytes, r.error_text);
    }
}

static void reads_content_encodings(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("none in it", POST "Content-Encoding: \r\n\r\n",
            "POST / host=a keep body= | more(idle)"),
        ROW("identity", POST "content-encoding: Identity, identity\r\n\r\n",
            "POST / host=a keep body= | more(idle)"),
        ROW("gzip", POST "Content-Encoding: gzip\r\n\r\n",
            "POST / host=a keep encoded body= | more(idle)"),
        ROW("one of two", POST "Content-Encoding: identity, br\r\n\r\n",
            "POST / host=a keep encoded body= | more(idle)"),
        ROW("one of two fields", POST "Content-Encoding: br\r\nContent-Encoding: identity\r\n\r\n",
            "POST / host=a keep encoded body= | more(idle)"),
        ROW("in a trailer", CHUNKS "0\r\nContent-Encoding: gzip\r\n\r\n",
            "POST / host=a keep chunked http_syntax@59"),
    };
    CHECK_ALL(rows);
}

/* GET is 25 bytes, POST 26. */
static void refuses_fields(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("no Host", "GET / HTTP/1.1\r\n\r\n", "http_syntax@17"),
        ROW("no Host, absolute-form", "GET http://a/ HTTP/1.1\r\n\r\n", "http_syntax@25"),
        ROW("two Hosts", GET "host: a\r\n\r\n", "http_syntax@25"),
        ROW("two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\n" H H "\r\n", "http_syntax@25"),
        ROW("an empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "http_syntax@21"),
        ROW("a Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "http_syntax@22"),
        ROW("a Host with a user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", "http_syntax@22"),
        ROW("a Host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "http_syntax@22"),
        ROW("a Host with a percent", "GET / HTTP/1.1\r\nHost: a%2e\r\n\r\n", "http_syntax@22"),
        ROW("a port of letters", "GET / HTTP/1.1\r\nHost: a:http\r\n\r\n", "http_syntax@22"),
        ROW("a port too high", "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", "http_syntax@22"),
        ROW("a port too long", "GET / HTTP/1.1\r\nHost: a:000080\r\n\r\n", "http_syntax@22"),
        ROW("only a port", "GET / HTTP/1.1\r\nHost: :80\r\n\r\n", "http_syntax@22"),
        ROW("no IPv6", "GET / HTTP/1.1\r\nHost: [::g]\r\n\r\n", "http_syntax@22"),
        ROW("IPv6 left open", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", "http_syntax@22"),
        ROW("IPv6 and more", "GET / HTTP/1.1\r\nHost: [::1]a\r\n\r\n", "http_syntax@22"),
        ROW("empty IPv6", "GET / HTTP/1.1\r\nHost: []\r\n\r\n", "http_syntax@22"),
        ROW("a very long IPv6",
            "GET / HTTP/1.1\r\nHost: [00000000000000000000000000000000000000000000000::1]\r\n\r\n",
            "http_syntax@22"),
        ROW("a space before the colon", GET "X : y\r\n\r\n", "http_syntax@26"),
        ROW("a tab before the colon", GET "X\t: y\r\n\r\n", "http_syntax@26"),
        ROW("no name", GET ": y\r\n\r\n", "http_syntax@25"),
        ROW("no colon", GET "X\r\n\r\n", "http_syntax@26"),
        ROW("a name that is no token", GET "X(: y\r\n\r\n", "http_syntax@26"),
        ROW("a byte over 127 in a name", GET "X\xe4: y\r\n\r\n", "http_syntax@26"),
        ROW("a NUL in a name", GET "X\0: y\r\n\r\n", "http_syntax@26"),
        ROW("obs-fold", GET "X: y\r\n z\r\n\r\n", "http_syntax@31"),
        ROW("obs-fold with a tab", GET "X: y\r\n\tz\r\n\r\n", "http_syntax@31"),
        ROW("a space before all fields", "GET / HTTP/1.1\r\n " H "\r\n", "http_syntax@16"),
        ROW("a NUL in a value", GET "X: y\0z\r\n\r\n", "http_syntax@29"),
        ROW("a bell far in a value", GET "X: 0123456789abcdef\a\r\n\r\n", "http_syntax@44"),
        ROW("DEL in a value",
            GET "X: 0123456\x7f"
                "89\r\n\r\n",
            "http_syntax@35"),
        ROW("a bare LF after a value", GET "X: y\n\r\n", "http_syntax@29"),
        ROW("a bare CR in a value", GET "X: y\rz\r\n\r\n", "http_syntax@30"),
        ROW("two CRs", GET "X: y\r\r\n\r\n", "http_syntax@30"),
        ROW("a bare LF at the end", GET "\n", "http_syntax@25"),
        ROW("a bare CR at the end", GET "\rX", "http_syntax@26"),
        ROW("another expectation", GET "Expect: 200-ok\r\n\r\n", "expectation_failed@33"),
        ROW("two types", GET "Content-Type: a/b\r\nContent-Type: a/b\r\n\r\n", "http_syntax@44"),
        ROW("two origins", GET "Origin: a\r\nOrigin: a\r\n\r\n", "http_syntax@36"),
        ROW("two authorizations", GET "Authorization: a\r\nAuthorization: a\r\n\r\n",
            "http_syntax@43"),
    };
    CHECK_ALL(rows);
}

static void refuses_unclear_framing(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("two lengths", POST "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
            "http_syntax@45"),
        ROW("two equal lengths", POST "Content-Length: 1\r\ncontent-length: 1\r\n\r\nx",
            "http_syntax@45"),
        ROW("a list of lengths", POST "Content-Length: 1, 1\r\n\r\nx", "http_syntax@42"),
        ROW("a length with chunks",
            POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "http_syntax@45"),
        ROW("chunks with a length", POST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
            "http_syntax@54"),
        ROW("+5", POST "Content-Length: +5\r\n\r\n", "http_syntax@42"),
        ROW("-0", POST "Content-Length: -0\r\n\r\n", "http_syntax@42"),
        ROW("0x5", POST "Content-Length: 0x5\r\n\r\n", "http_syntax@42"),
        ROW("5_0", POST "Content-Length: 5_0\r\n\r\n", "http_syntax@42"),
        ROW("5 0", POST "Content-Length: 5 0\r\n\r\n", "http_syntax@42"),
        ROW("5.0", POST "Content-Length: 5.0\r\n\r\n", "http_syntax@42"),
        ROW("no length in it", POST "Content-Length:\r\n\r\n", "http_syntax@41"),
        ROW("2^64", POST "Content-Length: 18446744073709551616\r\n\r\n", "http_syntax@42"),
        ROW("10 x 2^64 / 10", POST "Content-Length: 18446744073709551620\r\n\r\n",
            "http_syntax@42"),
        ROW("2^64 - 1", POST "Content-Length: 18446744073709551615\r\n\r\n",
            "POST / host=a keep length=18446744073709551615 body_too_large@66"),
        ROW("one byte too many", POST "Content-Length: 65537\r\n\r\n",
            "POST / host=a keep length=65537 body_too_large@51"),
        ROW("as much as may be", POST "Content-Length: 65536\r\n\r\n",
            "POST / host=a keep length=65536 more"),
        ROW("chunks twice", POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            "http_syntax@54"),
        ROW("chunks twice in a list", POST "Transfer-Encoding: chunked, chunked\r\n\r\n",
            "http_syntax@45"),
        ROW("gzip and chunks", POST "Transfer-Encoding: gzip, chunked\r\n\r\n", "http_syntax@45"),
        ROW("chunks and a comma", POST "Transfer-Encoding: chunked,\r\n\r\n", "http_syntax@45"),
        ROW("chunks with a parameter", POST "Transfer-Encoding: chunked;q=1\r\n\r\n",
            "http_syntax@45"),
        ROW("quoted chunks", POST "Transfer-Encoding: \"chunked\"\r\n\r\n", "http_syntax@45"),
        ROW("xchunked", POST "Transfer-Encoding: xchunked\r\n\r\n", "http_syntax@45"),
        ROW("identity", POST "Transfer-Encoding: identity\r\n\r\n", "http_syntax@45"),
        ROW("no coding in it", POST "Transfer-Encoding: \r\n\r\n", "http_syntax@45"),
        ROW("gzip", POST "Transfer-Encoding: gzip\r\n\r\n", "not_implemented@45"),
        ROW("deflate", POST "Transfer-Encoding: Deflate\r\n\r\n", "not_implemented@45"),
        ROW("chunks in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            "http_syntax@17"),
    };
    CHECK_ALL(rows);
}

#define CHUNKED "POST / host=a keep chunked "

/* CHUNKS is 56 bytes. */
static void reads_chunks(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("none", CHUNKS "0\r\n\r\n", CHUNKED "body= | more(idle)"),
        ROW("two", CHUNKS "5\r\nhello\r\n00000000000000a\r\n, \r\nworld!\r\n0\r\n\r\n",
            CHUNKED "body=hello, \r\nworld! | more(idle)"),
        ROW("coding in any case", POST "Transfer-encoding: CHUNKED\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            CHUNKED "body=x | more(idle)"),
        ROW("extensions", CHUNKS "1;a=b;c=\"d\te\"\r\nx\r\n0;z\r\n\r\n",
            CHUNKED "body=x | more(idle)"),
        ROW("trailers", CHUNKS "1\r\nx\r\n0\r\nDigest: y\r\nZ:\r\n\r\n" GET "\r\n",
            CHUNKED "body=x | GET / host=a keep body= | more(idle)"),
        ROW("16 digits", CHUNKS "0000000000000001\r\nx\r\n0000000000000000\r\n\r\n",
            CHUNKED "body=x | more(idle)"),
        ROW("cut in the trailers", CHUNKS "0\r\nX: y\r\n", CHUNKED "more"),
        ROW("as much as may be", CHUNKS "8000\r\n", CHUNKED "more"),
        ROW("too much", CHUNKS "10001\r\n", CHUNKED "body_too_large@56"),
        ROW("too much together", CHUNKS "1\r\nx\r\n10000\r\n", CHUNKED "body_too_large@62"),
        ROW("2^64 - 1", CHUNKS "1\r\nx\r\nffffffffffffffff\r\n", CHUNKED "body_too_large@62"),
        ROW("2^64 and more", CHUNKS "10000000000000001\r\nx", CHUNKED "http_syntax@72"),
        ROW("no size", CHUNKS "\r\n\r\n", CHUNKED "http_syntax@56"),
        ROW("only an extension", CHUNKS ";a\r\n\r\n", CHUNKED "http_syntax@56"),
        ROW("+1", CHUNKS "+1\r\nx\r\n", CHUNKED "http_syntax@56"),
        ROW("-1", CHUNKS "-1\r\nx\r\n", CHUNKED "http_syntax@56"),
        ROW("0x1", CHUNKS "0x1\r\nx\r\n", CHUNKED "http_syntax@57"),
        ROW("1_0", CHUNKS "1_0\r\nx\r\n", CHUNKED "http_syntax@57"),
        ROW("g", CHUNKS "g\r\nx\r\n", CHUNKED "http_syntax@56"),
        ROW("a space before", CHUNKS " 1\r\nx\r\n", CHUNKED "http_syntax@56"),
        ROW("a space after", CHUNKS "1 \r\nx\r\n", CHUNKED "http_syntax@58"),
        ROW("a bare LF after the size", CHUNKS "1\nx\r\n", CHUNKED "http_syntax@57"),
        ROW("a bare CR after the size", CHUNKS "1\rx\r\n", CHUNKED "http_syntax@58"),
        ROW("a bare LF in an extension", CHUNKS "1;a\nx\r\n", CHUNKED "http_syntax@59"),
        ROW("a bare CR in an extension", CHUNKS "1;a\rx\r\n", CHUNKED "http_syntax@60"),
        ROW("a NUL in an extension", CHUNKS "1;a\0\r\nx\r\n", CHUNKED "http_syntax@59"),
        ROW("longer than its size", CHUNKS "1\r\nxy\r\n", CHUNKED "http_syntax@60"),
        ROW("a bare LF after the data", CHUNKS "1\r\nx\n0\r\n\r\n", CHUNKED "http_syntax@60"),
        ROW("a bare CR after the data", CHUNKS "1\r\nx\r0\r\n\r\n", CHUNKED "http_syntax@61"),
        ROW("a length in a trailer", CHUNKS "0\r\nContent-Length: 1\r\n\r\n",
            CHUNKED "http_syntax@59"),
        ROW("chunks in a trailer", CHUNKS "0\r\nX: y\r\ntransfer-encoding: chunked\r\n\r\n",
            CHUNKED "http_syntax@65"),
        ROW("a Host in a trailer", CHUNKS "0\r\n" H "\r\n", CHUNKED "http_syntax@59"),
        ROW("a fold in a trailer", CHUNKS "0\r\nX: y\r\n z\r\n\r\n", CHUNKED "http_syntax@65"),
        ROW("a bare LF after the trailers", CHUNKS "0\r\n\n", CHUNKED "http_syntax@59"),
    };
    CHECK_ALL(rows);
}

/* RFC 9112, 7.1.1. CHUNKS and a digit are 57 bytes. */
static void reads_chunk_extensions(void **state)
{
    (void)state;
    static const char *const good[] = {
        ";a",           ";a=b",
        ";a;b=c;d",     ";!#$%&'*+-.^_`|~9",
        " ;a",          "\t ;a",
        "; a",          ";\t a",
        ";a =b",        ";a= b",
        ";a \t = \t b", ";a=\"\"",
        ";a=\"b\"",     ";a=\";\"",
        ";a=\"\\\"\"",  ";a=\"\\\\\"",
        ";a=\"\\z\"",   ";a=\"\t \x80\xff\"",
        ";a=\"b\";c",   ";a=\"b\" ;c",
        ";a ;b",        ";a=b ;c",
        ";a=\"0\\\t\"",
    };
    static const struct {
        const char *extension;
        uint32_t at; /* of the first byte that is wrong, from the extension's start */
    } bad[] = {
        {";", 1},           {";;a", 1},       {";a;", 3},
        {";=x", 1},         {";a=", 3},       {";a=;b", 3},
        {";a==b", 3},       {";a=b=c", 4},    {";a b", 3},
        {";a=b c", 5},      {" ", 1},         {" a", 1},
        {";a ", 3},         {";a=b ", 5},     {";a=\"b\" ", 7},
        {";a=\"b", 5},      {";a=\"b\\", 6},  {";a=\"b\\\"", 7},
        {";a=\"b\"c", 6},   {";a=b\"c\"", 4}, {";a='b c'", 6},
        {";a(", 2},         {";\"a\"", 1},    {";a=\xc3", 3},
        {";a=\"\x7f\"", 4}, {"=x", 0},        {";a=\"\\\x01\"", 5},
        {";a,b", 2},        {";a=\"\x1f", 4},
    };
    char bytes[256], told[128];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int len =
            snprintf(bytes, sizeof bytes, "%s1%s\r\nx\r\n0%s\r\n\r\n", CHUNKS, good[i], good[i]);
        check(&(struct row){good[i], bytes, (size_t)len, CHUNKED "body=x | more(idle)"});
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int len =
            snprintf(bytes, sizeof bytes, "%s1%s\r\nx\r\n0\r\n\r\n", CHUNKS, bad[i].extension);
        snprintf(told, sizeof told, CHUNKED "http_syntax@%u", 57 + bad[i].at);
        check(&(struct row){bad[i].extension, bytes, (size_t)len, told});
    }
}

/* A row made of `before`, `n` times `repeat`, and `after`. */
static void check_repeated(const char *name, const char *before, const char *repeat, size_t n,
                           const char *after, const char *told)
{
    static char bytes[HTTP_REQUEST_BYTES_MAX + 64];
    struct buf b = buf_of(bytes, sizeof bytes);
    buf_span(&b, span_of(before));
    for (size_t i = 0; i < n; i++) buf_span(&b, span_of(repeat));
    buf_span(&b, span_of(after));
    assert_false(b.full);
    check(&(struct row){name, bytes, b.len, told});
}

static void keeps_to_its_limits(void **state)
{
    (void)state;
    static const char one[] = "GET / host=a keep body= | more(idle)";
    check_repeated("100 fields", GET, "X:\r\n", 99, "\r\n", one);
    check_repeated("101 fields", GET, "X:\r\n", 100, "\r\n", "head_too_large@421");
    check_repeated("8192 bytes of target", "GET /?", "x", 8190, " HTTP/1.1\r\n" H "\r\n", one);
    check_repeated("8193", "GET /?", "x", 8191, " HTTP/1.1\r\n" H "\r\n", "uri_too_long@8196");
    check_repeated("absolute", "GET http://a/?", "x", 8182, " HTTP/1.1\r\n" H "\r\n", one);
    check_repeated("absolute and one", "GET http://a/?", "x", 8183, " HTTP/1.1\r\n" H "\r\n",
                   "uri_too_long@8196");
    check_repeated("a target without end", "GET /", "x", 20000, "", "uri_too_long@8196");
    /* 25 + 3 + n + 4 */
    check_repeated("16 KiB of head", GET "X: ", "x", 16384 - 32, "\r\n\r\n", one);
    check_repeated("and one", GET "X: ", "x", 16384 - 31, "\r\n\r\n", "head_too_large@16384");
    check_repeated("16 KiB and no end", GET "X: ", "x", 16384 - 28, "", "head_too_large@16384");
    check_repeated("one before", GET "X: ", "x", 16384 - 29, "", "more");
    check_repeated("after an empty line", "\r\n" GET "X: ", "x", 16384 - 32, "\r\n\r\n", one);
    check_repeated("and one after it", "\r\n" GET "X: ", "x", 16384 - 31, "\r\n\r\n",
                   "head_too_large@16386");
    check_repeated("a method without end", "", "M", 20000, "", "head_too_large@16384");
    /* Of a chunk of one byte 5 bytes are framing: the CR of chunk 3277 is byte 16384 of them. */
    check_repeated("chunks of one byte, too many", CHUNKS, "1\r\nx\r\n", 3277, "0\r\n\r\n",
                   CHUNKED "body_too_large@19717");
    check_repeated("an endless extension", CHUNKS "1;", "x", 17000, "",
                   CHUNKED "body_too_large@16440");
    check_repeated("endless extensions", CHUNKS "1", " ; a = \"b\"", 2000, "",
                   CHUNKED "body_too_large@16440");
    check_repeated("endless trailers", CHUNKS "0\r\n", "X: y\r\n", 3000, "",
                   CHUNKED "body_too_large@16440");
}

/* The largest request of all fills what callers are told to have, and not a byte more. */
static void reads_the_largest_request(void **state)
{
    (void)state;
    static char bytes[HTTP_REQUEST_BYTES_MAX + 1];
    for (int extra = 0; extra <= 1; extra++) {
        struct buf b = buf_of(bytes, sizeof bytes);
        buf_lit(&b, "\r\n" POST "Transfer-Encoding: chunked\r\nX: ");
        while (b.len < 2 + HTTP_HEAD_BYTES_MAX - 4) buf_char(&b, 'x');
        buf_lit(&b, "\r\n\r\n10000\r\n");
        for (size_t i = 0; i < HTTP_BODY_BYTES_MAX; i++) buf_char(&b, (char)i);
        buf_lit(&b, "\r\n0;");
        while (b.len < HTTP_REQUEST_BYTES_MAX - 4 + (size_t)extra) buf_char(&b, 'x');
        buf_lit(&b, "\r\n\r\n");
        assert_int_equal(b.len, HTTP_REQUEST_BYTES_MAX + extra);
        struct http_reader r;
        http_reader_init(&r);
        assert_int_equal(http_read(&r, bytes, b.len), HTTP_HEAD_READ);
        enum http_result result = http_read(&r, bytes, b.len);
        assert_int_equal(result, extra ? HTTP_FAILED : HTTP_DONE);
        if (extra) {
            assert_int_equal(r.error, ERR_BODY_TOO_LARGE);
            continue;
        }
        assert_int_equal(r.consumed, b.len);
        assert_int_equal(r.body.len, HTTP_BODY_BYTES_MAX);
        for (size_t i = 0; i < HTTP_BODY_BYTES_MAX; i++)
            assert_int_equal(bytes[r.body.at + i], (char)i);
    }
}

/* A wrong byte is told without waiting for the ones after it. */
static void tells_errors_at_once(void **state)
{
    (void)state;
    static const char *const prefixes[] = {
        "\x16",
        "PRI ",
        "GET  ",
        "GET /#",
        "GET / HTTP/2",
        GET " ",
        GET "X ",
        GET "X: y\n",
        POST "Content-Length: 1\r\nContent-Length:",
        POST "Expect: x\r\n",
        POST "Content-Length: x\r\n",
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        char bytes[128];
        size_t len = strlen(prefixes[i]);
        struct http_reader r;
        memcpy(bytes, prefixes[i], len);
        http_reader_init(&r);
        assert_int_equal(http_read(&r, bytes, len - 1), HTTP_MORE);
        assert_int_equal(http_read(&r, bytes, len), HTTP_FAILED);
    }
}

static void knows_when_it_is_idle(void **state)
{
    (void)state;
    char bytes[] = "\r\nG";
    struct http_reader r;
    http_reader_init(&r);
    for (size_t len = 0; len <= 3; len++) {
        assert_int_equal(http_read(&r, bytes, len), HTTP_MORE);
        assert_int_equal(http_reader_idle(&r), len < 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_requests),
        cmocka_unit_test(reads_fields),
        cmocka_unit_test(refuses_request_lines),
        cmocka_unit_test(refuses_fields),
        cmocka_unit_test(refuses_unclear_framing),
        cmocka_unit_test(reads_chunks),
        cmocka_unit_test(reads_chunk_extensions),
        cmocka_unit_test(keeps_to_its_limits),
        cmocka_unit_test(reads_the_largest_request),
        cmocka_unit_test(says_what_a_line_lacks),
        cmocka_unit_test(reads_content_encodings),
        cmocka_unit_test(tells_errors_at_once),
        cmocka_unit_test(knows_when_it_is_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
