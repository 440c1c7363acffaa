#include "decide/guardrail.h"

/* Something that the guardrail reads is not known: whether it is in force. */
static bool in_force_unknown(const struct plan_guardrail *g, struct decision *out)
{
    if (out) *(g->permissive ? &out->unenforced : &out->assumed) |= REASON_BIT(g->row->reason);
    return !g->permissive;
}

static bool holds(const struct plan_guardrail *g, const struct rule *when,
                  const struct attributes *a, struct decision *out)
{
    enum rule_result result = when ? rule_eval(when, a) : RULE_TRUE;
    if (result == RULE_ERROR) return in_force_unknown(g, out);
    return result == RULE_TRUE;
}

/* ---- gates ---- */

static bool gate_ad_free(const struct plan_guardrail *g, const struct plan *plan,
                         const struct attributes *a, struct decision *out)
{
    (void)plan;
    return holds(g, g->when, a, out);
}

bool guardrail_gate(const struct plan *plan, const struct request *request, struct decision *out)
{
    for (int i = 0; i < plan->gate_count; i++) {
        const struct plan_guardrail *g = &plan->guardrails[i];
        if (!g->row->gate(g, plan, &request->attributes, out)) continue;
        if (out) out->masked |= REASON_BIT(g->row->reason);
        return true;
    }
    return false;
}

/* ---- masks ---- */

/* One evaluation of the mask. */
struct mask {
    const struct plan *plan;
    const struct request *request;
    const struct attributes *attributes;
    action_set from; /* what could be taken away */
    action_set taken;
    struct decision *out;
};

static void take(const struct plan_guardrail *g, struct mask *m, action_set actions)
{
    actions &= m->from;
    if (!actions) return;
    m->taken |= actions;
    m->out->masked |= REASON_BIT(g->row->reason);
}

static void take_unknown(const struct plan_guardrail *g, struct mask *m)
{
    if (in_force_unknown(g, m->out)) take(g, m, m->from);
}

static void mask_grace_period(const struct plan_guardrail *g, struct mask *m)
{
    if (!attribute_known(m->attributes, ATTRIBUTE_SLOT_ELAPSED_S))
        take_unknown(g, m);
    else if (m->attributes->values[ATTRIBUTE_SLOT_ELAPSED_S].i < g->s)
        take(g, m, m->from);
}

static int64_t left_grace_period(const struct plan_guardrail *g, const struct attributes *a,
                                 bool ads)
{
    (void)ads;
    if (!attribute_known(a, ATTRIBUTE_SLOT_ELAPSED_S)) return 0;
    return g->s - a->values[ATTRIBUTE_SLOT_ELAPSED_S].i;
}

static bool no_break_yet(const struct attributes *a)
{
    return attribute_known(a, ATTRIBUTE_SLOT_BREAKS_IN_SESSION) &&
           a->values[ATTRIBUTE_SLOT_BREAKS_IN_SESSION].i == 0;
}

static void mask_min_gap(const struct plan_guardrail *g, struct mask *m)
{
    const int slot = ATTRIBUTE_SLOT_SECONDS_SINCE_LAST_BREAK_END;
    if (attribute_known(m->attributes, slot)) {
        if (m->attributes->values[slot].i < g->s) take(g, m, m->from);
    } else if (!no_break_yet(m->attributes)) {
        take_unknown(g, m);
    }
}

/* After a pod, the gap begins when the break ends, as the cooldown does. */
static int64_t left_min_gap(const struct plan_guardrail *g, const struct attributes *a, bool ads)
{
    const int slot = ATTRIBUTE_SLOT_SECONDS_SINCE_LAST_BREAK_END;
    if (ads) return g->s;
    return attribute_known(a, slot) ? g->s - a->values[slot].i : 0;
}

static bool last_known(const struct attributes *a)
{
    return attribute_known(a, ATTRIBUTE_SLOT_LAST_SECONDS_AGO) &&
           attribute_known(a, ATTRIBUTE_SLOT_LAST_COOLDOWN_S);
}

/* Seconds that are left of the last answer's cooldown, at most ATTRIBUTE_LAST_S_MAX; 0 where it is
 * over, or not known. */
static double last_left(const struct attributes *a)
{
    if (!last_known(a)) return 0;
    double left =
        a->values[ATTRIBUTE_SLOT_LAST_COOLDOWN_S].d - a->values[ATTRIBUTE_SLOT_LAST_SECONDS_AGO].d;
    return left > 0 ? left : 0;
}

