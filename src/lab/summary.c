#include "lab/summary.h"

#include "lab/quantity.h"
#include "wire/json_write.h"

#include <math.h>
#include <stdio.h>

static const struct {
    const char *name, *json;
    double q;
} percentiles[] = {
    {"p50", "p50_ns", 0.5},
    {"p90", "p90_ns", 0.9},
    {"p99", "p99_ns", 0.99},
    {"p99.9", "p999_ns", 0.999},
};
#define PERCENTILES (sizeof percentiles / sizeof *percentiles)

bool summary_quantile(const struct capture_interval *i, double q, uint64_t *ns)
{
    uint64_t count = i->latency.count, all = count + capture_interval_failed(i);
    double rank = ceil(q * (double)all);
    if (rank < 1) rank = 1;
    if (rank > (double)count) return false;
    /* The middle of the rank's share, so that rounding cannot make it the next one's. */
    *ns = hist_quantile(&i->latency, (rank - 0.5) / (double)count);
    return true;
}

double summary_rate(const struct capture_interval *i)
{
    return i->active_us ? (double)i->latency.count * 1e6 / (double)i->active_us : 0;
}

struct summary_generator summary_generator_of(const struct load_result *r)
{
    uint64_t taken = r->taken_after.count, late = 0;
    for (uint32_t t = 0; t < r->targets; t++) late += r->total[t].taken_late;
    double wall = r->wall_ns ? (double)r->wall_ns : 1;
    struct summary_generator g = {
        .work = (double)(r->cpu_ns - r->spin_ns) / wall,
        .spin = (double)r->spin_ns / wall,
        .starved = (double)r->starved_ns / wall,
        .taken_late = taken ? (double)late / (double)taken : 0,
    };
    g.busy = g.work + g.starved > 0.9;
    g.late = g.taken_late > 0.001;
    g.bottleneck = g.busy || g.late;
    return g;
}

bool summary_carries(const struct summary_generator *g, double q)
{
    return !g->busy && g->taken_late <= (1 - q) / 2;
}

static unsigned long long ull(uint64_t n)
{
    return n;
}

/* ---- for people ---- */

/* Those that came, in their order. */
static void statuses_print(struct buf *b, const uint64_t statuses[LOAD_STATUS_MAX + 1])
{
    const char *between = " ";
    buf_lit(b, "  statuses  ");
    for (int status = 0; status <= LOAD_STATUS_MAX; status++) {
        if (!statuses[status]) continue;
        buf_format(b, "%s%d: %llu", between, status, ull(statuses[status]));
        between = ", ";
    }
    buf_span(b, *between == ' ' ? SPAN(" none\n") : SPAN("\n"));
}

static void target_print(struct buf *b, const struct load_options *o, const struct load_result *r,
                         const struct capture_interval *i)
{
    char text[QUANTITY_TEXT_MAX];
    buf_format(b, "%s\n  requests   %llu due, %llu answered, %.1f a second\n  latency   ",
               o->targets[i->target].url, ull(i->due), ull(i->latency.count), summary_rate(i));
    for (size_t p = 0; p < PERCENTILES; p++) {
        uint64_t ns;
        bool known = summary_quantile(i, percentiles[p].q, &ns);
        buf_format(b, " %s %s  ", percentiles[p].name,
                   known ? quantity_print_ns(text, ns) : "none");
    }
    buf_format(b, " max %s\n", quantity_print_ns(text, i->latency.max));
    statuses_print(b, r->statuses[i->target]);
    buf_lit(b, "  errors    ");
    for (int s = 0; s < CAPTURE_STAGE_COUNT; s++)
        buf_format(b, " %s %llu%s", capture_stage_name((enum capture_stage)s), ull(i->errors[s]),
                   s < CAPTURE_STAGE_COUNT - 1 ? "," : "\n");
    buf_format(
        b,
        "  sending    %llu waited for a connection, %llu sent over 1 ms after they were due, "
        "%llu never sent\n",
        ull(i->queued), ull(i->late), ull(i->unsent));
}

static void hist_print(struct buf *b, const struct hist *h)
{
    char p50[QUANTITY_TEXT_MAX], p999[QUANTITY_TEXT_MAX], max[QUANTITY_TEXT_MAX];
    buf_format(b, "p50 %s, p99.9 %s, max %s", quantity_print_ns(p50, hist_quantile(h, 0.5)),
               quantity_print_ns(p999, hist_quantile(h, 0.999)), quantity_print_ns(max, h->max));
}

static void known_print(struct buf *b, const char *name, int64_t us)
{
    if (us == MACHINE_UNKNOWN)
        buf_format(b, "%s not known", name);
    else
        buf_format(b, "%s %.3f s", name, (double)us / 1e6);
}

static void target_warn(struct buf *b, const struct capture_interval *i)
{
    uint64_t failed = capture_interval_failed(i);
    if (failed)
        buf_format(b,
                   "warning: %llu requests to target %u got no 2xx answer; percentiles count them "
                   "as slower than all others\n",
                   ull(failed), i->target + 1);
    if (i->unsent)
        buf_format(b,
                   "warning: %.2f %% of the requests to target %u were never sent: no connection "
                   "was free up to the end\n",
                   100 * (double)i->unsent / (double)i->due, i->target + 1);
}

static void warnings_print(struct buf *b, const struct load_result *r,
                           const struct summary_generator *g)
{
    if (g->busy)
        buf_format(b,
                   "warning: this generator worked in %.0f %% of the time and waited for a core in "
                   "%.0f %%: it, or the machine under it, was the bottleneck\n",
                   100 * g->work, 100 * g->starved);
    if (g->late)
        buf_format(b,
                   "warning: this generator took up %.2f %% of all requests over 1 ms late: it, or "
                   "the machine under it, was the bottleneck\n",
                   100 * g->taken_late);
    for (uint32_t t = 0; t < r->targets; t++) target_warn(b, &r->total[t]);
}

