/* Whatever is asked, no guardrail is broken, and the answer is JSON that fits.
 *
 * The first byte chooses one of 64 plans, which differ in everything that bears on a choice. The
 * second says how to take the others: as the body of a request, or as choices from lists of values
 * for its fields, which reaches deep into deciding at once. What an answer may be is worked out
 * here a second time, from the attributes and the plan's numbers, an action at a time. */
#include <jansson.h>

#include "../tests/unit/decide/plan_fixture.h"
#include "base/rng.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PLANS = 64, BODY_BYTES_MAX = 16 * 1024 };

/* ---- plans ---- */

/* How a plan's conditions read, so that they need no evaluator here. */
enum ad_free { AD_FREE_NONE, AD_FREE_GUARDED, AD_FREE_BARE };

/* The guardrails, as they are worked out here; -1: none. */
struct model {
    enum ad_free ad_free;
    int64_t grace_period_ms, min_gap_ms;
    int64_t ads_per_hour, ad_seconds_per_hour, ads_per_day;
    bool car_cap; /* two ads an hour in a car; where that is not known too, unless permissive */
    bool cooldown, content_remaining, content_boundary;
    uint64_t permissive; /* REASON_BIT */
};

static struct fuzz_plan {
    struct plan *plan;
    struct model model;
} plans[PLANS];

static uint64_t below(struct rng *r, uint64_t n)
{
    return rng_next(r) % n;
}

static void vary_model(struct model *m, struct rng *r)
{
    static const int64_t periods_ms[] = {-1, 0, 1, 1500, 180000, 300000};
    m->grace_period_ms = periods_ms[below(r, 6)];
    m->min_gap_ms = periods_ms[below(r, 6)];
    m->cooldown = below(r, 2);
    m->content_remaining = below(r, 2);
    m->content_boundary = below(r, 3) == 0;
    m->ads_per_hour = below(r, 2) ? (int64_t)below(r, 8) : -1;
    m->ad_seconds_per_hour = below(r, 2) ? (int64_t)below(r, 240) : -1;
    m->ads_per_day = below(r, 2) ? (int64_t)below(r, 20) : -1;
    m->car_cap = below(r, 3) == 0;
    m->ad_free = (enum ad_free)below(r, 3);
    m->permissive = rng_next(r);
    if (below(r, 2)) m->permissive = 0;
}

static void plan_follow(struct plan *plan, const struct model *m)
{
    static const char *const ad_free[] = {
        [AD_FREE_BARE] = "tier == 'premium'", [AD_FREE_GUARDED] = "has(tier) && tier == 'premium'"};
    fixture_no_guardrails(plan);
    if (m->ad_free != AD_FREE_NONE) fixture_ad_free(plan, ad_free[m->ad_free]);
    if (m->grace_period_ms >= 0) fixture_period(plan, GUARDRAIL_GRACE_PERIOD, m->grace_period_ms);
    if (m->min_gap_ms >= 0) fixture_period(plan, GUARDRAIL_MIN_GAP, m->min_gap_ms);
    if (m->cooldown) fixture_guardrail(plan, GUARDRAIL_COOLDOWN);
    if (m->ads_per_hour >= 0) fixture_cap(plan, GUARDRAIL_ADS_PER_HOUR, NULL, m->ads_per_hour);
    if (m->car_cap) fixture_cap(plan, GUARDRAIL_ADS_PER_HOUR, fixture_rule(plan, "car"), 2);
    if (m->ad_seconds_per_hour >= 0)
        fixture_cap(plan, GUARDRAIL_AD_SECONDS_PER_HOUR, NULL, m->ad_seconds_per_hour);
    if (m->ads_per_day >= 0) fixture_cap(plan, GUARDRAIL_ADS_PER_DAY, NULL, m->ads_per_day);
    if (m->content_remaining) fixture_guardrail(plan, GUARDRAIL_CONTENT_REMAINING);
    if (m->content_boundary) fixture_guardrail(plan, GUARDRAIL_CONTENT_BOUNDARY);
    fixture_permissive(plan, m->permissive);
}

