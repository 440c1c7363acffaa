#include "lab/load_body.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static char memory[LOAD_BODY_BYTES_MAX];

static struct span body_of(const struct load_bodies *set, uint64_t seed, uint64_t seq)
{
    struct buf b = buf_of(memory, sizeof memory);
    load_bodies_make(set, seed, seq, &b);
    assert_false(b.full);
    return buf_text(&b);
}

static struct load_bodies compiled(const char *text)
{
    struct load_bodies set;
    struct err e;
    if (load_bodies_compile(span_of(text), &set, &e)) fail_msg("%s", e.text);
    return set;
}

/* What has no template goes out as it was written, blanks apart. */
static void fixed_bodies(void **state)
{
    (void)state;
    static const struct {
        const char *line, *body;
    } rows[] = {
        {"{\"body\": {}}", "{}"},
        {"{\"body\": {\"a\": [1, 2.50, -1e2], \"b\": {\"c\": null}, \"d\": [true, false, []]}}",
         "{\"a\":[1,2.50,-1e2],\"b\":{\"c\":null},\"d\":[true,false,[]]}"},
        {"{\"weight\": 0.5, \"body\": \"\"}", "\"\""},
        {"{\"body\": \"x\\n\\\"\\u0001\\u00e9\", \"weight\": 2}", "\"x\\n\\\"\\u0001\xc3\xa9\""},
        {"{\"body\": \"{} {Seq} {1} { {seq\"}", "\"{} {Seq} {1} { {seq\""},
        {"{\"body\": \"{seq}\"}", "42"},
        {"{\"body\": \"r-{seq}\"}", "\"r-42\""},
        {"{\"body\": \"{seq}{seq}\"}", "\"4242\""},
        {"{\"body\": \"{{seq}}\"}", "\"{42}\""},
        {"{\"body\": [\"{seq}\", \"\\\"{seq}\\\"\"]}", "[42,\"\\\"42\\\"\"]"},
        {"{\"body\": {\"{seq}\": \"{int:7:7}\"}}", "{\"{seq}\":7}"},
        {"{\"body\": \"{int:-9000000000000000:-9000000000000000}\"}", "-9000000000000000"},
        {"{\"body\": \"{float:0.5:0.5}\"}", "0.5"},
        {"{\"body\": \"{float:-3:-3}\"}", "-3"},
        {"{\"body\": \"{float:-0.000001:-0.000001}\"}", "-0.000001"},
        {"{\"body\": \"{float:1e3:1e3}\"}", "1000"},
        {"\n  \r\n{\"body\": 1}\r\n\n", "1"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct load_bodies set = compiled(rows[i].line);
        struct span body = body_of(&set, 1, 42);
        if (!span_is(body, rows[i].body)) fail_msg("row %zu: %.*s", i, (int)body.len, body.data);
        load_bodies_done(&set);
    }
}

static void wrong_files(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum err_code code;
        uint32_t line;
    } rows[] = {
        {"", ERR_FIELD_RANGE, 0},
        {"\n\n", ERR_FIELD_RANGE, 0},
        {"{\"body\":1}\n{\"body\":", ERR_JSON_SYNTAX, 2},
        {"{\"body\":1}\n{\"body\":2} x", ERR_JSON_SYNTAX, 2},
        {"{\"weight\":1}", ERR_FIELD_TYPE, 1},
        {"{\"body\":1,\"body\":2}", ERR_FIELD_TYPE, 1},
        {"{\"body\":1,\"wieght\":2}", ERR_FIELD_TYPE, 1},
        {"{\"body\":1,\"weight\":-1}", ERR_FIELD_RANGE, 1},
        {"{\"body\":1,\"weight\":\"1\"}", ERR_FIELD_RANGE, 1},
        {"{\"body\":1,\"weight\":1e999}", ERR_FIELD_RANGE, 1},
        {"{\"body\":1,\"weight\":0}", ERR_FIELD_RANGE, 0},
        {"[]", ERR_JSON_SYNTAX, 1},
        {"{\"body\":\"{int}\"}", ERR_FIELD_RANGE, 1},
        {"{\"body\":\"{int:}\"}", ERR_FIELD_RANGE, 1},
        {"{\"body\":\"{int:1}\"}", ERR_FIELD_RANGE, 1},
        {"{\"body\":\"{int:1:}\"}", ERR_FIELD_RANGE, 1},
        {"{\"body\":\"{int:2:1}\"}", ERR_FIELD_RANGE, 1},
        {"{\"body\":\"{int:1:2.5}\"}", ERR_FIELD_RANGE, 1},
        {"{\"body\":\"{int:1:2x}\"}", ERR_FIELD_RANGE, 1},
        {"{\"body\":\"{int:0:1e18}\"}", ERR_FIELD_RANGE, 1},
        {"{\"body\":\"{float:0:1e300}\"}", ERR_FIELD_RANGE, 1},
        {"{\"body\":\"a {sequence} b\"}", ERR_FIELD_RANGE, 1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct load_bodies set;
        struct err e = {0};
        enum err_code code = load_bodies_compile(span_of(rows[i].text), &set, &e);
        if (code != rows[i].code || e.line != rows[i].line)
            fail_msg("row %zu: %s at %u: %s", i, err_name(code), e.line, e.text);
    }
}

static void a_body_that_could_be_too_large(void **state)
{
    (void)state;
    struct err e;
    struct load_bodies set;
    size_t at = 0;
    static char line[LOAD_BODY_LINE_MAX + 100];
    /* A thousand templates, and too many. */
    at = (size_t)sprintf(line, "{\"body\":[1");
    for (int i = 0; i < 1100; i++) at += (size_t)sprintf(line + at, ",\"{seq}\"");
    strcpy(line + at, "]}");
    assert_int_equal(load_bodies_compile(span_of(line), &set, &e), ERR_LIMIT);
    /* The text alone would fit; the number might not. */
    at = (size_t)sprintf(line, "{\"body\":\"");
    memset(line + at, 'x', LOAD_BODY_LINE_MAX - at);
    strcpy(line + LOAD_BODY_LINE_MAX - 7, "{seq}\"}");
    assert_int_equal(load_bodies_compile(span_of(line), &set, &e), ERR_LIMIT);
    memset(line, ' ', LOAD_BODY_LINE_MAX);
    strcpy(line + LOAD_BODY_LINE_MAX, "{\"body\":1}");
    assert_int_equal(load_bodies_compile(span_of(line), &set, &e), ERR_LIMIT);
}

static void numbers_fill_their_ranges(void **state)
{
    (void)state;
    struct load_bodies set = compiled("{\"body\":[\"{int:-2:3}\",\"{float:0:1}\",\"{unit}\"]}");
    int seen[6] = {0};
    double sum = 0, units = 0;
    const int n = 20000;
    for (int i = 0; i < n; i++) {
        struct span body = body_of(&set, 5, (uint64_t)i);
        json_t *value = json_loadb(body.data, body.len, 0, NULL);
        assert_non_null(value);
        json_int_t whole = json_integer_value(json_array_get(value, 0));
        double part = json_number_value(json_array_get(value, 1));
        double unit = json_number_value(json_array_get(value, 2));
        assert_true(whole >= -2 && whole <= 3 && part >= 0 && part <= 1);
        assert_true(unit >= 0 && unit < LOAD_UNITS);
        seen[whole + 2]++;
        sum += part;
        units += unit;
        json_decref(value);
    }
    for (int i = 0; i < 6; i++) assert_true(abs(seen[i] - n / 6) < 5 * 60);
    assert_true(fabs(sum / n - 0.5) < 5 * 0.29 / sqrt(n));
    assert_true(fabs(units / n / LOAD_UNITS - 0.5) < 5 * 0.29 / sqrt(n));
    load_bodies_done(&set);
}

static void weights_are_kept(void **state)
{
    (void)state;
    struct load_bodies set = compiled("{\"weight\":1,\"body\":0}\n{\"weight\":0,\"body\":1}\n"
                                      "{\"weight\":3,\"body\":2}\n{\"body\":3}\n");
    int seen[4] = {0};
    for (uint64_t i = 0; i < 10000; i++) seen[body_of(&set, 1, i).data[0] - '0']++;
    assert_int_equal(seen[1], 0);
    assert_true(abs(seen[0] - 2000) < 5 * 40 && abs(seen[3] - 2000) < 5 * 40);
    assert_true(abs(seen[2] - 6000) < 5 * 49);
    load_bodies_done(&set);
}

static void a_body_is_of_its_seed_and_number(void **state)
{
    (void)state;
    struct load_bodies set = compiled(load_bodies_built_in("mix"));
    char first[2000];
    struct span body = body_of(&set, 1, 7);
    assert_true(body.len < sizeof first);
    memcpy(first, body.data, body.len);
    struct span kept = {first, body.len};
    body_of(&set, 1, 8);
    assert_true(span_equal(body_of(&set, 1, 7), kept));
    assert_false(span_equal(body_of(&set, 2, 7), kept));
    load_bodies_done(&set);
}

static void built_in(void **state)
{
    (void)state;
    static const struct {
        const char *which;
        int all, some, none; /* of 1000, about */
    } rows[] = {
        {"all", 1000, 0, 0}, {"some", 0, 1000, 0}, {"none", 0, 0, 1000}, {"mix", 800, 100, 100}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct load_bodies set = compiled(load_bodies_built_in(rows[i].which));
        int counts[5] = {0};
        for (uint64_t seq = 0; seq < 1000; seq++) {
            struct span body = body_of(&set, 1, seq);
            json_error_t error;
            json_t *value = json_loadb(body.data, body.len, JSON_REJECT_DUPLICATES, &error);
            if (!value) fail_msg("%s: %.*s", error.text, (int)body.len, body.data);
            char id[32];
            snprintf(id, sizeof id, "r-%d", (int)seq);
            assert_string_equal(json_string_value(json_object_get(value, "request_id")), id);
            json_t *session = json_object_get(value, "session");
            assert_true(json_is_integer(json_object_get(session, "elapsed_s")));
            json_t *posteriors = json_object_get(value, "posteriors");
            counts[posteriors ? json_object_size(posteriors) : 0]++;
            json_decref(value);
        }
        assert_true(abs(counts[4] - rows[i].all) <= 65);
        assert_true(abs(counts[2] - rows[i].some) <= 50);
        assert_true(abs(counts[0] - rows[i].none) <= 50);
        load_bodies_done(&set);
    }
    assert_null(load_bodies_built_in("most"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_bodies),
        cmocka_unit_test(wrong_files),
        cmocka_unit_test(a_body_that_could_be_too_large),
        cmocka_unit_test(numbers_fill_their_ranges),
        cmocka_unit_test(weights_are_kept),
        cmocka_unit_test(a_body_is_of_its_seed_and_number),
        cmocka_unit_test(built_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
