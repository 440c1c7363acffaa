/* The documents explain each word of the closed lists, in the lists' order, and no other; the
 * reasons that are guardrails in the words of their rows.
 *
 *   UPDATE_DOCS=1 build/unit/decide/words_test     writes those */
#include "decide/guardrail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct span reason_at(int i)
{
    return reason_word((enum reason)i);
}

static struct span assignment_at(int i)
{
    return assignment_word((enum assignment)i);
}

static struct span fallback_reason_at(int i)
{
    return fallback_reason_word((enum fallback_reason)i);
}

static const struct {
    const char *path, *head; /* the first cell of the table's head */
    struct span (*word)(int i);
    int first, count;
} tables[] = {
    {"docs/http.md", "\n| reason |", reason_at, 0, REASON_COUNT},
    {"docs/http.md", "\n| assignment |", assignment_at, 0, ASSIGNMENT_COUNT},
    {"docs/posteriors.md", "\n| `because` |", fallback_reason_at, FALLBACK_NONE + 1,
     FALLBACK_REASON_COUNT},
};

/* The file as a string, for the caller to free. */
static char *text_read(const char *path)
{
    enum { BYTES_MAX = 256 * 1024 };
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s cannot be read: run from the root of the repository", path);
    char *text = malloc(BYTES_MAX);
    assert_non_null(text);
    size_t len = fread(text, 1, BYTES_MAX, f);
    fclose(f);
    assert_true(len < BYTES_MAX);
    text[len] = '\0';
    return text;
}

/* The line after `at`; the text's end where there is none. */
static const char *line_after(const char *at)
{
    at += strcspn(at, "\n");
    return *at ? at + 1 : at;
}

static void test_each_word_is_explained(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        char *text = text_read(tables[t].path);
        const char *at = strstr(text, tables[t].head);
        if (!at) fail_msg("%s has no table%s", tables[t].path, tables[t].head);
        at = line_after(line_after(at + 1)); /* the head, and the line of dashes */
        for (int i = tables[t].first; i < tables[t].count; i++, at = line_after(at)) {
            struct span word = tables[t].word(i);
            char row[80];
            int len = snprintf(row, sizeof row, "| `%.*s` | ", (int)word.len, word.data);
            if (strncmp(at, row, (size_t)len) != 0)
                fail_msg("%s: expected the row <%s>, found <%.*s>", tables[t].path, row,
                         (int)strcspn(at, "\n"), at);
        }
        if (*at == '|')
            fail_msg("%s: a row of no word: %.*s", tables[t].path, (int)strcspn(at, "\n"), at);
        free(text);
    }
}

static bool is_guardrail(const char *line)
{
    for (int g = 0; g < GUARDRAIL_COUNT; g++) {
        char start[64];
        int len = snprintf(start, sizeof start, "| `%s` |", guardrail_table[g].word.data);
        if (strncmp(line, start, (size_t)len) == 0) return true;
    }
    return false;
}

/* The text with the rows of the guardrails as they should be; the caller frees it. */
static char *with_guardrails(const char *text)
{
    enum { BYTES_MAX = 512 * 1024 };
    char *out = malloc(BYTES_MAX);
    assert_non_null(out);
    struct buf b = buf_of(out, BYTES_MAX);
    bool inside = false, written = false;
    for (const char *at = text; *at; at = line_after(at)) {
        size_t len = (size_t)(line_after(at) - at);
        inside = inside || strncmp(at, "| reason |", 10) == 0;
        if (*at != '|') inside = false;
        if (!inside || !is_guardrail(at)) {
            buf_put(&b, at, len);
            continue;
        }
        for (int g = 0; g < GUARDRAIL_COUNT && !written; g++)
            buf_format(&b, "| `%s` | %s |\n", guardrail_table[g].word.data, guardrail_table[g].why);
        written = true;
    }
    buf_char(&b, '\0');
    assert_false(b.full);
    return out;
}

static void test_what_guardrails_mean(void **state)
{
    (void)state;
    char *text = text_read("docs/http.md"), *should = with_guardrails(text);
    if (getenv("UPDATE_DOCS")) {
        FILE *f = fopen("docs/http.md", "w");
        assert_non_null(f);
        fputs(should, f);
        fclose(f);
    } else if (strcmp(text, should) != 0) {
        fail_msg("docs/http.md says otherwise of a guardrail: UPDATE_DOCS=1 writes it");
    }
    free(text);
    free(should);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_guardrails_mean),
        cmocka_unit_test(test_each_word_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
