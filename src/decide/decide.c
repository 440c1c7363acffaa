/* decide: allocate, gate, presence, mask, choose, settle. */
#include "decide/guardrail.h"

/* What conditions can read beside the session. */
static void fill_context(const struct plan *plan, struct request *request, int64_t now_us,
                         int variant)
{
    struct attributes *a = &request->attributes;
    const uint64_t segment = (uint64_t)1 << ATTRIBUTE_SLOT_SEGMENT_ID;
    const uint64_t named = (uint64_t)1 << ATTRIBUTE_SLOT_VARIANT;
    const uint64_t time = (uint64_t)1 << ATTRIBUTE_SLOT_HOUR | (uint64_t)1
                                                                   << ATTRIBUTE_SLOT_WEEKDAY;
    a->known &= ~(segment | named | time);

    a->known |= named;
    a->values[ATTRIBUTE_SLOT_VARIANT].s = plan->variants[variant].name;
    if (request->segment_id.len) {
        a->known |= segment;
        a->values[ATTRIBUTE_SLOT_SEGMENT_ID].s = request->segment_id;
    }
    if (!plan->reads_time) return;

    const int64_t day_s = 86400;
    int64_t s = now_us / 1000000 - (now_us % 1000000 < 0) + plan->timezone_offset_s;
    int64_t day = s / day_s - (s % day_s < 0);
    int64_t weekday = (day + 4) % 7; /* 1970-01-01 was a Thursday */
    a->known |= time;
    a->values[ATTRIBUTE_SLOT_HOUR].i = (s - day * day_s) / 3600;
    a->values[ATTRIBUTE_SLOT_WEEKDAY].i = weekday < 0 ? weekday + 7 : weekday;
}

/* Masks, then lets the policy choose among what is left. */
static void choose(const struct plan *plan, const struct request *request, struct probe *probe,
                   struct decision *out)
{
    const struct policy *policy = out->asked;
    action_set from = out->presence.usable;
    if (out->presence.fallback != FALLBACK_NONE) {
        policy = policy->fallback;
        from = policy->actions;
    }
    out->policy = policy;
    out->eligible = guardrail_mask(plan, request, from, out);
    probe_mark(probe, STAGE_MASK);

    struct choice_input in = {
        .actions = &plan->actions,
        .eligible = out->eligible,
        .attributes = &request->attributes,
        .draw_key = plan->variants[out->variant].draw_key,
        .exploration_key = request->request_id,
    };
    for (int i = 0; i < plan->actions.count; i++)
        in.posteriors[i] = action_in(out->presence.from_prior, i) ? &policy->prior[i]
                                                                  : &request->entries[i].posterior;
    policy_choose(policy, &in, &out->choice);
    probe_mark(probe, STAGE_CHOOSE);
}

/* The words for who decided, and why. */
static uint64_t reasons_of(const struct decision *d)
{
    uint64_t reasons = d->masked;
    if (!d->asked) return reasons;
    if (!policy_is(d->policy, POLICY_HAS_RULES))
        reasons |= REASON_BIT(REASON_POLICY);
    else
        reasons |= REASON_BIT(d->choice.rule >= 0 ? REASON_RULE : REASON_NO_RULE);
    if (d->presence.fallback != FALLBACK_NONE) reasons |= REASON_BIT(REASON_FALLBACK);
    if (d->presence.prior_family) reasons |= REASON_BIT(REASON_PRIOR_FAMILY);
    return reasons;
}

static void settle(const struct plan *plan, const struct request *request, struct decision *out)
{
    out->action = out->choice.action;
    out->wanted = out->choice.wanted;
    out->reasons |= reasons_of(out);

    const struct action *action = &plan->actions.actions[out->action];
    int64_t own_ms = out->choice.cooldown_ms >= 0 ? out->choice.cooldown_ms : action->cooldown_ms;
    out->ads = action->ads;
    out->max_duration_s = seconds_up(action->max_duration_ms);
    /* Where nobody was asked, no guardrail but the gate's own was looked at. */
    out->cooldown_s = out->asked ? guardrail_cooldown_s(plan, request, own_ms, action->ads > 0)
                                 : seconds_up(own_ms);
}

void decide(const struct plan *plan, struct request *request, int64_t now_us, struct probe *probe,
            struct decision *out)
{
    *out = (struct decision){0};

    allocate(plan, request, out);
    const struct policy *policy = plan->variants[out->variant].policy;
    fill_context(plan, request, now_us, out->variant);

    bool settled = guardrail_gate(plan, request, out);
    out->asked = settled ? NULL : policy;
    out->policy = policy;
    probe_mark(probe, STAGE_ALLOCATE);

    presence_classify(plan, out->asked, request, now_us, &out->presence);
    presence_classify_state(plan, out->asked, request, &out->state);
    probe_mark(probe, STAGE_PRESENCE);

    if (settled) {
        int none = plan->actions.no_ads;
        out->eligible = action_bit(none);
        out->choice =
            (struct choice){.action = none, .wanted = none, .rule = -1, .cooldown_ms = -1};
    } else {
        choose(plan, request, probe, out);
    }
    settle(plan, request, out);
    probe_mark(probe, STAGE_SETTLE);
}
