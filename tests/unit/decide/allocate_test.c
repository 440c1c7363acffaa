#include "plan_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_ppm(void **state)
{
    (void)state;
    static const struct {
        const char *salt, *tag, *unit;
        uint32_t ppm;
    } rows[] = {
        {"adload-1", "slice", "u-6", 150048},
        {"adload-1", "split", "u-6", 57834},
        {"adload-1", "slice", "u-9f2", 394966},
        {"adload-1", "split", "u-9f2", 901757},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(allocate_ppm(span_of(rows[i].salt), rows[i].tag, span_of(rows[i].unit)),
                         rows[i].ppm);
    /* The longest parts that can come. */
    static char salt[NAME_BYTES_MAX], unit[REQUEST_UNIT_BYTES_MAX];
    memset(salt, 's', sizeof salt);
    memset(unit, 'u', sizeof unit);
    assert_true(allocate_ppm((struct span){salt, sizeof salt}, "slice",
                             (struct span){unit, sizeof unit}) < PPM);
}

static void test_who_decides(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        enum assignment assignment;
        int variant, experiment;
        const char *reasons;
    } rows[] = {
        {"{}", ASSIGNMENT_NO_UNIT, V_CONTROL, -1, "rule no_unit"},
        {"{'unit_id':null}", ASSIGNMENT_NO_UNIT, V_CONTROL, -1, "rule no_unit"},
        {"{'unit_id':''}", ASSIGNMENT_NO_UNIT, V_CONTROL, -1, "rule no_unit"},
        {"{'unit_id':'u-6'}", ASSIGNMENT_EXPERIMENT, V_BAYES, 0, "rule fallback"},
        {"{'unit_id':'u-9f2'}", ASSIGNMENT_DEFAULT, V_CONTROL, -1, "rule"},
        {"{'variant':'random','unit_id':'u-6'}", ASSIGNMENT_CALLER, V_RANDOM, -1, "policy"},
        {"{'variant':'random'}", ASSIGNMENT_CALLER, V_RANDOM, -1, "policy"},
        {"{'variant':'control'}", ASSIGNMENT_CALLER, V_CONTROL, -1, "rule"},
        {"{'variant':null,'unit_id':'u-6'}", ASSIGNMENT_EXPERIMENT, V_BAYES, 0, "rule fallback"},
        {"{'variant':'','unit_id':'u-6'}", ASSIGNMENT_EXPERIMENT, V_BAYES, 0, "rule fallback"},
        {"{'variant':'nope','unit_id':'u-6'}", ASSIGNMENT_UNKNOWN_VARIANT, V_CONTROL, -1,
         "rule unknown_variant"},
        {"{'variant':'Random'}", ASSIGNMENT_UNKNOWN_VARIANT, V_CONTROL, -1, "rule unknown_variant"},
        {"{'variant':'unknown'}", ASSIGNMENT_UNKNOWN_VARIANT, V_CONTROL, -1,
         "rule unknown_variant"},
        {"{'variant':'rand\\u006fm'}", ASSIGNMENT_CALLER, V_RANDOM, -1, "policy"},
        {"{'session':{'tier':'premium'}}", ASSIGNMENT_NO_UNIT, V_CONTROL, -1, "no_unit ad_free"},
        {"{'variant':'x','session':{'tier':'premium'}}", ASSIGNMENT_UNKNOWN_VARIANT, V_CONTROL, -1,
         "unknown_variant ad_free"},
        {"{'variant':'bayes','session':{'tier':'premium'}}", ASSIGNMENT_CALLER, V_BAYES, -1,
         "ad_free"},
    };
    struct plan *plan = fixture_bare();
    fixture_ad_free(plan, "has(tier) && tier == 'premium'");
    fixture_finish(plan);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char reasons[512];
        struct run run;
        const struct decision *d = run_decide(&run, plan, rows[i].request);
        if (d->assignment != rows[i].assignment || d->variant != rows[i].variant ||
            d->experiment != rows[i].experiment ||
            strcmp(reasons_text(d->reasons, reasons), rows[i].reasons))
            fail_msg("%s: %s, variant %d, experiment %d, %s", rows[i].request,
                     assignment_name(d->assignment), d->variant, d->experiment, reasons);
        assert_int_equal(d->variant_unknown, d->assignment == ASSIGNMENT_UNKNOWN_VARIANT);
        run_done(&run);
    }
    plan_free(plan);
}

static void test_without_experiments_no_unit_is_needed(void **state)
{
    (void)state;
    struct plan *plan = fixture_bare();
    plan->experiment_count = 0;
    plan->default_variant = V_RANDOM;
    fixture_finish(plan);
    struct run run;
    const struct decision *d = run_decide(&run, plan, "{}");
    assert_int_equal(d->assignment, ASSIGNMENT_DEFAULT);
    assert_int_equal(d->variant, V_RANDOM);
    assert_int_equal(d->reasons, 1u << REASON_POLICY);
    run_done(&run);
    plan_free(plan);
}

static void allocate_unit(const struct plan *plan, const char *unit, struct decision *out)
{
    struct request request = {.variant = REQUEST_VARIANT_NONE, .unit_id = span_of(unit)};
    *out = (struct decision){0};
    allocate(plan, &request, out);
}

