#include "plan/load.h"

#include "base/decimal.h"

#include <stdio.h>

#define DAY_MS ((int64_t)24 * 3600 * 1000)

#define KIND(kind) (1u << POLICY_##kind)
#define LEARNED (KIND(THOMPSON) | KIND(GREEDY))

static const char *const on_partial_words[] = {"exclude", "prior", "fallback", NULL};
static const char *const on_empty_words[] = {"fallback", "cold_start", NULL};
static const char *const on_stale_words[] = {"use", "fallback", NULL};
static const char *const floor_toward_words[] = {"uniform", "fallback", NULL};
_Static_assert(ON_PARTIAL_FALLBACK == 2 && ON_EMPTY_COLD_START == 1 && ON_STALE_FALLBACK == 1 &&
                   FLOOR_FALLBACK == 1,
               "the order of the words");

static key_read load_kind, load_policy_actions, load_age, load_fallback, load_floor,
    load_explore_per;

/* `actions` comes before all that is about the actions used. */
static const struct key policy_keys[] = {
    {"kind", load_kind, .required = true},
    {"actions", load_policy_actions},
    {"rules", load_rules, .kinds = KIND(FIXED)},
    {"on_partial", load_key_word, offsetof(struct policy, on_partial), .words = on_partial_words,
     .kinds = LEARNED},
    {"on_empty", load_key_word, offsetof(struct policy, on_empty), .words = on_empty_words,
     .kinds = LEARNED},
    {"on_stale", load_key_word, offsetof(struct policy, on_stale), .words = on_stale_words,
     .kinds = LEARNED},
    {"max_posterior_age", load_age, .min = 1000, .max = 3650 * DAY_MS, .kinds = LEARNED},
    {"prior", load_prior, .kinds = LEARNED},
    {"fallback", load_fallback, .kinds = LEARNED},
    {"value", load_values, .kinds = LEARNED},
    {"floor", load_floor, offsetof(struct policy, floor), 0, 1, .kinds = LEARNED},
    {"floor_toward", load_key_word, offsetof(struct policy, floor_toward),
     .words = floor_toward_words, .kinds = LEARNED},
    {"explore_per", load_explore_per, .kinds = LEARNED | KIND(UNIFORM)},
};
const struct key_table load_policy_keys = KEY_TABLE("policies.NAME", policy_keys);

static int index_of(const struct load *l, const struct policy *policy)
{
    return (int)(policy - l->plan->policies);
}

static bool kind_known(const struct load *l, const struct policy *policy)
{
    return l->policies_ok >> index_of(l, policy) & 1;
}

static void load_kind(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    (void)key, (void)into;
    struct span text;
    if (!load_text(l, node, "one of fixed thompson greedy uniform", &text)) return;
    if (policy_kind_find(text) >= 0) return; /* taken by peek_kind */
    struct span names[POLICY_KIND_COUNT];
    for (int i = 0; i < POLICY_KIND_COUNT; i++)
        names[i] = span_of(policy_ops((enum policy_kind)i)->name);
    load_error(l, node->place, "expected one of fixed thompson greedy uniform, found `%s`%s",
               load_show(text).text, load_nearest(text, names, POLICY_KIND_COUNT).text);
}

static void load_policy_actions(struct load *l, const struct yaml_tree *node, const struct key *key,
                                void *into)
{
    (void)key;
    struct policy *policy = into;
    const struct action_table *table = &l->plan->actions;
    l->unread |= UNREAD_ACTIONS_USED;
    if (!load_is_list(l, node, "a list of action names")) return;
    action_set set = 0;
    bool ok = table->count > 0 && !node->lossy && !(l->unread & UNREAD_ADS);
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        int action = load_action_name(l, child);
        if (action < 0)
            ok = false;
        else if (action_in(set, action))
            load_error(l, child->place, "the action `%s` stands twice",
                       load_show(child->text).text);
        else
            set |= action_bit(action);
    }
    if (!ok) return;
    if (!action_in(set, table->no_ads))
        load_error(l, node->place, "a policy needs the action without ads, `%s`",
                   load_show(table->actions[table->no_ads].name).text);
    else if (!(set & table->with_ads))
        load_error(l, node->place, "a policy needs at least one action with ads");
    else {
        policy->actions = set;
        l->unread &= ~(uint32_t)UNREAD_ACTIONS_USED;
    }
}

