#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "plan/yaml_tree.h"
#include "plan/yaml_walk.h"

struct told {
    int count;
    struct yaml_place first;
    char text[256];
};

static void tell(void *owner, struct yaml_place place, const char *text)
{
    struct told *told = owner;
    if (told->count++) return;
    told->first = place;
    snprintf(told->text, sizeof told->text, "%s", text);
}

static struct yaml_tree *read_tree(struct arena *arena, const char *text, struct told *told)
{
    *told = (struct told){0};
    const struct yaml_faults faults = {tell, told};
    return yaml_tree_read(arena, span_of(text), &faults);
}

static void test_shape_and_places(void **state)
{
    (void)state;
    struct arena arena;
    struct told told;
    arena_init(&arena, NULL);
    const struct yaml_tree *root =
        read_tree(&arena, "a: {x: 1, \"y\": 'two'}\nb:\n  - q\n  - |\n    t\nc:\n", &told);
    assert_non_null(root);
    assert_int_equal(told.count, 0);
    assert_int_equal(root->kind, TREE_MAPPING);
    assert_int_equal(root->count, 3);
    const struct yaml_tree *a = yaml_tree_find(root, SPAN("a")), *y = yaml_tree_find(a, SPAN("y")),
                           *b = a->next, *c = b->next;
    assert_int_equal(y->style, TREE_SINGLE);
    assert_true(span_is(y->text, "two"));
    assert_int_equal(y->place.line, 1);
    assert_int_equal(y->place.column, 16);
    assert_int_equal(y->key->place.column, 11);
    assert_int_equal(b->kind, TREE_SEQUENCE);
    assert_int_equal(b->count, 2);
    assert_null(b->first->key);
    assert_int_equal(b->first->next->style, TREE_BLOCK);
    assert_true(span_is(b->first->next->text, "t\n"));
    assert_true(yaml_tree_is_null(c));
    assert_false(yaml_tree_is_null(y));
    assert_null(yaml_tree_find(root, SPAN("d")));
    arena_done(&arena);
}

static void test_null(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        bool null;
    } cases[] = {
        {"~", true},    {"null", true},  {"a: ", false},      {"''", false},
        {"'~'", false}, {"Null", false}, {"\"null\"", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        struct told told;
        arena_init(&arena, NULL);
        const struct yaml_tree *root = read_tree(&arena, cases[i].yaml, &told);
        assert_non_null(root);
        assert_int_equal(yaml_tree_is_null(root), cases[i].null);
        arena_done(&arena);
    }
}

#define DEEP_31 "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
#define ENDS_31 "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        int count;
        uint32_t line, column;
        const char *text;
        bool tree; /* it can be read on */
    } cases[] = {
        {"a: &x 1", 1, 1, 4, "anchors", true},
        {"a: 1\nb: *x", 1, 2, 4, "aliases", true},
        {"a: !!int 1", 1, 1, 4, "tags", true},
        {"a: ! 1", 1, 1, 4, "tags", true},
        {"!!map {a: 1}", 1, 1, 1, "tags", true},
        {"a: &x [1, *x, !y z]", 3, 1, 4, "anchors", true},
        {"*x : 1", 1, 1, 1, "aliases", true},
        {"a: 1\n\"a\": 2", 1, 2, 1, "this key already stands in line 1", true},
        {"? {a: 1}\n: 2", 1, 1, 3, "a key must be a name", true},
        {"a: 1\n--- \nb: 1", 1, 2, 1, "a second document", false},
        {"a: 1\n...\n", 0, 0, 0, "", true},
        {"", 1, 1, 1, "the plan is empty", false},
        {"# a\n", 1, 2, 1, "the plan is empty", false},
        {"a: [1", 1, 1, 6, "not valid YAML: while parsing a flow sequence", false},
        {"a: \"1", 1, 1, 6, "not valid YAML: while scanning a quoted scalar", false},
        {"caf\xc3\xa9: \xc3", 1, 1, 7, "not UTF-8 text", false},
        {"a: \xed\xa0\x80", 1, 1, 4, "not UTF-8 text", false},
        {"a: \x01", 1, 1, 4, "not UTF-8 text", false},
        {DEEP_31 "[" ENDS_31 "]", 0, 0, 0, "", true},
        {DEEP_31 "[[" ENDS_31 "]]", 1, 1, 33, "nested deeper than 32", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        struct told told;
        arena_init(&arena, NULL);
        bool tree = read_tree(&arena, cases[i].yaml, &told) != NULL;
        bool starts = strncmp(told.text, cases[i].text, strlen(cases[i].text)) == 0;
        if (tree != cases[i].tree || told.count != cases[i].count || !starts ||
            told.first.line != cases[i].line || told.first.column != cases[i].column)
            fail_msg("%s: tree %d, %d told, %u:%u: %s", cases[i].yaml, tree, told.count,
                     told.first.line, told.first.column, told.text);
        arena_done(&arena);
    }
}

static void test_many_entries(void **state)
{
    (void)state;
    for (int count = YAML_TREE_ENTRIES_MAX; count <= YAML_TREE_ENTRIES_MAX + 1; count++) {
        char text[8192];
        size_t used = 0;
        for (int i = 0; i < count; i++) used += (size_t)snprintf(text + used, 8, "- a\n");
        struct arena arena;
        struct told told;
        arena_init(&arena, NULL);
        const struct yaml_tree *root = read_tree(&arena, text, &told);
        assert_int_equal(root != NULL, count == YAML_TREE_ENTRIES_MAX);
        assert_int_equal(told.count, count - YAML_TREE_ENTRIES_MAX);
        arena_done(&arena);
    }
}

