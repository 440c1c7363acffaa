/* The metrics as text, in the two formats that a Prometheus asks for: its own 0.0.4, and
 * OpenMetrics 1.0. They differ in little: OpenMetrics names a counter's family without the `_total`
 * of its samples, has a type for information, and ends with `# EOF`. */
#include "signal/state.h"
#include "wire/json_write.h"

enum { AROUND_LABELS_BYTES_MAX = 128 }; /* name, suffix, `le`, value */
_Static_assert((int)SERIES_LABELS_BYTES_MAX + AROUND_LABELS_BYTES_MAX <=
                   (int)SIGNALS_SAMPLE_BYTES_MAX,
               "what is legal can be scraped");

struct page {
    struct signals *signals;
    enum metrics_format format;
    struct buf *out;
    struct signal_account accounts[SITE_COUNT];
    struct process_facts process;
};

/* ---- samples ---- */

static const char *suffix_of(enum metric_type type)
{
    return type == METRIC_COUNTER ? "_total" : type == METRIC_INFO ? "_info" : "";
}

static void head_line(struct page *p, enum signal_metric metric, struct span what, struct span text)
{
    const struct signal_metric_row *row = &signal_metrics[metric];
    buf_lit(p->out, "# ");
    buf_span(p->out, what);
    buf_char(p->out, ' ');
    buf_span(p->out, span_of(row->name));
    if (p->format == METRICS_PROMETHEUS) buf_span(p->out, span_of(suffix_of(row->type)));
    buf_char(p->out, ' ');
    buf_span(p->out, text);
    buf_char(p->out, '\n');
}

static void head(struct page *p, enum signal_metric metric)
{
    const struct signal_metric_row *row = &signal_metrics[metric];
    const char *type = row->type == METRIC_COUNTER                                    ? "counter"
                       : row->type == METRIC_HISTOGRAM                                ? "histogram"
                       : row->type == METRIC_INFO && p->format == METRICS_OPENMETRICS ? "info"
                                                                                      : "gauge";
    head_line(p, metric, SPAN("HELP"), span_of(row->help));
    head_line(p, metric, SPAN("TYPE"), span_of(type));
}

/* `name{labels} `, to be followed by the value and a newline. */
static void sample(struct page *p, enum signal_metric metric, const char *suffix,
                   struct span labels)
{
    buf_span(p->out, span_of(signal_metrics[metric].name));
    buf_span(p->out, span_of(suffix));
    if (labels.len) {
        buf_char(p->out, '{');
        buf_span(p->out, labels);
        buf_char(p->out, '}');
    }
    buf_char(p->out, ' ');
}

static void sample_u64(struct page *p, enum signal_metric metric, struct span labels,
                       uint64_t value)
{
    sample(p, metric, suffix_of(signal_metrics[metric].type), labels);
    buf_u64(p->out, value);
    buf_char(p->out, '\n');
}

static void seconds_write(struct buf *b, uint64_t ns)
{
    buf_format(b, "%llu.%09llu", (unsigned long long)(ns / 1000000000),
               (unsigned long long)(ns % 1000000000));
}

static void sample_double(struct page *p, enum signal_metric metric, double value)
{
    sample(p, metric, suffix_of(signal_metrics[metric].type), (struct span){0});
    json_write_double(p->out, value);
    buf_char(p->out, '\n');
}

/* One or two labels made here; values need no more than `memory`. */
struct labels {
    struct buf text;
    char memory[256];
};

static struct span labels_of(struct labels *l, const char *name, struct span value,
                             const char *name2, struct span value2)
{
    l->text = buf_of(l->memory, sizeof l->memory);
    label_write(&l->text, name, value);
    if (name2) label_write(&l->text, name2, value2);
    INVARIANT(!l->text.full);
    return buf_text(&l->text);
}

#define LABEL(l, name, value) labels_of(l, name, value, NULL, (struct span){0})

/* ---- histograms ---- */

