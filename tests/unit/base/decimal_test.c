/* decimal_read against tables, and against the C library's strtod, which is correctly rounded in
 * glibc and musl, on numbers that are hard to round. */
#include "base/decimal.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* splitmix64: any stream will do, as long as it is the same every time. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void same_as_strtod(const char *text, size_t len)
{
    struct decimal d;
    size_t read = decimal_read((struct span){text, len}, &d);
    double expected = strtod(text, NULL);
    if (read != len || bits_of(d.value) != bits_of(expected))
        fail_msg("%.60s... (%zu bytes): read %zu, %a, expected %a", text, len, read, d.value,
                 expected);
}

static void lengths(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {
        {"", 0},
        {"-", 0},
        {"+1", 0},
        {".5", 0},
        {"-.5", 0},
        {"0", 1},
        {"-0", 2},
        {"00", 0},
        {"01", 0},
        {"-01", 0},
        {"0.", 0},
        {"1.", 0},
        {"1.e1", 0},
        {"1.x", 0},
        {"1e", 0},
        {"1e+", 0},
        {"1e-", 0},
        {"1ex", 0},
        {"1e+-1", 0},
        {"1E5", 3},
        {"1e+05", 5},
        {"1e-0", 4},
        {"0.0", 3},
        {"0e0", 3},
        {"0.10", 4},
        {"12,", 2},
        {"12 ", 2},
        {"12x", 2},
        {"1.5.3", 3},
        {"1.5e3e4", 5},
        {"1-2", 1},
        {"0x10", 1},
        {"1_000", 1},
        {"NaN", 0},
        {"inf", 0},
        {"1/", 1},
        {"1:", 1},
        {"1.0/", 3},
        {"1.0:", 3},
        {" 1", 0},
        {"0.12345678", 10},
        {"0.1234567/", 9},
        {"0.1234567:", 9},
        {"0.123456789012345678e-12]", 24},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct span text = span_of(rows[i].text);
        struct decimal d = {.value = 42, .integral = true, .integer = 42};
        size_t read = decimal_read(text, &d);
        if (read != rows[i].length || decimal_length(text) != rows[i].length)
            fail_msg("'%s': %zu and %zu, expected %zu", rows[i].text, read, decimal_length(text),
                     rows[i].length);
        if (read == 0) assert_true(d.value == 42 && d.integral && d.integer == 42);
    }
    struct decimal d;
    assert_int_equal(decimal_read((struct span){NULL, 0}, &d), 0);
}

/* The span ends before the text does: nothing behind it may be read. */
static void ends_where_the_span_ends(void **state)
{
    (void)state;
    static const char text[] = "12345678901234567890.12345678901234567890e+12";
    for (size_t len = 0; len < sizeof text; len++) {
        char *exact = malloc(len ? len : 1);
        assert_non_null(exact);
        memcpy(exact, text, len);
        bool whole = len > 0 && len != 21 && !(len == 42 || len == 43);
        struct decimal d;
        assert_int_equal(decimal_read((struct span){exact, len}, &d), whole ? len : 0);
        free(exact);
    }
}

static void values(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "0",
        "-0",
        "0.0",
        "-0.0e5",
        "0e999999999999999999999999",
        "1",
        "-1",
        "123456789",
        "0.1",
        "0.2",
        "0.3",
        "1e22",
        "1e23",
        "-1e23",
        "9007199254740991",
        "9007199254740992",
        "9007199254740993",
        "9007199254740993.0000000000000000000000000000000000000001",
        "9007199254740992.9999999999999999999999999999999999999999",
        "9007199254740995",
        "9007199254740993e0",
        "900719925474099300000e-5",
        "18446744073709551615",
        "18446744073709551616",
        "9999999999999999999",
        "99999999999999999999",
        "0.012345678901234567",
        "0.0012345678901234567",
        "0.10000000000000000555",
        "0.00000000000000000000000000000000000001234567890123456789012345",
        "2.2250738585072014e-308",
        "2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "2.225073858507201136057409796709131975934819546351645648023426109724822222021076945516529"
        "523908135087914149158913039621106870086438694594645527657207407820621743379988141063267329"
        "253552286881372149012981122451451889849057222307285255133155755015914397476397983411801999"
        "323962548289017107081850690630666655994938275772572015763062690663332647565300009245888316"
        "433037779791869612049497390377829704905051080609940730262937128958950003583799967207254304"
        "360284078895771796150945516748243471030702609144621572289880258182545180325707018860872113"
        "128079512233426288368622321503775666622503982534335974568884423900265498198385487948292206"
        "894721689831099698365846814022854243330660339850886445804001034933970427567186443383770486"
        "037861622771738545623065874679014086723327636718751234567890123456789012345678901e-308",
        "4.9406564584124654e-324",
        "5e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.47032822920623272088284396434110686182e-324",
        "2.5e-324",
        "2e-324",
        "1e-324",
        "1e-325",
        "1e-400",
        "1e-99999999999",
        "1e-99999999999999999999999999999999",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "179769313486231570814527423731704356798070567525844996598917476803157260780028538760589558"
        "632766878171540458953514382464234321326889464182768467546703537516986049910576551282076245"
        "490090389328944075868508455133942304583236903222948165808559332123347747979.26204144723168"
        "738177180919299881250404026184124858369",
        "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017"
        "977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273"
        "854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704"
        "342711559699508093042880",
        "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017"
        "977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273"
        "854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704"
        "342711559699508093042879.999999",
        "1e308",
        "1e309",
        "-1e309",
        "1e400",
        "0.1e400",
        "1e99999999999999999999999999999999",
        "8.5e-5",
        "3e-44",
        "7.0064923216240853e-46",
        "1.00000005960464477539062499999",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124",
        "1.00000000000000011102230246251565404236316680908203126",
        "0.500000000000000166533453693773481063544750213623046875",
        "3.518437208883201171875e13",
        "62.5364939768271845828",
        "8.10109172351e-10",
        "1.50000000000000011102230246251565",
        "6929495644600919.5",
        "6929495644600920.5",
        "1090544144181609348671888949248",
        "1090544144181609348835077142190",
        "104110013277974872254e-225",
        "12345678901234567890123456789e-340",
    };
    for (size_t i = 0; i < COUNT(rows); i++) same_as_strtod(rows[i], strlen(rows[i]));
}

