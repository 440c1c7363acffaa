/* warn: what the files that warn share. Private to this room.
 *
 * Warnings are about a plan that can be served: it has no errors, so whatever is in the tree is in
 * the plan too, in the same order. docs/plans.md lists them; tests/cases/plans/warn-*.yaml has
 * each. Each fault is told once, where it stands. */
#ifndef INTERLUDE_PLAN_WARN_H
#define INTERLUDE_PLAN_WARN_H

#include "plan/load.h"
#include "rule/rule_study.h"

struct warn {
    struct load *l;
    struct rule_context context;
};

/* What is to be told of the condition itself. NULL: none is there. Lives as long as the load. */
const struct rule_study *warn_condition(struct warn *w, const struct yaml_tree *node,
                                        const struct rule *rule);

/* warn_rules.c: a fixed policy's rules; `node` is the list. */
void warn_rules(struct warn *w, const struct yaml_tree *node, const struct policy *policy);
/* warn_guardrails.c: `node` is the section. */
void warn_guardrails(struct warn *w, const struct yaml_tree *node);

/* Without these attributes the guardrails mask every ad, or rightly none: bits of slots. */
uint64_t warn_slots_guarded(struct warn *w);

/* "`tier` or `car`", for messages. */
struct warn_names {
    char text[96];
};
struct warn_names warn_names_of(const struct plan *plan, uint64_t slots);

#endif
