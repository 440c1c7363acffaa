#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* The reference implementation's vectors_sip128: key 00 01 .. 0f, message 00 01 .. of that length.
 */
static const struct {
    size_t len;
    const char *hash;
} sips[] = {
    {0, "a3817f04ba25a8e66df67214c7550293"},  {1, "da87c1d86b99af44347659119b22fc45"},
    {2, "8177228da4a45dc7fca38bdef60affe4"},  {3, "9c70b60c5267a94e5f33b6b02985ed51"},
    {4, "f88164c12d9c8faf7d0f6e7c7bcd5579"},  {5, "1368875980776f8854527a07690e9627"},
    {6, "14eeca338b208613485ea0308fd7a15e"},  {7, "a1f1ebbed8dbc153c0b84aa61ff08239"},
    {8, "3b62a9ba6258f5610f83e264f31497b4"},  {9, "264499060ad9baabc47f8b02bb6d71ed"},
    {10, "00110dc378146956c95447d3f3d0fbba"}, {11, "0151c568386b6677a2b4dc6f81e5dc18"},
    {12, "d626b266905ef35882634df68532c125"}, {13, "9869e247e9c08b10d029934fc4b952f7"},
    {14, "31fcefac66d7de9c7ec7485fe4494902"}, {15, "5493e99933b0a8117e08ec0f97cfc3d9"},
    {16, "6ee2a4ca67b054bbfd3315bf85230577"}, {17, "473d06e8738db89854c066c47ae47740"},
    {31, "2939b0183223fafc1723de4f52c43d35"}, {32, "7c3956ca5eeafc3e363e9d556546eb68"},
    {63, "5150d1772f50834a503e069a973fbd7c"},
};

