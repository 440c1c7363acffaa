/* load: what the loader's files share. Private to this room.
 *
 * The loader reads a tree (yaml_tree.h) into a plan, section by section, in the order in which
 * sections refer to each other, and goes on after an error, so that one run reports all of them.
 * Readers return nothing: what could not be read is left at its default, its error is reported, and
 * a plan with an error is never handed out. So a reader may not lean on another one's success, nor
 * accuse what is right because of what could not be read elsewhere: `unread` says what that was.
 *
 * What a mapping may hold is a table of keys: see key.h.
 *
 * Threads: one load at a time per struct load. Ownership: whatever ends up in the plan is copied
 * into the plan's arena. */
#ifndef INTERLUDE_PLAN_LOAD_H
#define INTERLUDE_PLAN_LOAD_H

#include "plan/plan_load.h"
#include "plan/yaml_tree.h"

struct key;

/* What was not wholly read, and its errors are reported. */
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
    const struct policy *policy;        /* while it is read */
    const struct yaml_tree *guardrails; /* the section, while it is read */
};

/* ---- reporting errors ---- */

void load_error(struct load *l, struct yaml_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Where the faults of a text go that is read as YAML: among the errors. */
struct yaml_faults load_faults(struct load *l);

/* The same, to l->warnings, which are wanted. */
void load_warning(struct load *l, struct yaml_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A name that was to become one of the plan's, and could not be read: what is called nearly so is
 * not accused of being unknown; or nothing is, where it has no text. */
void load_note_bad_name(struct load *l, const struct yaml_tree *node, enum load_part part);

/* How many were reported so far. */
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

/* "expected WHAT, found ...". Returns false. */
bool load_expected(struct load *l, const struct yaml_tree *node, const char *what);

/* ---- shapes and values ---- */

/* Whether the node is of that shape; reports if not. `what` is what was expected, with its article.
 */
bool load_is_mapping(struct load *l, const struct yaml_tree *node, const char *what);
bool load_is_list(struct load *l, const struct yaml_tree *node, const char *what);

/* Whether something in the mapping, but for what its values hold, is reported to be unreadable
 * YAML. */
bool load_is_damaged(const struct yaml_tree *mapping);

/* Whether a list or mapping has key->min to key->max entries; reports if not. */
bool load_count(struct load *l, const struct yaml_tree *node, const struct key *key,
                const char *of_what);

/* The text of a scalar that is not null. */
bool load_text(struct load *l, const struct yaml_tree *node, const char *what, struct span *out);
/* 1 to 64 of [A-Za-z0-9_.:-]. *out points into the tree. */
bool load_name(struct load *l, const struct yaml_tree *node, struct span *out);
/* A finite number. */
bool load_number(struct load *l, const struct yaml_tree *node, double *out);
bool load_share(struct load *l, const struct yaml_tree *node, uint32_t *ppm);
/* The place in `words`, which ends in NULL; -1 if it is none of them. */
int load_word(struct load *l, const struct yaml_tree *node, const char *const *words);
/* An action of the plan; -1 if it was not read, or the plan has none of that name. */
int load_action_name(struct load *l, const struct yaml_tree *node);
int load_variant_name(struct load *l, const struct yaml_tree *node);
int load_policy_name(struct load *l, const struct yaml_tree *node);
/* A condition; errors stand at the very character. */
void load_condition(struct load *l, const struct yaml_tree *node, const struct rule **out);

/* ---- warnings ---- */

/* plan_warn.c: reports to l->warnings what the plan may not mean. It has no errors, and is
 * finished. */
void plan_warn(struct load *l, const struct yaml_tree *root);

#endif
