/* interlude: the ad-load decision server. */
#include "app/app.h"

static const struct app_command commands[] = {
    {"serve", "[--config FILE] [--listen HOST:PORT] [--admin HOST:PORT] [--workers N] [--hint]",
     "serve decisions over HTTP; --hint prints requests to paste", cmd_serve, true},
    {"check", "[--strict] FILE | --schema",
     "print the plan as it would run and every warning, or every error in it; --strict: warnings "
     "are errors",
     cmd_check, true},
    {"decide", "[--config FILE] [--explain] | [--config FILE] --example",
     "a request a line on stdin, a decision or problem a line on stdout; --example prints requests "
     "that the plan can decide, one for each policy",
     cmd_decide, true},
    {"version", "", "print the version", cmd_version, false},
};

int main(int argc, char **argv)
{
    static const struct app_program program = {
        "interlude",
        "interlude: decides for each listening session whether to play an ad pod now, how many "
        "ads\n"
        "it holds, and when to ask again.",
        "Without --config, the built-in demonstration plan; `--config -` and `check -` read "
        "stdin.\n"
        "`interlude COMMAND --help` tells a command's options, and their defaults.",
        commands,
        sizeof commands / sizeof *commands,
    };
    return app_main(argc, argv, &program);
}
