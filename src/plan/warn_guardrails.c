#include "plan/warn.h"

#include <stdio.h>

/* ---- what the absence of an attribute does ---- */

static bool is_conservative(const struct plan_guardrails *g, enum reason guardrail)
{
    return !(g->permissive >> guardrail & 1);
}

static bool cap_is_unconditional(const struct plan_cap *cap)
{
    for (int i = 0; i < cap->count; i++)
        if (!cap->items[i].when) return true;
    return false;
}

/* Those without which `ad_free` holds or is an error, which counts as true. */
static uint64_t slots_of_ad_free(struct warn *w)
{
    const struct rule *rule = w->l->plan->guardrails.ad_free;
    struct rule_notes notes; /* are told elsewhere */
    uint64_t slots = 0;
    if (!rule) return 0;
    const struct rule_study *study = rule_study_make(&w->context, rule_text(rule), &notes);
    for (uint64_t rest = rule_reads(rule); rest; rest &= rest - 1) {
        int slot = __builtin_ctzll(rest);
        if (rule_study_absence(study, slot).never_false) slots |= (uint64_t)1 << slot;
    }
    return slots;
}

uint64_t warn_slots_guarded(struct warn *w)
{
    const struct plan_guardrails *g = &w->l->plan->guardrails;
    const struct {
        bool named;
        enum reason guardrail;
        int slot;
    } rows[] = {
        {g->grace_period_ms >= 0, REASON_GRACE_PERIOD, ATTRIBUTE_SLOT_ELAPSED_S},
        /* But before the first break, when there is nothing to say. */
        {g->min_gap_ms >= 0, REASON_MIN_GAP, ATTRIBUTE_SLOT_SECONDS_SINCE_LAST_BREAK_END},
        {cap_is_unconditional(&g->ads_per_hour), REASON_ADS_PER_HOUR, ATTRIBUTE_SLOT_ADS_LAST_HOUR},
        {cap_is_unconditional(&g->ad_seconds_per_hour), REASON_AD_SECONDS_PER_HOUR,
         ATTRIBUTE_SLOT_AD_SECONDS_LAST_HOUR},
        {cap_is_unconditional(&g->ads_per_day), REASON_ADS_PER_DAY, ATTRIBUTE_SLOT_ADS_TODAY},
        {g->content_remaining, REASON_CONTENT_REMAINING, ATTRIBUTE_SLOT_CONTENT_REMAINING_S},
        {g->content_boundary, REASON_CONTENT_BOUNDARY, ATTRIBUTE_SLOT_AT_CONTENT_BOUNDARY},
    };
    uint64_t slots = ~rule_can_be_absent(&w->l->plan->schema);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].named && is_conservative(g, rows[i].guardrail))
            slots |= (uint64_t)1 << rows[i].slot;
    return is_conservative(g, REASON_AD_FREE) ? slots | slots_of_ad_free(w) : slots;
}

/* ---- ad_free ---- */

static void warn_ad_free(struct warn *w, const struct yaml_tree *node)
{
    const struct plan *plan = w->l->plan;
    const struct rule *rule = plan->guardrails.ad_free;
    const struct rule_study *study = warn_condition(w, node, rule);
    if (!study || rule_study_course(study) != RULE_VARIES) return;
    uint64_t slots = rule_needs(rule) & rule_can_be_absent(&plan->schema);
    if (slots && is_conservative(&plan->guardrails, REASON_AD_FREE))
        load_warning(w->l, node->place,
                     "whoever does not send %s counts as ad-free: guard it, as in "
                     "`has(tier) && tier == 'premium'`",
                     warn_names_of(plan, slots).text);
}

/* ---- caps ---- */

/* Of the smallest pod: ads, or seconds. */
static int64_t least_cost(const struct action_table *table, bool seconds)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < table->count; i++) {
        const struct action *a = &table->actions[i];
        int64_t cost = seconds ? a->max_duration_ms / 1000 : a->ads;
        if (action_in(table->with_ads, i) && cost < least) least = cost;
    }
    return least;
}

/* `max: 0` with a condition is how a plan says that nobody hears ads there. */
static void warn_cap_max(struct warn *w, const struct yaml_tree *node, int64_t max,
                         bool conditional, bool seconds)
{
    int64_t least = least_cost(&w->l->plan->actions, seconds);
    if (max >= least || (conditional && max == 0)) return;
    load_warning(
        w->l, node->place,
        "no ad ever plays under this cap: the smallest pod has %lld %s, and it allows %lld",
        (long long)least,
        seconds      ? "seconds"
        : least == 1 ? "ad"
                     : "ads",
        (long long)max);
}

static void warn_cap(struct warn *w, const struct yaml_tree *section, const char *name,
                     const struct plan_cap *cap, bool seconds)
{
    const struct yaml_tree *node = yaml_tree_find(section, span_of(name));
    if (!node) return;
    if (node->kind != TREE_SEQUENCE) {
        warn_cap_max(w, node, cap->items[0].max, false, seconds);
        return;
    }
    int i = 0;
    for (const struct yaml_tree *item = node->first; item; item = item->next, i++) {
        const struct rule *when = cap->items[i].when;
        warn_condition(w, yaml_tree_find(item, SPAN("when")), when);
        warn_cap_max(w, yaml_tree_find(item, SPAN("max")), cap->items[i].max, when, seconds);
    }
}

/* ---- on_unknown ---- */

static void warn_permissive(struct warn *w, const struct yaml_tree *node)
{
    const struct plan_guardrails *g = &w->l->plan->guardrails;
    if (node->kind == TREE_SCALAR && g->permissive)
        load_warning(w->l, node->place,
                     "`permissive`: where something that a guardrail reads is unknown, it holds no "
                     "ads back; `conservative` does");
    for (const struct yaml_tree *child = node->first; child; child = child->next)
        for (int r = GUARDRAIL_FIRST; r <= GUARDRAIL_LAST; r++)
            if (g->permissive >> r & 1 && span_equal(reason_word((enum reason)r), child->key->text))
                load_warning(w->l, child->place,
                             "`permissive`: where something that `%s` reads is unknown, it holds "
                             "no ads back; `conservative` does",
                             reason_name((enum reason)r));
}

void warn_guardrails(struct warn *w, const struct yaml_tree *section)
{
    const struct plan_guardrails *g = &w->l->plan->guardrails;
    const struct yaml_tree *ad_free = yaml_tree_find(section, SPAN("ad_free"));
    const struct yaml_tree *on_unknown = yaml_tree_find(section, SPAN("on_unknown"));
    if (ad_free) warn_ad_free(w, ad_free);
    warn_cap(w, section, "ads_per_hour", &g->ads_per_hour, false);
    warn_cap(w, section, "ad_seconds_per_hour", &g->ad_seconds_per_hour, true);
    warn_cap(w, section, "ads_per_day", &g->ads_per_day, false);
    if (on_unknown) warn_permissive(w, on_unknown);
}
