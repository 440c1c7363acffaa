/* What the tests of this room share: case files, and loading. Run
 * from the root of the repository. */
#ifndef INTERLUDE_TESTS_PLAN_FILES_H
#define INTERLUDE_TESTS_PLAN_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_load.h"

/* The file's bytes, for the caller to free. */
static inline struct span file_read(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s cannot be read: run from the root of the repository", path);
    char *bytes = malloc(PLAN_BYTES_MAX);
    assert_non_null(bytes);
    size_t len = fread(bytes, 1, PLAN_BYTES_MAX, f);
    fclose(f);
    return (struct span){bytes, len};
}

/* Calls `each` with every case file whose name starts with `prefix`; their number. */
static inline int cases_each(const char *prefix, void (*each)(const char *path))
{
    DIR *directory = opendir("tests/cases/plans");
    if (!directory) fail_msg("tests/cases/plans: run from the root of the repository");
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(directory)); count++) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) {
            count--;
            continue;
        }
        char path[512];
        snprintf(path, sizeof path, "tests/cases/plans/%s", entry->d_name);
        each(path);
    }
    closedir(directory);
    return count;
}

/* A case file says in its first lines, `# expect: LINE:COLUMN: TEXT`, what is told of it. */
static inline void expected_check(const char *path, struct span text,
                                  const struct plan_errors *told)
{
    static const char mark[] = "# expect: ";
    const char *at = text.data, *end = text.data + text.len;
    int i = 0;
    for (;; i++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (!line_end || (size_t)(end - at) <= strlen(mark) || memcmp(at, mark, strlen(mark)) != 0)
            break;
        char found[400] = "";
        if (i < told->count) {
            const struct err *e = &told->errors[i];
            assert_int_equal(e->code, ERR_PLAN_INVALID);
            snprintf(found, sizeof found, "%u:%u: %s", e->line, e->column, e->text);
        }
        at += strlen(mark);
        if (!span_is((struct span){at, (size_t)(line_end - at)}, found))
            fail_msg("%s: expected\n  %.*s, found\n  %s", path, (int)(line_end - at), at, found);
        at = line_end + 1;
    }
    assert_int_equal(told->more, 0);
    if (i != told->count)
        fail_msg("%s: %d are expected, %d told; the next: %u:%u: %s", path, i, told->count,
                 told->errors[i].line, told->errors[i].column, told->errors[i].text);
}

/* A plan that must load, and its settings where they are wanted. */
static inline struct plan *load_both(struct span yaml, struct settings **settings, const char *name)
{
    static struct plan_errors errors;
    struct plan *plan = plan_load(yaml, settings, &errors);
    if (!plan)
        fail_msg("%s:%u:%u: %s", name, errors.errors[0].line, errors.errors[0].column,
                 errors.errors[0].text);
    assert_int_equal(errors.count, 0);
    return plan;
}

static inline struct plan *load_good(struct span yaml, const char *name)
{
    return load_both(yaml, NULL, name);
}

/* A text that must not load; its errors. */
static inline const struct plan_errors *load_bad(struct span yaml, const char *name)
{
    static struct plan_errors errors;
    struct plan *plan = plan_load(yaml, NULL, &errors);
    if (plan) fail_msg("%s: loads, and must not", name);
    assert_true(errors.count > 0);
    return &errors;
}

#endif
