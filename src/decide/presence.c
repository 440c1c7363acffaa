/* presence: "missing" is not one condition.
 *
 * Whether something is missing depends on who is asked: a policy that reads no posteriors misses
 * none, however many it was not sent. So the first question is who is asked, the second what was
 * sent for the actions that this policy uses (fixed when the plan was loaded; never this request's
 * mask), and only then what to do.
 *
 *   asked reads posteriors | sent                          | condition
 *   -----------------------+-------------------------------+----------------------------------
 *   no, or nobody asked    | nothing                       | by_design
 *   no, or nobody asked    | something                     | unsolicited
 *   yes                    | every used action, valid      | complete
 *   yes                    | {} and on_empty: cold_start   | cold_start
 *   yes                    | some used actions missing     | partial         -> on_partial
 *   yes                    | all used actions missing      | absent          -> the fallback
 *   yes                    | a used action is impossible   | invalid         -> as if missing
 *   yes                    | an action the plan has not    | unknown_action  -> that entry ignored
 *   yes                    | valid ones, but too old       | stale           -> on_stale
 *
 * Every condition that holds is kept; the status is the gravest. */
#include "decide/presence.h"

/* The family of the first used action that has exactly one family's names, valid or not; -1. */
static int request_family(const struct plan *plan, const struct policy *policy,
                          const struct request *request)
{
    for (int i = 0; i < plan->actions.count; i++)
        if (action_in(policy->actions, i) && request->entries[i].state >= ENTRY_IMPOSSIBLE)
            return request->entries[i].posterior.family;
    return -1;
}

/* Sorts the used actions into missing, invalid and valid. Returns the valid ones. */
static action_set sort_entries(const struct plan *plan, const struct policy *policy,
                               const struct request *request, int family, struct presence *out)
{
    if (request->posteriors_sent == POSTERIORS_SENT_OTHER) {
        out->invalid = policy->actions;
        return 0;
    }
    if (request->posteriors_sent != POSTERIORS_SENT_OBJECT) {
        out->missing = policy->actions;
        return 0;
    }
    action_set valid = 0;
    for (int i = 0; i < plan->actions.count; i++) {
        const struct posterior_entry *entry = &request->entries[i];
        if (!action_in(policy->actions, i)) {
            if (entry->state != ENTRY_MISSING) out->unused |= action_bit(i);
        } else if (entry->state == ENTRY_MISSING) {
            out->missing |= action_bit(i);
        } else if (entry->state == ENTRY_VALID && entry->posterior.family == family) {
            valid |= action_bit(i);
        } else {
            out->invalid |= action_bit(i);
        }
    }
    return valid;
}

static void hold(struct presence *out, enum posteriors_status status)
{
    out->conditions |= 1u << status;
    if (status > out->status) out->status = status;
}

static void find_conditions(const struct policy *policy, const struct request *request,
                            action_set valid, int64_t now_us, struct presence *out)
{
    out->status = POSTERIORS_COMPLETE;
    if (out->missing == policy->actions)
        hold(out, POSTERIORS_ABSENT);
    else if (out->missing)
        hold(out, POSTERIORS_PARTIAL);
    if (out->invalid) hold(out, POSTERIORS_INVALID);
    if (request->unknown_actions) hold(out, POSTERIORS_UNKNOWN_ACTION);
    if (valid && policy->max_posterior_age_us && request->as_of_us != REQUEST_TIME_NONE &&
        request->as_of_us < now_us - policy->max_posterior_age_us)
        hold(out, POSTERIORS_STALE);
    if (!out->conditions) out->conditions = 1u << POSTERIORS_COMPLETE;
}

/* Leaves out `gone`, and with them every action of more ads than the lightest of them. Leaving out
 * a light pod alone would push its share to heavier ones; so no draw's answer gets heavier. */
static action_set exclude(const struct plan *plan, action_set usable, action_set gone)
{
    if (!gone) return usable;
    int lightest = plan->actions.actions[action_at(&plan->actions, gone, 0)].ads;
    return (action_set)(usable & ~gone & ~action_heavier(&plan->actions, lightest));
}

