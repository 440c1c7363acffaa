/* check: the plan as it would run, or every error in it. */
#include "app/app.h"

#include <stdio.h>
#include <stdlib.h>

int cmd_check(int argc, char **argv)
{
    if (argc < 2) return app_usage_error("check", "needs", "FILE");
    if (argc > 2 || argv[1][0] == '-')
        return app_usage_error("check", "takes one file, and does not know", argv[argc - 1]);
    struct app_file file;
    if (!app_file_read(argv[1], &file)) return EXIT_WRONG;
    struct plan *plan = app_plan_parse(argv[1], file.text);
    free(file.memory);
    if (!plan) return EXIT_NO;

    size_t cap = PLAN_BYTES_MAX;
    char *memory = malloc(cap);
    INVARIANT(memory != NULL);
    struct buf b = buf_of(memory, cap);
    plan_print(&b, plan);
    INVARIANT(!b.full);
    const char *largest;
    uint64_t series = plan_series_count(plan, &largest);
    printf("# %s: good. Fingerprint %s. %llu metric series, most of them %s.\n", argv[1],
           plan->fingerprint, (unsigned long long)series, largest);
    fwrite(b.data, 1, b.len, stdout);
    free(memory);
    plan_free(plan);
    return app_output_end();
}
