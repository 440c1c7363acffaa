#include "app/app.h"

#include "base/nearest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *app_option(int argc, char **argv, int *i, const char *name)
{
    size_t len = strlen(name);
    const char *argument = argv[*i];
    if (strncmp(argument, name, len) != 0) return NULL;
    if (argument[len] == '=') return argument + len + 1;
    if (argument[len] != 0) return NULL;
    if (*i + 1 >= argc) exit(app_usage_error(argv[0], "needs a value after", name));
    return argv[++*i];
}

int app_usage_error(const char *command, const char *text, const char *what)
{
    const char *program = program_invocation_short_name;
    fprintf(stderr, "%s %s: %s `%s`; see `%s %s --help`\n", program, command, text, what, program,
            command);
    return EXIT_WRONG;
}

enum { OPTIONS_MAX = 64 };

static size_t options_add(const char *const *options, struct span *names, size_t count)
{
    for (; options && *options && count < OPTIONS_MAX; options++)
        names[count++] = span_of(*options);
    return count;
}

int app_unknown_option(const char *command, const char *argument, const char *const *options,
                       const char *const *more)
{
    struct span names[OPTIONS_MAX];
    size_t count = options_add(more, names, options_add(options, names, 0));
    struct span name = {argument, strcspn(argument, "=")};
    struct span near = nearest_name(name, names, count);
    const char *program = program_invocation_short_name;
    fprintf(stderr, "%s %s: does not know `%s`", program, command, argument);
    if (near.len) fprintf(stderr, "; nearest: `%.*s`", (int)near.len, near.data);
    fprintf(stderr, "; see `%s %s --help`\n", program, command);
    return EXIT_WRONG;
}

bool app_help_asked(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return true;
    return false;
}

int app_fail(const char *command, const struct err *e)
{
    fprintf(stderr, "%s %s: %s\n", program_invocation_short_name, command, e->text);
    return EXIT_WRONG;
}

void app_output_begin(void)
{
    int fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDONLY);
    if (fd >= 0) close(fd);
    signal(SIGPIPE, SIG_IGN);
}

int app_output_end(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return EXIT_DONE;
    fprintf(stderr, "%s: stdout: %s\n", program_invocation_short_name, strerror(errno));
    return EXIT_WRONG;
}
