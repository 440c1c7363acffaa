/* What a plan is warned about, and what it is not. */
#include "plan_files.h"

static struct plan *check_good(struct span text, const char *path, struct plan_errors *warnings)
{
    static struct plan_errors errors;
    struct plan *plan = plan_check_file(text, NULL, &errors, warnings);
    if (!plan)
        fail_msg("%s:%u:%u: %s", path, errors.errors[0].line, errors.errors[0].column,
                 errors.errors[0].text);
    return plan;
}

static void check_warn_file(const char *path)
{
    static struct plan_errors warnings;
    struct span text = file_read(path);
    plan_free(check_good(text, path, &warnings));
    expected_check(path, text, &warnings);
    free((void *)text.data);
}

static void each_warning_with_its_place(void **state)
{
    (void)state;
    assert_true(cases_each("warn-", check_warn_file) >= 10);
}

static void nothing_is_wrong_with_the_demonstration_plan(void **state)
{
    (void)state;
    static struct plan_errors warnings;
    plan_free(check_good(plan_demo_text(), "demo", &warnings));
    assert_int_equal(warnings.count + warnings.more, 0);
}

/* The golden plan means what is told of it: it has every way to choose in it. Its rules give up to
 * 3 ads where `tracks_played` or the segment, by which they give 2, is absent. */
static void what_the_golden_plan_is_warned_about(void **state)
{
    (void)state;
    static struct plan_errors warnings;
    static const char *const words[] = {"the rule in line 18 then gives 3 ads", "on_partial: prior",
                                        "on_empty: cold_start", "`ads_per_hour` reads",
                                        "`ad_seconds_per_hour` reads"};
    enum { WORDS = sizeof words / sizeof *words };
    struct span text = file_read("tests/golden/plan.yaml");
    plan_free(check_good(text, "golden", &warnings));
    assert_int_equal(warnings.count, WORDS);
    for (int i = 0; i < WORDS; i++) assert_non_null(strstr(warnings.errors[i].text, words[i]));
    free((void *)text.data);
}

/* What is wrong is an error, and then nothing else is told. */
static void a_plan_with_errors_has_no_warnings(const char *path)
{
    static struct plan_errors errors, warnings;
    struct span text = file_read(path);
    warnings.count = warnings.more = 7;
    assert_null(plan_check_file(text, NULL, &errors, &warnings));
    assert_int_equal(warnings.count + warnings.more, 0);
    free((void *)text.data);
}

static void no_fault_is_told_twice(void **state)
{
    (void)state;
    assert_true(cases_each("bad-", a_plan_with_errors_has_no_warnings) >= 30);
}

/* The printed plan is as applied: it is warned about as before, but for its shares and its end. */
static void the_shares_are_printed_as_applied(void **state)
{
    (void)state;
    static char printed[PLAN_BYTES_MAX];
    static struct plan_errors warnings;
    struct span text = file_read("tests/cases/plans/warn-experiments.yaml");
    struct plan *plan = check_good(text, "experiments", &warnings);
    struct buf b = buf_of(printed, sizeof printed);
    plan_print(&b, plan);
    assert_false(b.full);
    buf_char(&b, '\0');
    assert_non_null(strstr(printed, "split: {bayes: 66.6667%, control: 33.3333%}"));
    assert_non_null(strstr(printed, "split: {bayes: 50%, control: 50%}"));
    assert_non_null(strstr(printed, "split: {bayes: 100%, control: 0%}"));
    struct plan *again = check_good(span_of(printed), "printed", &warnings);
    for (int i = 0; i < warnings.count; i++)
        assert_null(strstr(warnings.errors[i].text, "the shares sum"));
    assert_string_equal(plan->fingerprint, again->fingerprint);
    plan_free(plan);
    plan_free(again);
    free((void *)text.data);
}

/* The first arm in whose share a unit's place is. */
static int arm_of(const uint64_t up_to[3], uint64_t ppm)
{
    int arm = 0;
    while (ppm * up_to[2] >= up_to[arm] * PPM) arm++;
    return arm;
}

/* Shares of any sum, and as they are applied: each of the million places is in the same arm. */
static void nobody_changes_arms_by_that(void **state)
{
    (void)state;
    static const uint64_t shares[][3] = {
        {100000, 200000, 400000}, {1, 1, 1},           {1, 1000000, 1000000}, {1000000, 0, 1},
        {333333, 333333, 333333}, {0, 700000, 700001}, {7, 11, 13},
    };
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        static struct plan_errors warnings;
        char text[512];
        uint64_t raw[3], applied[3], sum = 0;
        snprintf(text, sizeof text,
                 "salt: s\nactions: [{name: n, ads: 0, cooldown: 1s}, {name: p, ads: 1, cooldown: "
                 "1s}]\npolicies: {p: {kind: uniform}}\ndefault_variant: a\n"
                 "variants: {a: {policy: p}, b: {policy: p}, c: {policy: p}}\nexperiments: [{name: "
                 "e, salt: e, split: {a: %.4f%%, b: %.4f%%, c: %.4f%%}}]\n...\n",
                 (double)shares[i][0] / 1e4, (double)shares[i][1] / 1e4,
                 (double)shares[i][2] / 1e4);
        struct plan *plan = check_good(span_of(text), text, &warnings);
        for (int a = 0; a < 3; a++) {
            raw[a] = sum += shares[i][a];
            applied[a] = plan->experiments[0].split[a].up_to;
        }
        assert_int_equal(applied[2], PPM);
        for (uint64_t ppm = 0; ppm < PPM; ppm++)
            if (arm_of(raw, ppm) != arm_of(applied, ppm)) fail_msg("%s: %d", text, (int)ppm);
        plan_free(plan);
    }
}

static void more_than_are_kept(void **state)
{
    (void)state;
    static char text[65536];
    static struct plan_errors warnings;
    struct buf b = buf_of(text, sizeof text);
    buf_lit(&b, "salt: s\nactions: [{name: none, ads: 0, cooldown: 1s}, {name: p, ads: 1, "
                "cooldown: 1s}]\ndefault_variant: v\nvariants: {v: {policy: p}}\npolicies:\n  p:\n"
                "    kind: fixed\n    rules:\n");
    for (int i = 0; i < PLAN_ERRORS_MAX + 5; i++)
        buf_lit(&b, "      - {when: 'hour > 23', action: p}\n");
    buf_lit(&b, "...\n");
    assert_false(b.full);
    plan_free(check_good(buf_text(&b), "many", &warnings));
    assert_int_equal(warnings.count, PLAN_ERRORS_MAX);
    assert_int_equal(warnings.more, 5);
    for (int i = 0; i < warnings.count; i++)
        assert_int_equal(warnings.errors[i].line, 9 + (uint32_t)i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_warning_with_its_place),
        cmocka_unit_test(nothing_is_wrong_with_the_demonstration_plan),
        cmocka_unit_test(what_the_golden_plan_is_warned_about),
        cmocka_unit_test(no_fault_is_told_twice),
        cmocka_unit_test(the_shares_are_printed_as_applied),
        cmocka_unit_test(nobody_changes_arms_by_that),
        cmocka_unit_test(more_than_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
