/* request_read: JSON straight into the plan's terms, in one pass and in the sender's order.
 *
 * Each object has a table of its fields; a field is found, its bit checked and set (so a key that
 * stands twice is refused), and its reader called. What the tables do not know is skipped, and
 * checked for syntax. */
#include "decide/request.h"

#include "wire/json_read.h"

struct reading {
    struct json_reader json;
    const struct plan *plan;
    struct request *out;
    struct err *e;
    bool refused; /* *e is set; the reader has failed as well, so everything unwinds */
};

/* Ends the reading with an error of a field: `pointer` is where. */
static bool refuse(struct reading *r, enum err_code code, const char *pointer, const char *text)
{
    if (r->json.error || r->refused) return false;
    r->refused = true;
    err_set(r->e, code, "%s", text);
    if (r->e) {
        r->e->offset = (size_t)(r->json.at - r->json.begin);
        strncpy(r->e->pointer, pointer, sizeof r->e->pointer - 1);
    }
    json_fail(&r->json, code, text);
    return false;
}

static bool once(struct reading *r, uint32_t *seen, int field)
{
    if (*seen >> field & 1) {
        json_fail(&r->json, ERR_JSON_DUPLICATE_KEY, "this key stands twice in its object");
        return false;
    }
    *seen |= 1u << field;
    return true;
}

/* ---- the request's own fields ---- */

static void read_id(struct reading *r, struct span *id, size_t bytes_max, const char *pointer)
{
    switch (json_peek(&r->json)) {
    case JSON_NULL:
        json_null(&r->json);
        break;
    case JSON_STRING: {
        struct span text = {NULL, 0};
        if (!json_string(&r->json, &text)) return;
        if (text.len > bytes_max) {
            char why[64];
            struct buf b = buf_of(why, sizeof why - 1);
            buf_lit(&b, "must be at most ");
            buf_u64(&b, bytes_max);
            buf_lit(&b, " bytes long");
            why[b.len] = 0;
            refuse(r, ERR_FIELD_RANGE, pointer, why);
        } else {
            *id = text;
        }
        break;
    }
    case JSON_ERROR:
        json_null(&r->json);
        break;
    default:
        refuse(r, ERR_FIELD_TYPE, pointer, "must be a string");
    }
}

static void read_time(struct reading *r, int64_t *us, const char *pointer)
{
    struct span text = {NULL, 0};
    enum json_type type = json_peek(&r->json);
    if (type == JSON_NULL) {
        json_null(&r->json);
    } else if (type != JSON_STRING && type != JSON_ERROR) {
        refuse(r, ERR_FIELD_TYPE, pointer, "must be a string with an RFC 3339 time");
    } else if (json_string(&r->json, &text) && !request_time_read(text, us)) {
        refuse(r, ERR_FIELD_RANGE, pointer,
               "must be an RFC 3339 time of the years 0000 to 9999, such as 2026-11-30T08:00:00Z");
    }
}

/* The caller's budget is checked; what it is for is not built yet. */
static void read_tmax(struct reading *r)
{
    static const double TMAX_MS_MAX = 1e9;
    struct decimal number;
    enum json_type type = json_peek(&r->json);
    if (type == JSON_NULL)
        json_null(&r->json);
    else if (type != JSON_NUMBER && type != JSON_ERROR)
        refuse(r, ERR_FIELD_TYPE, "/tmax_ms", "must be a number");
    else if (json_number(&r->json, &number) && !(number.value >= 0 && number.value <= TMAX_MS_MAX))
        refuse(r, ERR_FIELD_RANGE, "/tmax_ms", "must be from 0 to 1,000,000,000");
}

static void read_explain(struct reading *r)
{
    enum json_type type = json_peek(&r->json);
    if (type == JSON_NULL)
        json_null(&r->json);
    else if (type == JSON_BOOL || type == JSON_ERROR)
        json_bool(&r->json, &r->out->explain);
    else
        refuse(r, ERR_FIELD_TYPE, "/explain", "must be true or false");
}

/* ---- session and last: what is no value of its type is unknown and told, never an error ---- */

/* A fraction of seconds becomes the whole number that allows less: what has passed or is left is
 * rounded down, what is used up is rounded up. False: it has no such number. */
static bool seconds_whole(enum attribute_source source, double seconds, int64_t *whole)
{
    bool up = source == ATTRIBUTE_SECONDS_USED;
    if (source != ATTRIBUTE_SECONDS && !up) return false;
    if (!(seconds >= 0 && seconds < 9e18)) return false;
    *whole = (int64_t)seconds;
    if (up) *whole += (double)*whole < seconds;
    return true;
}

