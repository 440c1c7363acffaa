/* interlude: the ad-load decision server. */
#include "app/app.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *arguments, *what;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"serve", "[--config FILE] [--listen HOST:PORT] [--admin HOST:PORT] [--workers N] [--hint]",
     "serve decisions over HTTP; --hint prints a request to paste", cmd_serve},
    {"check", "FILE", "print the plan as it would run, or every error in it", cmd_check},
    {"decide", "[--config FILE] [--explain]",
     "a request a line on stdin, a decision or problem a line on stdout", cmd_decide},
    {"version", "", "print the version", cmd_version},
};

static void print_help(FILE *to)
{
    fputs("interlude: decides for each listening session whether to play an ad pod now, how many "
          "ads\n"
          "it holds, and when to ask again.\n\n",
          to);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(to, "  interlude %s %s\n      %s\n", commands[i].name, commands[i].arguments,
                commands[i].what);
    fputs("\nWithout --config, the built-in demonstration plan. Exit codes: 0 done, 1 it ran and "
          "the\n"
          "answer is no, 2 usage or configuration.\n",
          to);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h")) {
        print_help(stdout);
        return EXIT_DONE;
    }
    if (!strcmp(name, "--version")) return cmd_version(1, argv + 1);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(name, commands[i].name) != 0) continue;
        if (argc == 3 && !strcmp(argv[2], "--help")) {
            print_help(stdout);
            return app_output_end();
        }
        return commands[i].run(argc - 1, argv + 1);
    }

    if (*name) fprintf(stderr, "interlude: there is no command `%s`\n\n", name);
    print_help(stderr);
    return EXIT_WRONG;
}
