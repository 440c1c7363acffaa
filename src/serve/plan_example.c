#include "serve/plan_example.h"

#include "decide/guardrail.h"
#include "serve/body_write.h"
#include "wire/json_write.h"

/* ---- values ---- */

/* Of the built-in attributes; a listener in the middle of a session. */
static const struct {
    int slot;
    union attribute_value value;
} usual[] = {
    {ATTRIBUTE_SLOT_ELAPSED_S, {.i = 1830}},
    {ATTRIBUTE_SLOT_TRACKS_PLAYED, {.i = 9}},
    {ATTRIBUTE_SLOT_SECONDS_SINCE_LAST_BREAK_END, {.i = 915}},
    {ATTRIBUTE_SLOT_BREAKS_IN_SESSION, {.i = 1}},
    {ATTRIBUTE_SLOT_ADS_LAST_HOUR, {.i = 2}},
    {ATTRIBUTE_SLOT_AD_SECONDS_LAST_HOUR, {.i = 55}},
    {ATTRIBUTE_SLOT_ADS_TODAY, {.i = 4}},
    {ATTRIBUTE_SLOT_CONTENT_REMAINING_S, {.i = 1800}},
    {ATTRIBUTE_SLOT_TENURE_DAYS, {.i = 120}},
    {ATTRIBUTE_SLOT_AT_CONTENT_BOUNDARY, {.b = true}},
    {ATTRIBUTE_SLOT_BACKGROUND, {.b = false}},
    {ATTRIBUTE_SLOT_CAR, {.b = false}},
    {ATTRIBUTE_SLOT_CHILD_DIRECTED, {.b = false}},
    {ATTRIBUTE_SLOT_TIER, {.s = SPAN("free")}},
    {ATTRIBUTE_SLOT_CONSENT, {.s = SPAN("granted")}},
    {ATTRIBUTE_SLOT_POSITION, {.s = SPAN("mid")}},
};

static void set(struct attributes *a, int slot, union attribute_value value)
{
    a->known |= (uint64_t)1 << slot;
    a->values[slot] = value;
}

static void set_at_least(struct attributes *a, int slot, int64_t least)
{
    if (a->values[slot].i < least) a->values[slot].i = least;
}

/* The first text that the condition compares the attribute with; empty: none. */
static struct span literal_of(struct plan_example *x, const struct rule *rule, int slot)
{
    struct rule_values *v = &x->literals;
    if (!rule || !(rule_reads(rule) >> slot & 1)) return (struct span){NULL, 0};
    rule_values(rule, slot, ATTRIBUTE_STRING, v);
    struct span text = v->values[0].s;
    return span_is(text, RULE_VALUES_TEXT) ? (struct span){NULL, 0} : text;
}

/* A text that means something to the policy, or to its fallback. */
static union attribute_value text_of(struct plan_example *x, const struct policy *policy, int slot)
{
    struct span text = {NULL, 0};
    for (; policy && !text.len; policy = policy->fallback)
        for (int i = 0; i < policy->rule_count && !text.len; i++)
            text = literal_of(x, policy->rules[i].when, slot);
    bool fits = text.len && text.len <= NAME_BYTES_MAX;
    return (union attribute_value){.s = fits ? text : SPAN("example")};
}

static void set_declared(struct plan_example *x, const struct policy *policy, int slot)
{
    switch (x->plan->schema.attributes[slot].type) {
    case ATTRIBUTE_BOOL:
        set(&x->session, slot, (union attribute_value){.b = false});
        break;
    case ATTRIBUTE_INT:
        set(&x->session, slot, (union attribute_value){.i = 1});
        break;
    case ATTRIBUTE_DOUBLE:
        set(&x->session, slot, (union attribute_value){.d = 0.5});
        break;
    case ATTRIBUTE_STRING:
        set(&x->session, slot, text_of(x, policy, slot));
        break;
    }
}