static void read_attribute_number(struct reading *r, const struct attribute *attribute, int slot)
{
    struct attributes *a = &r->out->attributes;
    struct decimal number;
    if (!json_number(&r->json, &number)) return;
    bool valid;
    if (attribute->type == ATTRIBUTE_DOUBLE) {
        valid = number.value - number.value == 0; /* finite */
        a->values[slot].d = number.value;
    } else {
        valid = number.integral || seconds_whole(attribute->source, number.value, &number.integer);
        if (attribute->source != ATTRIBUTE_DECLARED && valid && number.integer < 0) valid = false;
        a->values[slot].i = number.integer;
    }
    *(valid ? &a->known : &a->invalid) |= (uint64_t)1 << slot;
}

static void read_attribute(struct reading *r, int slot)
{
    const struct attribute *attribute = &r->plan->schema.attributes[slot];
    struct attributes *a = &r->out->attributes;
    uint64_t bit = (uint64_t)1 << slot;
    enum json_type type = json_peek(&r->json);
    if (type == JSON_NULL) {
        json_null(&r->json);
    } else if (type == JSON_NUMBER &&
               (attribute->type == ATTRIBUTE_INT || attribute->type == ATTRIBUTE_DOUBLE)) {
        read_attribute_number(r, attribute, slot);
    } else if (type == JSON_BOOL && attribute->type == ATTRIBUTE_BOOL) {
        if (json_bool(&r->json, &a->values[slot].b)) a->known |= bit;
    } else if (type == JSON_STRING && attribute->type == ATTRIBUTE_STRING) {
        if (!json_string(&r->json, &a->values[slot].s)) return;
        if (a->values[slot].s.len <= ATTRIBUTE_STRING_BYTES_MAX)
            a->known |= bit;
        else
            a->invalid |= bit;
    } else {
        a->invalid |= bit;
        json_skip(&r->json);
    }
}

static void read_session(struct reading *r)
{
    enum json_type type = json_peek(&r->json);
    if (type == JSON_NULL) {
        json_null(&r->json);
        return;
    }
    if (type != JSON_OBJECT && type != JSON_ERROR) {
        refuse(r, ERR_FIELD_TYPE, "/session", "must be an object");
        return;
    }
    uint64_t seen = 0;
    struct span key;
    json_object_begin(&r->json);
    while (json_object_next(&r->json, &key)) {
        int slot = plan_attribute_find(r->plan, key);
        if (slot < 0) {
            json_skip(&r->json);
        } else if (seen >> slot & 1) {
            json_fail(&r->json, ERR_JSON_DUPLICATE_KEY, "this key stands twice in its object");
        } else {
            seen |= (uint64_t)1 << slot;
            read_attribute(r, slot);
        }
    }
}

/* Clocks differ, so a last answer from the future, or from ages ago, is nobody's fault. */
static void read_last_number(struct reading *r, int slot)
{
    struct attributes *a = &r->out->attributes;
    struct decimal number = {.value = -1};
    enum json_type type = json_peek(&r->json);
    if (type == JSON_NULL) {
        json_null(&r->json);
        return;
    }
    if (type != JSON_NUMBER)
        json_skip(&r->json);
    else if (!json_number(&r->json, &number))
        return;
    bool valid = number.value >= 0 && number.value <= ATTRIBUTE_LAST_S_MAX;
    a->values[slot].d = number.value;
    *(valid ? &a->known : &a->invalid) |= (uint64_t)1 << slot;
}

static void read_last(struct reading *r)
{
    enum json_type type = json_peek(&r->json);
    if (type == JSON_NULL) {
        json_null(&r->json);
        return;
    }
    if (type != JSON_OBJECT && type != JSON_ERROR) {
        refuse(r, ERR_FIELD_TYPE, "/last", "must be an object");
        return;
    }
    uint32_t seen = 0;
    struct span key;
    json_object_begin(&r->json);
    while (json_object_next(&r->json, &key)) {
        r->out->last_sent = true;
        if (SPAN_IS(key, "seconds_ago")) {
            if (once(r, &seen, 0)) read_last_number(r, ATTRIBUTE_SLOT_LAST_SECONDS_AGO);
        } else if (SPAN_IS(key, "cooldown_s")) {
            if (once(r, &seen, 1)) read_last_number(r, ATTRIBUTE_SLOT_LAST_COOLDOWN_S);
        } else { /* `ads_delivered` too: it bears on no decision */
            json_skip(&r->json);
        }
    }
}

/* ---- posteriors: judged later, by presence; here they are only sorted ---- */

