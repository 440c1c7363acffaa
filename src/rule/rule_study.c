#include "rule/study.h"

#include "base/buf.h"
#include "rule/check.h"
#include "rule/rule_values.h"

enum { RESULTS = 3 }; /* of enum rule_result */

static uint8_t bit_of(enum rule_result result)
{
    return (uint8_t)(1u << result);
}

static enum rule_result negated(enum rule_result r)
{
    return r == RULE_ERROR ? r : r == RULE_TRUE ? RULE_FALSE : RULE_TRUE;
}

/* CEL's && (`all`) and ||, which absorb errors. */
static enum rule_result joined(enum rule_result a, enum rule_result b, bool all)
{
    enum rule_result settles = all ? RULE_FALSE : RULE_TRUE;
    if (a == settles || b == settles) return settles;
    return a == RULE_ERROR || b == RULE_ERROR ? RULE_ERROR : negated(settles);
}

/* ---- one attribute: all of its values ---- */

int slot_alone(const struct rule *rule)
{
    uint64_t reads = rule_reads(rule);
    if (!reads) return -1;
    return reads & (reads - 1) ? -2 : __builtin_ctzll(reads);
}

uint64_t rule_can_be_absent(const struct attribute_schema *schema)
{
    uint64_t slots = (uint64_t)1 << ATTRIBUTE_SLOT_SEGMENT_ID;
    for (uint32_t i = 0; i < schema->count; i++)
        if (attribute_in_session(&schema->attributes[i])) slots |= (uint64_t)1 << i;
    return slots;
}

/* An attribute's least and greatest value; what a plan declares has none. */
static void int_range(const struct attribute_schema *schema, int slot, int64_t *min, int64_t *max)
{
    *min = schema->attributes[slot].source == ATTRIBUTE_DECLARED ? INT64_MIN : 0;
    *max = slot == ATTRIBUTE_SLOT_HOUR ? 23 : slot == ATTRIBUTE_SLOT_WEEKDAY ? 6 : INT64_MAX;
}

struct trial {
    const struct rule *rule;
    int slot;
    struct attributes values;
    uint8_t seen;
};

static void try_value(struct trial *t, union attribute_value value)
{
    t->values.known = (uint64_t)1 << t->slot;
    t->values.values[t->slot] = value;
    t->seen |= bit_of(rule_eval(t->rule, &t->values));
}

static void try_int(struct trial *t, int64_t value, int64_t min, int64_t max)
{
    if (value >= min && value <= max) try_value(t, (union attribute_value){.i = value});
}

/* False: there are more values to try than rule_values() can hold. */
static bool try_values(struct trial *t, const struct attribute_schema *schema)
{
    enum attribute_type type = schema->attributes[t->slot].type;
    struct rule_values values;
    int64_t min, max;
    rule_values(t->rule, t->slot, type, &values);
    int_range(schema, t->slot, &min, &max);
    for (int i = 0; i < values.count; i++) {
        if (type == ATTRIBUTE_INT)
            try_int(t, values.values[i].i, min, max);
        else
            try_value(t, values.values[i]);
    }
    if (type == ATTRIBUTE_INT) {
        try_int(t, min, min, max);
        try_int(t, max, min, max);
    }
    return values.count < RULE_VALUES_MAX;
}

struct outcomes outcomes_find(const struct rule_context *context, const struct rule *rule, int slot)
{
    struct trial t = {.rule = rule, .slot = slot};
    struct outcomes o = {0};
    if (slot < 0) {
        o.known = bit_of(rule_eval(rule, &t.values));
        return o;
    }
    if (rule_can_be_absent(context->schema) >> slot & 1)
        o.absent = bit_of(rule_eval(rule, &t.values));
    bool complete = true;
    if (slot == ATTRIBUTE_SLOT_VARIANT)
        for (int i = 0; i < context->variants.count; i++)
            try_value(&t, (union attribute_value){.s = context->variants.names[i]});
    else
        complete = try_values(&t, context->schema);
    o.known = complete ? t.seen : (1u << RESULTS) - 1;
    return o;
}

enum rule_course outcomes_course(const struct outcomes *o)
{
    if (o->known == bit_of(RULE_TRUE) && !(o->absent & bit_of(RULE_FALSE)))
        return RULE_ALWAYS_HOLDS;
    if (o->known == bit_of(RULE_FALSE) && !(o->absent & bit_of(RULE_TRUE))) return RULE_NEVER_HOLDS;
    return RULE_VARIES;
}

/* ---- the parts ---- */

static enum rule_course course_of_chain(const struct rule_study *study, const struct part *chain,
                                        struct rule_notes *notes);

static enum part_kind kind_of(const struct node *n)
{
    return n->kind == NODE_AND   ? PART_ALL
           : n->kind == NODE_OR  ? PART_ANY
           : n->kind == NODE_NOT ? PART_NOT
                                 : PART_LEAF;
}

