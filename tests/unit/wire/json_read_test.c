#include "wire/json_read.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* A reader over a copy that ends where the text does, so that a sanitizer sees a read beyond it. */
struct fixture {
    struct json_reader r;
    char *text, *scratch;
};

static void open_text(struct fixture *f, struct span text)
{
    f->text = malloc(text.len ? text.len : 1);
    f->scratch = malloc(text.len ? text.len : 1);
    assert_non_null(f->text);
    assert_non_null(f->scratch);
    if (text.len) memcpy(f->text, text.data, text.len);
    json_reader_init(&f->r, (struct span){f->text, text.len}, f->scratch, text.len);
}

static void close_text(struct fixture *f)
{
    free(f->text);
    free(f->scratch);
}

/* Reads a value of any type through the functions that hand values out. */
static bool walk(struct json_reader *r)
{
    struct decimal number;
    struct span text;
    bool truth;
    switch (json_peek(r)) {
    case JSON_NULL:
        return json_null(r);
    case JSON_BOOL:
        return json_bool(r, &truth);
    case JSON_NUMBER:
        return json_number(r, &number);
    case JSON_STRING:
        return json_string(r, &text);
    case JSON_ARRAY:
        json_array_begin(r);
        while (json_array_next(r)) walk(r);
        return r->error == ERR_OK;
    case JSON_OBJECT:
        json_object_begin(r);
        while (json_object_next(r, &text)) walk(r);
        return r->error == ERR_OK;
    default:
        return false;
    }
}

/* Both ways through a text: wanted is the error's code and offset, or ERR_OK. */
static void expect(struct span text, enum err_code code, size_t offset)
{
    for (int skipping = 0; skipping < 2; skipping++) {
        struct fixture f;
        open_text(&f, text);
        bool read = skipping ? json_skip(&f.r) : walk(&f.r);
        bool whole = json_end(&f.r);
        if (f.r.error != code || whole != (code == ERR_OK) || (whole && !read) ||
            json_error_offset(&f.r) != offset)
            fail_msg("%.*s (%s): %s at %zu, expected %s at %zu", (int)text.len, text.data,
                     skipping ? "skipped" : "read", err_name(f.r.error), json_error_offset(&f.r),
                     err_name(code), offset);
        if (code == ERR_OK)
            assert_null(f.r.error_text);
        else
            assert_non_null(f.r.error_text);
        if (skipping) assert_ptr_equal(f.r.scratch, f.scratch);
        close_text(&f);
    }
}

static void valid_texts(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1.5e3",
        "\"\"",
        "{}",
        "[]",
        " \t\r\n1 \t\r\n",
        " { } ",
        " [ ] ",
        "[[],[[]],{}]",
        "{\"a\":{\"b\":[1,{\"c\":null}]},\"d\":[]}",
        "[ 1 , 2 , 3 ]",
        "{ \"a\" : 1 , \"b\" : 2 }",
        "{\"\":0}",
        "[1e999,-1e999,1e-999]",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\\u0000\\u001f\\u00e9\\uFfFf\"",
        "\"\\ud83d\\ude00\"",
        "\"\\uD800\\uDC00\\uDBFF\\uDFFF\"",
        "\"\x7f\"",
        "\"\xc2\x80\xdf\xbf\"",
        "\"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\"",
        "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"",
        "[\"]\",\"}\",\",\",\":\"]",
        "{\"a\":1,\"a\":2}" /* the caller's to find */,
    };
    for (size_t i = 0; i < COUNT(rows); i++) expect(span_of(rows[i]), ERR_OK, 0);
}

