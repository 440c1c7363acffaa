/* serve: decisions over HTTP, until a signal ends it. In pieces, because interlude-lab has a serve
 * too. */
#include "app/app.h"

#include "serve/plan_file.h"
#include "serve/reload.h"
#include "serve/server.h"
#include "signal/signals.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool workers_read(const char *text, int *out)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (errno || *end || end == text || n < 1 || n > SERVER_WORKERS_MAX) return false;
    *out = (int)n;
    return true;
}

bool app_serve_begin(struct server_config *config)
{
    server_signals_block();
    *config = (struct server_config){
        .program = SPAN(INTERLUDE_VERSION),
        .commit = SPAN(INTERLUDE_COMMIT),
    };
    if (!signals_standard_descriptors()) {
        fprintf(stderr, "%s serve: /dev/null: %s\n", program_invocation_short_name,
                strerror(errno));
        return false;
    }
    struct err e;
    if (listen_inherit(&config->inherited, &e) == ERR_OK) return true;
    app_fail("serve", &e);
    return false;
}

int app_serve_option(int argc, char **argv, int *i, const char *const *others,
                     struct server_config *config)
{
    static const char *const options[] = {"--config", "--listen", "--admin", "--workers", NULL};
    const char *value;
    if ((value = app_option(argc, argv, i, "--config")))
        config->plan_path = value;
    else if ((value = app_option(argc, argv, i, "--listen")))
        config->listen = value;
    else if ((value = app_option(argc, argv, i, "--admin")))
        config->admin = value;
    else if (!(value = app_option(argc, argv, i, "--workers")))
        return app_unknown_option("serve", argv[*i], options, others);
    else if (strcmp(value, "auto") != 0 && !workers_read(value, &config->workers))
        return app_usage_error("serve", "--workers takes `auto` or a number from 1 to 240, not",
                               value);
    return EXIT_DONE;
}

/* Somebody started it, and then did not want it: that is no failure. */
static bool told_to_stop(void)
{
    const char *signal = server_stop_asked();
    if (signal)
        fprintf(stderr, "%s: stopped by %s during the start\n", program_invocation_short_name,
                signal);
    return signal != NULL;
}

/* NULL, and told, if there is none, or if it is not wanted any more. */
static struct plan *plan_of(const char *path, struct settings **settings)
{
    if (!path) return app_plan_load(NULL, settings);
    struct plan_file file;
    struct err e;
    int stop_fd = server_stop_fd();
    enum err_code code = plan_file_read(path, RELOAD_READ_MS, stop_fd, &file, &e);
    if (stop_fd >= 0) close(stop_fd);
    if (code) {
        if (!server_stop_asked()) app_fail("serve", &e);
        return NULL;
    }
    struct plan *plan = app_plan_parse_served(path, (struct span){file.memory, file.len}, settings);
    free(file.memory);
    return plan;
}

int app_serve_plan(struct server_config *config)
{
    config->plan = plan_of(config->plan_path, &config->settings);
    if (!told_to_stop()) return config->plan ? EXIT_DONE : EXIT_WRONG;
    if (config->plan) settings_free(config->settings);
    plan_free(config->plan);
    config->plan = NULL;
    return EXIT_DONE;
}

/* For people, on stderr; the log tells machines. */
static void tell_where(const struct server *server)
{
    fprintf(stderr, "%s: decisions at http://%s, operations at http://%s\n",
            program_invocation_short_name, server_listen(server), server_admin(server));
    if (server_exposed(server))
        fprintf(stderr,
                "%s: warning: the operations port can be reached from other machines, and asks "
                "nobody who they are; keep it at 127.0.0.1, or behind a firewall\n",
                program_invocation_short_name);
}

static bool is_same_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The log cannot tell what it lost at its end. Neither may this wait: where the log went to stderr,
 * nobody reads that, and a write might not return. */
static void tell_left(uint64_t left, enum log_sink sink)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
    bool there =
        sink == LOG_STDERR || (sink == LOG_STDOUT && is_same_file(STDOUT_FILENO, STDERR_FILENO));
    if (!left || there || poll(&p, 1, 0) <= 0 || !(p.revents & POLLOUT)) return;
    fprintf(stderr, "%s: %llu log lines were left unwritten: nobody read the log\n",
            program_invocation_short_name, (unsigned long long)left);
}

int app_serve_run(const struct server_config *config, bool hint)
{
    enum log_sink sink = config->settings->log.sink;
    char *requests = hint ? app_hint_new(config->plan) : NULL; /* a reload can free the plan */
    struct err e;
    struct server *server = server_open(config, &e);
    if (!server) {
        free(requests);
        return app_fail("serve", &e);
    }
    if (server_serves(server)) {
        tell_where(server);
        if (requests) app_hint_tell(requests, server_listen(server));
        free(requests);
        server_run(server);
    } else {
        free(requests);
        told_to_stop();
    }
    tell_left(server_close(server), sink);
    return EXIT_DONE;
}

static const char usage[] =
    "interlude serve [options]\n"
    "\n"
    "Serves decisions over HTTP, until SIGTERM or SIGINT ends it; SIGHUP reloads the plan.\n"
    "\n"
    "  --config FILE         the plan; `-` reads stdin, once (default: the demonstration plan "
    "that\n"
    "                        is built in)\n"
    "  --listen HOST:PORT    where decisions are asked for; port 0: any that is free (default:\n"
    "                        what the plan says, else " SETTINGS_LISTEN ")\n"
    "  --admin HOST:PORT     the operations port, the same (default: what the plan says, else\n"
    "                        " SETTINGS_ADMIN ")\n"
    "  --workers N           threads that decide, 1 to 240, or `auto`: as many as affinity and "
    "the\n"
    "                        cgroup's quota allow (default: what the plan says, else auto)\n"
    "  --hint                print requests to paste, one for each policy (default: off)\n"
    "\n"
    "Exit codes: 0 it was stopped, 2 usage or configuration.\n";
_Static_assert(SERVER_WORKERS_MAX == 240, "what the help says");

int cmd_serve(int argc, char **argv)
{
    static const char *const others[] = {"--hint", NULL};
    struct server_config config;
    if (app_help_asked(argc, argv)) {
        fputs(usage, stdout);
        return app_output_end();
    }
    if (!app_serve_begin(&config)) return EXIT_WRONG;
    bool hint = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--hint")) {
            hint = true;
            continue;
        }
        int code = app_serve_option(argc, argv, &i, others, &config);
        if (code) return code;
    }
    int code = app_serve_plan(&config);
    return config.plan ? app_serve_run(&config, hint) : code;
}
