/* check: the plan as it would run, or every error in it. */
#include "app/app.h"

#include <stdio.h>
#include <stdlib.h>

/* The plan as it would run, and what is to be said about it. */
static int check_print(const char *path, const struct plan *plan, const struct settings *settings)
{
    char *memory = malloc(PLAN_BYTES_MAX);
    if (!memory) {
        fprintf(stderr, "interlude check: there is not enough memory\n");
        return EXIT_WRONG;
    }
    struct buf b = buf_of(memory, PLAN_BYTES_MAX);
    plan_print(&b, plan);
    settings_print(&b, settings);
    INVARIANT(!b.full);
    const char *largest;
    uint64_t series = plan_series_count(plan, &largest);
    printf("# %s: good. Fingerprint %s. %llu metric series, most of them %s.\n", path,
           plan->fingerprint, (unsigned long long)series, largest);
    fwrite(b.data, 1, b.len, stdout);
    free(memory);
    return app_output_end();
}

int cmd_check(int argc, char **argv)
{
    if (argc < 2) return app_usage_error("check", "needs", "FILE");
    if (argc > 2 || argv[1][0] == '-')
        return app_usage_error("check", "takes one file, and does not know", argv[argc - 1]);
    struct app_file file;
    if (!app_file_read(argv[1], &file)) return EXIT_WRONG;
    struct settings *settings = NULL;
    struct plan *plan = app_plan_parse(argv[1], file.text, &settings);
    if (plan && plan_end_of(file.text) == PLAN_END_OPEN)
        fprintf(stderr,
                "%s: warning: the last line is not `...`: so a reload cannot tell all of this file "
                "from half of it, and refuses whatever takes something away\n",
                argv[1]);
    free(file.memory);
    int code = plan ? check_print(argv[1], plan, settings) : EXIT_NO;
    plan_free(plan);
    settings_free(settings);
    return code;
}