static void invalid_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t offset;
    } rows[] = {
        /* clang-format off */
        {"", 0}, {" ", 1}, {"nul", 0}, {"nulL", 0}, {"Null", 0}, {"tru", 0}, {"truE", 0},
        {"fals", 0}, {"falsE", 0}, {"NaN", 0}, {"Infinity", 0}, {"-Infinity", 0}, {"undefined", 0},
        {"truex", 4}, {"nullnull", 4}, {"1 2", 2}, {"{}{}", 2}, {"[] x", 3}, {"\"\"\"", 2},
        /* numbers */
        {"+1", 0}, {"01", 0}, {"-", 0}, {"-x", 0}, {".5", 0}, {"1.", 0}, {"1e", 0}, {"1e+", 0},
        {"0x1", 1}, {"1.2.3", 3}, {"1e5.5", 3}, {"[1x]", 2}, {"[01]", 1}, {"1_0", 1}, {"1,", 1},
        /* arrays */
        {"[", 1}, {"[1", 2}, {"[1,", 3}, {"[1,]", 3}, {"[,1]", 1}, {"[1,,2]", 3}, {"[1 2]", 3},
        {"[1}", 2}, {"[}", 1}, {"]", 0}, {"[1:2]", 2}, {"[\"a\":1]", 4}, {"[]]", 2}, {"[[]", 3},
        {"[1;2]", 2},
        /* objects */
        {"{", 1}, {"{]", 1}, {"}", 0}, {"{,}", 1}, {"{\"a\"", 4}, {"{\"a\"}", 4}, {"{\"a\":", 5},
        {"{\"a\":}", 5}, {"{\"a\":1", 6}, {"{\"a\":1,", 7}, {"{\"a\":1,}", 7}, {"{\"a\":1,,}", 7},
        {"{\"a\" 1}", 5}, {"{\"a\":1 \"b\":2}", 7}, {"{a:1}", 1}, {"{'a':1}", 1}, {"{1:2}", 1},
        {"{\"a\":1]", 6}, {"{\"a\",1}", 4}, {"{\"a\"::1}", 5}, {"{null:1}", 1}, {"{{}:1}", 1},
        /* strings */
        {"\"", 1}, {"\"abc", 4}, {"'a'", 0}, {"\"abcdefghijk", 12}, {"\"a\nb\"", 2},
        {"\"1234567\n\"", 8}, {"\"12345678\x1f\"", 9}, {"\"\t\"", 1}, {"\"\\\"", 3}, {"\"\\", 1},
        {"\"\\x41\"", 1}, {"\"\\'\"", 1}, {"\"\\U0041\"", 1}, {"\"\\a\"", 1}, {"\"\\0\"", 1},
        {"\"\\u\"", 1}, {"\"\\u12\"", 1}, {"\"\\u123\"", 1}, {"\"\\u12g4\"", 1}, {"\"\\u-123\"", 1},
        {"\"\\u 123\"", 1}, {"\"\\u004", 1}, {"\"\\ud800\"", 1}, {"\"\\ud800x\"", 1},
        {"\"\\udc00\"", 1}, {"\"\\ud800\\u0041\"", 1}, {"\"\\ud800\\ud800\"", 1},
        {"\"\\ud800\\n\"", 1}, {"\"\\ud800\\udc0\"", 1}, {"\"\\ud800\\udc0g\"", 1},
        {"\"\\udc00\\ud800\"", 1}, {"\"ok\\ud83d\\u\"", 3}, {"\"\\ud800xudc00\"", 1},
        {"\"\\ud800\\xdc00\"", 1},
        /* UTF-8 */
        {"\"\x80\"", 1}, {"\"\xbf\"", 1}, {"\"\xc0\x80\"", 1}, {"\"\xc1\xbf\"", 1}, {"\"\xc2\"", 1},
        {"\"\xc2\xc2\"", 1}, {"\"\xc2", 1}, {"\"\xdf\x7f\"", 1}, {"\"\xe0\x80\x80\"", 1},
        {"\"\xe0\x9f\xbf\"", 1}, {"\"\xe1\x80\"", 1}, {"\"\xe1\x80", 1}, {"\"\xe1\x80\xc0\"", 1},
        {"\"\xed\xa0\x80\"", 1}, {"\"\xed\xbf\xbf\"", 1}, {"\"\xf0\x80\x80\x80\"", 1},
        {"\"\xf0\x8f\xbf\xbf\"", 1}, {"\"\xf1\x80\x80\"", 1}, {"\"\xf1\x80\x80\x7f\"", 1},
        {"\"\xf1\x80\xc0\x80\"", 1}, {"\"\xf4\x90\x80\x80\"", 1}, {"\"\xf5\x80\x80\x80\"", 1},
        {"\"\xff\"", 1}, {"\"\xfe\xff\"", 1}, {"\"abcdefg\xff\"", 8},
        {"\"abcdefgh\xc3\xa9\xc3\"", 11}, {"{\"\xff\":1}", 2},
        /* outside of strings */
        {"\xef\xbb\xbf{}", 0}, {"\xc2\xa0" "1", 0}, {"\v1", 0}, {"\f1", 0}, {"1\v", 1},
        {"/* a */1", 0}, {"1//", 1}, {"# a", 0}, {"[1,\f2]", 3},
        /* clang-format on */
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        expect(span_of(rows[i].text), ERR_JSON_SYNTAX, rows[i].offset);
}