/* All attributes. `no_ads_yet`: for a plan whose caps are low. */
static void set_usual(struct plan_example *x, const struct policy *policy, bool no_ads_yet)
{
    const struct plan *plan = x->plan;
    struct attributes *a = &x->session;
    a->known = a->invalid = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) set(a, usual[i].slot, usual[i].value);
    for (int slot = ATTRIBUTE_BUILT_IN_COUNT; slot < (int)plan->schema.count; slot++)
        set_declared(x, policy, slot);
    if (plan->segment_count)
        set(a, ATTRIBUTE_SLOT_SEGMENT_ID,
            (union attribute_value){.s = plan->segments[plan->segment_count / 2]});
    if (no_ads_yet)
        a->values[ATTRIBUTE_SLOT_ADS_LAST_HOUR].i =
            a->values[ATTRIBUTE_SLOT_AD_SECONDS_LAST_HOUR].i =
                a->values[ATTRIBUTE_SLOT_ADS_TODAY].i = 0;
    for (int i = 0; i < plan->guardrail_count; i++) {
        const struct plan_guardrail *g = &plan->guardrails[i];
        if (g->row->shape == GUARDRAIL_DURATION)
            set_at_least(a, __builtin_ctzll(g->row->needed), g->s);
    }
    set_at_least(a, ATTRIBUTE_SLOT_ELAPSED_S,
                 a->values[ATTRIBUTE_SLOT_SECONDS_SINCE_LAST_BREAK_END].i);
}

/* What gets past the gate instead. `strictly`: what need not be said of a listener is left out. */
static void set_passing(struct plan_example *x, const struct attributes *passing, bool strictly)
{
    for (int at = 0; at < x->gate.slots; at++) {
        int slot = x->gate.choices[at].slot;
        if (attribute_known(passing, slot))
            set(&x->session, slot, passing->values[slot]);
        else if (strictly)
            x->session.known &= ~((uint64_t)1 << slot);
    }
}

/* ---- the request ---- */

static void put_session(struct buf *b, const struct plan *plan, const struct attributes *session,
                        uint64_t read)
{
    json_write_key(b, SPAN("session"));
    buf_char(b, '{');
    for (int slot = 0; slot < (int)plan->schema.count; slot++) {
        const struct attribute *attribute = &plan->schema.attributes[slot];
        bool wanted = read >> slot & 1 && attribute_known(session, slot);
        if (!wanted || !attribute_in_session(attribute)) continue;
        json_write_key(b, attribute->name);
        body_put_value(b, attribute->type, session->values[slot]);
    }
    buf_char(b, '}');
}

static void put_posterior(struct buf *b, const struct policy *policy, int action, int place)
{
    static const double betas[][2] = {{20, 80}, {25, 75}, {30, 70}, {22, 78}};
    static const enum posterior_parameter names[FAMILY_COUNT][POSTERIOR_PARAMETERS_MAX] = {
        [FAMILY_BETA] = {PARAMETER_ALPHA, PARAMETER_BETA},
        [FAMILY_NORMAL] = {PARAMETER_MEAN, PARAMETER_VARIANCE},
        [FAMILY_NIG] = {PARAMETER_MU, PARAMETER_LAMBDA, PARAMETER_ALPHA, PARAMETER_BETA},
        [FAMILY_GAMMA] = {PARAMETER_SHAPE, PARAMETER_RATE},
    };
    const double *values = betas[place % 4];
    int family = FAMILY_BETA;
    if (policy->has_prior) {
        family = policy->prior[action].family;
        values = policy->prior[action].p;
    }
    buf_char(b, '{');
    for (int i = 0; i < (family == FAMILY_NIG ? 4 : 2); i++) {
        json_write_key(b, span_of(posterior_parameter_name(names[family][i])));
        json_write_double(b, values[i]);
    }
    buf_char(b, '}');
}

static void put_posteriors(struct buf *b, const struct plan *plan, const struct policy *policy)
{
    int place = 0;
    json_write_key(b, SPAN("posteriors"));
    buf_char(b, '{');
    for (int i = 0; i < plan->actions.count; i++) {
        if (!action_in(policy->actions, i)) continue;
        json_write_key(b, plan->actions.actions[i].name);
        put_posterior(b, policy, i, place++);
    }
    buf_char(b, '}');
}

static void put_text(struct buf *b, const char *key, struct span text)
{
    json_write_key(b, span_of(key));
    json_write_string(b, text);
}