static void load_age(struct load *l, const struct yaml_tree *node, const struct key *key,
                     void *into)
{
    struct policy *policy = into;
    int64_t age_ms = 0;
    load_key_duration(l, node, key, &age_ms);
    policy->max_posterior_age_us = age_ms * 1000;
}

static void load_fallback(struct load *l, const struct yaml_tree *node, const struct key *key,
                          void *into)
{
    (void)key;
    int index = load_policy_name(l, node);
    if (index < 0) return;
    const struct policy *fallback = &l->plan->policies[index];
    if (fallback == into)
        load_error(l, node->place, "a policy cannot be its own fallback");
    else if (kind_known(l, fallback) && policy_reads_posteriors(fallback))
        load_error(l, node->place,
                   "`%s` reads posteriors itself: a fallback must be fixed or uniform",
                   load_show(fallback->name).text);
    ((struct policy *)into)->fallback = fallback;
}

/* A share where a number is wanted: says what that number is; else false. */
static bool is_share(const struct yaml_tree *node, char as_number[40])
{
    struct span s = node->text;
    struct decimal d;
    if (node->kind != TREE_SCALAR || s.len < 2 || s.data[s.len - 1] != '%') return false;
    bool clear = s.len <= 8 && decimal_read(s, &d) == s.len - 1 && d.value >= 0 && d.value <= 100;
    snprintf(as_number, 40, "%.*s is %.9g", clear ? (int)s.len : 2, clear ? s.data : "2%",
             clear ? d.value / 100 : 0.02);
    return true;
}

static void load_floor(struct load *l, const struct yaml_tree *node, const struct key *key,
                       void *into)
{
    char as_number[40];
    double floor;
    if (is_share(node, as_number))
        load_error(l, node->place, "expected a number from 0 to 1 (%s), found `%s`", as_number,
                   load_show(node->text).text);
    else if (!load_number(l, node, &floor))
        return;
    else if (floor < 0 || floor > 1)
        load_error(l, node->place, "expected a number from 0 to 1, found `%s`",
                   load_show(node->text).text);
    else
        *(double *)load_field(into, key) = floor;
}

static void load_explore_per(struct load *l, const struct yaml_tree *node, const struct key *key,
                             void *into)
{
    (void)key, (void)into;
    struct span text;
    if (!load_text(l, node, "request", &text) || span_is(text, "request")) return;
    if (span_is(text, "session") || span_is(text, "unit_day"))
        load_error(l, node->place, "`explore_per: %s` is not supported yet", text.data);
    else
        load_error(l, node->place, "expected request, found `%s`", load_show(text).text);
}

/* Keys that the policy's kind has no use for. */
static void check_kind(struct load *l, const struct yaml_tree *node, const struct policy *policy)
{
    for (size_t i = 0; i < load_policy_keys.count; i++) {
        const struct key *key = &policy_keys[i];
        if (!key->kinds || key->kinds >> policy->kind & 1) continue;
        const struct yaml_tree *value = yaml_tree_find(node, span_of(key->name));
        if (!value) continue;
        const char *kind = policy_ops(policy->kind)->name;
        if (span_is(value->key->text, "floor"))
            load_error(l, value->key->place, "`floor` needs a learned policy; this one is %s",
                       kind);
        else
            load_error(l, value->key->place, "a %s policy has no `%s`", kind, key->name);
    }
}

