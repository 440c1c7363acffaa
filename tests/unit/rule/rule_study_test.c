/* What can be told of a condition before any request comes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/hash.h"
#include "rule/rule_study.h"
#include "rule/rule_values.h"

static struct arena arena, scratch, spare;
static struct attribute_schema schema;
static const struct span variants[] = {SPAN("a"), SPAN("b")}, segments[] = {SPAN("new")};
static const struct rule_context context = {&arena,
                                            &scratch,
                                            &spare,
                                            &schema,
                                            {"variant", variants, 2, true},
                                            {"segment", segments, 1, false}};

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, NULL);
    arena_init(&scratch, NULL);
    arena_init(&spare, NULL);
    attribute_schema_init(&schema);
    schema.attributes[schema.count++] =
        (struct attribute){SPAN("mood"), ATTRIBUTE_DOUBLE, ATTRIBUTE_DECLARED};
    schema.attributes[schema.count++] =
        (struct attribute){SPAN("delta"), ATTRIBUTE_INT, ATTRIBUTE_DECLARED};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_done(&arena);
    arena_done(&scratch);
    arena_done(&spare);
    return 0;
}

static const struct rule_study *study(const char *text, struct rule_notes *notes)
{
    return rule_study_make(&context, span_of(text), notes);
}

static void what_it_comes_to(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum rule_course course;
        int notes;
    } rows[] = {
        {"hour > 22", RULE_VARIES, 0},
        {"hour > 23", RULE_NEVER_HOLDS, 1},
        {"hour >= 0", RULE_ALWAYS_HOLDS, 1},
        {"!(hour >= 0)", RULE_NEVER_HOLDS, 1},
        {"!!(hour >= 0)", RULE_ALWAYS_HOLDS, 1},
        {"0 > tracks_played", RULE_NEVER_HOLDS, 1},
        {"delta < 0", RULE_VARIES, 0},
        {"mood < 0.0", RULE_VARIES, 0},
        {"mood > 0.5 && mood < 0.6", RULE_VARIES, 0},
        {"mood > 0.5 && mood < 0.5", RULE_NEVER_HOLDS, 1},
        {"mood == 0.5 && mood == 0.25", RULE_NEVER_HOLDS, 1},
        {"delta > 1 && delta < 3", RULE_VARIES, 0},
        {"delta > 1 && delta < 2", RULE_NEVER_HOLDS, 1},
        {"delta > 1 || delta <= 1", RULE_ALWAYS_HOLDS, 1},
        {"delta > 1 || delta < 1", RULE_VARIES, 0},
        {"tier > 'a' && tier < 'b'", RULE_VARIES, 0},
        {"tier == 'a' || tier != 'a'", RULE_ALWAYS_HOLDS, 1},
        {"variant == 'a' || variant == 'b'", RULE_ALWAYS_HOLDS, 1},
        {"variant == 'a' || variant == 'c'", RULE_VARIES, 1},
        {"variant < 'c'", RULE_ALWAYS_HOLDS, 1},
        {"segment_id == 'old'", RULE_VARIES, 1}, /* a caller may send it */
        {"segment_id == 'new' && segment_id == 'new'", RULE_VARIES, 0},
        {"has(tier)", RULE_VARIES, 0},
        {"has(tier) || !has(tier)", RULE_ALWAYS_HOLDS, 1},
        {"has(tier) && !has(tier)", RULE_NEVER_HOLDS, 1},
        {"!has(tier) || tier == 'a'", RULE_VARIES, 0},
        {"has(tier) == false", RULE_VARIES, 0},
        {"!has(tier) && (!has(tier) || tier == 'a')", RULE_VARIES, 0},
        {"child_directed", RULE_VARIES, 0},
        {"child_directed && has(child_directed)", RULE_VARIES, 0},
        {"car || !car", RULE_ALWAYS_HOLDS, 1},
        {"(car == true) == false", RULE_VARIES, 0},
        {"ads_today > ads_last_hour", RULE_VARIES, 0},
        {"car && background && hour in [24, 25]", RULE_NEVER_HOLDS, 2},
        {"hour in [24, 1]", RULE_VARIES, 1},
        {"delta in [0.5]", RULE_NEVER_HOLDS, 1},
        {"delta in [1.0]", RULE_VARIES, 0},
        {"delta == 2.0 && delta >= 0.5", RULE_VARIES, 0},
        {"delta == 1e300", RULE_NEVER_HOLDS, 1},
        {"tracks_played != -1", RULE_ALWAYS_HOLDS, 1},
        {"true", RULE_ALWAYS_HOLDS, 1},
        {"car || 1 < 2", RULE_ALWAYS_HOLDS, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rule_notes notes;
        enum rule_course course = rule_study_course(study(rows[i].text, &notes));
        if (course != rows[i].course || notes.count != rows[i].notes)
            fail_msg("%s: course %d, %d notes: %s", rows[i].text, course, notes.count,
                     notes.count ? notes.notes[0].text : "");
    }
}

