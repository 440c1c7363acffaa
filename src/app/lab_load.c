/* load: requests on schedule, against one server or several, or as pairs that decide which of two
 * is faster. Reads the options, checks that they go together, and wires the lab's parts. */
#include "app/app.h"

#include "lab/load_describe.h"
#include "lab/load_jitter.h"
#include "lab/pairs_run.h"
#include "lab/quantity.h"
#include "lab/summary.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BODIES_FILE_MAX = 64 * 1024 * 1024, JITTER_WAITS = 200 };

#define DEFAULT_PATH "/v1/decide"
#define METRICS_PATH "/metrics"

static const char usage[] =
    "interlude-lab load URL... --rate R [options]\n"
    "\n"
    "Sends requests when they are due, whatever the server does, and counts each one's time from "
    "then.\n"
    "Several URLs share the rate. Only http:// on loopback; the path is " DEFAULT_PATH
    " if left out.\n"
    "\n"
    "  --rate R              requests a second (shape flat)\n"
    "  --duration D          how long (10s)\n"
    "  --arrivals KIND       poisson (default) or constant\n"
    "  --shape KIND          flat (default), or diurnal: from trough to peak and back\n"
    "  --peak R --trough R --cycle D\n"
    "                        the diurnal shape's rates, and the length of its day\n"
    "  --seed N              of arrivals and bodies (1)\n"
    "  --connections C       to each URL, kept alive (64)\n"
    "  --timeout D           of a connect and of a request (5s)\n"
    "  --spin D              poll that long before a request is due (50us)\n"
    "  --posteriors WHICH    in the built-in requests: all, some, none or mix (default)\n"
    "  --body FILE           instead of them: a JSON line each {\"weight\": 3, \"body\": {...}}, "
    "where\n"
    "                        strings may hold {seq} {unit} {int:LOW:HIGH} {float:LOW:HIGH}\n"
    "  --interleave          several URLs take turns request by request (default)\n"
    "  --alternate D         they take turns of that length\n"
    "  --out FILE            write a capture (docs/captures.md)\n"
    "  --interval D          of a line of the capture (1s)\n"
    "  --admin URL[,URL...]  the operations ports: the capture tells builds and plans\n"
    "  --json                the summary as JSON\n"
    "\n"
    "Which is faster? Two URLs, A and B:\n"
    "  --pairs N             N pairs of runs of B and A, and as many of A and A (at least 6)\n"
    "  --pair-duration D     of one run (10s)\n"
    "  --metric M            p50, p99 (default), p999, or cpu: processor time per answer\n"
    "  --pid A,B             cpu: of these processes;\n"
    "  --metrics URL,URL     or as their metrics tell it\n"
    "  --bar X               is B/A below X? met, missed or not resolved\n";

struct options {
    struct load_options load;
    struct pairs_options pairs;
    struct load_target targets[CAPTURE_TARGETS_MAX];
    struct load_target admins[CAPTURE_TARGETS_MAX], metrics[CAPTURE_TARGETS_MAX];
    uint32_t admin_count, metrics_count;
    uint64_t pair_ns;
    double bar;
    const char *body_file, *posteriors, *out_file;
    bool json, help, pair_option;
};

static volatile sig_atomic_t stop;

static void stop_ask(int signal_number)
{
    (void)signal_number;
    stop = 1;
}

static int fail(const struct err *e)
{
    fprintf(stderr, "interlude-lab load: %s\n", e->text);
    return EXIT_WRONG;
}

/* ---- options: each kind of value has a reader, each option a row
 * --------------------------------- */

static bool read_ns(const char *text, void *to)
{
    return quantity_duration(text, to) && *(uint64_t *)to > 0;
}

static bool read_ns_or_0(const char *text, void *to)
{
    return quantity_duration(text, to);
}

static bool read_number(const char *text, void *to)
{
    return quantity_number(text, to);
}

static bool read_seed(const char *text, void *to)
{
    int64_t n;
    if (!quantity_integer(text, 0, INT64_MAX / 2, &n)) return false;
    *(uint64_t *)to = (uint64_t)n;
    return true;
}

static bool read_connections(const char *text, void *to)
{
    int64_t n;
    if (!quantity_integer(text, 1, LOAD_CONNECTIONS_MAX, &n)) return false;
    *(uint32_t *)to = (uint32_t)n;
    return true;
}

