/* load: requests on schedule, against one server or several, or as pairs that decide which of two
 * is faster. Wires the lab's parts as the options say (lab_load_options.c). */
#include "app/app.h"
#include "app/lab_load_options.h"

#include "lab/load_describe.h"
#include "lab/load_jitter.h"
#include "lab/quantity.h"
#include "lab/summary.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BODIES_FILE_MAX = 64 * 1024 * 1024, JITTER_WAITS = 200 };

static atomic_int stop;

static void stop_ask(int signal_number)
{
    (void)signal_number;
    stop = 1;
}

/* ---- bodies ---- */

static enum err_code file_read(const char *path, char **text, size_t *len, struct err *e)
{
    FILE *file = fopen(path, "re");
    if (!file) return err_set_sys(e, ERR_SYSTEM, errno, "%.150s", path);
    size_t cap = 64 * 1024;
    *text = malloc(cap);
    *len = 0;
    for (size_t n = 1; n; *len += n) {
        if (*len == cap) *text = realloc(*text, cap *= 2);
        INVARIANT(*text != NULL);
        if (cap > 2 * BODIES_FILE_MAX) break;
        n = fread(*text + *len, 1, cap - *len, file);
    }
    bool bad = ferror(file), large = *len > BODIES_FILE_MAX;
    fclose(file);
    if (bad) return err_set_sys(e, ERR_SYSTEM, errno, "%.150s", path);
    return large ? err_set(e, ERR_LIMIT, "%.150s is over 64 MiB", path) : ERR_OK;
}

static enum err_code bodies_load(const struct lab_load_options *o, struct load_bodies *out,
                                 struct err *e)
{
    if (!o->body_file) {
        const char *which = o->posteriors ? o->posteriors : "mix";
        return load_bodies_compile(span_of(load_bodies_built_in(which)), out, e);
    }
    char *text = NULL;
    size_t len = 0;
    enum err_code code = file_read(o->body_file, &text, &len, e);
    if (!code && (code = load_bodies_compile((struct span){text, len}, out, e))) {
        struct err inner = *e;
        if (inner.line)
            err_set(e, code, "%.100s:%u: %s", o->body_file, inner.line, inner.text);
        else
            err_set(e, code, "%.100s: %s", o->body_file, inner.text);
    }
    free(text);
    return code;
}

/* ---- a single run ---- */

struct watch {
    const char *path; /* or NULL */
    FILE *capture;    /* or NULL */
    int write_error;  /* errno of the first that failed, or 0 */
    struct capture_header header;
    char line[CAPTURE_LINE_BYTES_MAX + 1];
};

static void line_write(struct watch *w, struct buf *b)
{
    buf_char(b, '\n');
    INVARIANT(!b->full);
    errno = 0;
    bool written = fwrite(b->data, 1, b->len, w->capture) == b->len && fflush(w->capture) == 0;
    if (!written && !w->write_error) w->write_error = errno;
}

/* Not before the run is known to be possible: an older capture of that name stays until then. */
static enum err_code capture_create(void *context, struct err *e)
{
    struct watch *w = context;
    w->capture = fopen(w->path, "we");
    return w->capture ? ERR_OK : err_set_sys(e, ERR_SYSTEM, errno, "%.150s", w->path);
}

/* At once: what was measured up to then is a capture, whenever the run is cut off. */
static void header_write(void *context, int64_t started_us)
{
    struct watch *w = context;
    w->header.started_us = started_us;
    struct buf b = buf_of(w->line, sizeof w->line);
    capture_write_header(&b, &w->header);
    line_write(w, &b);
}

static void interval_write(void *context, const struct capture_interval *interval)
{
    struct watch *w = context;
    struct buf b = buf_of(w->line, sizeof w->line);
    capture_write_interval(&b, interval);
    line_write(w, &b);
}

/* One line that is written over, and wiped at the end. */
static void progress_show(void *context, const struct load_progress *p)
{
    (void)context;
    char p50[QUANTITY_TEXT_MAX], p99[QUANTITY_TEXT_MAX];
    uint64_t left_ns = p->duration_ns - p->done_ns;
    fprintf(stderr, "\r\033[K%.0f/s  p50 %s  p99 %s  %llu errors  %.0f %%, %.0f s left", p->rate,
            quantity_print_ns(p50, hist_quantile(&p->recent, 0.5)),
            quantity_print_ns(p99, hist_quantile(&p->recent, 0.99)), (unsigned long long)p->failed,
            p->duration_ns ? 100.0 * (double)p->done_ns / (double)p->duration_ns : 100.0,
            (double)left_ns / 1e9);
}

static void progress_wipe(void)
{
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}

