/* Rules under which a listener of whom less is known gets more ads.
 *
 * A rule whose condition reads an attribute does not match where that is absent, and a later one
 * decides. That is fine as long as the later ones give no more ads. So for each rule with a
 * condition, and each attribute whose absence may make the condition fail, the later rules are
 * looked at in turn, up to the first that certainly matches: does one that may match without the
 * attribute give more ads?
 *
 * Not told, because it is no fault: attributes without which the guardrails mask every ad; a later
 * rule that asks for the absence itself, as `!has(tier)`; a later rule whose condition excludes the
 * earlier one's by another attribute. Not seen: whether a rule before both would match anyway. */
#include "plan/warn.h"

struct looked_at {
    const struct yaml_tree *node; /* of the rule */
    const struct policy_rule *rule;
    const struct rule_study *study; /* NULL: it has no condition */
    int ads;
    uint64_t asked; /* bit s: absences[s] is filled */
    struct rule_absence absences[ATTRIBUTES_MAX];
};

/* Each rule is asked by all before it: so it is found out once. */
static struct rule_absence absence_of(struct looked_at *at, int slot)
{
    if (!at->study) return (struct rule_absence){.may_hold = true, .holds = true};
    if (!(at->asked >> slot & 1)) at->absences[slot] = rule_study_absence(at->study, slot);
    at->asked |= (uint64_t)1 << slot;
    return at->absences[slot];
}

/* The attributes without which `first` may fail, and `later` then match and give more. Takes those
 * from *left without which `later` certainly matches: no rule after it is asked. */
static uint64_t slots_lost(const struct looked_at *first, struct looked_at *later, uint64_t *left)
{
    uint64_t lost = 0, excluding = 0;
    if (later->study && later->ads > first->ads)
        excluding = rule_study_exclude(first->study, later->study);
    for (uint64_t rest = *left; rest; rest &= rest - 1) {
        int slot = __builtin_ctzll(rest);
        struct rule_absence absence = absence_of(later, slot);
        if (absence.holds) *left &= ~((uint64_t)1 << slot);
        if (later->ads <= first->ads || !absence.may_hold || absence.means_it) continue;
        if (!(excluding & ~((uint64_t)1 << slot))) lost |= (uint64_t)1 << slot;
    }
    return lost;
}

static uint64_t slots_failing(struct looked_at *at, uint64_t guarded)
{
    uint64_t failing = 0;
    for (uint64_t rest = rule_reads(at->rule->when) & ~guarded; rest; rest &= rest - 1) {
        int slot = __builtin_ctzll(rest);
        if (absence_of(at, slot).fails) failing |= (uint64_t)1 << slot;
    }
    return failing;
}

static void warn_rule(struct warn *w, struct looked_at *rules, int count, int i, uint64_t guarded)
{
    struct looked_at *at = &rules[i];
    if (!at->study || rule_study_course(at->study) != RULE_VARIES) return;
    uint64_t left = slots_failing(at, guarded);
    for (int j = i + 1; j < count && left; j++) {
        struct looked_at *later = &rules[j];
        uint64_t lost = slots_lost(at, later, &left);
        if (!lost) continue;
        load_warning(
            w->l, yaml_tree_find(at->node, SPAN("when"))->place,
            "without %s this may not hold, and the rule in line %u then gives %d ad%s, not "
            "%d: put rules of more ads first, or begin it with `!has(...) ||`",
            warn_names_of(w->l->plan, lost).text, later->node->place.line, later->ads,
            later->ads == 1 ? "" : "s", at->ads);
        return;
    }
}

void warn_rules(struct warn *w, const struct yaml_tree *list, const struct policy *policy)
{
    const struct action_table *actions = &w->l->plan->actions;
    struct looked_at *rules =
        arena_alloc(&w->l->scratch, (size_t)policy->rule_count * sizeof *rules);
    int count = 0;
    for (const struct yaml_tree *node = list->first; node; node = node->next, count++) {
        const struct policy_rule *rule = &policy->rules[count];
        struct looked_at *at = &rules[count];
        at->node = node;
        at->rule = rule;
        at->study = warn_condition(w, yaml_tree_find(node, SPAN("when")), rule->when);
        at->ads = actions->actions[rule->action].ads;
    }
    uint64_t guarded = warn_slots_guarded(w);
    for (int i = 0; i < count; i++) warn_rule(w, rules, count, i, guarded);
}
