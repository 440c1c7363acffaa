/* serve, of the lab: a server with the mistakes of the story as switches. With none of them made it
 * is `interlude serve`, instruction for instruction. */
#include "app/app.h"

#include "serve/plan_file.h"
#include "serve/server.h"
#include "serve/story.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "interlude-lab serve [options]\n"
    "\n"
    "`interlude serve`, with mistakes to choose from; each is what it is in the product if left "
    "out.\n"
    "\n"
    "  --guard typed | unconditional\n"
    "                        unconditional: warns and counts whenever an action of the plan came\n"
    "                        without a posterior, whoever was asked\n"
    "  --log staged | synchronous\n"
    "                        synchronous: log lines are rendered and written in the request\n"
    "  --config-read start | per-request\n"
    "                        per-request: the plan is read and parsed in every request, in vain;\n"
    "                        `--config start` and `--config per-request` say the same\n"
    "  --config FILE         the plan; a file of one of those two names is written ./start\n"
    "  --listen HOST:PORT, --admin HOST:PORT, --workers N\n"
    "                        as in `interlude serve`, whose --help tells the defaults\n"
    "\n"
    "docs/story.md tells what to measure with it.\n";

/* A word that chooses, and whether it chooses the mistake; false: it is neither of the two. */
static bool word_read(const char *word, const char *right, const char *wrong, bool *mistake)
{
    if (strcmp(word, right) != 0 && strcmp(word, wrong) != 0) return false;
    *mistake = strcmp(word, wrong) == 0;
    return true;
}

/* One argument, and its value. */
static int option_read(int argc, char **argv, int *i, struct server_config *config,
                       struct story_config *story)
{
    const char *value;
    if ((value = app_option(argc, argv, i, "--guard")))
        return word_read(value, "typed", "unconditional", &story->guard_unconditional)
                   ? EXIT_DONE
                   : app_usage_error("serve", "--guard takes `typed` or `unconditional`, not",
                                     value);
    if ((value = app_option(argc, argv, i, "--log")))
        return word_read(value, "staged", "synchronous", &story->log_synchronous)
                   ? EXIT_DONE
                   : app_usage_error("serve", "--log takes `staged` or `synchronous`, not", value);
    if ((value = app_option(argc, argv, i, "--config-read")))
        return word_read(value, "start", "per-request", &story->config_per_request)
                   ? EXIT_DONE
                   : app_usage_error("serve", "--config-read takes `start` or `per-request`, not",
                                     value);
    int at = *i;
    if ((value = app_option(argc, argv, &at, "--config")) &&
        word_read(value, "start", "per-request", &story->config_per_request)) {
        *i = at;
        return EXIT_DONE;
    }
    static const char *const others[] = {"--guard", "--log", "--config-read", NULL};
    return app_serve_option(argc, argv, i, others, config);
}

int lab_serve(int argc, char **argv)
{
    struct server_config config;
    struct story_config story = {0};
    if (!app_serve_begin(&config)) return EXIT_WRONG;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) {
            fputs(usage, stdout);
            return EXIT_DONE;
        }
        int code = option_read(argc, argv, &i, &config, &story);
        if (code) return code;
    }
    if (story.config_per_request && config.plan_path && plan_file_is_stdin(config.plan_path))
        return app_usage_error("serve", "--config-read per-request needs a file, not",
                               "--config -");
    int code = app_serve_plan(&config);
    if (!config.plan) return code;

    story.plan_path = config.plan_path;
    story.log = &config.settings->log;
    if (story.guard_unconditional || story.log_synchronous || story.config_per_request)
        config.answer = story_answer;
    struct err e;
    if (story_open(&story, &e)) {
        plan_free(config.plan);
        settings_free(config.settings);
        return app_fail("serve", &e);
    }
    code = app_serve_run(&config, false);
    story_close();
    return code;
}
