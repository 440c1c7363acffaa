#include "rule/check.h"

#include "base/nearest.h"
#include "rule/habits.h"

#include <stdio.h>

struct check {
    const struct attribute_schema *schema;
    struct span text;
    struct err *e;
};

static bool check(const struct check *c, struct node *n);

/* ---- words for messages ---- */

static const char *a_type(enum attribute_type type)
{
    static const char *const words[] = {"a bool", "an int", "a double", "a string"};
    return words[type];
}

struct quote {
    char text[48];
};

/* The node as it was written, where that is short and plain. */
static struct quote quote_node(const struct check *c, const struct node *n)
{
    struct quote q = {"this"};
    size_t len = n->end - n->at;
    if (len > 40) return q;
    for (size_t i = 0; i < len; i++)
        if (c->text.data[n->at + i] < ' ' || c->text.data[n->at + i] > '~') return q;
    snprintf(q.text, sizeof q.text, "`%.*s`", (int)len, c->text.data + n->at);
    return q;
}

static int clipped(struct span s)
{
    return s.len > 64 ? 64 : (int)s.len;
}

static bool fail_not_yet(const struct check *c, size_t at, const char *what)
{
    return rule_fail(c->e, at, "%s is not supported yet", what);
}

/* ---- names ---- */

/* The one name that goes on with `_...` where `word` ends, or an empty span. */
static struct span completed_name(struct span word, const struct span *names, size_t count)
{
    struct span found = {NULL, 0};
    for (size_t i = 0; i < count; i++) {
        if (names[i].len <= word.len || names[i].data[word.len] != '_' ||
            memcmp(names[i].data, word.data, word.len) != 0)
            continue;
        if (found.len) return (struct span){NULL, 0};
        found = names[i];
    }
    return found;
}

static bool fail_unknown(const struct check *c, const struct node *n)
{
    struct span names[ATTRIBUTES_MAX] = {{NULL, 0}};
    size_t count = 0;
    for (uint32_t i = 0; i < c->schema->count; i++)
        if (attribute_in_session(&c->schema->attributes[i]) ||
            (n->space.len == 0 && c->schema->attributes[i].source == ATTRIBUTE_CONTEXT))
            names[count++] = c->schema->attributes[i].name;
    struct span near = nearest_name(n->name, names, count);
    if (!near.len) near = completed_name(n->name, names, count);
    if (habit_bool(n->name).len) near = habit_bool(n->name);
    if (span_is(n->name, "has"))
        return rule_fail(c->e, n->name_at, "has() takes one attribute, as in has(tier)");
    if (habit_is_null(n->name))
        return rule_fail(c->e, n->name_at,
                         "there is no `%.*s` here: `!has(x)` holds where `x` was not sent",
                         clipped(n->name), n->name.data);
    if (!near.len && span_is(n->name, "segment"))
        return rule_fail(c->e, n->name_at,
                         "unknown attribute `segment`; did you mean `segment_id`, written bare?");
    if (near.len)
        return rule_fail(c->e, n->name_at, "unknown attribute `%.*s`; did you mean `%.*s`?",
                         clipped(n->name), n->name.data, clipped(near), near.data);
    return rule_fail(c->e, n->name_at, "unknown attribute `%.*s` (a string is written in quotes)",
                     clipped(n->name), n->name.data);
}

/* Finds the slot of a NAME. */
static bool resolve(const struct check *c, struct node *n)
{
    static const struct span space[] = {SPAN("session")};
    struct span whole = n->space.len ? n->space : n->name;
    int slot = attribute_schema_find(c->schema, n->name);
    if (span_is(n->space, "params") || (!n->space.len && slot < 0 && span_is(n->name, "params")))
        return fail_not_yet(c, n->at, "`params`");
    if (n->space.len && !span_is(n->space, "session") && nearest_name(n->space, space, 1).len)
        return rule_fail(c->e, n->at, "unknown name `%.*s`; did you mean `session`?",
                         clipped(whole), whole.data);
    if (n->space.len && !span_is(n->space, "session"))
        return rule_fail(c->e, n->at,
                         "`%.*s` has no fields; an attribute is read as `x` or `session.x`",
                         clipped(whole), whole.data);
    if (slot < 0 && span_is(whole, "session") && !n->space.len)
        return rule_fail(c->e, n->at,
                         "`session` is no value; read an attribute of it, as in "
                         "`session.elapsed_s`");
    if (slot < 0) return fail_unknown(c, n);
    const struct attribute *a = &c->schema->attributes[slot];
    if (n->space.len && !attribute_in_session(a))
        return rule_fail(c->e, n->at, "`%.*s` is not in the session; write it bare",
                         clipped(n->name), n->name.data);
    n->slot = slot;
    n->type = a->type;
    return true;
}