static void nul_bytes(void **state)
{
    (void)state;
    expect(SPAN("\0"), ERR_JSON_SYNTAX, 0);
    expect(SPAN("1\0"), ERR_JSON_SYNTAX, 1);
    expect(SPAN("\"a\0b\""), ERR_JSON_SYNTAX, 2);
    expect(SPAN("\"\\\0\""), ERR_JSON_SYNTAX, 1);
    expect((struct span){NULL, 0}, ERR_JSON_SYNTAX, 0);
}

/* Any byte in a string at any place of the words it is scanned by. */
static void each_byte_at_each_place(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        for (size_t place = 0; place < 18; place++) {
            char text[] = "\"abcdefghijklmnopqr\"";
            text[1 + place] = (char)c;
            size_t len = sizeof text - 1;
            if (c == '"') {
                expect((struct span){text, len}, ERR_JSON_SYNTAX, 2 + place);
            } else if (c == '\\') {
                /* What follows is the next letter. */
                bool good = place == 17 || strchr("bfnrt", text[2 + place]) != NULL;
                size_t wrong = place == 17 ? len : 1 + place;
                bool fails = place == 17 || !good;
                expect((struct span){text, len}, fails ? ERR_JSON_SYNTAX : ERR_OK,
                       fails ? wrong : 0);
            } else {
                bool fails = c < 0x20 || c >= 0x80;
                expect((struct span){text, len}, fails ? ERR_JSON_SYNTAX : ERR_OK,
                       fails ? 1 + place : 0);
            }
        }
    }
}

/* No beginning of a text is a text, except that of a number or with space after it. */
static void cut_texts(void **state)
{
    (void)state;
    static const char text[] =
        "{\"request_id\": \"r-\\u00e9\\ud83d\\ude00\xc3\xa9\", \"a\": [1.5e+3, true, false, null, "
        "{\"\": {}}, []], \"segment_id\": \"core\"}";
    for (size_t len = 0; len < sizeof text - 1; len++) {
        struct fixture f, g;
        open_text(&f, (struct span){text, len});
        open_text(&g, (struct span){text, len});
        walk(&f.r);
        json_skip(&g.r);
        assert_false(json_end(&f.r));
        assert_false(json_end(&g.r));
        assert_int_equal(f.r.error, ERR_JSON_SYNTAX);
        assert_int_equal(json_error_offset(&f.r), json_error_offset(&g.r));
        close_text(&f);
        close_text(&g);
    }
    expect(SPAN(text), ERR_OK, 0);
}

