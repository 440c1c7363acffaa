#include "plan_files.h"

#include "plan/yaml_pairs.h"

static void tell(void *owner, struct yaml_place place, const char *text)
{
    snprintf(owner, 256, "%u:%u: %s", place.line, place.column, text);
}

/* The text of the last scalar, and the column of the `@` in it. */
static void test_pairs_become_characters(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *text;
        uint32_t column;
    } rows[] = {
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 0},
        {"\"\\uD83D\\uDE00@\"", "\xf0\x9f\x98\x80@", 14},
        {"\"\\ud800\\udc00\\udbff\\udfff @\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf @", 27},
        {"[\"\\ud83d\\ude00\", \"\\ud83c\\udfb5@\"]", "\xf0\x9f\x8e\xb5@", 31},
        {"\"\\ud83d\\ude00\": \"\\ud83c\\udfb5@\"", "\xf0\x9f\x8e\xb5@", 30},
        {"\"\\\\\\ud83d\\ude00@\"", "\\\xf0\x9f\x98\x80@", 16},
        /* an escaped backslash begins none */
        {"\"\\\\ud83d\\\\ude00@\"", "\\ud83d\\ude00@", 16},
        /* elsewhere they are no escapes */
        {"'\\ud83d\\ude00@'", "\\ud83d\\ude00@", 14},
        {"\\ud83d\\ude00@", "\\ud83d\\ude00@", 13},
        {"|\n  \\ud83d\\ude00@\n", "\\ud83d\\ude00@\n", 15},
        {"a: | # \\ud83c\\udfb5\n  \\ud83d\\ude00@\n", "\\ud83d\\ude00@\n", 15},
        {"# \\ud83d\\ude00\n\"\\ud83c\\udfb5@\" # \\ud83d\\ude00\n", "\xf0\x9f\x8e\xb5@", 14},
        {"[\\ud83d\\ude00, '\\ud83d\\ude01', \"\\ud83c\\udfb5@\"]", "\xf0\x9f\x8e\xb5@", 45},
        /* what stands for a half is nothing that the text holds */
        {"\"\\ud83d\\ude00\\ue000\\ue000\xee\x80\x81\xee\x80\x81@\"",
         "\xf0\x9f\x98\x80\xee\x80\x80\xee\x80\x80\xee\x80\x81\xee\x80\x81@", 28},
        {"\"\\ud83d\\ude00\\U0000e000\\xe0\"", "\xf0\x9f\x98\x80\xee\x80\x80\xc3\xa0", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena;
        char fault[256] = "";
        arena_init(&arena, NULL);
        struct span yaml = span_of(rows[i].yaml);
        const struct yaml_tree *node =
            yaml_tree_read(&arena, yaml, &(struct yaml_faults){tell, fault});
        if (!node || fault[0]) fail_msg("%s: %s", rows[i].yaml, fault);
        while (node->kind != TREE_SCALAR)
            for (node = node->first; node->next;) node = node->next;
        if (!span_is(node->text, rows[i].text)) fail_msg("%s: %s", rows[i].yaml, node->text.data);
        assert_int_equal(node->text.data[node->text.len], '\0');
        const char *at = memchr(node->text.data, '@', node->text.len);
        if (at) {
            struct yaml_place place = yaml_tree_locate(yaml, node, (size_t)(at - node->text.data));
            if (place.column != rows[i].column)
                fail_msg("%s: column %u", rows[i].yaml, place.column);
        }
        arena_done(&arena);
    }
}

/* Printed by JSON's rules or written as it is: one plan. */
static void test_a_plan_with_pairs_is_the_plan_without(void **state)
{
    (void)state;
    struct span text = file_read("tests/cases/plans/good-json_pairs.yaml");
    struct plan *plan = load_good(text, "good-json_pairs");
    assert_true(span_is(plan->salt, "s \xf0\x9f\x8e\xb5\xf0\x9f\x98\x80 x"));
    static char memory[PLAN_BYTES_MAX];
    struct buf b = buf_of(memory, sizeof memory);
    plan_print(&b, plan);
    struct plan *again = load_good(buf_text(&b), "printed");
    assert_string_equal(plan->fingerprint, again->fingerprint);
    plan_free(plan);
    plan_free(again);
    free((void *)text.data);
}

/* As many as fit are read in one pass. */
static void test_many_pairs(void **state)
{
    (void)state;
    static char memory[PLAN_BYTES_MAX];
    struct buf b = buf_of(memory, sizeof memory);
    struct arena arena;
    char fault[256] = "";
    for (int line = 0; line < 1000; line++) {
        buf_lit(&b, "- \"");
        for (int i = 0; i < 80; i++) buf_lit(&b, "\\ud83d\\ude00");
        buf_lit(&b, "\"\n");
    }
    assert_false(b.full);
    arena_init(&arena, NULL);
    const struct yaml_tree *root =
        yaml_tree_read(&arena, buf_text(&b), &(struct yaml_faults){tell, fault});
    assert_non_null(root);
    assert_int_equal(root->count, 1000);
    for (const struct yaml_tree *child = root->first; child; child = child->next)
        assert_int_equal(child->text.len, 80 * 4);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_become_characters),
        cmocka_unit_test(test_a_plan_with_pairs_is_the_plan_without),
        cmocka_unit_test(test_many_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
