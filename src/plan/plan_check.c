/* The plan as it would run, in writing.
 *
 * One text serves three ends: a person reads it, it loads again to an equal plan, and its hash is
 * the plan's fingerprint. So nothing here depends on how the plan was written: every default is
 * filled in, the order is fixed, and each value is spelled in one way only. */
#include "plan/load.h"

#include "base/printed.h"
#include "wire/json_write.h"

#include <math.h>
#include <stdlib.h>

/* ---- scalars ---- */

/* Words that some YAML readers take for a bool or for nothing. */
static bool is_yaml_word(struct span text)
{
    static const char *const words[] = {"y",    "n",     "yes",  "no",  "on", "off",
                                        "true", "false", "null", "nan", "inf"};
    if (text.len > 5) return false;
    char lower[6] = "";
    for (size_t i = 0; i < text.len; i++)
        lower[i] =
            (char)(text.data[i] >= 'A' && text.data[i] <= 'Z' ? text.data[i] + 32 : text.data[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (span_is((struct span){lower, text.len}, words[i])) return true;
    return false;
}

/* Whether every YAML reader takes the name for a text, unquoted. */
static bool is_plain(struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '.' || c == '-'))) return false;
    }
    return text.len > 0 && !is_yaml_word(text);
}

/* The code point at the front of valid UTF-8, and its bytes. */
static uint32_t code_point(struct span text, size_t *bytes)
{
    const unsigned char *p = (const unsigned char *)text.data;
    *bytes = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (*bytes > text.len) *bytes = 1;
    uint32_t code = *bytes == 1 ? p[0] : p[0] & (0xffu >> (*bytes + 1));
    for (size_t i = 1; i < *bytes; i++) code = code << 6 | (p[i] & 0x3f);
    return code;
}

/* What a YAML file may not hold as it is, what folding would change, and what would make the plan
 * look like another one. */
static bool needs_escape(uint32_t code)
{
    return printed_is_control(code) || code == '"' || code == '\\' || code == 0xfeff ||
           (code & 0xfffe) == 0xfffe;
}

static void put_escape(struct buf *b, uint32_t code)
{
    static const char digits[] = "0123456789abcdef";
    int width = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
    buf_char(b, '\\');
    if (code == '"' || code == '\\' || code == '\n' || code == '\t') {
        buf_char(b, code == '\n' ? 'n' : code == '\t' ? 't' : (char)code);
        return;
    }
    buf_char(b, width == 2 ? 'x' : width == 4 ? 'u' : 'U');
    for (int shift = 4 * (width - 1); shift >= 0; shift -= 4)
        buf_char(b, digits[code >> shift & 15]);
}

static void put_quoted(struct buf *b, struct span text)
{
    buf_char(b, '"');
    while (text.len) {
        size_t bytes;
        uint32_t code = code_point(text, &bytes);
        if (needs_escape(code))
            put_escape(b, code);
        else
            buf_put(b, text.data, bytes);
        text = (struct span){text.data + bytes, text.len - bytes};
    }
    buf_char(b, '"');
}

static void put_text(struct buf *b, struct span text)
{
    if (is_plain(text))
        buf_span(b, text);
    else
        put_quoted(b, text);
}

static void put_word(struct buf *b, const char *word)
{
    buf_span(b, span_of(word));
}

static void put_duration(struct buf *b, int64_t ms)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
    size_t i = 0;
    while (ms % units[i].ms != 0) i++;
    if (ms == 0) i = 2;
    buf_i64(b, ms / units[i].ms);
    put_word(b, units[i].name);
}

static void put_share(struct buf *b, uint64_t ppm)
{
    buf_u64(b, ppm / 10000);
    uint32_t rest = (uint32_t)(ppm % 10000);
    if (rest) buf_char(b, '.');
    for (uint32_t unit = 1000; rest; rest %= unit, unit /= 10)
        buf_char(b, (char)('0' + rest / unit));
    buf_char(b, '%');
}

