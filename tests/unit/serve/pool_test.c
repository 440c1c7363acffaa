#include "serve/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void sizes(void **state)
{
    (void)state;
    static const struct {
        size_t need, cap;
    } rows[] = {
        {1, 1024},       {1024, 1024},     {1025, 4096},     {4097, 16384},    {16385, 65536},
        {65537, 131072}, {131072, 131072}, {131073, 131073}, {300000, 300000},
    };
    struct pool p;
    pool_init(&p, 1 << 20);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pool_buf b = {0};
        assert_true(pool_take(&p, rows[i].need, &b));
        assert_int_equal(b.cap, rows[i].cap);
        memset(b.data, 1, b.cap);
        pool_give(&p, &b);
        assert_null(b.data);
        assert_int_equal(b.cap, 0);
    }
    pool_done(&p);
}

static void given_back_is_taken_again(void **state)
{
    (void)state;
    struct pool p;
    struct pool_buf a = {0}, b = {0};
    pool_init(&p, 1 << 20);
    assert_true(pool_take(&p, 2000, &a));
    char *first = a.data;
    pool_give(&p, &a);
    size_t bytes = p.bytes;
    assert_true(pool_take(&p, 3000, &a));
    assert_ptr_equal(a.data, first);
    assert_true(pool_take(&p, 3000, &b));
    assert_ptr_not_equal(b.data, first);
    assert_int_equal(p.bytes, bytes + 4096);
    pool_give(&p, &a);
    pool_give(&p, &b);
    pool_give(&p, &b);
    pool_done(&p);
}

static void large_ones_are_not_kept(void **state)
{
    (void)state;
    struct pool p;
    struct pool_buf b = {0};
    pool_init(&p, 1 << 20);
    assert_true(pool_take(&p, 500000, &b));
    assert_int_equal(p.bytes, 500000);
    pool_give(&p, &b);
    assert_int_equal(p.bytes, 0);
    pool_done(&p);
}

static void limit(void **state)
{
    (void)state;
    struct pool p;
    struct pool_buf kept[4] = {{0}}, b = {0};
    pool_init(&p, 4 * 4096);
    for (int i = 0; i < 4; i++) assert_true(pool_take(&p, 4096, &kept[i]));
    assert_false(pool_take(&p, 1, &b));
    assert_null(b.data);
    pool_give(&p, &kept[0]);
    /* What is kept in another size makes room. */
    assert_true(pool_take(&p, 1, &b));
    assert_int_equal(b.cap, 1024);
    assert_false(pool_take(&p, 4096, &kept[0]));
    assert_false(pool_take(&p, (size_t)-1, &kept[0]));
    pool_give(&p, &b);
    for (int i = 0; i < 4; i++) pool_give(&p, &kept[i]);
    pool_done(&p);
}

static void what_is_not_needed_goes_back(void **state)
{
    (void)state;
    enum { COUNT = 10 };
    struct pool p;
    struct pool_buf all[COUNT] = {{0}};
    pool_init(&p, 1 << 20);
    for (int i = 0; i < COUNT; i++) assert_true(pool_take(&p, 4096, &all[i]));
    for (int i = 0; i < COUNT; i++) pool_give(&p, &all[i]);
    pool_age(&p); /* they were needed since the last time */
    assert_int_equal(p.bytes, COUNT * 4096);
    for (int i = 0; i < 3; i++) assert_true(pool_take(&p, 4096, &all[i]));
    for (int i = 0; i < 3; i++) pool_give(&p, &all[i]);
    pool_age(&p); /* three were */
    assert_int_equal(p.bytes, 3 * 4096);
    pool_age(&p);
    pool_age(&p); /* one of each size stays */
    assert_int_equal(p.bytes, 4096);
    pool_done(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(given_back_is_taken_again),
        cmocka_unit_test(large_ones_are_not_kept),
        cmocka_unit_test(limit),
        cmocka_unit_test(what_is_not_needed_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
