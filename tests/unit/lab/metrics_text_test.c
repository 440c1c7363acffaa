#include "lab/metrics_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const char text[] = "# HELP a_total things\n"
                           "# TYPE a_total counter\n"
                           "a_total_other 9\n"
                           "a_total 1.5\n"
                           "a_total{x=\"1\",y=\"a \\\"}\\\\ b\"} 2e3 1700000000\n"
                           "a_total{} +Inf\n"
                           "a_total{z=\"\"} -Inf\n"
                           "a_total{x=\"unterminated} 5\n"
                           "a_total x\n"
                           "a_total{x=\"last\"} NaN";

static void samples(void **state)
{
    (void)state;
    struct span rest = SPAN(text), value;
    struct metrics_sample s;
    assert_true(metrics_next(&rest, "a_total", &s));
    assert_true(s.value == 1.5 && !metrics_label(&s, "x", &value));
    assert_true(metrics_next(&rest, "a_total", &s));
    assert_true(s.value == 2000);
    assert_true(metrics_label(&s, "x", &value) && span_is(value, "1"));
    assert_true(metrics_label(&s, "y", &value) && span_is(value, "a \\\"}\\\\ b"));
    assert_false(metrics_label(&s, "z", &value));
    assert_true(metrics_next(&rest, "a_total", &s) && s.value == HUGE_VAL && s.labels.len == 0);
    assert_true(metrics_next(&rest, "a_total", &s) && s.value == -HUGE_VAL);
    assert_true(metrics_label(&s, "z", &value) && value.len == 0);
    assert_true(metrics_next(&rest, "a_total", &s) && isnan(s.value));
    assert_true(metrics_label(&s, "x", &value) && span_is(value, "last"));
    assert_false(metrics_next(&rest, "a_total", &s));
    rest = SPAN(text);
    assert_false(metrics_next(&rest, "a_tot", &s));
    rest = SPAN("");
    assert_false(metrics_next(&rest, "a_total", &s));
}

static void wrong_labels_end_the_search(void **state)
{
    (void)state;
    static const char *const labels[] = {"x",        "x=", "x=\"",       "x=\"\\",
                                         "x=\"\\\"", "=",  "y=1,x=\"1\""};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        struct metrics_sample s = {span_of(labels[i]), 0};
        struct span value;
        assert_false(metrics_label(&s, "x", &value));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples),
        cmocka_unit_test(wrong_labels_end_the_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
