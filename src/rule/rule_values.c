#include "rule/rule_values.h"

#include "rule/program.h"

#include <stdlib.h>

/* A search for the literals that one attribute is compared with. */
struct search {
    int slot;
    struct rule_values *out;
};

static void put(struct rule_values *v, union attribute_value value)
{
    if (v->count < RULE_VALUES_MAX) v->values[v->count++] = value;
}

/* ---- literals ---- */

static bool loads_slot(const struct instruction *load, int slot)
{
    return load && load->op == OP_LOAD_SLOT && load->b == slot;
}

static bool loads_constant(const struct instruction *load)
{
    return load && load->op == OP_LOAD_CONSTANT;
}

/* An int has no value at a fraction: the ones beside it. */
static void put_around(struct rule_values *v, double fraction)
{
    if (!(fraction > -0x1p62 && fraction < 0x1p62)) return;
    int64_t whole = (int64_t)fraction;
    for (int64_t i = whole - 1; i <= whole + 1; i++) put(v, (union attribute_value){.i = i});
}

static void put_comparison(const struct search *s, const struct instruction *at,
                           const struct instruction *left, const struct instruction *right)
{
    bool mixed = at->op == OP_COMPARE_INT_DOUBLE; /* the int stands left */
    if (loads_slot(left, s->slot) && loads_constant(right)) {
        if (mixed)
            put_around(s->out, right->constant.d);
        else
            put(s->out, right->constant);
    } else if (loads_slot(right, s->slot) && loads_constant(left)) {
        put(s->out,
            mixed ? (union attribute_value){.d = (double)left->constant.i} : left->constant);
    }
}

static void put_literals(const struct search *s, const struct rule *rule)
{
    const struct instruction *loads[PROGRAM_REGISTERS] = {NULL};
    for (const struct instruction *at = rule->code; at->op != OP_END; at++) {
        switch ((enum op)at->op) {
        case OP_SLOT_INT ... OP_SLOT_STRING_SAME:
            if (at->a == s->slot) put(s->out, at->constant);
            break;
        case OP_LOAD_SLOT ... OP_LOAD_TRUTH:
            loads[at->a] = at;
            break;
        case OP_COMPARE_INTS ... OP_COMPARE_STRINGS:
            put_comparison(s, at, loads[at->a], loads[at->a + 1]);
            break;
        case OP_IN_INTS ... OP_IN_STRINGS:
            for (uint32_t i = 0; loads_slot(loads[at->a], s->slot) && i < at->count; i++)
                put(s->out, at->items[i]);
            break;
        default:
            break;
        }
    }
}

/* ---- what lies between and beyond ---- */

static int by_int(const void *a, const void *b)
{
    int64_t x = ((const union attribute_value *)a)->i, y = ((const union attribute_value *)b)->i;
    return (x > y) - (x < y);
}

static int by_double(const void *a, const void *b)
{
    double x = ((const union attribute_value *)a)->d, y = ((const union attribute_value *)b)->d;
    return (x > y) - (x < y);
}

static void put_ints_between(struct rule_values *v)
{
    int n = v->count;
    qsort(v->values, (size_t)n, sizeof v->values[0], by_int);
    int64_t least = v->values[0].i, most = v->values[n - 1].i;
    if (most < INT64_MAX) put(v, (union attribute_value){.i = most + 1});
    if (least > INT64_MIN) put(v, (union attribute_value){.i = least - 1});
    for (int i = 1; i < n; i++) {
        int64_t a = v->values[i - 1].i, b = v->values[i].i;
        uint64_t gap = (uint64_t)b - (uint64_t)a;
        if (gap > 1) put(v, (union attribute_value){.i = (int64_t)((uint64_t)a + gap / 2)});
    }
}

static void put_finite(struct rule_values *v, double d)
{
    if (d - d == 0) put(v, (union attribute_value){.d = d});
}

static void put_doubles_between(struct rule_values *v)
{
    int n = v->count;
    qsort(v->values, (size_t)n, sizeof v->values[0], by_double);
    double least = v->values[0].d, most = v->values[n - 1].d;
    put_finite(v, most + (most > 0 ? most : 0) + 1);
    put_finite(v, least + (least < 0 ? least : 0) - 1);
    for (int i = 1; i < n; i++) {
        double a = v->values[i - 1].d, b = v->values[i].d;
        if (a < b) put_finite(v, a / 2 + b / 2);
    }
}

/* The next after a text in the order of bytes that is of printable characters, nearly. */
static void put_text_after(struct rule_values *v, struct span text)
{
    if (text.len + 1 > sizeof v->memory - v->bytes) return;
    char *at = v->memory + v->bytes;
    memcpy(at, text.data, text.len);
    at[text.len] = ' ';
    v->bytes += text.len + 1;
    put(v, (union attribute_value){.s = {at, text.len + 1}});
}

static void put_texts_between(struct rule_values *v)
{
    int n = v->count;
    put(v, (union attribute_value){.s = SPAN(RULE_VALUES_TEXT)});
    put(v, (union attribute_value){.s = SPAN("")});
    for (int i = 0; i < n; i++) put_text_after(v, v->values[i].s);
}

void rule_values(const struct rule *rule, int slot, enum attribute_type type,
                 struct rule_values *out)
{
    out->count = 0;
    out->bytes = 0;
    if (type == ATTRIBUTE_BOOL) {
        put(out, (union attribute_value){.b = false});
        put(out, (union attribute_value){.b = true});
        return;
    }
    put_literals(&(struct search){slot, out}, rule);
    if (type == ATTRIBUTE_STRING) {
        put_texts_between(out);
    } else if (type == ATTRIBUTE_INT) {
        put(out, (union attribute_value){.i = 0});
        put(out, (union attribute_value){.i = 3600});
        put_ints_between(out);
    } else {
        put(out, (union attribute_value){.d = 0});
        put(out, (union attribute_value){.d = 3600});
        put_doubles_between(out);
    }
}
