/* profile: where a request's time goes, while the server serves what it serves. */
#include "app/app.h"

#include "lab/load_target.h"
#include "lab/profile.h"
#include "lab/quantity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] = "interlude-lab profile URL [--duration D]\n"
                            "\n"
                            "URL is the operations port (http://127.0.0.1:7071). Looks at its "
                            "metrics twice, D apart (10s),\n"
                            "and prints what a request spends in each stage. The server must be "
                            "getting requests: it times\n"
                            "one in 127. docs/profile.md says what the stages are.\n";

static enum err_code look(const struct load_target *target, struct profile *out, struct err *e)
{
    char *body;
    enum err_code code = lab_operations_fetch(target, &body, e);
    if (code) return code;
    bool found = profile_read(span_of(body), out);
    free(body);
    if (found) return ERR_OK;
    err_set(e, ERR_USAGE, "it tells no interlude_stage_seconds_total");
    return lab_operations_wrong(target, e);
}

int lab_profile(int argc, char **argv)
{
    static const char *const options[] = {"--duration", NULL};
    const char *url = NULL, *value;
    uint64_t duration_ns = 10000000000u;
    app_output_begin();
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) {
            fputs(usage, stdout);
            return app_output_end();
        }
        if ((value = app_option(argc, argv, &i, "--duration"))) {
            if (!quantity_duration(value, &duration_ns))
                return app_usage_error("profile", "--duration takes a time like 10s, not", value);
        } else if (argv[i][0] == '-') {
            return app_unknown_option("profile", argv[i], options, NULL);
        } else if (url) {
            return app_usage_error("profile", "takes one URL, not also", argv[i]);
        } else {
            url = argv[i];
        }
    }
    if (!url) return app_usage_error("profile", "needs", "URL");

    struct err e;
    struct load_target target;
    struct profile before, after, between;
    if (load_target_parse(url, "/metrics", &target, &e) || look(&target, &before, &e))
        return app_fail("profile", &e);
    struct timespec nap = {(time_t)(duration_ns / 1000000000), (long)(duration_ns % 1000000000)};
    nanosleep(&nap, NULL);
    if (look(&target, &after, &e)) return app_fail("profile", &e);
    if (!profile_between(&before, &after, &between)) {
        err_set(&e, ERR_USAGE, "the server was restarted between the two looks");
        return app_fail("profile", &e);
    }
    if (!profile_sampled(&between)) {
        fputs("No request was sampled: one in 127 is. Is the server getting any? A longer "
              "--duration sees more.\n",
              stderr);
        return EXIT_NO;
    }
    char text[4096];
    struct buf b = buf_of(text, sizeof text);
    profile_print(&b, &between);
    fwrite(text, 1, b.len, stdout);
    return app_output_end();
}
