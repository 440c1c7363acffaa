#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Random123, kat_vectors, philox4x64 with 10 rounds. */
static const struct {
    uint64_t counter[4];
    struct hash128 key;
    uint64_t words[4];
} vectors[] = {
    {{0, 0, 0, 0},
     {0, 0},
     {0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b, 0x7e68b68aec7ba23b}},
    {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
     {UINT64_MAX, UINT64_MAX},
     {0x87b092c3013fe90b, 0x438c3c67be8d0224, 0x9cc7d7c69cd777b6, 0xa09caebf594f0ba0}},
    {{0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89},
     {0x452821e638d01377, 0xbe5466cf34e90c6c},
     {0xa528f45403e61d95, 0x38c72dbd566e9788, 0xa5a1610e72fd18b5, 0x57bd43b5e52b7fe6}},
};

static void test_known_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint64_t out[4];
        rng_philox(vectors[i].key, vectors[i].counter, out);
        assert_memory_equal(out, vectors[i].words, sizeof out);
    }
}

static void test_output_may_be_the_counter(void **state)
{
    (void)state;
    uint64_t words[4];
    memcpy(words, vectors[2].counter, sizeof words);
    rng_philox(vectors[2].key, words, words);
    assert_memory_equal(words, vectors[2].words, sizeof words);
}

static const struct rng_stream first = {0, 0};

static void test_block_counts_in_the_first_word(void **state)
{
    (void)state;
    const struct hash128 key = {1, 2};
    const uint64_t blocks[] = {0, 1, 77, UINT64_MAX};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        uint64_t block[4], whole[4];
        rng_block(key, first, blocks[i], block);
        rng_philox(key, (const uint64_t[4]){blocks[i], 0, 0, 0}, whole);
        assert_memory_equal(block, whole, sizeof block);
    }
}

static void test_stream_is_the_blocks_in_order(void **state)
{
    (void)state;
    const struct hash128 key = {0x0123456789abcdef, 0xfedcba9876543210};
    struct rng r;
    rng_init(&r, key);
    for (uint64_t block = 0; block < 5; block++) {
        uint64_t words[4];
        rng_block(key, first, block, words);
        for (int i = 0; i < 4; i++) assert_int_equal(rng_next(&r), words[i]);
    }
}

static void test_a_stream_is_two_words_of_the_counter(void **state)
{
    (void)state;
    static const struct rng_stream streams[] = {{0, 0}, {1, 0}, {0, 1},
                                                {1, 1}, {2, 0}, {UINT64_MAX, 0x0123456789abcdef}};
    enum { STREAMS = sizeof streams / sizeof *streams, BLOCKS = 3 };
    const struct hash128 key = {7, 9};
    uint64_t seen[STREAMS][BLOCKS][4];
    for (int s = 0; s < STREAMS; s++) {
        struct rng r;
        rng_init_stream(&r, key, streams[s]);
        for (uint64_t block = 0; block < BLOCKS; block++) {
            uint64_t words[4];
            const uint64_t counter[4] = {block, streams[s].purpose, streams[s].item, 0};
            rng_philox(key, counter, words);
            for (int i = 0; i < 4; i++) {
                seen[s][block][i] = rng_next(&r);
                assert_int_equal(seen[s][block][i], words[i]);
            }
        }
    }
    for (int a = 0; a < STREAMS * BLOCKS; a++)
        for (int b = 0; b < a; b++)
            assert_memory_not_equal(seen[a / BLOCKS][a % BLOCKS], seen[b / BLOCKS][b % BLOCKS],
                                    sizeof seen[0][0]);
}

static void test_both_halves_of_the_key_matter(void **state)
{
    (void)state;
    const struct hash128 keys[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
    uint64_t words[4][4];
    for (int i = 0; i < 4; i++) rng_block(keys[i], first, 0, words[i]);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++) assert_memory_not_equal(words[i], words[j], sizeof words[i]);
}

static const struct {
    uint64_t word;
    double u;
} opens[] = {
    {0, 0x1p-53},
    {0xfff, 0x1p-53}, /* the low 12 bits do not count */
    {0x1000, 0x3p-53},
    {0x7fffffffffffffff, 0x1.ffffffffffffep-2},
    {0x8000000000000000, 0x1.0000000000001p-1},
    {UINT64_MAX, 0x1.fffffffffffffp-1},
};

static void test_open01(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof opens / sizeof *opens; i++) {
        assert_true(rng_open01(opens[i].word) == opens[i].u);
        assert_true(rng_open01(~opens[i].word) == 1 - opens[i].u);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_output_may_be_the_counter),
        cmocka_unit_test(test_block_counts_in_the_first_word),
        cmocka_unit_test(test_stream_is_the_blocks_in_order),
        cmocka_unit_test(test_a_stream_is_two_words_of_the_counter),
        cmocka_unit_test(test_both_halves_of_the_key_matter),
        cmocka_unit_test(test_open01),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