static bool read_pairs(const char *text, void *to)
{
    int64_t n;
    if (!quantity_integer(text, PAIRS_MIN, PAIRS_MAX, &n)) return false;
    *(size_t *)to = (size_t)n;
    return true;
}

static bool read_arrivals(const char *text, void *to)
{
    bool constant = !strcmp(text, "constant");
    *(enum load_arrivals *)to = constant ? LOAD_CONSTANT : LOAD_POISSON;
    return constant || !strcmp(text, "poisson");
}

static bool read_curve(const char *text, void *to)
{
    bool flat = !strcmp(text, "flat");
    *(enum load_curve *)to = flat ? LOAD_FLAT : LOAD_DIURNAL;
    return flat || !strcmp(text, "diurnal");
}

static bool read_metric(const char *text, void *to)
{
    return pairs_metric_of(text, to);
}

static bool read_posteriors(const char *text, void *to)
{
    *(const char **)to = text;
    return load_bodies_built_in(text) != NULL;
}

static bool read_text(const char *text, void *to)
{
    *(const char **)to = text;
    return *text != 0;
}

static bool read_pids(const char *text, void *to)
{
    char first[32], *comma = strchr(text, ',');
    int64_t a, b;
    if (!comma || (size_t)(comma - text) >= sizeof first) return false;
    snprintf(first, sizeof first, "%.*s", (int)(comma - text), text);
    if (!quantity_integer(first, 1, INT32_MAX, &a)) return false;
    if (!quantity_integer(comma + 1, 1, INT32_MAX, &b)) return false;
    ((int *)to)[0] = (int)a;
    ((int *)to)[1] = (int)b;
    return true;
}

static const struct option {
    const char *name;
    bool (*read)(const char *text, void *to);
    size_t offset;
    bool of_pairs;
} option_rows[] = {
    {"--rate", read_number, offsetof(struct options, load.shape.rate), false},
    {"--duration", read_ns, offsetof(struct options, load.shape.duration_ns), false},
    {"--arrivals", read_arrivals, offsetof(struct options, load.shape.arrivals), false},
    {"--shape", read_curve, offsetof(struct options, load.shape.curve), false},
    {"--peak", read_number, offsetof(struct options, load.shape.peak), false},
    {"--trough", read_number, offsetof(struct options, load.shape.trough), false},
    {"--cycle", read_ns, offsetof(struct options, load.shape.cycle_ns), false},
    {"--seed", read_seed, offsetof(struct options, load.shape.seed), false},
    {"--connections", read_connections, offsetof(struct options, load.connections), false},
    {"--timeout", read_ns, offsetof(struct options, load.timeout_ns), false},
    {"--spin", read_ns_or_0, offsetof(struct options, load.spin_ns), false},
    {"--interval", read_ns, offsetof(struct options, load.interval_ns), false},
    {"--posteriors", read_posteriors, offsetof(struct options, posteriors), false},
    {"--body", read_text, offsetof(struct options, body_file), false},
    {"--out", read_text, offsetof(struct options, out_file), false},
    {"--pairs", read_pairs, offsetof(struct options, pairs.pairs), false},
    {"--pair-duration", read_ns, offsetof(struct options, pair_ns), true},
    {"--metric", read_metric, offsetof(struct options, pairs.metric), true},
    {"--pid", read_pids, offsetof(struct options, pairs.pids), true},
    {"--bar", read_number, offsetof(struct options, bar), true},
};

/* URLs with commas between them. */
static enum err_code read_urls(const char *text, const char *path, struct load_target *to,
                               uint32_t *count, struct err *e)
{
    for (*count = 0;; text++) {
        char url[LOAD_URL_MAX];
        size_t len = strcspn(text, ",");
        if (*count == CAPTURE_TARGETS_MAX || len >= sizeof url)
            return err_set(e, ERR_USAGE, "too many URLs, or one that is too long: %.100s", text);
        snprintf(url, sizeof url, "%.*s", (int)len, text);
        enum err_code code = load_target_parse(url, path, &to[(*count)++], e);
        text += len;
        if (code || !*text) return code;
    }
}

static int url_add(struct options *o, const char *url)
{
    struct err e;
    if (o->load.target_count == CAPTURE_TARGETS_MAX)
        return app_usage_error("load", "takes at most 8 URLs, not also", url);
    enum err_code code =
        load_target_parse(url, DEFAULT_PATH, &o->targets[o->load.target_count++], &e);
    return code ? fail(&e) : EXIT_DONE;
}