static void vary_policies(struct plan *plan, struct rng *r)
{
    static const struct posterior priors[] = {{FAMILY_BETA, {1, 1}}, {FAMILY_NORMAL, {0, 1}}};
    for (int i = BAYESIAN; i <= GREEDY; i++) {
        static const double floors[] = {0, 0.05, 1};
        struct policy *policy = &plan->policies[i];
        policy->on_partial = (enum on_partial)below(r, 3);
        policy->on_empty = (enum on_empty)below(r, 2);
        policy->on_stale = (enum on_stale)below(r, 2);
        policy->max_posterior_age_us = below(r, 2) ? 0 : INT64_C(3600000000);
        policy->has_prior = true;
        int family = (int)below(r, 2);
        for (int a = 0; a < ACTIONS_MAX; a++) policy->prior[a] = priors[family];
        policy->floor = floors[below(r, 3)];
        policy->floor_toward = (enum floor_toward)below(r, 2);
        policy->fallback = &plan->policies[below(r, 2) ? PROMOTED : RANDOM];
        if (below(r, 3) == 0) policy->actions &= (action_set) ~(1 << (POD_1 + (int)below(r, 3)));
        policy->values_equal = below(r, 2);
        for (int a = 0; a < 4 && !policy->values_equal; a++) {
            policy->offset[a] = (double)below(r, 3);
            policy->weight[a] = (double)below(r, 5) - 2;
        }
    }
}

/* The action without ads somewhere else, and pods of as many ads. */
static void vary_actions(struct plan *plan, struct rng *r)
{
    struct action *actions = plan->actions.actions;
    if (below(r, 3) == 0) actions[POD_3].ads = 2;
    if (below(r, 3) == 0) actions[NONE].cooldown_ms = (int64_t)below(r, 2) * 999;
    if (below(r, 3) == 0) actions[POD_1].max_duration_ms = 29001;
    if (below(r, 2)) plan->default_variant = (int)below(r, 4);
    if (below(r, 2)) plan->experiments[0].slice_ppm = PPM;
}

static void plans_make(void)
{
    struct rng r;
    rng_init(&r, (struct hash128){1, 2});
    for (int i = 0; i < PLANS; i++) {
        plans[i].plan = fixture_plan();
        if (i > 0) {
            vary_actions(plans[i].plan, &r);
            vary_policies(plans[i].plan, &r);
            vary_model(&plans[i].model, &r);
            plan_follow(plans[i].plan, &plans[i].model);
        } else {
            plans[i].model = (struct model){.ad_free = AD_FREE_GUARDED,
                                            .grace_period_ms = 180000,
                                            .min_gap_ms = 300000,
                                            .ads_per_hour = 6,
                                            .ad_seconds_per_hour = 240,
                                            .ads_per_day = -1};
        }
        fixture_finish(plans[i].plan);
    }
}

/* ---- requests made of choices ---- */

struct input {
    const uint8_t *at, *end;
};

static unsigned choice(struct input *in, unsigned n)
{
    return in->at < in->end ? *in->at++ % n : 0;
}

/* NULL: the field is left out. */
static const char *const amounts[] = {
    NULL,   "0",    "1",    "2",     "3",     "5",    "29",
    "30",   "60",   "89.5", "179.9", "180",   "299",  "300",
    "915",  "1830", "1e3",  "-1",    "1e999", "0.5",  "null",
    "true", "'30'", "[]",   "1e19",  "1.0e0", "-0.0", "9223372036854775807",
};
static const char *const flags[] = {NULL, "true", "false", "null", "0", "'true'"};
static const char *const tiers[] = {NULL,   "'free'", "'premium'",       "''",
                                    "null", "7",      "'prem\\u0069um'", "['premium']"};
static const char *const entries[] = {
    NULL,
    "{'alpha':20,'beta':80}",
    "{'beta':3,'alpha':2}",
    "{'alpha':1e-300,'beta':1e308}",
    "{'mean':0.5,'variance':1}",
    "{'mean':-1e308,'variance':1e308}",
    "{'mu':0,'lambda':1,'alpha':0.5,'beta':0.5}",
    "{'mu':1e308,'lambda':5e-324,'alpha':5e-324,'beta':1e308}",
    "{'shape':1e308,'rate':5e-324}",
    "{'shape':2,'rate':2}",
    "null",
    "{}",
    "{'alpha':1e999,'beta':1}",
    "{'alpha':'1','beta':1}",
    "{'alpha':1}",
    "{'alpha':0,'beta':1}",
    "{'alpha':1,'beta':1,'n':1}",
    "{'alpha':1,'beta':1,'shape':1,'rate':1}",
    "[]",
    "7",
};
static const char *const ids[] = {
    NULL, "''", "null", "'r-1'", "'u-6'", "'u-9f2'", "'\\u0000\\u001f'"};
static const char *const variants[] = {NULL,       "'control'", "'bayes'",  "'greedy'",
                                       "'random'", "'unknown'", "'\\u0022'"};
