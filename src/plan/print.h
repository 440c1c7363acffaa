/* print: a plan in writing.
 *
 * One text serves three ends: a person reads it, it loads again to an equal plan, and its hash is
 * the plan's fingerprint. So nothing in it depends on how the plan was written: every default is
 * filled in, the order is fixed, and each value is spelled in one way only. Private to this room.
 * Threads: one print at a time per buf. */
#ifndef INTERLUDE_PLAN_PRINT_H
#define INTERLUDE_PLAN_PRINT_H

#include "base/buf.h"
#include "plan/settings.h"

struct plan;

struct print {
    struct buf *b;
    const struct plan *plan;
    uint32_t traits; /* inside of a policy: of its kind */
};

/* Unquoted where every YAML reader takes it for a text, else as print_quoted. */
void print_text(struct buf *b, struct span text);
/* In double quotes; controls and what looks like another character are escaped. */
void print_quoted(struct buf *b, struct span text);
void print_word(struct buf *b, const char *word);
void print_number(struct buf *b, double value);

/* A comma and a space but before the first one. */
void print_comma(struct buf *b, bool *first);

#endif
