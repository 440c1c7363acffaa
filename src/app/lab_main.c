/* interlude-lab: the instruments. */
#include "app/app.h"

static const struct app_command commands[] = {
    {"load", "URL... --rate R [--duration D] ...",
     "requests on schedule, whatever the server does, and how long they took", lab_load, true},
    {"profile", "URL [--duration D]", "where a request's time goes, in the running server",
     lab_profile, true},
    {"serve", "[--guard ...] [--log ...] [--config ...] ...",
     "decisions over HTTP, with the mistakes of the story as switches", lab_serve, true},
    {"signals", "--check URL [--over D] [--lenient] [--require SIGNAL]... | --drill URL",
     "are any constant, and can the quiet ones still fire", lab_signals, true},
    {"version", "", "print the version", cmd_version, false},
};

int main(int argc, char **argv)
{
    static const struct app_program program = {
        "interlude-lab",
        "interlude-lab: measures a decision server on this machine.",
        "`interlude-lab COMMAND --help` tells a command's options, and the values they take.",
        commands,
        sizeof commands / sizeof *commands,
    };
    return app_main(argc, argv, &program);
}