static enum rule_course course_of_not(const struct part *p)
{
    enum rule_course of = p->first->course;
    if (of == RULE_VARIES || p->node->even) return of;
    return of == RULE_NEVER_HOLDS ? RULE_ALWAYS_HOLDS : RULE_NEVER_HOLDS;
}

/* Nested as deep as the condition is: RULE_DEPTH_MAX. */
static struct part *part_make(const struct rule_study *study, const struct node *n,
                              struct rule_notes *notes)
{
    struct part *p = arena_alloc(study->context->arena, sizeof *p);
    struct span text = {study->text.data + n->at, n->end - n->at};
    struct err e;
    enum err_code code = rule_compile(study->context->arena, study->context->scratch,
                                      study->context->schema, text, &p->rule, &e);
    INVARIANT(code == ERR_OK); /* a part of what compiles, compiles */
    p->kind = kind_of(n);
    p->node = n;
    if (p->kind == PART_LEAF) {
        p->course = leaf_study(study, p, notes);
        return p;
    }
    struct part **end = &p->first;
    for (const struct node *of = n->operands; of; of = of->next) {
        *end = part_make(study, of, notes);
        end = &(*end)->next;
    }
    p->course = p->kind == PART_NOT ? course_of_not(p) : course_of_chain(study, p, notes);
    return p;
}

/* Operands that are looked at together, joined again. */
struct joining {
    struct buf text;
    int count;
    char memory[RULE_TEXT_BYTES_MAX];
};

static void joining_begin(struct joining *j)
{
    j->text = buf_of(j->memory, sizeof j->memory);
    j->count = 0;
}

/* Takes in the operands from `from` on that read only `slot` and vary; their number. */
static int joining_add(struct joining *j, const struct part *from, int slot, bool all)
{
    int before = j->count;
    for (; from; from = from->next) {
        if (from->course != RULE_VARIES || slot_alone(from->rule) != slot) continue;
        if (j->count++) buf_span(&j->text, all ? SPAN(" && ") : SPAN(" || "));
        buf_char(&j->text, '(');
        buf_span(&j->text, rule_text(from->rule));
        buf_char(&j->text, ')');
    }
    return j->count - before;
}

/* What they come to together. Where that makes too long a condition, all may be. */
static struct outcomes joining_outcomes(const struct joining *j, const struct rule_study *study,
                                        int slot)
{
    const struct rule_context *c = study->context;
    const uint8_t any = (1u << RESULTS) - 1;
    struct outcomes o = {any, any};
    const struct rule *rule;
    struct err e;
    if (!j->text.full &&
        rule_compile(c->spare, c->scratch, c->schema, buf_text(&j->text), &rule, &e) == ERR_OK)
        o = outcomes_find(c, rule, slot);
    arena_reset(c->spare);
    return o;
}

/* Whether the operands that read one attribute settle the chain, whatever the others are. */
static bool chain_settled(const struct rule_study *study, const struct part *chain,
                          enum rule_course settles, struct rule_notes *notes)
{
    uint64_t seen = 0;
    for (const struct part *of = chain->first; of; of = of->next) {
        struct joining j;
        int slot = slot_alone(of->rule);
        if (slot < 0 || seen >> slot & 1) continue;
        seen |= (uint64_t)1 << slot;
        joining_begin(&j);
        if (joining_add(&j, of, slot, chain->kind == PART_ALL) < 2) continue;
        struct outcomes o = joining_outcomes(&j, study, slot);
        if (outcomes_course(&o) != settles) continue;
        note_together(study, of, slot, settles, notes);
        return true;
    }
    return false;
}

static enum rule_course course_of_chain(const struct rule_study *study, const struct part *chain,
                                        struct rule_notes *notes)
{
    bool all = chain->kind == PART_ALL, varies = false;
    enum rule_course settles = all ? RULE_NEVER_HOLDS : RULE_ALWAYS_HOLDS;
    for (const struct part *of = chain->first; of; of = of->next) {
        if (of->course == settles) return settles;
        varies = varies || of->course == RULE_VARIES;
    }
    if (!varies) return all ? RULE_ALWAYS_HOLDS : RULE_NEVER_HOLDS;
    return chain_settled(study, chain, settles, notes) ? settles : RULE_VARIES;
}

const struct rule_study *rule_study_make(const struct rule_context *context, struct span text,
                                         struct rule_notes *notes)
{
    struct rule_study *study = arena_alloc(context->arena, sizeof *study);
    struct err e;
    *study = (struct rule_study){.context = context, .text = text};
    struct node *root = syntax_parse(text, context->arena, &e);
    INVARIANT(root && check_condition(root, context->schema, text, &e));
    notes->count = 0;
    study->root = part_make(study, root, notes);
    note_whole(study, notes);
    return study;
}

enum rule_course rule_study_course(const struct rule_study *study)
{
    return study->root->course;
}

/* ---- with and without an attribute ---- */

/* A set of pairs: what a part comes to where the attribute has a value, and what without it, the
 * rest being the same. Bit `with * RESULTS + without`. */
