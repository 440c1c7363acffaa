/* request: one listening session, as a caller describes it, read straight into the plan's terms.
 *
 * Threads: a request belongs to one. Ownership: its spans point into the body, or into the scratch
 * that was given for unescaped strings; both must outlive it. Nothing allocates. */
#ifndef INTERLUDE_DECIDE_REQUEST_H
#define INTERLUDE_DECIDE_REQUEST_H

#include "base/buf.h"
#include "base/err.h"
#include "decide/plan.h"

enum {
    REQUEST_BYTES_MAX = 64 * 1024,
    REQUEST_ID_BYTES_MAX = 128,
    REQUEST_UNIT_BYTES_MAX = 256, /* unit_id and session_id */
    REQUEST_NAME_BYTES_MAX = 64,  /* segment_id and variant */
    REQUEST_UNKNOWN_NAMES_MAX = 4,
    REQUEST_UNKNOWN_NAME_BYTES_MAX = 64,
};

#define REQUEST_TIME_NONE INT64_MIN

/* What was sent for one action. */
enum entry_state {
    ENTRY_MISSING,    /* no entry, null, or {} */
    ENTRY_MALFORMED,  /* no object, or not exactly one family's parameter names */
    ENTRY_IMPOSSIBLE, /* one family's names, with a value that it cannot have */
    ENTRY_VALID,
};

struct posterior_entry {
    uint8_t state; /* enum entry_state */
    /* `posterior.family` is set for ENTRY_IMPOSSIBLE and ENTRY_VALID, the rest for ENTRY_VALID. */
    struct posterior posterior;
};

/* What was sent as a whole. */
enum posteriors_sent {
    POSTERIORS_SENT_NOTHING, /* no field, or null */
    POSTERIORS_SENT_EMPTY,   /* {} */
    POSTERIORS_SENT_OBJECT,
    POSTERIORS_SENT_OTHER, /* another JSON type */
};

struct request {
    struct span request_id, unit_id, session_id, segment_id, variant_name; /* len 0: absent */
    int segment; /* in the plan; segment_count: other; segment_count + 1: unset */
    int variant; /* in the plan; -1: none named; -2: one that the plan does not have */
    int64_t time_us, as_of_us; /* since 1970; REQUEST_TIME_NONE: not sent */
    bool last_sent;            /* `last` is an object with anything in it */
    bool explain;

    /* Of `session` and of `last`; context slots are filled by decide(). */
    struct attributes attributes;

    enum posteriors_sent posteriors_sent;
    struct posterior_entry entries[ACTIONS_MAX];
    int unknown_actions;
    struct span unknown_names[REQUEST_UNKNOWN_NAMES_MAX]; /* the first ones, cut to 64 bytes */
    bool unknown_names_cut; /* there are more names, or one of these is longer */
};

enum { REQUEST_VARIANT_NONE = -1, REQUEST_VARIANT_UNKNOWN = -2 };

/* Reads a JSON body. `scratch` must hold at least body.len bytes. On failure: json_syntax,
 * json_depth, json_duplicate_key, field_type, field_range or unsupported, with the JSON pointer or
 * the byte offset; *out is then not to be used. */
enum err_code request_read(const struct plan *plan, struct span body, char *scratch,
                           struct request *out, struct err *e) MUST_CHECK;

/* The time that counts: the request's own if it has one, else the clock's. */
static inline int64_t request_now_us(const struct request *request, int64_t clock_us)
{
    return request->time_us != REQUEST_TIME_NONE ? request->time_us : clock_us;
}

/* RFC 3339 time to microseconds since 1970 (finer digits are cut off; a leap second counts as the
 * second after it). False if the text is none, or in UTC not in the years 0 to 9999. */
bool request_time_read(struct span text, int64_t *us);

/* Whether that time can be written: it is in the years 0000 to 9999, UTC. */
bool request_time_is_told(int64_t us);

/* The other way: "2026-11-30T08:00:00.123Z", 24 bytes, milliseconds cut. Years 0 to 9999. */
void request_time_write(struct buf *b, int64_t us);

#endif