static void put_bool(struct buf *b, bool value)
{
    put_word(b, value ? "true" : "false");
}

/* ---- the decision part ---- */

static void print_actions(struct buf *b, const struct action_table *table)
{
    buf_lit(b, "actions:\n");
    for (int i = 0; i < table->count; i++) {
        const struct action *a = &table->actions[i];
        buf_lit(b, "  - {name: ");
        put_text(b, a->name);
        buf_lit(b, ", ads: ");
        buf_i64(b, a->ads);
        if (a->max_duration_ms) {
            buf_lit(b, ", max_duration: ");
            put_duration(b, a->max_duration_ms);
        }
        buf_lit(b, ", cooldown: ");
        put_duration(b, a->cooldown_ms);
        buf_lit(b, "}\n");
    }
}

static void print_labels(struct buf *b, const struct plan *plan)
{
    buf_lit(b, "segments: [");
    for (int i = 0; i < plan->segment_count; i++) {
        if (i) buf_lit(b, ", ");
        put_text(b, plan->segments[i]);
    }
    buf_lit(b, "]\nattributes: {");
    bool first = true;
    for (uint32_t i = 0; i < plan->schema.count; i++) {
        const struct attribute *a = &plan->schema.attributes[i];
        if (a->source != ATTRIBUTE_DECLARED) continue;
        if (!first) buf_lit(b, ", ");
        first = false;
        put_text(b, a->name);
        buf_lit(b, ": ");
        put_word(b, attribute_type_name(a->type));
    }
    buf_lit(b, "}\n");
}

static void print_rules(struct buf *b, const struct plan *plan, const struct policy *policy)
{
    buf_lit(b, "    rules:\n");
    for (int i = 0; i < policy->rule_count; i++) {
        const struct policy_rule *rule = &policy->rules[i];
        buf_lit(b, "      - {");
        if (rule->when) {
            buf_lit(b, "when: ");
            put_quoted(b, rule_text(rule->when));
            buf_lit(b, ", ");
        }
        buf_lit(b, "action: ");
        put_text(b, plan->actions.actions[rule->action].name);
        if (rule->cooldown_ms >= 0) {
            buf_lit(b, ", cooldown: ");
            put_duration(b, rule->cooldown_ms);
        }
        buf_lit(b, "}\n");
    }
}

static void print_posterior(struct buf *b, const struct posterior *p)
{
    static const enum posterior_parameter of[FAMILY_COUNT][4] = {
        [FAMILY_BETA] = {PARAMETER_ALPHA, PARAMETER_BETA},
        [FAMILY_NORMAL] = {PARAMETER_MEAN, PARAMETER_VARIANCE},
        [FAMILY_NIG] = {PARAMETER_MU, PARAMETER_LAMBDA, PARAMETER_ALPHA, PARAMETER_BETA},
        [FAMILY_GAMMA] = {PARAMETER_SHAPE, PARAMETER_RATE},
    };
    int count = p->family == FAMILY_NIG ? 4 : 2;
    buf_char(b, '{');
    for (int i = 0; i < count; i++) {
        if (i) buf_lit(b, ", ");
        put_word(b, posterior_parameter_name(of[p->family][i]));
        buf_lit(b, ": ");
        json_write_double(b, p->p[i]);
    }
    buf_char(b, '}');
}

static void print_by_action(struct buf *b, const struct plan *plan, const struct policy *policy,
                            bool prior)
{
    bool first = true;
    buf_span(b, prior ? SPAN("    prior: {") : SPAN("    value: {"));
    for (int i = 0; i < plan->actions.count; i++) {
        if (!action_in(policy->actions, i)) continue;
        if (!first) buf_lit(b, ", ");
        first = false;
        put_text(b, plan->actions.actions[i].name);
        buf_lit(b, ": ");
        if (prior) {
            print_posterior(b, &policy->prior[i]);
            continue;
        }
        buf_lit(b, "{offset: ");
        json_write_double(b, policy->offset[i]);
        buf_lit(b, ", weight: ");
        json_write_double(b, policy->weight[i]);
        buf_char(b, '}');
    }
    buf_lit(b, "}\n");
}

