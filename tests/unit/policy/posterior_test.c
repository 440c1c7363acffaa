#include "policy/posterior.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *const names[PARAMETER_COUNT] = {"alpha", "beta",   "mean",  "variance",
                                                   "mu",    "lambda", "shape", "rate"};

static void test_parameter_names(void **state)
{
    (void)state;
    for (int i = 0; i < PARAMETER_COUNT; i++) {
        assert_int_equal(posterior_parameter_find(span_of(names[i])), i);
        assert_string_equal(posterior_parameter_name((enum posterior_parameter)i), names[i]);
    }
    const struct span others[] = {SPAN(""),       {NULL, 0},      SPAN("Alpha"), SPAN("alph"),
                                  SPAN("alphas"), SPAN("beta\0"), SPAN("m"),     SPAN("sigma")};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(posterior_parameter_find(others[i]), -1);
}

#define BIT(parameter) (1u << PARAMETER_##parameter)

static const struct {
    enum posterior_family family;
    const char *name;
    uint32_t set;
} families[] = {
    {FAMILY_BETA, "beta", BIT(ALPHA) | BIT(BETA)},
    {FAMILY_NORMAL, "normal", BIT(MEAN) | BIT(VARIANCE)},
    {FAMILY_NIG, "normal_inverse_gamma", BIT(MU) | BIT(LAMBDA) | BIT(ALPHA) | BIT(BETA)},
    {FAMILY_GAMMA, "gamma", BIT(SHAPE) | BIT(RATE)},
};

static void test_only_exact_sets_are_families(void **state)
{
    (void)state;
    for (uint32_t set = 0; set < 1u << PARAMETER_COUNT; set++) {
        int expected = -1;
        for (size_t i = 0; i < sizeof families / sizeof *families; i++)
            if (families[i].set == set) expected = (int)families[i].family;
        assert_int_equal(posterior_family_of(set), expected);
    }
    assert_int_equal(posterior_family_of(families[0].set | 1u << 31), -1);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        assert_string_equal(posterior_family_name(families[i].family), families[i].name);
}

static void test_make_takes_each_parameter_to_its_place(void **state)
{
    (void)state;
    const double values[PARAMETER_COUNT] = {1, 2, 3, 4, 5, 6, 7, 8};
    const double expected[FAMILY_COUNT][4] = {[FAMILY_BETA] = {1, 2},
                                              [FAMILY_NORMAL] = {3, 4},
                                              [FAMILY_NIG] = {5, 6, 1, 2},
                                              [FAMILY_GAMMA] = {7, 8}};
    for (int f = 0; f < FAMILY_COUNT; f++) {
        struct posterior p;
        memset(&p, 0x55, sizeof p);
        assert_true(posterior_make((enum posterior_family)f, values, &p));
        assert_int_equal(p.family, f);
        for (int i = 0; i < 4; i++) assert_true(p.p[i] == expected[f][i]);
    }
}

static const struct {
    double value;
    bool any_sign, positive; /* allowed for mean and mu; for the others */
} limits[] = {
    {DBL_MAX, true, true},     {0x1p-1074, true, true}, {1, true, true},
    {0.0, true, false},        {-0.0, true, false},     {-0x1p-1074, true, false},
    {-1, true, false},         {-DBL_MAX, true, false}, {INFINITY, false, false},
    {-INFINITY, false, false}, {NAN, false, false},     {-NAN, false, false},
};

static void test_make_judges_what_the_family_uses(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (int parameter = 0; parameter < PARAMETER_COUNT; parameter++)
            for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
                double values[PARAMETER_COUNT] = {1, 1, 1, 1, 1, 1, 1, 1};
                values[parameter] = limits[i].value;
                bool any_sign = parameter == PARAMETER_MEAN || parameter == PARAMETER_MU;
                bool used = families[f].set >> parameter & 1;
                bool good = !used || (any_sign ? limits[i].any_sign : limits[i].positive);

                struct posterior p = {.family = 99, .p = {-1, -2, -3, -4}}, before = p;
                if (posterior_make(families[f].family, values, &p) != good)
                    fail_msg("%s, %s = %g", families[f].name, names[parameter], limits[i].value);
                if (!good) assert_memory_equal(&p, &before, sizeof p);
            }
}

static const struct {
    struct posterior p;
    double mean;
} means[] = {
    {{FAMILY_BETA, {1, 3}}, 0.25},
    {{FAMILY_BETA, {0.25, 0.75}}, 0.25},
    {{FAMILY_BETA, {20, 80}}, 0.2},
    {{FAMILY_BETA, {DBL_MAX, DBL_MAX}}, 0.5},
    {{FAMILY_BETA, {0x1p-1074, 0x1p-1074}}, 0.5},
    {{FAMILY_BETA, {0x1p-1074, 0x3p-1074}}, 0.25},
    {{FAMILY_BETA, {DBL_MAX, 0x1p-1074}}, 1},
    {{FAMILY_BETA, {0x1p-1074, DBL_MAX}}, 0},
    {{FAMILY_NORMAL, {-2.5, 9}}, -2.5},
    {{FAMILY_NIG, {-DBL_MAX, 1, 2, 3}}, -DBL_MAX},
    {{FAMILY_GAMMA, {3, 2}}, 1.5},
    {{FAMILY_GAMMA, {DBL_MAX, 0.5}}, DBL_MAX},
    {{FAMILY_GAMMA, {0x1p-1074, 4}}, 0},
};

static void test_means(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        if (posterior_mean(&means[i].p) != means[i].mean)
            fail_msg("row %zu: %.17g", i, posterior_mean(&means[i].p));
}

static const struct {
    struct posterior p;
    double deviation;
} deviations[] = {
    {{FAMILY_BETA, {3, 2}}, 0.2},           {{FAMILY_BETA, {1, 1}}, 0.28867513459481288},
    {{FAMILY_BETA, {DBL_MAX, DBL_MAX}}, 0}, {{FAMILY_BETA, {1e-300, 1e-300}}, 0.5},
    {{FAMILY_NORMAL, {7, 4}}, 2},           {{FAMILY_NIG, {7, 2, 3, 16}}, 2},
    {{FAMILY_NIG, {7, 2, 1, 16}}, DBL_MAX}, {{FAMILY_NIG, {7, 1e-300, 1.5, 1e300}}, DBL_MAX},
    {{FAMILY_GAMMA, {4, 8}}, 0.25},         {{FAMILY_GAMMA, {4, 1e-308}}, DBL_MAX},
};

static void test_the_deviation(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof deviations / sizeof *deviations; i++) {
        double deviation = posterior_deviation(&deviations[i].p);
        if (!(fabs(deviation - deviations[i].deviation) <= 1e-15 * (1 + deviations[i].deviation)))
            fail_msg("row %zu: %.17g", i, deviation);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_deviation),
        cmocka_unit_test(test_parameter_names),
        cmocka_unit_test(test_only_exact_sets_are_families),
        cmocka_unit_test(test_make_takes_each_parameter_to_its_place),
        cmocka_unit_test(test_make_judges_what_the_family_uses),
        cmocka_unit_test(test_means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
