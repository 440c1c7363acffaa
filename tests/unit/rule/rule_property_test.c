/* Random conditions against a reference that shares nothing with the compiler: the generator works
 * out, while it writes a condition, what CEL says of it for each of a few random sessions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/hash.h"
#include "session.h"

static struct arena scratch; /* of rule_compile */

enum { SESSIONS = 6, CONDITIONS = 30000, NESTING = 3 };

/* A value in one session: an error, or a value of the type that the generator asked for. */
struct value {
    bool error;
    bool b;
    long double number; /* exact for every int64_t and double */
    struct span s;
};

struct values {
    struct value in[SESSIONS];
};

struct generator {
    uint64_t seed, drawn;
    struct attribute_schema schema;
    struct attributes sessions[SESSIONS];
    struct buf text;
    uint64_t reads;
};

_Static_assert(__LDBL_MANT_DIG__ >= 64, "the reference compares ints and doubles as long doubles");

static uint32_t below(struct generator *g, uint32_t n)
{
    uint64_t counter[2] = {g->seed, g->drawn++};
    return hash_murmur3_32((struct span){(const char *)counter, sizeof counter}, 1) % n;
}

/* ---- sessions ---- */

static const struct {
    const char *text;
    int64_t value;
} ints[] = {{"0", 0},
            {"1", 1},
            {"-1", -1},
            {"0x10", 16},
            {"9007199254740992", 9007199254740992},
            {"9007199254740993", 9007199254740993},
            {"9223372036854775807", INT64_MAX},
            {"-9223372036854775808", INT64_MIN}};

static const struct {
    const char *text;
    double value;
} doubles[] = {{"0.0", 0.0},
               {"-0.0", -0.0},
               {"1.0", 1.0},
               {".5", 0.5},
               {"-0.5", -0.5},
               {"1e300", 1e300},
               {"9007199254740992.0", 9007199254740992.0},
               {"-9223372036854775808.0", -0x1p63},
               {"9223372036854775808.0", 0x1p63}};

static const struct {
    const char *text;
    struct span value;
} strings[] = {{"''", SPAN("")},
               {"'a'", SPAN("a")},
               {"\"ab\"", SPAN("ab")},
               {"'b'", SPAN("b")},
               {"'\\u00e9'", SPAN("\xc3\xa9")},
               {"'\\uffff'", SPAN("\xef\xbf\xbf")},
               {"'\\U00010000'", SPAN("\xf0\x90\x80\x80")}};

#define PICK(g, table) ((table) + below((g), sizeof(table) / sizeof *(table)))

static void make_session(struct generator *g, struct attributes *a)
{
    *a = (struct attributes){0};
    for (uint32_t i = 0; i < g->schema.count; i++) {
        uint64_t bit = (uint64_t)1 << i;
        uint32_t dice = below(g, 10);
        if (dice == 0) a->invalid |= bit;
        if (dice < 4) continue;
        a->known |= bit;
        switch (g->schema.attributes[i].type) {
        case ATTRIBUTE_BOOL:
            a->values[i].b = below(g, 2);
            break;
        case ATTRIBUTE_INT:
            a->values[i].i = PICK(g, ints)->value;
            break;
        case ATTRIBUTE_DOUBLE:
            a->values[i].d = PICK(g, doubles)->value;
            break;
        case ATTRIBUTE_STRING:
            a->values[i].s = PICK(g, strings)->value;
            break;
        }
    }
}

/* ---- conditions ---- */

static struct values write_or(struct generator *g, int nesting);

static void write(struct generator *g, const char *text)
{
    buf_span(&g->text, span_of(text));
}

static void blank(struct generator *g)
{
    static const char *const blanks[] = {" ", "", "", "\n", " // a comment\n\t"};
    write(g, *PICK(g, blanks));
}

/* A slot of the type, written as one of its names. */
static int write_name(struct generator *g, enum attribute_type type)
{
    uint32_t slot;
    do slot = below(g, g->schema.count);
    while (g->schema.attributes[slot].type != type ||
           g->schema.attributes[slot].source == ATTRIBUTE_LAST);
    if (attribute_in_session(&g->schema.attributes[slot]) && below(g, 2)) write(g, "session.");
    buf_span(&g->text, g->schema.attributes[slot].name);
    g->reads |= (uint64_t)1 << slot;
    return (int)slot;
}

static struct values write_attribute(struct generator *g, enum attribute_type type)
{
    struct values v = {0};
    int slot = write_name(g, type);
    for (int i = 0; i < SESSIONS; i++) {
        const struct attributes *a = &g->sessions[i];
        bool known = a->known >> slot & 1;
        v.in[i].error = !known && slot != ATTRIBUTE_SLOT_CHILD_DIRECTED;
        if (!known) continue;
        switch (type) {
        case ATTRIBUTE_BOOL:
            v.in[i].b = a->values[slot].b;
            break;
        case ATTRIBUTE_INT:
            v.in[i].number = a->values[slot].i;
            break;
        case ATTRIBUTE_DOUBLE:
            v.in[i].number = a->values[slot].d;
            break;
        case ATTRIBUTE_STRING:
            v.in[i].s = a->values[slot].s;
            break;
        }
    }
    return v;
}

