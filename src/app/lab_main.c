/* interlude-lab: the instruments. */
#include "app/app.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *arguments, *what;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"load", "URL... --rate R [--duration D] ...",
     "requests on schedule, whatever the server does, and how long they took", lab_load},
    {"profile", "URL [--duration D]", "where a request's time goes, in the running server",
     lab_profile},
    {"serve", "[--guard ...] [--log ...] [--config ...] ...",
     "decisions over HTTP, with the mistakes of the story as switches", lab_serve},
    {"signals", "--check URL | --drill URL", "are any stuck, and can the quiet ones still fire",
     lab_signals},
    {"version", "", "print the version", cmd_version},
};

static void print_help(FILE *to)
{
    fputs("interlude-lab: measures a decision server on this machine.\n\n", to);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(to, "  interlude-lab %s %s\n      %s\n", commands[i].name, commands[i].arguments,
                commands[i].what);
    fputs("\n`interlude-lab COMMAND --help` tells a command's options. Exit codes: 0 done, 1 it "
          "ran and\n"
          "the answer is no, 2 usage or configuration.\n",
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
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(name, commands[i].name)) return commands[i].run(argc - 1, argv + 1);

    if (*name) fprintf(stderr, "interlude-lab: there is no command `%s`\n\n", name);
    print_help(stderr);
    return EXIT_WRONG;
}
