/* program: what a condition is compiled to.
 *
 * A straight row of instructions over one accumulator and a few registers; jumps go forwards only,
 * so a program of n instructions takes at most n steps. The accumulator holds a truth of three
 * values, coded so that CEL's `&&` and `||`, with the absorption of errors, are one machine
 * operation each: bit 0 says "may be true", bit 1 says "is true", and an error is what may be true
 * and is not.
 *
 *     and: a & b      or: a | b      not: truth_not[a]
 *
 * Registers hold an operand's value, or the truth of a chain's operands so far. Which register is
 * known when a program is made (its index is the nesting), so there is no stack to keep. A value
 * that is not known never gets into a register: loading it makes the accumulator an error and jumps
 * to the end of the relation that wanted it. */
#ifndef INTERLUDE_RULE_PROGRAM_H
#define INTERLUDE_RULE_PROGRAM_H

#include "rule/rule.h"

enum truth { TRUTH_FALSE = 0, TRUTH_ERROR = 1, TRUTH_TRUE = 3 };

/* A relation is the set of the outcomes of a three-way comparison that satisfy it: a truth for
 * each, side by side, so that the outcome's own is read by a shift. */
enum {
    OUTCOME_LESS = TRUTH_TRUE,
    OUTCOME_EQUAL = TRUTH_TRUE << 2,
    OUTCOME_GREATER = TRUTH_TRUE << 4,
};

enum op {
    OP_END,   /* the accumulator is the result */
    OP_TRUTH, /* accumulator = a */
    OP_NOT,
    OP_HAS,           /* slot a; an error where it is invalid */
    OP_FLAG,          /* slot a, a bool */
    OP_FLAG_OR_FALSE, /* the same; unknown is false */

    /* Slot a against the constant. The common condition is nothing but these. */
    OP_SLOT_INT,
    OP_SLOT_DOUBLE,
    OP_SLOT_STRING,
    OP_SLOT_STRING_SAME, /* == and != only */

    /* Register a: */
    OP_LOAD_SLOT,     /* = slot b; if that is unknown, the accumulator is an error, and jumps */
    OP_LOAD_CONSTANT, /* = the constant */
    OP_LOAD_TRUTH,    /* = the accumulator, as an int; if that is an error, jumps */

    /* Relations of registers, from here to OP_IN_STRINGS. Register a against register a + 1: */
    OP_COMPARE_INTS, /* bools too */
    OP_COMPARE_DOUBLES,
    OP_COMPARE_INT_DOUBLE,
    OP_COMPARE_STRINGS,

    /* Register a against `count` items. */
    OP_IN_INTS, /* bools too */
    OP_IN_DOUBLES,
    OP_IN_STRINGS,

    /* A chain's first operand, one between and its last; register a holds it so far. The first two
     * jump to the end of the chain when the accumulator settles it. */
    OP_AND_FIRST,
    OP_AND_NEXT,
    OP_AND_LAST,
    OP_OR_FIRST,
    OP_OR_NEXT,
    OP_OR_LAST,
};

struct instruction {
    uint8_t op;
    uint8_t a, b;
    uint8_t relation; /* OUTCOME_* */
    union {
        uint32_t skip;  /* how far a jump goes; 1 is the next instruction */
        uint32_t count; /* of items */
    };
    union {
        union attribute_value constant; /* a bool is an int, 0 or 1 */
        const union attribute_value *items;
    };
};

/* Nested once, `||`, `&&` and a relation's left side keep a register each; the innermost relation
 * has a right side besides. */
enum { PROGRAM_REGISTERS = 3 * (RULE_DEPTH_MAX + 1) + 1 };

struct rule {
    struct span text;
    uint64_t reads, needs;
    uint32_t count;
    struct instruction code[];
};

#endif
