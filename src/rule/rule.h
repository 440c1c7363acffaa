/* rule: conditions over a session's attributes, in a subset of CEL, the Common Expression Language.
 *
 * A condition is compiled and type-checked once, when its plan is loaded, and evaluated any number
 * of times, by any number of threads at once, without allocating, in a number of steps that is
 * known when it is compiled.
 *
 * CEL's errors are values here: an attribute that is not known makes an error, `&&` and `||` absorb
 * it where the other side decides (false && error is false, on either side), and what is left over
 * is RULE_ERROR. What an error means is the caller's affair.
 *
 * has() tells whether an attribute has a value: false where nothing was sent. Where something was
 * sent that is no value of its type, it is an error too: the sender did say something, and `no`
 * would be a guess. */
#ifndef INTERLUDE_RULE_RULE_H
#define INTERLUDE_RULE_RULE_H

#include "base/arena.h"
#include "base/err.h"
#include "rule/attribute.h"

enum {
    RULE_TEXT_BYTES_MAX = 4096,
    RULE_STEPS_MAX = 512, /* instructions and list items of one condition */
    RULE_DEPTH_MAX = 32,  /* nesting, and so the depth of the evaluation stack */
};

enum rule_result { RULE_FALSE, RULE_TRUE, RULE_ERROR };

struct rule; /* compiled, immutable; lives in the arena that it was compiled into */

/* Compiles `text`, whose result must be a bool, against `schema`. On success *out is the condition;
 * it lives in `arena`, keeps a copy of the text, and nothing of `text` or `schema`. `scratch`,
 * another arena, is used on the way and reset before the return. On failure ERR_RULE: e->offset is
 * the byte in `text` where the fault begins (line and column are left 0: the caller knows where the
 * text stands), e->text says what was found, what was expected, and the nearest name where one is
 * near. What DESIGN's grammar has but is not built yet is told as "not supported yet". */
enum err_code rule_compile(struct arena *arena, struct arena *scratch,
                           const struct attribute_schema *schema, struct span text,
                           const struct rule **out, struct err *e) MUST_CHECK;

/* Whether `text` is a condition in its words and its grammar, whatever the attributes are. */
bool rule_parses(struct arena *scratch, struct span text) MUST_CHECK;

enum rule_result rule_eval(const struct rule *rule, const struct attributes *values);

/* The condition as it was written. */
struct span rule_text(const struct rule *rule);

/* The slots that are read anywhere, has() included. */
uint64_t rule_reads(const struct rule *rule);

/* The slots that are read at a place where nothing guards them: a value is needed. A slot that is
 * in rule_reads() alone is only ever asked for by has(), or read where has() settles the answer
 * without it: `has(x) && x > 3`, `!has(x) || x > 3`, and since `&&` and `||` absorb errors on
 * either side, `x > 3 && has(x)` too. Where every slot of rule_needs() is known, and none of
 * rule_reads() is invalid, a condition never ends in an error.
 *
 * `child_directed` is never in here: absent or invalid, it reads as false (has() still tells
 * whether a value of its type was sent, or is an error). */
uint64_t rule_needs(const struct rule *rule);

#endif