static const char *const lasts[] = {NULL,
                                    "{}",
                                    "null",
                                    "{'seconds_ago':59.5,'cooldown_s':60}",
                                    "{'seconds_ago':60,'cooldown_s':60}",
                                    "{'seconds_ago':0,'cooldown_s':1e9,'ads_delivered':3}",
                                    "{'seconds_ago':900}",
                                    "{'cooldown_s':60,'seconds_ago':null}",
                                    "{'seconds_ago':-1,'cooldown_s':60}",
                                    "{'seconds_ago':900,'cooldown_s':1e999,'ads_delivered':-3}",
                                    "{'seconds_ago':[],'cooldown_s':'60','x':{}}",
                                    "{'seconds_ago':1000000001,'cooldown_s':60}"};
static const char *const times[] = {NULL,
                                    "'2026-11-30T08:00:00.123Z'",
                                    "'2026-11-30T07:00:00Z'",
                                    "'0000-01-01T00:00:00Z'",
                                    "'9999-12-31T23:59:59Z'",
                                    "null"};
static const char *const posteriors_else[] = {"null", "{}", "[]", "7"};

#define CHOOSE(in, list) ((list)[choice((in), sizeof(list) / sizeof *(list))])

static void put_field(struct buf *b, const char *name, const char *value)
{
    if (!value) return;
    if (b->data[b->len - 1] != '{') buf_char(b, ',');
    buf_format(b, "'%s':%s", name, value);
}

static void make_posteriors(struct buf *b, struct input *in)
{
    static const char *const names[] = {"none", "pod_1", "pod_2", "pod_3", "x", "\\u0000"};
    unsigned how = choice(in, 8);
    if (how < 2) return;
    if (how == 2) {
        put_field(b, "posteriors", CHOOSE(in, posteriors_else));
        return;
    }
    put_field(b, "posteriors", "{");
    for (int i = 0; i < 4; i++) put_field(b, names[i], CHOOSE(in, entries));
    if (how == 3) put_field(b, names[4], CHOOSE(in, entries));
    if (how == 4) put_field(b, names[5], CHOOSE(in, entries));
    buf_char(b, '}');
}

static void make_body(struct buf *b, struct input *in)
{
    static const char *const numbers[] = {
        "elapsed_s",         "tracks_played",       "seconds_since_last_break_end",
        "breaks_in_session", "ads_last_hour",       "ad_seconds_last_hour",
        "ads_today",         "content_remaining_s",
    };
    buf_char(b, '{');
    put_field(b, "variant", CHOOSE(in, variants));
    put_field(b, "request_id", CHOOSE(in, ids));
    put_field(b, "unit_id", CHOOSE(in, ids));
    put_field(b, "segment_id", CHOOSE(in, ids));
    put_field(b, "session", "{");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        put_field(b, numbers[i], CHOOSE(in, amounts));
    put_field(b, "at_content_boundary", CHOOSE(in, flags));
    put_field(b, "car", CHOOSE(in, flags));
    put_field(b, "tier", CHOOSE(in, tiers));
    buf_char(b, '}');
    put_field(b, "last", CHOOSE(in, lasts));
    put_field(b, "time", CHOOSE(in, times));
    put_field(b, "posteriors_as_of", CHOOSE(in, times));
    make_posteriors(b, in);
    buf_char(b, '}');
    for (size_t i = 0; i < b->len; i++)
        if (b->data[i] == '\'') b->data[i] = '"';
}

/* ---- what an answer may be ---- */

/* A session's number, or -1 where it is not known. */
static int64_t number_of(const struct request *request, int slot)
{
    const struct attributes *a = &request->attributes;
    return attribute_known(a, slot) ? a->values[slot].i : -1;
}

static bool enforced_unknown(const struct model *m, enum reason guardrail)
{
    return !(m->permissive & REASON_BIT(guardrail));
}

static bool ad_free_of(const struct model *m, const struct request *request)
{
    const struct attributes *a = &request->attributes;
    if (m->ad_free == AD_FREE_NONE) return false;
    bool absent = !((a->known | a->invalid) >> ATTRIBUTE_SLOT_TIER & 1);
    if (absent && m->ad_free == AD_FREE_GUARDED) return false;
    if (!attribute_known(a, ATTRIBUTE_SLOT_TIER)) return enforced_unknown(m, REASON_AD_FREE);
    return span_is(a->values[ATTRIBUTE_SLOT_TIER].s, "premium");
}

