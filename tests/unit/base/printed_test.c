#include "base/printed.h"

#include "base/span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* The code in UTF-8; its length. */
static size_t encode(char text[4], uint32_t code)
{
    if (code < 0x80) return text[0] = (char)code, 1;
    if (code < 0x800) {
        text[0] = (char)(0xc0 | code >> 6);
        text[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        text[0] = (char)(0xe0 | code >> 12);
        text[1] = (char)(0x80 | (code >> 6 & 0x3f));
        text[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    text[0] = (char)(0xf0 | code >> 18);
    text[1] = (char)(0x80 | (code >> 12 & 0x3f));
    text[2] = (char)(0x80 | (code >> 6 & 0x3f));
    text[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* Every character there is, against a list of them. */
static void every_character(void **state)
{
    (void)state;
    static const struct {
        uint32_t from, to;
    } controls[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},  {0x200e, 0x200f},
                    {0x2028, 0x2029}, {0x202a, 0x202e}, {0x2066, 0x2069}};
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        bool control = false;
        for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
            control |= code >= controls[i].from && code <= controls[i].to;
        char text[4];
        uint32_t found = 0;
        size_t len = encode(text, code);
        assert_int_equal(printed_control(text, text + len, &found), control ? len : 0);
        if (control) assert_int_equal(found, code);
    }
}

/* What is no UTF-8 is none of them, and nothing is read beyond its end. */
static void bytes_that_are_no_text(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "\xc2",     "\xe2",         "\xe2\x80",     "\xc2z", "\xe2z\xa8", "\xe2\x80z",
        "\xc1\xbf", "\xe0\x82\x85", "\xe0\x81\xbf", "\x85",  "\xff",      "\xf0\x82\x80\xa8",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t code;
        size_t len = strlen(rows[i]);
        char *bytes = memcpy(test_malloc(len), rows[i], len);
        if (printed_control(bytes, bytes + len, &code)) fail_msg("row %zu", i);
        test_free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character),
        cmocka_unit_test(bytes_that_are_no_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
