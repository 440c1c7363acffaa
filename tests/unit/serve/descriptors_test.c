/* Who gets the descriptors where there are too few. */
#include "serve/descriptors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static const struct descriptors wanted = {10000, 256, 64};

static void shares(void **state)
{
    (void)state;
    static const struct {
        uint64_t limit, held;
        struct descriptors got;
    } rows[] = {
        {20000, 20, {10000, 256, 64}},
        {10320 + 20 + DESCRIPTORS_SPARE, 20, {10000, 256, 64}},
        {10320 + 19 + DESCRIPTORS_SPARE, 20, {9999, 256, 64}},
        {4096, 20, {4096 - 20 - DESCRIPTORS_SPARE - 256 - 64, 256, 64}},
        {1024 + DESCRIPTORS_SPARE, 24, {1000 - 125 - 62, 125, 62}},
        {64, 22 - DESCRIPTORS_SPARE, {42 - 5 - 2, 5, 2}},
        {22, 20, {1, 2, 1}},
        {0, 20, {1, 2, 1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct descriptors got = descriptors_share(rows[i].limit, rows[i].held, &wanted);
        if (got.decisions != rows[i].got.decisions || got.operations != rows[i].got.operations ||
            got.refused != rows[i].got.refused)
            fail_msg("row %zu: %u %u %u", i, got.decisions, got.operations, got.refused);
    }
    struct descriptors few = descriptors_share(64, 20, &(struct descriptors){5, 2, 1});
    assert_true(few.decisions == 5 && few.operations == 2 && few.refused == 1);
}

/* All parts together never need more than there is, where there is enough for one of each. */
static void what_is_shared_out_is_there(void **state)
{
    (void)state;
    for (uint64_t limit = 20 + DESCRIPTORS_SPARE + 4; limit < 12000; limit++) {
        struct descriptors got = descriptors_share(limit, 20, &wanted);
        assert_true(20 + DESCRIPTORS_SPARE + (uint64_t)got.decisions + got.operations +
                        got.refused <=
                    limit);
    }
}

static void the_limit_is_raised_as_far_as_may_be(void **state)
{
    (void)state;
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    rlim_t hard = before.rlim_max < 500 ? before.rlim_max : 500;
    static const struct descriptors small = {100, 50, 10}, large = {100000, 256, 64};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){100, hard}), 0);
    assert_int_equal(descriptors_raise(20, &small), 180 + DESCRIPTORS_SPARE);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(limit.rlim_cur, 180 + DESCRIPTORS_SPARE);
    assert_int_equal(descriptors_raise(10, &small), 180 + DESCRIPTORS_SPARE); /* never lowered */
    assert_int_equal(descriptors_raise(20, &large), hard);
}

static void held_ones_are_counted(void **state)
{
    (void)state;
    uint64_t held = descriptors_held();
    assert_true(held >= 1);
    int fd = dup(1);
    assert_true(fd >= 0);
    assert_int_equal(descriptors_held(), held + 1);
    close(fd);
    assert_int_equal(descriptors_held(), held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares),
        cmocka_unit_test(what_is_shared_out_is_there),
        cmocka_unit_test(held_ones_are_counted),
        cmocka_unit_test(the_limit_is_raised_as_far_as_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
