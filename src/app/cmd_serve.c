/* serve: decisions over HTTP, until a signal ends it. */
#include "app/app.h"

#include "serve/server.h"
#include "signal/signals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool workers_read(const char *text, int *out)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (errno || *end || end == text || n < 1 || n > SERVER_WORKERS_MAX) return false;
    *out = (int)n;
    return true;
}

int cmd_serve(int argc, char **argv)
{
    if (!signals_standard_descriptors()) {
        fprintf(stderr, "interlude serve: /dev/null: %s\n", strerror(errno));
        return EXIT_WRONG;
    }
    struct server_config config = {
        .program = SPAN(INTERLUDE_VERSION),
        .commit = SPAN(INTERLUDE_COMMIT),
    };
    const char *value;
    for (int i = 1; i < argc; i++) {
        if ((value = app_option(argc, argv, &i, "--config"))) config.plan_path = value;
        else if ((value = app_option(argc, argv, &i, "--listen"))) config.listen = value;
        else if ((value = app_option(argc, argv, &i, "--admin"))) config.admin = value;
        else if (!(value = app_option(argc, argv, &i, "--workers")))
            return app_usage_error("serve", "does not know", argv[i]);
        else if (strcmp(value, "auto") != 0 && !workers_read(value, &config.workers))
            return app_usage_error("serve", "--workers takes `auto` or a number from 1 to 240, not",
                                   value);
    }
    config.plan = app_plan_load(config.plan_path);
    if (!config.plan) return EXIT_WRONG;

    struct err e;
    struct server *server = server_open(&config, &e);
    if (!server) {
        fprintf(stderr, "interlude serve: %s\n", e.text);
        return EXIT_WRONG;
    }
    server_run(server);
    server_close(server);
    return EXIT_DONE;
}
