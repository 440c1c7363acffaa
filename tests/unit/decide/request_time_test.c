#include "decide/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const struct {
    const char *text;
    int64_t us;
    const char *written; /* as request_time_write gives it */
} times[] = {
    {"1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00.000Z"},
    {"2026-11-30T08:00:00.123Z", 1796025600123000, "2026-11-30T08:00:00.123Z"},
    {"2026-11-30t08:00:00z", 1796025600000000, "2026-11-30T08:00:00.000Z"},
    {"2026-11-30T08:00:00.123456Z", 1796025600123456, "2026-11-30T08:00:00.123Z"},
    {"2026-11-30T08:00:00.123456999999Z", 1796025600123456, "2026-11-30T08:00:00.123Z"},
    {"2026-11-30T08:00:00.1Z", 1796025600100000, "2026-11-30T08:00:00.100Z"},
    {"2026-11-30T08:00:00.000001Z", 1796025600000001, "2026-11-30T08:00:00.000Z"},
    {"2026-11-30T08:00:00.9999999Z", 1796025600999999, "2026-11-30T08:00:00.999Z"},
    {"2026-11-30T08:00:00+00:00", 1796025600000000, "2026-11-30T08:00:00.000Z"},
    {"2026-11-30T08:00:00-00:00", 1796025600000000, "2026-11-30T08:00:00.000Z"},
    {"2026-11-30T09:30:00+01:30", 1796025600000000, "2026-11-30T08:00:00.000Z"},
    {"2026-11-30T00:00:00-08:00", 1796025600000000, "2026-11-30T08:00:00.000Z"},
    {"2026-12-01T07:59:00+23:59", 1796025600000000, "2026-11-30T08:00:00.000Z"},
    {"2026-11-30T08:00:00.5-01:00", 1796029200500000, "2026-11-30T09:00:00.500Z"},
    {"1969-12-31T23:59:59.999999Z", -1, "1969-12-31T23:59:59.999Z"},
    {"1969-12-31T23:59:59.5Z", -500000, "1969-12-31T23:59:59.500Z"},
    {"2000-02-29T00:00:00Z", 951782400000000, "2000-02-29T00:00:00.000Z"},
    {"2024-02-29T23:59:59Z", 1709251199000000, "2024-02-29T23:59:59.000Z"},
    {"2024-03-01T00:00:00Z", 1709251200000000, "2024-03-01T00:00:00.000Z"},
    {"1900-03-01T00:00:00Z", -2203891200000000, "1900-03-01T00:00:00.000Z"},
    {"2016-12-31T23:59:60Z", 1483228800000000, "2017-01-01T00:00:00.000Z"},
    {"2016-12-31T23:59:60.25Z", 1483228800250000, "2017-01-01T00:00:00.250Z"},
    {"0000-01-01T00:00:00Z", -62167219200000000, "0000-01-01T00:00:00.000Z"},
    {"0000-02-29T12:00:00Z", -62162078400000000, "0000-02-29T12:00:00.000Z"},
    {"9999-12-31T23:59:59.999999Z", 253402300799999999, "9999-12-31T23:59:59.999Z"},
};

static void test_read_and_write(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        int64_t us = 42;
        char text[32];
        struct buf b = buf_of(text, sizeof text);
        if (!request_time_read(span_of(times[i].text), &us) || us != times[i].us)
            fail_msg("%s: %lld", times[i].text, (long long)us);
        request_time_write(&b, us);
        if (b.full || !span_is(buf_text(&b), times[i].written))
            fail_msg("%s: %.*s", times[i].text, (int)b.len, text);
    }
}

