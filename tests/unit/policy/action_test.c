#include "policy/action.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Out of order, with equals: three pods of two ads, of which `b` stands first. */
static struct action_table table_mixed(void)
{
    static const struct {
        const char *name;
        int ads;
    } rows[] = {{"big", 5}, {"b", 2}, {"zero", 0}, {"a", 2}, {"one", 1}, {"c", 2}};
    struct action_table table;
    memset(&table, 0xa5, sizeof table);
    table.count = 6;
    for (int i = 0; i < table.count; i++)
        table.actions[i] = (struct action){span_of(rows[i].name), rows[i].ads, 0, 0};
    action_table_finish(&table);
    return table;
}

enum { BIG = 1, B = 2, ZERO = 4, A = 8, ONE = 16, C = 32, EVERY = 63 };

static void test_sets(void **state)
{
    (void)state;
    for (int i = 0; i < ACTIONS_MAX; i++) {
        assert_int_equal(action_bit(i), 1 << i);
        for (int j = 0; j < ACTIONS_MAX; j++) assert_int_equal(action_in(action_bit(i), j), i == j);
    }
    assert_int_equal(action_count(0), 0);
    assert_int_equal(action_count(0xffff), 16);
    assert_int_equal(action_count(ZERO | C), 2);
}

static void test_finish_orders_by_ads_and_keeps_plan_order_among_equals(void **state)
{
    (void)state;
    struct action_table table = table_mixed();
    const uint8_t by_ads[] = {2, 4, 1, 3, 5, 0};
    assert_memory_equal(table.by_ads, by_ads, sizeof by_ads);
    assert_int_equal(table.no_ads, 2);
    assert_int_equal(table.with_ads, EVERY & ~ZERO);

    action_table_finish(&table);
    assert_memory_equal(table.by_ads, by_ads, sizeof by_ads);
    assert_int_equal(table.with_ads, EVERY & ~ZERO);
}

static void test_finish_takes_sixteen(void **state)
{
    (void)state;
    struct action_table table = {.count = ACTIONS_MAX};
    for (int i = 0; i < ACTIONS_MAX; i++)
        table.actions[i] = (struct action){SPAN("x"), ACTIONS_MAX - 1 - i, 0, 0};
    action_table_finish(&table);
    assert_int_equal(table.no_ads, 15);
    assert_int_equal(table.with_ads, 0x7fff);
    for (int i = 0; i < ACTIONS_MAX; i++) assert_int_equal(table.by_ads[i], 15 - i);
}

static void test_find(void **state)
{
    (void)state;
    struct action_table table = table_mixed();
    static const struct {
        struct span name;
        int found;
    } rows[] = {
        {{"big", 3}, 0}, {{"b", 1}, 1},   {{"zero", 4}, 2},  {{"c", 1}, 5},  {{"", 0}, -1},
        {{NULL, 0}, -1}, {{"bi", 2}, -1}, {{"bigg", 4}, -1}, {{"B", 1}, -1}, {{"b\0", 2}, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(action_find(&table, rows[i].name), rows[i].found);
}

static void test_heavier(void **state)
{
    (void)state;
    struct action_table table = table_mixed();
    static const struct {
        int ads;
        action_set set;
    } rows[] = {{-1, EVERY}, {0, EVERY & ~ZERO}, {1, BIG | A | B | C}, {2, BIG}, {4, BIG},
                {5, 0},      {ADS_MAX, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(action_heavier(&table, rows[i].ads), rows[i].set);
}

static void test_at_counts_by_ads(void **state)
{
    (void)state;
    struct action_table table = table_mixed();
    static const struct {
        action_set set;
        int place, action;
    } rows[] = {
        {EVERY, 0, 2},       {EVERY, 1, 4},       {EVERY, 2, 1},   {EVERY, 3, 3},
        {EVERY, 4, 5},       {EVERY, 5, 0},       {EVERY, 6, 0},   {EVERY, 99, 0},
        {ZERO, 0, 2},        {ZERO, 1, 2},        {BIG | C, 0, 5}, {BIG | C, 1, 0},
        {BIG | C | A, 0, 3}, {BIG | C | A, 1, 5}, {BIG, 0, 0},     {BIG, 7, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (action_at(&table, rows[i].set, rows[i].place) != rows[i].action)
            fail_msg("set %x, place %d", rows[i].set, rows[i].place);
}

static void test_at_most(void **state)
{
    (void)state;
    struct action_table table = table_mixed();
    static const struct {
        action_set set;
        int ads, action;
    } rows[] = {
        {EVERY, 0, 2},          {EVERY, 1, 4},      {EVERY, 2, 1},      {EVERY, 4, 1},
        {EVERY, 5, 0},          {EVERY, 100, 0},    {EVERY & ~B, 2, 3}, {EVERY & ~(A | B), 2, 5},
        {ZERO | BIG, 4, 2},     {ZERO | BIG, 5, 0}, {ZERO, 100, 2},     {BIG, 4, 2},
        {ZERO | ONE | C, 1, 4}, {0, 100, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (action_at_most(&table, rows[i].set, rows[i].ads) != rows[i].action)
            fail_msg("set %x, at most %d", rows[i].set, rows[i].ads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_finish_orders_by_ads_and_keeps_plan_order_among_equals),
        cmocka_unit_test(test_finish_takes_sixteen),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_heavier),
        cmocka_unit_test(test_at_counts_by_ads),
        cmocka_unit_test(test_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
