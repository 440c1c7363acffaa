/* app: the commands. Each takes its own arguments (argv[0] is the command's name) and returns the
 * process's exit code. */
#ifndef INTERLUDE_APP_APP_H
#define INTERLUDE_APP_APP_H

#include "decide/plan.h"
#include "plan/plan_load.h"

enum exit_code {
    EXIT_DONE = 0,
    EXIT_NO = 1,    /* it ran, and the answer is no */
    EXIT_WRONG = 2, /* usage or configuration */
};

struct app_command {
    const char *name, *arguments, *what;
    int (*run)(int argc, char **argv);
    bool has_help; /* it answers --help itself */
};

struct app_program {
    const char *name, *intro, *outro;
    const struct app_command *commands;
    size_t command_count;
};

/* Finds the command that argv[1] names and runs it; or prints the help. The exit code. */
int app_main(int argc, char **argv, const struct app_program *program);

/* The program's own name, from app_main on, whatever its file is called. */
const char *app_name(void);

int cmd_serve(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_decide(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* Those of interlude-lab. */
int lab_profile(int argc, char **argv);
int lab_load(int argc, char **argv);
int lab_serve(int argc, char **argv);
int lab_signals(int argc, char **argv);

/* lab_operations.c. GETs the target's path from a server's operations port; the caller frees *body.
 * The error names the URL, and says what to do. */
struct load_target;
enum err_code lab_operations_fetch(const struct load_target *target, char **body,
                                   struct err *e) MUST_CHECK;

/* Puts the URL and what to do into `e`, which says why what was asked of `target` failed. Returns
 * e->code. */
enum err_code lab_operations_wrong(const struct load_target *target, struct err *e);

/* A whole file (`-`: stdin), or the first PLAN_BYTES_MAX + 1 bytes of it; the caller frees
 * `memory`. False, and told on stderr, if it cannot be read. */
struct app_file {
    char *memory;
    struct span text;
};
bool app_file_read(const char *path, struct app_file *out);

/* Compiles a plan's file, or tells every error on stderr as NAME:LINE:COLUMN and returns NULL.
 * *settings is the caller's too, and *warnings as plan_check_file fills it; NULL: they are not
 * wanted. */
struct plan *app_plan_parse(const char *name, struct span text, struct settings **settings,
                            struct plan_errors *warnings);

/* Errors, or warnings, on stderr: "NAME:LINE:COLUMN: " and `what` before each one's text. */
void app_errors_tell(const char *name, const char *what, const struct plan_errors *errors);

/* app_plan_parse of the file at `path` (`-`: stdin); NULL: the demonstration plan. */
struct plan *app_plan_load(const char *path, struct settings **settings);

/* app_plan_parse for a server: one line on stderr where there is something to warn about. */
struct plan *app_plan_parse_served(const char *name, struct span text, struct settings **settings);

/* Whether the command's arguments ask for its help. */
bool app_help_asked(int argc, char **argv);

/* cmd_serve.c. First of all in a server: before anything else is opened. Signals wait from here on,
 * and sockets that were inherited are in *config. False, and told, if it cannot be one. */
struct server_config;
bool app_serve_begin(struct server_config *config);

/* Reads argv[*i], an option of `serve`, and moves *i on. EXIT_DONE; or told, and EXIT_WRONG.
 * `others`: options that the caller has beside them, NULL-terminated. */
int app_serve_option(int argc, char **argv, int *i, const char *const *others,
                     struct server_config *config);

/* Reads the plan of config->plan_path into config->plan, as a reload does: in a limited time, and
 * not on after a signal that stops the server. EXIT_DONE; else the process's exit code, and it has
 * been told. config->plan is NULL where the start has been stopped: that is no failure. */
int app_serve_plan(struct server_config *config);

/* Serves config->plan, which it takes over, until a signal ends it; tells on stderr where it
 * listens, and with `hint` requests to paste. The process's exit code. */
int app_serve_run(const struct server_config *config, bool hint);

/* Reads an option's value: `--name VALUE` or `--name=VALUE` at argv[*i]; moves *i on. NULL if
 * argv[*i] is another argument. A missing value is told on stderr and ends the process with 2. */
const char *app_option(int argc, char **argv, int *i, const char *name);

/* "PROGRAM COMMAND: text", and how to ask for help. Returns EXIT_WRONG. */
int app_usage_error(const char *command, const char *text, const char *what);

/* The same of an argument that is none of the command's options, which are NULL-terminated lists:
 * names the nearest of them. `more` may be NULL. Returns EXIT_WRONG. */
int app_unknown_option(const char *command, const char *argument, const char *const *options,
                       const char *const *more);

/* "PROGRAM COMMAND: what e says" on stderr. Returns EXIT_WRONG. */
int app_fail(const char *command, const struct err *e);

/* For a command that opens files and sockets, before it does: a stdout or stderr that is closed
 * keeps its number, so that nothing else gets it and is written to, and writing to it stays an
 * error. A reader that leaves is from then on an error too, and not the process's end. */
void app_output_begin(void);

/* hint.c. A text to paste for each policy of the plan, that asks `listen`, HOST:PORT; the caller
 * frees it. NULL: there is no memory. */
char *app_hint_new(const struct plan *plan);
/* Prints it on stderr. */
void app_hint_tell(const char *hint, const char *listen);

/* Flushes stdout. EXIT_DONE; or EXIT_WRONG, told on stderr, if not all of it could be written. */
int app_output_end(void);

#endif
