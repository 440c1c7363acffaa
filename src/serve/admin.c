#include "serve/admin.h"

#include "base/clock.h"
#include "serve/admin_page.h"
#include "serve/answer.h"
#include "serve/listen.h"
#include "wire/json_write.h"

static void put_member(struct buf *b, const char *key, struct span text)
{
    json_write_key(b, span_of(key));
    json_write_printed(b, text);
}

/* ---- is it well ---- */

/* The threads that a restart would mend are well, or one of them is named. */
static void serve_healthz(struct admin *a, struct exchange *x)
{
    uint64_t now_ns = clock_mono_ns();
    const struct stall *threads = a->config.threads;
    for (int i = 0; i < threads->count; i++) {
        const struct stall_thread *t = &threads->threads[i];
        if (!t->restart || !stall_is(threads, i, now_ns)) continue;
        char memory[128];
        struct buf b = buf_of(memory, sizeof memory);
        buf_format(&b, "the thread %s has not turned for %llu s\n", t->name,
                   (unsigned long long)(stall_ns(threads, i, now_ns) / 1000000000u));
        answer_with(x, 503, ANSWER_TEXT, buf_text(&b));
        return;
    }
    answer_with(x, 200, ANSWER_TEXT, SPAN("ok\n"));
}

/* ---- what does it do ---- */

static void gauges_set(struct admin *a, uint64_t now_ns)
{
    uint64_t lag_ns = 0, open = 0;
    for (int i = 0; i < a->config.worker_count; i++) {
        struct loop *l = a->config.workers[i];
        uint64_t ns = loop_lag_ns(l, now_ns);
        if (ns > lag_ns) lag_ns = ns;
        open += atomic_load_explicit(&l->open_seen, memory_order_relaxed);
    }
    signals_gauge_set(a->config.signals, GAUGE_CONNECTIONS, (double)open);
    signals_gauge_set(a->config.signals, GAUGE_LOOP_LAG_SECONDS, (double)lag_ns / 1e9);
    for (int i = 0; i < a->config.threads->count; i++)
        signals_thread_set(a->config.signals, i, stall_is(a->config.threads, i, now_ns));
}

/* All scrapes of TEXT_SHARED_MS have one text, and who is slow to read it keeps no copy. NULL: it
 * is longer than it can be. */
static struct text *metrics_text(struct admin *a, enum metrics_format format)
{
    uint64_t now_ns = clock_mono_ns();
    struct text *text = text_find(&a->metrics, (int)format, now_ns);
    if (text) return text;
    uint32_t cut = 0;
    struct buf out;
    text = text_begin(&a->metrics, (int)format, &out, &cut);
    while (cut-- > 0) signal_count(a->config.writer, COUNTER_SCRAPES_CUT);
    gauges_set(a, now_ns);
    signals_render_metrics(a->config.signals, format, &out);
    if (out.full) return NULL;
    text_written(&a->metrics, text, &out, now_ns);
    return text;
}

static void serve_metrics(struct admin *a, struct exchange *x)
{
    bool openmetrics = x->reader->accept_openmetrics;
    struct text *text = metrics_text(a, openmetrics ? METRICS_OPENMETRICS : METRICS_PROMETHEUS);
    if (!text) {
        answer_too_long(x);
        return;
    }
    struct answer answer =
        answer_begin(x, 200, openmetrics ? METRICS_OPENMETRICS_TYPE : METRICS_PROMETHEUS_TYPE);
    http_head_end_apart(x->out, answer.mark, text->len);
    if (!x->head_only) x->text = text_hold(text);
}

static void serve_plan(struct admin *a, struct exchange *x)
{
    const struct plan *plan = a->served->plan;
    struct buf text = buf_of(a->plan_text, sizeof a->plan_text);
    plan_print(&text, plan);
    settings_print(&text, a->served->settings);
    INVARIANT(!text.full);

    struct answer answer = answer_begin(x, 200, ANSWER_JSON);
    buf_char(x->out, '{');
    put_member(x->out, "version", plan->version);
    put_member(x->out, "fingerprint", span_of(plan->fingerprint));
    put_member(x->out, "file", span_of(reload_file(a->config.reload)));
    put_member(x->out, "plan", buf_text(&text));
    buf_lit(x->out, "}\n");
    answer_end(x, answer);
}

static void serve_signals(struct admin *a, struct exchange *x)
{
    struct answer answer = answer_begin(x, 200, ANSWER_JSON);
    buf_lit(x->out, "{\"started_at\":\"");
    request_time_write(x->out, signals_started_us(a->config.signals));
    buf_lit(x->out, "\",\"signals\":");
    signals_render_list(a->config.signals, x->out);
    buf_lit(x->out, "}\n");
    answer_end(x, answer);
}