/* Not by way of strtod, in case that is wrong in the same way. */
static void known_bits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } rows[] = {
        {"0.1", 0x1.999999999999ap-4},
        {"1e23", 0x1.52d02c7e14af6p+76},
        {"9007199254740993", 0x1p53},
        {"9007199254740993.00000000000000000000001", 0x1.0000000000001p53},
        {"5e-324", 0x1p-1074},
        {"2.4703282292062327e-324", 0.0},
        {"2.2250738585072012e-308", 0x1p-1022},
        {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
        {"1.7976931348623157e308", DBL_MAX},
        {"1.7976931348623159e308", HUGE_VAL},
        {"-1e999", -HUGE_VAL},
        {"-1e-999", -0.0},
        {"1.00000000000000011102230246251565404236316680908203125", 1.0},
        {"1.00000000000000011102230246251565404236316680908203126", 0x1.0000000000001p0},
        {"1.00000000000000033306690738754696212708950042724609375", 0x1.0000000000002p0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct decimal d;
        assert_int_equal(decimal_read(span_of(rows[i].text), &d), strlen(rows[i].text));
        if (bits_of(d.value) != bits_of(rows[i].value))
            fail_msg("%s: %a, expected %a", rows[i].text, d.value, rows[i].value);
    }
}

static void integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool integral;
        int64_t integer;
    } rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"0.000", true, 0},
        {"0e400", true, 0},
        {"0e-400", true, 0},
        {"0.0000000000000000000000000e99999999999999999999999999", true, 0},
        {"7", true, 7},
        {"-7", true, -7},
        {"1.0", true, 1},
        {"1e3", true, 1000},
        {"1.5e1", true, 15},
        {"1.5", false, 0},
        {"15e-1", false, 0},
        {"100e-2", true, 1},
        {"104e-2", false, 0},
        {"1e-1", false, 0},
        {"9007199254740993", true, 9007199254740993},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775809", false, 0},
        {"922337203685477580700000e-5", true, INT64_MAX},
        {"922337203685477580800000e-5", false, 0},
        {"-9223372036854775808.0000000000000000000", true, INT64_MIN},
        {"9223372036854775806.9999999999999999999", false, 0},
        {"1.00000000000000000000000000000000", true, 1},
        {"1.00000000000000000000000000000001", false, 0},
        {"1.00000000000000000000000000000001e32", false, 0},
        {"0.00000000000000000000000000000005e32", true, 5},
        {"9.223372036854775807e18", true, INT64_MAX},
        {"9.223372036854775808e18", false, 0},
        {"1e18", true, 1000000000000000000},
        {"9e18", true, 9000000000000000000},
        {"1e19", false, 0},
        {"10000000000000000000e-1", true, 1000000000000000000},
        {"1000000000000000000e-18", true, 1},
        {"10000000000000000000e-19", true, 1},
        {"524288e-19", false, 0},
        {"1e999", false, 0},
        {"1e-999", false, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct decimal d;
        size_t len = strlen(rows[i].text);
        assert_int_equal(decimal_read(span_of(rows[i].text), &d), len);
        if (d.integral != rows[i].integral || d.integer != rows[i].integer)
            fail_msg("%s: %d %lld", rows[i].text, d.integral, (long long)d.integer);
        same_as_strtod(rows[i].text, len);
    }
}