static void depth(void **state)
{
    (void)state;
    char text[600];
    for (int objects = 0; objects < 3; objects++) {
        for (size_t levels = JSON_DEPTH_MAX - 1; levels <= JSON_DEPTH_MAX + 1; levels++) {
            size_t len = 0, deepest = 0;
            for (size_t k = 0; k < levels; k++) {
                bool object = objects == 1 || (objects == 2 && k % 3 == 0);
                deepest = len;
                len += (size_t)sprintf(text + len, object ? "{\"a\":" : "[");
            }
            text[len++] = '1';
            for (size_t k = levels; k-- > 0;)
                text[len++] = objects == 1 || (objects == 2 && k % 3 == 0) ? '}' : ']';
            bool deep = levels > JSON_DEPTH_MAX;
            expect((struct span){text, len}, deep ? ERR_JSON_DEPTH : ERR_OK, deep ? deepest : 0);
        }
    }
    /* Side by side is not deep. */
    size_t len = 0;
    text[len++] = '[';
    for (int k = 0; k < 100; k++) len += (size_t)sprintf(text + len, "%s[{}]", k ? "," : "");
    text[len++] = ']';
    expect((struct span){text, len}, ERR_OK, 0);
}

static void strings(void **state)
{
    (void)state;
    static const struct {
        struct span text, value;
    } rows[] = {
        {SPAN("\"\""), SPAN("")},
        {SPAN("  \"a b\""), SPAN("a b")},
        {SPAN("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), SPAN("\"\\/\b\f\n\r\t")},
        {SPAN("\"x\\u0000y\""), SPAN("x\0y")},
        {SPAN("\"\\u007f\\u0080\\u07ff\\u0800\\uffff\""),
         SPAN("\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf")},
        {SPAN("\"\\ud800\\udc00\\uDBFF\\uDFFF\\ud83d\\ude00\""),
         SPAN("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xf0\x9f\x98\x80")},
        {SPAN("\"\\uD7FF\\uE000\""), SPAN("\xed\x9f\xbf\xee\x80\x80")},
        {SPAN("\"a long run of plain text, \\n, and more of it \xc3\xa9\\\\\""),
         SPAN("a long run of plain text, \n, and more of it \xc3\xa9\\")},
        {SPAN("\"\\u00E9\\u00e9\""), SPAN("\xc3\xa9\xc3\xa9")},
        {SPAN("\"\\\\u0041\""), SPAN("\\u0041")},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture f;
        open_text(&f, rows[i].text);
        struct span value;
        assert_int_equal(json_peek(&f.r), JSON_STRING);
        assert_true(json_string(&f.r, &value));
        assert_true(json_end(&f.r));
        if (!span_equal(value, rows[i].value))
            fail_msg("%s came out as %.*s", rows[i].text.data, (int)value.len, value.data);
        bool escaped = memchr(rows[i].text.data, '\\', rows[i].text.len) != NULL;
        assert_int_equal(value.data == f.scratch, escaped);
        close_text(&f);
    }
}

