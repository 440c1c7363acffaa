/* What follows from a plan when it is finished: what is read, what is needed, and finding by name.
 */
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* ---- whether a condition reads the time ---- */

static void of_nobody(struct plan *plan, const struct rule *rule)
{
    (void)plan;
    (void)rule;
}

static void of_the_gate(struct plan *plan, const struct rule *rule)
{
    fixture_guardrail(plan, GUARDRAIL_AD_FREE)->when = rule;
}

static void of_a_cap(struct plan *plan, const struct rule *rule)
{
    fixture_cap(plan, GUARDRAIL_ADS_PER_DAY, NULL, 3);
    fixture_cap(plan, GUARDRAIL_ADS_PER_DAY, rule, 3);
}

/* The last of its rules, and the policy that learned ones fall back to. */
static void of_a_rule(struct plan *plan, const struct rule *rule)
{
    struct policy *promoted = &plan->policies[PROMOTED];
    struct policy_rule *rules = (struct policy_rule *)arena_alloc(&plan->arena, 2 * sizeof *rules);
    rules[0] = (struct policy_rule){fixture_rule(plan, "tracks_played >= 3"), POD_1, -1};
    rules[1] = (struct policy_rule){rule, POD_1, -1};
    promoted->rules = rules;
    promoted->rule_count = 2;
}

static void test_the_time_is_there_where_something_reads_it(void **state)
{
    (void)state;
    static const struct {
        void (*whose)(struct plan *, const struct rule *);
        const char *when;
        bool reads;
    } rows[] = {
        {of_nobody, "hour == 8", false},
        {of_the_gate, "car", false},
        {of_the_gate, "hour == 8", true},
        {of_the_gate, "weekday == 1", true},
        {of_a_cap, "tenure_days > 3", false},
        {of_a_cap, "hour == 8", true},
        {of_a_cap, "weekday == 1", true},
        {of_a_rule, "segment_id == 'core'", false},
        {of_a_rule, "hour == 8", true},
        {of_a_rule, "weekday == 1", true},
        {of_a_rule, "hour < 8 || weekday > 3", true},
    };
    const uint64_t time = (uint64_t)1 << ATTRIBUTE_SLOT_HOUR | (uint64_t)1
                                                                   << ATTRIBUTE_SLOT_WEEKDAY;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan *plan = fixture_bare();
        rows[i].whose(plan, fixture_rule(plan, rows[i].when));
        fixture_finish(plan);
        struct run run;
        run_decide(&run, plan, "{'variant':'random'}");
        const struct attributes *a = &run.request.attributes;
        if (plan->reads_time != rows[i].reads || (a->known & time) != (rows[i].reads ? time : 0))
            fail_msg("row %zu, %s: reads_time is %d", i, rows[i].when, plan->reads_time);
        if (rows[i].reads) {
            assert_int_equal(a->values[ATTRIBUTE_SLOT_HOUR].i, 8);
            assert_int_equal(a->values[ATTRIBUTE_SLOT_WEEKDAY].i, 1);
        }
        run_done(&run);
        plan_free(plan);
    }
}

/* ---- what each guardrail reads, and what it needs ---- */

