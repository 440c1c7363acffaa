/* app_plan: from a file's name to a plan, or to every error on stderr. */
#include "app/app.h"

#include "serve/plan_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool file_fail(const char *path, int error)
{
    fprintf(stderr, "interlude: %s: %s\n", path, strerror(error));
    return false;
}

bool app_file_read(const char *path, struct app_file *out)
{
    bool is_stdin = plan_file_is_stdin(path);
    int fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (is_stdin) path = "stdin";
    if (fd < 0) return file_fail(path, errno);
    /* One byte more than a plan may have, so that the loader sees that it is too long. */
    size_t cap = PLAN_BYTES_MAX + 1, len = 0;
    char *memory = malloc(cap);
    if (!memory) {
        close(fd);
        return file_fail(path, ENOMEM);
    }
    ssize_t n;
    while (len < cap && (n = read(fd, memory + len, cap - len)) != 0) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            int error = errno;
            free(memory);
            close(fd);
            return file_fail(path, error);
        }
        len += (size_t)n;
    }
    close(fd);
    *out = (struct app_file){memory, {memory, len}};
    return true;
}

void app_errors_tell(const char *name, const char *what, const struct plan_errors *errors)
{
    for (int i = 0; i < errors->count; i++) {
        const struct err *e = &errors->errors[i];
        if (e->line)
            fprintf(stderr, "%s:%u:%u: %s%s\n", name, e->line, e->column, what, e->text);
        else
            fprintf(stderr, "%s: %s%s\n", name, what, e->text);
    }
    if (errors->more) fprintf(stderr, "%s: and %d more\n", name, errors->more);
}

struct plan *app_plan_parse(const char *name, struct span text, struct settings **settings,
                            struct plan_errors *warnings)
{
    struct plan_errors *errors = calloc(1, sizeof *errors);
    if (!errors) {
        file_fail(name, ENOMEM);
        return NULL;
    }
    struct plan *plan = plan_check_file(text, settings, errors, warnings);
    if (!plan) app_errors_tell(name, "", errors);
    free(errors);
    return plan;
}

struct plan *app_plan_load(const char *path, struct settings **settings)
{
    if (!path) return app_plan_parse(plan_file_name(NULL), plan_demo_text(), settings, NULL);
    struct app_file file;
    if (!app_file_read(path, &file)) return NULL;
    struct plan *plan = app_plan_parse(path, file.text, settings, NULL);
    free(file.memory);
    return plan;
}

struct plan *app_plan_parse_served(const char *path, struct span text, struct settings **settings)
{
    struct plan_errors *warnings = calloc(1, sizeof *warnings);
    struct plan *plan = app_plan_parse(path, text, settings, warnings);
    int count = warnings ? warnings->count + warnings->more : 0;
    if (count)
        fprintf(stderr, "%s: %d warning%s: `interlude check %s` tells\n", path, count,
                count == 1 ? "" : "s", path);
    free(warnings);
    return plan;
}