/* Strings with escapes stay what they were while others are read. */
static void strings_live_side_by_side(void **state)
{
    (void)state;
    struct fixture f;
    open_text(&f,
              SPAN("{\"\\u0061\":\"\\u0062\",\"c\\n\":[\"\\\\\",\"plain\",\"\\ud83d\\ude00\"]}"));
    struct span key1, key2, s[4];
    assert_true(json_object_begin(&f.r));
    assert_true(json_object_next(&f.r, &key1));
    assert_true(json_string(&f.r, &s[0]));
    assert_true(json_object_next(&f.r, &key2));
    assert_true(json_array_begin(&f.r));
    for (int i = 1; i < 4; i++) {
        assert_true(json_array_next(&f.r));
        assert_true(json_string(&f.r, &s[i]));
    }
    assert_false(json_array_next(&f.r));
    assert_false(json_object_next(&f.r, &(struct span){0}));
    assert_true(json_end(&f.r));
    assert_true(span_is(key1, "a") && span_is(key2, "c\n"));
    assert_true(span_is(s[0], "b") && span_is(s[1], "\\"));
    assert_true(span_is(s[2], "plain") && span_is(s[3], "\xf0\x9f\x98\x80"));
    close_text(&f);
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
        bool integral;
        int64_t integer;
    } rows[] = {
        {"0", 0, true, 0},
        {"-0", -0.0, true, 0},
        {"1.0", 1, true, 1},
        {"1e3", 1000, true, 1000},
        {"-2.5", -2.5, false, 0},
        {"0.1", 0.1, false, 0},
        {"9007199254740993", 9007199254740992.0, true, 9007199254740993},
        {"9223372036854775807", 0x1p63, true, INT64_MAX},
        {"9223372036854775808", 0x1p63, false, 0},
        {"-9223372036854775808", -0x1p63, true, INT64_MIN},
        {"1e999", HUGE_VAL, false, 0},
        {"-1e999", -HUGE_VAL, false, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture f;
        open_text(&f, span_of(rows[i].text));
        struct decimal n;
        assert_int_equal(json_peek(&f.r), JSON_NUMBER);
        assert_true(json_number(&f.r, &n));
        assert_true(json_end(&f.r));
        if (n.value != rows[i].value || signbit(n.value) != signbit(rows[i].value) ||
            n.integral != rows[i].integral || n.integer != rows[i].integer)
            fail_msg("%s: %a %d %lld", rows[i].text, n.value, n.integral, (long long)n.integer);
        close_text(&f);
    }
}

/* Asking for one type where another stands is a syntax error, and the output is left as it was. */
static void wrong_types(void **state)
{
    (void)state;
    static const char *const texts[] = {"null", "true", "1", "\"\"", "[]", "{}"};
    static const enum json_type types[] = {JSON_NULL,   JSON_BOOL,  JSON_NUMBER,
                                           JSON_STRING, JSON_ARRAY, JSON_OBJECT};
    for (size_t i = 0; i < COUNT(texts); i++) {
        for (size_t asked = 0; asked < COUNT(types); asked++) {
            struct fixture f;
            open_text(&f, span_of(texts[i]));
            bool truth = true;
            struct decimal number = {.value = 42};
            struct span text = SPAN("untouched");
            bool done = false;
            assert_int_equal(json_peek(&f.r), types[i]);
            switch (types[asked]) {
            case JSON_NULL:
                done = json_null(&f.r);
                break;
            case JSON_BOOL:
                done = json_bool(&f.r, &truth);
                break;
            case JSON_NUMBER:
                done = json_number(&f.r, &number);
                break;
            case JSON_STRING:
                done = json_string(&f.r, &text);
                break;
            case JSON_ARRAY:
                done = json_array_begin(&f.r);
                break;
            default:
                done = json_object_begin(&f.r);
                break;
            }
            assert_int_equal(done, i == asked);
            if (i != asked) {
                assert_int_equal(f.r.error, ERR_JSON_SYNTAX);
                assert_true(truth && number.value == 42 && span_is(text, "untouched"));
                assert_false(json_end(&f.r));
            }
            close_text(&f);
        }
    }
}

static void errors_stick(void **state)
{
    (void)state;
    struct fixture f;
    open_text(&f, SPAN("[[1,x],\"a\",true,null,5,{\"k\":1}]"));
    assert_true(json_array_begin(&f.r));
    assert_true(json_array_next(&f.r));
    assert_true(json_array_begin(&f.r));
    assert_true(json_array_next(&f.r));
    assert_true(json_skip(&f.r));
    assert_true(json_array_next(&f.r));
    struct decimal number;
    assert_false(json_number(&f.r, &number));
    const char *text = f.r.error_text;
    bool truth;
    struct span span;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(json_peek(&f.r), JSON_ERROR);
        assert_false(json_null(&f.r));
        assert_false(json_bool(&f.r, &truth));
        assert_false(json_number(&f.r, &number));
        assert_false(json_string(&f.r, &span));
        assert_false(json_array_begin(&f.r));
        assert_false(json_array_next(&f.r));
        assert_false(json_object_begin(&f.r));
        assert_false(json_object_next(&f.r, &span));
        assert_false(json_skip(&f.r));
        assert_false(json_end(&f.r));
        json_fail(&f.r, ERR_FIELD_RANGE, "later");
    }
    assert_int_equal(f.r.error, ERR_JSON_SYNTAX);
    assert_int_equal(json_error_offset(&f.r), 4);
    assert_ptr_equal(f.r.error_text, text);
    close_text(&f);
}

