#include "wire/json_write.h"

#include "base/decimal.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static void strings(void **state)
{
    (void)state;
    static const struct {
        struct span text, json;
    } rows[] = {
        {SPAN(""), SPAN("\"\"")},
        {SPAN("a"), SPAN("\"a\"")},
        {SPAN("exactly8"), SPAN("\"exactly8\"")},
        {SPAN("seconds_since_last_break_end"), SPAN("\"seconds_since_last_break_end\"")},
        {SPAN("\""), SPAN("\"\\\"\"")},
        {SPAN("a \"quoted\" word and a \\"), SPAN("\"a \\\"quoted\\\" word and a \\\\\"")},
        {SPAN("/"), SPAN("\"/\"")},
        {SPAN("\b\f\n\r\t"), SPAN("\"\\b\\f\\n\\r\\t\"")},
        {SPAN("\0\1\x1f\x7f"), SPAN("\"\\u0000\\u0001\\u001f\x7f\"")},
        {SPAN("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
         SPAN("\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"")},
        {SPAN("\xff"), SPAN("\"\xef\xbf\xbd\"")},
        {SPAN("a\xc3"), SPAN("\"a\xef\xbf\xbd\"")},
        {SPAN("\xc3z"), SPAN("\"\xef\xbf\xbdz\"")},
        {SPAN("\xc0\x80"), SPAN("\"\xef\xbf\xbd\xef\xbf\xbd\"")},
        {SPAN("\xed\xa0\x80"), SPAN("\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"")},
        {SPAN("\xe2\x82\""), SPAN("\"\xef\xbf\xbd\xef\xbf\xbd\\\"\"")},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char memory[200];
        struct buf b = buf_of(memory, sizeof memory);
        json_write_string(&b, rows[i].text);
        assert_false(b.full);
        if (!span_equal(buf_text(&b), rows[i].json))
            fail_msg("row %zu: %.*s", i, (int)b.len, b.data);
    }
    char memory[8];
    struct buf b = buf_of(memory, sizeof memory);
    json_write_string(&b, (struct span){NULL, 0});
    assert_true(span_is(buf_text(&b), "\"\""));
}

/* For people: what a terminal or a reader of lines would not take as text is escaped too. */
static void printed_strings(void **state)
{
    (void)state;
    static const struct {
        struct span text, json;
    } rows[] = {
        {SPAN(""), SPAN("\"\"")},
        {SPAN("plain and long enough for sixteen"), SPAN("\"plain and long enough for sixteen\"")},
        {SPAN("\x7f"), SPAN("\"\\u007f\"")},
        {SPAN("a\x7f"
              "b\x7f\"\n"),
         SPAN("\"a\\u007fb\\u007f\\\"\\n\"")},
        {SPAN("\xc2\x80\xc2\x85\xc2\x9b"
              "2J\xc2\x9f\xc2\xa0"),
         SPAN("\"\\u0080\\u0085\\u009b2J\\u009f\xc2\xa0\"")},
        {SPAN("\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaf"),
         SPAN("\"\xe2\x80\xa7\\u2028\\u2029\xe2\x80\xaf\"")},
        {SPAN("\xe2\x80\xaa\xe2\x80\xae\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c"),
         SPAN("\"\\u202a\\u202e\\u200e\\u200f\\u061c\"")},
        {SPAN("\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa"),
         SPAN("\"\xe2\x81\xa5\\u2066\\u2069\xe2\x81\xaa\"")},
        {SPAN("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
         SPAN("\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"")},
        {SPAN("\x85\xc2"), SPAN("\"\xef\xbf\xbd\xef\xbf\xbd\"")},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char memory[200];
        struct buf b = buf_of(memory, sizeof memory);
        json_write_printed(&b, rows[i].text);
        assert_false(b.full);
        if (!span_equal(buf_text(&b), rows[i].json))
            fail_msg("row %zu: %.*s", i, (int)b.len, b.data);
    }
}

static void keys(void **state)
{
    (void)state;
    char memory[100];
    struct buf b = buf_of(memory, sizeof memory);
    json_write_key(&b, SPAN("first of all"));
    buf_char(&b, '{');
    json_write_key(&b, SPAN("a"));
    buf_char(&b, '1');
    json_write_key(&b, SPAN("b\n"));
    buf_char(&b, '{');
    json_write_key(&b, SPAN(""));
    json_write_string(&b, SPAN("{"));
    json_write_key(&b, SPAN("c"));
    assert_true(span_is(buf_text(&b), "\"first of all\":{\"a\":1,\"b\\n\":{\"\":\"{\",\"c\":"));
}

/* Too small by any number of bytes: full, and nothing outside is touched. */
static void full_bufs(void **state)
{
    (void)state;
    for (int what = 0; what < 3; what++) {
        for (size_t cap = 0; cap <= 16; cap++) {
            char memory[32];
            memset(memory, '#', sizeof memory);
            struct buf b = buf_of(memory, cap);
            if (what == 0) json_write_string(&b, SPAN("12345678901234"));
            if (what == 1)
                json_write_string(&b, SPAN("a\nb\"c\xc3\xa9"
                                           "def"));
            if (what == 2) json_write_double(&b, -1.234567890123e-5);
            size_t needed = what == 0 ? 16 : what == 1 ? 14 : 19;
            assert_int_equal(b.full, cap < needed);
            assert_true(b.len <= cap);
            for (size_t i = cap; i < sizeof memory; i++) assert_int_equal(memory[i], '#');
        }
    }
}

static size_t write_double(char *memory, size_t cap, double value)
{
    struct buf b = buf_of(memory, cap - 1);
    json_write_double(&b, value);
    assert_false(b.full);
    memory[b.len] = 0;
    return b.len;
}

static void doubles(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *json;
    } rows[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-1, "-1"},
        {0.5, "0.5"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {2.0 / 3, "0.6666666666666666"},
        {100, "100"},
        {123.456, "123.456"},
        {-1234567.875, "-1234567.875"},
        {0.000001, "0.000001"},
        {0.0000012, "0.0000012"},
        {1e-7, "1e-7"},
        {1.5e-7, "1.5e-7"},
        {0x1p53, "9007199254740992"},
        {1e20, "100000000000000000000"},
        {123456789012345680000.0, "123456789012345680000"},
        {1e21, "1e+21"},
        {1.5e300, "1.5e+300"},
        {1e23, "1e+23"},
        {9.5e-200, "9.5e-200"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {0x1p-1074, "5e-324"},
        {0x1p-1073, "1e-323"},
        {0x3p-1074, "1.5e-323"},
        /* Just above a power of two the nearest decimal of this length does not read back. */
        {0x1p-44, "5.684341886080802e-14"},
        {0x1p-24, "5.960464477539063e-8"},
        {9.5367431640625e-7, "9.5367431640625e-7"},
        {0.99999999999999989, "0.9999999999999999"},
        {HUGE_VAL, "null"},
        {-HUGE_VAL, "null"},
        {NAN, "null"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char json[40];
        write_double(json, sizeof json, rows[i].value);
        if (strcmp(json, rows[i].json) != 0) fail_msg("%s, expected %s", json, rows[i].json);
    }
}

static size_t significant_digits(const char *json)
{
    size_t count = 0, zeros = 0;
    for (; *json && *json != 'e'; json++) {
        if (*json < '0' || *json > '9') continue;
        if (*json == '0') {
            zeros += count > 0;
        } else {
            count += zeros + 1;
            zeros = 0;
        }
    }
    return count;
}

/* Each reads back as the same bits; and no decimal with one digit less, of the two around the
 * value, does. */
static void random_doubles(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = random ^ random >> 29;
        if (i % 8 == 0) bits &= ~(uint64_t)0xfffffffffffff; /* powers of two */
        if (i % 8 == 1) bits &= ~(uint64_t)0xfff << 52;     /* subnormals */
        double value;
        memcpy(&value, &bits, sizeof value);
        if (i % 8 >= 5) value = (double)(random >> 40) / 1000;
        if (!isfinite(value) || value == 0) continue;
        value = fabs(value);

        char json[40], shorter[40];
        size_t len = write_double(json, sizeof json, value);
        struct decimal d;
        assert_int_equal(decimal_read((struct span){json, len}, &d), len);
        if (d.value != value) fail_msg("%a came out as %s", value, json);

        size_t digits = significant_digits(json);
        if (digits < 2) continue;
        snprintf(shorter, sizeof shorter, "%.*e", (int)digits - 2, value);
        if (strtod(shorter, NULL) == value) fail_msg("%s is longer than %s", json, shorter);
        snprintf(shorter, sizeof shorter, "%.*e", (int)digits - 1, value);
        if (strtod(shorter, NULL) == value && strtod(json, NULL) != strtod(shorter, NULL))
            fail_msg("%s is farther than %s", json, shorter);
    }
}

/* Any machine has the C locale, and hardly one a locale with a decimal comma. So this makes one:
 * glibc's compiled LC_NUMERIC (locale/localeinfo.h: magic, count, offsets, texts) is 50 bytes. */
static bool set_decimal_comma(const char *dir)
{
    static const unsigned char numeric[50] = {
        0x14, 0x11, 0x03, 0x20, 6, 0, 0, 0,  32, 0, 0,   0,   34,  0,   0,   0,   35,
        0,    0,    0,    36,   0, 0, 0, 40, 0,  0, 0,   44,  0,   0,   0,   ',', 0,
        0,    0,    ',',  0,    0, 0, 0, 0,  0,  0, 'U', 'T', 'F', '-', '8', 0,
    };
    char path[200];
    snprintf(path, sizeof path, "%s/comma", dir);
    if (mkdir(path, 0700) != 0) return false;
    snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", dir);
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    fwrite(numeric, 1, sizeof numeric, f);
    fclose(f);
    bool set = setenv("LOCPATH", dir, 1) == 0 && setlocale(LC_NUMERIC, "comma") != NULL;
    unlink(path);
    snprintf(path, sizeof path, "%s/comma", dir);
    rmdir(path);
    return set;
}

/* Neither direction may follow the locale's decimal point. */
static void decimal_comma(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    char dir[150];
    snprintf(dir, sizeof dir, "%s/json_write_test.XXXXXX", parent ? parent : "/tmp");
    assert_non_null(mkdtemp(dir));
    bool set = set_decimal_comma(dir);
    rmdir(dir);
    if (!set) {
        print_message("skipped: the C library takes no locale of ours\n");
        skip();
    }

    char json[40], printed[40];
    struct decimal d;
    snprintf(printed, sizeof printed, "%.1f", 0.5);
    write_double(json, sizeof json, 1234.5678);
    size_t read = decimal_read(SPAN("1234.5678"), &d);
    setlocale(LC_ALL, "C");
    assert_string_equal(printed, "0,5");
    assert_string_equal(json, "1234.5678");
    assert_int_equal(read, 9);
    assert_true(d.value == 1234.5678);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings),       cmocka_unit_test(printed_strings),
        cmocka_unit_test(keys),          cmocka_unit_test(full_bufs),
        cmocka_unit_test(doubles),       cmocka_unit_test(random_doubles),
        cmocka_unit_test(decimal_comma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