/* An option of the table at argv[*i]; false if it is another. */
static bool option_read(struct options *o, int argc, char **argv, int *i, int *code)
{
    for (const struct option *row = option_rows;
         row < option_rows + sizeof option_rows / sizeof *option_rows; row++) {
        const char *value = app_option(argc, argv, i, row->name);
        if (!value) continue;
        if (!row->read(value, (char *)o + row->offset)) {
            char what[64];
            snprintf(what, sizeof what, "%s cannot be", row->name);
            *code = app_usage_error("load", what, value);
        }
        o->pair_option |= row->of_pairs;
        if (!strcmp(row->name, "--bar")) o->pairs.bar = &o->bar;
        if (!strcmp(row->name, "--pid")) o->pairs.has_pids = true;
        return true;
    }
    return false;
}

static int options_read(struct options *o, int argc, char **argv)
{
    struct err e = {0};
    int code = EXIT_DONE;
    const char *value;
    for (int i = 1; i < argc && !code; i++) {
        if (option_read(o, argc, argv, &i, &code)) continue;
        if ((value = app_option(argc, argv, &i, "--alternate"))) {
            o->load.spread = LOAD_ALTERNATE;
            if (!read_ns(value, &o->load.turn_ns))
                code = app_usage_error("load", "--alternate cannot be", value);
        } else if ((value = app_option(argc, argv, &i, "--admin"))) {
            if (read_urls(value, METRICS_PATH, o->admins, &o->admin_count, &e)) code = fail(&e);
        } else if ((value = app_option(argc, argv, &i, "--metrics"))) {
            if (read_urls(value, METRICS_PATH, o->metrics, &o->metrics_count, &e)) code = fail(&e);
        } else if (!strcmp(argv[i], "--interleave")) {
            o->load.spread = LOAD_INTERLEAVE;
        } else if (!strcmp(argv[i], "--json")) {
            o->json = true;
        } else if (!strcmp(argv[i], "--help")) {
            o->help = true;
        } else if (argv[i][0] == '-') {
            code = app_usage_error("load", "does not know", argv[i]);
        } else {
            code = url_add(o, argv[i]);
        }
    }
    return code;
}

static enum err_code pairs_check(const struct options *o, struct err *e)
{
    if (o->load.target_count != 2) return err_set(e, ERR_USAGE, "--pairs takes two URLs, A and B");
    if (o->out_file) return err_set(e, ERR_USAGE, "--out is for a single run, not for --pairs");
    if (o->load.spread == LOAD_ALTERNATE)
        return err_set(e, ERR_USAGE, "--pairs alternates by itself, without --alternate");
    if (o->pairs.metric == PAIRS_CPU && !o->pairs.has_pids && o->metrics_count != 2)
        return err_set(e, ERR_USAGE, "--metric cpu needs --pid A,B or --metrics URL,URL");
    return ERR_OK;
}

static enum err_code options_check(struct options *o, struct err *e)
{
    if (o->load.target_count == 0) return err_set(e, ERR_USAGE, "a URL is needed");
    if (o->body_file && o->posteriors)
        return err_set(e, ERR_USAGE, "--posteriors is for the built-in requests, not for --body");
    if (o->admin_count && o->admin_count != o->load.target_count)
        return err_set(e, ERR_USAGE, "--admin takes as many URLs as there are targets");
    if (o->pairs.pairs)
        o->load.shape.duration_ns = o->pair_ns;
    else if (o->pair_option)
        return err_set(e, ERR_USAGE, "that needs --pairs N");
    enum err_code code = load_shape_check(&o->load.shape, e);
    return !code && o->pairs.pairs ? pairs_check(o, e) : code;
}

/* ---- bodies
 * ---------------------------------------------------------------------------------------- */

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

static enum err_code bodies_load(const struct options *o, struct load_bodies *out, struct err *e)
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
        err_set(e, code, "%.100s:%u: %s", o->body_file, inner.line, inner.text);
    }
    free(text);
    return code;
}

/* ---- a single run
 * ---------------------------------------------------------------------------------- */

struct watch {
    FILE *capture; /* or NULL */
    struct capture_header header;
    bool header_written;
    char line[CAPTURE_LINE_BYTES_MAX + 1];
};

static void line_write(struct watch *w, struct buf *b)
{
    buf_char(b, '\n');
    INVARIANT(!b->full);
    fwrite(b->data, 1, b->len, w->capture);
    fflush(w->capture);
}

