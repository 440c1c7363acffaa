#include "lab/summary.h"

#include "lab/quantity.h"
#include "wire/json_write.h"

#include <math.h>

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
    uint64_t sent = 0, late = 0;
    for (uint32_t t = 0; t < r->targets; t++) {
        sent += r->total[t].sent;
        late += r->total[t].late_free;
    }
    double wall = r->wall_ns ? (double)r->wall_ns : 1;
    struct summary_generator g = {
        .work = (double)(r->cpu_ns - r->spin_ns) / wall,
        .spin = (double)r->spin_ns / wall,
        .late_free = sent ? (double)late / (double)sent : 0,
    };
    g.bottleneck = g.work > 0.9 || g.late_free > 0.001;
    return g;
}

static unsigned long long ull(uint64_t n)
{
    return n;
}

/* ---- for people ---------------------------------------------------------------------------------
 */

static void target_print(struct buf *b, const struct load_options *o,
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
    buf_format(b, " max %s\n  errors    ", quantity_print_ns(text, i->latency.max));
    for (int s = 0; s < CAPTURE_STAGE_COUNT; s++)
        buf_format(b, " %s %llu%s", capture_stage_name((enum capture_stage)s), ull(i->errors[s]),
                   s < CAPTURE_STAGE_COUNT - 1 ? "," : "\n");
    buf_format(b,
               "  sending    %llu late (%llu of them with a connection free), %llu queued for a "
               "connection, %llu unsent\n",
               ull(i->late), ull(i->late_free), ull(i->queued), ull(i->unsent));
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

static void warnings_print(struct buf *b, const struct load_result *r,
                           const struct summary_generator *g)
{
    if (g->work > 0.9)
        buf_format(b, "warning: this generator took %.0f %% of a core: it was the bottleneck\n",
                   100 * g->work);
    if (g->late_free > 0.001)
        buf_format(
            b,
            "warning: %.2f %% of requests were sent late although a connection was free: this "
            "generator, or the machine under it, was the bottleneck\n",
            100 * g->late_free);
    for (uint32_t t = 0; t < r->targets; t++) {
        uint64_t failed = capture_interval_failed(&r->total[t]);
        if (failed)
            buf_format(b,
                       "warning: %llu requests to target %u got no 2xx answer; percentiles count "
                       "them as slower than all others\n",
                       ull(failed), t + 1);
    }
}

void summary_print(struct buf *b, const struct load_options *o, const struct load_result *r,
                   const struct hist *jitter)
{
    for (uint32_t t = 0; t < r->targets; t++) target_print(b, o, &r->total[t]);
    struct summary_generator g = summary_generator_of(r);
    buf_format(b, "generator\n  sent after due  ");
    hist_print(b, &r->send_delay);
    buf_format(b, "\n  a core's share  %.0f %% work, %.0f %% polling\n", 100 * g.work,
               100 * g.spin);
    buf_format(b, "machine\n  timers late     ");
    hist_print(b, jitter);
    buf_format(b, " (before the run)\n  in the run     ");
    /* The machine's, and so the same on every target. */
    known_print(b, " steal", r->total[0].steal_us);
    known_print(b, ", throttled", r->total[0].throttled_us);
    buf_char(b, '\n');
    warnings_print(b, r, &g);
}

/* ---- for machines -------------------------------------------------------------------------------
 */

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

static void known_json(struct buf *b, const char *key, int64_t us)
{
    json_write_key(b, span_of(key));
    if (us == MACHINE_UNKNOWN)
        buf_lit(b, "null");
    else
        buf_i64(b, us);
}

static void target_json(struct buf *b, const struct load_options *o,
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
    json_write_key(b, SPAN("errors"));
    buf_char(b, '{');
    for (int s = 0; s < CAPTURE_STAGE_COUNT; s++)
        u64_json(b, capture_stage_name((enum capture_stage)s), i->errors[s]);
    buf_char(b, '}');
    u64_json(b, "late", i->late);
    u64_json(b, "late_free", i->late_free);
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
        target_json(b, o, &r->total[t]);
    }
    buf_lit(b, "],\"generator\":{");
    hist_json(b, "sent_after_due", &r->send_delay);
    double_json(b, "work", g.work);
    double_json(b, "polling", g.spin);
    double_json(b, "late_free", g.late_free);
    json_write_key(b, SPAN("bottleneck"));
    if (g.bottleneck)
        buf_lit(b, "true");
    else
        buf_lit(b, "false");
    buf_lit(b, "},\"machine\":{");
    hist_json(b, "timers_late", jitter);
    known_json(b, "steal_us", r->total[0].steal_us);
    known_json(b, "throttled_us", r->total[0].throttled_us);
    buf_lit(b, "}}");
}
