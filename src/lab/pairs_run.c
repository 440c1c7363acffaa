#include "lab/pairs_run.h"

#include "lab/quantity.h"
#include "lab/summary.h"
#include "lab/target_cpu.h"
#include "wire/json_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *name;
    double q;
} metrics[] = {
    [PAIRS_P50] = {"p50", 0.5},
    [PAIRS_P99] = {"p99", 0.99},
    [PAIRS_P999] = {"p999", 0.999},
    [PAIRS_CPU] = {"cpu", 0},
};

bool pairs_metric_of(const char *name, enum pairs_metric *out)
{
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        if (strcmp(name, metrics[i].name) != 0) continue;
        *out = (enum pairs_metric)i;
        return true;
    }
    return false;
}

const char *pairs_metric_name(enum pairs_metric metric)
{
    return metrics[metric].name;
}

/* ---- runs ---- */

struct series {
    const struct pairs_options *o;
    struct pairs_result *result;
    struct load_result *run;
    size_t runs_done;
};

static enum err_code cpu_read(const struct pairs_options *o, int side, double *seconds,
                              struct err *e)
{
    if (o->metric != PAIRS_CPU) return ERR_OK;
    if (o->has_pids) return target_cpu_of_pid(o->pids[side], seconds, e);
    return target_cpu_of_metrics(&o->metrics[side], seconds, e);
}

/* A negative time is that of something that ended meanwhile and is not counted any more. */
static enum err_code no_cpu(const struct pairs_options *o, int side, double cpu_s, struct err *e)
{
    char who[64] = "the process of its metrics";
    if (o->has_pids) snprintf(who, sizeof who, "process %d with those below it", o->pids[side]);
    if (cpu_s < 0)
        return err_set(e, ERR_USAGE, "in %s a thread or process ended during a run: cannot compare",
                       who);
    return err_set(e, ERR_USAGE,
                   "%s used no processor time while %.100s answered: name the process that serves "
                   "it, or raise --rate or --pair-duration",
                   who, o->load.targets[side].url);
}

/* NAN if too many requests failed for there to be one. */
static enum err_code figure_of(const struct series *s, int side, double cpu_s, double *figure,
                               struct err *e)
{
    const struct capture_interval *total = &s->run->total[0];
    *figure = NAN;
    if (total->due == 0)
        return err_set(e, ERR_LIMIT, "a run had no requests: raise --rate or --pair-duration");
    if (s->o->metric == PAIRS_CPU) {
        if (total->latency.count == 0) return ERR_OK;
        if (cpu_s <= 0) return no_cpu(s->o, side, cpu_s, e);
        *figure = cpu_s / (double)total->latency.count;
        return ERR_OK;
    }
    uint64_t ns;
    if (summary_quantile(total, metrics[s->o->metric].q, &ns)) *figure = (double)ns;
    return ERR_OK;
}

struct run_told {
    double figure; /* NAN: none */
    bool late;     /* the figure is the generator's as much as the server's */
};

static void run_count(struct series *s, struct run_told *told)
{
    uint64_t failed = capture_interval_failed(&s->run->total[0]);
    struct summary_generator g = summary_generator_of(s->run);
    told->late = s->o->metric != PAIRS_CPU && !summary_carries(&g, metrics[s->o->metric].q);
    s->runs_done++;
    s->result->bottlenecks += g.bottleneck;
    s->result->failed_runs += failed > 0;
    s->result->failed += failed;
}

static enum err_code run_one(struct series *s, int side, size_t pair, struct run_told *told,
                             struct err *e)
{
    struct load_options load = s->o->load;
    load.targets = &s->o->load.targets[side];
    load.target_count = 1;
    load.spread = LOAD_INTERLEAVE;
    load.shape.seed += pair;
    if (s->o->progress) s->o->progress(s->o->context, s->runs_done, 4 * s->o->pairs);
    double before = 0, after = 0;
    enum err_code code = cpu_read(s->o, side, &before, e);
    if (!code) code = load_run(&load, s->run, e);
    if (!code) code = cpu_read(s->o, side, &after, e);
    if (!code && load.stop && *load.stop) code = err_set(e, ERR_UNSUPPORTED, "stopped");
    if (!code) code = figure_of(s, side, after - before, &told->figure, e);
    if (!code) run_count(s, told);
    return code;
}

