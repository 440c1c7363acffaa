/* An error tells of the place that is wrong, and of no other: whatever part of a plan cannot be
 * read, what refers to it, or would be judged by it, is not accused.
 *
 * Each entry of each mapping and list of some plans that load is broken in turn, in each of the
 * ways below. All that is told must stand inside what was broken, or be that the
 * plan lacks what the broken key was. */
#include "plan_files.h"

#include "base/buf.h"
#include "plan/yaml_tree.h"

static const struct {
    const char *name, *value;
} breaks[] = {
    {"an alias", "*x"},        {"a tag", "!x y"}, {"a list in a list", "[[]]"},
    {"an odd key", "{?: []}"}, {"nothing", "~"},  {"text", "\"\\x07 wrong!\""},
    {"an odd item", "[!x y]"},
};
enum { BREAKS = sizeof breaks / sizeof *breaks };

/* Ways to break a key, its value being right. */
static const struct {
    const char *before, *after;
} keys[] = {{"", "_"}, {"[", "]"}, {"!x ", ""}, {"\"", " !\""}, {"", ": {}, "}};
enum { KEYS = sizeof keys / sizeof *keys };
enum { ANOTHER_TEXT = 5, ANOTHER_NAME = BREAKS, TWIN = BREAKS + KEYS - 1 };

struct writer {
    struct buf out;
    int target, at; /* the entry to break, the entry written */
    int way;        /* of breaks, then of keys */
    bool broken, skipped;
    size_t from, to;     /* the bytes that were broken */
    struct span lacking; /* the key that is not there any more */
};

static char text_memory[PLAN_BYTES_MAX];

static void put_scalar(struct buf *b, const struct yaml_tree *node)
{
    if (node->style == TREE_PLAIN) {
        buf_span(b, node->text);
        return;
    }
    buf_char(b, '\'');
    for (size_t i = 0; i < node->text.len; i++) {
        if (node->text.data[i] == '\'') buf_char(b, '\'');
        buf_char(b, node->text.data[i] < ' ' && node->text.data[i] > 0 ? ' ' : node->text.data[i]);
    }
    buf_char(b, '\'');
}

static void put_tree(struct writer *w, const struct yaml_tree *node,
                     const struct yaml_tree *parent);

static void put_key(struct writer *w, const struct yaml_tree *key, bool broken)
{
    if (broken && w->way >= BREAKS) {
        buf_span(&w->out, span_of(keys[w->way - BREAKS].before));
        buf_span(&w->out, key->text);
        buf_span(&w->out, span_of(keys[w->way - BREAKS].after));
        if (w->way == TWIN) buf_span(&w->out, key->text);
        w->lacking = key->text;
    } else {
        put_scalar(&w->out, key);
    }
    buf_lit(&w->out, ": ");
}

/* What has another name is another thing, and what refers to it is wrong. */
static bool is_renaming(const struct writer *w, const struct yaml_tree *entry,
                        const struct yaml_tree *parent)
{
    static const char *const named[] = {"policies", "variants", "attributes"};
    if (w->way == ANOTHER_TEXT && entry->key) return span_is(entry->key->text, "name");
    for (int i = 0; i < 3; i++)
        if (w->way == ANOTHER_NAME && parent->key && span_is(parent->key->text, named[i]))
            return true;
    return false;
}

static void put_entry(struct writer *w, const struct yaml_tree *entry,
                      const struct yaml_tree *parent)
{
    bool broken = w->at++ == w->target;
    if (broken && (is_renaming(w, entry, parent) || (w->way >= BREAKS && !entry->key))) {
        w->skipped = true;
        broken = false;
    }
    size_t from = w->out.len;
    if (entry->key) put_key(w, entry->key, broken);
    if (broken && w->way < BREAKS) {
        buf_span(&w->out, span_of(breaks[w->way].value));
    } else {
        put_tree(w, entry, entry);
    }
    if (!broken) return;
    w->broken = true;
    w->from = from;
    w->to = w->out.len;
}

/* One line, so that a place is a column; of the plans' characters, all are single bytes. */
static void put_tree(struct writer *w, const struct yaml_tree *node, const struct yaml_tree *parent)
{
    if (node->kind == TREE_SCALAR) {
        put_scalar(&w->out, node);
        return;
    }
    bool mapping = node->kind == TREE_MAPPING;
    buf_char(&w->out, mapping ? '{' : '[');
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        put_entry(w, child, parent);
        if (child->next) buf_lit(&w->out, ", ");
    }
    buf_char(&w->out, mapping ? '}' : ']');
}

static void no_fault(void *owner, struct yaml_place place, const char *text)
{
    fail_msg("%s:%u:%u: %s", (const char *)owner, place.line, place.column, text);
}

/* "`key` is missing", "needs a `key`": true where no key is like it any more. */
static bool lacks(const struct err *e, struct span key)
{
    char quoted[80];
    snprintf(quoted, sizeof quoted, "`%s`", key.len ? key.data : "?");
    return key.len && strstr(e->text, quoted) && strstr(e->text, "missing");
}

static int check_broken(const char *path, const struct writer *w, struct span text)
{
    static struct plan_errors errors;
    struct plan *plan = plan_load(text, NULL, &errors);
    if (plan) { /* what was put there is allowed there */
        plan_free(plan);
        return 0;
    }
    assert_int_equal(errors.more, 0);
    for (int i = 0; i < errors.count; i++) {
        const struct err *e = &errors.errors[i];
        bool inside = e->line == 1 && e->column - 1 >= w->from && e->column - 1 <= w->to;
        if (!inside && !lacks(e, w->lacking))
            fail_msg("%s: `%.*s` is wrong, and %u is accused (%.30s): %s\n%s", path,
                     (int)(w->to - w->from), text.data + w->from, e->column,
                     text.data + e->column - 1, e->text, text.data);
    }
    return 1;
}

static int refused;

static void check_plan(const char *path)
{
    struct span yaml = file_read(path);
    struct arena arena;
    arena_init(&arena, NULL);
    const struct yaml_tree *root =
        yaml_tree_read(&arena, yaml, &(struct yaml_faults){no_fault, (void *)path});
    assert_non_null(root);
    int before = refused;
    for (int way = 0; way < BREAKS + KEYS; way++) {
        for (int target = 0;; target++) {
            struct writer w = {.target = target, .way = way};
            w.out = buf_of(text_memory, sizeof text_memory);
            put_tree(&w, root, root);
            buf_lit(&w.out, "\n");
            buf_char(&w.out, '\0');
            assert_false(w.out.full);
            if (w.skipped) continue;
            if (!w.broken) break;
            struct span text = {text_memory, w.out.len - 1};
            refused += check_broken(path, &w, text);
        }
    }
    assert_true(refused - before > 100);
    arena_done(&arena);
    free((void *)yaml.data);
}

static void test_only_what_is_broken_is_accused(void **state)
{
    (void)state;
    check_plan("examples/interlude.yaml");
    check_plan("tests/cases/plans/good-smallest.yaml");
    check_plan("tests/cases/plans/good-references.yaml");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_is_broken_is_accused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
