#include "rule/check.h"
#include "rule/program.h"

/* What a compilation writes to. Steps are instructions and list items together: both cost time when
 * the condition is evaluated. */
struct output {
    struct arena *arena;
    uint32_t count, steps;
    bool full;
    uint32_t full_at; /* where in the text it became so */
    uint64_t reads, needs;
    struct instruction code[RULE_STEPS_MAX];
};

enum { SKIP_OPEN = 0 }; /* a jump whose end is not known yet */

static void emit_truth(struct output *o, const struct node *n, uint8_t r);

/* Once the output is full, instructions fall on its last place, and the compilation fails. */
static struct instruction *emit(struct output *o, const struct node *n, enum op op, uint8_t a)
{
    INVARIANT(a < PROGRAM_REGISTERS);
    if (o->steps >= RULE_STEPS_MAX && !o->full) {
        o->full = true;
        o->full_at = n->at;
    }
    if (o->full) return &o->code[RULE_STEPS_MAX - 1];
    o->steps++;
    struct instruction *at = &o->code[o->count++];
    *at = (struct instruction){.op = op, .a = a};
    return at;
}

static bool jumps(enum op op)
{
    return op == OP_LOAD_SLOT || op == OP_LOAD_TRUTH || op == OP_AND_FIRST || op == OP_AND_NEXT ||
           op == OP_OR_FIRST || op == OP_OR_NEXT;
}

/* Lets the open jumps from `first` on end here. Those of inner expressions are closed already. */
static void close_jumps(struct output *o, uint32_t first)
{
    for (uint32_t i = first; i < o->count; i++)
        if (jumps(o->code[i].op) && o->code[i].skip == SKIP_OPEN) o->code[i].skip = o->count - i;
}

/* ---- relations ---- */

static uint8_t outcomes_of(enum token_kind relation)
{
    switch (relation) {
    case TOKEN_EQUAL:
        return OUTCOME_EQUAL;
    case TOKEN_NOT_EQUAL:
        return OUTCOME_LESS | OUTCOME_GREATER;
    case TOKEN_LESS:
        return OUTCOME_LESS;
    case TOKEN_LESS_EQUAL:
        return OUTCOME_LESS | OUTCOME_EQUAL;
    case TOKEN_GREATER:
        return OUTCOME_GREATER;
    default:
        INVARIANT(relation == TOKEN_GREATER_EQUAL);
        return OUTCOME_GREATER | OUTCOME_EQUAL;
    }
}

/* The same relation with its sides swapped. */
static uint8_t outcomes_swapped(uint8_t outcomes)
{
    uint8_t less = outcomes & OUTCOME_GREATER ? OUTCOME_LESS : 0;
    uint8_t greater = outcomes & OUTCOME_LESS ? OUTCOME_GREATER : 0;
    return less | (outcomes & OUTCOME_EQUAL) | greater;
}

/* The literal as a value of `type`, where that is exactly the same value. False if there is none:
 * an int that a double can't hold, or a fraction. A bool becomes an int, as registers hold it. */
static bool literal_as(struct output *o, const struct node *literal, enum attribute_type type,
                       union attribute_value *out)
{
    const union attribute_value *v = &literal->value;
    *out = *v;
    if (literal->type == ATTRIBUTE_BOOL) out->i = v->b;
    if (literal->type == ATTRIBUTE_STRING) out->s = arena_copy(o->arena, v->s);
    if (literal->type == ATTRIBUTE_INT && type == ATTRIBUTE_DOUBLE) {
        out->d = (double)v->i;
        return out->d < 0x1p63 && (int64_t)out->d == v->i;
    }
    if (literal->type == ATTRIBUTE_DOUBLE && type == ATTRIBUTE_INT) {
        if (v->d < -0x1p63 || v->d >= 0x1p63 || (double)(int64_t)v->d != v->d) return false;
        out->i = (int64_t)v->d;
    }
    return true;
}