static bool check_has(const struct check *c, struct node *n)
{
    struct node *of = n->operands;
    if (!of || of->next || of->kind != NODE_NAME)
        return rule_fail(c->e, of ? of->at : n->at, "has() takes one attribute, as in has(tier)");
    if (!resolve(c, of)) return false;
    n->kind = NODE_HAS;
    n->slot = of->slot;
    n->operands = NULL;
    n->type = ATTRIBUTE_BOOL;
    n->absent_makes_false = (uint64_t)1 << n->slot;
    return true;
}

static bool check_call(const struct check *c, struct node *n)
{
    static const struct span functions[] = {SPAN("has"), SPAN("size"), SPAN("startsWith"),
                                            SPAN("endsWith"), SPAN("contains")};
    enum { FUNCTIONS = sizeof functions / sizeof *functions };
    if (span_is(n->name, "has") && !n->method) return check_has(c, n);
    char call[80];
    snprintf(call, sizeof call, "`%.*s()`", clipped(n->name), n->name.data);
    for (size_t i = 1; i < FUNCTIONS; i++)
        if (span_equal(n->name, functions[i])) return fail_not_yet(c, n->name_at, call);
    /* Two edits turn most names of three letters into another: no guess for those. */
    struct span near = n->method ? SPAN("") : habit_function(n->name);
    if (!near.len && n->name.len > 3) near = nearest_name(n->name, functions, FUNCTIONS);
    if (near.len)
        return rule_fail(c->e, n->name_at, "unknown function %s; did you mean `%.*s()`?", call,
                         clipped(near), near.data);
    return rule_fail(c->e, n->name_at, "%s is not part of Interlude's conditions", call);
}

/* ---- operators ---- */

static bool check_not(const struct check *c, struct node *n)
{
    struct node *of = n->operands;
    if (!check(c, of)) return false;
    if (of->type != ATTRIBUTE_BOOL)
        return rule_fail(c->e, n->at, "%s is %s; `!` needs a bool", quote_node(c, of).text,
                         a_type(of->type));
    n->type = ATTRIBUTE_BOOL;
    n->absent_makes_false = n->even ? of->absent_makes_false : of->absent_makes_true;
    n->absent_makes_true = n->even ? of->absent_makes_true : of->absent_makes_false;
    return true;
}

/* One operand that is false makes `&&` false, whatever the others are, errors too; to make it true
 * takes all. `||` likewise, the other way round. */
static bool check_chain(const struct check *c, struct node *n)
{
    bool both = n->kind == NODE_AND;
    uint64_t any_false = 0, any_true = 0, all_false = ~(uint64_t)0, all_true = ~(uint64_t)0;
    for (struct node *of = n->operands; of; of = of->next) {
        if (!check(c, of)) return false;
        if (of->type != ATTRIBUTE_BOOL)
            return rule_fail(c->e, of->at, "%s is %s; `%s` needs bools on both sides",
                             quote_node(c, of).text, a_type(of->type), both ? "&&" : "||");
        any_false |= of->absent_makes_false;
        all_false &= of->absent_makes_false;
        any_true |= of->absent_makes_true;
        all_true &= of->absent_makes_true;
    }
    n->type = ATTRIBUTE_BOOL;
    n->absent_makes_false = both ? any_false : all_false;
    n->absent_makes_true = both ? all_true : any_true;
    return true;
}

static bool comparable(enum attribute_type a, enum attribute_type b)
{
    return a == b || (attribute_type_is_number(a) && attribute_type_is_number(b));
}

