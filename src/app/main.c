/* interlude: the ad-load decision server. */
#include "app/app.h"

static const struct app_command commands[] = {
    {"serve", "[--config FILE] [--listen HOST:PORT] [--admin HOST:PORT] [--workers N] [--hint]",
     "serve decisions over HTTP; --hint prints a request to paste", cmd_serve, false},
    {"check", "[--strict] FILE",
     "print the plan as it would run and every warning, or every error in it; --strict: warnings "
     "are errors",
     cmd_check, false},
    {"decide", "[--config FILE] [--explain]",
     "a request a line on stdin, a decision or problem a line on stdout", cmd_decide, false},
    {"version", "", "print the version", cmd_version, false},
};

int main(int argc, char **argv)
{
    static const struct app_program program = {
        "interlude",
        "interlude: decides for each listening session whether to play an ad pod now, how many "
        "ads\n"
        "it holds, and when to ask again.",
        "Without --config, the built-in demonstration plan.",
        commands,
        sizeof commands / sizeof *commands,
    };
    return app_main(argc, argv, &program);
}
