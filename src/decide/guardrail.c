/* guardrail: what no answer breaks, whatever a policy or a rule says.
 *
 * Guardrails take away actions before the choice; nothing is cut after it. A cap or gap that is
 * exactly met allows. Unknown is not zero: where an attribute is not known, the conservative
 * reading is in force, unless the plan says `permissive` for that guardrail: then what is unknown
 * takes nothing away. A condition that ends in an error counts as true likewise, and as false where
 * its guardrail is permissive. Each guardrail is judged by itself, so that each one that would have
 * taken an action away is told, not just the first. */
#include "decide/decide.h"

static int64_t seconds_up(int64_t ms)
{
    return ms / 1000 + (ms % 1000 > 0);
}

/* Something that the guardrail reads is not known: whether it is in force. */
static bool in_force_unknown(const struct plan *plan, enum reason guardrail, struct decision *out)
{
    bool permissive = plan->guardrails.permissive >> guardrail & 1;
    if (out) *(permissive ? &out->unenforced : &out->assumed) |= 1u << guardrail;
    return !permissive;
}

static bool holds(const struct plan *plan, const struct rule *when, enum reason guardrail,
                  const struct attributes *a, struct decision *out)
{
    enum rule_result result = when ? rule_eval(when, a) : RULE_TRUE;
    if (result == RULE_ERROR) return in_force_unknown(plan, guardrail, out);
    return result == RULE_TRUE;
}

bool guardrail_ad_free(const struct plan *plan, const struct request *request, struct decision *out)
{
    const struct rule *when = plan->guardrails.ad_free;
    return when && holds(plan, when, REASON_AD_FREE, &request->attributes, out);
}

/* One evaluation of the mask. */
struct mask {
    const struct plan *plan;
    const struct attributes *attributes;
    action_set from; /* what could be taken away */
    action_set taken;
    struct decision *out;
};

static void mask_take(struct mask *m, enum reason guardrail, action_set actions)
{
    actions &= m->from;
    if (!actions) return;
    m->taken |= actions;
    m->out->masked |= 1u << guardrail;
}

/* The attribute that the guardrail reads is not known: `conservative` tells what is taken then. */
static void mask_unknown(struct mask *m, enum reason guardrail, action_set conservative)
{
    if (in_force_unknown(m->plan, guardrail, m->out)) mask_take(m, guardrail, conservative);
}

static void mask_grace_period(struct mask *m)
{
    int64_t grace_ms = m->plan->guardrails.grace_period_ms;
    if (grace_ms < 0) return;
    if (!attribute_known(m->attributes, ATTRIBUTE_SLOT_ELAPSED_S))
        mask_unknown(m, REASON_GRACE_PERIOD, m->from);
    else if (m->attributes->values[ATTRIBUTE_SLOT_ELAPSED_S].i < seconds_up(grace_ms))
        mask_take(m, REASON_GRACE_PERIOD, m->from);
}

static bool no_break_yet(const struct attributes *a)
{
    return attribute_known(a, ATTRIBUTE_SLOT_BREAKS_IN_SESSION) &&
           a->values[ATTRIBUTE_SLOT_BREAKS_IN_SESSION].i == 0;
}

static void mask_min_gap(struct mask *m)
{
    const int slot = ATTRIBUTE_SLOT_SECONDS_SINCE_LAST_BREAK_END;
    int64_t gap_ms = m->plan->guardrails.min_gap_ms;
    if (gap_ms < 0) return;
    if (attribute_known(m->attributes, slot)) {
        if (m->attributes->values[slot].i < seconds_up(gap_ms))
            mask_take(m, REASON_MIN_GAP, m->from);
    } else if (!no_break_yet(m->attributes)) {
        mask_unknown(m, REASON_MIN_GAP, m->from);
    }
}

static bool last_known(const struct attributes *a)
{
    return attribute_known(a, ATTRIBUTE_SLOT_LAST_SECONDS_AGO) &&
           attribute_known(a, ATTRIBUTE_SLOT_LAST_COOLDOWN_S);
}

/* Seconds that are left of the last answer's cooldown; 0 where it is over, or not known. */
static double last_left_s(const struct attributes *a)
{
    if (!last_known(a)) return 0;
    double left =
        a->values[ATTRIBUTE_SLOT_LAST_COOLDOWN_S].d - a->values[ATTRIBUTE_SLOT_LAST_SECONDS_AGO].d;
    return left > 0 ? left : 0;
}

static void mask_cooldown(struct mask *m, const struct request *request)
{
    if (!m->plan->guardrails.cooldown || !request->last_sent) return;
    if (!last_known(m->attributes))
        mask_unknown(m, REASON_COOLDOWN, m->from);
    else if (last_left_s(m->attributes) > 0)
        mask_take(m, REASON_COOLDOWN, m->from);
}

