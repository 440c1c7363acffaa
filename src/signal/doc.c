#include "signal/signals.h"

static void put(struct buf *b, const char *text)
{
    buf_span(b, span_of(text));
}

static void row_end(struct buf *b)
{
    put(b, " |\n");
}

static void cell(struct buf *b, const char *before, const char *text)
{
    put(b, before);
    put(b, text);
}

/* Names with a space between them, each as code. */
static void names(struct buf *b, const char *list)
{
    if (!*list) put(b, "-");
    while (*list) {
        size_t len = strcspn(list, " ");
        buf_char(b, '`');
        buf_put(b, list, len);
        buf_char(b, '`');
        list += len;
        if (*list) buf_char(b, *list++);
    }
}

static void print_sites(struct buf *b)
{
    put(b, "| event | level | expected | budget | fields | meaning | an opportunity is |\n"
           "|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < SITE_COUNT; i++) {
        const struct signal_site_row *row = &signal_sites[i];
        put(b, "| ");
        names(b, row->name);
        cell(b, " | ", log_level_names[row->level]);
        cell(b, " | ", signal_expected_name(row->expected));
        cell(b, " | ", signal_budget_name(row->budget));
        put(b, " | ");
        names(b, row->fields);
        cell(b, " | ", row->help);
        cell(b, " | ", row->opportunity);
        row_end(b);
    }
}

static void print_losses(struct buf *b)
{
    static const char *const meanings[] = {
        [LOSS_RING_FULL] = ("lines come faster than they are written, or nobody reads the log: a "
                            "worker's ring had no room left"),
        [LOSS_SINK_GONE] = "the log's reader has closed its end, or a write failed",
        [LOSS_DISK_FULL] = "the file system, the quota or the limit of a file's size is reached",
        [LOSS_SHUTDOWN] = "the process ended before the log took what was left",
    };
    _Static_assert(sizeof meanings / sizeof *meanings == LOSS_COUNT, "each loss has a meaning");
    put(b, "\nWhy a line was dropped is the `reason` of `interlude_log_lost_total`; what to do is "
           "in\n[oncall.md](oncall.md):\n\n"
           "| reason | it means |\n"
           "|---|---|\n");
    for (int i = 0; i < LOSS_COUNT; i++) {
        put(b, "| ");
        names(b, signal_loss_name((enum signal_loss)i));
        cell(b, " | ", meanings[i]);
        row_end(b);
    }
}

static void print_metrics(struct buf *b)
{
    static const char *const types[] = {[METRIC_COUNTER] = "counter",
                                        [METRIC_GAUGE] = "gauge",
                                        [METRIC_HISTOGRAM] = "histogram",
                                        [METRIC_INFO] = "info"};
    put(b, "| metric | type | labels | expected | meaning | moves with |\n"
           "|---|---|---|---|---|---|\n");
    for (int i = 0; i < METRIC_COUNT; i++) {
        const struct signal_metric_row *row = &signal_metrics[i];
        cell(b, "| `", row->name);
        if (row->type == METRIC_COUNTER) put(b, "_total");
        if (row->type == METRIC_INFO) put(b, "_info");
        cell(b, "` | ", types[row->type]);
        put(b, " | ");
        names(b, row->labels);
        cell(b, " | ", signal_expected_name(row->expected));
        cell(b, " | ", row->help);
        cell(b, " | ", row->moves);
        row_end(b);
    }
}