/* False: it does not fit. */
static bool body_make(struct plan_example *x, int variant, bool posteriors, struct span *body)
{
    const struct plan *plan = x->plan;
    const struct policy *policy = plan->variants[variant].policy;
    const struct attributes *session = &x->session;
    struct buf b = buf_of(x->body, sizeof x->body);
    char id[NAME_BYTES_MAX + sizeof "example-"];
    struct buf name = buf_of(id, sizeof id);
    buf_lit(&name, "example-");
    buf_span(&name, policy->name);
    buf_char(&b, '{');
    put_text(&b, "request_id", buf_text(&name));
    body_put_time(&b, plan, session, x->wall_us);
    if (attribute_known(session, ATTRIBUTE_SLOT_SEGMENT_ID))
        put_text(&b, "segment_id", session->values[ATTRIBUTE_SLOT_SEGMENT_ID].s);
    put_text(&b, "unit_id", SPAN("u-9f2"));
    put_text(&b, "session_id", SPAN("s-1"));
    put_text(&b, "variant", plan->variants[variant].name);
    put_session(&b, plan, session, plan->guardrails_read | policy->attributes_read);
    if (plan_guardrail_find(plan, GUARDRAIL_COOLDOWN)) {
        json_write_key(&b, SPAN("last"));
        buf_lit(&b, "{\"seconds_ago\":915,\"cooldown_s\":720,\"ads_delivered\":2}");
    }
    if (posteriors) put_posteriors(&b, plan, policy);
    buf_char(&b, '}');
    *body = buf_text(&b);
    return !b.full;
}

/* ---- the best of a few ---- */

enum worth { WORTH_NOTHING, WORTH_DECIDED, WORTH_ASKED, WORTH_ADS };

/* Decides it, and tells nobody. */
static enum worth worth_of(struct plan_example *x, struct span body)
{
    struct err e;
    if (request_read(x->plan, body, x->scratch, &x->request, &e)) return WORTH_NOTHING;
    decide(x->plan, &x->request, request_now_us(&x->request, x->wall_us), NULL, &x->decision);
    const struct decision *d = &x->decision;
    const uint32_t anomalies = ~((1u << POSTERIORS_PARTIAL) - 1);
    if (d->variant_unknown || d->presence.conditions & anomalies ||
        d->state.status != STATE_COMPLETE)
        return WORTH_NOTHING;
    if (!d->asked) return WORTH_DECIDED;
    return d->eligible & x->plan->actions.with_ads ? WORTH_ADS : WORTH_ASKED;
}

struct best {
    enum worth worth;
    size_t len;
};

static void offer(struct plan_example *x, int variant, bool posteriors, struct best *best)
{
    struct span body;
    if (best->worth == WORTH_ADS || !body_make(x, variant, posteriors, &body)) return;
    enum worth worth = worth_of(x, body);
    if (worth <= best->worth) return;
    memcpy(x->best, body.data, body.len);
    *best = (struct best){worth, body.len};
}

/* An ordinary listener; one who gets past the gate; and if nobody does, one of whom no policy will
 * be asked. */
static size_t example_make(struct plan_example *x, int variant)
{
    enum { USUAL, PASSING, PASSING_STRICTLY, WAYS };
    const struct policy *policy = x->plan->variants[variant].policy;
    bool reads = policy_reads_posteriors(policy);
    struct best best = {0};
    struct attributes passing = {0};
    if (drill_gate_open(&x->gate, variant, DRILL_GATE_TRIES / x->plan->variant_count, &x->request))
        passing = x->request.attributes;
    for (int way = 0; way < 2 * WAYS; way++) {
        set_usual(x, policy, way & 1);
        if (way / 2 != USUAL) set_passing(x, &passing, way / 2 == PASSING_STRICTLY);
        offer(x, variant, reads, &best);
    }
    if (best.worth >= WORTH_ASKED) return best.len;
    best.worth = WORTH_NOTHING;
    set_usual(x, policy, false);
    offer(x, variant, false, &best);
    return best.len;
}

/* ---- one after the other ---- */

void plan_example_init(struct plan_example *x, const struct plan *plan, int64_t wall_us)
{
    x->plan = plan;
    x->wall_us = wall_us;
    x->next = 0;
    drill_gate_init(&x->gate, plan);
}

static bool asked_before(const struct plan *plan, int variant)
{
    for (int i = 0; i < variant; i++)
        if (plan->variants[i].policy == plan->variants[variant].policy) return true;
    return false;
}

bool plan_example_next(struct plan_example *x, int *variant, struct span *body)
{
    while (x->next < x->plan->variant_count) {
        int at = x->next++;
        if (asked_before(x->plan, at)) continue;
        size_t len = example_make(x, at);
        INVARIANT(len > 0);
        *variant = at;
        *body = (struct span){x->best, len};
        return true;
    }
    return false;
}