static void errors_of_the_caller(void **state)
{
    (void)state;
    struct fixture f;
    open_text(&f, SPAN("{\"a\":1,\"a\":2}"));
    struct span key;
    assert_true(json_object_begin(&f.r));
    assert_true(json_object_next(&f.r, &key));
    assert_true(json_skip(&f.r));
    assert_true(json_object_next(&f.r, &key));
    json_fail(&f.r, ERR_JSON_DUPLICATE_KEY, "a key stands twice");
    assert_false(json_skip(&f.r));
    assert_false(json_object_next(&f.r, &key));
    assert_false(json_end(&f.r));
    assert_int_equal(f.r.error, ERR_JSON_DUPLICATE_KEY);
    assert_int_equal(json_error_offset(&f.r), 11);
    assert_string_equal(f.r.error_text, "a key stands twice");
    close_text(&f);
}

static void a_caller_that_stops_early(void **state)
{
    (void)state;
    struct fixture f;
    struct span key;
    open_text(&f, SPAN("[1"));
    assert_true(json_array_begin(&f.r));
    assert_true(json_array_next(&f.r));
    assert_true(json_skip(&f.r));
    assert_false(json_end(&f.r));
    assert_int_equal(f.r.error, ERR_JSON_SYNTAX);
    assert_int_equal(json_error_offset(&f.r), 2);
    close_text(&f);

    open_text(&f, SPAN("{\"a\":1}"));
    assert_true(json_object_begin(&f.r));
    assert_true(json_object_next(&f.r, &key));
    /* The value is not read: that is not taken for an empty one. */
    assert_false(json_object_next(&f.r, &key));
    assert_int_equal(f.r.error, ERR_JSON_SYNTAX);
    close_text(&f);
}

/* Skipping one value leaves the reader where reading it would. */
static void skipping_inside(void **state)
{
    (void)state;
    struct fixture f;
    open_text(&f,
              SPAN("{\"a\":{\"x\":[1,{\"\\u0079\":[]}],\"z\":\"\\n\"},\"b\":[[],[2]],\"c\":3}"));
    static const char *const keys[] = {"a", "b", "c"};
    struct span key;
    assert_true(json_object_begin(&f.r));
    for (size_t i = 0; i < COUNT(keys); i++) {
        assert_true(json_object_next(&f.r, &key));
        assert_true(span_is(key, keys[i]));
        assert_true(json_skip(&f.r));
        assert_int_equal(f.r.depth, 1);
    }
    assert_false(json_object_next(&f.r, &key));
    assert_true(json_end(&f.r));
    assert_ptr_equal(f.r.scratch, f.scratch);
    close_text(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_texts),
        cmocka_unit_test(invalid_texts),
        cmocka_unit_test(nul_bytes),
        cmocka_unit_test(each_byte_at_each_place),
        cmocka_unit_test(cut_texts),
        cmocka_unit_test(depth),
        cmocka_unit_test(strings),
        cmocka_unit_test(strings_live_side_by_side),
        cmocka_unit_test(numbers),
        cmocka_unit_test(wrong_types),
        cmocka_unit_test(errors_stick),
        cmocka_unit_test(errors_of_the_caller),
        cmocka_unit_test(a_caller_that_stops_early),
        cmocka_unit_test(skipping_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
