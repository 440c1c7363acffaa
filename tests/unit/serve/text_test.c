#include "serve/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MS = 1000000, BYTES = 5000 };

static struct texts texts;

static int setup(void **state)
{
    (void)state;
    return texts_init(&texts, BYTES) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    texts_done(&texts);
    return 0;
}

static struct text *made(int kind, const char *says, uint64_t now_ns, uint32_t *cut)
{
    struct buf out;
    struct text *text = text_begin(&texts, kind, &out, cut);
    assert_true(out.cap >= BYTES);
    buf_span(&out, span_of(says));
    text_written(&texts, text, &out, now_ns);
    return text;
}

static void a_text_is_shared_for_a_while(void **state)
{
    (void)state;
    uint32_t cut = 0;
    const uint64_t then_ns = 5000ull * MS;
    struct text *text = made(1, "one", then_ns, &cut);
    static const struct {
        int kind;
        uint64_t after_ns;
        bool found;
    } rows[] = {
        {1, 0, true}, {1, 19 * MS, true}, {1, 20 * MS, false}, {2, 0, false}, {1, 90 * MS, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_ptr_equal(text_find(&texts, rows[i].kind, then_ns + rows[i].after_ns),
                         rows[i].found ? text : NULL);
    assert_int_equal(cut, 0);
}

static void one_that_nobody_holds_is_written_anew(void **state)
{
    (void)state;
    uint32_t cut = 0;
    struct text *first = made(1, "one", 0, &cut), *other = made(2, "other", 0, &cut);
    assert_ptr_not_equal(first, other);
    for (int i = 0; i < 100; i++) assert_ptr_equal(made(1, "again", 0, &cut), first);
    struct text_hold hold = text_hold(first);
    struct text *second = made(1, "two", 0, &cut);
    assert_ptr_not_equal(second, first);
    assert_ptr_not_equal(second, other);
    assert_memory_equal(hold.text->data, "again", 5);
    text_release(&hold);
    text_release(&hold);
    assert_int_equal(cut, 0);
}

static void the_oldest_is_taken_from_its_readers(void **state)
{
    (void)state;
    uint32_t cut = 0;
    struct text_hold holds[TEXTS_MAX], more;
    for (int i = 0; i < TEXTS_MAX; i++) holds[i] = text_hold(made(1, "x", 0, &cut));
    more = text_hold(holds[0].text);
    assert_int_equal(cut, 0);
    struct text *text = made(1, "new", 0, &cut);
    assert_int_equal(cut, 2);
    assert_ptr_equal(text, holds[0].text);
    assert_false(text_is_valid(&holds[0]));
    assert_false(text_is_valid(&more));
    for (int i = 1; i < TEXTS_MAX; i++) assert_true(text_is_valid(&holds[i]));
    struct text_hold newest = text_hold(text);
    text_release(&holds[0]); /* takes nothing from those that hold what is there now */
    text_release(&more);
    assert_int_equal(text->holds, 1);
    assert_true(text_is_valid(&newest));
    text_release(&newest);
    for (int i = 1; i < TEXTS_MAX; i++) text_release(&holds[i]);
    struct text_hold none = {0};
    assert_true(text_is_valid(&none));
    text_release(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_text_is_shared_for_a_while, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_nobody_holds_is_written_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(the_oldest_is_taken_from_its_readers, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