static struct values write_literal(struct generator *g, enum attribute_type type)
{
    struct value one = {0};
    uint32_t n;
    switch (type) {
    case ATTRIBUTE_BOOL:
        one.b = below(g, 2);
        write(g, one.b ? "true" : "false");
        break;
    case ATTRIBUTE_INT:
        n = (uint32_t)(PICK(g, ints) - ints);
        one.number = ints[n].value;
        write(g, ints[n].text);
        break;
    case ATTRIBUTE_DOUBLE:
        n = (uint32_t)(PICK(g, doubles) - doubles);
        one.number = doubles[n].value;
        write(g, doubles[n].text);
        break;
    case ATTRIBUTE_STRING:
        n = (uint32_t)(PICK(g, strings) - strings);
        one.s = strings[n].value;
        write(g, strings[n].text);
        break;
    }
    struct values v;
    for (int i = 0; i < SESSIONS; i++) v.in[i] = one;
    return v;
}

static struct values write_has(struct generator *g)
{
    struct values v = {0};
    write(g, "has(");
    int slot = write_name(g, (enum attribute_type)below(g, 4));
    write(g, ")");
    for (int i = 0; i < SESSIONS; i++) {
        v.in[i].b = g->sessions[i].known >> slot & 1;
        v.in[i].error = g->sessions[i].invalid >> slot & 1;
    }
    return v;
}

static struct values write_not(struct generator *g, int nesting);

/* What may stand on a side of a relation. */
static struct values write_operand(struct generator *g, enum attribute_type type, int nesting)
{
    if (type == ATTRIBUTE_BOOL && below(g, 3) == 0) return write_not(g, nesting);
    return below(g, 5) < 3 ? write_attribute(g, type) : write_literal(g, type);
}

/* A bool that is no relation and no chain, unless in parentheses. */
static struct values write_not(struct generator *g, int nesting)
{
    int signs = below(g, 3) == 0 ? 1 + (int)below(g, 3) : 0;
    for (int i = 0; i < signs; i++) write(g, "!");
    struct values v;
    if (nesting && below(g, 2)) {
        write(g, "(");
        v = write_or(g, nesting - 1);
        write(g, ")");
    } else if (below(g, 2)) {
        v = write_has(g);
    } else {
        v = below(g, 8) ? write_attribute(g, ATTRIBUTE_BOOL) : write_literal(g, ATTRIBUTE_BOOL);
    }
    for (int i = 0; i < SESSIONS; i++) v.in[i].b ^= signs % 2;
    return v;
}

static int compare(enum attribute_type type, const struct value *a, const struct value *b)
{
    if (type == ATTRIBUTE_BOOL) return a->b - b->b;
    if (type != ATTRIBUTE_STRING) return (a->number > b->number) - (a->number < b->number);
    for (size_t i = 0;; i++) {
        int x = i < a->s.len ? (unsigned char)a->s.data[i] : -1;
        int y = i < b->s.len ? (unsigned char)b->s.data[i] : -1;
        if (x != y || x < 0) return x - y;
    }
}

/* The type, or the other one that it can be compared with. */
static enum attribute_type partner(struct generator *g, enum attribute_type type)
{
    if (type != ATTRIBUTE_INT && type != ATTRIBUTE_DOUBLE) return type;
    return below(g, 2) ? ATTRIBUTE_INT : ATTRIBUTE_DOUBLE;
}

static struct values write_in(struct generator *g, enum attribute_type type, struct values left)
{
    struct values v = {0};
    write(g, " in [");
    uint32_t count = below(g, 4);
    for (uint32_t k = 0; k < count; k++) {
        if (k) write(g, ",");
        blank(g);
        struct values item = write_literal(g, partner(g, type));
        for (int i = 0; i < SESSIONS; i++)
            v.in[i].b |= compare(type, &left.in[i], &item.in[i]) == 0;
    }
    write(g, count && below(g, 4) == 0 ? " , ]" : "]");
    for (int i = 0; i < SESSIONS; i++) v.in[i].error = left.in[i].error;
    return v;
}

/* What follows `left`: a relation, and its right side. */
static struct values write_related(struct generator *g, enum attribute_type type,
                                   struct values left, int nesting)
{
    static const char *const relations[] = {"==", "!=", "<", "<=", ">", ">="};
    uint32_t relation = below(g, 8);
    if (relation > 5) return write_in(g, type, left);
    blank(g);
    write(g, relations[relation]);
    blank(g);
    struct values right = write_operand(g, partner(g, type), nesting), v = {0};
    for (int i = 0; i < SESSIONS; i++) {
        v.in[i].error = left.in[i].error || right.in[i].error;
        int c = compare(type, &left.in[i], &right.in[i]);
        bool holds[] = {c == 0, c != 0, c<0, c <= 0, c> 0, c >= 0};
        v.in[i].b = holds[relation];
    }
    return v;
}