static void check_learned(struct load *l, const struct yaml_tree *node, const struct policy *policy)
{
    bool prior = load_has(node, &load_policy_keys, SPAN("prior"));
    const char *needs = "needs a `prior` in the same policy";
    if (!load_has(node, &load_policy_keys, SPAN("fallback")))
        load_error(l, node->place,
                   "`fallback` is missing: a %s policy needs one for when posteriors are absent",
                   policy_ops(policy->kind)->name);
    if (policy->on_partial == ON_PARTIAL_PRIOR && !prior)
        load_error(l, yaml_tree_find(node, SPAN("on_partial"))->place, "`on_partial: prior` %s",
                   needs);
    if (policy->on_empty == ON_EMPTY_COLD_START && !prior)
        load_error(l, yaml_tree_find(node, SPAN("on_empty"))->place, "`on_empty: cold_start` %s",
                   needs);
    if (policy->on_stale == ON_STALE_FALLBACK &&
        !load_has(node, &load_policy_keys, SPAN("max_posterior_age")))
        load_error(
            l, yaml_tree_find(node, SPAN("on_stale"))->place,
            "`on_stale: fallback` needs a `max_posterior_age`: without one nothing is stale");
}

static void load_policy(struct load *l, const struct yaml_tree *node, struct policy *policy)
{
    policy->actions = (action_set)((1u << l->plan->actions.count) - 1);
    for (int i = 0; i < ACTIONS_MAX; i++) policy->weight[i] = 1;
    policy->values_equal = true;
    l->unread &= ~(uint32_t)UNREAD_ACTIONS_USED;
    if (!load_is_mapping(l, node, "a policy, {kind, ...}")) return;
    if (!yaml_tree_find(node, SPAN("actions")) &&
        load_has(node, &load_policy_keys, SPAN("actions")))
        l->unread |= UNREAD_ACTIONS_USED;
    load_keys(l, node, &load_policy_keys, policy);
    if (!kind_known(l, policy)) return;
    check_kind(l, node, policy);
    if (policy_reads_posteriors(policy)) check_learned(l, node, policy);
    if (policy->kind == POLICY_FIXED && !load_has(node, &load_policy_keys, SPAN("rules")))
        load_error(l, node->place, "`rules` is missing: a fixed policy needs at least one");
}

/* The kinds are settled before anything else is read: others may name a policy as their fallback.
 */
static void peek_kind(struct load *l, const struct yaml_tree *node, struct policy *policy)
{
    const struct yaml_tree *kind =
        node->kind == TREE_MAPPING ? yaml_tree_find(node, SPAN("kind")) : NULL;
    int found = kind && kind->kind == TREE_SCALAR ? policy_kind_find(kind->text) : -1;
    if (found < 0) return;
    policy->kind = (enum policy_kind)found;
    l->policies_ok |= 1u << index_of(l, policy);
}

void load_policies(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    (void)key, (void)into;
    struct plan *plan = l->plan;
    if (!load_is_mapping(l, node, "a mapping from name to policy")) return;
    if ((node->count < 1 && !node->lossy) || node->count > PLAN_POLICIES_MAX)
        load_error(l, node->place, "expected 1 to %d policies, found %u", PLAN_POLICIES_MAX,
                   node->count);
    if (node->lossy || node->count > PLAN_POLICIES_MAX) l->unread |= UNREAD_POLICIES;
    const struct yaml_tree *nodes[PLAN_POLICIES_MAX];
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        struct span name;
        bool named = load_name(l, child->key, &name);
        if (!named) load_note_bad_name(l, child->key, UNREAD_POLICIES);
        if (!named || plan->policy_count == PLAN_POLICIES_MAX) continue;
        struct policy *policy = &plan->policies[plan->policy_count];
        policy->name = arena_copy(&plan->arena, name);
        nodes[plan->policy_count++] = child;
        peek_kind(l, child, policy);
    }
    for (int i = 0; i < plan->policy_count; i++) load_policy(l, nodes[i], &plan->policies[i]);
}
