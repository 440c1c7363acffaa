/* The tables of docs/plans.md, and docs/plan.schema.json, are what the rows of the keys say.
 *
 *   UPDATE_DOCS=1 build/unit/plan/plan_docs_test     writes both */
#include "plan_files.h"

#include "decide/guardrail.h"
#include "plan/key.h"

#include <jansson.h>

enum { DOCS_BYTES_MAX = 512 * 1024 };

static char memory[DOCS_BYTES_MAX];

/* ---- the tables ---- */

/* The kinds of policies that have it. */
static void put_kinds(struct buf *b, uint32_t traits)
{
    if (traits == POLICY_HAS_POSTERIORS) {
        buf_lit(b, "learned: ");
        return;
    }
    bool first = true;
    for (int k = 0; k < POLICY_KIND_COUNT; k++) {
        const struct policy_ops *ops = policy_ops((enum policy_kind)k);
        if (!(ops->traits & traits)) continue;
        buf_format(b, "%s%s", first ? "" : ", ", ops->name);
        first = false;
    }
    buf_lit(b, ": ");
}

static void put_range(struct buf *b, const struct key *key)
{
    if (key->kind->noun[0]) buf_char(b, ' ');
    if (key->min || key->kind->noun[0] == '\0' || key->min == key->max) {
        key->kind->bound(b, key->min);
        buf_lit(b, " to ");
    } else {
        buf_lit(b, "up to ");
    }
    key->kind->bound(b, key->max);
}

/* What may stand there: "duration 1s to 1h, required". */
static void put_value(struct buf *b, const struct key *key)
{
    if (!key->kind) return;
    if (key->traits) put_kinds(b, key->traits);
    size_t start = b->len;
    buf_span(b, span_of(key->kind->noun));
    for (int i = 0; key->words && key->words[i]; i++)
        buf_format(b, "%s`%s`", i ? ", " : "", key->words[i]);
    if (key->kind->bound) put_range(b, key);
    if (key->required) buf_span(b, b->len > start ? SPAN(", required") : SPAN("required"));
    if (key->initial) buf_format(b, "%sdefault `%s`", b->len > start ? ", " : "", key->initial);
}

static void put_table(struct buf *b, const struct key_table *table)
{
    buf_lit(b, "| key | value | what it is |\n|---|---|---|\n");
    for (size_t i = 0; i < table->count; i++) {
        const struct key *key = &table->keys[i];
        buf_format(b, "| `%s` | ", key->name);
        put_value(b, key);
        buf_format(b, " | %s%s |\n", key->kind ? "" : "*not yet*: ", key->help);
    }
}

static const struct key_table *table_under(struct span heading)
{
    for (const struct key_table *const *t = key_tables; *t; t++)
        if (span_is(heading, *(*t)->where ? (*t)->where : "The plan")) return *t;
    return NULL;
}

static struct span line_take(struct span *text)
{
    const char *end = memchr(text->data, '\n', text->len);
    size_t len = end ? (size_t)(end - text->data) + 1 : text->len;
    struct span line = {text->data, len};
    *text = (struct span){text->data + len, text->len - len};
    return line;
}

static bool starts(struct span line, const char *with)
{
    return line.len >= strlen(with) && memcmp(line.data, with, strlen(with)) == 0;
}

/* The document with the first table under each heading as it should be. Returns how many. */
static int docs_write(struct buf *b, struct span docs)
{
    const struct key_table *table = NULL;
    int tables = 0;
    while (docs.len) {
        struct span line = line_take(&docs);
        if (starts(line, "## ")) table = table_under((struct span){line.data + 3, line.len - 4});
        if (!table || !starts(line, "| ")) {
            buf_span(b, line);
            continue;
        }
        while (docs.len && docs.data[0] == '|') line_take(&docs);
        put_table(b, table);
        table = NULL;
        tables++;
    }
    return tables;
}

static void same_or_update(const char *path, struct span is, struct span should)
{
    if (getenv("UPDATE_DOCS")) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        assert_int_equal(fwrite(should.data, 1, should.len, f), should.len);
        fclose(f);
    } else if (!span_equal(is, should)) {
        fail_msg("%s is not what the rows of the keys say: UPDATE_DOCS=1 writes it", path);
    }
}

static void test_the_tables(void **state)
{
    (void)state;
    struct buf b = buf_of(memory, sizeof memory);
    struct span docs = file_read("docs/plans.md");
    int tables = 0;
    while (key_tables[tables]) tables++;
    assert_int_equal(docs_write(&b, docs), tables);
    assert_false(b.full);
    same_or_update("docs/plans.md", docs, buf_text(&b));
    free((void *)docs.data);
}

/* ---- the schema ---- */

static void test_the_schema(void **state)
{
    (void)state;
    struct buf b = buf_of(memory, sizeof memory);
    plan_schema(&b);
    assert_false(b.full);
    json_error_t error;
    json_t *schema = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, &error);
    if (!schema) fail_msg("the schema is no JSON: %s", error.text);
    char *text = json_dumps(schema, JSON_INDENT(1));
    size_t len = strlen(text);
    text[len++] = '\n'; /* in the place of the NUL */
    struct span is = file_read("docs/plan.schema.json");
    same_or_update("docs/plan.schema.json", is, (struct span){text, len});
    free((void *)is.data);
    free(text);
    json_decref(schema);
}

/* ---- the rows ---- */

/* A row that lacks a part would show as a wrong plan, far from here. */
static void test_every_row_is_whole(void **state)
{
    (void)state;
    for (const struct key_table *const *t = key_tables; *t; t++)
        for (size_t i = 0; i < (*t)->count; i++) {
            const struct key *key = &(*t)->keys[i];
            const struct key_kind *kind = key->kind;
            bool whole = key->name && key->help &&
                         (!kind || (kind->read && kind->print && kind->schema && kind->noun));
            if (!whole) fail_msg("%s.%s lacks a part", (*t)->where, key->name);
            if (kind && kind->bound && key->min >= key->max)
                fail_msg("%s.%s has no range", (*t)->where, key->name);
        }
    for (int i = 0; i < GUARDRAIL_COUNT; i++) {
        const struct guardrail *g = &guardrail_table[i];
        if (!g->word.len || !g->help || !g->gate == !g->mask ||
            (int)g->reason != GUARDRAIL_FIRST + i)
            fail_msg("guardrail %d lacks a part", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_tables),
        cmocka_unit_test(test_the_schema),
        cmocka_unit_test(test_every_row_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