/* Actions that cost more than `left`: ads, or seconds of their longest duration. */
static action_set costing_more(const struct plan *plan, int64_t left, bool seconds)
{
    action_set over = 0;
    for (int i = 0; i < plan->actions.count; i++) {
        const struct action *action = &plan->actions.actions[i];
        int64_t cost = seconds ? seconds_up(action->max_duration_ms) : action->ads;
        if (cost > left) over |= action_bit(i);
    }
    return over;
}

static void mask_cap(struct mask *m, const struct plan_cap *cap, enum reason guardrail, int slot,
                     bool seconds)
{
    bool capped = false;
    int64_t max = 0;
    for (int i = 0; i < cap->count; i++) {
        if (!holds(m->plan, cap->items[i].when, guardrail, m->attributes, m->out)) continue;
        if (!capped || cap->items[i].max < max) max = cap->items[i].max;
        capped = true;
    }
    if (!capped) return;
    if (!attribute_known(m->attributes, slot)) {
        mask_unknown(m, guardrail, m->from);
        return;
    }
    int64_t used = m->attributes->values[slot].i;
    mask_take(m, guardrail, costing_more(m->plan, used >= max ? 0 : max - used, seconds));
}

static void mask_content(struct mask *m)
{
    const struct attributes *a = m->attributes;
    if (m->plan->guardrails.content_remaining) {
        if (!attribute_known(a, ATTRIBUTE_SLOT_CONTENT_REMAINING_S))
            mask_unknown(m, REASON_CONTENT_REMAINING, m->from);
        else
            mask_take(m, REASON_CONTENT_REMAINING,
                      costing_more(m->plan, a->values[ATTRIBUTE_SLOT_CONTENT_REMAINING_S].i, true));
    }
    if (m->plan->guardrails.content_boundary) {
        if (!attribute_known(a, ATTRIBUTE_SLOT_AT_CONTENT_BOUNDARY))
            mask_unknown(m, REASON_CONTENT_BOUNDARY, m->from);
        else if (!a->values[ATTRIBUTE_SLOT_AT_CONTENT_BOUNDARY].b)
            mask_take(m, REASON_CONTENT_BOUNDARY, m->from);
    }
}

action_set guardrail_mask(const struct plan *plan, const struct request *request, action_set from,
                          struct decision *out)
{
    const struct plan_guardrails *g = &plan->guardrails;
    struct mask m = {
        .plan = plan,
        .attributes = &request->attributes,
        .from = (action_set)(from & plan->actions.with_ads), /* no ad is never masked */
        .out = out,
    };
    mask_grace_period(&m);
    mask_min_gap(&m);
    mask_cooldown(&m, request);
    mask_cap(&m, &g->ads_per_hour, REASON_ADS_PER_HOUR, ATTRIBUTE_SLOT_ADS_LAST_HOUR, false);
    mask_cap(&m, &g->ad_seconds_per_hour, REASON_AD_SECONDS_PER_HOUR,
             ATTRIBUTE_SLOT_AD_SECONDS_LAST_HOUR, true);
    mask_cap(&m, &g->ads_per_day, REASON_ADS_PER_DAY, ATTRIBUTE_SLOT_ADS_TODAY, false);
    mask_content(&m);
    return (action_set)(from & ~m.taken);
}

static int64_t at_least(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t guardrail_cooldown_s(const struct plan *plan, const struct request *request, int64_t own_ms,
                             bool ads)
{
    const struct plan_guardrails *g = &plan->guardrails;
    const struct attributes *a = &request->attributes;
    int64_t cooldown_s = seconds_up(own_ms);
    if (g->grace_period_ms >= 0 && attribute_known(a, ATTRIBUTE_SLOT_ELAPSED_S))
        cooldown_s = at_least(cooldown_s, seconds_up(g->grace_period_ms) -
                                              a->values[ATTRIBUTE_SLOT_ELAPSED_S].i);
    if (g->min_gap_ms >= 0) {
        const int slot = ATTRIBUTE_SLOT_SECONDS_SINCE_LAST_BREAK_END;
        if (ads)
            cooldown_s = at_least(cooldown_s, seconds_up(g->min_gap_ms));
        else if (attribute_known(a, slot))
            cooldown_s = at_least(cooldown_s, seconds_up(g->min_gap_ms) - a->values[slot].i);
    }
    if (g->cooldown) {
        double left = last_left_s(a); /* at most ATTRIBUTE_LAST_S_MAX */
        int64_t whole = (int64_t)left;
        cooldown_s = at_least(cooldown_s, whole + (left > (double)whole));
    }
    return cooldown_s;
}
