#include "app/lab_load_options.h"

#include "app/app.h"

#include "lab/quantity.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_PATH "/v1/decide"
#define METRICS_PATH "/metrics"

const char lab_load_usage[] =
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
    "                        the diurnal shape's rates, and the length of its day (at least "
    "1ms)\n"
    "  --seed N              of arrivals and bodies (1)\n"
    "  --connections C       to each URL, kept alive (64)\n"
    "  --timeout D           of a connect and of a request (5s)\n"
    "  --spin D              poll that long before a request is due (50us)\n"
    "  --posteriors WHICH    in the built-in requests: all, some, none or mix (default)\n"
    "  --body FILE           instead of them: a JSON line each {\"weight\": 3, \"body\": {...}}, "
    "where\n"
    "                        strings may hold {seq} {unit} {int:LOW:HIGH} {float:LOW:HIGH}\n"
    "  --interleave          several URLs take turns request by request (default)\n"
    "  --alternate D         they take turns of that length (at least 1ms)\n"
    "  --out FILE            write a capture (docs/captures.md)\n"
    "  --interval D          with --out: of a line of the capture (1s)\n"
    "  --admin URL[,URL...]  with --out: the operations ports: the capture tells builds and plans\n"
    "  --json                the summary as JSON\n"
    "^C ends the schedule; what is under way has one second more, and the summary is printed.\n"
    "\n"
    "Which is faster? Two URLs, A and B; a third is A's twin, for A/A (else it is A twice):\n"
    "  --pairs N             N pairs of runs of B and A, and as many of A and A (at least 6)\n"
    "  --pair-duration D     of one run (10s)\n"
    "  --metric M            p50, p99 (default), p999, or cpu: processor time per answer\n"
    "  --pid A,B[,TWIN]      cpu: of these processes and all below them;\n"
    "  --metrics URL,URL[,URL]\n"
    "                        or as their metrics tell it\n"
    "  --bar X               is B/A below X? met, missed or not resolved\n";

void lab_load_options_begin(struct lab_load_options *o)
{
    *o = (struct lab_load_options){
        .load = {.shape = {.duration_ns = 10000000000, .arrivals = LOAD_POISSON, .seed = 1},
                 .connections = 64,
                 .timeout_ns = 5000000000,
                 .spin_ns = 50000,
                 .interval_ns = 1000000000},
        .pairs = {.metric = PAIRS_P99},
        .pair_ns = 10000000000,
    };
}

static void give(struct lab_load_options *o, const char *name)
{
    if (o->given_count < LOAD_OPTIONS_GIVEN_MAX) o->given[o->given_count++] = name;
}

static bool given(const struct lab_load_options *o, const char *name)
{
    for (size_t i = 0; i < o->given_count; i++)
        if (!strcmp(o->given[i], name)) return true;
    return false;
}

/* ---- each kind of value has a reader, each option a row ---- */

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

/* With commas between them; those that are not given become 0. */
static bool read_pids(const char *text, void *to)
{
    int *pids = to;
    memset(pids, 0, PAIRS_SIDES_MAX * sizeof *pids);
    for (int i = 0; i < PAIRS_SIDES_MAX; i++) {
        char one[32];
        size_t len = strcspn(text, ",");
        int64_t pid;
        snprintf(one, sizeof one, "%.*s", (int)len, text);
        if (len >= sizeof one || !quantity_integer(one, 1, INT32_MAX, &pid)) return false;
        pids[i] = (int)pid;
        text += len;
        if (!*text) return i > 0;
        text++;
    }
    return false;
}

/* What an option takes, and who reads it. */
struct kind {
    bool (*read)(const char *text, void *to);
    const char *takes;
};

static const struct kind duration = {read_ns,
                                     "a duration above 0 with its unit, such as 10s or 250ms"},
                         duration_or_0 = {read_ns_or_0,
                                          "a duration with its unit, such as 50us or 0s"},
                         number = {read_number, "a number"}, seed = {read_seed, "a whole number"},
                         connections = {read_connections, "a whole number from 1 to 10000"},
                         pairs = {read_pairs, "a whole number from 6 to 1000"},
                         arrivals = {read_arrivals, "poisson or constant"},
                         curve = {read_curve, "flat or diurnal"},
                         metric = {read_metric, "p50, p99, p999 or cpu"},
                         posteriors = {read_posteriors, "all, some, none or mix"},
                         file = {read_text, "a file"},
                         pids = {read_pids, "two or three process ids, with commas between them"};
_Static_assert(LOAD_CONNECTIONS_MAX == 10000 && PAIRS_MIN == 6 && PAIRS_MAX == 1000,
               "what the options say they take");