/* A bound in seconds, as both formats write a float: "1e-05", "0.00125", "1.0". */
static size_t bound_write(char out[16], int bucket)
{
    struct buf b = buf_of(out, 16);
    buf_format(&b, "%g", (double)duration_bound_ns(bucket) / 1e9);
    if (!memchr(out, '.', b.len) && !memchr(out, 'e', b.len)) buf_lit(&b, ".0");
    return b.len;
}

static void bucket_sample(struct page *p, const struct series *s, struct span bound, uint64_t count)
{
    sample(p, (enum signal_metric)s->metric, "_bucket", (struct span){0});
    p->out->len--; /* the labels follow, one more than the series has */
    buf_char(p->out, '{');
    buf_span(p->out, span_of(s->labels));
    buf_lit(p->out, ",le=\"");
    buf_span(p->out, bound);
    buf_lit(p->out, "\"} ");
    buf_u64(p->out, count);
    buf_char(p->out, '\n');
}

/* The count is the sum of the buckets as they were read, so the two always agree. */
static void histogram(struct page *p, const struct series *s)
{
    uint64_t count = 0;
    for (int i = 0; i < DURATION_BOUNDS; i++) {
        char bound[16];
        size_t len = bound_write(bound, i);
        count += series_value(&p->signals->series, s, (uint32_t)i);
        bucket_sample(p, s, (struct span){bound, len}, count);
    }
    count += series_value(&p->signals->series, s, DURATION_BOUNDS);
    bucket_sample(p, s, SPAN("+Inf"), count);
    uint64_t sum_ns = series_value(&p->signals->series, s, DURATION_SUM);
    sample(p, (enum signal_metric)s->metric, "_sum", span_of(s->labels));
    seconds_write(p->out, sum_ns);
    buf_char(p->out, '\n');
    sample(p, (enum signal_metric)s->metric, "_count", span_of(s->labels));
    buf_u64(p->out, count);
    buf_char(p->out, '\n');
}

/* ---- one function for each kind of metric ---- */

static void render_series(struct page *p, enum signal_metric metric)
{
    const struct series_table *t = &p->signals->series;
    for (int32_t i = t->first[metric]; i != SERIES_NONE; i = t->all[i].next) {
        if (signal_metrics[metric].type == METRIC_HISTOGRAM)
            histogram(p, &t->all[i]);
        else
            sample_u64(p, metric, span_of(t->all[i].labels), series_value(t, &t->all[i], 0));
    }
}

/* Every status that is ever answered, and any other that was. */
static void render_http(struct page *p)
{
    bool always[500] = {[200 - 100] = true};
    for (int code = 0; code < ERR_COUNT; code++)
        if (err_status((enum err_code)code)) always[err_status((enum err_code)code) - 100] = true;
    for (uint32_t i = 0; i < 500; i++) {
        uint64_t n = series_cell(&p->signals->series, CELL_HTTP + i);
        if (!n && !always[i]) continue;
        char code[3] = {(char)('1' + i / 100), (char)('0' + i / 10 % 10), (char)('0' + i % 10)};
        struct labels l;
        sample_u64(p, METRIC_HTTP_REQUESTS, LABEL(&l, "code", ((struct span){code, 3})), n);
    }
}

static void render_stages(struct page *p, enum signal_metric metric)
{
    uint32_t first = metric == METRIC_STAGE_SECONDS ? CELL_STAGE_NS : CELL_STAGE_SAMPLES;
    for (uint32_t stage = 0; stage < STAGE_COUNT; stage++) {
        uint64_t n = series_cell(&p->signals->series, first + stage);
        struct span name = span_of(stage_name((enum request_stage)stage));
        struct labels l;
        sample(p, metric, suffix_of(signal_metrics[metric].type), LABEL(&l, "stage", name));
        if (metric == METRIC_STAGE_SECONDS)
            seconds_write(p->out, n);
        else
            buf_u64(p->out, n);
        buf_char(p->out, '\n');
    }
}

static void counter_sample(struct page *p, enum signal_metric metric, const char *reason,
                           enum signal_counter counter)
{
    struct labels l;
    struct span labels = reason ? LABEL(&l, "reason", span_of(reason)) : (struct span){0};
    sample_u64(p, metric, labels, account_counter(p->signals, counter));
}

