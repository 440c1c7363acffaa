/* session: a schema and request values for the tests of conditions, written as text. */
#ifndef INTERLUDE_TESTS_RULE_SESSION_H
#define INTERLUDE_TESTS_RULE_SESSION_H

#include "rule/rule.h"

#include <stdlib.h>

/* The built-in attributes, and one declared of each type: vip, level, score and genre. */
static inline void session_schema(struct attribute_schema *schema)
{
    attribute_schema_init(schema);
    static const struct attribute declared[] = {
        {SPAN("vip"), ATTRIBUTE_BOOL, ATTRIBUTE_DECLARED},
        {SPAN("level"), ATTRIBUTE_INT, ATTRIBUTE_DECLARED},
        {SPAN("score"), ATTRIBUTE_DOUBLE, ATTRIBUTE_DECLARED},
        {SPAN("genre"), ATTRIBUTE_STRING, ATTRIBUTE_DECLARED},
    };
    for (size_t i = 0; i < sizeof declared / sizeof *declared; i++)
        schema->attributes[schema->count++] = declared[i];
}

/* Sets the slots that `text` names: "elapsed_s=1200 tier=free car=true level=?" ("?" is invalid).
 * Strings point into `text`. */
static inline void session_values(const struct attribute_schema *schema, const char *text,
                                  struct attributes *out)
{
    *out = (struct attributes){0};
    while (*text) {
        size_t name = strcspn(text, "="), len = strcspn(text + name + 1, " ");
        const char *value = text + name + 1;
        int slot = attribute_schema_find(schema, (struct span){text, name});
        INVARIANT(slot >= 0);
        uint64_t bit = (uint64_t)1 << slot;
        text = value + len + (value[len] == ' ');
        if (*value == '?') {
            out->invalid |= bit;
            continue;
        }
        out->known |= bit;
        switch (schema->attributes[slot].type) {
        case ATTRIBUTE_BOOL:
            out->values[slot].b = *value == 't';
            break;
        case ATTRIBUTE_INT:
            out->values[slot].i = strtoll(value, NULL, 10);
            break;
        case ATTRIBUTE_DOUBLE:
            out->values[slot].d = strtod(value, NULL);
            break;
        case ATTRIBUTE_STRING:
            out->values[slot].s = (struct span){value, len};
            break;
        }
    }
}

/* The slots that a list of names such as "tier car" means. */
static inline uint64_t session_slots(const struct attribute_schema *schema, const char *names)
{
    uint64_t slots = 0;
    while (*names) {
        size_t len = strcspn(names, " ");
        int slot = attribute_schema_find(schema, (struct span){names, len});
        INVARIANT(slot >= 0);
        slots |= (uint64_t)1 << slot;
        names += len + (names[len] == ' ');
    }
    return slots;
}

#endif
