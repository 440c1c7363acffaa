#include "rule/syntax.h"

#include "rule/habits.h"
#include "rule/rule.h"

struct parser {
    struct lexer lexer;
    struct token token; /* the one looked at */
    uint32_t last_end;  /* the end of the one before it */
    int depth;
    int chained; /* comparisons of comparisons, in all of the condition */
};

static struct node *parse_expression(struct parser *p);

/* ---- small steps ---- */

static bool advance(struct parser *p)
{
    p->last_end = p->token.end;
    return token_next(&p->lexer, &p->token);
}

static struct node *fail_expected(struct parser *p, const char *what)
{
    struct token_words found = token_describe(p->lexer.text, &p->token);
    rule_fail(p->lexer.e, p->token.at, "expected %s, found %s", what, found.text);
    return NULL;
}

static struct node *fail_outside(struct parser *p, const char *what)
{
    rule_fail(p->lexer.e, p->token.at, "%s not part of Interlude's conditions", what);
    return NULL;
}

static struct span token_text(const struct parser *p)
{
    return (struct span){p->lexer.text.data + p->token.at, p->token.end - p->token.at};
}

static bool is_word(const struct parser *p)
{
    return p->token.kind == TOKEN_NAME || p->token.kind == TOKEN_RESERVED;
}

static struct node *fail_list(struct parser *p, uint32_t at)
{
    rule_fail(p->lexer.e, at, "a list is written in `[]`, as in `tier in ['a', 'b']`");
    return NULL;
}

/* What follows a value is neither an operator nor `what`. */
static struct node *fail_after_value(struct parser *p, const char *what)
{
    const char *hint = is_word(p) ? habit_operator(token_text(p)) : NULL;
    if (p->token.kind == TOKEN_COMMA) return fail_list(p, p->token.at);
    if (!hint) return fail_expected(p, what);
    struct token_words found = token_describe(p->lexer.text, &p->token);
    rule_fail(p->lexer.e, p->token.at, "expected an operator (%s), found %s", hint, found.text);
    return NULL;
}

/* Steps over a token that must be there, after a value. */
static bool expect(struct parser *p, enum token_kind kind, const char *what)
{
    if (p->token.kind != kind) return fail_after_value(p, what) != NULL;
    return advance(p);
}

static struct node *node_new(struct parser *p, enum node_kind kind, uint32_t at)
{
    struct node *n = arena_alloc(p->lexer.scratch, sizeof *n);
    n->kind = kind;
    n->at = at;
    return n;
}

/* ---- primary and member ---- */

/* Expressions up to `close`, put behind the operands that `owner` has; steps over `close`. A list
 * may end in a comma. */
static bool parse_operands(struct parser *p, struct node *owner, enum token_kind close,
                           const char *expected)
{
    struct node **link = &owner->operands;
    while (*link) link = &(*link)->next;
    bool more = p->token.kind != close;
    while (more) {
        struct node *operand = parse_expression(p);
        if (!operand) return false;
        *link = operand;
        link = &operand->next;
        more = p->token.kind == TOKEN_COMMA;
        if (more && !advance(p)) return false;
        if (close == TOKEN_RIGHT_BRACKET && p->token.kind == close) more = false;
    }
    if (!expect(p, close, expected)) return false;
    owner->end = p->last_end;
    return true;
}

/* The word of another language, or a name without its parentheses: what follows it shows that. */
static bool check_name(struct parser *p, const struct node *n)
{
    enum token_kind next = p->token.kind;
    bool value = (next >= TOKEN_NAME && next <= TOKEN_STRING) || next == TOKEN_NOT;
    if (habit_is_not(n->name) && (value || next == TOKEN_LEFT_PAREN))
        return rule_fail(p->lexer.e, n->at, "`%.*s` is written `!`, as in `!car` or `!(x == 1)`", 3,
                         n->name.data);
    if (span_is(n->name, "has") && next == TOKEN_NAME && !habit_operator(token_text(p)))
        return rule_fail(p->lexer.e, n->at, "has() takes one attribute, as in has(tier)");
    return true;
}

static struct node *parse_name(struct parser *p)
{
    struct node *n = node_new(p, NODE_NAME, p->token.at);
    n->name = (struct span){p->lexer.text.data + p->token.at, p->token.end - p->token.at};
    n->name_at = n->at;
    n->end = p->token.end;
    if (!advance(p) || !check_name(p, n)) return NULL;
    if (p->token.kind != TOKEN_LEFT_PAREN) return n;
    n->kind = NODE_CALL;
    if (!advance(p)) return NULL;
    return parse_operands(p, n, TOKEN_RIGHT_PAREN, "`,` or `)`") ? n : NULL;
}

