#include "plan/key.h"
#include "plan/units.h"

static const char *const on_partial_words[] = {[ON_PARTIAL_EXCLUDE] = "exclude",
                                               [ON_PARTIAL_PRIOR] = "prior",
                                               [ON_PARTIAL_FALLBACK] = "fallback",
                                               NULL};
static const char *const on_empty_words[] = {
    [ON_EMPTY_FALLBACK] = "fallback", [ON_EMPTY_COLD_START] = "cold_start", NULL};
static const char *const on_stale_words[] = {
    [ON_STALE_USE] = "use", [ON_STALE_FALLBACK] = "fallback", NULL};
static const char *const floor_toward_words[] = {
    [FLOOR_UNIFORM] = "uniform", [FLOOR_FALLBACK] = "fallback", NULL};

/* ---- kind ---- */

/* NULL at the end, as load_word and kind_word have it. */
static const char *const kind_words[POLICY_KIND_COUNT + 1] = {
#define WORD(code, word, ...) [POLICY_##code] = word,
    POLICY_KINDS(WORD)
#undef WORD
};

/* The word was taken by peek_kind, if it is one. */
static void read_kind(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    load_word(l, node, kind_words);
}

static void print_kind(struct print *p, const struct key *key, const void *from)
{
    print_word(p->b, kind_words[((const struct policy *)from)->kind]);
}

static void schema_kind(struct buf *b, const struct key *key)
{
    kind_word.schema(b, &(struct key){.words = kind_words});
}

static const struct key_kind kind_kind = {read_kind, print_kind, schema_kind, "word"};

/* ---- actions ---- */