typedef uint16_t pair_set;

static pair_set pair_bit(int with, int without)
{
    return (pair_set)(1u << (with * RESULTS + without));
}

static pair_set pairs_of_sets(uint8_t with, uint8_t without)
{
    pair_set set = 0;
    for (int a = 0; a < RESULTS; a++)
        for (int b = 0; b < RESULTS; b++)
            if (with >> a & 1 && without >> b & 1) set |= pair_bit(a, b);
    return set;
}

/* Of a part that does not read the attribute: the same with and without it. */
static pair_set pairs_unmoved(const struct part *p)
{
    pair_set set = rule_reads(p->rule) ? pair_bit(RULE_ERROR, RULE_ERROR) : 0;
    if (p->course != RULE_NEVER_HOLDS) set |= pair_bit(RULE_TRUE, RULE_TRUE);
    if (p->course != RULE_ALWAYS_HOLDS) set |= pair_bit(RULE_FALSE, RULE_FALSE);
    return set;
}

static pair_set pairs_negated(pair_set of)
{
    pair_set set = 0;
    for (int a = 0; a < RESULTS; a++)
        for (int b = 0; b < RESULTS; b++)
            if (of & pair_bit(a, b))
                set |= pair_bit(negated((enum rule_result)a), negated((enum rule_result)b));
    return set;
}

static pair_set pairs_joined(pair_set x, pair_set y, bool all)
{
    pair_set set = 0;
    for (int i = 0; i < RESULTS * RESULTS; i++)
        for (int j = 0; j < RESULTS * RESULTS; j++) {
            if (!(x >> i & 1) || !(y >> j & 1)) continue;
            enum rule_result xw = (enum rule_result)(i / RESULTS),
                             xo = (enum rule_result)(i % RESULTS),
                             yw = (enum rule_result)(j / RESULTS),
                             yo = (enum rule_result)(j % RESULTS);
            set |= pair_bit(joined(xw, yw, all), joined(xo, yo, all));
        }
    return set;
}

static pair_set pairs_find(const struct rule_study *study, const struct part *p, int slot)
{
    if (!(rule_reads(p->rule) >> slot & 1)) return pairs_unmoved(p);
    if (slot_alone(p->rule) == slot) {
        struct outcomes o = outcomes_find(study->context, p->rule, slot);
        return pairs_of_sets(o.known, o.absent);
    }
    /* A relation of two attributes is an error without one of them. */
    if (p->kind == PART_LEAF) return pairs_of_sets((1u << RESULTS) - 1, bit_of(RULE_ERROR));
    pair_set set = pairs_find(study, p->first, slot);
    if (p->kind == PART_NOT) return p->node->even ? set : pairs_negated(set);
    for (const struct part *of = p->first->next; of; of = of->next)
        set = pairs_joined(set, pairs_find(study, of, slot), p->kind == PART_ALL);
    return set;
}

struct rule_absence rule_study_absence(const struct rule_study *study, int slot)
{
    pair_set set = pairs_find(study, study->root, slot);
    pair_set with_true = 0, without_true = 0, without_false = 0;
    for (int r = 0; r < RESULTS; r++) {
        with_true |= pair_bit(RULE_TRUE, r);
        without_true |= pair_bit(r, RULE_TRUE);
        without_false |= pair_bit(r, RULE_FALSE);
    }
    return (struct rule_absence){
        .fails = set & with_true & ~without_true,
        .may_hold = set & without_true,
        .means_it = (set & without_true) && !(set & with_true),
        .holds = !(set & ~without_true),
        .never_false = !(set & without_false),
    };
}

/* ---- two conditions ---- */

/* The operands of the whole, where all of them must hold; else the whole itself. */
static const struct part *demands(const struct rule_study *study)
{
    return study->root->kind == PART_ALL ? study->root->first : study->root;
}

/* Whether the operands of both that read only that attribute never hold together. */
static bool excluded_by(const struct rule_study *a, const struct rule_study *b, int slot)
{
    struct joining j;
    joining_begin(&j);
    if (!joining_add(&j, demands(a), slot, true) || !joining_add(&j, demands(b), slot, true))
        return false;
    struct outcomes o = joining_outcomes(&j, a, slot);
    return !((o.known | o.absent) & bit_of(RULE_TRUE));
}

/* Whoever leaves one of the attributes out of account asks for the other: two are enough. */
uint64_t rule_study_exclude(const struct rule_study *a, const struct rule_study *b)
{
    uint64_t seen = 0, slots = 0;
    for (const struct part *p = demands(a); p && !(slots & (slots - 1)); p = p->next) {
        int slot = slot_alone(p->rule);
        if (slot < 0 || seen >> slot & 1) continue;
        seen |= (uint64_t)1 << slot;
        if (rule_reads(b->root->rule) >> slot & 1 && excluded_by(a, b, slot))
            slots |= (uint64_t)1 << slot;
    }
    return slots;
}
