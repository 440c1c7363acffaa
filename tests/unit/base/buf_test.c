#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void assert_text(const struct buf *b, const char *expected)
{
    if (!span_is(buf_text(b), expected))
        fail_msg("\"%.*s\" is not \"%s\"", (int)b->len, b->data, expected);
}

static void test_puts_in_order(void **state)
{
    (void)state;
    char memory[64];
    struct buf b = buf_of(memory, sizeof memory);
    assert_text(&b, "");
    buf_put(&b, "ab", 2);
    buf_char(&b, '-');
    buf_span(&b, SPAN("cd"));
    buf_span(&b, (struct span){NULL, 0});
    buf_lit(&b, "ef");
    buf_u64(&b, 7);
    buf_i64(&b, -8);
    buf_format(&b, "%s=%d", "x", 9);
    assert_text(&b, "ab-cdef7-8x=9");
    b.len = 0;
    buf_hex(&b, 0x0123456789abcdef, 16);
    buf_hex(&b, 0x0123456789abcdef, 3);
    buf_hex(&b, 0, 2);
    assert_text(&b, "0123456789abcdefdef00");
    assert_false(b.full);
}

/* Of every length, exactly those bytes; and nothing at all where one too many is asked for. */
static void test_spans_of_every_length(void **state)
{
    (void)state;
    char text[40], memory[sizeof text + 2];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)('a' + i % 26);
    for (size_t n = 0; n <= sizeof text; n++) {
        memset(memory, '#', sizeof memory);
        struct buf b = buf_of(memory + 1, n);
        buf_span(&b, (struct span){text, n});
        assert_false(b.full);
        assert_int_equal(b.len, n);
        assert_memory_equal(memory + 1, text, n);
        assert_true(memory[0] == '#' && memory[n + 1] == '#');
        if (n == 0) continue;
        memset(memory, '#', sizeof memory);
        b = buf_of(memory + 1, n - 1);
        buf_span(&b, (struct span){text, n});
        assert_true(b.full && b.len == 0 && memory[1] == '#');
    }
}

static const uint64_t unsigneds[] = {
    0, 1, 9, 10, 99, 100, UINT32_MAX, 1ull << 32, 999999999999, INT64_MAX, UINT64_MAX};
static const int64_t signeds[] = {0, 1, -1, 9, -9, -10, INT32_MIN, INT64_MAX, INT64_MIN, -100};

static void test_numbers(void **state)
{
    (void)state;
    char memory[32], expected[32];
    for (size_t i = 0; i < sizeof unsigneds / sizeof *unsigneds; i++) {
        struct buf b = buf_of(memory, sizeof memory);
        buf_u64(&b, unsigneds[i]);
        snprintf(expected, sizeof expected, "%llu", (unsigned long long)unsigneds[i]);
        assert_text(&b, expected);
    }
    for (size_t i = 0; i < sizeof signeds / sizeof *signeds; i++) {
        struct buf b = buf_of(memory, sizeof memory);
        buf_i64(&b, signeds[i]);
        snprintf(expected, sizeof expected, "%lld", (long long)signeds[i]);
        assert_text(&b, expected);
    }
}

/* Each writes exactly the six bytes "-12345". */
static void write_put(struct buf *b)
{
    buf_put(b, "-12345", 6);
}
static void write_i64(struct buf *b)
{
    buf_i64(b, -12345);
}
static void write_format(struct buf *b)
{
    buf_format(b, "%d", -12345);
}

static const struct {
    void (*write)(struct buf *);
    size_t cap_min, kept_below; /* below cap_min it is full, and keeps so many bytes */
} writers[] = {
    {write_put, 6, 0},
    {write_i64, 6, 1},    /* the sign is a piece of its own */
    {write_format, 7, 0}, /* the NUL of vsnprintf needs room too */
};

static void test_what_does_not_fit_is_not_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        for (size_t cap = 1; cap < 9; cap++) {
            char memory[9];
            memset(memory, '#', sizeof memory);
            struct buf b = buf_of(memory, cap);
            writers[i].write(&b);
            assert_int_equal(b.full, cap < writers[i].cap_min);
            assert_int_equal(b.len, b.full ? writers[i].kept_below : 6);
            for (size_t n = cap; n < sizeof memory; n++) assert_int_equal(memory[n], '#');
        }
}

static void test_full_stays(void **state)
{
    (void)state;
    char memory[4];
    struct buf b = buf_of(memory, sizeof memory);
    buf_lit(&b, "abc");
    assert_null(buf_take(&b, 2));
    assert_true(b.full);
    buf_char(&b, 'd'); /* would fit, but would come after a hole */
    buf_format(&b, "%s", "");
    assert_null(buf_take(&b, 0));
    assert_text(&b, "abc");
    assert_true(b.full);
}

static void test_take_reserves(void **state)
{
    (void)state;
    char memory[4];
    struct buf b = buf_of(memory, sizeof memory);
    char *first = buf_take(&b, 3), *nothing = buf_take(&b, 0), *last = buf_take(&b, 1);
    assert_ptr_equal(first, memory);
    assert_ptr_equal(nothing, memory + 3);
    assert_ptr_equal(last, memory + 3);
    assert_int_equal(b.len, 4);
    assert_false(b.full);
    assert_null(buf_take(&b, SIZE_MAX)); /* no sum may wrap around */
    assert_true(b.full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_puts_in_order),
        cmocka_unit_test(test_spans_of_every_length),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_what_does_not_fit_is_not_written),
        cmocka_unit_test(test_full_stays),
        cmocka_unit_test(test_take_reserves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
