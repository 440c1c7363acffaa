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
