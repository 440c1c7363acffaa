#include "rule/program.h"

/* -1, 0 or 1 as a three-way comparison. Doubles are never NaN here. */
#define THREE_WAY(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_strings(struct span a, struct span b)
{
    return THREE_WAY(span_compare(a, b), 0);
}

/* Exact: no int is rounded to a double, which would make neighbours above 2^53 equal. */
static int compare_int_double(int64_t i, double d)
{
    if (d >= 0x1p63) return -1;
    if (d < -0x1p63) return 1;
    int64_t whole = (int64_t)d;
    if (i != whole) return THREE_WAY(i, whole);
    return THREE_WAY((double)whole, d);
}

static inline enum truth truth_of(bool b)
{
    return b ? TRUTH_TRUE : TRUTH_FALSE;
}

/* The truth of the relation where the left side is less (-1), equal (0) or greater (1). */
static inline enum truth satisfies(const struct instruction *at, int outcome)
{
    return at->relation >> 2 * (outcome + 1) & TRUTH_TRUE;
}

static bool in_strings(const struct instruction *at, struct span s)
{
    for (uint32_t i = 0; i < at->count; i++)
        if (span_equal(s, at->items[i].s)) return true;
    return false;
}

static bool in_ints(const struct instruction *at, int64_t value)
{
    for (uint32_t i = 0; i < at->count; i++)
        if (at->items[i].i == value) return true;
    return false;
}

static bool in_doubles(const struct instruction *at, double value)
{
    for (uint32_t i = 0; i < at->count; i++)
        if (at->items[i].d == value) return true;
    return false;
}

/* The relations between registers, whose values are all known. Apart, so that the common condition,
 * which has none, saves no registers for the calls in it. */
static __attribute__((noinline)) enum truth relate(const struct instruction *at,
                                                   const union attribute_value *left)
{
    const union attribute_value *right = left + 1;
    switch (at->op) {
    case OP_COMPARE_INTS:
        return satisfies(at, THREE_WAY(left->i, right->i));
    case OP_COMPARE_DOUBLES:
        return satisfies(at, THREE_WAY(left->d, right->d));
    case OP_COMPARE_INT_DOUBLE:
        return satisfies(at, compare_int_double(left->i, right->d));
    case OP_COMPARE_STRINGS:
        return satisfies(at, compare_strings(left->s, right->s));
    case OP_IN_INTS:
        return truth_of(in_ints(at, left->i));
    case OP_IN_DOUBLES:
        return truth_of(in_doubles(at, left->d));
    default:
        INVARIANT(at->op == OP_IN_STRINGS);
        return truth_of(in_strings(at, left->s));
    }
}

static inline enum truth has(const struct attributes *values, int slot)
{
    if (attribute_known(values, slot)) return TRUTH_TRUE;
    return attribute_invalid(values, slot) ? TRUTH_ERROR : TRUTH_FALSE;
}

static enum truth flag_or_false(const struct attributes *values, int slot)
{
    return truth_of(attribute_known(values, slot) && values->values[slot].b);
}

/* Register a = slot b. Returns whether it is known. */
static bool load_slot(const struct instruction *at, const struct attributes *values,
                      union attribute_value *r)
{
    if (!attribute_known(values, at->b)) return false;
    r[at->a] = values->values[at->b];
    return true;
}

#define KNOWN(outcome) (attribute_known(values, a) ? satisfies(at, outcome) : TRUTH_ERROR)

enum rule_result rule_eval(const struct rule *rule, const struct attributes *values)
{
    static const uint8_t truth_not[] = {
        [TRUTH_FALSE] = TRUTH_TRUE, [TRUTH_ERROR] = TRUTH_ERROR, [TRUTH_TRUE] = TRUTH_FALSE};
    static const uint8_t results[] = {
        [TRUTH_FALSE] = RULE_FALSE, [TRUTH_ERROR] = RULE_ERROR, [TRUTH_TRUE] = RULE_TRUE};
    const union attribute_value *slot = values->values;
    union attribute_value r[PROGRAM_REGISTERS];
    enum truth truth = TRUTH_FALSE;
    for (const struct instruction *at = rule->code;;) {
        uint8_t a = at->a;
        switch ((enum op)at->op) {
        case OP_END:
            return results[truth];
        case OP_TRUTH:
            truth = a;
            break;
        case OP_NOT:
            truth = truth_not[truth];
            break;
        case OP_HAS:
            truth = has(values, a);
            break;
        case OP_FLAG:
            truth = attribute_known(values, a) ? truth_of(slot[a].b) : TRUTH_ERROR;
            break;
        case OP_FLAG_OR_FALSE:
            truth = flag_or_false(values, a);
            break;

        case OP_SLOT_INT:
            truth = KNOWN(THREE_WAY(slot[a].i, at->constant.i));
            break;
        case OP_SLOT_DOUBLE:
            truth = KNOWN(THREE_WAY(slot[a].d, at->constant.d));
            break;
        case OP_SLOT_STRING:
            truth = KNOWN(compare_strings(slot[a].s, at->constant.s));
            break;
        case OP_SLOT_STRING_SAME:
            truth = KNOWN(!span_equal(slot[a].s, at->constant.s));
            break;

        case OP_LOAD_SLOT:
            if (load_slot(at, values, r)) break;
            truth = TRUTH_ERROR;
            goto jump;
        case OP_LOAD_CONSTANT:
            r[a] = at->constant;
            break;
        case OP_LOAD_TRUTH:
            if (truth == TRUTH_ERROR) goto jump;
            r[a].i = truth == TRUTH_TRUE;
            break;

        case OP_COMPARE_INTS ... OP_IN_STRINGS:
            truth = relate(at, &r[a]);
            break;

        case OP_AND_NEXT:
            truth &= (enum truth)r[a].i;
            __attribute__((fallthrough));
        case OP_AND_FIRST:
            if (truth == TRUTH_FALSE) goto jump;
            r[a].i = truth;
            break;
        case OP_AND_LAST:
            truth &= (enum truth)r[a].i;
            break;
        case OP_OR_NEXT:
            truth |= (enum truth)r[a].i;
            __attribute__((fallthrough));
        case OP_OR_FIRST:
            if (truth == TRUTH_TRUE) goto jump;
            r[a].i = truth;
            break;
        case OP_OR_LAST:
            truth |= (enum truth)r[a].i;
            break;
        default:
            __builtin_unreachable(); /* the compiler makes no other */
        }
        at++;
        continue;
    jump:
        at += at->skip;
    }
}
