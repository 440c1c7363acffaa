/* The account of a decision: every step and every entry of it, for each thing that can be told. */
#include "plan_fixture.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Three: u-6 is in the second, u-9f2 in none. */
static void add_experiments(struct plan *plan)
{
    static const struct span names[] = {SPAN("tiny"), SPAN("adload"), SPAN("late")};
    static const struct span salts[] = {SPAN("tiny-1"), SPAN("adload-1"), SPAN("late-1")};
    for (int i = 0; i < 3; i++) {
        plan->experiments[i] = plan->experiments[0];
        plan->experiments[i].name = names[i];
        plan->experiments[i].salt = salts[i];
        plan->experiments[i].slice_ppm = i == 1 ? 200000 : 10;
    }
    plan->experiment_count = 3;
}

/* Two rules end in an error where neither attribute is sent. */
static void add_rules(struct plan *plan, struct policy *policy)
{
    static const char *const conditions[] = {"tenure_days > 3", "genre == 'news'",
                                             "tracks_played > 5"};
    struct policy_rule *list = (struct policy_rule *)arena_alloc(&plan->arena, 3 * sizeof *list);
    for (int i = 0; i < 3; i++)
        list[i] = (struct policy_rule){fixture_rule(plan, conditions[i]), POD_1, -1};
    policy->rules = list;
    policy->rule_count = 3;
}

static void add_prior(struct policy *policy)
{
    policy->on_partial = ON_PARTIAL_PRIOR;
    policy->on_empty = ON_EMPTY_COLD_START;
    policy->has_prior = true;
    for (int i = 0; i < 4; i++) policy->prior[i] = (struct posterior){FAMILY_BETA, {1, 1}};
}

/* The demonstration plan; with a policy for each thing that is told, and of the guardrails two. */
static struct plan *plan_of_accounts(void)
{
    struct plan *plan = fixture_bare();
    fixture_ad_free(plan, "has(tier) && tier == 'premium'");
    fixture_cap(plan, GUARDRAIL_ADS_PER_HOUR, fixture_rule(plan, "has(car)"), 2);
    add_experiments(plan);
    plan->policies[GREEDY].actions = N | P1;
    plan->policies[GREEDY].max_posterior_age_us = 1000000;

    add_prior(fixture_policy(plan, "prior", POLICY_GREEDY));
    fixture_policy(plan, "floored", POLICY_UNIFORM)->floor = 1;
    add_rules(plan, fixture_policy(plan, "listed", POLICY_FIXED));
    fixture_variant(plan, "prior", RANDOM + 1);
    fixture_variant(plan, "floored", RANDOM + 2);
    fixture_variant(plan, "listed", RANDOM + 3);
    return fixture_finish(plan);
}

/* The next line of the case file that is no remark, without its end; NULL: an empty one, or none.
 */
static const char *next_line(FILE *f, char line[1024])
{
    while (fgets(line, 1024, f)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] != '#') return line[0] ? line : NULL;
    }
    return NULL;
}

static void assert_equal_to(const json_t *got, const char *expected, const char *request)
{
    json_t *wanted = json_loads(expected, JSON_REJECT_DUPLICATES, NULL);
    if (!wanted) fail_msg("%s: no JSON", expected);
    if (!got || !json_equal(wanted, got)) {
        char *text = got ? json_dumps(got, JSON_COMPACT) : NULL;
        fail_msg("%s:\n%s, expected\n%s", request, text ? text : "nothing", expected);
    }
    json_decref(wanted);
}

static json_t *explained(struct plan *plan, const char *request)
{
    static char text[REPLY_EXPLAIN_BYTES_MAX];
    struct run run;
    run_decide(&run, plan, request);
    struct buf b = buf_of(text, sizeof text);
    reply_write(&b, plan, &run.request, &run.decision, run.now_us);
    assert_false(b.full);
    json_t *reply = json_loadb(text, b.len, JSON_REJECT_DUPLICATES, NULL);
    if (!reply) fail_msg("%s:\n%.*s", request, (int)b.len, text);
    run_done(&run);
    return reply;
}

static void test_every_step_and_entry(void **state)
{
    (void)state;
    struct plan *plan = plan_of_accounts();
    FILE *f = fopen("tests/cases/explain.txt", "r");
    if (!f) fail_msg("the tests run from the top of the tree");
    char request[1024], line[1024];
    int cases = 0;
    next_line(f, line); /* an empty one, behind the remarks */
    for (; next_line(f, request); cases++) {
        json_t *reply = explained(plan, request);
        assert_equal_to(json_object_get(reply, "eligible"), next_line(f, line), request);
        const json_t *considered = json_object_get(reply, "considered");
        size_t steps = 0;
        while (next_line(f, line))
            assert_equal_to(json_array_get(considered, steps++), line, request);
        assert_int_equal(json_array_size(considered), steps);
        assert_string_equal(json_string_value(json_object_get(reply, "exploration_key")), "r-1");
        json_decref(reply);
    }
    assert_true(cases > 15);
    fclose(f);
    plan_free(plan);
}

/* Every guardrail that takes an action away is told, in their order, and no other. */
static void test_every_guardrail_is_told(void **state)
{
    (void)state;
    for (int permissive = 0; permissive < 2; permissive++) {
        struct plan *plan = fixture_plan();
        for (int g = GUARDRAIL_AD_FREE + 1; g < GUARDRAIL_COUNT; g++) {
            struct plan_guardrail *named = fixture_guardrail(plan, (enum guardrail_code)g);
            if (named->row->shape == GUARDRAIL_CAP && !named->cap.count)
                fixture_cap(plan, (enum guardrail_code)g, NULL, 9);
        }
        fixture_permissive(plan, permissive ? ~(uint64_t)0 : 0);
        fixture_finish(plan);
        json_t *reply = explained(plan, "{'explain':true,'last':{'seconds_ago':-1}}");
        json_t *mask = json_array_get(json_object_get(reply, "considered"), 3);
        json_t *told = json_object_get(mask, "guardrails");
        assert_int_equal(json_array_size(told), GUARDRAIL_LAST - REASON_AD_FREE);
        for (int r = REASON_AD_FREE + 1; r <= GUARDRAIL_LAST; r++) {
            json_t *one = json_array_get(told, (size_t)(r - REASON_AD_FREE - 1));
            assert_string_equal(json_string_value(json_object_get(one, "guardrail")),
                                reason_name((enum reason)r));
            assert_string_equal(json_string_value(json_object_get(one, "what")),
                                permissive ? "not enforced: unknown" : "masked: unknown");
        }
        json_decref(reply);
        plan_free(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_step_and_entry),
        cmocka_unit_test(test_every_guardrail_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