static bool periods_allow(const struct model *m, const struct request *request)
{
    int64_t elapsed = number_of(request, ATTRIBUTE_SLOT_ELAPSED_S);
    int64_t gap = number_of(request, ATTRIBUTE_SLOT_SECONDS_SINCE_LAST_BREAK_END);
    if (m->grace_period_ms >= 0) {
        if (elapsed < 0 && enforced_unknown(m, REASON_GRACE_PERIOD)) return false;
        if (elapsed >= 0 && (double)elapsed * 1000 < (double)m->grace_period_ms) return false;
    }
    if (m->min_gap_ms >= 0) {
        bool no_break = number_of(request, ATTRIBUTE_SLOT_BREAKS_IN_SESSION) == 0;
        if (gap < 0 && !no_break && enforced_unknown(m, REASON_MIN_GAP)) return false;
        if (gap >= 0 && (double)gap * 1000 < (double)m->min_gap_ms) return false;
    }
    if (!m->cooldown || !request->last_sent) return true;
    const struct attributes *a = &request->attributes;
    if (!attribute_known(a, ATTRIBUTE_SLOT_LAST_SECONDS_AGO) ||
        !attribute_known(a, ATTRIBUTE_SLOT_LAST_COOLDOWN_S))
        return !enforced_unknown(m, REASON_COOLDOWN);
    double ago = a->values[ATTRIBUTE_SLOT_LAST_SECONDS_AGO].d;
    double cooldown = a->values[ATTRIBUTE_SLOT_LAST_COOLDOWN_S].d;
    INVARIANT(ago >= 0 && ago <= 1e9 && cooldown >= 0 && cooldown <= 1e9);
    return ago >= cooldown;
}

static bool cap_allows(const struct model *m, enum reason guardrail, int64_t used, int64_t max,
                       double cost)
{
    if (used < 0) return !enforced_unknown(m, guardrail);
    return (double)used + cost <= (double)max;
}

static bool caps_allow(const struct model *m, const struct request *request,
                       const struct action *action)
{
    const struct attributes *a = &request->attributes;
    double seconds = (double)action->max_duration_ms / 1000;
    int64_t hour = number_of(request, ATTRIBUTE_SLOT_ADS_LAST_HOUR);
    bool car = attribute_known(a, ATTRIBUTE_SLOT_CAR) ? a->values[ATTRIBUTE_SLOT_CAR].b
                                                      : enforced_unknown(m, REASON_ADS_PER_HOUR);
    if (m->ads_per_hour >= 0 &&
        !cap_allows(m, REASON_ADS_PER_HOUR, hour, m->ads_per_hour, action->ads))
        return false;
    if (m->car_cap && car && !cap_allows(m, REASON_ADS_PER_HOUR, hour, 2, action->ads))
        return false;
    if (m->ad_seconds_per_hour >= 0 &&
        !cap_allows(m, REASON_AD_SECONDS_PER_HOUR,
                    number_of(request, ATTRIBUTE_SLOT_AD_SECONDS_LAST_HOUR), m->ad_seconds_per_hour,
                    seconds))
        return false;
    return m->ads_per_day < 0 ||
           cap_allows(m, REASON_ADS_PER_DAY, number_of(request, ATTRIBUTE_SLOT_ADS_TODAY),
                      m->ads_per_day, action->ads);
}

static bool content_allows(const struct model *m, const struct request *request,
                           const struct action *action)
{
    const struct attributes *a = &request->attributes;
    if (m->content_remaining) {
        int64_t left = number_of(request, ATTRIBUTE_SLOT_CONTENT_REMAINING_S);
        if (left < 0 && enforced_unknown(m, REASON_CONTENT_REMAINING)) return false;
        if (left >= 0 && (double)left * 1000 < (double)action->max_duration_ms) return false;
    }
    if (!m->content_boundary) return true;
    if (!attribute_known(a, ATTRIBUTE_SLOT_AT_CONTENT_BOUNDARY))
        return !enforced_unknown(m, REASON_CONTENT_BOUNDARY);
    return a->values[ATTRIBUTE_SLOT_AT_CONTENT_BOUNDARY].b;
}

static bool allowed(const struct fuzz_plan *p, const struct request *request, int action)
{
    const struct action *of = &p->plan->actions.actions[action];
    const struct model *m = &p->model;
    return of->ads == 0 || (!ad_free_of(m, request) && periods_allow(m, request) &&
                            caps_allow(m, request, of) && content_allows(m, request, of));
}

