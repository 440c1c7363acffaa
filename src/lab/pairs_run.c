#include "lab/pairs_run.h"

#include "lab/quantity.h"
#include "lab/summary.h"
#include "lab/target_cpu.h"
#include "wire/json_write.h"

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

/* ---- runs
 * ----------------------------------------------------------------------------------------- */

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

static enum err_code figure_of(const struct series *s, double cpu_s, double *figure, struct err *e)
{
    const struct capture_interval *total = &s->run->total[0];
    uint64_t ns = 0;
    bool known = s->o->metric == PAIRS_CPU ? total->latency.count > 0 && cpu_s > 0
                                           : summary_quantile(total, metrics[s->o->metric].q, &ns);
    if (!known)
        return err_set(e, ERR_LIMIT, "a run has no %s: %llu of %llu requests got a 2xx answer",
                       metrics[s->o->metric].name, (unsigned long long)total->latency.count,
                       (unsigned long long)total->due);
    *figure = s->o->metric == PAIRS_CPU ? cpu_s / (double)total->latency.count : (double)ns;
    return ERR_OK;
}

static enum err_code run_one(struct series *s, int side, size_t pair, double *figure, struct err *e)
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
    if (!code) code = figure_of(s, after - before, figure, e);
    if (code) return code;
    s->runs_done++;
    s->result->bottlenecks += summary_generator_of(s->run).bottleneck;
    s->result->failed += capture_interval_failed(&s->run->total[0]);
    return ERR_OK;
}

/* The second of the pair over the first; which of them runs first alternates. */
static enum err_code run_pair(struct series *s, int second_side, size_t pair, double *ratio,
                              struct err *e)
{
    double figures[2];
    int sides[2] = {0, second_side};
    int first = pairs_a_first(pair) ? 0 : 1;
    enum err_code code = run_one(s, sides[first], pair, &figures[first], e);
    if (!code) code = run_one(s, sides[1 - first], pair, &figures[1 - first], e);
    if (!code) *ratio = figures[1] / figures[0];
    return code;
}

enum err_code pairs_run(const struct pairs_options *o, struct pairs_result *out, struct err *e)
{
    *out = (struct pairs_result){.pairs = o->pairs};
    struct series s = {o, out, malloc(sizeof *s.run), 0};
    INVARIANT(s.run != NULL && o->load.target_count == 2);
    enum err_code code = ERR_OK;
    for (size_t i = 0; !code && i < o->pairs; i++) {
        code = run_pair(&s, 1, i, &out->ab_ratios[i], e);
        if (!code) code = run_pair(&s, 0, i, &out->aa_ratios[i], e);
    }
    free(s.run);
    if (code) return code;
    out->ab = pairs_interval_of(out->ab_ratios, o->pairs);
    out->aa = pairs_interval_of(out->aa_ratios, o->pairs);
    out->verdict = pairs_judge(out->ab, out->aa);
    if (o->bar) out->bar = pairs_judge_bar(out->ab, *o->bar);
    return ERR_OK;
}

/* ---- telling
 * ---------------------------------------------------------------------------------------- */

void pairs_print(struct buf *b, const struct pairs_options *o, const struct pairs_result *r)
{
    char duration[QUANTITY_TEXT_MAX];
    buf_format(b, "A  %s\nB  %s\n", o->load.targets[0].url, o->load.targets[1].url);
    buf_format(b, "%s of %zu alternating pairs of %s: median ratio and %.1f %% interval\n",
               pairs_metric_name(o->metric), r->pairs,
               quantity_print_ns(duration, o->load.shape.duration_ns), 100 * r->ab.confidence);
    buf_format(b, "  B/A  %.4f  [%.4f, %.4f]\n", r->ab.median, r->ab.low, r->ab.high);
    buf_format(b, "  A/A  %.4f  [%.4f, %.4f]\n", r->aa.median, r->aa.low, r->aa.high);
    buf_format(b, "%s\n", pairs_verdict_name(r->verdict));
    if (o->bar) buf_format(b, "bar %g: %s\n", *o->bar, pairs_bar_name(r->bar));
    if (r->bottlenecks)
        buf_format(b, "warning: in %zu of %zu runs this generator was the bottleneck\n",
                   r->bottlenecks, 4 * r->pairs);
    if (r->failed)
        buf_format(b, "warning: %llu requests got no 2xx answer\n", (unsigned long long)r->failed);
}

static void interval_json(struct buf *b, const char *key, const struct pairs_interval *i,
                          const double *ratios, size_t n)
{
    json_write_key(b, span_of(key));
    const struct {
        const char *key;
        double value;
    } members[] = {{"median", i->median}, {"low", i->low}, {"high", i->high}};
    buf_char(b, '{');
    for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
        json_write_key(b, span_of(members[m].key));
        json_write_double(b, members[m].value);
    }
    buf_lit(b, ",\"ratios\":[");
    for (size_t k = 0; k < n; k++) {
        if (k) buf_char(b, ',');
        json_write_double(b, ratios[k]);
    }
    buf_lit(b, "]}");
}

void pairs_json(struct buf *b, const struct pairs_options *o, const struct pairs_result *r)
{
    buf_format(b, "{\"metric\":\"%s\",\"pairs\":%zu,\"confidence\":", pairs_metric_name(o->metric),
               r->pairs);
    json_write_double(b, r->ab.confidence);
    interval_json(b, "ab", &r->ab, r->ab_ratios, r->pairs);
    interval_json(b, "aa", &r->aa, r->aa_ratios, r->pairs);
    buf_format(b, ",\"verdict\":\"%s\"", pairs_verdict_name(r->verdict));
    if (o->bar) {
        buf_lit(b, ",\"bar\":");
        json_write_double(b, *o->bar);
        buf_format(b, ",\"judged\":\"%s\"", pairs_bar_name(r->bar));
    }
    buf_format(b, ",\"bottlenecks\":%zu,\"failed\":%llu}", r->bottlenecks,
               (unsigned long long)r->failed);
}
