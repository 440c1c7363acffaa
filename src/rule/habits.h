/* habits: what other languages write where CEL has another word. For messages only.
 * Pure; any thread. What is returned lives for ever. */
#ifndef INTERLUDE_RULE_HABITS_H
#define INTERLUDE_RULE_HABITS_H

#include "base/span.h"

/* Of a word that stands where an operator should: how that is written in CEL, or NULL. In capitals
 * or not. */
const char *habit_operator(struct span word);

/* `not` in capitals or not: what CEL writes as `!`. */
bool habit_is_not(struct span word);

/* A name of no value: `null`, `None`, `nil` and the like. */
bool habit_is_null(struct span name);

/* "true" or "false" for a name that means it elsewhere (`True`, `yes`, `on`), or an empty span. */
struct span habit_bool(struct span name);

/* The function that a name means elsewhere (`exists`, `len`), or an empty span. */
struct span habit_function(struct span name);

/* What the text begins with, where that is no CEL but meant to be; NULL: nothing that is known.
 * `meant` is the operator, or NULL where `why` says it all. */
struct habit_sign {
    struct span text;
    const char *meant, *why;
};
const struct habit_sign *habit_sign_find(struct span text);

#endif
