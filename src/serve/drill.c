#include "serve/drill.h"

#include "base/nearest.h"
#include "serve/body_write.h"
#include "wire/json_read.h"
#include "wire/json_write.h"

#include <stdio.h>

/* ---- what is asked for ---- */

static enum err_code pointer_at_signal(struct err *e)
{
    strcpy(e->pointer, "/signal");
    return e->code;
}

/* A drill that is asked for. */
struct asked {
    struct span name;    /* of the signal; empty: none */
    struct span request; /* JSON; empty: it is to be made up */
};

/* One value of any type, as it stands. */
static struct span value_take(struct json_reader *r)
{
    json_peek(r);
    const char *begin = r->at;
    json_skip(r);
    return (struct span){begin, (size_t)(r->at - begin)};
}

static enum err_code asked_read(struct drill *d, struct span text, struct asked *out, struct err *e)
{
    struct json_reader r;
    *out = (struct asked){{NULL, 0}, {NULL, 0}};
    json_reader_init(&r, text, d->scratch, sizeof d->scratch);
    if (json_peek(&r) != JSON_OBJECT && json_peek(&r) != JSON_ERROR)
        return err_set(e, ERR_FIELD_TYPE, "a drill must be a JSON object");
    bool seen = false;
    struct span key;
    json_object_begin(&r);
    while (json_object_next(&r, &key)) {
        bool request = span_is(key, "request");
        if (!request && !span_is(key, "signal")) {
            json_skip(&r);
        } else if (request ? out->request.len > 0 : seen) {
            json_fail(&r, ERR_JSON_DUPLICATE_KEY, "this key stands twice in its object");
        } else if (request) {
            out->request = value_take(&r);
        } else if (json_peek(&r) == JSON_STRING) {
            seen = json_string(&r, &out->name);
        } else {
            json_fail(&r, ERR_FIELD_TYPE, "`signal` must be a string");
        }
    }
    if (json_end(&r)) return ERR_OK;
    err_set(e, r.error, "%s", r.error_text);
    e->offset = json_error_offset(&r);
    return r.error == ERR_FIELD_TYPE ? pointer_at_signal(e) : r.error;
}

static enum err_code site_find(struct span name, enum signal_site *site, struct err *e)
{
    const struct span *names = signal_site_names();
    for (int i = 0; i < SITE_COUNT; i++) {
        if (!span_equal(name, names[i])) continue;
        *site = (enum signal_site)i;
        return ERR_OK;
    }
    struct span near = nearest_name(name, names, SITE_COUNT);
    int shown = name.len < 64 ? (int)name.len : 64;
    if (!name.len)
        err_set(e, ERR_FIELD_RANGE, "`signal` must name one; GET /v1/signals lists them");
    else if (near.len)
        err_set(e, ERR_FIELD_RANGE, "there is no signal `%.*s`; did you mean `%.*s`", shown,
                name.data, (int)near.len, near.data);
    else
        err_set(e, ERR_FIELD_RANGE, "there is no signal `%.*s`; GET /v1/signals lists them", shown,
                name.data);
    return pointer_at_signal(e);
}

/* ---- what is made up ---- */

static bool name_taken(const struct plan *plan, struct span name)
{
    for (int i = 0; i < plan->actions.count; i++)
        if (span_equal(plan->actions.actions[i].name, name)) return true;
    return plan_variant_find(plan, name) >= 0;
}

/* A name that neither a variant nor an action of the plan has. */
static struct span name_free(const struct plan *plan, char memory[16])
{
    for (int i = 0;; i++) {
        struct buf b = buf_of(memory, 16);
        buf_format(&b, "drill-%d", i);
        if (!name_taken(plan, buf_text(&b))) return buf_text(&b);
    }
}

/* What gets past the gate; for an invalid session, everything else with what is no value. */
static void put_session(struct buf *b, const struct plan *plan, const struct attributes *passing,
                        bool invalid)
{
    json_write_key(b, SPAN("session"));
    buf_char(b, '{');
    for (uint32_t slot = 0; slot < plan->schema.count; slot++) {
        const struct attribute *attribute = &plan->schema.attributes[slot];
        bool known = attribute_known(passing, (int)slot);
        if (!attribute_in_session(attribute) || (!known && !invalid)) continue;
        json_write_key(b, attribute->name);
        if (known)
            body_put_value(b, attribute->type, passing->values[slot]);
        else
            buf_lit(b, "[]");
    }
    buf_char(b, '}');
}