/* What programs write: doubles of any size to 17 digits, and of ordinary size to 15 to 20. */
static void printed_doubles(void **state)
{
    (void)state;
    uint64_t random = 1;
    char text[64];
    for (int i = 0; i < 250000; i++) {
        double value = double_of(random_next(&random));
        if (i & 1) value = (double)(random_next(&random) >> 11) * 0x1p-53;
        if (!isfinite(value)) continue;
        int digits = i & 1 ? 15 + (int)(random_next(&random) % 6) : 17;
        same_as_strtod(text, (size_t)snprintf(text, sizeof text, "%.*g", digits, value));
    }
}

/* 1 to 40 random digits, a point somewhere, and an exponent that reaches beyond both ends. */
static void random_decimals(void **state)
{
    (void)state;
    uint64_t random = 2;
    for (int i = 0; i < 700000; i++) {
        char text[80];
        uint64_t choice = random_next(&random);
        size_t len = 0, count = 1 + choice % (i & 3 ? 19 : 40), point = (choice >> 8) % 24;
        uint64_t digits = 0;
        for (size_t k = 0; k < count; k++) {
            if (k % 16 == 0) digits = random_next(&random);
            char digit = (char)('0' + digits % 10);
            digits /= 10;
            if (k == 0 && digit == '0') digit = '5';
            text[len++] = digit;
            if (k == point && k + 1 < count) text[len++] = '.';
        }
        int exponent = (int)((choice >> 16) % 700) - 360;
        if ((choice >> 32) % 4 == 0) exponent %= 25;
        len += (size_t)snprintf(text + len, sizeof text - len, "e%d", exponent);
        same_as_strtod(text, len);
    }
}

/* Plain integers of every length around the one that has a way of its own. */
static void random_integers(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int i = 0; i < 50000; i++) {
        char text[40];
        uint64_t word = random_next(&random) >> (i % 64);
        int len =
            snprintf(text, sizeof text, "%s%llu", i & 64 ? "-" : "", (unsigned long long)word);
        same_as_strtod(text, (size_t)len);
        struct decimal d;
        decimal_read((struct span){text, (size_t)len}, &d);
        errno = 0;
        long long expected = strtoll(text, NULL, 10);
        assert_int_equal(d.integral, errno == 0);
        assert_true(d.integer == (errno == 0 ? expected : 0));
    }
}

/* The point exactly between two neighbouring doubles, and the numbers just beside it. A long double
 * holds that point exactly, and printf writes all of its digits. */
/* The number is 2^512 / 10^192, and the point halfway between two doubles lies below it by less
 * than the 19th digit: so when both are compared as integers, one has a limb more than the other.
 */
static void a_halfway_point_of_another_length(void **state)
{
    (void)state;
    static const char text[] = "134078079299425970995740249982058461274793658205923933777235614437"
                               "217640300735469768018742981669034276900318581864860508537538828119"
                               "46569946433649006084096e-192";
    struct decimal d;
    assert_int_equal(decimal_read(span_of(text), &d), strlen(text));
    assert_true(d.value == 0x1.23ff06eea847ap-126);
    same_as_strtod(text, strlen(text));
}

static void halfway_points(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int i = 0; i < 30000; i++) {
        uint64_t bits = random_next(&random) >> 1;
        if (i % 4 == 0) bits = (bits & 0x000fffffffffffffu) | (uint64_t)(1023 + i % 64) << 52;
        if (i % 4 == 1) bits &= 0x001fffffffffffffu; /* subnormal, or nearly */
        if (i % 64 == 2) bits = 0x7fefffffffffffffu - (uint64_t)i % 8;
        if (bits >= 0x7fefffffffffffffu) bits &= 0x7fdfffffffffffffu;
        long double half = ((long double)double_of(bits) + (long double)double_of(bits + 1)) / 2;
        char text[1200];
        /* Trailing zeros mean that all of the digits are there; they go, but for some. */
        int len = snprintf(text, 900, "%.*Le", 770, half);
        char *e = strchr(text, 'e');
        assert_true(len > 770 && e);
        char tail[16];
        snprintf(tail, sizeof tail, "%s", e);
        char *end = e;
        while (end[-1] == '0' && end > text + 2 + i % 32) end--;
        if (end[-1] == '.') *end++ = '0';
        const char *beside[] = {"", "0", "00000000000000000000001", "1"};
        for (size_t k = 0; k < COUNT(beside); k++) {
            int rest = snprintf(end, 64, "%s%s", beside[k], tail);
            same_as_strtod(text, (size_t)(end - text + rest));
        }
        char *last = end - 1;
        while (*last == '0' || *last == '.') last--;
        if (last == text) continue;
        *last -= 1; /* just below */
        int rest = snprintf(end, 64, "9%s", tail);
        same_as_strtod(text, (size_t)(end - text + rest));
    }
}

