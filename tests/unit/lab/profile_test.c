#include "lab/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

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

/* One stage's time or samples alone, be the others as they may. */
static void a_counter_that_falls_is_a_restart(void **state)
{
    (void)state;
    static const struct {
        double seconds[2], samples[2]; /* of `read`, before and after */
        bool between;
    } rows[] = {
        {{1, 2}, {10, 20}, true},  {{1, 1}, {10, 10}, true},    {{2, 1}, {10, 20}, false},
        {{1, 2}, {20, 10}, false}, {{1, 0.9}, {10, 10}, false}, {{1, 1}, {10, 9}, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct profile p[2], between = {.count = 77};
        for (int k = 0; k < 2; k++)
            p[k] = (struct profile){
                .count = 2,
                .stages = {{"write", 5, 5}, {"read", rows[i].seconds[k], rows[i].samples[k]}}};
        assert_int_equal(profile_between(&p[0], &p[1], &between), rows[i].between);
        assert_int_equal(between.count, rows[i].between ? 2 : 77);
    }
}

static void the_whole_text(void **state)
{
    (void)state;
    const struct profile p = {.count = 3,
                              .stages = {{"read", 0.0005, 250}, {"none", 0, 0}, {"write", 3, 200}}};
    char text[1024];
    struct buf b = buf_of(text, sizeof text - 1);
    profile_print(&b, &p);
    text[b.len] = 0;
    assert_string_equal(text,
                        "stage       share        us\n"
                        "read         0.0%     2.000  \n"
                        "none         0.0%     0.000  \n"
                        "write      100.0% 15000.000  ########################################\n"
                        "sum               15002.000  mean of 250 sampled requests\n");
}

/* As many as there is room for; others, and what has no label, are passed over. */
static void more_stages_than_there_is_room_for(void **state)
{
    (void)state;
    char text[8192];
    size_t len = 0;
    for (int i = 0; i < PROFILE_STAGES_MAX + 2; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "interlude_stage_seconds_total{stage=\"s%d\"} %d\n", i, i + 1);
    len += (size_t)snprintf(text + len, sizeof text - len,
                            "interlude_stage_samples_total{stage=\"s1\"} 7\n"
                            "interlude_stage_samples_total{stage=\"nobody\"} 8\n"
                            "interlude_stage_samples_total 9\n");
    struct profile p;
    assert_true(profile_read((struct span){text, len}, &p));
    assert_int_equal(p.count, PROFILE_STAGES_MAX);
    for (int i = 0; i < p.count; i++) {
        assert_true(p.stages[i].seconds == i + 1);
        assert_true(p.stages[i].samples == (i == 1 ? 7 : 0));
    }
    char name[PROFILE_NAME_MAX + 2];
    for (size_t n = PROFILE_NAME_MAX; n <= PROFILE_NAME_MAX + 1; n++) {
        memset(name, 'n', n);
        name[n] = 0;
        len = (size_t)snprintf(text, sizeof text, "interlude_stage_seconds_total{stage=\"%s\"} 1\n",
                               name);
        assert_int_equal(profile_read((struct span){text, len}, &p), n == PROFILE_NAME_MAX);
    }
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
        cmocka_unit_test(a_counter_that_falls_is_a_restart),
        cmocka_unit_test(the_whole_text),
        cmocka_unit_test(more_stages_than_there_is_room_for),
        cmocka_unit_test(other_metrics_are_no_profile),
        cmocka_unit_test(an_idle_server_is_not_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
