#include "lab/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char before_text[] = "# TYPE interlude_stage_seconds counter\n"
                                  "interlude_stage_seconds_total{stage=\"read\"} 0.5\n"
                                  "interlude_stage_seconds_total{stage=\"write\"} 1.0\n"
                                  "interlude_stage_samples_total{stage=\"read\"} 100\n"
                                  "interlude_stage_samples_total{stage=\"write\"} 100\n";
static const char after_text[] = "interlude_stage_seconds_total{stage=\"read\"} 0.5002\n"
                                 "interlude_stage_seconds_total{stage=\"write\"} 1.0006\n"
                                 "interlude_stage_samples_total{stage=\"read\"} 200\n"
                                 "interlude_stage_samples_total{stage=\"write\"} 200\n";

static void two_looks_give_shares_and_microseconds(void **state)
{
    (void)state;
    struct profile before, after, between;
    assert_true(profile_read(span_of(before_text), &before));
    assert_true(profile_read(span_of(after_text), &after));
    assert_true(profile_between(&before, &after, &between));
    char text[1024];
    struct buf b = buf_of(text, sizeof text - 1);
    profile_print(&b, &between);
    text[b.len] = 0;
    assert_non_null(strstr(text, "read        25.0%     2.000  ##########\n"));
    assert_non_null(strstr(text, "write       75.0%     6.000  ##############################\n"));
    assert_non_null(strstr(text, "8.000  mean of 100 sampled requests"));
}

static void a_restart_between_the_looks_is_told(void **state)
{
    (void)state;
    struct profile before, after, between;
    assert_true(profile_read(span_of(after_text), &before));
    assert_true(profile_read(span_of(before_text), &after));
    assert_false(profile_between(&before, &after, &between));
    assert_true(profile_read(SPAN("interlude_stage_seconds_total{stage=\"read\"} 9\n"), &after));
    assert_false(profile_between(&before, &after, &between));
}

static void other_metrics_are_no_profile(void **state)
{
    (void)state;
    struct profile p;
    assert_false(profile_read(SPAN("up 1\n"), &p));
    assert_false(profile_read(SPAN(""), &p));
}

static void an_idle_server_is_not_sampled(void **state)
{
    (void)state;
    struct profile before, after, between;
    assert_true(profile_read(span_of(before_text), &before));
    assert_true(profile_between(&before, &before, &between));
    assert_false(profile_sampled(&between));
    assert_true(profile_read(span_of(after_text), &after));
    assert_true(profile_between(&before, &after, &between));
    assert_true(profile_sampled(&between));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_looks_give_shares_and_microseconds),
        cmocka_unit_test(a_restart_between_the_looks_is_told),
        cmocka_unit_test(other_metrics_are_no_profile),
        cmocka_unit_test(an_idle_server_is_not_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