static void read_entry(struct reading *r, struct posterior_entry *entry)
{
    enum json_type type = json_peek(&r->json);
    if (type != JSON_OBJECT) {
        entry->state = type == JSON_NULL ? ENTRY_MISSING : ENTRY_MALFORMED;
        json_skip(&r->json);
        return;
    }
    double values[PARAMETER_COUNT];
    uint32_t named = 0;
    bool other_names = false, numbers = true;
    struct span key;
    json_object_begin(&r->json);
    while (json_object_next(&r->json, &key)) {
        int parameter = posterior_parameter_find(key);
        if (parameter < 0) {
            other_names = true;
            json_skip(&r->json);
            continue;
        }
        if (!once(r, &named, parameter)) return;
        if (json_peek(&r->json) == JSON_NUMBER) {
            struct decimal number;
            if (json_number(&r->json, &number)) values[parameter] = number.value;
        } else {
            numbers = false;
            json_skip(&r->json);
        }
    }
    int family = other_names ? -1 : posterior_family_of(named);
    if (!named && !other_names) {
        entry->state = ENTRY_MISSING;
    } else if (family < 0) {
        entry->state = ENTRY_MALFORMED;
    } else if (numbers && !r->json.error &&
               posterior_make((enum posterior_family)family, values, &entry->posterior)) {
        entry->state = ENTRY_VALID;
    } else {
        entry->state = ENTRY_IMPOSSIBLE;
        entry->posterior.family = (uint8_t)family;
    }
}

/* At most `max` bytes, without cutting a UTF-8 sequence. */
static struct span span_cut(struct span text, size_t max)
{
    if (text.len <= max) return text;
    while (max && ((unsigned char)text.data[max] & 0xc0) == 0x80) max--;
    return (struct span){text.data, max};
}

static void note_unknown_action(struct request *out, struct span name)
{
    bool kept = out->unknown_actions < REQUEST_UNKNOWN_NAMES_MAX;
    if (kept)
        out->unknown_names[out->unknown_actions] = span_cut(name, REQUEST_UNKNOWN_NAME_BYTES_MAX);
    out->unknown_names_cut |= !kept || name.len > REQUEST_UNKNOWN_NAME_BYTES_MAX;
    out->unknown_actions++;
}

static void read_posteriors(struct reading *r)
{
    struct request *out = r->out;
    enum json_type type = json_peek(&r->json);
    if (type == JSON_NULL) {
        json_null(&r->json);
        return;
    }
    if (type != JSON_OBJECT) {
        out->posteriors_sent = POSTERIORS_SENT_OTHER;
        json_skip(&r->json);
        return;
    }
    out->posteriors_sent = POSTERIORS_SENT_EMPTY;
    uint32_t seen = 0;
    struct span key;
    json_object_begin(&r->json);
    while (json_object_next(&r->json, &key)) {
        out->posteriors_sent = POSTERIORS_SENT_OBJECT;
        int action = action_find(&r->plan->actions, key);
        if (action < 0) {
            note_unknown_action(out, key);
            json_skip(&r->json);
        } else if (once(r, &seen, action)) {
            read_entry(r, &out->entries[action]);
        }
    }
}

/* ---- the request ---- */

enum field {
    FIELD_REQUEST_ID,
    FIELD_SEGMENT_ID,
    FIELD_UNIT_ID,
    FIELD_SESSION_ID,
    FIELD_VARIANT,
    FIELD_SESSION,
    FIELD_POSTERIORS,
    FIELD_POSTERIORS_AS_OF,
    FIELD_TIME,
    FIELD_LAST,
    FIELD_EXPLAIN,
    FIELD_TMAX_MS,
    FIELD_OPPORTUNITIES,
    FIELD_COUNT,
};

/* By length first: then one comparison of a known size settles it. */
static int field_find(struct span key)
{
    switch (key.len) {
    case 4:
        if (SPAN_IS(key, "time")) return FIELD_TIME;
        if (SPAN_IS(key, "last")) return FIELD_LAST;
        break;
    case 7:
        if (SPAN_IS(key, "session")) return FIELD_SESSION;
        if (SPAN_IS(key, "unit_id")) return FIELD_UNIT_ID;
        if (SPAN_IS(key, "variant")) return FIELD_VARIANT;
        if (SPAN_IS(key, "explain")) return FIELD_EXPLAIN;
        if (SPAN_IS(key, "tmax_ms")) return FIELD_TMAX_MS;
        break;
    case 10:
        if (SPAN_IS(key, "request_id")) return FIELD_REQUEST_ID;
        if (SPAN_IS(key, "posteriors")) return FIELD_POSTERIORS;
        if (SPAN_IS(key, "segment_id")) return FIELD_SEGMENT_ID;
        if (SPAN_IS(key, "session_id")) return FIELD_SESSION_ID;
        break;
    case 13:
        if (SPAN_IS(key, "opportunities")) return FIELD_OPPORTUNITIES;
        break;
    case 16:
        if (SPAN_IS(key, "posteriors_as_of")) return FIELD_POSTERIORS_AS_OF;
        break;
    }
    return -1;
}