static const struct option {
    const char *name;
    const struct kind *kind;
    size_t offset;
} option_rows[] = {
    {"--rate", &number, offsetof(struct lab_load_options, load.shape.rate)},
    {"--duration", &duration, offsetof(struct lab_load_options, load.shape.duration_ns)},
    {"--arrivals", &arrivals, offsetof(struct lab_load_options, load.shape.arrivals)},
    {"--shape", &curve, offsetof(struct lab_load_options, load.shape.curve)},
    {"--peak", &number, offsetof(struct lab_load_options, load.shape.peak)},
    {"--trough", &number, offsetof(struct lab_load_options, load.shape.trough)},
    {"--cycle", &duration, offsetof(struct lab_load_options, load.shape.cycle_ns)},
    {"--seed", &seed, offsetof(struct lab_load_options, load.shape.seed)},
    {"--connections", &connections, offsetof(struct lab_load_options, load.connections)},
    {"--timeout", &duration, offsetof(struct lab_load_options, load.timeout_ns)},
    {"--spin", &duration_or_0, offsetof(struct lab_load_options, load.spin_ns)},
    {"--interval", &duration, offsetof(struct lab_load_options, load.interval_ns)},
    {"--alternate", &duration, offsetof(struct lab_load_options, load.turn_ns)},
    {"--posteriors", &posteriors, offsetof(struct lab_load_options, posteriors)},
    {"--body", &file, offsetof(struct lab_load_options, body_file)},
    {"--out", &file, offsetof(struct lab_load_options, out_file)},
    {"--pairs", &pairs, offsetof(struct lab_load_options, pairs.pairs)},
    {"--pair-duration", &duration, offsetof(struct lab_load_options, pair_ns)},
    {"--metric", &metric, offsetof(struct lab_load_options, pairs.metric)},
    {"--pid", &pids, offsetof(struct lab_load_options, pairs.pids)},
    {"--bar", &number, offsetof(struct lab_load_options, bar)},
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

static int url_add(struct lab_load_options *o, const char *url)
{
    struct err e;
    if (o->load.target_count == CAPTURE_TARGETS_MAX)
        return app_usage_error("load", "takes at most 8 URLs, not also", url);
    enum err_code code =
        load_target_parse(url, DEFAULT_PATH, &o->targets[o->load.target_count++], &e);
    return code ? app_fail("load", &e) : EXIT_DONE;
}

/* An option of the table at argv[*i]; false if it is another. */
static bool option_read(struct lab_load_options *o, int argc, char **argv, int *i, int *code)
{
    for (const struct option *row = option_rows;
         row < option_rows + sizeof option_rows / sizeof *option_rows; row++) {
        const char *value = app_option(argc, argv, i, row->name);
        if (!value) continue;
        if (!row->kind->read(value, (char *)o + row->offset)) {
            char what[128];
            snprintf(what, sizeof what, "%s takes %s, not", row->name, row->kind->takes);
            *code = app_usage_error("load", what, value);
        }
        give(o, row->name);
        return true;
    }
    return false;
}

static int option_unknown(const char *argument)
{
    enum { ROWS = sizeof option_rows / sizeof *option_rows };
    static const char *const others[] = {"--admin", "--metrics", "--interleave", "--json", NULL};
    const char *names[ROWS + 1] = {NULL};
    for (size_t i = 0; i < ROWS; i++) names[i] = option_rows[i].name;
    return app_unknown_option("load", argument, names, others);
}

int lab_load_options_read(struct lab_load_options *o, int argc, char **argv)
{
    struct err e = {0};
    int code = EXIT_DONE;
    const char *value;
    for (int i = 1; i < argc && !code; i++) {
        if (option_read(o, argc, argv, &i, &code)) continue;
        if ((value = app_option(argc, argv, &i, "--admin"))) {
            give(o, "--admin");
            if (read_urls(value, METRICS_PATH, o->admins, &o->admin_count, &e))
                code = app_fail("load", &e);
        } else if ((value = app_option(argc, argv, &i, "--metrics"))) {
            give(o, "--metrics");
            if (read_urls(value, METRICS_PATH, o->metrics, &o->metrics_count, &e))
                code = app_fail("load", &e);
        } else if (!strcmp(argv[i], "--interleave")) {
            give(o, "--interleave");
        } else if (!strcmp(argv[i], "--json")) {
            o->json = true;
        } else if (!strcmp(argv[i], "--help")) {
            o->help = true;
        } else if (argv[i][0] == '-') {
            code = option_unknown(argv[i]);
        } else {
            code = url_add(o, argv[i]);
        }
    }
    return code;
}

static enum err_code pairs_check(const struct lab_load_options *o, struct err *e)
{
    uint32_t sides = o->load.target_count;
    if (sides != 2 && sides != PAIRS_SIDES_MAX)
        return err_set(e, ERR_USAGE, "--pairs takes two URLs, A and B, or three: A, B, A's twin");
    if (o->pairs.metric != PAIRS_CPU) {
        bool of_cpu = o->pairs.has_pids || o->metrics_count;
        return of_cpu ? err_set(e, ERR_USAGE, "--pid and --metrics are for --metric cpu") : ERR_OK;
    }
    bool complete = o->pairs.has_pids ? (o->pairs.pids[PAIRS_SIDES_MAX - 1] > 0) == (sides > 2)
                                      : o->metrics_count == sides;
    return complete ? ERR_OK
                    : err_set(e, ERR_USAGE,
                              "--metric cpu needs --pid A,B or --metrics URL,URL, one of each URL");
}

/* An option that would change nothing is no option: whoever gave it meant something. */
static const struct rule {
    const char *option;
    bool needs; /* else: does not go with */
    const char *other, *advice;
} rules[] = {
    {"--duration", false, "--pairs", "--pair-duration D is the length of one run"},
    {"--out", false, "--pairs", "a capture is of a single run"},
    {"--admin", false, "--pairs", "it tells of builds in the capture of a single run"},
    {"--interval", false, "--pairs", "it is of a line in the capture of a single run"},
    {"--alternate", false, "--pairs", "pairs alternate by themselves, run by run"},
    {"--interleave", false, "--pairs", "pairs alternate by themselves, run by run"},
    {"--interleave", false, "--alternate", "take one of them"},
    {"--pid", false, "--metrics", "take one of them"},
    {"--posteriors", false, "--body", "it is for the built-in requests"},
    {"--pair-duration", true, "--pairs", "N"},
    {"--metric", true, "--pairs", "N"},
    {"--pid", true, "--pairs", "N"},
    {"--metrics", true, "--pairs", "N"},
    {"--bar", true, "--pairs", "N"},
    {"--admin", true, "--out", "FILE"},
    {"--interval", true, "--out", "FILE"},
};

static enum err_code rules_check(const struct lab_load_options *o, struct err *e)
{
    for (const struct rule *r = rules; r < rules + sizeof rules / sizeof *rules; r++) {
        if (!given(o, r->option) || given(o, r->other) == r->needs) continue;
        if (r->needs)
            return err_set(e, ERR_USAGE, "%s needs %s %s", r->option, r->other, r->advice);
        return err_set(e, ERR_USAGE, "%s does not go with %s: %s", r->option, r->other, r->advice);
    }
    return ERR_OK;
}

static enum err_code shape_options_check(const struct lab_load_options *o, struct err *e)
{
    static const char *const of_diurnal[] = {"--peak", "--trough", "--cycle"};
    bool flat = o->load.shape.curve == LOAD_FLAT;
    for (size_t i = 0; flat && i < sizeof of_diurnal / sizeof *of_diurnal; i++)
        if (given(o, of_diurnal[i]))
            return err_set(e, ERR_USAGE, "%s needs --shape diurnal", of_diurnal[i]);
    if (!flat && given(o, "--rate"))
        return err_set(e, ERR_USAGE,
                       "--rate is for --shape flat; diurnal takes --peak R --trough R --cycle D");
    static const struct {
        enum load_curve curve;
        const char *option, *value, *what;
    } needed[] = {
        {LOAD_FLAT, "--rate", "R", "how many requests a second"},
        {LOAD_DIURNAL, "--peak", "R", "how many requests a second at most"},
        {LOAD_DIURNAL, "--cycle", "D", "the length of its day"},
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (needed[i].curve == o->load.shape.curve && !given(o, needed[i].option))
            return err_set(e, ERR_USAGE, "%s %s is missing: %s", needed[i].option, needed[i].value,
                           needed[i].what);
    return load_shape_check(&o->load.shape, e);
}

static enum err_code spread_check(const struct lab_load_options *o, struct err *e)
{
    bool alternate = given(o, "--alternate");
    if (o->load.target_count < 2 && (alternate || given(o, "--interleave")))
        return err_set(e, ERR_USAGE, "%s needs several URLs",
                       alternate ? "--alternate" : "--interleave");
    if (alternate && o->load.turn_ns < LOAD_TURN_NS_MIN)
        return err_set(e, ERR_USAGE, "the turns of --alternate must be at least 1 ms");
    return ERR_OK;
}

enum err_code lab_load_options_check(struct lab_load_options *o, struct err *e)
{
    o->load.targets = o->targets;
    o->load.spread = given(o, "--alternate") ? LOAD_ALTERNATE : LOAD_INTERLEAVE;
    o->pairs.bar = given(o, "--bar") ? &o->bar : NULL;
    o->pairs.has_pids = given(o, "--pid");
    if (o->pairs.pairs) o->load.shape.duration_ns = o->pair_ns;
    if (o->load.target_count == 0) return err_set(e, ERR_USAGE, "a URL is needed");
    enum err_code code = rules_check(o, e);
    if (!code) code = shape_options_check(o, e);
    if (!code) code = spread_check(o, e);
    if (code) return code;
    if (o->admin_count && o->admin_count != o->load.target_count)
        return err_set(e, ERR_USAGE, "--admin takes as many URLs as there are targets");
    return o->pairs.pairs ? pairs_check(o, e) : ERR_OK;
}