/* The value of an expression to register r; if it is an error, a jump out of the relation. */
static void emit_value(struct output *o, const struct node *n, uint8_t r)
{
    if (n->type == ATTRIBUTE_BOOL && n->kind != NODE_LITERAL) {
        emit_truth(o, n, r);
        emit(o, n, OP_LOAD_TRUTH, r);
    } else if (n->kind == NODE_NAME) {
        emit(o, n, OP_LOAD_SLOT, r)->b = (uint8_t)n->slot;
    } else {
        INVARIANT(n->kind == NODE_LITERAL);
        literal_as(o, n, n->type, &emit(o, n, OP_LOAD_CONSTANT, r)->constant);
    }
}

/* An attribute against a literal of its own type is one instruction. */
static bool emit_slot_relation(struct output *o, const struct node *name,
                               const struct node *literal, uint8_t outcomes)
{
    union attribute_value constant;
    if (name->kind != NODE_NAME || literal->kind != NODE_LITERAL || name->type == ATTRIBUTE_BOOL ||
        !literal_as(o, literal, name->type, &constant))
        return false;
    bool same = outcomes == OUTCOME_EQUAL || outcomes == (OUTCOME_LESS | OUTCOME_GREATER);
    enum op op = name->type == ATTRIBUTE_INT      ? OP_SLOT_INT
                 : name->type == ATTRIBUTE_DOUBLE ? OP_SLOT_DOUBLE
                 : same                           ? OP_SLOT_STRING_SAME
                                                  : OP_SLOT_STRING;
    struct instruction *at = emit(o, name, op, (uint8_t)name->slot);
    at->relation = outcomes;
    at->constant = constant;
    return true;
}

static void emit_comparison(struct output *o, const struct node *n, uint8_t r)
{
    const struct node *left = n->operands, *right = left->next;
    uint8_t outcomes = outcomes_of(right->joined_by);
    if (emit_slot_relation(o, left, right, outcomes) ||
        emit_slot_relation(o, right, left, outcomes_swapped(outcomes)))
        return;
    /* Only the pair of an int and a double is mixed; the int goes left. */
    if (left->type == ATTRIBUTE_DOUBLE && right->type == ATTRIBUTE_INT) {
        const struct node *was_left = left;
        left = right;
        right = was_left;
        outcomes = outcomes_swapped(outcomes);
    }
    uint32_t first = o->count;
    emit_value(o, left, r);
    emit_value(o, right, r + 1);
    enum op op = left->type != right->type        ? OP_COMPARE_INT_DOUBLE
                 : left->type == ATTRIBUTE_DOUBLE ? OP_COMPARE_DOUBLES
                 : left->type == ATTRIBUTE_STRING ? OP_COMPARE_STRINGS
                                                  : OP_COMPARE_INTS;
    emit(o, n, op, r)->relation = outcomes;
    close_jumps(o, first);
}

/* The items as values of the left side's type; those that no value of it equals are left out. */
static void emit_in(struct output *o, const struct node *n, uint8_t r)
{
    const struct node *left = n->operands, *list = left->next;
    uint32_t first = o->count, count = 0;
    for (const struct node *item = list->operands; item; item = item->next) count++;
    union attribute_value *items = arena_alloc(o->arena, count * sizeof *items);
    count = 0;
    for (const struct node *item = list->operands; item; item = item->next)
        if (literal_as(o, item, left->type, &items[count])) count++;
    emit_value(o, left, r);
    enum op op = left->type == ATTRIBUTE_DOUBLE   ? OP_IN_DOUBLES
                 : left->type == ATTRIBUTE_STRING ? OP_IN_STRINGS
                                                  : OP_IN_INTS;
    o->steps += count;
    struct instruction *at = emit(o, list, op, r);
    at->items = items;
    at->count = count;
    close_jumps(o, first);
}

/* ---- truths ---- */

static void emit_chain(struct output *o, const struct node *n, uint8_t r)
{
    bool both = n->kind == NODE_AND;
    uint32_t first = o->count;
    for (const struct node *of = n->operands; of; of = of->next) {
        emit_truth(o, of, r + 1);
        if (of == n->operands)
            emit(o, of, both ? OP_AND_FIRST : OP_OR_FIRST, r);
        else if (of->next)
            emit(o, of, both ? OP_AND_NEXT : OP_OR_NEXT, r);
        else
            emit(o, of, both ? OP_AND_LAST : OP_OR_LAST, r);
    }
    close_jumps(o, first);
}

