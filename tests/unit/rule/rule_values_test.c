/* Where a condition may answer differently, each of its answers is found. */
#include "rule/rule_values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "session.h"

static struct arena scratch; /* of rule_compile */

static struct attribute_schema schema;
static struct arena arena;

static const struct rule *rule_of(const char *text)
{
    const struct rule *rule;
    struct err e;
    if (rule_compile(&arena, &scratch, &schema, span_of(text), &rule, &e))
        fail_msg("%s: %s", text, e.text);
    return rule;
}

/* Whether one of the attribute's values makes the condition answer so. */
static bool answers(const struct rule *rule, const char *name, enum rule_result result)
{
    static struct rule_values v;
    int slot = attribute_schema_find(&schema, span_of(name));
    assert_true(slot >= 0);
    rule_values(rule, slot, schema.attributes[slot].type, &v);
    assert_true(v.count > 0);
    struct attributes a = {.known = (uint64_t)1 << slot};
    for (int i = 0; i < v.count; i++) {
        a.values[slot] = v.values[i];
        if (rule_eval(rule, &a) == result) return true;
    }
    return false;
}

static void both_answers_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } rows[] = {
        {"tier", "tier != 'gold'"},
        {"tier", "tier == 'gold'"},
        {"tier", "has(tier) && tier != 'gold'"},
        {"tier", "!(tier in ['gold', 'silver'])"},
        {"tier", "tier < 'm'"},
        {"tier", "'m' < tier && tier < 'n'"},
        {"tier", "tier == 'drill' || tier == ''"},
        {"genre", "tier == 'x' || genre == 'jazz'"},
        {"vip", "vip"},
        {"vip", "vip == true"},
        {"car", "!car"},
        {"level", "level == 7"},
        {"level", "level != -7"},
        {"level", "level > 5 && level < 7"},
        {"level", "level > 1000000 && level < 1000003"},
        {"level", "level > 0.5 && level < 1.5"},
        {"level", "level >= 3.5 && level < 4.5"},
        {"level", "level in [12, 14]"},
        {"level", "level == 9223372036854775807"},
        {"level", "level < -9223372036854775807"},
        {"elapsed_s", "elapsed_s >= 86400"},
        {"score", "score > 0.25 && score < 0.5"},
        {"score", "score == 0.1"},
        {"score", "score < -1e300"},
        {"score", "score > 1e300 && score < 1.5e300"},
        {"score", "score > 1e300"},
        {"score", "score > -1e300 && score < -1e299"},
        {"score", "score < 1.7976931348623157e308"},
        {"score", "score >= 1.7976931348623157e308"},
        {"level", "level > 100"},
        {"level", "level < -100"},
        {"level", "level > -9223372036854775807 && level < 9223372036854775806"},
        {"score", "score in [2.5, 3]"},
        {"score", "score == 9007199254740992"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct rule *rule = rule_of(rows[i].text);
        if (!answers(rule, rows[i].name, RULE_TRUE)) fail_msg("%s: never true", rows[i].text);
        /* What another attribute decides too may be unknown instead. */
        if (!answers(rule, rows[i].name, RULE_FALSE) && !answers(rule, rows[i].name, RULE_ERROR))
            fail_msg("%s: never false", rows[i].text);
    }
}

/* The literals, a few values of their own, one between each two, and one beyond either end. */
static void the_values_are_these(void **state)
{
    (void)state;
    static struct rule_values v;
    static const int64_t ints[] = {0, 7, 3600, 3601, -1, 3, 1803};
    int slot = attribute_schema_find(&schema, SPAN("level"));
    rule_values(rule_of("level == 7"), slot, ATTRIBUTE_INT, &v);
    assert_int_equal(v.count, sizeof ints / sizeof *ints);
    for (int i = 0; i < v.count; i++) assert_int_equal(v.values[i].i, ints[i]);

    static const int64_t listed[] = {0, 7, 9, 3600, 3601, -1, 3, 8, 1804};
    rule_values(rule_of("level in [7, 9]"), slot, ATTRIBUTE_INT, &v);
    assert_int_equal(v.count, sizeof listed / sizeof *listed);
    for (int i = 0; i < v.count; i++) assert_int_equal(v.values[i].i, listed[i]);

    static const double doubles[] = {0, 0.5, 3600, 7201, -1, 0.25, 1800.25};
    slot = attribute_schema_find(&schema, SPAN("score"));
    rule_values(rule_of("score < 0.5"), slot, ATTRIBUTE_DOUBLE, &v);
    assert_int_equal(v.count, sizeof doubles / sizeof *doubles);
    for (int i = 0; i < v.count; i++) assert_true(v.values[i].d == doubles[i]);

    static const char *const texts[] = {"gold", "drill", "", "gold "};
    slot = attribute_schema_find(&schema, SPAN("tier"));
    rule_values(rule_of("tier == 'gold'"), slot, ATTRIBUTE_STRING, &v);
    assert_int_equal(v.count, sizeof texts / sizeof *texts);
    for (int i = 0; i < v.count; i++) assert_true(span_is(v.values[i].s, texts[i]));

    slot = attribute_schema_find(&schema, SPAN("vip"));
    rule_values(rule_of("vip"), slot, ATTRIBUTE_BOOL, &v);
    assert_int_equal(v.count, 2);
    assert_true(!v.values[0].b && v.values[1].b);
}

static void many_literals_are_cut(void **state)
{
    (void)state;
    static char text[RULE_TEXT_BYTES_MAX];
    static struct rule_values v;
    strcpy(text, "level in [0");
    for (int i = 1; i < 400; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ",%d", 2 * i);
    strcat(text, "]");
    int slot = attribute_schema_find(&schema, SPAN("level"));
    rule_values(rule_of(text), slot, ATTRIBUTE_INT, &v);
    assert_int_equal(v.count, RULE_VALUES_MAX);

    strcpy(text, "tier in ['a'");
    for (int i = 0; i < 60; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ",'%d%.60s'", i,
                 "tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt");
    strcat(text, "]");
    slot = attribute_schema_find(&schema, SPAN("tier"));
    rule_values(rule_of(text), slot, ATTRIBUTE_STRING, &v);
    assert_true(v.bytes <= RULE_VALUES_BYTES_MAX);
    assert_true(v.count > 61);
}

int main(void)
{
    session_schema(&schema);
    arena_init(&arena, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_answers_are_found),
        cmocka_unit_test(the_values_are_these),
        cmocka_unit_test(many_literals_are_cut),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_done(&arena);
    return failed;
}