static void serve_explain(struct admin *a, struct exchange *x)
{
    a->explain.plan = a->served->plan;
    a->explain.cells = a->served->cells;
    a->explain.wall_us = x->wall_us;
    x->status = request_serve(&a->explain, x->body, &x->head, x->out).status;
}

static void serve_drill(struct admin *a, struct exchange *x)
{
    a->drill.request.plan = a->served->plan;
    a->drill.request.cells = a->served->cells;
    a->drill.request.writer = a->config.writer;
    a->drill.request.wall_us = x->wall_us;
    struct drill_outcome outcome;
    struct err e;
    if (drill_run(&a->drill, x->body, &outcome, &e) != ERR_OK) {
        answer_problem(x, &e);
        return;
    }
    struct answer answer = answer_begin(x, 200, ANSWER_JSON);
    buf_char(x->out, '{');
    put_member(x->out, "signal", signal_site_names()[outcome.site]);
    json_write_key(x->out, SPAN("request"));
    buf_span(x->out, outcome.request);
    json_write_key(x->out, SPAN("answer"));
    buf_span(x->out, outcome.answer);
    buf_lit(x->out, "}\n");
    answer_end(x, answer);
}

/* ---- change the plan ---- */

static void put_errors(struct buf *b, const struct plan_errors *errors)
{
    json_write_key(b, SPAN("errors"));
    buf_char(b, '[');
    for (int i = 0; i < errors->count; i++) {
        const struct err *e = &errors->errors[i];
        if (i) buf_char(b, ',');
        buf_char(b, '{');
        if (e->line) {
            json_write_key(b, SPAN("line"));
            buf_u64(b, e->line);
            json_write_key(b, SPAN("column"));
            buf_u64(b, e->column);
        }
        put_member(b, "message", span_of(e->text));
        buf_char(b, '}');
    }
    buf_char(b, ']');
}

static void put_list_begin(struct buf *b, const char *key)
{
    json_write_key(b, span_of(key));
    buf_char(b, '[');
}

static void put_weaker(struct buf *b, const struct plan_weaker *weaker)
{
    put_list_begin(b, "weaker");
    for (int i = 0; i < weaker->count; i++) {
        if (i) buf_char(b, ',');
        json_write_printed(b, span_of(weaker->texts[i]));
    }
    buf_char(b, ']');
    if (!weaker->more) return;
    json_write_key(b, SPAN("weaker_more"));
    buf_u64(b, (uint64_t)weaker->more);
}

/* What is common to both answers: who asked, and for what. */
static void put_reload(struct admin *a, struct buf *b)
{
    put_weaker(b, &a->outcome.weaker);
    put_member(b, "trigger", span_of(reload_trigger_name(a->outcome.trigger)));
    put_member(b, "file", span_of(reload_file(a->config.reload)));
}

static void answer_refused(struct admin *a, struct exchange *x)
{
    const struct reload_outcome *outcome = &a->outcome;
    struct err e;
    int count = outcome->errors.count + outcome->errors.more;
    if (outcome->code == ERR_PLAN_TAKES_AWAY)
        err_set(
            &e, outcome->code,
            "the plan takes something away, and its file does not end with the line `...`, so it "
            "may be half of it; the one before is served on");
    else if (count == 1)
        err_set(&e, outcome->code, "%s", outcome->errors.errors[0].text);
    else
        err_set(&e, outcome->code, "the plan has %d errors; the one before is served on", count);
    e.status = 422; /* for want of memory too: what was refused is the plan */
    struct answer answer = answer_begin(x, 422, "application/problem+json");
    http_write_problem_body(x->out, &e);
    if (!x->out->full) x->out->len--; /* its closing brace: more members follow */
    put_errors(x->out, &outcome->errors);
    put_reload(a, x->out);
    buf_lit(x->out, "}\n");
    answer_end(x, answer);
}

static void answer_reloaded(struct admin *a, struct exchange *x)
{
    const struct reload_outcome *outcome = &a->outcome;
    struct answer answer = answer_begin(x, 200, ANSWER_JSON);
    struct buf *b = x->out;
    buf_char(b, '{');
    json_write_key(b, SPAN("changed"));
    buf_span(b, outcome->changed ? SPAN("true") : SPAN("false"));
    put_member(b, "version", span_of(outcome->version));
    put_member(b, "fingerprint", span_of(outcome->fingerprint));
    put_member(b, "fingerprint_before", span_of(outcome->fingerprint_before));
    if (outcome->version_reused) json_write_key(b, SPAN("version_reused")), buf_lit(b, "true");
    put_list_begin(b, "not_applied");
    for (int i = 0; i < outcome->not_applied.count; i++) {
        if (i) buf_char(b, ',');
        json_write_string(b, span_of(outcome->not_applied.names[i]));
    }
    buf_char(b, ']');
    json_write_key(b, SPAN("units_moved_ppm"));
    buf_u64(b, outcome->units_moved_ppm);
    put_reload(a, b);
    buf_lit(b, "}\n");
    answer_end(x, answer);
}