/* The 16 bytes of the result, as the reference stores them. */
static void hash_text(struct hash128 h, char out[33])
{
    for (int i = 0; i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", (unsigned)((i < 8 ? h.lo : h.hi) >> 8 * (i & 7) & 0xff));
}

static void test_sip128_vectors(void **state)
{
    (void)state;
    const struct hash128 key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    char memory[65], text[33];
    for (size_t shift = 0; shift < 2; shift++) { /* alignment must not matter */
        char *message = memory + shift;
        for (int i = 0; i < 64; i++) message[i] = (char)i;
        for (size_t i = 0; i < sizeof sips / sizeof *sips; i++) {
            hash_text(hash_sip128(key, (struct span){message, sips[i].len}), text);
            assert_string_equal(text, sips[i].hash);
        }
    }
}

static void test_sip128_uses_the_whole_key(void **state)
{
    (void)state;
    const struct hash128 none = hash_sip128((struct hash128){0, 0}, SPAN("x"));
    for (int bit = 0; bit < 128; bit++) {
        struct hash128 key = {bit < 64 ? 1ull << bit : 0, bit < 64 ? 0 : 1ull << (bit - 64)};
        struct hash128 h = hash_sip128(key, SPAN("x"));
        assert_true(h.lo != none.lo && h.hi != none.hi);
    }
}

static void append(char *text, size_t *used, struct span part)
{
    for (int i = 0; i < 8; i++) text[(*used)++] = (char)((uint64_t)part.len >> 8 * i);
    if (part.len) memcpy(text + *used, part.data, part.len);
    *used += part.len;
}

static void test_framed_is_of_the_message_behind_its_length(void **state)
{
    (void)state;
    const struct hash128 key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    char message[300], whole[308];
    for (size_t i = 0; i < sizeof message; i++) message[i] = (char)(i * 7);
    for (size_t len = 0; len <= sizeof message; len++) {
        size_t used = 0;
        append(whole, &used, (struct span){message, len});
        struct hash128 a = hash_sip128_framed(key, (struct span){message, len});
        struct hash128 b = hash_sip128(key, (struct span){whole, used});
        assert_true(a.lo == b.lo && a.hi == b.hi);
    }
}

static void test_parts_are_hashed_each_behind_its_length(void **state)
{
    (void)state;
    static const struct {
        struct span parts[3];
        int count;
    } rows[] = {
        {{{"ab", 2}, {"c", 1}}, 2}, {{{"a", 1}, {"bc", 2}}, 2},          {{{"abc", 3}}, 1},
        {{{"abc", 3}, {"", 0}}, 2}, {{{"", 0}, {"ab", 2}, {"c", 1}}, 3}, {{{NULL, 0}}, 0},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    struct hash128 all[ROWS];
    for (int i = 0; i < ROWS; i++) {
        char text[64];
        size_t used = 0;
        for (int p = 0; p < rows[i].count; p++) append(text, &used, rows[i].parts[p]);
        struct hash128 h = hash_sip128((struct hash128){0, 0}, (struct span){text, used});
        all[i] = hash_parts(rows[i].parts, rows[i].count);
        assert_true(all[i].lo == h.lo && all[i].hi == h.hi);
        for (int j = 0; j < i; j++) assert_true(all[i].lo != all[j].lo && all[i].hi != all[j].hi);
    }
}

static void test_an_empty_span_may_be_null(void **state)
{
    (void)state;
    struct hash128 a = hash_sip128((struct hash128){1, 2}, (struct span){NULL, 0});
    struct hash128 b = hash_sip128((struct hash128){1, 2}, SPAN(""));
    assert_true(a.lo == b.lo && a.hi == b.hi);
    assert_int_equal(hash_murmur3_32((struct span){NULL, 0}, 1), 0x514e28b7);
}

/* Published test values of MurmurHash3_x86_32: each tail length, each sign of the bytes. */
static const struct {
    struct span message;
    uint32_t seed, hash;
} murmurs[] = {
    {{"", 0}, 0, 0},
    {{"", 0}, 1, 0x514e28b7},
    {{"", 0}, 0xffffffff, 0x81f16f39},
    {{"\0\0\0\0", 4}, 0, 0x2362f9de},
    {{"\xff\xff\xff\xff", 4}, 0, 0x76293b50},
    {{"\x21\x43\x65\x87", 4}, 0, 0xf55b516b},
    {{"\x21\x43\x65\x87", 4}, 0x5082edee, 0x2362f9de},
    {{"\x21\x43\x65", 3}, 0, 0x7e4a8634},
    {{"\x21\x43", 2}, 0, 0xa0f7b07a},
    {{"\x21", 1}, 0, 0x72661cf4},
    {{"\0\0\0", 3}, 0, 0x85f0b427},
    {{"\0\0", 2}, 0, 0x30f4c306},
    {{"\0", 1}, 0, 0x514e28b7},
    {{"aaaa", 4}, 0x9747b28c, 0x5a97808a},
    {{"abc", 3}, 0, 0xb3dd93fa},
    {{"test", 4}, 0, 0xba6bd213},
    {{"test", 4}, 0x9747b28c, 0x704b81dc},
    {{"Hello, world!", 13}, 0x9747b28c, 0x24884cba},
    {{"The quick brown fox jumps over the lazy dog", 43}, 0x9747b28c, 0x2fa826cd},
};

static void test_murmur3_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof murmurs / sizeof *murmurs; i++) {
        uint32_t hash = hash_murmur3_32(murmurs[i].message, murmurs[i].seed);
        if (hash != murmurs[i].hash) fail_msg("row %zu: %08x", i, hash);
    }
}

/* What a unit's place in an experiment is worked out from; callers rely on these numbers. */
static const struct {
    const char *message;
    uint32_t ppm;
} places[] = {
    {"adload-1/slice/u-6", 150048},
    {"adload-1/split/u-6", 57834},
    {"adload-1/slice/u-9f2", 394966},
    {"adload-1/split/u-9f2", 901757},
};

static void test_murmur3_gives_the_documented_places(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint64_t hash = hash_murmur3_32(span_of(places[i].message), 0);
        assert_int_equal(hash * 1000000 >> 32, places[i].ppm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sip128_vectors),
        cmocka_unit_test(test_sip128_uses_the_whole_key),
        cmocka_unit_test(test_framed_is_of_the_message_behind_its_length),
        cmocka_unit_test(test_parts_are_hashed_each_behind_its_length),
        cmocka_unit_test(test_an_empty_span_may_be_null),
        cmocka_unit_test(test_murmur3_vectors),
        cmocka_unit_test(test_murmur3_gives_the_documented_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
