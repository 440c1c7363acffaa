/* load: what the loader's files share. Private to this room.
 *
 * The loader reads a tree (yaml_tree.h) into a plan, section by section, in the order in which
 * sections refer to each other, and goes on after an error, so that one run tells all of them.
 * Readers return nothing: what could not be read is left at its default, its error is told, and a
 * plan with an error is never handed out. So a reader may not lean on another one's success, nor
 * accuse what is right because of what could not be read elsewhere: `unread` says what that was.
 *
 * What a mapping may hold is a table of keys. A key with no reader is one that Interlude will have:
 * it is refused as not supported yet. docs/plans.md describes every key of every table, and a test
 * holds the two together.
 *
 * Threads: one load at a time per struct load. Ownership: whatever ends up in the plan is copied
 * into the plan's arena. */
#ifndef INTERLUDE_PLAN_LOAD_H
#define INTERLUDE_PLAN_LOAD_H

#include "plan/plan_load.h"
#include "plan/yaml_tree.h"

/* What was not wholly read, and its errors are told. */
enum load_part {
    UNREAD_ACTIONS = 1 << 0, /* there may be more actions */
    UNREAD_ADS = 1 << 1,     /* which actions have ads */
    UNREAD_DURATIONS = 1 << 2,
    UNREAD_ATTRIBUTES = 1 << 3,
    UNREAD_POLICIES = 1 << 4,     /* there may be more */
    UNREAD_VARIANTS = 1 << 5,     /* there may be more */
    UNREAD_ACTIONS_USED = 1 << 6, /* by the policy that is read */
};

struct load {
    struct span text; /* of the file */
    struct plan_errors *errors;
    struct plan_errors *warnings; /* NULL: they are not wanted */
    struct plan *plan;
    struct settings *settings;
    struct arena scratch;      /* for the length of the load: the tree */
    struct arena rule_scratch; /* for the length of a condition */
    struct arena rule_spare;   /* the same, for warnings */
    int rules;                 /* of all policies so far */
    uint32_t policies_ok;      /* bit i: the kind of policy i was read */
    uint32_t unread;           /* bits of enum load_part */
    struct span bad_names[16]; /* texts that were to be a name, and are none */
    size_t bad_name_count;
    const struct yaml_tree *guardrails; /* the section, while it is read */
};

struct key;
typedef void key_read(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into);

struct key {
    const char *name;
    key_read *read;   /* NULL: not supported yet */
    size_t offset;    /* of the field in what is read into */
    int64_t min, max; /* of numbers; of durations in milliseconds */
    bool required;
    const char *const *words; /* of a word; ends in NULL; the field is the index */
    uint32_t kinds;           /* of a policy's key: bits of enum policy_kind; 0: all */
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

/* Every table there is; ends in NULL. */
extern const struct key_table *const load_tables[];
extern const struct key_table load_root_keys, load_action_keys, load_policy_keys, load_rule_keys,
    load_rule_action_keys, load_value_keys, load_variant_keys, load_experiment_keys,
    load_guardrail_keys, load_cap_keys, load_server_keys, load_log_keys, load_sink_keys,
    load_budget_keys;

/* ---- telling errors ---- */

void load_error(struct load *l, struct yaml_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, to l->warnings, which are wanted. */
void load_warning(struct load *l, struct yaml_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A name that was to become one of the plan's, and could not be read: what is called nearly so is
 * not accused of being unknown; or nothing is, where it has no text. */
void load_note_bad_name(struct load *l, const struct yaml_tree *node, enum load_part part);

/* How many were told so far. */
int load_errors_told(const struct load *l);

/* Puts one into the list, where it stands in the file. */
void plan_errors_add(struct plan_errors *errors, struct yaml_place place, const char *text);

/* A piece of the file, fit to stand in a message: cut, in one line, printable. */
struct shown {
    char text[72];
};
struct shown load_show(struct span text);

/* A clause that names the nearest of the names, or "". */
struct shown load_nearest(struct span wanted, const struct span *names, size_t count);

/* ---- mappings and lists ---- */

/* Whether the node is of that shape; tells if not. `what` is what was expected, with its article.
 */
bool load_is_mapping(struct load *l, const struct yaml_tree *node, const char *what);
bool load_is_list(struct load *l, const struct yaml_tree *node, const char *what);

/* Reads each key of the table that the mapping has, in the table's order; tells those that it does
 * not know, those not supported yet, and those required and not there. */
void load_keys(struct load *l, const struct yaml_tree *mapping, const struct key_table *table,
               void *into);

/* Whether something in the mapping, but for what its values hold, is told to be unreadable YAML. */
bool load_is_damaged(const struct yaml_tree *mapping);

/* Whether the mapping has that key of the table, or has an unknown one that is probably meant to be
 * it: an error that is told. */
bool load_has(const struct yaml_tree *mapping, const struct key_table *table, struct span key);

/* ---- values. Each is also usable as key->read where it has that type. ---- */

/* The text of a scalar that is not null. */
bool load_text(struct load *l, const struct yaml_tree *node, const char *what, struct span *out);
/* 1 to 64 of [A-Za-z0-9_.:-]. *out points into the tree. */
bool load_name(struct load *l, const struct yaml_tree *node, struct span *out);
/* A finite number. */
bool load_number(struct load *l, const struct yaml_tree *node, double *out);
/* "12.5%" to millionths. */
bool load_share(struct load *l, const struct yaml_tree *node, uint32_t *ppm);
/* An action of the plan; -1 if it was not read, or the plan has none of that name. */
int load_action_name(struct load *l, const struct yaml_tree *node);
int load_variant_name(struct load *l, const struct yaml_tree *node);
int load_policy_name(struct load *l, const struct yaml_tree *node);
/* A condition; errors stand at the very character. */
void load_condition(struct load *l, const struct yaml_tree *node, const struct rule **out);

key_read load_key_name;      /* struct span */
key_read load_key_salt;      /* struct span, 1 to 128 printable bytes */
key_read load_key_int;       /* int */
key_read load_key_count;     /* int64_t */
key_read load_key_bool;      /* bool */
key_read load_key_double;    /* double; min and max hold for it */
key_read load_key_duration;  /* int64_t, milliseconds */
key_read load_key_share;     /* uint32_t, millionths */
key_read load_key_word;      /* an enum: the index in key->words */
key_read load_key_condition; /* const struct rule * */

static inline void *load_field(void *into, const struct key *key)
{
    return (char *)into + key->offset;
}

/* ---- sections ---- */

key_read load_actions, load_segments, load_attributes;      /* load_actions.c; into: the plan */
key_read load_policies;                                     /* load_policies.c */
key_read load_rules;                                        /* load_rules.c; into: the policy */
key_read load_prior, load_values;                           /* load_learned.c; into: the policy */
key_read load_variants, load_experiments, load_key_variant; /* load_variants.c */
key_read load_guardrails;                                   /* load_guardrails.c */
key_read load_server, load_log;                             /* load_server.c */

/* plan_check.c: identities, fingerprint, and version where there is none; tells an error where all
 * of it, printed, would be longer than a plan may be. */
void load_identify(struct load *l, const struct yaml_tree *root);

/* plan_warn.c: tells l->warnings of what the plan may not mean. It has no errors, and is finished.
 */
void plan_warn(struct load *l, const struct yaml_tree *root);

#endif