static void render_site_metric(struct page *p, enum signal_metric metric)
{
    struct labels l;
    for (int site = 0; site < SITE_COUNT; site++) {
        const struct signal_account *a = &p->accounts[site];
        struct span name = signal_site_names()[site];
        if (metric == METRIC_LOG_RECORDS) {
            for (int o = 0; o < OUTCOME_COUNT; o++)
                sample_u64(p, metric,
                           labels_of(&l, "signal", name, "outcome",
                                     span_of(signal_outcome_name((enum signal_outcome)o))),
                           a->outcomes[o]);
            continue;
        }
        if (metric == METRIC_SIGNAL_STATE) {
            enum signal_state now = p->signals->scribe.watch.sites[site].state;
            for (int state = 0; state < SIGNAL_STATE_COUNT; state++)
                sample_u64(p, metric,
                           labels_of(&l, "signal", name, "state",
                                     span_of(signal_state_name((enum signal_state)state))),
                           state == (int)now);
            continue;
        }
        uint64_t value = metric == METRIC_LOG_QUEUED     ? a->queued
                         : metric == METRIC_SIGNAL_FIRED ? a->fired
                                                         : a->opportunities;
        sample_u64(p, metric, LABEL(&l, "signal", name), value);
    }
}

static void render_lost(struct page *p)
{
    const struct signals *s = p->signals;
    for (int loss = 0; loss < LOSS_COUNT; loss++) {
        uint64_t n = cell_load(&s->scribe.outbox.lost[loss]);
        if (loss == LOSS_RING_FULL)
            for (int i = 0; i < s->writer_count; i++)
                for (int site = 0; site < SITE_COUNT; site++)
                    n += cell_load(&s->writers[i].dropped[site]);
        struct labels l;
        sample_u64(p, METRIC_LOG_LOST,
                   LABEL(&l, "reason", span_of(signal_loss_name((enum signal_loss)loss))), n);
    }
}

static void render_info(struct page *p, enum signal_metric metric, const char *value,
                        const char *name2, const char *value2)
{
    struct labels l;
    sample_u64(p, metric, labels_of(&l, "version", span_of(value), name2, span_of(value2)), 1);
}

static void render_gauge(struct page *p, enum signal_metric metric, enum signal_gauge gauge)
{
    sample_double(p, metric, signals_gauge_get(p->signals, gauge));
}

static void render_threads(struct page *p, enum signal_metric metric)
{
    const struct signals *s = p->signals;
    struct labels l;
    for (int i = 0; i < s->thread_count; i++)
        sample_u64(p, metric, LABEL(&l, "thread", span_of(s->thread_names[i])),
                   atomic_load_explicit(&s->stalled[i], memory_order_relaxed));
}