/* Takes the prior for the actions without a valid entry, or leaves them out. */
static void settle_usable(const struct plan *plan, const struct policy *policy, action_set valid,
                          bool take_prior, int family, struct presence *out)
{
    action_set gone = (action_set)(policy->actions & ~valid);
    if (take_prior && gone) {
        int prior_family = policy->prior[plan->actions.no_ads].family;
        if (family < 0 || family == prior_family) {
            out->from_prior = gone;
            gone = 0;
        } else {
            out->prior_family = true;
        }
    }
    out->usable = exclude(plan, policy->actions, gone);
}

static enum fallback_reason why_unusable(const struct presence *p)
{
    if (p->prior_family) return FALLBACK_PRIOR_FAMILY;
    return p->invalid ? FALLBACK_INVALID : FALLBACK_PARTIAL;
}

void presence_classify(const struct plan *plan, const struct policy *asked,
                       const struct request *request, int64_t now_us, struct presence *out)
{
    *out = (struct presence){.status = POSTERIORS_BY_DESIGN};
    if (!asked || !policy_reads_posteriors(asked)) {
        if (request->posteriors_sent >= POSTERIORS_SENT_OBJECT)
            out->status = POSTERIORS_UNSOLICITED;
        out->conditions = 1u << out->status;
        if (asked) out->usable = asked->actions;
        return;
    }

    int family = request->posteriors_sent == POSTERIORS_SENT_OBJECT
                     ? request_family(plan, asked, request)
                     : -1;
    if (request->posteriors_sent == POSTERIORS_SENT_EMPTY &&
        asked->on_empty == ON_EMPTY_COLD_START) {
        out->status = POSTERIORS_COLD_START;
        out->conditions = 1u << POSTERIORS_COLD_START;
        settle_usable(plan, asked, 0, true, -1, out);
        return;
    }

    action_set valid = sort_entries(plan, asked, request, family, out);
    find_conditions(asked, request, valid, now_us, out);

    if (!valid) { /* invalid ones count as missing: then all are */
        out->fallback = out->invalid ? FALLBACK_INVALID : FALLBACK_ABSENT;
    } else if (out->conditions >> POSTERIORS_STALE & 1 && asked->on_stale == ON_STALE_FALLBACK) {
        out->fallback = FALLBACK_STALE;
    } else if (valid != asked->actions && asked->on_partial == ON_PARTIAL_FALLBACK) {
        out->fallback = why_unusable(out);
    } else {
        settle_usable(plan, asked, valid, asked->on_partial == ON_PARTIAL_PRIOR, family, out);
        if (!action_in(out->usable, plan->actions.no_ads) ||
            !(out->usable & plan->actions.with_ads))
            out->fallback = why_unusable(out);
    }
}

void presence_classify_state(const struct plan *plan, const struct policy *asked,
                             const struct request *request, struct session_state *out)
{
    uint64_t read = plan->gate_read, needed = plan->gate_needed;
    if (asked) {
        read = plan->guardrails_read | asked->attributes_read;
        needed = plan->guardrails_needed | asked->attributes_needed;
    }
    const struct attributes *a = &request->attributes;
    out->invalid = a->invalid & read;
    /* No segment is no lack; and the rest of the context is known wherever something reads it. */
    out->unknown = needed & ~a->known & ~a->invalid & ~((uint64_t)1 << ATTRIBUTE_SLOT_SEGMENT_ID);

    /* Before the first break of a session there is no last one. */
    if (attribute_known(a, ATTRIBUTE_SLOT_BREAKS_IN_SESSION) &&
        a->values[ATTRIBUTE_SLOT_BREAKS_IN_SESSION].i == 0)
        out->unknown &= ~((uint64_t)1 << ATTRIBUTE_SLOT_SECONDS_SINCE_LAST_BREAK_END);

    /* Before the first answer there is no last one. */
    if (!request->last_sent)
        out->unknown &= ~((uint64_t)1 << ATTRIBUTE_SLOT_LAST_SECONDS_AGO |
                          (uint64_t)1 << ATTRIBUTE_SLOT_LAST_COOLDOWN_S);

    out->status = out->invalid ? STATE_INVALID : out->unknown ? STATE_PARTIAL : STATE_COMPLETE;
}