void summary_print(struct buf *b, const struct load_options *o, const struct load_result *r,
                   const struct hist *jitter)
{
    for (uint32_t t = 0; t < r->targets; t++) target_print(b, o, r, &r->total[t]);
    struct summary_generator g = summary_generator_of(r);
    buf_format(b, "generator, while the schedule lasted\n  all requests    taken up after due: ");
    hist_print(b, &r->taken_after);
    buf_format(b, "; %.2f %% over 1 ms\n", 100 * g.taken_late);
    buf_format(b, "  a core's share  %.0f %% work, %.0f %% polling; without a core %.0f %%\n",
               100 * g.work, 100 * g.spin, 100 * g.starved);
    buf_format(b, "  reconnects      %llu\n", ull(r->reconnects));
    buf_format(b, "machine\n  timers late     ");
    hist_print(b, jitter);
    buf_format(b, " (before the run)\n  in the run     ");
    /* The machine's, and so the same on every target. */
    known_print(b, " steal", r->total[0].steal_us);
    known_print(b, ", throttled", r->total[0].throttled_us);
    buf_char(b, '\n');
    warnings_print(b, r, &g);
}

/* ---- for machines ---- */

static void u64_json(struct buf *b, const char *key, uint64_t n)
{
    json_write_key(b, span_of(key));
    buf_u64(b, n);
}

static void double_json(struct buf *b, const char *key, double value)
{
    json_write_key(b, span_of(key));
    json_write_double(b, value);
}

static void bool_json(struct buf *b, const char *key, bool value)
{
    json_write_key(b, span_of(key));
    buf_span(b, value ? SPAN("true") : SPAN("false"));
}

static void known_json(struct buf *b, const char *key, int64_t us)
{
    json_write_key(b, span_of(key));
    if (us == MACHINE_UNKNOWN)
        buf_lit(b, "null");
    else
        buf_i64(b, us);
}

static void statuses_json(struct buf *b, const uint64_t statuses[LOAD_STATUS_MAX + 1])
{
    json_write_key(b, SPAN("statuses"));
    buf_char(b, '{');
    for (int status = 0; status <= LOAD_STATUS_MAX; status++) {
        char key[16];
        if (!statuses[status]) continue;
        snprintf(key, sizeof key, "%d", status);
        u64_json(b, key, statuses[status]);
    }
    buf_char(b, '}');
}

static void target_json(struct buf *b, const struct load_options *o, const struct load_result *r,
                        const struct capture_interval *i)
{
    buf_char(b, '{');
    json_write_key(b, SPAN("url"));
    json_write_string(b, span_of(o->targets[i->target].url));
    u64_json(b, "due", i->due);
    u64_json(b, "sent", i->sent);
    u64_json(b, "answered", i->latency.count);
    double_json(b, "answers_per_second", summary_rate(i));
    for (size_t p = 0; p < PERCENTILES; p++) {
        uint64_t ns;
        json_write_key(b, span_of(percentiles[p].json));
        if (summary_quantile(i, percentiles[p].q, &ns))
            buf_u64(b, ns);
        else
            buf_lit(b, "null");
    }
    u64_json(b, "max_ns", i->latency.max);
    statuses_json(b, r->statuses[i->target]);
    json_write_key(b, SPAN("errors"));
    buf_char(b, '{');
    for (int s = 0; s < CAPTURE_STAGE_COUNT; s++)
        u64_json(b, capture_stage_name((enum capture_stage)s), i->errors[s]);
    buf_char(b, '}');
    u64_json(b, "late", i->late);
    u64_json(b, "late_free", i->late_free);
    u64_json(b, "taken_late", i->taken_late);
    u64_json(b, "queued", i->queued);
    u64_json(b, "unsent", i->unsent);
    buf_char(b, '}');
}

static void hist_json(struct buf *b, const char *key, const struct hist *h)
{
    json_write_key(b, span_of(key));
    buf_char(b, '{');
    u64_json(b, "p50_ns", hist_quantile(h, 0.5));
    u64_json(b, "p99_ns", hist_quantile(h, 0.99));
    u64_json(b, "p999_ns", hist_quantile(h, 0.999));
    u64_json(b, "max_ns", h->max);
    buf_char(b, '}');
}

void summary_json(struct buf *b, const struct load_options *o, const struct load_result *r,
                  const struct hist *jitter)
{
    struct summary_generator g = summary_generator_of(r);
    buf_lit(b, "{\"targets\":[");
    for (uint32_t t = 0; t < r->targets; t++) {
        if (t) buf_char(b, ',');
        target_json(b, o, r, &r->total[t]);
    }
    buf_lit(b, "],\"generator\":{");
    hist_json(b, "taken_up_after_due", &r->taken_after);
    double_json(b, "taken_up_late", g.taken_late);
    double_json(b, "work", g.work);
    double_json(b, "polling", g.spin);
    double_json(b, "without_a_core", g.starved);
    u64_json(b, "reconnects", r->reconnects);
    bool_json(b, "bottleneck", g.bottleneck);
    json_write_key(b, SPAN("carries"));
    buf_char(b, '{');
    for (size_t p = 0; p < PERCENTILES; p++)
        bool_json(b, percentiles[p].json, summary_carries(&g, percentiles[p].q));
    buf_lit(b, "}},\"machine\":{");
    hist_json(b, "timers_late", jitter);
    known_json(b, "steal_us", r->total[0].steal_us);
    known_json(b, "throttled_us", r->total[0].throttled_us);
    buf_lit(b, "}}");
}
