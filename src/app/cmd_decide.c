/* decide: a request a line on stdin, a decision or a problem document a line on stdout. For
 * scripts, for asking "what would you have done", and for holding two machines against each other.
 */
#include "app/app.h"

#include "base/clock.h"
#include "decide/reply.h"
#include "serve/request_id.h"
#include "wire/http_write.h"

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

/* Writes one line. Returns whether it is a decision. */
static bool decide_line(struct line_decider *d, struct span line)
{
    struct buf b = buf_of(d->answer, sizeof d->answer);
    struct err e = {0};
    if (line.len > REQUEST_BYTES_MAX) {
        err_set(&e, ERR_BODY_TOO_LARGE, "a request has at most %d bytes", REQUEST_BYTES_MAX);
    } else if (request_read(d->plan, line, d->scratch, &d->request, &e) == ERR_OK) {
        struct request *request = &d->request;
        if (!request->request_id.len) request->request_id = request_id_make(&d->ids, d->made_id);
        request->explain |= d->explain;
        int64_t now_us = request->time_us != REQUEST_TIME_NONE ? request->time_us : clock_wall_us();
        struct decision decision;
        decide(d->plan, request, now_us, NULL, &decision);
        reply_write(&b, d->plan, request, &decision, now_us);
        INVARIANT(!b.full);
    }
    if (e.code) http_write_problem_body(&b, &e);
    fwrite(b.data, 1, b.len, stdout);
    putchar('\n');
    return !e.code;
}

static int decide_lines(struct line_decider *d)
{
    bool all = true;
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    while ((len = getline(&line, &cap, stdin)) >= 0) {
        if (len && line[len - 1] == '\n') len--;
        all = decide_line(d, (struct span){line, (size_t)len}) && all;
    }
    free(line);
    if (ferror(stdin)) {
        fprintf(stderr, "interlude decide: stdin: %s\n", strerror(errno));
        return EXIT_WRONG;
    }
    int code = app_output_end();
    return code ? code : all ? EXIT_DONE : EXIT_NO;
}

int cmd_decide(int argc, char **argv)
{
    const char *config = NULL, *value;
    bool explain = false;
    for (int i = 1; i < argc; i++) {
        if ((value = app_option(argc, argv, &i, "--config")))
            config = value;
        else if (!strcmp(argv[i], "--explain"))
            explain = true;
        else
            return app_usage_error("decide", "does not know", argv[i]);
    }
    struct plan *plan = app_plan_load(config, NULL);
    if (!plan) return EXIT_WRONG;

    struct line_decider *d = calloc(1, sizeof *d);
    if (!d) {
        plan_free(plan);
        fprintf(stderr, "interlude decide: there is not enough memory\n");
        return EXIT_WRONG;
    }
    d->plan = plan;
    d->explain = explain;
    request_id_init(&d->ids);
    int code = decide_lines(d);
    free(d);
    plan_free(plan);
    return code;
}