/* A relation is the left side of the next one: a == b == c is (a == b) == c. */
static struct values write_relation(struct generator *g, int nesting)
{
    if (below(g, 3) == 0) return write_not(g, nesting);
    enum attribute_type type = (enum attribute_type)below(g, 4);
    struct values v = write_related(g, type, write_operand(g, type, nesting), nesting);
    for (uint32_t more = below(g, 4) ? 0 : below(g, 3); more; more--)
        v = write_related(g, ATTRIBUTE_BOOL, v, nesting);
    return v;
}

/* CEL: what decides on either side wins over an error. */
static struct value join(struct value a, struct value b, bool decides)
{
    bool decided = (!a.error && a.b == decides) || (!b.error && b.b == decides);
    return (struct value){.error = !decided && (a.error || b.error), .b = decided == decides};
}

static struct values write_and(struct generator *g, int nesting)
{
    struct values v = write_relation(g, nesting);
    for (uint32_t more = below(g, 3); more; more--) {
        blank(g);
        write(g, "&&");
        blank(g);
        struct values next = write_relation(g, nesting);
        for (int i = 0; i < SESSIONS; i++) v.in[i] = join(v.in[i], next.in[i], false);
    }
    return v;
}

static struct values write_or(struct generator *g, int nesting)
{
    struct values v = write_and(g, nesting);
    for (uint32_t more = below(g, 3); more; more--) {
        blank(g);
        write(g, "||");
        blank(g);
        struct values next = write_and(g, nesting);
        for (int i = 0; i < SESSIONS; i++) v.in[i] = join(v.in[i], next.in[i], true);
    }
    return v;
}

/* ---- properties ---- */

/* Other values, known or not, in every slot outside `kept`. */
static void scramble(struct generator *g, struct attributes *a, uint64_t kept)
{
    struct attributes other;
    make_session(g, &other);
    for (uint32_t i = 0; i < g->schema.count; i++)
        if (!(kept >> i & 1)) a->values[i] = other.values[i];
    a->known = (a->known & kept) | (other.known & ~kept);
    a->invalid = (a->invalid & kept) | (other.invalid & ~kept);
}

static void check_session(struct generator *g, const struct rule *rule, int i,
                          enum rule_result expected)
{
    const struct span text = rule_text(rule);
    struct attributes a = g->sessions[i];
    enum rule_result got = rule_eval(rule, &a);
    if (got != expected)
        fail_msg("%.*s\ngot %d, expected %d", (int)text.len, text.data, got, expected);

    if (!(rule_needs(rule) & ~a.known) && !(rule_reads(rule) & a.invalid) && got == RULE_ERROR)
        fail_msg("%.*s\nends in an error though all it needs is known, and nothing is invalid",
                 (int)text.len, text.data);

    scramble(g, &a, rule_reads(rule));
    if (rule_eval(rule, &a) != got)
        fail_msg("%.*s\ndepends on what it does not read", (int)text.len, text.data);
}

static void test_random_conditions(void **state)
{
    (void)state;
    static struct generator g;
    static char memory[RULE_TEXT_BYTES_MAX];
    session_schema(&g.schema);
    size_t compiled = 0, results[3] = {0};
    for (g.seed = 0; g.seed < CONDITIONS; g.seed++) {
        g.drawn = 0;
        g.reads = 0;
        g.text = buf_of(memory, sizeof memory);
        for (int i = 0; i < SESSIONS; i++) make_session(&g, &g.sessions[i]);
        struct values expected = write_or(&g, (int)below(&g, NESTING + 1));

        struct arena arena;
        arena_init(&arena, NULL);
        const struct rule *rule;
        struct err e;
        if (g.text.full ||
            rule_compile(&arena, &scratch, &g.schema, buf_text(&g.text), &rule, &e)) {
            if (!g.text.full && !strstr(e.text, "steps"))
                fail_msg("%.*s: %zu: %s", (int)g.text.len, memory, e.offset, e.text);
            arena_done(&arena);
            continue;
        }
        compiled++;
        assert_int_equal(rule_reads(rule), g.reads);
        assert_int_equal(rule_needs(rule) & ~g.reads, 0);
        for (int i = 0; i < SESSIONS; i++) {
            const struct value *v = &expected.in[i];
            enum rule_result want = v->error ? RULE_ERROR : v->b ? RULE_TRUE : RULE_FALSE;
            check_session(&g, rule, i, want);
            results[want]++;
        }
        arena_done(&arena);
    }
    /* The generator has not gone blind. */
    assert_true(compiled > CONDITIONS / 10 * 9);
    for (int i = 0; i < 3; i++) assert_true(results[i] > CONDITIONS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_conditions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