static void interval_write(void *context, const struct capture_interval *interval)
{
    struct watch *w = context;
    if (!w->header_written) {
        w->header.started_us = interval->start_us;
        struct buf b = buf_of(w->line, sizeof w->line);
        capture_write_header(&b, &w->header);
        line_write(w, &b);
        w->header_written = true;
    }
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

static int capture_close(struct watch *w, const char *path)
{
    if (!w->capture) return EXIT_DONE;
    bool bad = ferror(w->capture);
    if (fclose(w->capture) == 0 && !bad) return EXIT_DONE;
    fprintf(stderr, "interlude-lab load: %s: the capture is not whole: %s\n", path,
            strerror(errno));
    return EXIT_WRONG;
}

static enum err_code capture_begin(const struct options *o, struct watch *w, struct err *e)
{
    if (!o->out_file) return ERR_OK;
    char bodies[CAPTURE_TEXT_MAX];
    if (o->body_file)
        snprintf(bodies, sizeof bodies, "%s", o->body_file);
    else
        snprintf(bodies, sizeof bodies, "built in: %s", o->posteriors ? o->posteriors : "mix");
    enum err_code code = load_describe(&o->load, bodies, o->admins, o->admin_count, &w->header, e);
    if (code) return code;
    w->capture = fopen(o->out_file, "we");
    return w->capture ? ERR_OK : err_set_sys(e, ERR_SYSTEM, errno, "%.150s", o->out_file);
}

static void print_text(const struct buf *b)
{
    INVARIANT(!b->full);
    fwrite(b->data, 1, b->len, stdout);
}

/* The answer is no if nothing was answered. */
static int result_tell(const struct options *o, const struct load_result *r,
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

static int single_run(struct options *o)
{
    static struct load_result result;
    static struct watch watch;
    struct err e;
    if (capture_begin(o, &watch, &e)) return fail(&e);
    o->load.context = &watch;
    if (watch.capture) o->load.interval = interval_write;
    if (isatty(STDERR_FILENO)) o->load.progress = progress_show;
    struct hist jitter;
    load_jitter(&jitter, JITTER_WAITS);
    enum err_code code = load_run(&o->load, &result, &e);
    progress_wipe();
    int closed = capture_close(&watch, o->out_file);
    if (code) return fail(&e);
    int told = result_tell(o, &result, &jitter);
    return closed ? closed : told;
}

/* ---- pairs
 * ----------------------------------------------------------------------------------------- */

static void pairs_progress(void *context, size_t runs_done, size_t runs)
{
    const struct options *o = context;
    fprintf(stderr, "\r\033[Krun %zu of %zu, %.0f s left", runs_done + 1, runs,
            (double)(runs - runs_done) * (double)o->pair_ns / 1e9);
}

static int pairs_of_runs(struct options *o)
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
        fail(&e);
        return code == ERR_LIMIT ? EXIT_NO : EXIT_WRONG;
    }
    struct buf b = buf_of(memory, sizeof memory);
    if (o->json)
        pairs_json(&b, &o->pairs, &result);
    else
        pairs_print(&b, &o->pairs, &result);
    if (o->json) buf_char(&b, '\n');
    print_text(&b);
    return o->pairs.bar && result.bar != PAIRS_MET ? EXIT_NO : EXIT_DONE;
}

int lab_load(int argc, char **argv)
{
    static struct options o = {
        .load = {.shape = {.duration_ns = 10000000000, .arrivals = LOAD_POISSON, .seed = 1},
                 .connections = 64,
                 .timeout_ns = 5000000000,
                 .spin_ns = 50000,
                 .interval_ns = 1000000000,
                 .stop = &stop},
        .pairs = {.metric = PAIRS_P99},
        .pair_ns = 10000000000,
    };
    int wrong = options_read(&o, argc, argv);
    if (o.help && !wrong) fputs(usage, stdout);
    if (o.help || wrong) return wrong;
    struct err e;
    struct load_bodies bodies;
    o.load.targets = o.targets;
    if (options_check(&o, &e) || bodies_load(&o, &bodies, &e)) return fail(&e);
    o.load.bodies = &bodies;
    /* The first ^C ends the run and tells what there is; the second ends the process. */
    struct sigaction asked = {.sa_handler = stop_ask, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &asked, NULL);
    int code = o.pairs.pairs ? pairs_of_runs(&o) : single_run(&o);
    load_bodies_done(&bodies);
    return code;
}