/* The second of the pair over the first; which of them runs first alternates. */
static enum err_code run_pair(struct series *s, int second_side, size_t pair,
                              struct pairs_kind *kind, struct err *e)
{
    struct run_told told[2];
    int sides[2] = {0, second_side};
    int first = pairs_a_first(pair) ? 0 : 1;
    enum err_code code = run_one(s, sides[first], pair, &told[first], e);
    if (!code) code = run_one(s, sides[1 - first], pair, &told[1 - first], e);
    if (code) return code;
    bool late = told[0].late || told[1].late;
    kind->late += late;
    kind->ratios[pair] = late ? NAN : told[1].figure / told[0].figure;
    return ERR_OK;
}

static bool has_twin(const struct pairs_options *o)
{
    return o->load.target_count == PAIRS_SIDES_MAX;
}

enum err_code pairs_run(const struct pairs_options *o, struct pairs_result *out, struct err *e)
{
    INVARIANT(o->load.target_count == 2 || has_twin(o));
    *out = (struct pairs_result){.pairs = o->pairs};
    struct series s = {o, out, malloc(sizeof *s.run), 0};
    INVARIANT(s.run != NULL);
    enum err_code code = ERR_OK;
    for (size_t i = 0; !code && i < o->pairs; i++) {
        code = run_pair(&s, 1, i, &out->ab, e);
        if (!code) code = run_pair(&s, has_twin(o) ? 2 : 0, i, &out->aa, e);
    }
    free(s.run);
    if (!code) pairs_conclude(o, out);
    return code;
}

/* ---- what they say ---- */

static bool kind_conclude(struct pairs_kind *kind, size_t pairs)
{
    double kept[PAIRS_MAX];
    kind->kept = 0;
    for (size_t i = 0; i < pairs; i++)
        if (isfinite(kind->ratios[i])) kept[kind->kept++] = kind->ratios[i];
    if (kind->kept < PAIRS_MIN) return false;
    kind->interval = pairs_interval_of(kept, kind->kept);
    return true;
}

void pairs_conclude(const struct pairs_options *o, struct pairs_result *r)
{
    bool ab = kind_conclude(&r->ab, r->pairs), aa = kind_conclude(&r->aa, r->pairs);
    r->verdict = PAIRS_VOID;
    r->bar = r->failed ? PAIRS_BAR_VOID : PAIRS_NOT_RESOLVED;
    if (r->failed || !ab || !aa) return;
    r->verdict = pairs_judge(r->ab.interval, r->aa.interval);
    r->resolution = pairs_resolution_of(r->ab.interval, r->aa.interval);
    if (o->bar) r->bar = pairs_judge_bar(r->ab.interval, *o->bar);
}

bool pairs_answer(const struct pairs_options *o, const struct pairs_result *r)
{
    return r->verdict != PAIRS_VOID && (!o->bar || r->bar == PAIRS_MET);
}

/* ---- for people ---- */

static unsigned long long ull(uint64_t n)
{
    return n;
}

static void kind_print(struct buf *b, const char *name, const struct pairs_kind *k)
{
    const struct pairs_interval *i = &k->interval;
    if (k->kept < PAIRS_MIN)
        buf_format(b, "  %s  no interval: %zu pairs are left\n", name, k->kept);
    else
        buf_format(b, "  %s  %.4f  [%.4f, %.4f]  %.1f %% of %zu pairs\n", name, i->median, i->low,
                   i->high, 100 * i->confidence, k->kept);
}

static void resolution_print(struct buf *b, const struct pairs_resolution *r)
{
    buf_format(b,
               "With this scatter a median beyond [%.4f, %.4f] is called a difference,\n"
               "and a true B/A beyond [%.4f, %.4f] is found nine times in ten.\n",
               r->called_low, r->called_high, r->found_low, r->found_high);
}

/* Why figures were left out or count for nothing, and what to do. */
static void reasons_print(struct buf *b, const struct pairs_options *o,
                          const struct pairs_result *r)
{
    size_t late = r->ab.late + r->aa.late;
    if (r->failed)
        buf_format(b,
                   "void: in %zu of %zu runs %llu requests got no 2xx answer, so the runs were not "
                   "alike;\nlook at a single run (without --pairs) for the errors, mend them or "
                   "lower --rate, and measure again\n",
                   r->failed_runs, 4 * r->pairs, ull(r->failed));
    if (late)
        buf_format(b, "%zu of %zu pairs left out because the generator was late\n", late,
                   2 * r->pairs);
    if (late && r->verdict == PAIRS_VOID && !r->failed)
        buf_format(b,
                   "void: fewer than %d pairs of a kind are left; lower --rate, give the generator "
                   "a core of its own, or take more --pairs\n",
                   PAIRS_MIN);
    if (r->bottlenecks && o->metric == PAIRS_CPU)
        buf_format(b,
                   "In %zu of %zu runs the generator was late; processor time per answer does not "
                   "depend on that\n",
                   r->bottlenecks, 4 * r->pairs);
}

