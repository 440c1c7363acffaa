/* attribute: what a condition can read about a session, and the values one request gives.
 *
 * A schema is fixed when a plan is loaded: slot i of a request's values belongs to entry i of the
 * schema. Slots 0 to ATTRIBUTE_BUILT_IN_COUNT - 1 are the built-in attributes in the order of
 * ATTRIBUTES_BUILT_IN; those that the plan declares follow.
 *
 * Threads: a schema is immutable; values belong to one request. Ownership: names and string values
 * are spans whose bytes the maker keeps alive (the plan's arena; the request's body). */
#ifndef INTERLUDE_RULE_ATTRIBUTE_H
#define INTERLUDE_RULE_ATTRIBUTE_H

#include "base/span.h"

#include <stdint.h>

enum attribute_type { ATTRIBUTE_BOOL, ATTRIBUTE_INT, ATTRIBUTE_DOUBLE, ATTRIBUTE_STRING };

enum {
    ATTRIBUTES_MAX = 64, /* built-in and declared together: one bit each in a uint64_t */
    ATTRIBUTE_STRING_BYTES_MAX = 256,
};

/* Where an attribute comes from, and what a fraction of an int means. */
enum attribute_source {
    ATTRIBUTE_SECONDS,      /* session; an int >= 0; a fraction is floored */
    ATTRIBUTE_SECONDS_USED, /* session; an int >= 0, of what a cap counts: a fraction is rounded up
                             */
    ATTRIBUTE_COUNT,        /* session; an int >= 0; a fraction is invalid */
    ATTRIBUTE_FLAG,         /* session; bool */
    ATTRIBUTE_TEXT,         /* session; string */
    ATTRIBUTE_DECLARED,     /* session; as the plan declares it, any sign */
    ATTRIBUTE_CONTEXT,      /* not from the session: request, allocation or time */
    /* Of the request's `last`; a double from 0 to ATTRIBUTE_LAST_S_MAX. Judged as the session is,
     * but no condition reads it: its name has a dot in it. */
    ATTRIBUTE_LAST,
};

#define ATTRIBUTE_LAST_S_MAX 1e9

/* enum suffix, name, type, source */
#define ATTRIBUTES_BUILT_IN(X)                                                             \
    X(ELAPSED_S, "elapsed_s", ATTRIBUTE_INT, ATTRIBUTE_SECONDS)                            \
    X(TRACKS_PLAYED, "tracks_played", ATTRIBUTE_INT, ATTRIBUTE_COUNT)                      \
    X(SECONDS_SINCE_LAST_BREAK_END, "seconds_since_last_break_end", ATTRIBUTE_INT,         \
      ATTRIBUTE_SECONDS)                                                                   \
    X(BREAKS_IN_SESSION, "breaks_in_session", ATTRIBUTE_INT, ATTRIBUTE_COUNT)              \
    X(ADS_LAST_HOUR, "ads_last_hour", ATTRIBUTE_INT, ATTRIBUTE_COUNT)                      \
    X(AD_SECONDS_LAST_HOUR, "ad_seconds_last_hour", ATTRIBUTE_INT, ATTRIBUTE_SECONDS_USED) \
    X(ADS_TODAY, "ads_today", ATTRIBUTE_INT, ATTRIBUTE_COUNT)                              \
    X(CONTENT_REMAINING_S, "content_remaining_s", ATTRIBUTE_INT, ATTRIBUTE_SECONDS)        \
    X(TENURE_DAYS, "tenure_days", ATTRIBUTE_INT, ATTRIBUTE_COUNT)                          \
    X(AT_CONTENT_BOUNDARY, "at_content_boundary", ATTRIBUTE_BOOL, ATTRIBUTE_FLAG)          \
    X(BACKGROUND, "background", ATTRIBUTE_BOOL, ATTRIBUTE_FLAG)                            \
    X(CAR, "car", ATTRIBUTE_BOOL, ATTRIBUTE_FLAG)                                          \
    X(CHILD_DIRECTED, "child_directed", ATTRIBUTE_BOOL, ATTRIBUTE_FLAG)                    \
    X(TIER, "tier", ATTRIBUTE_STRING, ATTRIBUTE_TEXT)                                      \
    X(CONSENT, "consent", ATTRIBUTE_STRING, ATTRIBUTE_TEXT)                                \
    X(POSITION, "position", ATTRIBUTE_STRING, ATTRIBUTE_TEXT)                              \
    X(SEGMENT_ID, "segment_id", ATTRIBUTE_STRING, ATTRIBUTE_CONTEXT)                       \
    X(VARIANT, "variant", ATTRIBUTE_STRING, ATTRIBUTE_CONTEXT)                             \
    X(HOUR, "hour", ATTRIBUTE_INT, ATTRIBUTE_CONTEXT)                                      \
    X(WEEKDAY, "weekday", ATTRIBUTE_INT, ATTRIBUTE_CONTEXT)                                \
    X(LAST_SECONDS_AGO, "last.seconds_ago", ATTRIBUTE_DOUBLE, ATTRIBUTE_LAST)              \
    X(LAST_COOLDOWN_S, "last.cooldown_s", ATTRIBUTE_DOUBLE, ATTRIBUTE_LAST)

#define ATTRIBUTE_ENUM(suffix, name, type, source) ATTRIBUTE_SLOT_##suffix,
enum { ATTRIBUTES_BUILT_IN(ATTRIBUTE_ENUM) ATTRIBUTE_BUILT_IN_COUNT };
#undef ATTRIBUTE_ENUM

struct attribute {
    struct span name;
    enum attribute_type type;
    enum attribute_source source;
};

struct attribute_schema {
    uint32_t count;
    struct attribute attributes[ATTRIBUTES_MAX];
};

/* The built-in attributes alone; declared ones are appended by the plan's loader. */
void attribute_schema_init(struct attribute_schema *schema);

/* The slot of `name`, or -1. For load time: linear. */
int attribute_schema_find(const struct attribute_schema *schema, struct span name);

/* Whether it is a member of the request's `session`. */
static inline bool attribute_in_session(const struct attribute *a)
{
    return a->source != ATTRIBUTE_CONTEXT && a->source != ATTRIBUTE_LAST;
}

/* "bool", "int", "double" or "string". */
const char *attribute_type_name(enum attribute_type type);

union attribute_value {
    bool b;
    int64_t i;
    double d; /* finite */
    struct span s;
};

/* The values of one request. Bit i of `known`: slot i has a value, in values[i]. Bit i of
 * `invalid`: something was sent that is no value of its type. Never both. Neither: absent or null.
 */
struct attributes {
    uint64_t known, invalid;
    union attribute_value values[ATTRIBUTES_MAX];
};

static inline bool attribute_known(const struct attributes *a, int slot)
{
    return a->known >> slot & 1;
}

static inline bool attribute_invalid(const struct attributes *a, int slot)
{
    return a->invalid >> slot & 1;
}

#endif