static void print_learned(struct buf *b, const struct plan *plan, const struct policy *policy)
{
    buf_lit(b, "    on_partial: ");
    put_word(b, policy->on_partial == ON_PARTIAL_EXCLUDE ? "exclude"
                : policy->on_partial == ON_PARTIAL_PRIOR ? "prior"
                                                         : "fallback");
    buf_lit(b, "\n    on_empty: ");
    put_word(b, policy->on_empty == ON_EMPTY_COLD_START ? "cold_start" : "fallback");
    buf_lit(b, "\n    on_stale: ");
    put_word(b, policy->on_stale == ON_STALE_FALLBACK ? "fallback" : "use");
    if (policy->max_posterior_age_us) {
        buf_lit(b, "\n    max_posterior_age: ");
        put_duration(b, policy->max_posterior_age_us / 1000);
    }
    buf_lit(b, "\n    fallback: ");
    put_text(b, policy->fallback->name);
    buf_lit(b, "\n    floor: ");
    json_write_double(b, policy->floor);
    buf_lit(b, "\n    floor_toward: ");
    put_word(b, policy->floor_toward == FLOOR_FALLBACK ? "fallback" : "uniform");
    buf_char(b, '\n');
    if (policy->has_prior) print_by_action(b, plan, policy, true);
    print_by_action(b, plan, policy, false);
}

static void print_policies(struct buf *b, const struct plan *plan)
{
    buf_lit(b, "policies:\n");
    for (int i = 0; i < plan->policy_count; i++) {
        const struct policy *policy = &plan->policies[i];
        buf_lit(b, "  ");
        put_text(b, policy->name);
        buf_lit(b, ":\n    kind: ");
        put_word(b, policy_ops(policy->kind)->name);
        buf_lit(b, "\n    actions: [");
        bool first = true;
        for (int a = 0; a < plan->actions.count; a++) {
            if (!action_in(policy->actions, a)) continue;
            if (!first) buf_lit(b, ", ");
            first = false;
            put_text(b, plan->actions.actions[a].name);
        }
        buf_lit(b, "]\n");
        if (policy->kind == POLICY_FIXED)
            print_rules(b, plan, policy);
        else
            buf_lit(b, "    explore_per: request\n");
        if (policy_reads_posteriors(policy)) print_learned(b, plan, policy);
    }
}

static void print_allocation(struct buf *b, const struct plan *plan)
{
    buf_lit(b, "variants:\n");
    for (int i = 0; i < plan->variant_count; i++) {
        buf_lit(b, "  ");
        put_text(b, plan->variants[i].name);
        buf_lit(b, ": {policy: ");
        put_text(b, plan->variants[i].policy->name);
        buf_lit(b, "}\n");
    }
    buf_lit(b, "default_variant: ");
    put_text(b, plan->variants[plan->default_variant].name);
    put_word(b, plan->experiment_count ? "\nexperiments:\n" : "\nexperiments: []\n");
    for (int i = 0; i < plan->experiment_count; i++) {
        const struct plan_experiment *e = &plan->experiments[i];
        buf_lit(b, "  - {name: ");
        put_text(b, e->name);
        buf_lit(b, ", salt: ");
        put_text(b, e->salt);
        buf_lit(b, ", slice: ");
        put_share(b, e->slice_ppm);
        buf_lit(b, ", split: {");
        for (int s = 0; s < e->split_count; s++) {
            if (s) buf_lit(b, ", ");
            put_text(b, plan->variants[e->split[s].variant].name);
            buf_lit(b, ": ");
            put_share(b, e->split[s].up_to - (s ? e->split[s - 1].up_to : 0));
        }
        buf_lit(b, "}}\n");
    }
}

