#include "plan/load.h"

#include <stdlib.h>

static key_read load_timezone;

#define FIELD(name) offsetof(struct plan, name)

/* In the order in which sections refer to each other, not that of the file. */
static const struct key root_keys[] = {
    {"version", load_key_name, FIELD(version)},
    {"salt", load_key_salt, FIELD(salt), .required = true},
    {"actions", load_actions, .required = true},
    {"segments", load_segments},
    {"attributes", load_attributes},
    {"policies", load_policies, .required = true},
    {"variants", load_variants, .required = true},
    {"experiments", load_experiments},
    {"default_variant", load_key_variant, FIELD(default_variant), .required = true},
    {"timezone_offset", load_timezone, FIELD(timezone_offset_s)},
    {"guardrails", load_guardrails},
    {"server", load_server},
    {"log", load_log},
    {"holdout", NULL},
    {"cooldown_from", NULL},
    {"safe_action", NULL},
};
const struct key_table load_root_keys = KEY_TABLE("", root_keys);

const struct key_table *const load_tables[] = {
    &load_root_keys,    &load_action_keys,      &load_policy_keys,
    &load_rule_keys,    &load_rule_action_keys, &load_value_keys,
    &load_variant_keys, &load_experiment_keys,  &load_guardrail_keys,
    &load_cap_keys,     &load_server_keys,      &load_log_keys,
    &load_sink_keys,    &load_budget_keys,      NULL,
};

static bool two_digits(const char *text, int64_t *value)
{
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') return false;
    *value = (text[0] - '0') * 10 + (text[1] - '0');
    return true;
}

/* "+02:00", or 0. No zone on earth is beyond 14 hours. */
static void load_timezone(struct load *l, const struct yaml_tree *node, const struct key *key,
                          void *into)
{
    static const char what[] = "0, or an offset from UTC from -14:00 to +14:00, as \"+02:00\"";
    struct span text;
    if (!load_text(l, node, what, &text) || span_is(text, "0")) return;
    int64_t hours, minutes;
    bool ok = text.len == 6 && (text.data[0] == '+' || text.data[0] == '-') &&
              text.data[3] == ':' && two_digits(text.data + 1, &hours) &&
              two_digits(text.data + 4, &minutes) && minutes < 60 && hours * 60 + minutes <= 840;
    if (!ok) {
        load_error(l, node->place, "expected %s, found `%s`", what, load_show(text).text);
        return;
    }
    int64_t seconds = (hours * 60 + minutes) * 60;
    *(int64_t *)load_field(into, key) = text.data[0] == '-' ? -seconds : seconds;
}

static void plan_defaults(struct plan *plan)
{
    attribute_schema_init(&plan->schema);
    plan->guardrails = (struct plan_guardrails){.grace_period_ms = -1, .min_gap_ms = -1};
}

static void settings_defaults(struct settings *settings)
{
    settings->server = (struct settings_server){.listen = SPAN(SETTINGS_LISTEN),
                                                .admin = SPAN(SETTINGS_ADMIN),
                                                .connections_max = 10000,
                                                .drain_ms = 10000,
                                                .head_timeout_ms = 5000,
                                                .body_timeout_ms = 5000,
                                                .answer_timeout_ms = 5000,
                                                .idle_timeout_ms = 120000};
    settings->log = (struct settings_log){.level = LOG_INFO, .budget = {.rate = 10, .burst = 100}};
}

static void add_fault(void *owner, struct yaml_place place, const char *text)
{
    load_error(owner, place, "%s", text);
}

/* Too many series make a metrics store, and the bill for it, fall over: so it is an error here. */
static void check_series(struct load *l, const struct yaml_tree *root)
{
    enum { SERIES_MAX = 20000 };
    const char *largest;
    uint64_t series = plan_series_count(l->plan, &largest);
    if (series > SERIES_MAX)
        load_error(l, yaml_tree_find(root, SPAN("variants"))->key->place,
                   "the plan makes %llu metric series, most of them %s: at most %d are allowed",
                   (unsigned long long)series, largest, SERIES_MAX);
}

static void load_root(struct load *l)
{
    const struct yaml_faults faults = {add_fault, l};
    const struct yaml_tree *root = yaml_tree_read(&l->scratch, l->text, &faults);
    if (!root || !load_is_mapping(l, root, "a mapping of the plan's keys")) return;
    if (!yaml_tree_find(root, SPAN("attributes")) &&
        load_has(root, &load_root_keys, SPAN("attributes")))
        l->unread |= UNREAD_ATTRIBUTES;
    load_keys(l, root, &load_root_keys, l->plan);
    if (l->errors->count) return;
    plan_finish(l->plan);
    check_series(l, root);
    load_identify(l, root);
    if (l->warnings && !l->errors->count) plan_warn(l, root);
}

static void load_text_bounded(struct load *l)
{
    struct span bom = SPAN("\xef\xbb\xbf");
    if (l->text.len >= bom.len && memcmp(l->text.data, bom.data, bom.len) == 0)
        l->text = (struct span){l->text.data + bom.len, l->text.len - bom.len};
    if (l->text.len > PLAN_BYTES_MAX)
        load_error(l, (struct yaml_place){1, 1, 0}, "the plan is over 1 MiB");
    else
        load_root(l);
}

static void tell_no_memory(struct plan_errors *errors)
{
    errors->count = 1;
    errors->more = 0;
    err_set(&errors->errors[0], ERR_NO_MEMORY, "there is not enough memory to load the plan");
}

/* All that is built hangs in the arenas of *l, which its owner frees: so every lack of memory on
 * the way, libyaml's too, ends at this one place. */
static void load_guarded(struct load *l)
{
    jmp_buf no_memory;
    if (setjmp(no_memory)) {
        tell_no_memory(l->errors);
    } else {
        arena_init(&l->scratch, &no_memory);
        arena_init(&l->rule_scratch, &no_memory);
        arena_init(&l->rule_spare, &no_memory);
        l->plan->arena.no_memory = l->settings->arena.no_memory = &no_memory;
        load_text_bounded(l);
    }
    arena_done(&l->scratch);
    arena_done(&l->rule_scratch);
    arena_done(&l->rule_spare);
    /* Nothing is added to either any more. */
    l->plan->arena.no_memory = l->settings->arena.no_memory = NULL;
}

struct plan *plan_check(struct span yaml, struct settings **settings, struct plan_errors *errors,
                        struct plan_errors *warnings)
{
    errors->count = errors->more = 0;
    if (warnings) warnings->count = warnings->more = 0;
    struct load l = {.text = yaml.len ? yaml : SPAN(""),
                     .errors = errors,
                     .warnings = warnings,
                     .plan = calloc(1, sizeof *l.plan),
                     .settings = calloc(1, sizeof *l.settings)};
    if (l.plan && l.settings) {
        plan_defaults(l.plan);
        settings_defaults(l.settings);
        load_guarded(&l);
    } else {
        tell_no_memory(errors);
    }
    if (errors->count) {
        plan_free(l.plan);
        l.plan = NULL;
        if (warnings) warnings->count = warnings->more = 0;
    }
    if (l.plan && settings)
        *settings = l.settings;
    else
        settings_free(l.settings);
    return l.plan;
}

struct plan *plan_load(struct span yaml, struct settings **settings, struct plan_errors *errors)
{
    return plan_check(yaml, settings, errors, NULL);
}

void settings_free(struct settings *settings)
{
    if (!settings) return;
    arena_done(&settings->arena);
    free(settings);
}
