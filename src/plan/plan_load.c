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

static void set_defaults(struct plan *plan)
{
    arena_init(&plan->arena);
    attribute_schema_init(&plan->schema);
    plan->guardrails = (struct plan_guardrails){.grace_period_ms = -1, .min_gap_ms = -1};
    plan->server = (struct plan_server){.listen = SPAN("127.0.0.1:7070"),
                                        .admin = SPAN("127.0.0.1:7071"),
                                        .connections_max = 10000,
                                        .drain_ms = 10000,
                                        .head_timeout_ms = 5000,
                                        .body_timeout_ms = 5000,
                                        .answer_timeout_ms = 5000,
                                        .idle_timeout_ms = 120000};
    plan->log = (struct plan_log){.level = LOG_INFO, .budget = {.rate = 10, .burst = 100}};
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

static void load_root(struct load *l, struct arena *arena)
{
    const struct yaml_faults faults = {add_fault, l};
    const struct yaml_tree *root = yaml_tree_read(arena, l->text, &faults);
    if (!root || !load_is_mapping(l, root, "a mapping of the plan's keys")) return;
    load_keys(l, root, &load_root_keys, l->plan);
    if (l->errors->count) return;
    plan_finish(l->plan);
    check_series(l, root);
    load_identify(l, root);
}

struct plan *plan_load(struct span yaml, const struct plan_options *options,
                       struct plan_errors *errors)
{
    errors->count = errors->more = 0;
    if (yaml.len >= 3 && memcmp(yaml.data, "\xef\xbb\xbf", 3) == 0)
        yaml = (struct span){yaml.data + 3, yaml.len - 3};

    static const struct plan_options no_options;
    struct plan *plan = calloc(1, sizeof *plan);
    INVARIANT(plan != NULL);
    set_defaults(plan);
    struct load l = {
        .text = yaml, .options = options ? options : &no_options, .errors = errors, .plan = plan};
    if (yaml.len > PLAN_BYTES_MAX) {
        struct yaml_place start = {1, 1, 0};
        load_error(&l, start, "the plan is over 1 MiB");
    } else {
        struct arena arena;
        arena_init(&arena);
        load_root(&l, &arena);
        arena_done(&arena);
    }
    if (!errors->count) return plan;
    plan_free(plan);
    return NULL;
}
