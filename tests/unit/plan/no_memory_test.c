/* Loading a plan while every allocation fails in turn, libyaml's too: an error, and nothing else.
 * What is left behind is found by AddressSanitizer. */
#include "plan_files.h"

#include "interlude.h"
#include "no_memory.h"

static struct plan_errors errors, warnings;

static void tells_no_memory(void)
{
    assert_int_equal(errors.count, 1);
    assert_int_equal(errors.more, 0);
    assert_int_equal(errors.errors[0].code, ERR_NO_MEMORY);
    assert_non_null(strstr(errors.errors[0].text, "memory"));
}

/* Returns how many allocations a load of it takes. */
static long load_in_vain(struct span text, bool onwards)
{
    for (long at = 1;; at++) {
        struct settings *settings = NULL;
        no_memory_arm(at, onwards);
        struct plan *plan = plan_check(text, &settings, &errors, &warnings);
        bool failed = no_memory_disarm();
        if (!failed) {
            assert_non_null(plan);
            plan_free(plan);
            settings_free(settings);
            return at - 1;
        }
        assert_null(plan);
        assert_null(settings);
        tells_no_memory();
    }
}

static void each_allocation_of_a_load(void **state)
{
    (void)state;
    for (int onwards = 0; onwards < 2; onwards++) {
        assert_true(load_in_vain(plan_demo_text(), onwards) > 200);
        struct span text = file_read("tests/cases/plans/good-everything.yaml");
        assert_true(load_in_vain(text, onwards) > 200);
        free((void *)text.data);
        text = file_read("tests/cases/plans/warn-conditions.yaml");
        assert_true(load_in_vain(text, onwards) > 200);
        free((void *)text.data);
    }
}

/* A plan with errors, some of them libyaml's: told as they are, or there was no memory to tell. */
static void each_allocation_of_a_refusal(const char *path)
{
    struct span text = file_read(path);
    bool failed = true;
    for (long at = 1; failed; at++) {
        no_memory_arm(at, false);
        struct plan *plan = plan_load(text, NULL, &errors);
        failed = no_memory_disarm();
        if (plan) fail_msg("%s: loads, and must not", path);
        if (failed) tells_no_memory();
    }
    for (int i = 0; i < errors.count; i++)
        assert_int_equal(errors.errors[i].code, ERR_PLAN_INVALID);
    free((void *)text.data);
}

static void each_allocation_of_refusals(void **state)
{
    (void)state;
    assert_true(cases_each("bad-", each_allocation_of_a_refusal) > 20);
}

/* The library tells its host, and lets it live. */
static void the_library_says_so(void **state)
{
    (void)state;
    const char *yaml = interlude_demo_plan();
    for (long at = 1;; at++) {
        struct interlude_error told[2] = {0};
        size_t count = 0;
        no_memory_arm(at, true);
        struct interlude_plan *plan = interlude_plan_load(yaml, strlen(yaml), told, 2, &count);
        if (!no_memory_disarm()) {
            assert_int_equal(count, 0);
            interlude_plan_free(plan);
            assert_true(at > 200);
            return;
        }
        assert_null(plan);
        assert_int_equal(count, 1);
        assert_string_equal(told[0].code, "no_memory");
        assert_string_equal(told[1].code, "");
    }
}

static void a_text_of_nothing_is_an_empty_plan(void **state)
{
    (void)state;
    struct interlude_error told;
    size_t count;
    assert_null(interlude_plan_load(NULL, 0, &told, 1, &count));
    assert_int_equal(count, 1);
    assert_string_equal(told.text, "the plan is empty");
    assert_null(interlude_plan_load("", 0, &told, 1, &count));
    assert_string_equal(told.text, "the plan is empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_of_a_load),
        cmocka_unit_test(each_allocation_of_refusals),
        cmocka_unit_test(the_library_says_so),
        cmocka_unit_test(a_text_of_nothing_is_an_empty_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
