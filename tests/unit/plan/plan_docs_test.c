/* docs/plans.md and the loader's tables tell of the same keys. */
#include "plan_files.h"

#include "plan/load.h"

static char docs[256 * 1024];

/* The part of the text under the heading `## where`, cut out of it; NULL if there is none. */
static char *section_find(const char *where)
{
    char heading[80];
    snprintf(heading, sizeof heading, "\n## %s\n", *where ? where : "The plan");
    char *start = strstr(docs, heading);
    if (!start) return NULL;
    start += strlen(heading);
    char *end = strstr(start, "\n## ");
    size_t len = end ? (size_t)(end - start) : strlen(start);
    char *section = strndup(start, len);
    assert_non_null(section);
    return section;
}

static void docs_read(void)
{
    struct span text = file_read("docs/plans.md");
    assert_true(text.len < sizeof docs);
    memcpy(docs, text.data, text.len);
    docs[text.len] = '\0';
    free((void *)text.data);
}

/* Every key is a row of its table's section, and says `not yet` if it is not supported. */
static void test_every_key_is_told(void **state)
{
    (void)state;
    docs_read();
    for (const struct key_table *const *t = load_tables; *t; t++) {
        char *section = section_find((*t)->where);
        if (!section) fail_msg("docs/plans.md has no section `%s`", (*t)->where);
        for (size_t i = 0; i < (*t)->count; i++) {
            const struct key *key = &(*t)->keys[i];
            char row[80];
            snprintf(row, sizeof row, "\n| `%s` |", key->name);
            const char *at = strstr(section, row);
            if (!at) fail_msg("docs/plans.md: `%s` lacks the key `%s`", (*t)->where, key->name);
            char *line = strndup(at + 1, strcspn(at + 1, "\n"));
            bool told = strstr(line, "*not yet*:") != NULL;
            if (!key->read && !told) fail_msg("`%s` is told, but is not supported yet", key->name);
            if (key->required && !strstr(line, "required"))
                fail_msg("`%s` of `%s` is not told to be required", key->name, (*t)->where);
            free(line);
        }
        free(section);
    }
}

static bool is_known(const char *where, const char *name, size_t len)
{
    for (const struct key_table *const *t = load_tables; *t; t++) {
        if (strcmp((*t)->where, where) != 0) continue;
        for (size_t i = 0; i < (*t)->count; i++)
            if (span_is((struct span){name, len}, (*t)->keys[i].name)) return true;
    }
    return false;
}

/* And the other way: no row is of a key that the loader does not know. */
static void test_no_other_key_is_told(void **state)
{
    (void)state;
    docs_read();
    int rows = 0;
    for (const struct key_table *const *t = load_tables; *t; t++) {
        char *section = section_find((*t)->where);
        assert_non_null(section);
        for (char *at = section; (at = strstr(at, "\n| `")); rows++) {
            at += strlen("\n| `");
            size_t len = strcspn(at, "`");
            if (!is_known((*t)->where, at, len))
                fail_msg("docs/plans.md: `%s` has no key `%.*s`", (*t)->where, (int)len, at);
        }
        free(section);
    }
    assert_true(rows > 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_is_told),
        cmocka_unit_test(test_no_other_key_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
