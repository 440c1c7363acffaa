/* syntax: the tree of a condition, in CEL's grammar.
 *
 *     expression     = or [ "?" or ":" expression ]
 *     or             = and { "||" and }
 *     and            = relation { "&&" relation }
 *     relation       = sum { ( "==" "!=" "<" "<=" ">" ">=" "in" ) sum }
 *     sum            = product { ( "+" "-" ) product }
 *     product        = unary { ( "*" "/" "%" ) unary }
 *     unary          = { "!" } member | { "-" } member
 *     member         = primary { "." name [ arguments ] }
 *     primary        = name [ arguments ] | literal | "(" expression ")" | "[" [ list [ "," ] ] "]"
 *
 * `null` is read as a name, which check.c knows nothing of.
 *
 * All of it is parsed, whether or not it is built yet: check.c tells those two apart, so a later
 * operator is added there and in rule_compile.c, and not here.
 *
 * Threads: one at a time. Ownership: nodes live in the scratch arena, spans in it or in the text.
 */
#ifndef INTERLUDE_RULE_SYNTAX_H
#define INTERLUDE_RULE_SYNTAX_H

#include "rule/attribute.h"
#include "rule/token.h"

enum node_kind {
    NODE_LITERAL,
    NODE_NAME,     /* `name`, or `space`.`name`: an attribute, once checked */
    NODE_HAS,      /* has(name), once checked */
    NODE_LIST,     /* operands: its elements */
    NODE_CALL,     /* operands: the arguments, the receiver first if it is a `method` */
    NODE_NOT,      /* one operand */
    NODE_NEGATE,   /* one operand */
    NODE_OR,       /* two or more operands */
    NODE_AND,      /* two or more operands */
    NODE_RELATION, /* two operands; of a chain, the first is the comparison before */
    NODE_SUM,      /* two or more operands */
    NODE_PRODUCT,  /* two or more operands */
    NODE_CHOICE,   /* three operands: condition ? one : other */
};

struct node {
    enum node_kind kind;
    uint32_t at, end; /* its bytes, parentheses included: text[at, end) */

    struct node *operands; /* the first; the others follow by `next` */
    struct node *next;
    enum token_kind joined_by; /* the operator between this operand and the one before it */
    uint32_t joined_at;

    struct span space, name; /* NAME, HAS, CALL (name only) */
    uint32_t name_at;
    bool method;
    bool even; /* NOT, NEGATE: an even number of signs, which cancel out */

    /* From check.c on. */
    enum attribute_type type;    /* not of a LIST */
    union attribute_value value; /* LITERAL (from the parser on) */
    int slot;                    /* NAME, HAS */
    /* Slots of which the absence alone makes this false, or true, whatever else is absent. */
    uint64_t absent_makes_false, absent_makes_true;
};

/* The tree of `text` (at most RULE_TEXT_BYTES_MAX bytes), at most RULE_DEPTH_MAX expressions
 * nested; NULL with *e filled where it is none. */
struct node *syntax_parse(struct span text, struct arena *scratch, struct err *e);

#endif
