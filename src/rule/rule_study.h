/* rule_study: what can be told of a condition before any request comes, for warnings about it.
 *
 * A part of a condition that reads one attribute is evaluated at every value at which it may answer
 * differently (rule_values.h), and with none: so what it can come to is known, not guessed. What
 * reads several attributes is taken apart at `&&`, `||` and `!`, and its parts are taken as if they
 * had nothing to do with each other. No solver: what takes one to see is not seen.
 *
 * Threads: one at a time. Ownership: a study lives in the arena of its context, and keeps the
 * context and the text that it was made of. Allocates; not for the request path. */
#ifndef INTERLUDE_RULE_RULE_STUDY_H
#define INTERLUDE_RULE_RULE_STUDY_H

#include "rule/rule.h"

/* The names that a string attribute is compared with, where a plan lists them. */
struct rule_names {
    const char *what; /* "variant": for messages */
    const struct span *names;
    int count;   /* 0: any text is as good as another */
    bool closed; /* it never has another value */
};

struct rule_context {
    struct arena *arena;           /* studies live in it */
    struct arena *scratch, *spare; /* two others, for the length of a call */
    const struct attribute_schema *schema;
    struct rule_names variants, segments; /* of `variant`, which is closed, and `segment_id` */
};

enum rule_course { RULE_VARIES, RULE_NEVER_HOLDS, RULE_ALWAYS_HOLDS };

/* A fault in a condition, though it compiles. */
struct rule_note {
    uint32_t at; /* the byte in the condition's text */
    bool whole;  /* it says what the whole condition comes to */
    char text[216];
};

enum { RULE_NOTES_MAX = 8 };

/* In the order in which they were found; what does not fit is left out. */
struct rule_notes {
    int count;
    struct rule_note notes[RULE_NOTES_MAX];
};

struct rule_study;

/* Of `text`, which compiles against context->schema (else it is a bug). Fills *notes: what never or
 * always holds, alone or together with the rest of its chain; names that the plan does not have;
 * numbers that an attribute never equals. Each is told once, at its innermost place. */
const struct rule_study *rule_study_make(const struct rule_context *context, struct span text,
                                         struct rule_notes *notes);

/* Whether it comes to the same, whatever the values of what it reads. (What is absent may make an
 * error of it.) */
enum rule_course rule_study_course(const struct rule_study *study);

/* What becomes of it where the attribute in `slot` is absent. */
struct rule_absence {
    bool fails;       /* it may hold where the attribute has a value, and not hold without it */
    bool may_hold;    /* it may hold without it */
    bool means_it;    /* it never holds but without it: it asks for just that */
    bool holds;       /* it holds without it, always */
    bool never_false; /* without it, it holds or is an error */
};
struct rule_absence rule_study_absence(const struct rule_study *study, int slot);

/* The slots of attributes that show, each alone, that no request meets both; at most two of them.
 */
uint64_t rule_study_exclude(const struct rule_study *a, const struct rule_study *b);

/* The slots of attributes that a request can leave out. */
uint64_t rule_can_be_absent(const struct attribute_schema *schema);

#endif
