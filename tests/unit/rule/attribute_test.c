#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "session.h"

static struct arena scratch; /* of rule_compile */

/* The contract with callers: names, types and where they come from. */
static void test_built_in(void **state)
{
    (void)state;
    static const struct {
        const char *name, *type;
        enum attribute_source source;
    } expected[] = {
        {"elapsed_s", "int", ATTRIBUTE_SECONDS},
        {"tracks_played", "int", ATTRIBUTE_COUNT},
        {"seconds_since_last_break_end", "int", ATTRIBUTE_SECONDS},
        {"breaks_in_session", "int", ATTRIBUTE_COUNT},
        {"ads_last_hour", "int", ATTRIBUTE_COUNT},
        {"ad_seconds_last_hour", "int", ATTRIBUTE_SECONDS_USED},
        {"ads_today", "int", ATTRIBUTE_COUNT},
        {"content_remaining_s", "int", ATTRIBUTE_SECONDS},
        {"tenure_days", "int", ATTRIBUTE_COUNT},
        {"at_content_boundary", "bool", ATTRIBUTE_FLAG},
        {"background", "bool", ATTRIBUTE_FLAG},
        {"car", "bool", ATTRIBUTE_FLAG},
        {"child_directed", "bool", ATTRIBUTE_FLAG},
        {"tier", "string", ATTRIBUTE_TEXT},
        {"consent", "string", ATTRIBUTE_TEXT},
        {"position", "string", ATTRIBUTE_TEXT},
        {"segment_id", "string", ATTRIBUTE_CONTEXT},
        {"variant", "string", ATTRIBUTE_CONTEXT},
        {"hour", "int", ATTRIBUTE_CONTEXT},
        {"weekday", "int", ATTRIBUTE_CONTEXT},
        {"last.seconds_ago", "double", ATTRIBUTE_LAST},
        {"last.cooldown_s", "double", ATTRIBUTE_LAST},
    };
    struct attribute_schema schema;
    attribute_schema_init(&schema);
    assert_int_equal(schema.count, sizeof expected / sizeof *expected);
    assert_int_equal(schema.count, ATTRIBUTE_BUILT_IN_COUNT);
    for (uint32_t i = 0; i < schema.count; i++) {
        const struct attribute *a = &schema.attributes[i];
        if (!span_is(a->name, expected[i].name) || a->source != expected[i].source)
            fail_msg("slot %u is %.*s", i, (int)a->name.len, a->name.data);
        assert_string_equal(attribute_type_name(a->type), expected[i].type);
        assert_int_equal(attribute_schema_find(&schema, a->name), i);
        assert_int_equal(attribute_in_session(a),
                         a->source != ATTRIBUTE_CONTEXT && a->source != ATTRIBUTE_LAST);
    }
    assert_string_equal(attribute_type_name(ATTRIBUTE_DOUBLE), "double");
}

static void test_find(void **state)
{
    (void)state;
    struct attribute_schema schema;
    attribute_schema_init(&schema);
    assert_int_equal(attribute_schema_find(&schema, SPAN("genre")), -1);
    assert_int_equal(attribute_schema_find(&schema, SPAN("")), -1);
    assert_int_equal(attribute_schema_find(&schema, SPAN("tie")), -1);
    assert_int_equal(attribute_schema_find(&schema, SPAN("Tier")), -1);
    session_schema(&schema);
    assert_int_equal(attribute_schema_find(&schema, SPAN("vip")), ATTRIBUTE_BUILT_IN_COUNT);
    assert_int_equal(attribute_schema_find(&schema, SPAN("genre")), ATTRIBUTE_BUILT_IN_COUNT + 3);
}

static void test_known_in_every_slot(void **state)
{
    (void)state;
    for (int slot = 0; slot < ATTRIBUTES_MAX; slot++) {
        struct attributes a = {.known = (uint64_t)1 << slot};
        for (int other = 0; other < ATTRIBUTES_MAX; other++)
            assert_int_equal(attribute_known(&a, other), other == slot);
    }
}

/* The last slot of a full schema works as the first does. */
static void test_full_schema(void **state)
{
    (void)state;
    static const char names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    struct attribute_schema schema;
    attribute_schema_init(&schema);
    for (const char *name = names; schema.count < ATTRIBUTES_MAX; name++)
        schema.attributes[schema.count++] =
            (struct attribute){{name, 1}, ATTRIBUTE_BOOL, ATTRIBUTE_DECLARED};
    struct span last = schema.attributes[ATTRIBUTES_MAX - 1].name;
    char text[] = "has(?) && ?";
    text[4] = text[10] = *last.data;

    struct arena arena;
    arena_init(&arena, NULL);
    const struct rule *rule;
    assert_int_equal(rule_compile(&arena, &scratch, &schema, span_of(text), &rule, NULL), ERR_OK);
    assert_true(rule_reads(rule) == (uint64_t)1 << 63 && rule_needs(rule) == 0);
    struct attributes values = {.known = (uint64_t)1 << 63};
    values.values[63].b = true;
    assert_int_equal(rule_eval(rule, &values), RULE_TRUE);
    values.known = ~values.known;
    assert_int_equal(rule_eval(rule, &values), RULE_FALSE);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_built_in),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_known_in_every_slot),
        cmocka_unit_test(test_full_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
