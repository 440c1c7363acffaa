#include "app/app.h"

#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

enum { COMMANDS_MAX = 16 };

static const char *own_name;

const char *app_name(void)
{
    return own_name;
}

static void print_help(FILE *to, const struct app_program *program)
{
    fprintf(to, "%s\n\n", program->intro);
    for (size_t i = 0; i < program->command_count; i++)
        fprintf(to, "  %s %s %s\n      %s\n", program->name, program->commands[i].name,
                program->commands[i].arguments, program->commands[i].what);
    fprintf(to,
            "\n%s\nExit codes: 0 done, 1 it ran and the answer is no, 2 usage or configuration.\n",
            program->outro);
}

static bool is_help(const char *argument)
{
    return !strcmp(argument, "help") || !strcmp(argument, "--help") || !strcmp(argument, "-h");
}

/* What was probably meant is told last: below the help it would not be seen. */
static int no_command(const struct app_program *program, const char *name)
{
    struct span names[COMMANDS_MAX];
    INVARIANT(program->command_count <= COMMANDS_MAX);
    for (size_t i = 0; i < program->command_count; i++)
        names[i] = span_of(program->commands[i].name);
    struct span near = nearest_name(span_of(name), names, program->command_count);
    print_help(stderr, program);
    if (*name) fprintf(stderr, "\n%s: there is no command `%s`", program->name, name);
    if (near.len) fprintf(stderr, "; nearest: `%.*s`", (int)near.len, near.data);
    if (*name) fputc('\n', stderr);
    return EXIT_WRONG;
}

int app_main(int argc, char **argv, const struct app_program *program)
{
    own_name = program->name;
    const char *name = argc > 1 ? argv[1] : "";
    if (is_help(name)) {
        print_help(stdout, program);
        return app_output_end();
    }
    if (!strcmp(name, "--version")) return cmd_version(1, argv + 1);
    for (size_t i = 0; i < program->command_count; i++) {
        const struct app_command *command = &program->commands[i];
        if (strcmp(name, command->name) != 0) continue;
        if (argc == 3 && !strcmp(argv[2], "--help") && !command->has_help) {
            print_help(stdout, program);
            return app_output_end();
        }
        return command->run(argc - 1, argv + 1);
    }
    return no_command(program, name);
}