static void where_and_what_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t at;
        const char *note;
    } rows[] = {
        {"hour > 23", 0, "`hour > 23` never holds: `hour` is 0 to 23"},
        {"car && hour > 23", 7,
         "`hour > 23` never holds: `hour` is 0 to 23; so the condition never holds"},
        {"car || hour > 23", 7, "`hour > 23` never holds: `hour` is 0 to 23"},
        {"variant == 'aa'", 11,
         "the plan has no variant `aa`; nearest: `a`; so the condition never holds"},
        {"variant == 'c\xc3\xa9'", 11,
         "the plan has no variant of that name; so the condition never holds"},
        {"segment_id != 'x'", 14, "the plan has no segment `x`"},
        {"car && delta > 1 && background && delta < 1", 7,
         "`delta > 1 && background && delta < 1` never holds: no value of `delta` meets it; so the "
         "condition never holds"},
        {"tier == 'zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz' && "
         "!has(tier)",
         0, "this never holds: no value of `tier` meets it"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rule_notes notes;
        study(rows[i].text, &notes);
        assert_int_equal(notes.count, 1);
        assert_string_equal(notes.notes[0].text, rows[i].note);
        assert_int_equal(notes.notes[0].at, rows[i].at);
    }
}

/* What does not fit is left out, and more than can be tried is not judged. */
static void many_of_them(void **state)
{
    (void)state;
    char text[RULE_TEXT_BYTES_MAX + 1] = "car";
    struct rule_notes notes;
    for (int i = 0; i < RULE_NOTES_MAX + 3; i++) strcat(text, " || hour > 23");
    study(text, &notes);
    assert_int_equal(notes.count, RULE_NOTES_MAX);
    strcpy(text, "delta < 0 && delta in [0");
    for (int i = 1; i < RULE_VALUES_MAX + 10; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ",%d", i);
    strcat(text, "]");
    const struct rule_study *many = study(text, &notes);
    assert_int_equal(rule_study_course(many), RULE_VARIES);
    assert_int_equal(rule_study_exclude(many, study("delta == 7", &notes)), 0);
    assert_int_equal(rule_study_exclude(study("delta == 7", &notes), many), 0);
}