/* In each scalar the decoded text has an `@`; it must be found where the file has it. */
static void test_locate(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        uint32_t line, column;
    } cases[] = {
        {"a@b", 1, 2},
        {"{a: x y  @}", 1, 10},
        {"a: x\n  y\n\n   @ z", 4, 4},
        {"'@'", 1, 2},
        {"'it''s @'", 1, 8},
        {"'''''@'", 1, 6},
        {"'a\n   b  @'", 2, 7},
        {"\"@\"", 1, 2},
        {"\"\\\"\\\\@\"", 1, 6},
        {"\"\\x41\\u0041\\U00000041@\"", 1, 22},
        {"\"a\\tb\\n\\_ @\"", 1, 11},
        {"\"a\\\n    b\\\n @\"", 3, 2},
        {"\"x \\x40\"", 1, 4}, /* the @ itself escaped: where its escape begins */
        {"|\n  @", 2, 3},
        {"a: |2\n   x\n\n    @\n", 4, 5},
        {"a: |- # why\n  x\n  y @\n", 3, 5},
        {"a: >\n  x\n  y\n\n    z @\n", 5, 7},
        {"caf\xc3\xa9: '\xe2\x82\xac\xf0\x9f\x8e\xb5 @'", 1, 11},
        {"a: '\xdf\xbf\xe0\xa0\x80\xef\xbf\xbd\xf0\x90\x80\x80\xf4\x8f\xbf\xbd @'", 1, 11},
        {"a: 1\r\nb: '\r\n @'", 3, 2},
        {"a: '\xc2\x85 @'", 2, 2},
        {"a: '\xe2\x80\xa8 @'", 2, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        struct told told;
        arena_init(&arena, NULL);
        const struct yaml_tree *node = read_tree(&arena, cases[i].yaml, &told);
        assert_non_null(node);
        while (node->kind == TREE_MAPPING) {
            node = node->first;
            while (node->next) node = node->next;
        }
        const char *at = memchr(node->text.data, '@', node->text.len);
        assert_non_null(at);
        struct yaml_place place =
            yaml_tree_locate(span_of(cases[i].yaml), node, (size_t)(at - node->text.data));
        if (place.line != cases[i].line || place.column != cases[i].column)
            fail_msg("%s: %u:%u, expected %u:%u", cases[i].yaml, place.line, place.column,
                     cases[i].line, cases[i].column);
        arena_done(&arena);
    }
}

/* The end, and white space: after what stands before it. */
static void test_locate_no_character(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        size_t offset;
        uint32_t line, column;
    } cases[] = {
        {"ab", 2, 1, 3},   {"ab", 99, 1, 3},    {"'ab'", 2, 1, 4},
        {"\"\"", 0, 1, 2}, {"'a b'", 1, 1, 3},  {"|\n  ab\n", 3, 2, 5},
        {"''", 0, 1, 2},   {"'a  b'", 2, 1, 4}, {"\"\\x41 \"", 2, 1, 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        struct told told;
        arena_init(&arena, NULL);
        const struct yaml_tree *node = read_tree(&arena, cases[i].yaml, &told);
        assert_non_null(node);
        struct yaml_place place = yaml_tree_locate(span_of(cases[i].yaml), node, cases[i].offset);
        if (place.line != cases[i].line || place.column != cases[i].column)
            fail_msg("%s at %zu: %u:%u", cases[i].yaml, cases[i].offset, place.line, place.column);
        arena_done(&arena);
    }
}

static void test_place_of_byte(void **state)
{
    (void)state;
    struct span text = SPAN("a\xc3\xa9\nb\r\n\xff");
    static const struct {
        size_t byte;
        uint32_t line, column;
    } cases[] = {{0, 1, 1}, {1, 1, 2}, {2, 1, 2}, {3, 1, 3}, {4, 2, 1},
                 {5, 2, 2}, {6, 2, 2}, {7, 3, 1}, {8, 3, 2}, {99, 3, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct yaml_place place = yaml_walk_to_byte(text, cases[i].byte);
        assert_int_equal(place.line, cases[i].line);
        assert_int_equal(place.column, cases[i].column);
    }
    assert_int_equal(yaml_walk_to_byte(SPAN("\xc3zz"), 2).column,
                     3); /* no character of two bytes */
    assert_int_equal(yaml_walk_to_byte(SPAN("\xe2\x82zz"), 3).column, 4);
    /* The last character, whole and cut. */
    static const struct span ends[] = {SPAN("a\xc3\xa9"), SPAN("a\xe2\x82\xac"),
                                       SPAN("a\xf0\x9f\x8e\xb5")};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        assert_int_equal(yaml_walk_to_byte(ends[i], ends[i].len - 1).column, 2);
        struct span cut = {ends[i].data, ends[i].len - 1};
        assert_int_equal(yaml_walk_to_byte(cut, cut.len - 1).column, cut.len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape_and_places), cmocka_unit_test(test_null),
        cmocka_unit_test(test_refused),          cmocka_unit_test(test_many_entries),
        cmocka_unit_test(test_locate),           cmocka_unit_test(test_locate_no_character),
        cmocka_unit_test(test_place_of_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