void signals_doc_print(struct buf *b)
{
    put(b,
        "# Signals\n\n"
        "<!-- Printed from the table in src/table/signal_table.h; a test holds the two equal. "
        "-->\n\n"
        "What Interlude says about itself: log lines for what is not ordinary, metrics for all of "
        "it.\nEvery one is declared with how often it is expected; one that always fires tells "
        "nothing.\n\n"
        "## Log lines\n\n"
        "One JSON object a line, at most 4,096 bytes. First `timestamp`, `level` and `event`, then "
        "the fields\nbelow in this order; an empty one is left out. A line that had to be "
        "shortened has `\"cut\": true`. Of texts, whatever is a "
        "control,\na separator of lines or changes the direction of text is escaped "
        "(`\\u001b`, `\\u0085`, `\\u2028`, `\\u202e`), so a\nline is one line for every "
        "reader, and looks on a terminal like what it is. Where the\nlog could take only a part of "
        "a line (a full "
        "disk, a reader that went away), the part stays, counts as dropped, and\nthe next line "
        "begins on a line of its own: who reads should pass over what is no JSON.\n\n"
        "A line takes one of these ways: `written` (the kernel took it whole), `dropped` (a ring "
        "was full,\nthe sink was gone or full, or the process ended), `suppressed` (over its "
        "site's budget,\n`log: {budget, sites}`, or below `log: {level}`), `outranked` (a graver "
        "condition of the same request\nhas the line), or it is still `queued`. By site, always: "
        "fired = written + dropped + suppressed +\noutranked + queued. A budget is one for the "
        "whole process; a site with none is never suppressed,\nby no level either: such a line "
        "tells of the log and the metrics themselves.\n\n");
    print_sites(b);
    print_losses(b);
    put(b,
        "\n## Constant and quiet signals\n\n"
        "Of each log site it is known how often it fired and how often it could have. Time is cut "
        "into\nwindows of five minutes; at the end of each a site gets a verdict: `constant` if it "
        "had at least 1,000\nopportunities in the window and fired on at least 99% of them, "
        "`quiet` if it has not fired for an hour,\n`normal` otherwise. Its state "
        "(`interlude_signal_state`) changes once two windows in succession agree.\nWhen a site "
        "declared `never` or `rare` turns constant, `signal_constant` says so, once. "
        "`GET /v1/signals`\nlists the sites, the worst first, each with its state and with "
        "what it costs a second. There,\n`estimated_ns_per_second` is no measurement: it is 60 ns "
        "for each record and 7,000 ns for each line, times\ntheir rates, to compare sites with "
        "each "
        "other.\n\n");
    put(b,
        "`build/interlude-lab signals --check URL` (URL: the operations port) exits with 1 if a "
        "site declared `never` or\n`rare` is constant, or looks so: it fired on 99% of at least 20 "
        "opportunities in the last five to ten minutes\n(`recent`), though the server does not say "
        "so yet. So a signal that few requests can fire does not pass for\nfine because others had "
        "the 1,000 opportunities that a verdict takes. `--lenient` lets those pass that had "
        "fewer.\nIt also exits with 1 if no site could be judged, or if one could not that "
        "`--require SIGNAL` names (which may be\ngiven again); it tells how many could not. The "
        "server's own verdict takes ten minutes, so for a test use\n`--over D`: it judges what "
        "happens within D, by the same limits, and wants at least 1,000 decisions in that\ntime; "
        "for the posteriors' signals, of variants that read posteriors. In CI, with requests of "
        "your own (`--body`:\n[captures.md](captures.md)), 4,000 in 10 s:\n\n"
        "<!-- docs: shell own -->\n\n"
        "    build/interlude serve --config plan.yaml &\n"
        "    until curl -sf http://127.0.0.1:7071/readyz; do sleep 0.1; done\n"
        "    build/interlude-lab load http://127.0.0.1:7070 --rate 400 --duration 20s --body "
        "bodies.jsonl & sleep 2\n"
        "    build/interlude-lab signals --check http://127.0.0.1:7071 --over 10s "
        "--require unknown_variant\n\n"
        "Whether a quiet site still can fire is found out by a drill: `POST /v1/drill` on the "
        "operations port,\nwith `{\"signal\": NAME}`, makes up a request that has that fault and "
        "serves it. What then fires counts in\n`interlude_signal_*` and `interlude_log_*` only, "
        "and its line has `\"drill\": true`. `build/interlude-lab signals\n--drill URL` does it "
        "for "
        "every site that a request can fire,\nand exits with 1 where a line was not written, or "
        "where a request might fire a site and none that was made up\ndid. What became of drills "
        "is counted apart: `drills` in `GET /v1/signals`.\n");
    put(b,
        "\n## Metrics\n\n"
        "`GET /metrics` on the operations port, in the Prometheus text format, or in OpenMetrics "
        "where the\nscraper asks for it. Labels are closed by the plan: every label set is "
        "exported from the start, as 0.\n`segment_id` is one of the plan's segments, `other` or "
        "`unset`; `variant` one of the plan's, or\n`unknown`. Counters live as long as the "
        "process: a reload keeps them. `version` is one of the last\nfour plans'. Label sets "
        "beyond the limit count in `interlude_metric_overflow_total`, and `metric_overflow` says "
        "so; what\n`GET /v1/signals` tells of opportunities has them in it.\n\n"
        "The planned dose, in ads per listening hour, is\n"
        "`3600 * rate(interlude_ads_decided_total[1h]) / "
        "rate(interlude_covered_seconds_total[1h])`.\n\n");
    print_metrics(b);
}
