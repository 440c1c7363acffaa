#include "lab/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static void durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        uint64_t ns;
    } rows[] = {
        {"10s", true, 10000000000},
        {"1.5ms", true, 1500000},
        {"250us", true, 250000},
        {"7ns", true, 7},
        {"2m", true, 120000000000},
        {"1h", true, 3600000000000},
        {"0s", true, 0},
        {"1e3ms", true, 1000000000},
        {"0.1ns", true, 0},
        {"10", false, 0},
        {"s", false, 0},
        {"", false, 0},
        {"-1s", false, 0},
        {"1 s", false, 0},
        {"1s ", false, 0},
        {"1d", false, 0},
        {"1e300s", false, 0},
        {"1e999s", false, 0},
        {"nans", false, 0},
        {"87601h", false, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t ns = 77;
        bool good = quantity_duration(rows[i].text, &ns);
        if (good != rows[i].good || ns != (good ? rows[i].ns : 77)) fail_msg("%s", rows[i].text);
    }
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool number, integer; /* from 1 to 100 */
    } rows[] = {
        {"1", true, true},     {"100", true, true},  {"101", true, false},    {"0", true, false},
        {"1.5", true, false},  {"2e1", true, true},  {"", false, false},      {"x", false, false},
        {"1x", false, false},  {"-1", false, false}, {"1e999", false, false}, {" 1", false, false},
        {"1e30", true, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double number;
        int64_t integer;
        if (quantity_number(rows[i].text, &number) != rows[i].number ||
            quantity_integer(rows[i].text, 1, 100, &integer) != rows[i].integer)
            fail_msg("%s", rows[i].text);
    }
}

static void printing(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } rows[] = {
        {0, "0 ns"},           {999, "999 ns"},        {1000, "1.00 us"},
        {9994, "9.99 us"},     {9995, "10.0 us"},      {99940, "99.9 us"},
        {99960, "100 us"},     {412345, "412 us"},     {999499, "999 us"},
        {999500, "1.00 ms"},   {9310000, "9.31 ms"},   {999499999, "999 ms"},
        {999500000, "1.00 s"}, {2500000000, "2.50 s"}, {123456000000, "123 s"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[QUANTITY_TEXT_MAX];
        assert_string_equal(quantity_print_ns(text, rows[i].ns), rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations),
        cmocka_unit_test(numbers),
        cmocka_unit_test(printing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