static void mask_cooldown(const struct plan_guardrail *g, struct mask *m)
{
    if (!m->request->last_sent) return;
    if (!last_known(m->attributes))
        take_unknown(g, m);
    else if (last_left(m->attributes) > 0)
        take(g, m, m->from);
}

static int64_t left_cooldown(const struct plan_guardrail *g, const struct attributes *a, bool ads)
{
    (void)g, (void)ads;
    double left = last_left(a);
    int64_t whole = (int64_t)left;
    return whole + (left > (double)whole);
}

/* Takes the actions that cost more than `left`. */
static void take_above(const struct plan_guardrail *g, struct mask *m, int64_t left)
{
    action_set over = 0;
    for (int i = 0; i < m->plan->actions.count; i++)
        if (g->cost[i] > left) over |= action_bit(i);
    take(g, m, over);
}

/* The smallest `max` of the items that hold; -1: none does. */
static int64_t cap_in_force(const struct plan_guardrail *g, struct mask *m)
{
    int64_t max = -1;
    for (int i = 0; i < g->cap.count; i++) {
        if (!holds(g, g->cap.items[i].when, m->attributes, m->out)) continue;
        if (max < 0 || g->cap.items[i].max < max) max = g->cap.items[i].max;
    }
    return max;
}

static void mask_cap(const struct plan_guardrail *g, struct mask *m)
{
    int64_t max = cap_in_force(g, m);
    if (max < 0) return;
    int slot = __builtin_ctzll(g->row->needed); /* a cap needs what it counts, and nothing else */
    if (!attribute_known(m->attributes, slot)) {
        take_unknown(g, m);
        return;
    }
    int64_t used = m->attributes->values[slot].i;
    take_above(g, m, used >= max ? 0 : max - used);
}

static void mask_content_remaining(const struct plan_guardrail *g, struct mask *m)
{
    const int slot = ATTRIBUTE_SLOT_CONTENT_REMAINING_S;
    if (!attribute_known(m->attributes, slot))
        take_unknown(g, m);
    else
        take_above(g, m, m->attributes->values[slot].i);
}

static void mask_content_boundary(const struct plan_guardrail *g, struct mask *m)
{
    if (!attribute_known(m->attributes, ATTRIBUTE_SLOT_AT_CONTENT_BOUNDARY))
        take_unknown(g, m);
    else if (!m->attributes->values[ATTRIBUTE_SLOT_AT_CONTENT_BOUNDARY].b)
        take(g, m, m->from);
}

action_set guardrail_mask(const struct plan *plan, const struct request *request, action_set from,
                          struct decision *out)
{
    struct mask m = {
        .plan = plan,
        .request = request,
        .attributes = &request->attributes,
        .from = (action_set)(from & plan->actions.with_ads), /* no ad is never masked */
        .out = out,
    };
    for (int i = plan->gate_count; i < plan->guardrail_count; i++)
        plan->guardrails[i].row->mask(&plan->guardrails[i], &m);
    return (action_set)(from & ~m.taken);
}

int64_t guardrail_cooldown_s(const struct plan *plan, const struct request *request, int64_t own_ms,
                             bool ads)
{
    int64_t cooldown_s = seconds_up(own_ms);
    for (uint32_t rest = plan->guardrails_left; rest; rest &= rest - 1) {
        const struct plan_guardrail *g = &plan->guardrails[__builtin_ctz(rest)];
        int64_t left_s = g->row->left_s(g, &request->attributes, ads);
        if (left_s > cooldown_s) cooldown_s = left_s;
    }
    return cooldown_s;
}

/* ---- the table ---- */

#define GATE(name) .gate = gate_##name
#define MASK(name) .mask = mask_##name
#define MASK_AND_LEFT(name) .mask = mask_##name, .left_s = left_##name

const struct guardrail guardrail_table[GUARDRAIL_COUNT] = {
#define ROW(CODE, WORD, SHAPE, UNIT, NEEDED, READ, FUNCTIONS, HELP, WHY) \
    [GUARDRAIL_##CODE] = {.word = {WORD, sizeof(WORD) - 1},              \
                          .reason = REASON_##CODE,                       \
                          .shape = GUARDRAIL_##SHAPE,                    \
                          .unit = GUARDRAIL_##UNIT,                      \
                          .needed = (NEEDED),                            \
                          .read = (READ),                                \
                          .help = (HELP),                                \
                          .why = (WHY),                                  \
                          FUNCTIONS},
    GUARDRAILS(ROW)
#undef ROW
};