static void print_cap(struct buf *b, const char *name, const struct plan_cap *cap)
{
    if (!cap->count) return;
    buf_lit(b, "  ");
    put_word(b, name);
    buf_lit(b, ":\n");
    for (int i = 0; i < cap->count; i++) {
        buf_lit(b, "    - {");
        if (cap->items[i].when) {
            buf_lit(b, "when: ");
            put_quoted(b, rule_text(cap->items[i].when));
            buf_lit(b, ", ");
        }
        buf_lit(b, "max: ");
        buf_i64(b, cap->items[i].max);
        buf_lit(b, "}\n");
    }
}

static void print_guardrails(struct buf *b, const struct plan_guardrails *g)
{
    buf_lit(b, "guardrails:\n");
    if (g->ad_free) {
        buf_lit(b, "  ad_free: ");
        put_quoted(b, rule_text(g->ad_free));
        buf_char(b, '\n');
    }
    if (g->grace_period_ms >= 0) {
        buf_lit(b, "  grace_period: ");
        put_duration(b, g->grace_period_ms);
        buf_char(b, '\n');
    }
    if (g->min_gap_ms >= 0) {
        buf_lit(b, "  min_gap: ");
        put_duration(b, g->min_gap_ms);
        buf_char(b, '\n');
    }
    buf_lit(b, "  cooldown: ");
    put_bool(b, g->cooldown);
    buf_char(b, '\n');
    print_cap(b, "ads_per_hour", &g->ads_per_hour);
    print_cap(b, "ad_seconds_per_hour", &g->ad_seconds_per_hour);
    print_cap(b, "ads_per_day", &g->ads_per_day);
    buf_lit(b, "  content_remaining: ");
    put_bool(b, g->content_remaining);
    buf_lit(b, "\n  content_boundary: ");
    put_bool(b, g->content_boundary);
    buf_lit(b, "\n  on_unknown: {");
    bool first = true;
    for (int r = GUARDRAIL_FIRST; r <= GUARDRAIL_LAST; r++) {
        if (!(g->permissive >> r & 1)) continue;
        if (!first) buf_lit(b, ", ");
        first = false;
        put_word(b, reason_name((enum reason)r));
        buf_lit(b, ": permissive");
    }
    buf_lit(b, "}\n");
}

static void print_timezone(struct buf *b, int64_t offset_s)
{
    int64_t minutes = (offset_s < 0 ? -offset_s : offset_s) / 60;
    buf_lit(b, "timezone_offset: \"");
    buf_char(b, offset_s < 0 ? '-' : '+');
    for (int64_t value = minutes / 60, part = 0; part < 2; part++, value = minutes % 60) {
        if (part) buf_char(b, ':');
        buf_char(b, (char)('0' + value / 10));
        buf_char(b, (char)('0' + value % 10));
    }
    buf_lit(b, "\"\n");
}

void plan_print_decides(struct buf *b, const struct plan *plan)
{
    buf_lit(b, "salt: ");
    put_text(b, plan->salt);
    buf_char(b, '\n');
    print_actions(b, &plan->actions);
    print_labels(b, plan);
    print_policies(b, plan);
    print_allocation(b, plan);
    print_timezone(b, plan->timezone_offset_s);
    print_guardrails(b, &plan->guardrails);
}

/* ---- the rest ---- */

static void print_timing(struct buf *b, const char *name, int64_t ms)
{
    buf_lit(b, "\n  ");
    put_word(b, name);
    buf_lit(b, ": ");
    put_duration(b, ms);
}