static const char *const none[] = {
    "",
    "2026",
    "2026-11-30",
    "2026-11-30T08:00:00",
    "2026-11-30T08:00Z",
    "2026-11-30 08:00:00Z",
    " 2026-11-30T08:00:00Z",
    "2026-11-30T08:00:00Z ",
    "2026-11-30T08:00:00ZZ",
    "2026-11-30T08:00:00.Z",
    "2026-11-30T08:00:00,5Z",
    "2026-11-30T08:00:00.5",
    "2026-11-30T08:00:00.-5Z",
    "2026-11-30T08:00:00+0100",
    "2026-11-30T08:00:00+01",
    "2026-11-30T08:00:00+01:",
    "2026-11-30T08:00:00+01:0",
    "2026-11-30T08:00:00+01:000",
    "2026-11-30T08:00:00+24:00",
    "2026-11-30T08:00:00+01:60",
    "2026-11-30T08:00:00+01:30Z",
    "2026-11-30T08:00:00+",
    "2026-11-30T08:00:00+x1:00",
    "2026-11-30T08:00:00+1x:00",
    "2026-11-30T08:00:00+01:x0",
    "2026-11-30T08:00:00+01:0x",
    "2026-11-30T08:00:00+01",
    "2026-11-30T08:00:00+01:",
    "2026-11-30T08:00:00+01:0",
    "2026-11-30T08:00:00+01.00",
    "2026-11-30T24:00:00Z",
    "2026-11-30T08:60:00Z",
    "2026-11-30T08:00:60Z", /* no leap second: it is not the end of a day, UTC */
    "2026-11-30T23:59:60+01:00",
    "2026-11-30T08:00:61Z",
    "2026-11-31T08:00:00Z",
    "2026-13-01T08:00:00Z",
    "2026-00-01T08:00:00Z",
    "2026-01-00T08:00:00Z",
    "2026-01-32T08:00:00Z",
    "2025-02-29T08:00:00Z",
    "1900-02-29T08:00:00Z",
    "26-11-30T08:00:00.000Z",
    "+2026-11-30T08:00:00Z",
    "-026-11-30T08:00:00Z",
    "2026/11/30T08:00:00Z",
    "2026-11-30T08.00.00Z",
    "2026-1-030T08:00:00Z",
    "20261130T080000Z.....",
    "2026-11-30T08:00:0\xd9\xa0Z",
    "1796025600",
    "Mon, 30 Nov 2026 08:00:00 GMT",
    "now",
};

static void test_no_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        int64_t us = 42;
        if (request_time_read(span_of(none[i]), &us)) fail_msg("<%s>", none[i]);
        assert_int_equal(us, 42);
    }
    int64_t us;
    assert_false(request_time_read((struct span){NULL, 0}, &us));
    assert_false(request_time_read(SPAN("2026-11-30T08:00:00\0Z"), &us));
}

/* Times that RFC 3339 can write, in a year that it cannot once they are turned to UTC. */
static void test_years_that_an_answer_cannot_tell(void **state)
{
    (void)state;
    int64_t us = 42;
    assert_false(request_time_read(SPAN("0000-01-01T00:00:00+00:01"), &us));
    assert_false(request_time_read(SPAN("9999-12-31T23:59:59-00:01"), &us));
    assert_false(request_time_read(SPAN("9999-12-31T23:59:60Z"), &us));
    assert_int_equal(us, 42);
    assert_true(request_time_read(SPAN("0000-01-01T00:01:00+00:01"), &us));
    assert_true(request_time_read(SPAN("9999-12-31T23:58:59-00:01"), &us));
}

/* Every cut of a time, at its exact size, is read within its bounds. */
static void test_cut_times(void **state)
{
    (void)state;
    static const char whole[] = "2026-11-30T08:00:00.123456+01:30";
    for (size_t len = 0; len < sizeof whole - 1; len++) {
        char *cut = test_malloc(len ? len : 1);
        memcpy(cut, whole, len);
        int64_t us;
        assert_false(request_time_read((struct span){cut, len}, &us));
        test_free(cut);
    }
}

/* Counts the days from the first of `year`, which is `us`, by the calendar's own rule. */
static void check_days(int year, int year_end, int64_t us)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    for (; year < year_end; year++) {
        bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        for (int month = 1; month <= 12; month++)
            for (int day = 1; day <= lengths[month - 1] + (leap && month == 2); day++) {
                char expected[64], text[32];
                snprintf(expected, sizeof expected, "%04d-%02d-%02dT00:00:00.000Z", year, month,
                         day);
                struct buf b = buf_of(text, sizeof text);
                request_time_write(&b, us);
                int64_t back = 42;
                if (!span_is(buf_text(&b), expected) || !request_time_read(buf_text(&b), &back) ||
                    back != us)
                    fail_msg("%s: %.*s", expected, (int)b.len, text);
                us += INT64_C(86400000000);
            }
    }
}

static void test_every_day_round_trips(void **state)
{
    (void)state;
    check_days(0, 410, -62167219200000000);
    check_days(1890, 2110, -2524521600000000);
    check_days(9590, 10000, 240463987200000000);
}

static void test_write_to_what_is_full(void **state)
{
    (void)state;
    char text[24];
    struct buf b = buf_of(text, 23);
    request_time_write(&b, 0);
    assert_true(b.full);
    assert_int_equal(b.len, 0);
    b = buf_of(text, 24);
    request_time_write(&b, 0);
    assert_false(b.full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_and_write),
        cmocka_unit_test(test_no_times),
        cmocka_unit_test(test_years_that_an_answer_cannot_tell),
        cmocka_unit_test(test_cut_times),
        cmocka_unit_test(test_every_day_round_trips),
        cmocka_unit_test(test_write_to_what_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