static void check_guardrails(const struct fuzz_plan *p, const struct run *run)
{
    const struct decision *d = &run->decision;
    const struct action *action = &p->plan->actions.actions[d->action];
    INVARIANT(d->ads == action->ads);
    INVARIANT(action_in(d->eligible, d->action));
    INVARIANT(action_in(d->eligible, p->plan->actions.no_ads));
    /* Of what could have been chosen, all that is allowed is left, and nothing else. */
    action_set from =
        d->presence.fallback == FALLBACK_NONE ? d->presence.usable : d->policy->actions;
    if (!d->asked) from = action_bit(p->plan->actions.no_ads);
    for (int i = 0; i < p->plan->actions.count; i++)
        INVARIANT(action_in(d->eligible, i) ==
                  (action_in(from, i) && allowed(p, &run->request, i)));
    INVARIANT(!d->asked == ad_free_of(&p->model, &run->request));
    INVARIANT(d->cooldown_s >= 0);
    if (d->asked && d->ads > 0 && p->model.min_gap_ms > 0)
        INVARIANT(d->cooldown_s * 1000 >= p->model.min_gap_ms);
    INVARIANT(action_in(d->eligible, d->wanted) ? d->wanted == d->action : d->choice.rule >= 0);
}

static void check_presence(const struct run *run)
{
    const struct decision *d = &run->decision;
    const struct presence *p = &d->presence;
    INVARIANT(p->conditions && p->conditions >> p->status & 1);
    INVARIANT(p->conditions >> p->status == 1);
    INVARIANT(!(p->missing & p->invalid));
    bool reads = d->asked && policy_reads_posteriors(d->asked);
    uint32_t harmless = 1u << POSTERIORS_BY_DESIGN | 1u << POSTERIORS_UNSOLICITED;
    INVARIANT(reads == !(p->conditions & harmless));
    if (!reads)
        INVARIANT(!(p->missing | p->invalid | p->unused) && p->fallback == FALLBACK_NONE);
    else
        INVARIANT(!((p->missing | p->invalid) & ~d->asked->actions));
    if (p->fallback != FALLBACK_NONE) INVARIANT(d->policy == d->asked->fallback);
    INVARIANT(!(d->state.unknown & d->state.invalid));
    INVARIANT(d->state.status == (d->state.invalid   ? STATE_INVALID
                                  : d->state.unknown ? STATE_PARTIAL
                                                     : STATE_COMPLETE));
}

/* The answer, and the one with the account in it, which must say the same. */
static void check_replies(const struct plan *plan, struct run *run)
{
    static char text[2][REPLY_EXPLAIN_BYTES_MAX];
    size_t len[2];
    for (int explain = 0; explain < 2; explain++) {
        run->request.explain = explain;
        struct buf b = buf_of(text[explain], explain ? REPLY_EXPLAIN_BYTES_MAX : REPLY_BYTES_MAX);
        reply_write(&b, plan, &run->request, &run->decision, run->now_us);
        INVARIANT(!b.full);
        len[explain] = b.len;
        json_t *reply = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        INVARIANT(reply);
        INVARIANT(json_integer_value(json_object_get(reply, "ads")) == run->decision.ads);
        json_decref(reply);
    }
    INVARIANT(len[1] > len[0] && memcmp(text[0], text[1], len[0] - 1) == 0);
}

static void check_repeat(const struct plan *plan, struct run *run)
{
    struct decision first = run->decision;
    memset(&run->decision, 0x5a, sizeof run->decision);
    decide(plan, &run->request, run->now_us, NULL, &run->decision);
    const struct decision *d = &run->decision;
    INVARIANT(d->action == first.action && d->wanted == first.wanted &&
              d->cooldown_s == first.cooldown_s && d->reasons == first.reasons &&
              d->eligible == first.eligible && d->variant == first.variant);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!plans[0].plan) plans_make();
    if (size < 2 || size > BODY_BYTES_MAX) return 0;
    const struct fuzz_plan *p = &plans[data[0] % PLANS];
    static char made[BODY_BYTES_MAX];
    struct span body = {(const char *)data + 2, size - 2};
    if (data[1] % 2) {
        struct input in = {data + 2, data + size};
        struct buf b = buf_of(made, sizeof made);
        make_body(&b, &in);
        INVARIANT(!b.full);
        body = buf_text(&b);
    }
    struct run run;
    if (run_read_span(&run, p->plan, body) == ERR_OK) {
        decide(p->plan, &run.request, run.now_us, NULL, &run.decision);
        check_guardrails(p, &run);
        check_presence(&run);
        check_replies(p->plan, &run);
        check_repeat(p->plan, &run);
    } else {
        INVARIANT(data[1] % 2 == 0); /* what is made here can be read */
        INVARIANT(run.e.text[0] && run.e.offset <= body.len && err_status(run.e.code) == 400);
    }
    run_done(&run);
    return 0;
}
