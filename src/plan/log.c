/* The section `log`. */
#include "plan/key.h"

#include "base/printed.h"

#include <math.h>

/* ---- the sink ---- */

static void read_file(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    struct span text;
    if (!load_text(l, node, "a path", &text)) return;
    bool ok = text.len > 0 && text.len < 4096;
    uint32_t code;
    for (size_t i = 0; i < text.len; i++)
        if (printed_control(text.data + i, text.data + text.len, &code)) ok = false;
    if (!ok)
        load_error(l, node->place, "expected a path of 1 to 4095 bytes, all printable");
    else
        *(struct span *)key_field(into, key) = arena_copy(&l->settings->arena, text);
}

static void print_file(struct print *p, const struct key *key, const void *from)
{
    print_quoted(p->b, *(const struct span *)key_value(from, key));
}

static void schema_file(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"type\":\"string\",\"minLength\":1,\"maxLength\":4095}");
}

static const struct key_kind kind_file = {read_file, print_file, schema_file, "path"};

static const struct key sink_rows[] = {
    {"file", .kind = &kind_file, .offset = KEY_FIELD(struct span, settings_log, file),
     .required = true, .help = "lines are appended"},
};
const struct key_table sink_keys = KEY_TABLE("log.sink", sink_rows);

static void read_sink(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    struct settings_log *log = into;
    if (node->kind == TREE_MAPPING) {
        log->sink = LOG_FILE;
        keys_read(l, node, &sink_keys, log);
        return;
    }
    struct span text;
    if (!load_text(l, node, "stdout, stderr or {file: PATH}", &text)) return;
    if (span_is(text, "stdout"))
        log->sink = LOG_STDOUT;
    else if (span_is(text, "stderr"))
        log->sink = LOG_STDERR;
    else
        load_error(l, node->place, "expected stdout, stderr or {file: PATH}, found `%s`",
                   load_show(text).text);
}

static void print_sink(struct print *p, const struct key *key, const void *from)
{
    const struct settings_log *log = from;
    if (log->sink == LOG_FILE)
        keys_print_flow(p, &sink_keys, log);
    else
        print_word(p->b, log->sink == LOG_STDERR ? "stderr" : "stdout");
}

static void schema_sink(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"anyOf\":[{\"enum\":[\"stdout\",\"stderr\"]},");
    key_schema_section(b, &(struct key){.table = &sink_keys});
    buf_lit(b, "]}");
}

static const struct key_kind kind_sink = {read_sink, print_sink, schema_sink, "word or mapping"};

/* ---- budgets ---- */

static void read_rate(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    if (node->kind == TREE_SCALAR && span_is(node->text, "unlimited"))
        *(double *)key_field(into, key) = INFINITY;
    else
        kind_double.read(l, node, key, into);
}

static void print_rate(struct print *p, const struct key *key, const void *from)
{
    if (isinf(*(const double *)key_value(from, key)))
        print_word(p->b, "unlimited");
    else
        kind_double.print(p, key, from);
}

static void schema_rate(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"anyOf\":[{\"const\":\"unlimited\"},");
    kind_double.schema(b, key);
    buf_lit(b, "]}");
}

static const struct key_kind kind_rate = {read_rate, print_rate, schema_rate,
                                          "`unlimited` or number", key_bound_number};

static const struct key budget_rows[] = {
    {"rate", .kind = &kind_rate, .offset = KEY_FIELD(double, log_budget, rate), .max = 1000000,
     .required = true, .help = "lines a second; 0: none"},
    {"burst", KEY_DOUBLE(log_budget, burst), .min = 1, .max = 1000000,
     .help = "lines at once. Of a single signal, default that of `budget`"},
};
const struct key_table budget_keys = KEY_TABLE("log.budget", budget_rows);

static void load_budget(struct load *l, const struct yaml_tree *node, struct log_budget *into)
{
    if (load_is_mapping(l, node, "a budget, {rate, burst}")) keys_read(l, node, &budget_keys, into);
}

static void read_budget(struct load *l, const struct yaml_tree *node, const struct key *key,
                        void *into)
{
    load_budget(l, node, key_field(into, key));
}

static void print_budget(struct print *p, const struct key *key, const void *from)
{
    keys_print_flow(p, &budget_keys, key_value(from, key));
}

static const struct key_kind kind_budget = {read_budget, print_budget, key_schema_section,
                                            "mapping"};

/* ---- budgets of single signals ---- */

static void read_sites(struct load *l, const struct yaml_tree *node, const struct key *key,
                       void *into)
{
    struct settings_log *log = into;
    const struct span *names = signal_site_names();
    if (!load_is_mapping(l, node, "a mapping from signal to {rate, burst}")) return;
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        struct span name = child->key->text;
        int site = 0;
        while (site < SITE_COUNT && !span_equal(names[site], name)) site++;
        if (site == SITE_COUNT)
            load_error(l, child->key->place, "there is no signal `%s` with a log line%s",
                       load_show(name).text, load_nearest(name, names, SITE_SCRIBE_FIRST).text);
        else if (site >= SITE_SCRIBE_FIRST)
            load_error(l, child->key->place, "`%s` has no budget: its lines are always written",
                       load_show(name).text);
        struct log_budget budget = log->budget;
        load_budget(l, child, &budget);
        if (site == SITE_COUNT) continue;
        log->sites[site].own = true;
        log->sites[site].budget = budget;
    }
}

static void print_sites(struct print *p, const struct key *key, const void *from)
{
    const struct settings_log *log = from;
    bool first = true;
    buf_char(p->b, '{');
    for (int site = 0; site < SITE_COUNT; site++) {
        if (!log->sites[site].own) continue;
        print_word(p->b, first ? "\n    " : ",\n    ");
        first = false;
        print_text(p->b, signal_site_names()[site]);
        buf_lit(p->b, ": ");
        keys_print_flow(p, &budget_keys, &log->sites[site].budget);
    }
    buf_char(p->b, '}');
}

static void schema_sites(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{");
    for (int site = 0; site < SITE_SCRIBE_FIRST; site++) {
        buf_format(b, "%s\"%s\":", site ? "," : "", signal_site_names()[site].data);
        key_schema_section(b, &(struct key){.table = &budget_keys});
    }
    buf_lit(b, "}}");
}

static const struct key_kind kind_sites = {read_sites, print_sites, schema_sites, "mapping"};

/* ---- the section ---- */

/* `budget` before `sites`: a site takes its burst from there. */
static const struct key log_rows[] = {
    {"level", KEY_WORD(settings_log, level), .words = log_level_names, .initial = "info",
     .help = "the lowest that is written"},
    {"sink", .kind = &kind_sink, .initial = "stdout", .at_start = true,
     .help = "`stdout`, `stderr` or a [file](#logsink)"},
    {"budget", .kind = &kind_budget, .offset = KEY_FIELD(struct log_budget, settings_log, budget),
     .table = &budget_keys, .initial = "{rate: 10, burst: 100}",
     .help = "[rate and burst](#logbudget) of each signal"},
    {"sites", .kind = &kind_sites, .help = "a budget for single signals, by name"},
};
const struct key_table log_keys = KEY_TABLE("log", log_rows);

static void read_log(struct load *l, const struct yaml_tree *node, const struct key *key,
                     void *into)
{
    if (load_is_mapping(l, node, "a mapping of the log's settings"))
        keys_read(l, node, &log_keys, &l->settings->log);
}

const struct key_kind kind_log = {read_log, key_print_section, key_schema_section, "mapping",
                                  .block = true};
