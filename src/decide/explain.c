/* explain: the ordered account of what was considered, in the words of the plan.
 *
 * It is written from the request and the decision alone: deciding keeps no notes for it, so the
 * ordinary request pays nothing. */
#include "decide/reply.h"

#include "decide/guardrail.h"

#include "wire/json_write.h"

static void put_set(struct buf *b, const struct plan *plan, action_set set)
{
    buf_char(b, '[');
    bool first = true;
    for (int i = 0; i < plan->actions.count; i++) {
        if (!action_in(set, i)) continue;
        if (!first) buf_char(b, ',');
        first = false;
        json_write_string(b, plan->actions.actions[i].name);
    }
    buf_char(b, ']');
}

static void put_slots(struct buf *b, const struct plan *plan, uint64_t slots)
{
    buf_char(b, '[');
    for (bool first = true; slots; slots &= slots - 1, first = false) {
        if (!first) buf_char(b, ',');
        json_write_string(b, plan->schema.attributes[__builtin_ctzll(slots)].name);
    }
    buf_char(b, ']');
}

static void put_text(struct buf *b, const char *key, struct span text)
{
    json_write_key(b, span_of(key));
    json_write_string(b, text);
}

static void put_set_if(struct buf *b, const struct plan *plan, const char *key, action_set set)
{
    if (!set) return;
    json_write_key(b, span_of(key));
    put_set(b, plan, set);
}

static void explain_allocation(struct buf *b, const struct plan *plan,
                               const struct request *request, const struct decision *d)
{
    buf_lit(b, "{\"step\":\"allocate\"");
    put_text(b, "assignment", assignment_word(d->assignment));
    put_text(b, "variant", plan->variants[d->variant].name);
    bool asked_experiments = request->variant == REQUEST_VARIANT_NONE && request->unit_id.len;
    if (asked_experiments) {
        json_write_key(b, SPAN("experiments"));
        buf_char(b, '[');
        int last = d->experiment >= 0 ? d->experiment : plan->experiment_count - 1;
        for (int i = 0; i <= last; i++) {
            const struct plan_experiment *x = &plan->experiments[i];
            if (i) buf_char(b, ',');
            buf_char(b, '{');
            put_text(b, "name", x->name);
            json_write_key(b, SPAN("slice_ppm"));
            buf_u64(b, allocate_ppm(x->salt, "slice", request->unit_id));
            json_write_key(b, SPAN("slice_below_ppm"));
            buf_u64(b, x->slice_ppm);
            json_write_key(b, SPAN("split_ppm"));
            buf_u64(b, allocate_ppm(x->salt, "split", request->unit_id));
            buf_char(b, '}');
        }
        buf_char(b, ']');
    }
    buf_char(b, '}');
}

static void explain_presence(struct buf *b, const struct plan *plan, const struct request *request,
                             const struct decision *d)
{
    const struct presence *p = &d->presence;
    buf_lit(b, ",{\"step\":\"presence\"");
    put_text(b, "posteriors", posteriors_status_word(p->status));
    json_write_key(b, SPAN("conditions"));
    buf_char(b, '[');
    bool first = true;
    for (int s = 0; s < POSTERIORS_STATUS_COUNT; s++) {
        if (!(p->conditions >> s & 1)) continue;
        if (!first) buf_char(b, ',');
        first = false;
        json_write_string(b, posteriors_status_word((enum posteriors_status)s));
    }
    buf_char(b, ']');
    put_set_if(b, plan, "missing_actions", p->missing);
    put_set_if(b, plan, "invalid_actions", p->invalid);
    put_set_if(b, plan, "unused_actions", p->unused);
    put_set_if(b, plan, "from_prior", p->from_prior);
    if (request->unknown_actions) {
        json_write_key(b, SPAN("unknown_actions"));
        buf_u64(b, (uint64_t)request->unknown_actions);
    }
    put_text(b, "state", state_status_word(d->state.status));
    if (d->state.unknown) {
        json_write_key(b, SPAN("unknown_attributes"));
        put_slots(b, plan, d->state.unknown);
    }
    if (d->state.invalid) {
        json_write_key(b, SPAN("invalid_attributes"));
        put_slots(b, plan, d->state.invalid);
    }
    if (d->asked) {
        json_write_key(b, SPAN("usable"));
        put_set(b, plan, p->usable);
    }
    if (p->fallback != FALLBACK_NONE) {
        put_text(b, "fallback", d->policy->name);
        put_text(b, "because", fallback_reason_word(p->fallback));
    }
    buf_char(b, '}');
}

