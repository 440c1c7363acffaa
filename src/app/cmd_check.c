/* check: the plan as it would run and what it may not mean, or every error in it. */
#include "app/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int warning_count(const struct plan_errors *warnings)
{
    return warnings->count + warnings->more;
}

/* "good", or how good. */
static const char *goodness(char text[64], const struct plan_errors *warnings)
{
    int count = warning_count(warnings);
    if (count)
        snprintf(text, 64, "good, with %d warning%s", count, count == 1 ? "" : "s");
    else
        snprintf(text, 64, "good");
    return text;
}

static int check_no_memory(void)
{
    fprintf(stderr, "interlude check: there is not enough memory\n");
    return EXIT_WRONG;
}

/* The plan as it would run, and what is to be said about it. */
static int check_print(const char *path, const struct plan *plan, const struct settings *settings,
                       const struct plan_errors *warnings)
{
    char *memory = malloc(PLAN_BYTES_MAX);
    if (!memory) return check_no_memory();
    struct buf b = buf_of(memory, PLAN_BYTES_MAX);
    plan_print(&b, plan);
    settings_print(&b, settings);
    INVARIANT(!b.full);
    const char *largest;
    char text[64];
    uint64_t series = plan_series_count(plan, &largest);
    printf("# %s: %s. Fingerprint %s. %llu metric series, most of them %s.\n", path,
           goodness(text, warnings), plan->fingerprint, (unsigned long long)series, largest);
    fwrite(b.data, 1, b.len, stdout);
    free(memory);
    return app_output_end();
}

static int check_file(const char *path, bool strict, struct plan_errors *warnings)
{
    struct app_file file;
    if (!app_file_read(path, &file)) return EXIT_WRONG;
    struct settings *settings = NULL;
    struct plan *plan = app_plan_parse(path, file.text, &settings, warnings);
    free(file.memory);
    int code = EXIT_NO;
    if (plan) {
        app_errors_tell(path, strict ? "" : "warning: ", warnings);
        if (!strict || !warning_count(warnings)) code = check_print(path, plan, settings, warnings);
    }
    plan_free(plan);
    settings_free(settings);
    return code;
}

static int check_schema(void)
{
    char *memory = malloc(PLAN_BYTES_MAX);
    if (!memory) return check_no_memory();
    struct buf b = buf_of(memory, PLAN_BYTES_MAX);
    plan_schema(&b);
    INVARIANT(!b.full);
    fwrite(b.data, 1, b.len, stdout);
    free(memory);
    return app_output_end();
}

static const char usage[] =
    "interlude check [--strict] FILE | --schema\n"
    "\n"
    "Prints the plan as it would run, every default filled in, and every warning; or every error\n"
    "in it, with line and column.\n"
    "\n"
    "  FILE                  the plan; `-` reads stdin\n"
    "  --strict              warnings are errors (off)\n"
    "  --schema              print what may stand in a plan, as a JSON Schema, and check none\n"
    "\n"
    "Exit codes: 0 the plan can be served, 1 it has an error, 2 usage, or it can't be read.\n";

int cmd_check(int argc, char **argv)
{
    static const char *const options[] = {"--strict", "--schema", NULL};
    const char *path = NULL;
    bool strict = false;
    if (app_help_asked(argc, argv)) {
        fputs(usage, stdout);
        return app_output_end();
    }
    if (argc == 2 && !strcmp(argv[1], "--schema")) return check_schema();
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--schema"))
            return app_usage_error("check", "takes nothing beside", argv[i]);
        if (!strcmp(argv[i], "--strict"))
            strict = true;
        else if (argv[i][0] == '-' && argv[i][1])
            return app_unknown_option("check", argv[i], options, NULL);
        else if (path)
            return app_usage_error("check", "takes one file, not also", argv[i]);
        else
            path = argv[i];
    }
    if (!path) return app_usage_error("check", "needs", "FILE");
    struct plan_errors *warnings = calloc(1, sizeof *warnings);
    if (!warnings) return check_no_memory();
    int code = check_file(path, strict, warnings);
    free(warnings);
    return code;
}