static bool check_in(const struct check *c, const struct node *left, struct node *list)
{
    if (list->kind != NODE_LIST) {
        if (!check(c, list)) return false;
        return rule_fail(c->e, list->at,
                         "%s is %s; `in` needs a list on its right, as in `x in [1, 2]`",
                         quote_node(c, list).text, a_type(list->type));
    }
    for (struct node *item = list->operands; item; item = item->next) {
        if (!check(c, item)) return false;
        if (item->kind != NODE_LITERAL)
            return fail_not_yet(c, item->at, "anything but a literal in a list");
        if (!comparable(left->type, item->type))
            return rule_fail(c->e, item->at, "%s is %s; it can't be equal to %s, which is %s",
                             quote_node(c, item).text, a_type(item->type), quote_node(c, left).text,
                             a_type(left->type));
    }
    return true;
}

/* `x == null`, and what other languages call null. */
static bool is_null_name(const struct check *c, const struct node *n)
{
    return n->kind == NODE_NAME && !n->space.len && habit_is_null(n->name) &&
           attribute_schema_find(c->schema, n->name) < 0;
}

static bool check_not_null(const struct check *c, const struct node *left, const struct node *right)
{
    bool equal = right->joined_by == TOKEN_EQUAL, other = right->joined_by == TOKEN_NOT_EQUAL;
    bool first = is_null_name(c, left);
    const struct node *null = first ? left : right, *of = first ? right : left;
    if ((!equal && !other) || !is_null_name(c, null) || of->kind != NODE_NAME) return true;
    struct span name = of->name;
    return rule_fail(c->e, null->at,
                     "there is no `%.*s` here: that `%.*s` was %ssent is written `%shas(%.*s)`",
                     clipped(null->name), null->name.data, clipped(name), name.data,
                     equal ? "not " : "", equal ? "!" : "", clipped(name), name.data);
}

/* A comparison that stands on another's left without parentheses, as in `1 < x < 9`. */
static bool is_chained(const struct node *left)
{
    return left->kind == NODE_RELATION && left->end == left->operands->next->end;
}

static bool check_relation(const struct check *c, struct node *n)
{
    struct node *left = n->operands, *right = left->next;
    n->type = ATTRIBUTE_BOOL;
    if (!check_not_null(c, left, right) || !check(c, left)) return false;
    if (right->joined_by == TOKEN_IN) return check_in(c, left, right);
    if (!check(c, right)) return false;
    if (comparable(left->type, right->type)) return true;
    return rule_fail(c->e, left->at, "%s is %s; it can't be compared with %s%s",
                     quote_node(c, left).text, a_type(left->type), a_type(right->type),
                     is_chained(left) ? "; join two comparisons with `&&`" : "");
}

static bool check_unbuilt(const struct check *c, const struct node *n)
{
    char operator[] = "`+`";
    const struct node *second = n->operands->next; /* of all but NEGATE */
    const struct node *first = n->operands;
    if (!check(c, n->operands)) return false;
    if (n->kind == NODE_NEGATE && !attribute_type_is_number(first->type))
        return rule_fail(c->e, n->at, "%s is %s; `-` needs a number", quote_node(c, first).text,
                         a_type(first->type));
    if (n->kind == NODE_NEGATE)
        return fail_not_yet(c, n->at, "`-` before anything but a plain number");
    if (n->kind == NODE_CHOICE) return fail_not_yet(c, second->joined_at, "`?:`");
    operator[1] = c->text.data[second->joined_at];
    return fail_not_yet(c, second->joined_at, operator);
}

static bool check(const struct check *c, struct node *n)
{
    switch (n->kind) {
    case NODE_LITERAL:
    case NODE_HAS:
        return true;
    case NODE_NAME:
        return resolve(c, n);
    case NODE_CALL:
        return check_call(c, n);
    case NODE_NOT:
        return check_not(c, n);
    case NODE_OR:
    case NODE_AND:
        return check_chain(c, n);
    case NODE_RELATION:
        return check_relation(c, n);
    case NODE_LIST:
        return rule_fail(c->e, n->at, "a list may stand only on the right of `in`");
    case NODE_NEGATE:
    case NODE_SUM:
    case NODE_PRODUCT:
    case NODE_CHOICE:
        break;
    }
    return check_unbuilt(c, n);
}

bool check_condition(struct node *root, const struct attribute_schema *schema, struct span text,
                     struct err *e)
{
    struct check c = {schema, text, e};
    if (!check(&c, root)) return false;
    if (root->type == ATTRIBUTE_BOOL) return true;
    return rule_fail(e, root->at, "%s is %s; a condition must be a bool", quote_node(&c, root).text,
                     a_type(root->type));
}