static void test_what_each_guardrail_reads(void **state)
{
    (void)state;
    static const struct {
        int guardrail;
        const char *read, *needed;
    } rows[] = {
        {-1, "", ""},
        {GUARDRAIL_GRACE_PERIOD, "elapsed_s", "elapsed_s"},
        {GUARDRAIL_MIN_GAP, "seconds_since_last_break_end breaks_in_session",
         "seconds_since_last_break_end"},
        {GUARDRAIL_COOLDOWN, "last.seconds_ago last.cooldown_s",
         "last.seconds_ago last.cooldown_s"},
        {GUARDRAIL_CONTENT_REMAINING, "content_remaining_s", "content_remaining_s"},
        {GUARDRAIL_CONTENT_BOUNDARY, "at_content_boundary", "at_content_boundary"},
        {GUARDRAIL_ADS_PER_HOUR, "ads_last_hour", "ads_last_hour"},
        {GUARDRAIL_AD_SECONDS_PER_HOUR, "ad_seconds_last_hour", "ad_seconds_last_hour"},
        {GUARDRAIL_ADS_PER_DAY, "ads_today", "ads_today"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char read[512], needed[512];
        struct plan *plan = fixture_bare();
        if (rows[i].guardrail >= 0) fixture_guardrail(plan, (enum guardrail_code)rows[i].guardrail);
        fixture_finish(plan);
        slots_text(plan, plan->guardrails_read, read);
        slots_text(plan, plan->guardrails_needed, needed);
        if (strcmp(read, rows[i].read) || strcmp(needed, rows[i].needed))
            fail_msg("row %zu: reads `%s`, needs `%s`", i, read, needed);
        assert_int_equal(plan->gate_read | plan->gate_needed, 0);
        plan_free(plan);
    }
}

static void test_what_conditions_read(void **state)
{
    (void)state;
    char text[512];
    struct plan *plan = fixture_bare();
    fixture_ad_free(plan, "has(tier) && tier == 'premium' && car");
    fixture_cap(plan, GUARDRAIL_ADS_PER_DAY, fixture_rule(plan, "!has(consent) || background"), 1);
    /* Twice: what was found before is not added to. */
    plan->gate_read = plan->gate_needed = ~(uint64_t)0;
    plan->guardrails_read = plan->guardrails_needed = ~(uint64_t)0;
    for (int i = 0; i < plan->policy_count; i++)
        plan->policies[i].attributes_read = plan->policies[i].attributes_needed = ~(uint64_t)0;
    fixture_finish(plan);
    assert_string_equal(slots_text(plan, plan->gate_read, text), "car tier");
    assert_string_equal(slots_text(plan, plan->gate_needed, text), "car");
    assert_string_equal(slots_text(plan, plan->guardrails_read, text),
                        "ads_today background car tier consent");
    assert_string_equal(slots_text(plan, plan->guardrails_needed, text),
                        "ads_today background car");
    for (int i = 0; i < plan->policy_count; i++) {
        /* A learned policy reads what its fallback's rules do. */
        const char *reads = i == RANDOM ? "" : "elapsed_s tracks_played";
        assert_string_equal(slots_text(plan, plan->policies[i].attributes_read, text), reads);
        assert_string_equal(slots_text(plan, plan->policies[i].attributes_needed, text), reads);
    }
    plan_free(plan);
}

/* ---- finding ---- */

static void test_finding_by_name(void **state)
{
    (void)state;
    struct plan *plan = fixture_finish(fixture_plan());
    static const char *const variants[] = {"control", "bayes", "greedy", "random"};
    static const char *const segments[] = {"new", "casual", "core", "heavy"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(plan_variant_find(plan, span_of(variants[i])), i);
        assert_int_equal(plan_segment_find(plan, span_of(segments[i])), i);
    }
    static const char *const none[] = {"", "contro", "controls", "Control", "cores", "other"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(plan_variant_find(plan, span_of(none[i])), -1);
        assert_int_equal(plan_segment_find(plan, span_of(none[i])), -1);
        assert_int_equal(plan_attribute_find(plan, span_of(none[i])), -1);
    }
    plan_free(plan);
}

/* As many declared attributes as there can be: each is found, at its own slot, and no other is. */
static void test_finding_among_the_most_attributes(void **state)
{
    (void)state;
    static char names[ATTRIBUTES_MAX][16];
    struct plan *plan = fixture_plan();
    while (plan->schema.count < ATTRIBUTES_MAX) {
        char *name = names[plan->schema.count];
        snprintf(name, sizeof names[0], "a%u", plan->schema.count);
        plan->schema.attributes[plan->schema.count++] =
            (struct attribute){span_of(name), ATTRIBUTE_INT, ATTRIBUTE_DECLARED};
    }
    fixture_finish(plan);
    int found = 0;
    for (uint32_t slot = 0; slot < plan->schema.count; slot++) {
        const struct attribute *a = &plan->schema.attributes[slot];
        int expected = attribute_in_session(a) ? (int)slot : -1;
        assert_int_equal(plan_attribute_find(plan, a->name), expected);
        found += expected >= 0;
        char other[64];
        snprintf(other, sizeof other, "%.*sx", (int)a->name.len, a->name.data);
        assert_int_equal(plan_attribute_find(plan, span_of(other)), -1);
    }
    assert_true(found > ATTRIBUTES_MAX / 2);
    plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_time_is_there_where_something_reads_it),
        cmocka_unit_test(test_what_each_guardrail_reads),
        cmocka_unit_test(test_what_conditions_read),
        cmocka_unit_test(test_finding_by_name),
        cmocka_unit_test(test_finding_among_the_most_attributes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
