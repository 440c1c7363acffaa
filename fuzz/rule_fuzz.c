/* Arbitrary bytes compile, or fail cleanly; what compiles ends, whatever a session holds, and keeps
 * the promises of rule_reads and rule_needs. */
#include "base/hash.h"
#include "rule/rule.h"

#include <stddef.h>
#include <stdint.h>

static struct arena scratch; /* of rule_compile */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_declared(struct attribute_schema *schema)
{
    static const struct attribute declared[] = {
        {SPAN("vip"), ATTRIBUTE_BOOL, ATTRIBUTE_DECLARED},
        {SPAN("level"), ATTRIBUTE_INT, ATTRIBUTE_DECLARED},
        {SPAN("score"), ATTRIBUTE_DOUBLE, ATTRIBUTE_DECLARED},
        {SPAN("genre"), ATTRIBUTE_STRING, ATTRIBUTE_DECLARED},
    };
    for (size_t i = 0; i < sizeof declared / sizeof *declared; i++)
        schema->attributes[schema->count++] = declared[i];
}

/* Session number `n` of this input. Strings are pieces of the input, so that they meet its
 * literals. */
static void make_session(const struct attribute_schema *schema, struct span text, uint64_t n,
                         struct attributes *out)
{
    *out = (struct attributes){0};
    for (uint32_t i = 0; i < schema->count; i++) {
        struct hash128 random = hash_sip128((struct hash128){n, i}, text);
        if (random.lo % 4 == 0) continue;
        uint64_t *set = random.lo % 4 == 1 ? &out->invalid : &out->known;
        *set |= (uint64_t)1 << i;
        union attribute_value *value = &out->values[i];
        size_t at = text.len ? (random.hi >> 32) % text.len : 0, left = text.len - at;
        switch (schema->attributes[i].type) {
        case ATTRIBUTE_BOOL:
            value->b = random.hi & 1;
            break;
        case ATTRIBUTE_INT:
            value->i = (int64_t)random.hi >> (random.lo >> 58);
            break;
        case ATTRIBUTE_DOUBLE:
            value->d = (double)((int64_t)random.hi >> (random.lo >> 58)) / 4;
            break;
        case ATTRIBUTE_STRING:
            value->s = (struct span){text.data + at, left % 9};
            break;
        }
    }
}

static void check_failure(struct span text, const struct err *e)
{
    INVARIANT(e->code == ERR_RULE);
    INVARIANT(e->offset <= text.len && e->line == 0 && e->column == 0);
    INVARIANT(e->text[0] != '\0');
    for (const char *c = e->text; *c; c++) INVARIANT(*c >= ' ' && *c <= '~');
}

static void check_rule(const struct rule *rule, const struct rule *again,
                       const struct attribute_schema *schema, struct span text)
{
    uint64_t child = (uint64_t)1 << ATTRIBUTE_SLOT_CHILD_DIRECTED;
    uint64_t reads = rule_reads(rule), needs = rule_needs(rule);
    INVARIANT(span_equal(rule_text(rule), text));
    INVARIANT((needs & ~reads) == 0 && (needs & child) == 0);
    for (uint64_t n = 0; n < 8; n++) {
        struct attributes a;
        make_session(schema, text, n, &a);
        enum rule_result result = rule_eval(rule, &a);
        INVARIANT(result == RULE_FALSE || result == RULE_TRUE || result == RULE_ERROR);
        INVARIANT(result == rule_eval(again, &a));
        if (!(needs & ~a.known) && !(reads & a.invalid)) INVARIANT(result != RULE_ERROR);
        a.known &= reads;
        a.invalid &= reads;
        INVARIANT(result == rule_eval(rule, &a));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct attribute_schema schema;
    attribute_schema_init(&schema);
    add_declared(&schema);
    struct arena arena;
    arena_init(&arena, NULL);
    struct span text = {(const char *)data, size};
    const struct rule *const untouched = (const struct rule *)&arena;
    const struct rule *rule = untouched, *again = untouched;
    struct err e = {0}, e_again = {0};
    enum err_code code = rule_compile(&arena, &scratch, &schema, text, &rule, &e);
    INVARIANT(code == rule_compile(&arena, &scratch, &schema, text, &again, &e_again));
    if (code == ERR_OK) {
        check_rule(rule, again, &schema, text);
    } else {
        INVARIANT(rule == untouched);
        check_failure(text, &e);
    }
    arena_done(&arena);
    return 0;
}
