#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What is read lies between what was read before and after it, whatever passes in between. Often
 * enough that a part of a second read wrong is seen. */
static void each_clock_is_the_system_s(void **state)
{
    (void)state;
    int good = 0;
    for (int i = 0; i < 1000; i++) {
        int64_t before = now_ns(CLOCK_MONOTONIC);
        int64_t mono = (int64_t)clock_mono_ns();
        assert_true(mono >= before && mono <= now_ns(CLOCK_MONOTONIC));
        before = now_ns(CLOCK_REALTIME);
        int64_t wall = clock_wall_us();
        good += wall >= before / 1000 && wall <= now_ns(CLOCK_REALTIME) / 1000;
    }
    assert_true(good > 990); /* somebody may set the clock meanwhile */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_clock_is_the_system_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