/* What settled it: the condition, or that too little is known to judge it, unless the plan is
 * permissive. */
static void put_gate(struct buf *b, const struct plan_guardrail *g, const struct decision *d)
{
    uint64_t bit = REASON_BIT(g->row->reason);
    if (!((d->masked | d->unenforced) & bit)) return;
    put_text(b, "guardrail", g->row->word);
    put_text(b, "when", rule_text(g->when));
    put_text(b, "because",
             d->unenforced & bit ? SPAN("not enforced: unknown")
             : d->assumed & bit  ? SPAN("unknown")
                                 : SPAN("true"));
}

static void explain_gate(struct buf *b, const struct plan *plan, const struct decision *d)
{
    buf_lit(b, ",{\"step\":\"gate\",\"asked\":");
    buf_span(b, d->asked ? SPAN("true") : SPAN("false"));
    for (int i = 0; i < plan->gate_count; i++) put_gate(b, &plan->guardrails[i], d);
    buf_char(b, '}');
}

static void put_guardrail(struct buf *b, bool *first, const struct guardrail *row, struct span what)
{
    if (!*first) buf_char(b, ',');
    *first = false;
    buf_char(b, '{');
    put_text(b, "guardrail", row->word);
    put_text(b, "what", what);
    buf_char(b, '}');
}

/* A cap that is a list may have masked by one item, and not have enforced another. */
static void explain_mask(struct buf *b, const struct plan *plan, const struct decision *d)
{
    buf_lit(b, ",{\"step\":\"mask\",\"guardrails\":[");
    bool first = true;
    for (int i = plan->gate_count; i < plan->guardrail_count; i++) {
        const struct guardrail *row = plan->guardrails[i].row;
        uint64_t bit = REASON_BIT(row->reason);
        if (d->masked & bit)
            put_guardrail(b, &first, row,
                          d->assumed & bit ? SPAN("masked: unknown") : SPAN("masked"));
        if (d->unenforced & bit) put_guardrail(b, &first, row, SPAN("not enforced: unknown"));
    }
    buf_lit(b, "],\"eligible\":");
    put_set(b, plan, d->eligible);
    buf_char(b, '}');
}

static void explain_choice(struct buf *b, const struct plan *plan, const struct decision *d)
{
    buf_lit(b, ",{\"step\":\"choose\"");
    put_text(b, "policy", d->policy->name);
    put_text(b, "kind", span_of(policy_ops(d->policy->kind)->name));
    if (d->choice.rule >= 0) {
        const struct rule *when = d->policy->rules[d->choice.rule].when;
        json_write_key(b, SPAN("rule"));
        buf_u64(b, (uint64_t)d->choice.rule + 1);
        if (when) put_text(b, "when", rule_text(when));
    }
    if (d->choice.rule_errors) {
        json_write_key(b, SPAN("rule_errors"));
        buf_u64(b, (uint64_t)d->choice.rule_errors);
    }
    if (d->choice.floored) buf_lit(b, ",\"floored\":true");
    put_text(b, "wanted", plan->actions.actions[d->wanted].name);
    put_text(b, "action", plan->actions.actions[d->action].name);
    buf_char(b, '}');
}

void explain_write(struct buf *b, const struct plan *plan, const struct request *request,
                   const struct decision *d)
{
    buf_lit(b, ",\"eligible\":");
    put_set(b, plan, d->eligible);
    buf_lit(b, ",\"exploration_key\":");
    json_write_string(b, request->request_id);
    buf_lit(b, ",\"considered\":[");
    explain_allocation(b, plan, request, d);
    explain_gate(b, plan, d);
    explain_presence(b, plan, request, d);
    if (d->asked) {
        explain_mask(b, plan, d);
        explain_choice(b, plan, d);
    }
    buf_char(b, ']');
}