/* A literal; `negative` if an odd number of minus signs stands before it, from `at` on. */
static struct node *parse_literal(struct parser *p, bool negative, uint32_t at)
{
    struct node *n = node_new(p, NODE_LITERAL, at);
    const struct token *t = &p->token;
    n->end = t->end;
    switch (t->kind) {
    case TOKEN_BOOL:
        n->type = ATTRIBUTE_BOOL;
        n->value.b = t->b;
        break;
    case TOKEN_STRING:
        n->type = ATTRIBUTE_STRING;
        n->value.s = t->s;
        break;
    case TOKEN_DOUBLE:
        n->type = ATTRIBUTE_DOUBLE;
        n->value.d = negative ? -t->d : t->d;
        break;
    default:
        if (!negative && t->magnitude > INT64_MAX) {
            rule_fail(p->lexer.e, t->at, "`%.*s` is out of an int's range, which is 64 bits",
                      (int)(t->end - t->at > 40 ? 40 : t->end - t->at), p->lexer.text.data + t->at);
            return NULL;
        }
        n->type = ATTRIBUTE_INT;
        n->value.i = (int64_t)(negative ? 0 - t->magnitude : t->magnitude);
    }
    return advance(p) ? n : NULL;
}

static struct node *parse_parenthesized(struct parser *p)
{
    uint32_t at = p->token.at;
    if (!advance(p)) return NULL;
    struct node *n = parse_expression(p);
    if (n && p->token.kind == TOKEN_COMMA) return fail_list(p, at);
    if (!n || !expect(p, TOKEN_RIGHT_PAREN, "an operator or `)`")) return NULL;
    n->at = at;
    n->end = p->last_end;
    return n;
}

static struct node *parse_list(struct parser *p)
{
    struct node *n = node_new(p, NODE_LIST, p->token.at);
    if (!advance(p)) return NULL;
    return parse_operands(p, n, TOKEN_RIGHT_BRACKET, "`,` or `]`") ? n : NULL;
}

static struct node *parse_primary(struct parser *p)
{
    switch (p->token.kind) {
    case TOKEN_NAME:
        return parse_name(p);
    case TOKEN_BOOL:
    case TOKEN_INT:
    case TOKEN_DOUBLE:
    case TOKEN_STRING:
        return parse_literal(p, false, p->token.at);
    case TOKEN_LEFT_PAREN:
        return parse_parenthesized(p);
    case TOKEN_LEFT_BRACKET:
        return parse_list(p);
    case TOKEN_LEFT_BRACE:
        return fail_outside(p, "a map in `{}` is");
    case TOKEN_DOT:
        return fail_outside(p, "a name that begins with a point is");
    case TOKEN_RESERVED:
        if (span_is(token_text(p), "null")) return parse_name(p);
        return fail_expected(p, "a value (the word is reserved in CEL)");
    default:
        return fail_expected(p, "a value");
    }
}

/* Puts `.name` or `.name(...)` behind `of`. */
static struct node *parse_selection(struct parser *p, struct node *of)
{
    uint32_t dot_at = p->token.at;
    if (!advance(p)) return NULL;
    if (p->token.kind != TOKEN_NAME) return fail_expected(p, "a name after the point");
    struct node *n = parse_name(p);
    if (!n) return NULL;
    n->at = of->at;
    if (n->kind == NODE_CALL) {
        n->method = true;
        of->next = n->operands;
        n->operands = of;
    } else if (of->kind == NODE_NAME && of->space.len == 0) {
        n->space = of->name;
    } else {
        rule_fail(p->lexer.e, dot_at,
                  "a field such as `.%.*s` here is not part of Interlude's "
                  "conditions",
                  (int)(n->name.len > 40 ? 40 : n->name.len), n->name.data);
        return NULL;
    }
    return n;
}

/* `negative`: a number stands here, behind an odd number of minus signs from `at` on. */
static struct node *parse_member(struct parser *p, bool negative, uint32_t at)
{
    struct node *n = negative ? parse_literal(p, true, at) : parse_primary(p);
    for (int i = 0; n && p->token.kind == TOKEN_DOT; i++) {
        if (i == RULE_DEPTH_MAX) {
            rule_fail(p->lexer.e, p->token.at, "more than %d selections in a row", RULE_DEPTH_MAX);
            return NULL;
        }
        n = parse_selection(p, n);
    }
    if (n && p->token.kind == TOKEN_LEFT_BRACKET) return fail_outside(p, "an index in `[]` is");
    if (n && p->token.kind == TOKEN_LEFT_BRACE) return fail_outside(p, "a message in `{}` is");
    return n;
}

/* ---- operators ---- */