static void what_becomes_of_it_without(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct rule_absence of_tier;
    } rows[] = {
        {"tier == 'a'", {.fails = true, .never_false = true}},
        {"tier != 'a'", {.fails = true, .never_false = true}},
        {"has(tier) && tier == 'a'", {.fails = true}},
        {"has(tier)", {.fails = true}},
        {"!has(tier)", {.may_hold = true, .means_it = true, .holds = true, .never_false = true}},
        {"!has(tier) || tier == 'a'", {.may_hold = true, .holds = true, .never_false = true}},
        {"(has(tier) && tier == 'a') || !has(tier)",
         {.may_hold = true, .holds = true, .never_false = true}},
        {"car", {.may_hold = true}},
        {"car && tier == 'a'", {.fails = true}},
        {"car || tier == 'a'", {.fails = true, .may_hold = true, .never_false = true}},
        {"car || !has(tier)", {.may_hold = true, .holds = true, .never_false = true}},
        {"car && (!has(tier) || tier == 'a')", {.may_hold = true}},
        {"car && !has(tier)", {.may_hold = true, .means_it = true}},
        {"tier == position", {.fails = true, .never_false = true}},
        {"!(tier == 'a' && car)", {.fails = true, .may_hold = true, .never_false = true}},
        {"!!(car && has(tier))", {.fails = true}},
        {"1 == 1", {.may_hold = true, .holds = true, .never_false = true}},
        {"1 == 2", {0}},
        {"hour > 23", {0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rule_notes notes;
        struct rule_absence a =
            rule_study_absence(study(rows[i].text, &notes), ATTRIBUTE_SLOT_TIER);
        const struct rule_absence *b = &rows[i].of_tier;
        if (a.fails != b->fails || a.may_hold != b->may_hold || a.means_it != b->means_it ||
            a.holds != b->holds || a.never_false != b->never_false)
            fail_msg("%s: %d %d %d %d %d", rows[i].text, a.fails, a.may_hold, a.means_it, a.holds,
                     a.never_false);
    }
}

/* Absent, `child_directed` is false, and no error. */
static void the_one_that_is_false_when_absent(void **state)
{
    (void)state;
    struct rule_notes notes;
    struct rule_absence a =
        rule_study_absence(study("child_directed", &notes), ATTRIBUTE_SLOT_CHILD_DIRECTED);
    assert_true(a.fails && !a.may_hold && !a.never_false);
    a = rule_study_absence(study("!child_directed", &notes), ATTRIBUTE_SLOT_CHILD_DIRECTED);
    assert_true(!a.fails && a.may_hold && a.holds && !a.means_it);
}

static void whether_one_excludes_the_other(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool exclude;
    } rows[] = {
        {"segment_id == 'new'", "segment_id == 'core'", true},
        {"segment_id == 'new' && car", "background && segment_id != 'new'", true},
        {"segment_id == 'new' || car", "segment_id == 'core'", false},
        {"delta < 3", "delta >= 3", true},
        {"delta <= 3", "delta >= 3", false},
        {"delta < 3 && delta > 0", "delta == 0", true},
        {"has(car)", "!has(car)", true},
        {"tier == 'a'", "tier == 'b'", false},
        {"tier == 'a' && car", "!car && tier == 'b'", true},
        {"car", "background", false},
        {"child_directed", "!child_directed", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rule_notes notes;
        const struct rule_study *a = study(rows[i].a, &notes), *b = study(rows[i].b, &notes);
        /* `tier` is the one that is left out of account. */
        uint64_t others = ~((uint64_t)1 << ATTRIBUTE_SLOT_TIER);
        if (((rule_study_exclude(a, b) & others) != 0) != rows[i].exclude ||
            ((rule_study_exclude(b, a) & others) != 0) != rows[i].exclude)
            fail_msg("%s, %s", rows[i].a, rows[i].b);
    }
}

/* ---- what is told holds in every session ---- */

static uint64_t drawn;

static uint32_t below(uint32_t n)
{
    uint64_t counter = drawn++;
    return hash_murmur3_32((struct span){(const char *)&counter, sizeof counter}, 7) % n;
}

#define PICK(table) ((table)[below(sizeof(table) / sizeof *(table))])

static void write_condition(struct buf *b, int nesting)
{
    static const char *const leaves[] = {
        "car",       "child_directed", "has(tier)",   "has(delta)",       "has(car)",
        "has(hour)", "true",           "car == true", "tier == position", "(delta > 0) == car"};
    static const char *const ints[] = {"delta", "hour", "ads_today"};
    static const char *const strings[] = {"tier", "variant", "segment_id"};
    static const char *const relations[] = {" == ", " != ", " < ", " <= ", " > ", " >= "};
    static const char *const numbers[] = {"-1", "0", "1", "2", "2.5", "23", "24", "1.0"};
    static const char *const texts[] = {"'a'", "'b'", "''", "'c'", "'new'"};
    if (below(4) == 0) buf_format(b, "!");
    switch (below(nesting ? 6 : 4)) {
    case 0:
        buf_format(b, "(%s)", PICK(leaves));
        return;
    case 1:
        buf_format(b, "(%s%s%s)", PICK(ints), PICK(relations), PICK(numbers));
        return;
    case 2:
        buf_format(b, "(%s%s%s)", PICK(strings), PICK(relations), PICK(texts));
        return;
    case 3:
        buf_format(b, "(%s in [%s, %s])", PICK(ints), PICK(numbers), PICK(numbers));
        return;
    default:
        break;
    }
    bool all = below(2);
    buf_char(b, '(');
    for (uint32_t i = 0, n = 2 + below(3); i < n; i++) {
        if (i) buf_format(b, all ? " && " : " || ");
        write_condition(b, nesting - 1);
    }
    buf_char(b, ')');
}

static void set_value(struct attributes *a, int slot, union attribute_value value)
{
    uint32_t fate = slot == ATTRIBUTE_SLOT_VARIANT || slot == ATTRIBUTE_SLOT_HOUR ? 9 : below(10);
    if (fate == 0) a->invalid |= (uint64_t)1 << slot;
    if (fate < 3) return;
    a->known |= (uint64_t)1 << slot;
    a->values[slot] = value;
}

static void make_session(struct attributes *a)
{
    static const struct span texts[] = {SPAN("a"), SPAN("b"), SPAN(""), SPAN("c"), SPAN("ab")};
    int delta = attribute_schema_find(&schema, SPAN("delta"));
    *a = (struct attributes){0};
    set_value(a, delta, (union attribute_value){.i = (int64_t)below(7) - 2});
    set_value(a, ATTRIBUTE_SLOT_ADS_TODAY, (union attribute_value){.i = below(5)});
    set_value(a, ATTRIBUTE_SLOT_HOUR, (union attribute_value){.i = below(24)});
    set_value(a, ATTRIBUTE_SLOT_CAR, (union attribute_value){.b = below(2)});
    set_value(a, ATTRIBUTE_SLOT_CHILD_DIRECTED, (union attribute_value){.b = below(2)});
    set_value(a, ATTRIBUTE_SLOT_TIER, (union attribute_value){.s = PICK(texts)});
    set_value(a, ATTRIBUTE_SLOT_POSITION, (union attribute_value){.s = PICK(texts)});
    set_value(a, ATTRIBUTE_SLOT_SEGMENT_ID, (union attribute_value){.s = PICK(texts)});
    set_value(a, ATTRIBUTE_SLOT_VARIANT, (union attribute_value){.s = PICK(variants)});
}

static bool absence_agrees(const struct rule_absence *a, enum rule_result with,
                           enum rule_result without)
{
    if (with == RULE_TRUE && ((without != RULE_TRUE && !a->fails) || a->means_it)) return false;
    if (without == RULE_TRUE) return a->may_hold;
    return !a->holds && (without == RULE_ERROR || !a->never_false);
}

static void check_sessions(const char *text, const struct rule *rule, const struct rule_study *s)
{
    static const int slots[] = {ATTRIBUTE_SLOT_TIER, ATTRIBUTE_SLOT_CAR, ATTRIBUTE_SLOT_ADS_TODAY,
                                ATTRIBUTE_SLOT_CHILD_DIRECTED};
    enum rule_course course = rule_study_course(s);
    for (int i = 0; i < 60; i++) {
        struct attributes a;
        make_session(&a);
        enum rule_result with = rule_eval(rule, &a);
        if ((course == RULE_NEVER_HOLDS && with == RULE_TRUE) ||
            (course == RULE_ALWAYS_HOLDS && with == RULE_FALSE))
            fail_msg("%s: course %d, and it came to %d", text, course, with);
        int slot = PICK(slots);
        if (!attribute_known(&a, slot)) continue;
        a.known &= ~((uint64_t)1 << slot);
        enum rule_result without = rule_eval(rule, &a);
        struct rule_absence absence = rule_study_absence(s, slot);
        if (!absence_agrees(&absence, with, without))
            fail_msg("%s: %d with, %d without %s", text, with, without,
                     schema.attributes[slot].name.data);
    }
}

static void what_is_told_holds_in_every_session(void **state)
{
    (void)state;
    int settled = 0;
    for (int i = 0; i < 3000; i++) {
        char text[RULE_TEXT_BYTES_MAX];
        struct buf b = buf_of(text, sizeof text - 1);
        struct rule_notes notes;
        const struct rule *rule;
        struct err e;
        write_condition(&b, 2);
        assert_false(b.full);
        text[b.len] = '\0';
        assert_int_equal(rule_compile(&arena, &scratch, &schema, buf_text(&b), &rule, &e), ERR_OK);
        const struct rule_study *s = study(text, &notes);
        if (rule_study_course(s) != RULE_VARIES) {
            settled++;
            if (!notes.count) fail_msg("%s: settled, and nothing is told", text);
        }
        check_sessions(text, rule, s);
        arena_reset(&arena);
    }
    assert_true(settled > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_comes_to),
        cmocka_unit_test(where_and_what_is_told),
        cmocka_unit_test(many_of_them),
        cmocka_unit_test(what_becomes_of_it_without),
        cmocka_unit_test(the_one_that_is_false_when_absent),
        cmocka_unit_test(whether_one_excludes_the_other),
        cmocka_unit_test(what_is_told_holds_in_every_session),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
