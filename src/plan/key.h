/* key: what a plan's file may hold, one row for each key.
 *
 * A row is all that is known of a key: how it is spelled and read, where it goes, what it is when
 * it is left out, and what docs/plans.md says of it. Reading, printing (and so the fingerprint),
 * equality, defaults, what only a start applies, the nearest name in an error, the documentation
 * and the JSON Schema come from it. To add a key: a row in the table of its section.
 *
 * How a value is written is its kind's business: kinds.c has the ordinary ones; lists and mappings
 * with rules of their own have theirs in their section's file.
 *
 * Threads: tables are constant; one load or print at a time per struct load or print. */
#ifndef INTERLUDE_PLAN_KEY_H
#define INTERLUDE_PLAN_KEY_H

#include "plan/load.h"
#include "plan/print.h"

/* What a key of the plan itself bears on: the fingerprint covers KEY_DECIDES. */
enum key_part { KEY_DECIDES, KEY_NAMES, KEY_SETTING };

struct key {
    const char *name;
    const struct key_kind *kind; /* NULL: not supported yet */
    size_t offset;               /* of the field, in the struct that the table is about */
    int64_t min, max;            /* of numbers; of durations in milliseconds; of a list's entries */
    const char *initial;         /* its value where it is left out, as a plan has it; or NULL */
    const char *const *words;    /* of a word; ends in NULL; the field is the index */
    const struct key_table *table; /* of a section's keys, or of those of each entry of a list */
    uint32_t traits; /* of a policy's key: bits of enum policy_trait, any of them; 0: all kinds */
    bool required;
    bool at_start; /* a reload does not apply it */
    enum key_part part;
    const char *help; /* for docs/plans.md; Markdown, in one line */
};

struct key_kind {
    /* Sets the field; or reports what is wrong, and leaves the field as it is. */
    void (*read)(struct load *l, const struct yaml_tree *node, const struct key *key, void *into);
    /* Writes the value, in the one way in which it is printed. A block writes all behind the colon,
     * its line's end included. */
    void (*print)(struct print *p, const struct key *key, const void *from);
    /* Writes its JSON Schema. */
    void (*schema)(struct buf *b, const struct key *key);
    const char *noun; /* for docs/plans.md; "": the range says it */
    /* How min and max are written; NULL: they mean nothing. */
    void (*bound)(struct buf *b, int64_t bound);
    /* Whether there is anything to print. NULL: always. */
    bool (*is_set)(const struct key *key, const void *from);
    bool block;
};

struct key_table {
    const char *where; /* as docs/plans.md heads it: `policies.NAME`; "" is the plan itself */
    const struct key *keys;
    size_t count;
};
#define KEY_TABLE(where, keys)                         \
    {                                                  \
        (where), (keys), sizeof(keys) / sizeof *(keys) \
    }

/* Every table there is, in the order of docs/plans.md; ends in NULL. */
extern const struct key_table *const key_tables[];
extern const struct key_table plan_keys, action_keys, policy_keys, rule_keys, rule_action_keys,
    value_keys, variant_keys, experiment_keys, guardrail_keys, cap_keys, server_keys, log_keys,
    sink_keys, budget_keys;

/* ---- kinds, and the fields that they go into: the C type is checked ---- */

#define KEY_FIELD(type, of, member) \
    _Generic(&((struct of *)0)->member, type * : offsetof(struct of, member))
/* An enum, whose type the compiler chooses. */
#define KEY_FIELD_ENUM(of, member) \
    (offsetof(struct of, member) + \
     0 * sizeof(char[sizeof((struct of *)0)->member == sizeof(int) ? 1 : -1]))

#define KEY_NAME(of, member) .kind = &kind_name, .offset = KEY_FIELD(struct span, of, member)
#define KEY_SALT(of, member) .kind = &kind_salt, .offset = KEY_FIELD(struct span, of, member)
#define KEY_INT(of, member) .kind = &kind_int, .offset = KEY_FIELD(int, of, member)
#define KEY_COUNT(of, member) .kind = &kind_count, .offset = KEY_FIELD(int64_t, of, member)
#define KEY_BOOL(of, member) .kind = &kind_bool, .offset = KEY_FIELD(bool, of, member)
#define KEY_DOUBLE(of, member) .kind = &kind_double, .offset = KEY_FIELD(double, of, member)
/* Where it may be left out without a default: set if it is at least `min`. */
#define KEY_DURATION(of, member) .kind = &kind_duration, .offset = KEY_FIELD(int64_t, of, member)
#define KEY_SHARE(of, member) .kind = &kind_share, .offset = KEY_FIELD(uint32_t, of, member)
#define KEY_WORD(of, member) .kind = &kind_word, .offset = KEY_FIELD_ENUM(of, member)
#define KEY_CONDITION(of, member) \
    .kind = &kind_condition, .offset = KEY_FIELD(const struct rule *, of, member)

extern const struct key_kind kind_name, kind_salt, kind_int, kind_count, kind_bool, kind_double,
    kind_duration, kind_share, kind_word, kind_condition;

/* Those of the sections, which know where what they read goes. */
extern const struct key_kind kind_actions, kind_segments, kind_attributes, kind_policies,
    kind_rules, kind_prior, kind_values, kind_variants, kind_variant, kind_experiments,
    kind_guardrails, kind_server, kind_log;

void key_bound_number(struct buf *b, int64_t bound);

static inline void *key_field(void *into, const struct key *key)
{
    return (char *)into + key->offset;
}

static inline const void *key_value(const void *from, const struct key *key)
{
    return (const char *)from + key->offset;
}

/* ---- a whole mapping ---- */

/* Sets every field that has one to its initial value. Whatever else there is stays as it is. */
void keys_init(struct load *l, const struct key_table *table, void *into);

/* Reads each key of the table that the mapping has, in the table's order; reports those that it
 * does not know, those not supported yet, and those required and not there. */
void keys_read(struct load *l, const struct yaml_tree *mapping, const struct key_table *table,
               void *into);

/* Whether the mapping has that key of the table, or has an unknown one that is probably meant to be
 * it: an error that is reported. */
bool keys_have(const struct yaml_tree *mapping, const struct key_table *table, struct span key);

/* "{a: 1, b: 2}". */
void keys_print_flow(struct print *p, const struct key_table *table, const void *from);
/* A line for each key, `indent` spaces in. Only those that bear on `part`. */
void keys_print_block(struct print *p, const struct key_table *table, const void *from, int indent,
                      enum key_part part);

/* One entry of a list, in a line of its own: "  - {a: 1}". */
void keys_print_item(struct print *p, const struct key_table *table, const void *from, int indent);

/* Parts of kinds. The schema of a name; of key->table; of a list of those, as many as the key says;
 * of a mapping from names to those. */
void key_schema_name(struct buf *b, const struct key *key);
void key_schema_section(struct buf *b, const struct key *key);
void key_schema_list(struct buf *b, const struct key *key);
void key_schema_by_name(struct buf *b, const struct key *key);
void key_schema_duration(struct buf *b, const struct key *key);
void key_bound_duration(struct buf *b, int64_t bound);
void key_print_section(struct print *p, const struct key *key, const void *from);

/* Whether the key is printed otherwise for `b` than for `a`, both what the table is about; what is
 * not set differs from what is. */
bool key_differs(const struct key *key, const struct print *p, const void *a, const void *b);

/* Whether a plan that says nothing of the key would have it print the same. */
bool key_is_initial(const struct key *key, const struct print *p, const void *from);

#endif
