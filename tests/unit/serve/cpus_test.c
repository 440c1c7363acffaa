#include "serve/cpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void quotas(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int cpus;
    } rows[] = {
        {"max 100000\n", 0},
        {"100000 100000\n", 1},
        {"150000 100000\n", 2},
        {"200000 100000\n", 2},
        {"1000 100000\n", 1},
        {"200000\n100000\n", 2},
        {"-1\n100000\n", 0},
        {"", 0},
        {"100000", 0},
        {"100000 0", 0},
        {"x y", 0},
        {"99999999999999999999 1", 0},
        {"4000000000 1", 1024},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(cpus_quota_read(span_of(rows[i].text)), rows[i].cpus);
}

static void here(void **state)
{
    (void)state;
    assert_true(cpus_allowed() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(quotas), cmocka_unit_test(here)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
