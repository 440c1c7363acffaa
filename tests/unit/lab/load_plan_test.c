#include "lab/load_plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define S 1000000000ull

static const struct load_shape flat = {.rate = 1000, .duration_ns = 10 * S, .seed = 1};
static const struct load_shape day = {.curve = LOAD_DIURNAL,
                                      .peak = 3000,
                                      .trough = 200,
                                      .cycle_ns = 4 * S,
                                      .duration_ns = 8 * S,
                                      .seed = 1};

static size_t count_of(const struct load_shape *shape, uint64_t from_ns, uint64_t to_ns)
{
    struct load_plan p;
    load_plan_init(&p, shape);
    uint64_t ns, last = 0;
    size_t n = 0;
    while (load_plan_next(&p, &ns)) {
        assert_true(ns >= last && ns < shape->duration_ns);
        last = ns;
        n += ns >= from_ns && ns < to_ns;
    }
    assert_false(load_plan_next(&p, &ns));
    return n;
}

static void constant_arrivals_stand_apart_evenly(void **state)
{
    (void)state;
    struct load_plan p;
    load_plan_init(&p, &flat);
    uint64_t ns;
    for (int i = 0; i < 10000; i++) {
        assert_true(load_plan_next(&p, &ns));
        int64_t off = (int64_t)ns - (i * 1000000ll + 500000);
        assert_true(off >= -1 && off <= 1);
    }
    assert_false(load_plan_next(&p, &ns));
}

/* The gaps of a Poisson process are exponential: their mean and their standard deviation are equal,
 * and 1/e of them are longer than the mean. */
static void poisson_gaps_are_exponential(void **state)
{
    (void)state;
    struct load_shape shape = flat;
    shape.arrivals = LOAD_POISSON;
    shape.duration_ns = 100 * S;
    struct load_plan p;
    load_plan_init(&p, &shape);
    uint64_t ns, last = 0;
    double n = 0, sum = 0, squares = 0, longer = 0;
    while (load_plan_next(&p, &ns)) {
        double gap = (double)(ns - last) / 1e6;
        last = ns;
        n++, sum += gap, squares += gap * gap, longer += gap > 1;
    }
    double mean = sum / n, deviation = sqrt(squares / n - mean * mean);
    assert_true(fabs(n - 1e5) < 5 * sqrt(1e5));
    assert_true(fabs(mean - 1) < 5 / sqrt(n));
    assert_true(fabs(deviation - 1) < 5 * 2 / sqrt(n));
    assert_true(fabs(longer / n - exp(-1)) < 5 * 0.5 / sqrt(n));
}

static void diurnal_follows_its_curve(void **state)
{
    (void)state;
    for (int arrivals = 0; arrivals < 2; arrivals++) {
        struct load_shape shape = day;
        shape.arrivals = arrivals ? LOAD_POISSON : LOAD_CONSTANT;
        for (uint64_t from = 0; from < 8 * S; from += S / 4) {
            double expected =
                load_plan_expected(&shape, from + S / 4) - load_plan_expected(&shape, from);
            double got = (double)count_of(&shape, from, from + S / 4);
            double allowed = arrivals ? 5 * sqrt(expected) + 1 : 1.001;
            if (fabs(got - expected) > allowed)
                fail_msg("at %llu: %g, not %g", (unsigned long long)from, got, expected);
        }
    }
    assert_true(fabs(load_plan_expected(&day, 4 * S) - 1600 * 4) < 1e-6);
}

static void a_trough_of_nothing_is_crossed(void **state)
{
    (void)state;
    struct load_shape shape = day;
    shape.trough = 0;
    for (int arrivals = 0; arrivals < 2; arrivals++) {
        shape.arrivals = arrivals ? LOAD_POISSON : LOAD_CONSTANT;
        double n = (double)count_of(&shape, 0, 8 * S);
        assert_true(fabs(n - 12000) < (arrivals ? 5 * sqrt(12000) : 1.001));
        assert_true(count_of(&shape, 4 * S - S / 50, 4 * S + S / 50) < 5);
    }
}

/* Ten years of milliseconds lie between two of its requests: stepping from one to the next would
 * not end. */
static void many_cycles_are_crossed_at_once(void **state)
{
    (void)state;
    struct load_shape shape = {.curve = LOAD_DIURNAL,
                               .peak = 1e-8,
                               .cycle_ns = LOAD_CYCLE_NS_MIN,
                               .duration_ns = 315360000ull * S,
                               .seed = 1};
    assert_int_equal(count_of(&shape, 0, UINT64_MAX), 2);
    shape.peak = 100;
    shape.duration_ns = 10 * S;
    assert_int_equal(count_of(&shape, 0, 5 * S), 250);
}

static void the_seed_alone_makes_the_schedule(void **state)
{
    (void)state;
    struct load_shape shape = day;
    shape.arrivals = LOAD_POISSON;
    struct load_plan a, b, other;
    load_plan_init(&a, &shape);
    load_plan_init(&b, &shape);
    shape.seed = 2;
    load_plan_init(&other, &shape);
    int same = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t x, y, z;
        assert_true(load_plan_next(&a, &x));
        assert_true(load_plan_next(&b, &y));
        assert_true(load_plan_next(&other, &z));
        assert_int_equal(x, y);
        same += x == z;
    }
    assert_true(same < 5);
}

static void wrong_shapes(void **state)
{
    (void)state;
    static const struct {
        struct load_shape shape;
        bool good;
    } rows[] = {
        {{.rate = 1, .duration_ns = 1}, true},
        {{.rate = 0, .duration_ns = 1}, false},
        {{.rate = -1, .duration_ns = 1}, false},
        {{.rate = 2e7, .duration_ns = 1}, false},
        {{.rate = 1, .duration_ns = 0}, false},
        {{.curve = LOAD_DIURNAL, .peak = 2, .trough = 2, .cycle_ns = S, .duration_ns = 1}, true},
        {{.curve = LOAD_DIURNAL, .peak = 2, .cycle_ns = S / 1000, .duration_ns = 1}, true},
        {{.curve = LOAD_DIURNAL, .peak = 2, .cycle_ns = S / 1000 - 1, .duration_ns = 1}, false},
        {{.curve = LOAD_DIURNAL, .peak = 2, .trough = 3, .cycle_ns = S, .duration_ns = 1}, false},
        {{.curve = LOAD_DIURNAL, .peak = 2, .trough = -1, .cycle_ns = S, .duration_ns = 1}, false},
        {{.curve = LOAD_DIURNAL, .peak = 0, .cycle_ns = S, .duration_ns = 1}, false},
        {{.curve = LOAD_DIURNAL, .rate = 5, .cycle_ns = S, .duration_ns = 1}, false},
        {{.curve = LOAD_DIURNAL, .peak = 2, .duration_ns = 1}, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err e;
        assert_int_equal(load_shape_check(&rows[i].shape, &e), rows[i].good ? ERR_OK : ERR_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_arrivals_stand_apart_evenly),
        cmocka_unit_test(poisson_gaps_are_exponential),
        cmocka_unit_test(diurnal_follows_its_curve),
        cmocka_unit_test(a_trough_of_nothing_is_crossed),
        cmocka_unit_test(many_cycles_are_crossed_at_once),
        cmocka_unit_test(the_seed_alone_makes_the_schedule),
        cmocka_unit_test(wrong_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