/* The truth of a bool expression to the accumulator; registers from r on are free. */
static void emit_truth(struct output *o, const struct node *n, uint8_t r)
{
    uint8_t slot = (uint8_t)n->slot;
    switch (n->kind) {
    case NODE_LITERAL:
        emit(o, n, OP_TRUTH, n->value.b ? TRUTH_TRUE : TRUTH_FALSE);
        break;
    case NODE_NAME:
        emit(o, n, slot == ATTRIBUTE_SLOT_CHILD_DIRECTED ? OP_FLAG_OR_FALSE : OP_FLAG, slot);
        break;
    case NODE_HAS:
        emit(o, n, OP_HAS, slot);
        break;
    case NODE_NOT:
        emit_truth(o, n->operands, r);
        if (!n->even) emit(o, n, OP_NOT, 0);
        break;
    case NODE_OR:
    case NODE_AND:
        emit_chain(o, n, r);
        break;
    default:
        INVARIANT(n->kind == NODE_RELATION);
        if (n->operands->next->joined_by == TOKEN_IN)
            emit_in(o, n, r);
        else
            emit_comparison(o, n, r);
    }
}

/* ---- what is read ---- */

/* Slots whose absence settles a chain are guarded in all of it: the answer is the same whatever
 * their reading gives. This holds on either side, since the chains absorb errors on either side:
 * `tier == 'x' && has(tier)` needs no tier. */
static void find_reads(struct output *o, const struct node *n, uint64_t guarded)
{
    uint64_t slot = (uint64_t)1 << n->slot;
    if (n->kind == NODE_HAS) o->reads |= slot;
    if (n->kind == NODE_NAME) {
        o->reads |= slot;
        if (n->slot != ATTRIBUTE_SLOT_CHILD_DIRECTED) o->needs |= slot & ~guarded;
    }
    if (n->kind == NODE_AND) guarded |= n->absent_makes_false;
    if (n->kind == NODE_OR) guarded |= n->absent_makes_true;
    for (const struct node *of = n->operands; of; of = of->next) find_reads(o, of, guarded);
}

/* ---- the whole ---- */

static const struct rule *rule_finish(struct output *o, struct span text)
{
    size_t bytes = o->count * sizeof o->code[0];
    struct rule *rule = arena_alloc(o->arena, sizeof *rule + bytes);
    rule->text = arena_copy(o->arena, text);
    rule->reads = o->reads;
    rule->needs = o->needs;
    rule->count = o->count;
    memcpy(rule->code, o->code, bytes);
    return rule;
}

static bool compile(struct arena *arena, struct arena *scratch,
                    const struct attribute_schema *schema, struct span text,
                    const struct rule **out, struct err *e)
{
    if (text.len > RULE_TEXT_BYTES_MAX)
        return rule_fail(e, RULE_TEXT_BYTES_MAX, "the condition is longer than %d bytes",
                         RULE_TEXT_BYTES_MAX);
    struct node *root = syntax_parse(text, scratch, e);
    if (!root || !check_condition(root, schema, text, e)) return false;

    struct output *o = arena_alloc(scratch, sizeof *o);
    o->arena = arena;
    emit_truth(o, root, 0);
    emit(o, root, OP_END, 0);
    if (o->full)
        return rule_fail(e, o->full_at,
                         "the condition takes more than %d steps (comparisons, "
                         "operators and list items)",
                         RULE_STEPS_MAX);
    find_reads(o, root, 0);
    *out = rule_finish(o, text);
    return true;
}

enum err_code rule_compile(struct arena *arena, struct arena *scratch,
                           const struct attribute_schema *schema, struct span text,
                           const struct rule **out, struct err *e)
{
    bool ok = compile(arena, scratch, schema, text, out, e);
    arena_reset(scratch);
    return ok ? ERR_OK : ERR_RULE;
}

bool rule_parses(struct arena *scratch, struct span text)
{
    bool parses = text.len <= RULE_TEXT_BYTES_MAX && syntax_parse(text, scratch, NULL);
    arena_reset(scratch);
    return parses;
}

struct span rule_text(const struct rule *rule)
{
    return rule->text;
}
uint64_t rule_reads(const struct rule *rule)
{
    return rule->reads;
}
uint64_t rule_needs(const struct rule *rule)
{
    return rule->needs;
}