static void put_posteriors(struct buf *b, const struct plan *plan, const struct policy *policy,
                           enum signal_site site)
{
    char memory[16];
    json_write_key(b, SPAN("posteriors"));
    buf_char(b, '{');
    bool first = true;
    for (int i = 0; i < plan->actions.count; i++) {
        if (!action_in(policy->actions, i)) continue;
        bool faulty = first;
        first = false;
        if (faulty && site == SITE_POSTERIORS_PARTIAL) continue;
        json_write_key(b, plan->actions.actions[i].name);
        buf_span(b, faulty && site == SITE_POSTERIORS_INVALID ? SPAN("{\"alpha\":-1,\"beta\":2}")
                                                              : SPAN("{\"alpha\":2,\"beta\":2}"));
    }
    if (site == SITE_POSTERIORS_UNKNOWN_ACTION) {
        json_write_key(b, name_free(plan, memory));
        buf_lit(b, "{\"alpha\":2,\"beta\":2}");
    }
    buf_char(b, '}');
}

static bool about_posteriors(enum signal_site site)
{
    return site <= SITE_POSTERIORS_INVALID;
}

/* Policies with that fault: what they read, and may find too old. */
static bool policy_can_fire(const struct policy *policy, enum signal_site site)
{
    return !about_posteriors(site) ||
           (policy_reads_posteriors(policy) &&
            (site != SITE_POSTERIORS_STALE || policy->max_posterior_age_us > 0));
}

/* False: it does not fit. */
static bool body_make(struct drill *d, enum signal_site site, int variant, struct span *body)
{
    const struct plan *plan = d->request.plan;
    const struct policy *policy = plan->variants[variant].policy;
    const struct attributes *passing = &d->passing;
    struct buf b = buf_of(d->body, sizeof d->body);
    char memory[16];
    buf_char(&b, '{');
    json_write_key(&b, SPAN("variant"));
    json_write_string(&b, site == SITE_UNKNOWN_VARIANT ? name_free(plan, memory)
                                                       : plan->variants[variant].name);
    body_put_time(&b, plan, passing, d->request.wall_us);
    if (attribute_known(passing, ATTRIBUTE_SLOT_SEGMENT_ID)) {
        json_write_key(&b, SPAN("segment_id"));
        json_write_string(&b, passing->values[ATTRIBUTE_SLOT_SEGMENT_ID].s);
    }
    put_session(&b, plan, passing, site == SITE_SESSION_INVALID);
    if (site == SITE_SESSION_INVALID) {
        json_write_key(&b, SPAN("last"));
        buf_lit(&b, "{\"seconds_ago\":[],\"cooldown_s\":[]}");
    }
    if (about_posteriors(site) && site != SITE_POSTERIORS_ABSENT)
        put_posteriors(&b, plan, policy, site);
    if (site == SITE_POSTERIORS_STALE) {
        json_write_key(&b, SPAN("posteriors_as_of"));
        buf_lit(&b, "\"1970-01-01T00:00:00Z\"");
    }
    buf_char(&b, '}');
    *body = buf_text(&b);
    return !b.full;
}

/* ---- what comes of it ---- */

/* No anomaly of a graver kind has the line instead. */
static bool has_line(const struct decision *decision, enum signal_site site)
{
    switch (site) {
    case SITE_POSTERIORS_PARTIAL:
        return decision->presence.status == POSTERIORS_PARTIAL;
    case SITE_POSTERIORS_STALE:
        return decision->presence.status == POSTERIORS_STALE;
    case SITE_POSTERIORS_ABSENT:
        return decision->presence.status == POSTERIORS_ABSENT;
    case SITE_POSTERIORS_UNKNOWN_ACTION:
        return decision->presence.status == POSTERIORS_UNKNOWN_ACTION;
    case SITE_POSTERIORS_INVALID:
        return decision->presence.status == POSTERIORS_INVALID;
    case SITE_SESSION_INVALID:
        return decision->state.status == STATE_INVALID;
    case SITE_UNKNOWN_VARIANT:
        return decision->variant_unknown;
    default:
        return false;
    }
}

/* The attributes of a session, and of `last`, that anybody reads. */
static uint64_t session_read(const struct plan *plan)
{
    uint64_t read = plan->gate_read, context = 0;
    for (uint32_t slot = 0; slot < plan->schema.count; slot++)
        if (plan->schema.attributes[slot].source == ATTRIBUTE_CONTEXT)
            context |= (uint64_t)1 << slot;
    if (!drill_gate_shut(plan)) {
        read |= plan->guardrails_read;
        for (int i = 0; i < plan->variant_count; i++)
            read |= plan->variants[i].policy->attributes_read;
    }
    return read & ~context;
}

/* False only where it is certain: what the plan lets fire and no drill fires is not proved. */
static bool plan_can_fire(const struct plan *plan, enum signal_site site)
{
    if (site == SITE_UNKNOWN_VARIANT) return true;
    if (site == SITE_SESSION_INVALID) return session_read(plan) != 0;
    for (int i = 0; i < plan->variant_count; i++)
        if (policy_can_fire(plan->variants[i].policy, site)) return !drill_gate_shut(plan);
    return false;
}