static void read_used_actions(struct load *l, const struct yaml_tree *node, const struct key *key,
                              void *into)
{
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

static void print_used_actions(struct print *p, const struct key *key, const void *from)
{
    bool first = true;
    buf_char(p->b, '[');
    for (int i = 0; i < p->plan->actions.count; i++) {
        if (!action_in(((const struct policy *)from)->actions, i)) continue;
        print_comma(p->b, &first);
        print_text(p->b, p->plan->actions.actions[i].name);
    }
    buf_char(p->b, ']');
}

static const struct key_kind kind_used_actions = {
    read_used_actions, print_used_actions, key_schema_list, "list of names,", key_bound_number};

/* ---- fallback, explore_per ---- */

static int index_of(const struct load *l, const struct policy *policy)
{
    return (int)(policy - l->plan->policies);
}

static bool kind_known(const struct load *l, const struct policy *policy)
{
    return l->policies_ok >> index_of(l, policy) & 1;
}

static void read_fallback(struct load *l, const struct yaml_tree *node, const struct key *key,
                          void *into)
{
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

static void print_fallback(struct print *p, const struct key *key, const void *from)
{
    print_text(p->b, ((const struct policy *)from)->fallback->name);
}

static const struct key_kind kind_fallback = {read_fallback, print_fallback, key_schema_name,
                                              "a policy"};

static void read_explore_per(struct load *l, const struct yaml_tree *node, const struct key *key,
                             void *into)
{
    struct span text;
    if (!load_text(l, node, "request", &text) || span_is(text, "request")) return;
    if (span_is(text, "session") || span_is(text, "unit_day"))
        load_error(l, node->place, "`explore_per: %s` is not supported yet", text.data);
    else
        load_error(l, node->place, "expected request, found `%s`", load_show(text).text);
}

static void print_explore_per(struct print *p, const struct key *key, const void *from)
{
    print_word(p->b, "request");
}

static void schema_explore_per(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"enum\":[\"request\"]}");
}

static const struct key_kind kind_explore_per = {read_explore_per, print_explore_per,
                                                 schema_explore_per, "word"};

/* ---- max_posterior_age: a duration, kept in microseconds ---- */

static void read_age(struct load *l, const struct yaml_tree *node, const struct key *key,
                     void *into)
{
    int64_t ms = 0;
    kind_duration.read(l, node, key, &ms);
    ((struct policy *)into)->max_posterior_age_us = ms * 1000;
}

static void print_age(struct print *p, const struct key *key, const void *from)
{
    duration_write(p->b, ((const struct policy *)from)->max_posterior_age_us / 1000, false);
}

static bool age_is_set(const struct key *key, const void *from)
{
    return ((const struct policy *)from)->max_posterior_age_us > 0;
}

static const struct key_kind kind_age = {read_age,   print_age,          key_schema_duration,
                                         "duration", key_bound_duration, .is_set = age_is_set};

/* ---- the keys ---- */

#define KIND_HELP(code, word, traits, function, help) "`" word "`: " help ". "

/* `actions` comes before all that is about the actions used. */
static const struct key policy_rows[] = {
    {"kind", .kind = &kind_kind, .required = true,
     .help = "how it chooses. " POLICY_KINDS(KIND_HELP)},
    {"actions", .kind = &kind_used_actions, .min = 2, .max = ACTIONS_MAX,
     .help = "the actions that the policy uses, default all. Must have the one without ads and one "
             "with"},
    {"rules", .kind = &kind_rules, .table = &rule_keys, .min = 1, .max = PLAN_RULES_MAX,
     .traits = POLICY_HAS_RULES, .help = "required: the [rules](#policiesnamerules)"},
    {"explore_per", .kind = &kind_explore_per, .initial = "request",
     .traits = POLICY_HAS_POSTERIORS | POLICY_DRAWS,
     .help = "what repeats a draw: `request`. *Not yet*: `session`, `unit_day`"},
    {"on_partial", KEY_WORD(policy, on_partial), .words = on_partial_words, .initial = "exclude",
     .traits = POLICY_HAS_POSTERIORS,
     .help = "posteriors are missing for some actions: `exclude` leaves those out, and all of more "
             "ads than the lightest of them; `prior` puts the policy's prior in; `fallback` lets "
             "the fallback decide"},
    {"on_empty", KEY_WORD(policy, on_empty), .words = on_empty_words, .initial = "fallback",
     .traits = POLICY_HAS_POSTERIORS,
     .help = "the request says `\"posteriors\": {}`: `fallback`, or `cold_start`, which takes the "
             "prior for every action"},
    {"on_stale", KEY_WORD(policy, on_stale), .words = on_stale_words, .initial = "use",
     .traits = POLICY_HAS_POSTERIORS, .help = "`use` them (and tell), or `fallback`"},
    {"max_posterior_age", .kind = &kind_age, .min = UNIT_SECOND_MS, .max = 3650 * UNIT_DAY_MS,
     .traits = POLICY_HAS_POSTERIORS,
     .help = "posteriors whose `posteriors_as_of` is older are stale; without it none are"},
    {"fallback", .kind = &kind_fallback, .traits = POLICY_HAS_POSTERIORS,
     .help = "required: decides when posteriors can't; a fixed or uniform one"},
    {"floor", KEY_DOUBLE(policy, floor), .max = 1, .initial = "0", .traits = POLICY_HAS_POSTERIORS,
     .help = "the probability of choosing otherwise, so that every action keeps being tried"},
    {"floor_toward", KEY_WORD(policy, floor_toward), .words = floor_toward_words,
     .initial = "uniform", .traits = POLICY_HAS_POSTERIORS,
     .help =
         "what the floor chooses by: `uniform`, each eligible action alike; or `fallback`, which "
         "chooses among the eligible actions that it uses itself. If a rule of it wants "
         "another, the eligible one with the most ads not above it is served. That is this "
         "policy's choice: reason `policy`, no `wanted`, and the action's own cooldown, not the "
         "rule's"},
    {"z", KEY_DOUBLE(policy, z), .max = 100, .initial = "1", .traits = POLICY_HAS_Z,
     .help = "standard deviations that are added to the expected value: more of them, more trying"},
    {"prior", .kind = &kind_prior, .traits = POLICY_HAS_POSTERIORS,
     .help = "`{alpha: 1, beta: 1}` for every action used, or one for each: `{none: {...}, pod_1: "
             "{...}}`, all of one family. Families: `{alpha, beta}`, `{mean, variance}`, `{mu, "
             "lambda, alpha, beta}`, `{shape, rate}`"},
    {"value", .kind = &kind_values, .table = &value_keys, .max = ACTIONS_MAX,
     .traits = POLICY_HAS_POSTERIORS,
     .help = "by action, what is maximised: [offset and weight](#policiesnamevalue)"},
};
const struct key_table policy_keys = KEY_TABLE("policies.NAME", policy_rows);

/* Keys that the policy's kind has no use for. */
static void check_kind(struct load *l, const struct yaml_tree *node, const struct policy *policy)
{
    for (size_t i = 0; i < policy_keys.count; i++) {
        const struct key *key = &policy_keys.keys[i];
        if (!key->traits || policy_is(policy, key->traits)) continue;
        const struct yaml_tree *value = yaml_tree_find(node, span_of(key->name));
        if (!value) continue;
        const char *kind = kind_words[policy->kind];
        if (span_is(value->key->text, "floor"))
            load_error(l, value->key->place, "`floor` needs a learned policy; this one is %s",
                       kind);
        else
            load_error(l, value->key->place, "a %s policy has no `%s`", kind, key->name);
    }
}

static void check_learned(struct load *l, const struct yaml_tree *node, const struct policy *policy)
{
    bool prior = keys_have(node, &policy_keys, SPAN("prior"));
    const char *needs = "needs a `prior` in the same policy";
    if (!keys_have(node, &policy_keys, SPAN("fallback")))
        load_error(l, node->place,
                   "`fallback` is missing: a %s policy needs one for when posteriors are absent",
                   kind_words[policy->kind]);
    if (policy->on_partial == ON_PARTIAL_PRIOR && !prior)
        load_error(l, yaml_tree_find(node, SPAN("on_partial"))->place, "`on_partial: prior` %s",
                   needs);
    if (policy->on_empty == ON_EMPTY_COLD_START && !prior)
        load_error(l, yaml_tree_find(node, SPAN("on_empty"))->place, "`on_empty: cold_start` %s",
                   needs);
    if (policy->on_stale == ON_STALE_FALLBACK &&
        !keys_have(node, &policy_keys, SPAN("max_posterior_age")))
        load_error(
            l, yaml_tree_find(node, SPAN("on_stale"))->place,
            "`on_stale: fallback` needs a `max_posterior_age`: without one nothing is stale");
}

static void load_policy(struct load *l, const struct yaml_tree *node, struct policy *policy)
{
    policy_init(policy, &l->plan->actions);
    keys_init(l, &policy_keys, policy);
    l->policy = policy;
    l->unread &= ~(uint32_t)UNREAD_ACTIONS_USED;
    if (!load_is_mapping(l, node, "a policy, {kind, ...}")) return;
    if (!yaml_tree_find(node, SPAN("actions")) && keys_have(node, &policy_keys, SPAN("actions")))
        l->unread |= UNREAD_ACTIONS_USED;
    keys_read(l, node, &policy_keys, policy);
    if (!kind_known(l, policy)) return;
    check_kind(l, node, policy);
    if (policy_reads_posteriors(policy)) check_learned(l, node, policy);
    if (policy_is(policy, POLICY_HAS_RULES) && !keys_have(node, &policy_keys, SPAN("rules")))
        load_error(l, node->place, "`rules` is missing: a %s policy needs at least one",
                   kind_words[policy->kind]);
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

static void read_policies(struct load *l, const struct yaml_tree *node, const struct key *key,
                          void *into)
{
    struct plan *plan = l->plan;
    if (!load_is_mapping(l, node, "a mapping from name to policy")) return;
    load_count(l, node, key, "policies");
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

static void print_policies(struct print *p, const struct key *key, const void *from)
{
    buf_char(p->b, '\n');
    for (int i = 0; i < p->plan->policy_count; i++) {
        const struct policy *policy = &p->plan->policies[i];
        buf_lit(p->b, "  ");
        print_text(p->b, policy->name);
        buf_lit(p->b, ":\n");
        p->traits = policy_ops(policy->kind)->traits;
        keys_print_block(p, &policy_keys, policy, 4, KEY_DECIDES);
    }
}

const struct key_kind kind_policies = {read_policies, print_policies,   key_schema_by_name,
                                       "mapping,",    key_bound_number, .block = true};