/* Rests that only the very last of very many digits tells. */
static void long_inputs(void **state)
{
    (void)state;
    static char text[70000];
    static const char half[] = "1.00000000000000011102230246251565404236316680908203125";
    static const size_t lengths_tried[] = {60, 799, 800, 801, 802, 1000, 65535};
    for (size_t i = 0; i < COUNT(lengths_tried); i++) {
        size_t len = lengths_tried[i];
        memset(text, '0', len);
        memcpy(text, half, sizeof half - 1);
        text[len] = 0;
        same_as_strtod(text, len);
        struct decimal d;
        decimal_read((struct span){text, len}, &d);
        assert_true(d.value == 1.0);
        text[len - 1] = '1';
        same_as_strtod(text, len);
        decimal_read((struct span){text, len}, &d);
        assert_true(d.value == 0x1.0000000000001p0 && !d.integral);
    }
    uint64_t random = 4;
    for (int i = 0; i < 3000; i++) {
        size_t len = 700 + random_next(&random) % 200;
        for (size_t k = 0; k < len; k++) text[k] = (char)('0' + random_next(&random) % 10);
        text[0] = '3';
        text[1 + random_next(&random) % (len - 2)] = '.';
        len += (size_t)snprintf(text + len, 32, "e%d", (int)(random_next(&random) % 1300) - 1000);
        same_as_strtod(text, len);
    }
}

/* What follows a number decides only whether it is one: the same digits, read with nothing behind
 * them, and with a serializer's text behind them, which takes a shorter way. */
static void what_follows_makes_no_difference(void **state)
{
    (void)state;
    static const char *const behind[] = {
        ",\"next\": 1}", "}}}}}}}}}}",  "          ", "\xff\xff\xff\xff\xff\xff\xff\xff",
        "/////////",     ":::::::::",   "999999999",  ".5       ",
        "e1       ",     "E-1      ",   ".x       ",  "e        ",
        "-        ",     "\t\n\r      "};
    static const char *const numbers[] = {
        "0",         "7",     "10",     "-0",      "-1",      "42",       "-305",
        "1830",      "99999", "123456", "-123456", "1234567", "-1234567", "12345678",
        "-12345678", "00",    "01",     "-",       "",        "-01",      "0000000"};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        for (size_t k = 0; k < COUNT(behind); k++) {
            char text[64];
            size_t len = (size_t)snprintf(text, sizeof text, "%s%s", numbers[i], behind[k]);
            struct decimal whole = {.integer = 77}, cut = {.integer = 77};
            size_t expected = decimal_length((struct span){text, len});
            size_t read = decimal_read((struct span){text, len}, &whole);
            if (read != expected) fail_msg("%s: read %zu, expected %zu", text, read, expected);
            /* Alone: at its end nothing more may be looked at. */
            assert_int_equal(decimal_read((struct span){text, expected}, &cut), expected);
            if (bits_of(whole.value) != bits_of(cut.value) || whole.integral != cut.integral ||
                whole.integer != cut.integer)
                fail_msg("%s: not as when it stands alone", text);
        }
    }
}

/* As many zeros as a body can hold, undone by the exponent, at either side of the point. */
static void zeros_undone_by_the_exponent(void **state)
{
    (void)state;
    static char text[70000];
    size_t zeros = 65000;
    memset(text, '0', zeros);
    text[1] = '.';
    size_t len = zeros + (size_t)sprintf(text + zeros, "125e%zu", zeros + 1);
    struct decimal d;
    assert_int_equal(decimal_read((struct span){text, len}, &d), len);
    assert_true(d.value == 125 && d.integral && d.integer == 125);

    text[0] = '7';
    memset(text + 1, '0', zeros);
    len = 1 + zeros + (size_t)sprintf(text + 1 + zeros, "e-%zu", zeros);
    assert_int_equal(decimal_read((struct span){text, len}, &d), len);
    assert_true(d.value == 7 && d.integral && d.integer == 7);
    len = 1 + zeros + (size_t)sprintf(text + 1 + zeros, "e-%zu", zeros + 1);
    assert_int_equal(decimal_read((struct span){text, len}, &d), len);
    assert_true(d.value == 0.7 && !d.integral);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths),
        cmocka_unit_test(ends_where_the_span_ends),
        cmocka_unit_test(values),
        cmocka_unit_test(known_bits),
        cmocka_unit_test(integers),
        cmocka_unit_test(printed_doubles),
        cmocka_unit_test(random_decimals),
        cmocka_unit_test(random_integers),
        cmocka_unit_test(halfway_points),
        cmocka_unit_test(a_halfway_point_of_another_length),
        cmocka_unit_test(long_inputs),
        cmocka_unit_test(what_follows_makes_no_difference),
        cmocka_unit_test(zeros_undone_by_the_exponent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