static bool request_can_fire(enum signal_site site)
{
    return site <= SITE_UNKNOWN_VARIANT;
}

/* Answers it, and tells nobody. */
static bool body_fires(struct drill *d, enum signal_site site, struct span body)
{
    struct http_head head = {0};
    struct buf out = buf_of(d->answer, sizeof d->answer);
    return request_answer(&d->request, body, &head, &out).variant >= 0 &&
           has_line(&d->request.decision, site);
}

/* As request_serve does it, but that it is a drill. The answer's JSON, without the newline that
 * ends it. */
static struct span body_serve(struct drill *d, struct span body)
{
    struct http_head head = {0};
    struct buf out = buf_of(d->answer, sizeof d->answer);
    struct request_context *x = &d->request;
    if (request_answer(x, body, &head, &out).variant >= 0 && x->writer)
        signal_drill(x->writer, x->plan, &x->request, &x->decision, x->wall_us);
    const char *end = memmem(out.data, out.len, "\r\n\r\n", 4);
    INVARIANT(end != NULL);
    INVARIANT(out.data[out.len - 1] == '\n');
    return (struct span){end + 4, out.len - 1 - (size_t)(end + 4 - out.data)};
}

static bool variant_fires(struct drill *d, enum signal_site site, int variant, struct span *body)
{
    return body_make(d, site, variant, body) && body_fires(d, site, *body);
}

/* A session of which nothing is known first: it is the simplest one, and if all of it is to be
 * invalid, what the gate reads is too. */
static bool request_find(struct drill *d, enum signal_site site, struct span *body)
{
    const struct plan *plan = d->request.plan;
    drill_gate_init(&d->gate, plan);
    for (int variant = 0; variant < plan->variant_count; variant++) {
        if (!policy_can_fire(plan->variants[variant].policy, site)) continue;
        d->passing.known = 0;
        if (variant_fires(d, site, variant, body)) return true;
        struct request *request = &d->request.request;
        if (!drill_gate_open(&d->gate, variant, DRILL_GATE_TRIES / plan->variant_count, request))
            continue;
        d->passing = request->attributes;
        if (variant_fires(d, site, variant, body)) return true;
    }
    return false;
}

/* What is wrong with it is told as it is of any request, and stands under `request`. */
static enum err_code given_read(struct drill *d, struct span given, struct err *e)
{
    struct request_context *x = &d->request;
    enum err_code code = request_read(x->plan, given, x->scratch, &x->request, e);
    if (!code) return ERR_OK;
    char pointer[sizeof e->pointer];
    memcpy(pointer, e->pointer, sizeof pointer);
    snprintf(e->pointer, sizeof e->pointer, "/request%.*s", (int)(sizeof pointer - 9), pointer);
    return code;
}

/* The request that was given, or one that is made up. */
static enum err_code body_find(struct drill *d, enum signal_site site, struct span given,
                               struct span *body, struct err *e)
{
    const char *name = signal_sites[site].name;
    *body = given;
    if (given.len) {
        if (given_read(d, given, e)) return e->code;
        if (body_fires(d, site, given)) return ERR_OK;
        err_set(e, ERR_NOT_FIRED, "the request that was given does not fire `%s`", name);
        strcpy(e->pointer, "/request");
        return e->code;
    }
    if (!plan_can_fire(d->request.plan, site)) {
        err_set(e, ERR_CANNOT_FIRE,
                "no request can fire `%s` under this plan: nothing reads what it is about, or "
                "`ad_free` stops all",
                name);
        return pointer_at_signal(e);
    }
    if (request_find(d, site, body)) return ERR_OK;
    err_set(e, ERR_NOT_FIRED,
            "no request that was made up fires `%s` under this plan, though one might: `ad_free` "
            "lets none of them through; give one, as `request`",
            name);
    return pointer_at_signal(e);
}

enum err_code drill_run(struct drill *d, struct span text, struct drill_outcome *out, struct err *e)
{
    struct asked asked;
    struct span body;
    enum signal_site site = SITE_COUNT;
    enum err_code code = asked_read(d, text, &asked, e);
    if (!code) code = site_find(asked.name, &site, e);
    if (code) return code;
    if (!request_can_fire(site)) {
        err_set(e, ERR_CANNOT_FIRE, "no request can fire `%s`: its opportunity is %s",
                signal_sites[site].name, signal_sites[site].opportunity);
        return pointer_at_signal(e);
    }
    code = body_find(d, site, asked.request, &body, e);
    if (!code) *out = (struct drill_outcome){site, body, body_serve(d, body)};
    return code;
}

void drill_init(struct drill *d)
{
    d->request.explain = false;
    d->request.probe = NULL;
    request_id_init(&d->request.ids);
}
