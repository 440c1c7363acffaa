/* decide: a request a line on stdin, a decision or a problem document a line on stdout. For
 * scripts, for asking "what would you have done", and for holding two machines against each other.
 * Blank lines are passed over; a problem tells the number of its line.
 */
#include "app/app.h"

#include "base/clock.h"
#include "decide/reply.h"
#include "serve/plan_example.h"
#include "serve/plan_file.h"
#include "serve/request_id.h"
#include "wire/http_write.h"
#include "wire/json_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line_decider {
    const struct plan *plan;
    struct request_id_maker ids;
    bool explain;
    struct request request;
    char made_id[REQUEST_ID_MADE_BYTES];
    char scratch[REQUEST_BYTES_MAX];
    char answer[REPLY_EXPLAIN_BYTES_MAX];
};

/* The problem document, and which line of the input it is about. */
static void put_problem(struct buf *b, const struct err *e, uint64_t number)
{
    http_write_problem_body(b, e);
    b->len--; /* its closing brace: one more member follows */
    json_write_key(b, SPAN("input_line"));
    buf_u64(b, number);
    buf_char(b, '}');
}

/* Writes one line. Returns whether it is a decision. */
static bool decide_line(struct line_decider *d, struct span line, uint64_t number)
{
    struct buf b = buf_of(d->answer, sizeof d->answer);
    struct err e = {0};
    if (line.len > REQUEST_BYTES_MAX) {
        err_set(&e, ERR_BODY_TOO_LARGE, "a request has at most %d bytes", REQUEST_BYTES_MAX);
    } else if (request_read(d->plan, line, d->scratch, &d->request, &e) == ERR_OK) {
        struct request *request = &d->request;
        int64_t now_us = request_complete(request, &d->ids, d->made_id, clock_wall_us());
        request->explain |= d->explain;
        struct decision decision;
        decide(d->plan, request, now_us, NULL, &decision);
        reply_write(&b, d->plan, request, &decision, now_us);
        INVARIANT(!b.full);
    }
    if (e.code) put_problem(&b, &e, number);
    fwrite(b.data, 1, b.len, stdout);
    putchar('\n');
    return !e.code;
}

static bool is_blank(struct span line)
{
    for (size_t i = 0; i < line.len; i++)
        if (!memchr(" \t\r", line.data[i], 3)) return false;
    return true;
}

static int decide_lines(struct line_decider *d)
{
    bool all = true;
    char *line = NULL;
    size_t cap = 0;
    uint64_t number = 0;
    ssize_t len;
    while ((len = getline(&line, &cap, stdin)) >= 0) {
        number++;
        if (len && line[len - 1] == '\n') len--;
        struct span request = {line, (size_t)len};
        if (!is_blank(request)) all = decide_line(d, request, number) && all;
    }
    free(line);
    if (ferror(stdin)) {
        fprintf(stderr, "interlude decide: stdin: %s\n", strerror(errno));
        return EXIT_WRONG;
    }
    int code = app_output_end();
    return code ? code : all ? EXIT_DONE : EXIT_NO;
}

static int no_memory(void)
{
    fprintf(stderr, "interlude decide: there is not enough memory\n");
    return EXIT_WRONG;
}

static int decide_stdin(const struct plan *plan, bool explain)
{
    struct line_decider *d = calloc(1, sizeof *d);
    if (!d) return no_memory();
    d->plan = plan;
    d->explain = explain;
    request_id_init(&d->ids);
    int code = decide_lines(d);
    free(d);
    return code;
}

static int print_examples(const struct plan *plan)
{
    struct plan_example *example = malloc(sizeof *example);
    if (!example) return no_memory();
    struct span body;
    int variant;
    plan_example_init(example, plan, clock_wall_us());
    while (plan_example_next(example, &variant, &body)) {
        fwrite(body.data, 1, body.len, stdout);
        putchar('\n');
    }
    free(example);
    return app_output_end();
}

static const char usage[] =
    "interlude decide [--config FILE] [--explain] | [--config FILE] --example\n"
    "\n"
    "Reads a request a line from stdin, and prints a decision a line; for a bad request a problem\n"
    "document, with the number of its line in `input_line`. Blank lines are passed over.\n"
    "\n"
    "  --config FILE         the plan; `-` reads stdin, with --example (default: the "
    "demonstration\n"
    "                        plan that is built in)\n"
    "  --explain             tell what was considered, in every decision (default: where the\n"
    "                        request asks for it)\n"
    "  --example             print requests that the plan can decide, one for each policy, and "
    "read\n"
    "                        none: interlude decide --example | interlude decide\n"
    "\n"
    "Exit codes: 0 done, 1 there was a bad request, 2 usage or configuration.\n";

int cmd_decide(int argc, char **argv)
{
    static const char *const options[] = {"--config", "--explain", "--example", NULL};
    const char *config = NULL, *value;
    bool explain = false, example = false;
    if (app_help_asked(argc, argv)) {
        fputs(usage, stdout);
        return app_output_end();
    }
    for (int i = 1; i < argc; i++) {
        if ((value = app_option(argc, argv, &i, "--config")))
            config = value;
        else if (!strcmp(argv[i], "--explain"))
            explain = true;
        else if (!strcmp(argv[i], "--example"))
            example = true;
        else
            return app_unknown_option("decide", argv[i], options, NULL);
    }
    if (example && explain)
        return app_usage_error("decide", "--example decides nothing, and so has no", "--explain");
    if (config && plan_file_is_stdin(config) && !example)
        return app_usage_error("decide", "reads requests from stdin, so the plan can't be",
                               "--config -");
    struct plan *plan = app_plan_load(config, NULL);
    if (!plan) return EXIT_WRONG;
    int code = example ? print_examples(plan) : decide_stdin(plan, explain);
    plan_free(plan);
    return code;
}
