/* What the values of fields mean, each function by itself. */
#include "wire/http_field.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static void schemes(void **state)
{
    (void)state;
    static const struct {
        struct span target;
        uint32_t length;
        bool secure;
    } rows[] = {
        {SPAN("http://a/"), 7, false}, {SPAN("https://a/"), 8, true}, {SPAN("HTTP://"), 7, false},
        {SPAN("HttpS://"), 8, true},   {SPAN("http:/"), 0, false},    {SPAN("https:/"), 0, false},
        {SPAN("/http://"), 0, false},  {SPAN(""), 0, false},          {SPAN("ftp://a/"), 0, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        bool secure = !rows[i].secure;
        uint32_t length = http_scheme_length(rows[i].target, &secure);
        if (length != rows[i].length || secure != rows[i].secure)
            fail_msg("%s: %u, %d", rows[i].target.data, length, secure);
    }
}

static void hosts(void **state)
{
    (void)state;
    static const struct {
        struct span host;
        bool valid;
    } rows[] = {
        {SPAN("a"), true},
        {SPAN(""), false},
        {SPAN(":1"), false},
        {SPAN("a:"), true},
        {SPAN("a:0"), true},
        {SPAN("a:65535"), true},
        {SPAN("a:65536"), false},
        {SPAN("a:99999"), false},
        {SPAN("a:000001"), false},
        {SPAN("a:00001"), true},
        {SPAN("a:1x"), false},
        {SPAN("a:-1"), false},
        {SPAN("a:1:2"), false},
        {SPAN("a/b"), false},
        {SPAN("a@b"), false},
        {SPAN("a-b_c.d~e!$&'()*+,;="), true},
        {SPAN("[::1]"), true},
        {SPAN("[::1]:80"), true},
        {SPAN("[::1]80"), false},
        {SPAN("[::1"), false},
        {SPAN("[]"), false},
        {SPAN("[a]"), false},
        {SPAN("::1"), false},
        {SPAN("[1111:2222:3333:4444:5555:6666:7777:8888]"), true},
        {SPAN("[1111:2222:3333:4444:5555:6666:123.123.123.123]"), true},
        {SPAN("[00000000000000000000000000000000000000000000000::1]"), false},
        {SPAN("[v1.a]"), false},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (http_host_is_valid(rows[i].host) != rows[i].valid) fail_msg("%s", rows[i].host.data);
}

static void lengths(void **state)
{
    (void)state;
    static const struct {
        struct span text;
        bool good;
        uint64_t length;
    } rows[] = {
        {SPAN("0"), true, 0},
        {SPAN("9"), true, 9},
        {SPAN("0010"), true, 10},
        {SPAN("18446744073709551615"), true, UINT64_MAX},
        {SPAN("18446744073709551616"), false, 7},
        {SPAN("184467440737095516150"), false, 7},
        {SPAN(""), false, 7},
        {SPAN("+1"), false, 7},
        {SPAN("1 "), false, 7},
        {SPAN("/"), false, 7},
        {SPAN(":"), false, 7},
        {SPAN("0x1"), false, 7},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t length = 7;
        if (http_length_read(rows[i].text, &length) != rows[i].good || length != rows[i].length)
            fail_msg("%s: %llu", rows[i].text.data, (unsigned long long)length);
    }
}

static void lists(void **state)
{
    (void)state;
    static const struct {
        struct span value;
        bool close, keep_alive;
    } connections[] = {
        {SPAN("keep-alive"), false, true},
        {SPAN("Close"), true, false},
        {SPAN("x, close"), true, false},
        {SPAN("close,keep-alive"), true, true},
        {SPAN(" , ,\tKEEP-ALIVE\t, x"), false, true},
        {SPAN("closed"), false, false},
        {SPAN("clos"), false, false},
        {SPAN("\"a,close\""), false, false},
        {SPAN("\"a\\\",close\""), false, false},
        {SPAN("\"a\\\\\",close"), true, false},
        {SPAN(""), false, false},
    };
    for (size_t i = 0; i < COUNT(connections); i++) {
        struct http_connection says = http_connection_read(connections[i].value);
        if (says.close != connections[i].close || says.keep_alive != connections[i].keep_alive)
            fail_msg("%s: %d %d", connections[i].value.data, says.close, says.keep_alive);
    }
    static const struct {
        struct span value;
        enum http_coding coding;
    } codings[] = {
        {SPAN("chunked"), HTTP_CODING_CHUNKED},    {SPAN("Chunked"), HTTP_CODING_CHUNKED},
        {SPAN("gzip"), HTTP_CODING_COMPRESSED},    {SPAN("x-gzip"), HTTP_CODING_COMPRESSED},
        {SPAN("deflate"), HTTP_CODING_COMPRESSED}, {SPAN("chunked,"), HTTP_CODING_UNCLEAR},
        {SPAN("identity"), HTTP_CODING_UNCLEAR},   {SPAN(""), HTTP_CODING_UNCLEAR},
    };
    for (size_t i = 0; i < COUNT(codings); i++)
        if (http_coding_find(codings[i].value) != codings[i].coding)
            fail_msg("%s", codings[i].value.data);
    static const struct {
        struct span value;
        bool json, identity, expects;
    } rows[] = {
        {SPAN("application/json"), true, false, false},
        {SPAN("Application/JSON ; charset=utf-8"), true, false, false},
        {SPAN("application/jsonp"), false, false, false},
        {SPAN("application/json, text/html"), false, false, false},
        {SPAN("identity"), false, true, false},
        {SPAN(", identity ,IDENTITY"), false, true, false},
        {SPAN("identity, gzip"), false, false, false},
        {SPAN("100-continue"), false, false, true},
        {SPAN("100-Continue"), false, false, true},
        {SPAN("100-continue "), false, false, false},
        {SPAN(""), false, true, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (http_is_json(rows[i].value) != rows[i].json ||
            http_is_identity(rows[i].value) != rows[i].identity ||
            http_is_100_continue(rows[i].value) != rows[i].expects)
            fail_msg("%s", rows[i].value.data);
}

#define OPEN "application/openmetrics-text"

static void what_is_accepted(void **state)
{
    (void)state;
    static const struct {
        struct span accept;
        bool openmetrics;
    } rows[] = {
        {SPAN(OPEN), true},
        {SPAN("Application/OpenMetrics-Text"), true},
        {SPAN(""), false},
        {SPAN("*/*, application/whatever-is-longer"), false},
        {SPAN(OPEN ";version=1.0.0"), true},
        {SPAN(OPEN ";version=\"1.0.0\""), true},
        {SPAN(OPEN ";version=0.0.1"), false},
        {SPAN(OPEN ";version=0.0.1," OPEN ";version=1.0.0"), true},
        {SPAN(OPEN ";q=0"), false},
        {SPAN(OPEN ";q=0.000"), false},
        {SPAN(OPEN ";q=0.001"), true},
        {SPAN(OPEN ";Q=\"0\""), false},
        {SPAN(OPEN ";q=0.5,text/plain;q=0.6"), false},
        {SPAN(OPEN ";q=0.6,text/plain;q=0.5"), true},
        {SPAN(OPEN ";q=0.5,text/plain;q=0.5"), true},
        {SPAN(OPEN ";q=0.29,text/plain;q=0.3"), false},
        {SPAN(OPEN ";q=0.123,text/plain;q=0.124"), false},
        {SPAN(OPEN ";q=0.124,text/plain;q=0.123"), true},
        {SPAN(OPEN ";q=1,text/plain;q=1.0"), true},
        {SPAN(OPEN ";q=0.9,text/plain"), false},
        {SPAN(OPEN ";q=0.5,text/*;q=0.6"), false},
        {SPAN(OPEN ";q=0.5,*/*;q=0.6"), false},
        {SPAN(OPEN ";q=0.5,*/*;q=0.4"), true},
        /* The range that says the most counts. */
        {SPAN(OPEN ";q=0.5,*/*;q=0.9,text/*;q=0.4"), true},
        {SPAN(OPEN ";q=0.5,text/*;q=0.9,text/plain;q=0.4"), true},
        {SPAN(OPEN ";q=0.5,text/plain;q=0,*/*;q=0.9"), true},
        {SPAN("text/plain;q=0.3," OPEN ";q=0.2," OPEN ";q=0.4"), true},
        {SPAN("text/plain;version=0.0.4;q=0.5," OPEN ";version=1.0.0;q=0.75"), true},
        {SPAN("text/plain,x/" OPEN), false},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (http_accepts_openmetrics(rows[i].accept) != rows[i].openmetrics)
            fail_msg("%s", rows[i].accept.data);
}

/* Each name, in either case, with a byte less, more or other; and the short cut for some of them.
 */
static void names_of_fields(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum field field;
    } rows[] = {
        {"host", FIELD_HOST},
        {"accept", FIELD_ACCEPT},
        {"expect", FIELD_EXPECT},
        {"origin", FIELD_ORIGIN},
        {"connection", FIELD_CONNECTION},
        {"content-type", FIELD_CONTENT_TYPE},
        {"authorization", FIELD_AUTHORIZATION},
        {"content-length", FIELD_CONTENT_LENGTH},
        {"content-encoding", FIELD_CONTENT_ENCODING},
        {"transfer-encoding", FIELD_TRANSFER_ENCODING},
        {"user-agent", FIELD_OTHER},
        {"x", FIELD_OTHER},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char name[64];
        size_t len = strlen(rows[i].name);
        for (size_t at = 0; at <= len; at++) {
            memcpy(name, rows[i].name, len);
            if (at < len && name[at] >= 'a') name[at] = (char)(name[at] - 0x20);
            assert_int_equal(http_field_find((struct span){name, len}), rows[i].field);
            memcpy(name + len, ": value is long enough", 22);
            enum field field = FIELD_COUNT;
            uint32_t found = http_field_peek((struct span){name, len + 22}, &field);
            if (found) {
                assert_int_equal(found, len);
                assert_int_equal(field, rows[i].field);
            }
            if (at == len) continue;
            for (int bit = 0; bit < 8; bit++) {
                memcpy(name, rows[i].name, len);
                name[at] = (char)(name[at] ^ 1 << bit);
                if (bit == 5 && rows[i].name[at] >= 'a') continue;
                assert_int_equal(http_field_find((struct span){name, len}), FIELD_OTHER);
                assert_int_equal(http_field_peek((struct span){name, len + 22}, &field), 0);
            }
        }
        assert_int_equal(http_field_find((struct span){rows[i].name, len - 1}), FIELD_OTHER);
        assert_int_equal(http_field_find((struct span){name, len + 1}), FIELD_OTHER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemes),          cmocka_unit_test(hosts),
        cmocka_unit_test(lengths),          cmocka_unit_test(lists),
        cmocka_unit_test(what_is_accepted), cmocka_unit_test(names_of_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