static void print_server(struct buf *b, const struct settings_server *s)
{
    buf_lit(b, "server:\n  listen: ");
    put_quoted(b, s->listen);
    buf_lit(b, "\n  admin: ");
    put_quoted(b, s->admin);
    buf_lit(b, "\n  hosts: [");
    for (int i = 0; i < s->host_count; i++) {
        if (i) buf_lit(b, ", ");
        put_quoted(b, s->hosts[i]);
    }
    buf_char(b, ']');
    buf_lit(b, "\n  workers: ");
    if (s->workers)
        buf_i64(b, s->workers);
    else
        buf_lit(b, "auto");
    buf_lit(b, "\n  connections_max: ");
    buf_i64(b, s->connections_max);
    buf_lit(b, "\n  per_address_max: ");
    buf_i64(b, s->per_address_max);
    print_timing(b, "drain", s->drain_ms);
    print_timing(b, "head_timeout", s->head_timeout_ms);
    print_timing(b, "body_timeout", s->body_timeout_ms);
    print_timing(b, "answer_timeout", s->answer_timeout_ms);
    print_timing(b, "idle_timeout", s->idle_timeout_ms);
    buf_lit(b, "\n  data: none\n  watch: false\n");
}

static void print_budget(struct buf *b, const struct log_budget *budget)
{
    buf_lit(b, "{rate: ");
    if (isinf(budget->rate))
        buf_lit(b, "unlimited");
    else
        json_write_double(b, budget->rate);
    buf_lit(b, ", burst: ");
    json_write_double(b, budget->burst);
    buf_lit(b, "}");
}

static void print_log(struct buf *b, const struct settings_log *log)
{
    buf_lit(b, "log:\n  level: ");
    put_word(b, log_level_names[log->level]);
    buf_lit(b, "\n  sink: ");
    if (log->sink == LOG_FILE) {
        buf_lit(b, "{file: ");
        put_quoted(b, log->file);
        buf_char(b, '}');
    } else
        put_word(b, log->sink == LOG_STDERR ? "stderr" : "stdout");
    buf_lit(b, "\n  budget: ");
    print_budget(b, &log->budget);
    buf_lit(b, "\n  sites: {");
    bool first = true;
    for (int site = 0; site < SITE_COUNT; site++) {
        if (!log->sites[site].own) continue;
        put_word(b, first ? "\n    " : ",\n    ");
        first = false;
        put_text(b, signal_site_names()[site]);
        buf_lit(b, ": ");
        print_budget(b, &log->sites[site].budget);
    }
    buf_lit(b, "}\n");
}

void settings_print(struct buf *b, const struct settings *settings)
{
    print_server(b, &settings->server);
    print_log(b, &settings->log);
}

void plan_print(struct buf *b, const struct plan *plan)
{
    buf_lit(b, "version: ");
    put_text(b, plan->version);
    buf_char(b, '\n');
    plan_print_decides(b, plan);
}

/* ---- identity ---- */

static void set_fingerprint(struct plan *plan)
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 6; i++) {
        unsigned byte = (unsigned)(plan->identity.lo >> (8 * i)) & 0xff;
        plan->fingerprint[2 * i] = digits[byte >> 4];
        plan->fingerprint[2 * i + 1] = digits[byte & 15];
    }
    plan->fingerprint[12] = '\0';
}

void load_identify(struct load *l, const struct yaml_tree *root)
{
    static const struct hash128 no_key;
    struct plan *plan = l->plan;
    char *memory = arena_alloc(&l->scratch, PLAN_BYTES_MAX);

    struct buf b = buf_of(memory, PLAN_BYTES_MAX);
    plan_print_decides(&b, plan);
    plan->identity = hash_sip128(no_key, buf_text(&b));
    set_fingerprint(plan);
    if (!plan->version.len) plan->version = span_of(plan->fingerprint);

    b = buf_of(memory, PLAN_BYTES_MAX);
    settings_print(&b, l->settings);
    l->settings->identity = hash_sip128(no_key, buf_text(&b));

    plan_print(&b, plan);
    if (b.full)
        load_error(l, root->place, "the plan, with its defaults written out, is over 1 MiB");
}
