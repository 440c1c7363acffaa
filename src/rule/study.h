/* study: what rule_study.c and its notes share. Private to this room. */
#ifndef INTERLUDE_RULE_STUDY_H
#define INTERLUDE_RULE_STUDY_H

#include "rule/rule_study.h"
#include "rule/syntax.h"

enum part_kind { PART_LEAF, PART_NOT, PART_ALL, PART_ANY };

/* A part of the condition that is a bool. */
struct part {
    enum part_kind kind;
    const struct node *node;
    const struct rule *rule; /* the part, compiled alone */
    enum rule_course course;
    struct part *first, *next; /* its operands */
};

struct rule_study {
    const struct rule_context *context;
    struct span text;
    struct part *root;
};

/* Bits 1 << enum rule_result: what a condition that reads one attribute comes to. Where something
 * was sent that is no value of it, that is what it comes to without one, or an error: has(x) is
 * then an error and not false, and nothing that absorbs an error comes to something else by it. */
struct outcomes {
    uint8_t known;  /* at its values; all three bits where they are too many to try */
    uint8_t absent; /* without one; 0: it always has one */
};

/* `rule` reads no attribute but `slot`; -1: none at all. */
struct outcomes outcomes_find(const struct rule_context *context, const struct rule *rule,
                              int slot);
enum rule_course outcomes_course(const struct outcomes *o);

/* The only slot that is read; -1: none; -2: several. */
int slot_alone(const struct rule *rule);

/* study_notes.c. The course of a leaf, told where it is a fault. */
enum rule_course leaf_study(const struct rule_study *study, const struct part *leaf,
                            struct rule_notes *notes);
/* Tells that the operands from `first` on that read only `slot` have that course together. */
void note_together(const struct rule_study *study, const struct part *first, int slot,
                   enum rule_course course, struct rule_notes *notes);
/* Tells what the notes on its parts make of the whole. */
void note_whole(const struct rule_study *study, struct rule_notes *notes);

#endif