static int capture_close(struct watch *w)
{
    if (!w->capture) return EXIT_DONE;
    if (fclose(w->capture) != 0 && !w->write_error) w->write_error = errno;
    if (!w->write_error) return EXIT_DONE;
    fprintf(stderr, "interlude-lab load: %s: the capture is not whole: %s\n", w->path,
            strerror(w->write_error));
    return EXIT_WRONG;
}

static enum err_code capture_begin(struct lab_load_options *o, struct watch *w, struct err *e)
{
    if (!o->out_file) return ERR_OK;
    char bodies[CAPTURE_TEXT_MAX];
    if (o->body_file)
        snprintf(bodies, sizeof bodies, "%s", o->body_file);
    else
        snprintf(bodies, sizeof bodies, "built in: %s", o->posteriors ? o->posteriors : "mix");
    enum err_code code = load_describe(&o->load, bodies, o->admins, o->admin_count, &w->header, e);
    w->path = o->out_file;
    o->load.opened = capture_create;
    o->load.began = header_write;
    o->load.interval = interval_write;
    return code;
}

static void print_text(const struct buf *b)
{
    INVARIANT(!b->full);
    fwrite(b->data, 1, b->len, stdout);
}

/* The answer is no if nothing was answered. */
static int result_tell(const struct lab_load_options *o, const struct load_result *r,
                       const struct hist *jitter)
{
    static char memory[SUMMARY_BYTES_MAX];
    struct buf b = buf_of(memory, sizeof memory);
    if (o->json)
        summary_json(&b, &o->load, r, jitter);
    else
        summary_print(&b, &o->load, r, jitter);
    if (o->json) buf_char(&b, '\n');
    print_text(&b);
    uint64_t answered = 0;
    for (uint32_t t = 0; t < r->targets; t++) answered += r->total[t].latency.count;
    return answered ? EXIT_DONE : EXIT_NO;
}

static int single_run(struct lab_load_options *o)
{
    static struct load_result result;
    static struct watch watch;
    struct err e;
    if (capture_begin(o, &watch, &e)) return app_fail("load", &e);
    o->load.context = &watch;
    if (isatty(STDERR_FILENO)) o->load.progress = progress_show;
    struct hist jitter;
    load_jitter(&jitter, JITTER_WAITS);
    enum err_code code = load_run(&o->load, &result, &e);
    progress_wipe();
    int closed = capture_close(&watch);
    if (code) return app_fail("load", &e);
    int told = result_tell(o, &result, &jitter);
    return closed ? closed : told;
}

/* ---- pairs ---- */

static void pairs_progress(void *context, size_t runs_done, size_t runs)
{
    const struct lab_load_options *o = context;
    fprintf(stderr, "\r\033[Krun %zu of %zu, %.0f s left", runs_done + 1, runs,
            (double)(runs - runs_done) * (double)o->pair_ns / 1e9);
}

static int pairs_of_runs(struct lab_load_options *o)
{
    static struct pairs_result result;
    static char memory[PAIRS_BYTES_MAX];
    struct err e;
    o->pairs.load = o->load;
    o->pairs.metrics = o->metrics;
    o->pairs.context = o;
    if (isatty(STDERR_FILENO)) o->pairs.progress = pairs_progress;
    enum err_code code = pairs_run(&o->pairs, &result, &e);
    progress_wipe();
    if (code) {
        app_fail("load", &e);
        return code == ERR_LIMIT ? EXIT_NO : EXIT_WRONG;
    }
    struct buf b = buf_of(memory, sizeof memory);
    if (o->json)
        pairs_json(&b, &o->pairs, &result);
    else
        pairs_print(&b, &o->pairs, &result);
    if (o->json) buf_char(&b, '\n');
    print_text(&b);
    return pairs_answer(&o->pairs, &result) ? EXIT_DONE : EXIT_NO;
}

int lab_load(int argc, char **argv)
{
    static struct lab_load_options o;
    lab_load_options_begin(&o);
    o.load.stop = &stop;
    app_output_begin();
    int wrong = lab_load_options_read(&o, argc, argv);
    if (wrong) return wrong;
    if (o.help) {
        fputs(lab_load_usage, stdout);
        return app_output_end();
    }
    struct err e;
    struct load_bodies bodies;
    if (lab_load_options_check(&o, &e) || bodies_load(&o, &bodies, &e)) return app_fail("load", &e);
    o.load.bodies = &bodies;
    /* The first ^C ends the schedule, and a second later the run; the second ends the process. */
    struct sigaction asked = {.sa_handler = stop_ask, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &asked, NULL);
    int code = o.pairs.pairs ? pairs_of_runs(&o) : single_run(&o);
    load_bodies_done(&bodies);
    int output = app_output_end();
    return output ? output : code;
}
