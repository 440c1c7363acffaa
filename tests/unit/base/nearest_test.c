#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/nearest.h"

static const struct span names[] = {SPAN("elapsed_s"), SPAN("tier"),   SPAN("tiers"),
                                    SPAN("car"),       SPAN("hour"),   SPAN("ads_today"),
                                    SPAN("x"),         SPAN("on"),     SPAN(""),
                                    SPAN("weekday"),   SPAN("weekend")};
enum { NAMES = sizeof names / sizeof *names };

#define SIXTY "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefgh"

static void test_nearest_name(void **state)
{
    (void)state;
    static const struct {
        const char *wanted, *nearest;
    } cases[] = {
        {"elapsed_s", "elapsed_s"},   /* itself */
        {"elapsed", "elapsed_s"},     /* two inserted */
        {"elapse", ""},               /* three */
        {"elapsed_sxy", "elapsed_s"}, /* two deleted */
        {"elapsed_sxyz", ""},         /* three */
        {"elaqsed_z", "elapsed_s"},   /* two replaced */
        {"eplased_s", "elapsed_s"},   /* one letter moved: deleted and inserted */
        {"leapsed_s", "elapsed_s"},   /* neighbours swapped */
        {"leapsed_", "elapsed_s"},    /* a swap and an insertion */
        {"leaspedx_s", ""},           /* two swaps and a deletion */
        {"Tier", "tier"},
        {"teir", "tier"},
        {"tierz", "tier"},   /* `tiers` is as near, but later */
        {"tierss", "tiers"}, /* nearer wins though later */
        {"weekdey", "weekday"},
        {"weeken", "weekend"},
        {"c", ""}, /* one letter: only itself */
        {"x", "x"},
        {"y", ""},    /* a distance as long as the word says nothing */
        {"no", "on"}, /* a swap, 1 < 2 */
        {"oo", "on"},
        {"ab", ""}, /* 2 is not less than 2 */
        {"cat", "car"},
        {"oar", "car"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct span got = nearest_name(span_of(cases[i].wanted), names, NAMES);
        if (!span_is(got, cases[i].nearest))
            fail_msg("%s: got %.*s, expected %s", cases[i].wanted, (int)got.len,
                     got.len ? got.data : "", cases[i].nearest);
    }
}

static void test_nothing_to_choose_from(void **state)
{
    (void)state;
    assert_int_equal(nearest_name(SPAN("tier"), NULL, 0).len, 0);
}

static void test_length_limit(void **state)
{
    (void)state;
    struct span name[] = {SPAN(SIXTY "123456")};
    assert_int_equal(nearest_name(SPAN(SIXTY "1234"), name, 1).len, 66);
    assert_int_equal(nearest_name(SPAN(SIXTY "12345"), name, 1).len, 0);
}

static void test_any_byte(void **state)
{
    (void)state;
    struct span name[] = {{"a\0\xff", 3}};
    assert_int_equal(nearest_name((struct span){"a\0b", 3}, name, 1).len, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest_name),
        cmocka_unit_test(test_nothing_to_choose_from),
        cmocka_unit_test(test_length_limit),
        cmocka_unit_test(test_any_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
