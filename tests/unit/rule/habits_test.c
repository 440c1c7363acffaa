/* The words in their places stand in rule_compile_test.c; here is which are words at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rule/attribute.h"
#include "rule/habits.h"

static void test_words(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        bool is_operator, not, null;
        const char *bool_word, *function;
    } rows[] = {
        {"and", true, false, false, "", ""},       {"AND", true, false, false, "", ""},
        {"aNd", true, false, false, "", ""},       {"ands", false, false, false, "", ""},
        {"an", false, false, false, "", ""},       {"", false, false, false, "", ""},
        {"Not", true, true, false, "", ""},        {"NULL", false, false, true, "", ""},
        {"None", false, false, true, "", ""},      {"none", false, false, true, "", ""},
        {"TRUE", false, false, false, "true", ""}, {"on", false, false, false, "true", ""},
        {"No", false, false, false, "false", ""},  {"isset", false, false, false, "", "has"},
        {"len", false, false, false, "", "size"},  {"tier", false, false, false, "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct span word = span_of(rows[i].word);
        if ((habit_operator(word) != NULL) != rows[i].is_operator ||
            habit_is_not(word) != rows[i].not || habit_is_null(word) != rows[i].null ||
            !span_is(habit_bool(word), rows[i].bool_word) ||
            !span_is(habit_function(word), rows[i].function))
            fail_msg("%s", rows[i].word);
    }
}

/* CEL's own operators, alone and side by side as they may stand, are no other language's. */
static void test_no_sign_of_cel_is_a_habit(void **state)
{
    (void)state;
    static const char *const cel[] = {"==", "!=", "<=", ">=", "<",  ">",  "!", "+",  "-", "*",
                                      "/",  "%",  "?",  ":",  "(",  ")",  "[", "]",  ".", ",",
                                      "!(", "!!", "<-", ">-", "=-", "=!", "=", "&&", "||"};
    for (size_t i = 0; i < sizeof cel / sizeof *cel; i++)
        if (habit_sign_find(span_of(cel[i]))) fail_msg("%s", cel[i]);
}

/* No built-in attribute is called like one: it could not be told from the habit. */
static void test_no_attribute_is_a_habit(void **state)
{
    (void)state;
    struct attribute_schema schema;
    attribute_schema_init(&schema);
    for (uint32_t i = 0; i < schema.count; i++) {
        struct span name = schema.attributes[i].name;
        assert_false(habit_is_not(name) || habit_is_null(name));
        assert_false(habit_bool(name).len || habit_operator(name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_no_sign_of_cel_is_a_habit),
        cmocka_unit_test(test_no_attribute_is_a_habit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