static void serve_reload(struct admin *a, struct exchange *x)
{
    char peer[ADDRESS_TEXT_MAX];
    listen_peer_write(x->fd, peer);
    /* A reload waits until nobody holds the old plan: so we must not. */
    plan_live_leave(a->config.live, a->config.reader);
    reload_run(a->config.reload, RELOAD_POST, peer, a->config.writer, &a->outcome);
    a->served = plan_live_enter(a->config.live, a->config.reader);
    if (a->outcome.code)
        answer_refused(a, x);
    else
        answer_reloaded(a, x);
}

/* ---- the service ---- */

/* An Origin is sent by browsers: then the page that asks must be our own. */
static bool origin_is(struct span origin, struct span host)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t len = strlen(schemes[i]);
        if (origin.len > len && memcmp(origin.data, schemes[i], len) == 0 &&
            span_equal((struct span){origin.data + len, origin.len - len}, host))
            return true;
    }
    return false;
}

static enum err_code guard(const struct admin *a, const struct exchange *x, struct err *e)
{
    const struct settings_server *settings = &a->served->settings->server;
    struct span host = http_text(x->bytes, x->reader->host);
    struct span origin = http_text(x->bytes, x->reader->origin);
    if (!listen_host_is_ours(host, x->fd) &&
        !listen_host_is_one_of(host, settings->hosts, settings->host_count))
        return err_set(e, ERR_FORBIDDEN,
                       "the Host has to be localhost, an address that this port listens on, or one "
                       "of the plan's `server: {hosts: [...]}`");
    if (origin.len && !origin_is(origin, host))
        return err_set(e, ERR_FORBIDDEN, "a page of another origin may not ask this");
    return ERR_OK;
}

static void admin_answer(struct service *service, struct exchange *x)
{
    struct admin *a = (struct admin *)service;
    struct err e;
    if (x->route->guarded && guard(a, x, &e) != ERR_OK) {
        answer_problem(x, &e);
        return;
    }
    if (x->reader->method == HTTP_OPTIONS) {
        answer_options(x);
        return;
    }
    switch (x->route->id) {
    case ROUTE_HEALTHZ:
        serve_healthz(a, x);
        break;
    case ROUTE_READYZ:
        answer_ready(x, atomic_load(a->config.ready));
        break;
    case ROUTE_METRICS:
        serve_metrics(a, x);
        break;
    case ROUTE_PLAN:
        serve_plan(a, x);
        break;
    case ROUTE_SIGNALS:
        serve_signals(a, x);
        break;
    case ROUTE_EXPLAIN:
        serve_explain(a, x);
        break;
    case ROUTE_DRILL:
        serve_drill(a, x);
        break;
    case ROUTE_RELOAD:
        serve_reload(a, x);
        break;
    case ROUTE_HOME:
        x->head.extra = ADMIN_PAGE_FIELDS;
        answer_with(x, 200, "text/html; charset=utf-8", admin_page);
        break;
    case ROUTE_DECIDE:
        INVARIANT(!"decisions have another port");
        break;
    case ROUTE_PORT:
        INVARIANT(!"only OPTIONS can be asked of it");
    }
}

static void admin_turn_begin(struct service *service)
{
    struct admin *a = (struct admin *)service;
    a->served = plan_live_enter(a->config.live, a->config.reader);
}

static void admin_turn_end(struct service *service)
{
    struct admin *a = (struct admin *)service;
    plan_live_leave(a->config.live, a->config.reader);
}

enum err_code admin_init(struct admin *a, const struct admin_config *config, struct err *e)
{
    if (!texts_init(&a->metrics, SIGNALS_METRICS_BYTES_MAX))
        return err_set(e, ERR_NO_MEMORY, "there is not enough memory for the operations port");
    a->service = (struct service){
        .routes = &route_operations,
        .fields = ANSWER_FIELDS,
        .writer = config->writer,
        .answer_bytes_max = ADMIN_ANSWER_BYTES_MAX,
        .answers_alone = true,
        .turn_answers_max = ADMIN_ANSWERS_MAX,
        .urgent_routes = 1u << ROUTE_HEALTHZ | 1u << ROUTE_READYZ,
        .turn_begin = admin_turn_begin,
        .turn_end = admin_turn_end,
        .answer = admin_answer,
    };
    a->config = *config;
    a->explain.writer = NULL;
    a->explain.explain = true;
    request_id_init(&a->explain.ids);
    drill_init(&a->drill);
    return ERR_OK;
}

void admin_done(struct admin *a)
{
    texts_done(&a->metrics);
}
