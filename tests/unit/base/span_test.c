#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/span.h"

enum { LENGTH_MAX = 80 };

/* At their exact size, so that a byte read outside is found. */
static char *copy_of(const char *from, size_t n)
{
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, from, n);
    return copy;
}

/* Of every length, equal; and with one byte changed, at every place, by every bit. */
static void test_equal_is_memcmp(void **state)
{
    (void)state;
    char text[LENGTH_MAX];
    for (int i = 0; i < LENGTH_MAX; i++) text[i] = (char)(i * 37 + 5);
    for (size_t n = 0; n <= LENGTH_MAX; n++) {
        char *a = copy_of(text, n), *b = copy_of(text, n);
        assert_true(span_equal((struct span){a, n}, (struct span){b, n}));
        for (size_t at = 0; at < n; at++) {
            for (int bit = 0; bit < 8; bit++) {
                b[at] = (char)(b[at] ^ 1 << bit);
                assert_false(span_equal((struct span){a, n}, (struct span){b, n}));
                b[at] = text[at];
            }
        }
        if (n) assert_false(span_equal((struct span){a, n}, (struct span){b, n - 1}));
        free(a);
        free(b);
    }
}

static void test_nothing_is_equal_to_nothing(void **state)
{
    (void)state;
    assert_true(span_equal((struct span){NULL, 0}, SPAN("")));
    assert_false(span_equal((struct span){NULL, 0}, SPAN("x")));
    assert_true(SPAN_IS(SPAN("tier"), "tier"));
    assert_false(SPAN_IS(SPAN("tiers"), "tier"));
    assert_true(span_is(SPAN("tier"), "tier"));
    assert_false(span_is(SPAN("tie"), "tier"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_is_memcmp),
        cmocka_unit_test(test_nothing_is_equal_to_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
