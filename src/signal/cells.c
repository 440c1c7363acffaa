#include "signal/cells.h"

#include "decide/guardrail.h"

#include <stdlib.h>

_Static_assert((int)GUARDRAIL_COUNT <= SERIES_TAGS && (int)ASSIGNMENT_COUNT <= SERIES_TAGS &&
                   (int)POSTERIORS_STATUS_COUNT <= SERIES_TAGS &&
                   (int)STATE_STATUS_COUNT <= SERIES_TAGS &&
                   (int)FALLBACK_REASON_COUNT <= SERIES_TAGS,
               "each word of a closed list has a tag");

struct maker {
    const struct plan *plan;
    struct signal_cells *cells;
    struct series_table *table;
    bool all_posteriors;
};

void label_write(struct buf *b, const char *name, struct span value)
{
    if (b->len) buf_char(b, ',');
    buf_span(b, span_of(name));
    buf_lit(b, "=\"");
    for (size_t i = 0; i < value.len; i++) {
        char c = value.data[i];
        if (c == '\n')
            buf_lit(b, "\\n");
        else if (c == '"' || c == '\\')
            buf_char(b, '\\'), buf_char(b, c);
        else
            buf_char(b, c);
    }
    buf_char(b, '"');
}

/* The cell of a label set, whose values are given in the order of the metric's labels. */
static uint32_t resolve(struct maker *m, enum signal_metric metric, int tag,
                        const struct span *values)
{
    char memory[SERIES_LABELS_BYTES_MAX], name[SERIES_LABEL_NAME_MAX + 1];
    struct buf b = buf_of(memory, sizeof memory);
    const char *at = signal_metrics[metric].labels;
    for (int i = 0; *at; i++) {
        size_t len = strcspn(at, " ");
        INVARIANT(len < sizeof name);
        memcpy(name, at, len);
        name[len] = '\0';
        label_write(&b, name, values[i]);
        at += len + (at[len] == ' ');
    }
    INVARIANT(!b.full);
    uint64_t version = metric == METRIC_MISSING_POSTERIORS ? m->cells->version : 0;
    return series_resolve(m->table, metric, (uint8_t)tag, version, buf_text(&b));
}

#define RESOLVE(m, metric, tag, ...) resolve(m, metric, tag, (const struct span[]){__VA_ARGS__})

static struct span variant_label(const struct plan *plan, int variant)
{
    return variant < plan->variant_count ? plan->variants[variant].name
                                         : SPAN(VARIANT_UNKNOWN_NAME);
}

static struct span segment_label(const struct plan *plan, int segment)
{
    if (segment < plan->segment_count) return plan->segments[segment];
    return segment == plan->segment_count ? SPAN(SEGMENT_OTHER_NAME) : SPAN(SEGMENT_UNSET_NAME);
}

/* What decides for the label: for `unknown`, the default variant's policy. */
static const struct policy *variant_policy(const struct plan *plan, int variant)
{
    return plan->variants[variant < plan->variant_count ? variant : plan->default_variant].policy;
}

/* How a decision outside of experiments can have come to the variant. */
static bool assignment_possible(const struct plan *plan, int assignment, int variant)
{
    switch (assignment) {
    case ASSIGNMENT_CALLER:
        return variant < plan->variant_count;
    case ASSIGNMENT_DEFAULT:
    case ASSIGNMENT_NO_UNIT:
        return variant == plan->default_variant;
    case ASSIGNMENT_UNKNOWN_VARIANT:
        return variant == plan->variant_count;
    default:
        return false;
    }
}

static void make_assignments(struct maker *m, struct variant_cells *v, int variant)
{
    const struct plan *plan = m->plan;
    struct span name = variant_label(plan, variant);
    for (int a = 0; a < ASSIGNMENT_COUNT; a++)
        if (assignment_possible(plan, a, variant))
            v->assigned[a] = RESOLVE(m, METRIC_ASSIGNMENTS, a, SPAN("none"),
                                     assignment_word((enum assignment)a), name);
    for (int e = 0; e < plan->experiment_count; e++)
        for (int i = 0; i < plan->experiments[e].split_count; i++)
            if (plan->experiments[e].split[i].variant == variant)
                v->experiment[e] =
                    RESOLVE(m, METRIC_ASSIGNMENTS, ASSIGNMENT_EXPERIMENT, plan->experiments[e].name,
                            assignment_word(ASSIGNMENT_EXPERIMENT), name);
}

static bool asks_rules(const struct policy *policy)
{
    return policy_is(policy, POLICY_HAS_RULES) ||
           (policy->fallback && asks_rules(policy->fallback));
}

