#include "plan/load.h"

#define DAY_MS ((int64_t)24 * 3600 * 1000)

static key_read load_cap, load_on_unknown;

#define FIELD(name) offsetof(struct plan_guardrails, name)

/* `on_unknown` comes last: it may name only guardrails that the plan has. */
static const struct key guardrail_keys[] = {
    {"ad_free", load_key_condition, FIELD(ad_free)},
    {"grace_period", load_key_duration, FIELD(grace_period_ms), 0, 30 * DAY_MS},
    {"min_gap", load_key_duration, FIELD(min_gap_ms), 0, 30 * DAY_MS},
    {"cooldown", load_key_bool, FIELD(cooldown)},
    {"ads_per_hour", load_cap, FIELD(ads_per_hour)},
    {"ad_seconds_per_hour", load_cap, FIELD(ad_seconds_per_hour)},
    {"ads_per_day", load_cap, FIELD(ads_per_day)},
    {"content_remaining", load_key_bool, FIELD(content_remaining)},
    {"content_boundary", load_key_bool, FIELD(content_boundary)},
    {"on_unknown", load_on_unknown, FIELD(permissive)},
    {"kill", NULL},
    {"restricted", NULL},
    {"custom", NULL},
};
const struct key_table load_guardrail_keys = KEY_TABLE("guardrails", guardrail_keys);

/* ---- caps ---- */

struct cap_item {
    const struct rule *when;
    int64_t max;
};

static const struct key cap_keys[] = {
    {"when", load_key_condition, offsetof(struct cap_item, when)},
    {"max", load_key_count, offsetof(struct cap_item, max), 0, 1000000, .required = true},
};
const struct key_table load_cap_keys = KEY_TABLE("guardrails.CAP", cap_keys);

static void load_cap(struct load *l, const struct yaml_tree *node, const struct key *key,
                     void *into)
{
    static const struct key number = {.name = "max", .min = 0, .max = 1000000};
    struct plan_cap *cap = load_field(into, key);
    if (node->kind == TREE_MAPPING) {
        load_error(l, node->place,
                   "expected a number, or a list of {when, max}, found a mapping: put it into [ ]");
        return;
    }
    if (node->kind != TREE_SEQUENCE) {
        struct cap_item item = {NULL, 0};
        load_key_count(l, node, &number, &item.max);
        cap->items[0].when = NULL;
        cap->items[0].max = item.max;
        cap->count = 1;
        return;
    }
    if (node->count < 1 || node->count > PLAN_CAP_ITEMS_MAX) {
        load_error(l, node->place, "expected 1 to %d caps, found %u", PLAN_CAP_ITEMS_MAX,
                   node->count);
        return;
    }
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        struct cap_item item = {NULL, 0};
        if (!load_is_mapping(l, child, "a cap, {when, max}")) continue;
        load_keys(l, child, &load_cap_keys, &item);
        cap->items[cap->count].when = item.when;
        cap->items[cap->count].max = item.max;
        cap->count++;
    }
}

/* ---- on_unknown ---- */

/* Bit r of enum reason: the plan names that guardrail. */
static uint32_t guardrails_named(const struct plan_guardrails *g)
{
    uint32_t named = 0;
    if (g->ad_free) named |= 1u << REASON_AD_FREE;
    if (g->grace_period_ms >= 0) named |= 1u << REASON_GRACE_PERIOD;
    if (g->min_gap_ms >= 0) named |= 1u << REASON_MIN_GAP;
    if (g->cooldown) named |= 1u << REASON_COOLDOWN;
    if (g->ads_per_hour.count) named |= 1u << REASON_ADS_PER_HOUR;
    if (g->ad_seconds_per_hour.count) named |= 1u << REASON_AD_SECONDS_PER_HOUR;
    if (g->ads_per_day.count) named |= 1u << REASON_ADS_PER_DAY;
    if (g->content_remaining) named |= 1u << REASON_CONTENT_REMAINING;
    if (g->content_boundary) named |= 1u << REASON_CONTENT_BOUNDARY;
    return named;
}

/* False: neither word. */
static bool load_permissive(struct load *l, const struct yaml_tree *node, bool *permissive)
{
    static const char *const words[] = {"conservative", "permissive", NULL};
    static const struct key key = {.name = "", .words = words};
    int word = -1;
    load_key_word(l, node, &key, &word);
    *permissive = word == 1;
    return word >= 0;
}

static void load_on_unknown_of(struct load *l, const struct yaml_tree *node, uint32_t named,
                               uint32_t *set)
{
    struct span names[REASON_COUNT];
    size_t count = 0;
    int reason = GUARDRAIL_FIRST;
    for (; reason <= GUARDRAIL_LAST; reason++) names[count++] = reason_word((enum reason)reason);
    for (reason = GUARDRAIL_FIRST; reason <= GUARDRAIL_LAST; reason++)
        if (span_equal(names[reason - GUARDRAIL_FIRST], node->key->text)) break;
    bool permissive;
    bool ok = load_permissive(l, node, &permissive);
    if (reason > GUARDRAIL_LAST)
        load_error(l, node->key->place, "there is no guardrail `%s`%s",
                   load_show(node->key->text).text,
                   load_nearest(node->key->text, names, count).text);
    else if (!load_has(l->guardrails, &load_guardrail_keys, node->key->text))
        load_error(l, node->key->place, "the plan does not have the guardrail `%s`",
                   node->key->text.data);
    else if (ok && permissive)
        *set |= named & (1u << reason);
}

static void load_on_unknown(struct load *l, const struct yaml_tree *node, const struct key *key,
                            void *into)
{
    uint32_t named = guardrails_named(into), *set = load_field(into, key);
    bool permissive;
    if (node->kind == TREE_SCALAR) {
        if (load_permissive(l, node, &permissive) && permissive) *set = named;
        return;
    }
    if (!load_is_mapping(l, node, "conservative, permissive, or a mapping from guardrail to one"))
        return;
    for (const struct yaml_tree *child = node->first; child; child = child->next)
        load_on_unknown_of(l, child, named, set);
}

/* ---- the section ---- */

/* What is measured in seconds needs to know how long a pod is. */
static void check_durations(struct load *l, const struct yaml_tree *node, const char *guardrail)
{
    const struct yaml_tree *value = yaml_tree_find(node, span_of(guardrail));
    const struct action_table *table = &l->plan->actions;
    if (l->unread & UNREAD_DURATIONS) return;
    for (int i = 0; i < table->count; i++) {
        if (!action_in(table->with_ads, i) || table->actions[i].max_duration_ms) continue;
        load_error(l, value->place, "`%s` needs the `max_duration` of every pod, and `%s` has none",
                   guardrail, load_show(table->actions[i].name).text);
        return;
    }
}

void load_guardrails(struct load *l, const struct yaml_tree *node, const struct key *key,
                     void *into)
{
    (void)key, (void)into;
    struct plan_guardrails *g = &l->plan->guardrails;
    if (!load_is_mapping(l, node, "a mapping of guardrails")) return;
    l->guardrails = node;
    load_keys(l, node, &load_guardrail_keys, g);
    if (g->ad_seconds_per_hour.count) check_durations(l, node, "ad_seconds_per_hour");
    if (g->content_remaining) check_durations(l, node, "content_remaining");
}
