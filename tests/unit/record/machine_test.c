#include "record/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static void steal_is_the_eighth_number(void **state)
{
    (void)state;
    static const struct {
        struct span stat;
        long ticks;
        int64_t us;
    } rows[] = {
        {SPAN("cpu  1 2 3 4 5 6 7 167 9 10\ncpu0 1 2 3 4 5 6 7 8\n"), 100, 1670000},
        {SPAN("cpu  1 2 3 4 5 6 7 0\n"), 100, 0},
        {SPAN("intr 1\ncpu  1 2 3 4 5 6 7 3 0 0"), 1000, 3000},
        {SPAN("cpu  1 2 3 4 5 6 7\n"), 100, MACHINE_UNKNOWN},
        {SPAN("cpu0 1 2 3 4 5 6 7 8\n"), 100, MACHINE_UNKNOWN},
        {SPAN("cpu  1 2 3 4 5 6 7 99999999999999999999\n"), 100, MACHINE_UNKNOWN},
        {SPAN(""), 100, MACHINE_UNKNOWN},
        {SPAN("cpu  1 2 3 4 5 6 7 8\n"), 0, MACHINE_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(disturbance_steal_us(rows[i].stat, rows[i].ticks), rows[i].us);
}

static void throttling_in_both_versions(void **state)
{
    (void)state;
    static const struct {
        struct span text;
        int64_t us;
    } rows[] = {
        {SPAN("usage_usec 5\nnr_periods 1\nnr_throttled 2\nthrottled_usec 1234\n"), 1234},
        {SPAN("nr_periods 1\nnr_throttled 2\nthrottled_time 1234567\n"), 1234},
        {SPAN("nr_periods 1\nnr_throttled 2\n"), MACHINE_UNKNOWN},
        {SPAN("throttled_usec \n"), MACHINE_UNKNOWN},
        {SPAN("throttled_usec x\n"), MACHINE_UNKNOWN},
        {SPAN(""), MACHINE_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(disturbance_throttled_us(rows[i].text), rows[i].us);
}

static void growth_is_told_or_unknown(void **state)
{
    (void)state;
    struct disturbance early = {100, 20}, late = {150, MACHINE_UNKNOWN};
    struct disturbance grown = disturbance_since(late, early);
    assert_int_equal(grown.steal_us, 50);
    assert_int_equal(grown.throttled_us, MACHINE_UNKNOWN);
    /* A counter that went back (a container moved to another host) is no negative disturbance. */
    assert_int_equal(disturbance_since(early, late).steal_us, 0);
}

static void this_machine_is_told(void **state)
{
    (void)state;
    struct machine m;
    machine_read(&m);
    assert_true(m.cores > 0);
    assert_true(strncmp(m.kernel, "Linux ", 6) == 0 && strlen(m.kernel) > 6);
    assert_null(strchr(m.clock_source, '\n'));
    struct disturbance first, then;
    disturbance_read(&first);
    disturbance_read(&then);
    assert_true(disturbance_since(then, first).steal_us >= MACHINE_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steal_is_the_eighth_number),
        cmocka_unit_test(throttling_in_both_versions),
        cmocka_unit_test(growth_is_told_or_unknown),
        cmocka_unit_test(this_machine_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