void pairs_print(struct buf *b, const struct pairs_options *o, const struct pairs_result *r)
{
    char duration[QUANTITY_TEXT_MAX];
    buf_format(b, "A  %s\nB  %s\n", o->load.targets[0].url, o->load.targets[1].url);
    if (has_twin(o)) buf_format(b, "A's twin  %s\n", o->load.targets[2].url);
    buf_format(b, "%s of %zu alternating pairs of %s: median ratio and its interval\n",
               pairs_metric_name(o->metric), r->pairs,
               quantity_print_ns(duration, o->load.shape.duration_ns));
    kind_print(b, "B/A", &r->ab);
    kind_print(b, "A/A", &r->aa);
    if (has_twin(o))
        buf_lit(b, "A/A is A's twin beside A\n");
    else
        buf_lit(b, "A/A is the same server twice\n");
    buf_format(b, "%s\n", pairs_verdict_name(r->verdict));
    if (o->bar) buf_format(b, "bar %g: %s\n", *o->bar, pairs_bar_name(r->bar));
    if (r->verdict != PAIRS_VOID) resolution_print(b, &r->resolution);
    reasons_print(b, o, r);
}

/* ---- for machines ---- */

static void number_json(struct buf *b, double value, bool known)
{
    if (known)
        json_write_double(b, value);
    else
        buf_lit(b, "null");
}

static void kind_json(struct buf *b, const char *key, const struct pairs_kind *k, size_t pairs)
{
    json_write_key(b, span_of(key));
    const struct {
        const char *key;
        double value;
    } members[] = {{"median", k->interval.median},
                   {"low", k->interval.low},
                   {"high", k->interval.high},
                   {"confidence", k->interval.confidence}};
    buf_format(b, "{\"kept\":%zu,\"late\":%zu", k->kept, k->late);
    for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
        json_write_key(b, span_of(members[m].key));
        number_json(b, members[m].value, k->kept >= PAIRS_MIN);
    }
    buf_lit(b, ",\"ratios\":[");
    for (size_t i = 0; i < pairs; i++) {
        if (i) buf_char(b, ',');
        number_json(b, k->ratios[i], isfinite(k->ratios[i]));
    }
    buf_lit(b, "]}");
}

static void range_json(struct buf *b, const char *key, double low, double high)
{
    json_write_key(b, span_of(key));
    buf_char(b, '[');
    json_write_double(b, low);
    buf_char(b, ',');
    json_write_double(b, high);
    buf_char(b, ']');
}

/* Why the verdict is void; null if it is not. */
static void void_json(struct buf *b, const struct pairs_result *r)
{
    json_write_key(b, SPAN("void"));
    if (r->verdict != PAIRS_VOID)
        buf_lit(b, "null");
    else if (r->failed)
        buf_lit(b, "\"failed requests\"");
    else
        buf_lit(b, "\"too few pairs\"");
}

void pairs_json(struct buf *b, const struct pairs_options *o, const struct pairs_result *r)
{
    buf_format(b, "{\"metric\":\"%s\",\"pairs\":%zu,\"twin\":", pairs_metric_name(o->metric),
               r->pairs);
    if (has_twin(o))
        json_write_string(b, span_of(o->load.targets[2].url));
    else
        buf_lit(b, "null");
    kind_json(b, "ab", &r->ab, r->pairs);
    kind_json(b, "aa", &r->aa, r->pairs);
    buf_format(b, ",\"verdict\":\"%s\"", pairs_verdict_name(r->verdict));
    void_json(b, r);
    if (o->bar) {
        buf_lit(b, ",\"bar\":");
        json_write_double(b, *o->bar);
        buf_format(b, ",\"judged\":\"%s\"", pairs_bar_name(r->bar));
    }
    if (r->verdict != PAIRS_VOID) {
        range_json(b, "called_beyond", r->resolution.called_low, r->resolution.called_high);
        range_json(b, "found_beyond", r->resolution.found_low, r->resolution.found_high);
    }
    buf_format(b, ",\"bottlenecks\":%zu,\"failed_runs\":%zu,\"failed\":%llu}", r->bottlenecks,
               r->failed_runs, ull(r->failed));
}