static void render(struct page *p, enum signal_metric metric)
{
    struct signals *s = p->signals;
    switch (metric) {
    case METRIC_HTTP_REQUESTS:
        render_http(p);
        break;
    case METRIC_STAGE_SECONDS:
    case METRIC_STAGE_SAMPLES:
        render_stages(p, metric);
        break;
    case METRIC_CONNECTIONS:
        render_gauge(p, metric, GAUGE_CONNECTIONS);
        break;
    case METRIC_CONNECTIONS_MAX:
        render_gauge(p, metric, GAUGE_CONNECTIONS_MAX);
        break;
    case METRIC_WORKERS:
        render_gauge(p, metric, GAUGE_WORKERS);
        break;
    case METRIC_LOOP_LAG:
        render_gauge(p, metric, GAUGE_LOOP_LAG_SECONDS);
        break;
    case METRIC_THREAD_STALLED:
        render_threads(p, metric);
        break;
    case METRIC_RELOAD_SUCCESSFUL:
        render_gauge(p, metric, GAUGE_RELOAD_SUCCESSFUL);
        break;
    case METRIC_RELOAD_TIMESTAMP:
        render_gauge(p, metric, GAUGE_RELOAD_TIMESTAMP_SECONDS);
        break;
    case METRIC_CONNECTIONS_ACCEPTED:
        counter_sample(p, metric, NULL, COUNTER_CONNECTIONS_ACCEPTED);
        break;
    case METRIC_CONNECTIONS_REFUSED:
        counter_sample(p, metric, "connections_max", COUNTER_CONNECTIONS_REFUSED_MAX);
        counter_sample(p, metric, "per_address_max", COUNTER_CONNECTIONS_REFUSED_PER_ADDRESS);
        counter_sample(p, metric, "buffers_max", COUNTER_CONNECTIONS_REFUSED_BUFFERS);
        break;
    case METRIC_CONNECTIONS_UNTOLD:
        counter_sample(p, metric, NULL, COUNTER_CONNECTIONS_UNTOLD);
        break;
    case METRIC_SCRAPES_CUT:
        counter_sample(p, metric, NULL, COUNTER_SCRAPES_CUT);
        break;
    case METRIC_ACCEPT_PAUSED:
        counter_sample(p, metric, "descriptors", COUNTER_ACCEPT_PAUSED_DESCRIPTORS);
        counter_sample(p, metric, "memory", COUNTER_ACCEPT_PAUSED_MEMORY);
        break;
    case METRIC_LOG_RECORDS:
    case METRIC_LOG_QUEUED:
    case METRIC_SIGNAL_FIRED:
    case METRIC_SIGNAL_OPPORTUNITIES:
    case METRIC_SIGNAL_STATE:
        render_site_metric(p, metric);
        break;
    case METRIC_LOG_LOST:
        render_lost(p);
        break;
    case METRIC_METRIC_SERIES:
        sample_u64(p, metric, (struct span){0}, series_cells(&s->series));
        break;
    case METRIC_METRIC_SERIES_MAX:
        sample_u64(p, metric, (struct span){0}, s->series.cells_max - CELL_FIXED_COUNT);
        break;
    case METRIC_METRIC_OVERFLOW:
        sample_u64(p, metric, (struct span){0}, series_overflow(&s->series));
        break;
    case METRIC_BUILD_INFO:
        render_info(p, metric, s->program, "commit", s->commit);
        break;
    case METRIC_PLAN_INFO:
        if (s->version[0]) render_info(p, metric, s->version, "fingerprint", s->fingerprint);
        break;
    case METRIC_PLAN_FILE_INFO:
        if (s->file_fingerprint[0]) {
            struct labels l;
            sample_u64(p, metric, LABEL(&l, "fingerprint", span_of(s->file_fingerprint)), 1);
        }
        break;
    case METRIC_PROCESS_CPU:
        sample_double(p, metric, p->process.cpu_s);
        break;
    case METRIC_PROCESS_START:
        sample_double(p, metric, s->process_start_s);
        break;
    case METRIC_PROCESS_OPEN_FDS:
        sample_u64(p, metric, (struct span){0}, p->process.open_fds);
        break;
    case METRIC_PROCESS_MAX_FDS:
        sample_u64(p, metric, (struct span){0}, p->process.max_fds);
        break;
    case METRIC_PROCESS_VIRTUAL:
        sample_u64(p, metric, (struct span){0}, p->process.virtual_bytes);
        break;
    case METRIC_PROCESS_RESIDENT:
        sample_u64(p, metric, (struct span){0}, p->process.resident_bytes);
        break;
    default:
        render_series(p, metric);
        break;
    }
}

void signals_render_metrics(struct signals *signals, enum metrics_format format, struct buf *out)
{
    struct page p = {.signals = signals, .format = format, .out = out};
    process_read(&p.process);
    pthread_mutex_lock(&signals->lock);
    account_take(signals, p.accounts);
    for (int m = 0; m < METRIC_COUNT; m++) {
        head(&p, (enum signal_metric)m);
        render(&p, (enum signal_metric)m);
    }
    pthread_mutex_unlock(&signals->lock);
    if (format == METRICS_OPENMETRICS) buf_lit(out, "# EOF\n");
}
