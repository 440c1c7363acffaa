/* reply: the answer. Names of the plan need no escaping (the loader allows only plain ones); what
 * the caller sent does. */
#include "decide/reply.h"

#include "wire/json_write.h"

#define PUT_NAME(b, key, name) \
    (buf_lit((b), ",\"" key "\":\""), buf_span((b), (name)), buf_char((b), '"'))

static void put_reasons(struct buf *b, uint64_t reasons)
{
    buf_lit(b, ",\"reasons\":[");
    for (bool first = true; reasons; reasons &= reasons - 1, first = false) {
        buf_put(b, &",\""[first], first ? 1 : 2);
        buf_span(b, reason_word((enum reason)__builtin_ctzll(reasons)));
        buf_char(b, '"');
    }
    buf_char(b, ']');
}

static void put_action(struct buf *b, const struct plan *plan, const struct decision *d)
{
    PUT_NAME(b, "action", plan->actions.actions[d->action].name);
    if (d->wanted != d->action) PUT_NAME(b, "wanted", plan->actions.actions[d->wanted].name);
    buf_lit(b, ",\"ads\":");
    buf_u64(b, (uint64_t)d->ads);
    if (d->max_duration_s) {
        buf_lit(b, ",\"max_duration_s\":");
        buf_u64(b, (uint64_t)d->max_duration_s);
    }
    buf_lit(b, ",\"cooldown_s\":");
    buf_u64(b, (uint64_t)d->cooldown_s);
}

void reply_write(struct buf *b, const struct plan *plan, const struct request *request,
                 const struct decision *d, int64_t now_us)
{
    buf_lit(b, "{\"request_id\":");
    json_write_string(b, request->request_id);
    buf_lit(b, ",\"decided_at\":\"");
    request_time_write(b, now_us);
    buf_char(b, '"');
    PUT_NAME(b, "variant",
             d->variant_unknown ? SPAN(VARIANT_UNKNOWN_NAME) : plan->variants[d->variant].name);
    if (d->variant_unknown) {
        buf_lit(b, ",\"requested_variant\":");
        json_write_string(b, request->variant_name);
    }
    PUT_NAME(b, "assignment", assignment_word(d->assignment));
    if (d->experiment >= 0) PUT_NAME(b, "experiment", plan->experiments[d->experiment].name);
    PUT_NAME(b, "policy", d->policy->name);
    PUT_NAME(b, "version", plan->version);
    PUT_NAME(b, "fingerprint", ((struct span){plan->fingerprint, 12}));
    if (request->segment_id.len) {
        buf_lit(b, ",\"segment_id\":");
        json_write_string(b, request->segment_id);
    }
    put_action(b, plan, d);
    PUT_NAME(b, "posteriors", posteriors_status_word(d->presence.status));
    PUT_NAME(b, "state", state_status_word(d->state.status));
    put_reasons(b, d->reasons);
    if (request->explain) explain_write(b, plan, request, d);
    buf_char(b, '}');
}