/* A row of equal signs; two of them cancel out, once their operand's type is checked. */
static struct node *parse_unary(struct parser *p)
{
    enum token_kind sign = p->token.kind;
    if (sign != TOKEN_NOT && sign != TOKEN_MINUS) return parse_member(p, false, 0);
    uint32_t at = p->token.at;
    bool odd = false;
    for (; p->token.kind == sign; odd = !odd)
        if (!advance(p)) return NULL;
    bool minus = sign == TOKEN_MINUS;
    bool number = minus && (p->token.kind == TOKEN_INT || p->token.kind == TOKEN_DOUBLE);
    struct node *operand = parse_member(p, number && odd, at);
    if (!operand) return NULL;
    if (number && operand->kind == NODE_LITERAL) {
        operand->at = at;
        return operand;
    }
    struct node *n = node_new(p, minus ? NODE_NEGATE : NODE_NOT, at);
    n->operands = operand;
    n->even = !odd;
    n->end = operand->end;
    return n;
}

/* Loosest first. */
static const struct level {
    enum node_kind kind;
    enum token_kind first, last; /* of the operators that join operands at this level */
} levels[] = {
    {NODE_OR, TOKEN_OR, TOKEN_OR},
    {NODE_AND, TOKEN_AND, TOKEN_AND},
    {NODE_RELATION, TOKEN_EQUAL, TOKEN_IN},
    {NODE_SUM, TOKEN_PLUS, TOKEN_MINUS},
    {NODE_PRODUCT, TOKEN_STAR, TOKEN_PERCENT},
};
enum { LEVELS = sizeof levels / sizeof *levels };

static bool joins(const struct parser *p, const struct level *level)
{
    return p->token.kind >= level->first && p->token.kind <= level->last;
}

/* `a == b == c` is `(a == b) == c`: the comparison so far becomes the left side of another. */
static struct node *chain_relation(struct parser *p, struct node *left)
{
    if (p->chained++ == RULE_DEPTH_MAX) {
        rule_fail(p->lexer.e, p->token.at, "more than %d comparisons of comparisons",
                  RULE_DEPTH_MAX);
        return NULL;
    }
    left->end = p->last_end;
    struct node *n = node_new(p, NODE_RELATION, left->at);
    n->operands = left;
    return n;
}

/* A row of operands of one level is one node, however long: only nesting, and chained comparisons,
 * make a tree deep. */
static struct node *parse_level(struct parser *p, int depth)
{
    if (depth == LEVELS) return parse_unary(p);
    const struct level *level = &levels[depth];
    struct node *first = parse_level(p, depth + 1);
    if (!first || !joins(p, level)) return first;
    struct node *n = node_new(p, level->kind, first->at), *last = first;
    n->operands = first;
    while (joins(p, level)) {
        if (level->kind == NODE_RELATION && last != first) {
            first = last = n;
            n = chain_relation(p, first);
            if (!n) return NULL;
        }
        enum token_kind by = p->token.kind;
        uint32_t at = p->token.at;
        if (!advance(p)) return NULL;
        if (by == TOKEN_IN && p->token.kind == TOKEN_LEFT_BRACE) return fail_list(p, p->token.at);
        struct node *operand = parse_level(p, depth + 1);
        if (!operand) return NULL;
        operand->joined_by = by;
        operand->joined_at = at;
        last->next = operand;
        last = operand;
    }
    n->end = last->end;
    return n;
}

static struct node *parse_choice(struct parser *p, struct node *condition)
{
    struct node *n = node_new(p, NODE_CHOICE, condition->at);
    uint32_t question_at = p->token.at;
    if (!advance(p)) return NULL;
    struct node *one = parse_level(p, 0);
    if (!one || !expect(p, TOKEN_COLON, "`:` and the other value of `?:`")) return NULL;
    struct node *other = parse_expression(p);
    if (!other) return NULL;
    n->operands = condition;
    condition->next = one;
    one->joined_by = TOKEN_QUESTION;
    one->joined_at = question_at;
    one->next = other;
    other->joined_by = TOKEN_COLON;
    n->end = other->end;
    return n;
}

static struct node *parse_expression(struct parser *p)
{
    if (p->depth > RULE_DEPTH_MAX) {
        rule_fail(p->lexer.e, p->token.at, "nested more than %d deep", RULE_DEPTH_MAX);
        return NULL;
    }
    p->depth++;
    struct node *n = parse_level(p, 0);
    if (n && p->token.kind == TOKEN_QUESTION) n = parse_choice(p, n);
    p->depth--;
    return n;
}

struct node *syntax_parse(struct span text, struct arena *scratch, struct err *e)
{
    struct parser p = {.depth = 0};
    lexer_init(&p.lexer, text, scratch, e);
    if (!advance(&p)) return NULL;
    if (p.token.kind == TOKEN_END) return fail_expected(&p, "a condition");
    struct node *root = parse_expression(&p);
    if (!root || p.token.kind == TOKEN_END) return root;
    return fail_after_value(&p, "an operator or the end");
}