static void make_variant(struct maker *m, int variant)
{
    const struct plan *plan = m->plan;
    struct variant_cells *v = &m->cells->variant[variant];
    const struct policy *policy = variant_policy(plan, variant);
    struct span name = variant_label(plan, variant);
    v->covered_seconds = RESOLVE(m, METRIC_COVERED_SECONDS, 0, name);
    v->ads_decided = RESOLVE(m, METRIC_ADS_DECIDED, 0, name);
    for (int s = 0; s < STATE_STATUS_COUNT; s++)
        v->state[s] = RESOLVE(m, METRIC_STATE, s, name, state_status_word((enum state_status)s));
    make_assignments(m, v, variant);
    v->duration = RESOLVE(m, METRIC_REQUEST_DURATION, 0, name);
    if (asks_rules(policy)) v->rule_errors = RESOLVE(m, METRIC_RULE_ERRORS, 0, name);
    for (int i = 0; i < plan->guardrail_count; i++) {
        const struct guardrail *row = plan->guardrails[i].row;
        v->guardrail[row->reason] =
            RESOLVE(m, METRIC_GUARDRAIL, (int)(row - guardrail_table), name, row->word);
    }
    if (!policy_reads_posteriors(policy)) return;
    v->posteriors_unused = RESOLVE(m, METRIC_POSTERIORS_UNUSED, 0, name);
    for (int f = FALLBACK_NONE + 1; f < FALLBACK_REASON_COUNT; f++)
        v->fallback[f] =
            RESOLVE(m, METRIC_FALLBACK, f, name, fallback_reason_word((enum fallback_reason)f));
}

static void make_segment(struct maker *m, int variant, int segment)
{
    const struct plan *plan = m->plan;
    struct span v = variant_label(plan, variant), g = segment_label(plan, segment);
    const struct policy *policy = variant_policy(plan, variant);
    bool reads = m->all_posteriors || policy_reads_posteriors(policy);
    uint32_t *decisions = cell_decision(m->cells, variant, segment);
    uint32_t *posteriors = cell_posteriors(m->cells, variant, segment);
    uint32_t *missing = cell_missing(m->cells, variant, segment);
    for (int a = 0; a < plan->actions.count; a++) {
        struct span name = plan->actions.actions[a].name;
        decisions[a] = RESOLVE(m, METRIC_DECISIONS, 0, v, g, name);
        if (m->all_posteriors || (reads && action_in(policy->actions, a)))
            missing[a] = RESOLVE(m, METRIC_MISSING_POSTERIORS, 0, v, g, name, plan->version);
    }
    for (int s = 0; s < POSTERIORS_STATUS_COUNT; s++)
        if (reads || s <= POSTERIORS_UNSOLICITED)
            posteriors[s] = RESOLVE(m, METRIC_POSTERIORS, s, v, g,
                                    posteriors_status_word((enum posteriors_status)s));
}

static void make_attributes(struct maker *m)
{
    const struct plan *plan = m->plan;
    uint64_t read = plan->guardrails_read | plan->gate_read;
    for (int v = 0; v < plan->variant_count; v++) {
        const struct policy *policy = plan->variants[v].policy;
        read |= policy->attributes_read;
        if (policy->fallback) read |= policy->fallback->attributes_read;
    }
    for (uint32_t i = 0; i < plan->schema.count; i++) {
        const struct attribute *attribute = &plan->schema.attributes[i];
        if (!(read >> i & 1) || attribute->source == ATTRIBUTE_CONTEXT) continue;
        m->cells->attribute_absent[i] =
            RESOLVE(m, METRIC_ATTRIBUTE_UNKNOWN, 0, attribute->name, SPAN("absent"));
        m->cells->attribute_invalid[i] =
            RESOLVE(m, METRIC_ATTRIBUTE_UNKNOWN, 1, attribute->name, SPAN("invalid"));
    }
}

/* One piece of zeroed memory: CELL_OVERFLOW is 0, and is what stays where nothing is resolved. */
static struct signal_cells *cells_alloc(const struct plan *plan)
{
    size_t variants = (size_t)plan->variant_count + 1, segments = (size_t)plan->segment_count + 2;
    size_t actions = (size_t)plan->actions.count, places = variants * segments;
    size_t numbers = places * (2 * actions + POSTERIORS_STATUS_COUNT);
    struct signal_cells *c =
        calloc(1, sizeof *c + variants * sizeof *c->variant + numbers * sizeof(uint32_t));
    if (!c) return NULL;
    c->variants = (int)variants;
    c->segments = (int)segments;
    c->actions = (int)actions;
    c->variant = (struct variant_cells *)(void *)(c + 1);
    c->decisions = (uint32_t *)(void *)(c->variant + variants);
    c->posteriors = c->decisions + places * actions;
    c->missing = c->posteriors + places * POSTERIORS_STATUS_COUNT;
    return c;
}

static void make_all(struct maker *m)
{
    for (int v = 0; v < m->cells->variants; v++) {
        make_variant(m, v);
        for (int g = 0; g < m->cells->segments; g++) make_segment(m, v, g);
    }
    make_attributes(m);
}

struct signal_cells *cells_make(struct series_table *table, const struct plan *plan,
                                bool all_posteriors)
{
    _Static_assert(CELL_OVERFLOW == 0, "zeroed memory counts in the overflow cell");
    struct signal_cells *c = cells_alloc(plan);
    if (!c) return NULL;
    struct series_load load = series_load_begin(table, plan->version);
    c->version = load.version;
    struct maker m = {plan, c, table, all_posteriors};
    make_all(&m);
    if (series_load_end(table, &load)) return c;
    free(c);
    return NULL;
}