static void test_slice_boundaries(void **state)
{
    (void)state;
    static const struct {
        uint32_t slice_ppm;
        bool in;
    } rows[] = {{0, false}, {150047, false}, {150048, false}, {150049, true}, {PPM, true}};
    struct plan *plan = fixture_finish(fixture_bare());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct decision d;
        plan->experiments[0].slice_ppm = rows[i].slice_ppm;
        allocate_unit(plan, "u-6", &d);
        assert_int_equal(d.assignment == ASSIGNMENT_EXPERIMENT, rows[i].in);
        assert_int_equal(d.experiment, rows[i].in ? 0 : -1);
    }
    plan_free(plan);
}

/* u-6 splits at 57,834 ppm, u-9f2 at 901,757. Weights are normalised to their sum. */
static void test_split_boundaries(void **state)
{
    (void)state;
    static const struct {
        const char *unit;
        uint64_t up_to[3];
        int place;
    } rows[] = {
        {"u-6", {57834, 500000, PPM}, 1},
        {"u-6", {57835, 500000, PPM}, 0},
        {"u-6", {0, 57834, PPM}, 2},
        {"u-6", {0, 57835, PPM}, 1},
        {"u-6", {0, 0, 1}, 2},
        {"u-6", {1, 2, 3}, 0},
        {"u-6", {1, 18, 20}, 1},
        {"u-6", {57834000, 57834001, 1000000000}, 1},
        {"u-6", {57834001, 57834002, 1000000000}, 0},
        {"u-9f2", {1, 2, 3}, 2},
        {"u-9f2", {901757, 901758, PPM}, 1},
        {"u-9f2", {901756, 901757, PPM}, 2},
        {"u-9f2", {9, 10, 10}, 1},
        {"u-9f2", {10, 10, 10}, 0},
    };
    struct plan *plan = fixture_finish(fixture_bare());
    struct plan_experiment *x = &plan->experiments[0];
    x->slice_ppm = PPM;
    x->split_count = 3;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static const int variants[] = {V_RANDOM, V_BAYES, V_GREEDY};
        for (int j = 0; j < 3; j++) {
            x->split[j].variant = variants[j];
            x->split[j].up_to = rows[i].up_to[j];
        }
        struct decision d;
        allocate_unit(plan, rows[i].unit, &d);
        if (d.variant != variants[rows[i].place]) fail_msg("row %zu: variant %d", i, d.variant);
    }
    plan_free(plan);
}

static void test_the_first_experiment_that_holds_the_unit(void **state)
{
    (void)state;
    struct plan *plan = fixture_finish(fixture_bare());
    plan->experiments[1] = plan->experiments[0];
    plan->experiments[1].name = SPAN("second");
    plan->experiments[1].slice_ppm = PPM;
    plan->experiments[1].split_count = 1;
    plan->experiments[1].split[0].variant = V_GREEDY;
    plan->experiments[1].split[0].up_to = 1;
    plan->experiment_count = 2;
    struct decision d;
    allocate_unit(plan, "u-6", &d);
    assert_int_equal(d.experiment, 0);
    assert_int_equal(d.variant, V_BAYES);
    allocate_unit(plan, "u-9f2", &d);
    assert_int_equal(d.experiment, 1);
    assert_int_equal(d.variant, V_GREEDY);
    plan_free(plan);
}

static void assert_share(int hits, int of, double p, const char *what)
{
    if (fabs(hits / (double)of - p) > 5 * sqrt(p * (1 - p) / of))
        fail_msg("%s: %d of %d, expected %g", what, hits, of, p);
}

static void test_shares(void **state)
{
    (void)state;
    enum { UNITS = 100000 };
    struct plan *plan = fixture_finish(fixture_bare());
    /* A second experiment on its own salt, that all the first leaves can come into. */
    plan->experiments[1] = plan->experiments[0];
    plan->experiments[1].salt = SPAN("other");
    plan->experiments[1].slice_ppm = 300000;
    plan->experiments[1].split[0].variant = V_RANDOM;
    plan->experiments[1].split[0].up_to = 1;
    plan->experiments[1].split[1].variant = V_GREEDY;
    plan->experiments[1].split[1].up_to = 4;
    plan->experiment_count = 2;
    int in[2] = {0}, variant[4] = {0}, left = 0;
    for (int i = 0; i < UNITS; i++) {
        char unit[32];
        snprintf(unit, sizeof unit, "unit-%d", i);
        struct decision d;
        allocate_unit(plan, unit, &d);
        if (d.experiment < 0) {
            left++;
            assert_int_equal(d.variant, plan->default_variant);
            continue;
        }
        in[d.experiment]++;
        variant[d.variant]++;
    }
    assert_share(in[0], UNITS, 0.2, "first slice");
    assert_share(variant[V_CONTROL], in[0], 0.5, "control");
    assert_int_equal(variant[V_CONTROL] + variant[V_BAYES], in[0]);
    /* Slices on different salts are independent. */
    assert_share(in[1], UNITS, 0.8 * 0.3, "second slice");
    assert_share(variant[V_RANDOM], in[1], 0.25, "random");
    assert_share(left, UNITS, 0.8 * 0.7, "left");
    plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ppm),
        cmocka_unit_test(test_who_decides),
        cmocka_unit_test(test_without_experiments_no_unit_is_needed),
        cmocka_unit_test(test_slice_boundaries),
        cmocka_unit_test(test_split_boundaries),
        cmocka_unit_test(test_the_first_experiment_that_holds_the_unit),
        cmocka_unit_test(test_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
