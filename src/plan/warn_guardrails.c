#include "plan/warn.h"

#include "decide/guardrail.h"

/* ---- what the absence of an attribute does ---- */

/* A cap whose items all have a condition may not hold. */
static bool always_in_force(const struct plan_guardrail *g)
{
    if (g->row->shape != GUARDRAIL_CAP) return true;
    for (int i = 0; i < g->cap.count; i++)
        if (!g->cap.items[i].when) return true;
    return false;
}

/* Those without which the condition holds or is an error, which counts as true. */
static uint64_t slots_of_condition(struct warn *w, const struct rule *rule)
{
    struct rule_notes notes; /* are reported elsewhere */
    uint64_t slots = 0;
    const struct rule_study *study = rule_study_make(&w->context, rule_text(rule), &notes);
    for (uint64_t rest = rule_reads(rule); rest; rest &= rest - 1) {
        int slot = __builtin_ctzll(rest);
        if (rule_study_absence(study, slot).never_false) slots |= (uint64_t)1 << slot;
    }
    return slots;
}

uint64_t warn_slots_guarded(struct warn *w)
{
    const struct plan *plan = w->l->plan;
    uint64_t slots = ~rule_can_be_absent(&plan->schema);
    for (int i = 0; i < plan->guardrail_count; i++) {
        const struct plan_guardrail *g = &plan->guardrails[i];
        if (g->permissive) continue;
        if (g->row->shape == GUARDRAIL_CONDITION)
            slots |= slots_of_condition(w, g->when);
        else if (always_in_force(g))
            slots |= g->row->needed & rule_can_be_absent(&plan->schema);
    }
    return slots;
}

/* ---- ad_free ---- */

static void warn_ad_free(struct warn *w, const struct yaml_tree *node,
                         const struct plan_guardrail *g)
{
    const struct plan *plan = w->l->plan;
    const struct rule_study *study = warn_condition(w, node, g->when);
    if (!study || rule_study_course(study) != RULE_VARIES) return;
    uint64_t slots = rule_needs(g->when) & rule_can_be_absent(&plan->schema);
    if (slots && !g->permissive)
        load_warning(w->l, node->place,
                     "whoever does not send %s counts as ad-free: guard it, as in "
                     "`has(tier) && tier == 'premium'`",
                     warn_names_of(plan, slots).text);
}

/* ---- caps ---- */

/* Of the smallest pod. */
static int64_t least_cost(const struct action_table *table, enum guardrail_unit unit)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < table->count; i++) {
        int64_t cost = guardrail_cost(unit, &table->actions[i]);
        if (action_in(table->with_ads, i) && cost < least) least = cost;
    }
    return least;
}

/* `max: 0` with a condition is how a plan says that nobody hears ads there. */
static void warn_cap_max(struct warn *w, const struct yaml_tree *node, int64_t max,
                         bool conditional, enum guardrail_unit unit)
{
    static const char *const units[][2] = {[GUARDRAIL_ADS] = {"ad", "ads"},
                                           [GUARDRAIL_SECONDS] = {"second", "seconds"},
                                           [GUARDRAIL_BREAKS] = {"break", "breaks"}};
    int64_t least = least_cost(&w->l->plan->actions, unit);
    if (max >= least || (conditional && max == 0)) return;
    load_warning(
        w->l, node->place,
        "no ad ever plays under this cap: the smallest pod has %lld %s, and it allows %lld",
        (long long)least, units[unit][least != 1], (long long)max);
}

static void warn_cap(struct warn *w, const struct yaml_tree *node, const struct plan_guardrail *g)
{
    enum guardrail_unit unit = g->row->unit;
    const struct plan_cap *cap = &g->cap;
    if (node->kind != TREE_SEQUENCE) {
        warn_cap_max(w, node, cap->items[0].max, false, unit);
        return;
    }
    int i = 0;
    for (const struct yaml_tree *item = node->first; item; item = item->next, i++) {
        const struct rule *when = cap->items[i].when;
        warn_condition(w, yaml_tree_find(item, SPAN("when")), when);
        warn_cap_max(w, yaml_tree_find(item, SPAN("max")), cap->items[i].max, when, unit);
    }
}

/* ---- on_unknown ---- */

static void warn_permissive(struct warn *w, const struct yaml_tree *node)
{
    const struct plan *plan = w->l->plan;
    if (node->kind == TREE_SCALAR && plan->guardrail_count && plan->guardrails[0].permissive)
        load_warning(w->l, node->place,
                     "`permissive`: where something that a guardrail reads is unknown, it holds no "
                     "ads back; `conservative` does");
    for (const struct yaml_tree *child = node->first; child; child = child->next)
        for (int i = 0; i < plan->guardrail_count; i++)
            if (plan->guardrails[i].permissive &&
                span_equal(plan->guardrails[i].row->word, child->key->text))
                load_warning(w->l, child->place,
                             "`permissive`: where something that `%s` reads is unknown, it holds "
                             "no ads back; `conservative` does",
                             child->key->text.data);
}

void warn_guardrails(struct warn *w, const struct yaml_tree *section)
{
    const struct plan *plan = w->l->plan;
    const struct yaml_tree *on_unknown = yaml_tree_find(section, SPAN("on_unknown"));
    for (int i = 0; i < plan->guardrail_count; i++) {
        const struct plan_guardrail *g = &plan->guardrails[i];
        const struct yaml_tree *node = yaml_tree_find(section, g->row->word);
        if (g->row->shape == GUARDRAIL_CONDITION) warn_ad_free(w, node, g);
        if (g->row->shape == GUARDRAIL_CAP) warn_cap(w, node, g);
    }
    if (on_unknown) warn_permissive(w, on_unknown);
}