static void read_field(struct reading *r, enum field field)
{
    struct request *out = r->out;
    switch (field) {
    case FIELD_REQUEST_ID:
        read_id(r, &out->request_id, REQUEST_ID_BYTES_MAX, "/request_id");
        break;
    case FIELD_SEGMENT_ID:
        read_id(r, &out->segment_id, REQUEST_NAME_BYTES_MAX, "/segment_id");
        break;
    case FIELD_UNIT_ID:
        read_id(r, &out->unit_id, REQUEST_UNIT_BYTES_MAX, "/unit_id");
        break;
    case FIELD_SESSION_ID:
        read_id(r, &out->session_id, REQUEST_UNIT_BYTES_MAX, "/session_id");
        break;
    case FIELD_VARIANT:
        read_id(r, &out->variant_name, REQUEST_NAME_BYTES_MAX, "/variant");
        break;
    case FIELD_SESSION:
        read_session(r);
        break;
    case FIELD_POSTERIORS:
        read_posteriors(r);
        break;
    case FIELD_POSTERIORS_AS_OF:
        read_time(r, &out->as_of_us, "/posteriors_as_of");
        break;
    case FIELD_TIME:
        read_time(r, &out->time_us, "/time");
        break;
    case FIELD_LAST:
        read_last(r);
        break;
    case FIELD_EXPLAIN:
        read_explain(r);
        break;
    case FIELD_TMAX_MS:
        read_tmax(r);
        break;
    case FIELD_OPPORTUNITIES:
        refuse(r, ERR_UNSUPPORTED, "/opportunities", "is reserved and not supported yet");
        break;
    case FIELD_COUNT:
        break;
    }
}

static void request_init(const struct plan *plan, struct request *out)
{
    const struct span none = {NULL, 0};
    out->request_id = out->unit_id = out->session_id = out->segment_id = out->variant_name = none;
    out->time_us = out->as_of_us = REQUEST_TIME_NONE;
    out->last_sent = out->explain = false;
    out->attributes.known = out->attributes.invalid = 0;
    out->posteriors_sent = POSTERIORS_SENT_NOTHING;
    out->unknown_actions = 0;
    out->unknown_names_cut = false;
    for (int i = 0; i < plan->actions.count; i++) out->entries[i].state = ENTRY_MISSING;
}

/* Names to numbers, once all fields are there. */
static void request_resolve(const struct plan *plan, struct request *out)
{
    out->segment = plan->segment_count + 1;
    if (out->segment_id.len) {
        int found = plan_segment_find(plan, out->segment_id);
        out->segment = found >= 0 ? found : plan->segment_count;
    }
    out->variant = REQUEST_VARIANT_NONE;
    if (out->variant_name.len) {
        int found = plan_variant_find(plan, out->variant_name);
        out->variant = found >= 0 ? found : REQUEST_VARIANT_UNKNOWN;
    }
}

enum err_code request_read(const struct plan *plan, struct span body, char *scratch,
                           struct request *out, struct err *e)
{
    struct reading r = {.plan = plan, .out = out, .e = e};
    request_init(plan, out);
    json_reader_init(&r.json, body, scratch, body.len);

    enum json_type type = json_peek(&r.json);
    if (type != JSON_OBJECT && type != JSON_ERROR) {
        refuse(&r, ERR_FIELD_TYPE, "", "a request must be a JSON object");
    } else {
        uint32_t seen = 0;
        struct span key;
        json_object_begin(&r.json);
        while (json_object_next(&r.json, &key)) {
            int field = field_find(key);
            if (field < 0)
                json_skip(&r.json);
            else if (once(&r, &seen, field))
                read_field(&r, (enum field)field);
        }
        json_end(&r.json);
    }
    if (r.refused) return r.json.error;
    if (r.json.error) {
        err_set(e, r.json.error, "%s", r.json.error_text);
        if (e) e->offset = json_error_offset(&r.json);
        return r.json.error;
    }
    request_resolve(plan, out);
    return ERR_OK;
}
