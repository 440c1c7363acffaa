#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Around the alignment and around the size of a block, and far above it. */
static const size_t sizes[] = {0, 1, 15, 16, 17, 4096, 65520, 65535, 65536, 65537, 1u << 20};
enum { SIZES = sizeof sizes / sizeof *sizes, ROUNDS = 7 };

static void test_pieces_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, NULL);
    unsigned char *pieces[ROUNDS][SIZES];
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < SIZES; i++) {
            unsigned char *p = pieces[round][i] = arena_alloc(&a, sizes[i]);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % 16, 0);
            for (size_t n = 0; n < sizes[i]; n++)
                if (p[n]) fail_msg("byte %zu of %zu is not zero", n, sizes[i]);
            memset(p, round * SIZES + i + 1, sizes[i]);
        }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < SIZES; i++)
            for (size_t n = 0; n < sizes[i]; n++)
                if (pieces[round][i][n] != round * SIZES + i + 1)
                    fail_msg("byte %zu of %zu was overwritten", n, sizes[i]);
    arena_done(&a);
}

static void test_small_pieces_share_a_block(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, NULL);
    char *first = arena_alloc(&a, 1);
    char *second = arena_alloc(&a, 1);
    assert_ptr_equal(second, first + 16);
    assert_int_equal(a.bytes, 32);
    arena_done(&a);
}

static void test_copy_ends_in_a_nul_that_is_not_counted(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, NULL);
    char text[] = "a\0b";
    struct span copy = arena_copy(&a, (struct span){text, 3});
    text[0] = 'x';
    assert_int_equal(copy.len, 3);
    assert_memory_equal(copy.data, "a\0b", 4);

    struct span none = arena_copy(&a, (struct span){NULL, 0});
    assert_int_equal(none.len, 0);
    assert_string_equal(none.data, "");
    arena_done(&a);
}

static void test_done_leaves_an_empty_arena(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, NULL);
    assert_int_equal(a.bytes, 0);
    arena_done(&a);
    for (int i = 0; i < 3; i++) {
        arena_alloc(&a, 100000);
        assert_true(a.bytes >= 100000);
        arena_done(&a);
        assert_int_equal(a.bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_are_zeroed_aligned_and_apart),
        cmocka_unit_test(test_small_pieces_share_a_block),
        cmocka_unit_test(test_copy_ends_in_a_nul_that_is_not_counted),
        cmocka_unit_test(test_done_leaves_an_empty_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
