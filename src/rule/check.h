/* check: the types of a condition's tree, and what its attributes' absence settles.
 * Threads: one at a time. Owns nothing. */
#ifndef INTERLUDE_RULE_CHECK_H
#define INTERLUDE_RULE_CHECK_H

#include "rule/syntax.h"

/* Resolves names to slots, turns has() into NODE_HAS, and fills the second half of every node.
 * False with *e filled where a type is wrong, a name unknown, or something is not supported (yet).
 * `text` is what `root` was parsed from. */
bool check_condition(struct node *root, const struct attribute_schema *schema, struct span text,
                     struct err *e) MUST_CHECK;

static inline bool attribute_type_is_number(enum attribute_type type)
{
    return type == ATTRIBUTE_INT || type == ATTRIBUTE_DOUBLE;
}

#endif
