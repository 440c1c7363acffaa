#include "serve/deadline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const uint64_t timeouts[DEADLINE_COUNT] = {1000, 1000, 50, 60, 70, 20};

static struct deadline none(void)
{
    return (struct deadline){.kind = DEADLINE_NONE};
}

static void nothing_is_armed(void **state)
{
    (void)state;
    struct deadlines d;
    deadlines_init(&d, timeouts);
    assert_true(deadline_next_ns(&d) == UINT64_MAX);
    assert_null(deadline_find_due(&d, UINT64_MAX));
    assert_null(deadline_find_first(&d, DEADLINE_IDLE));
    struct deadline a = none();
    deadline_disarm(&d, &a);
    assert_int_equal(a.kind, DEADLINE_NONE);
}

static void due_at_its_time(void **state)
{
    (void)state;
    for (int kind = 0; kind < DEADLINE_QUEUED; kind++) {
        struct deadlines d;
        struct deadline a = none();
        deadlines_init(&d, timeouts);
        deadline_arm(&d, &a, (enum deadline_kind)kind, 500);
        uint64_t at = 500 + timeouts[kind];
        assert_int_equal(deadline_next_ns(&d), at);
        assert_null(deadline_find_due(&d, at - 1));
        assert_ptr_equal(deadline_find_due(&d, at), &a);
        deadline_disarm(&d, &a);
        assert_null(deadline_find_due(&d, at));
    }
}

static void nearest_of_all_kinds(void **state)
{
    (void)state;
    struct deadlines d;
    struct deadline idle = none(), head = none(), answer = none();
    deadlines_init(&d, timeouts);
    deadline_arm(&d, &idle, DEADLINE_IDLE, 0);
    assert_int_equal(deadline_next_ns(&d), 1000);
    deadline_arm(&d, &answer, DEADLINE_ANSWER, 10);
    assert_int_equal(deadline_next_ns(&d), 80);
    deadline_arm(&d, &head, DEADLINE_HEAD, 20);
    assert_int_equal(deadline_next_ns(&d), 70);
    deadline_disarm(&d, &head);
    assert_int_equal(deadline_next_ns(&d), 80);
}

/* Arming anew, first, in the middle and last, keeps each list in order. */
static void armed_anew(void **state)
{
    (void)state;
    enum { N = 4 };
    struct deadlines d;
    struct deadline all[N];
    deadlines_init(&d, timeouts);
    for (int i = 0; i < N; i++) {
        all[i] = none();
        deadline_arm(&d, &all[i], DEADLINE_IDLE, (uint64_t)i);
    }
    static const int order[] = {0, 2, 2, 1, 3, 0};
    uint64_t now = 10;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        deadline_arm(&d, &all[order[i]], DEADLINE_IDLE, now++);
    static const int due[] = {2, 1, 3, 0};
    for (int i = 0; i < N; i++) {
        struct deadline *first = deadline_find_due(&d, UINT64_MAX);
        assert_ptr_equal(first, &all[due[i]]);
        assert_ptr_equal(first, deadline_find_first(&d, DEADLINE_IDLE));
        deadline_disarm(&d, first);
    }
    assert_null(deadline_find_due(&d, UINT64_MAX));
}

static void another_kind_leaves_the_list(void **state)
{
    (void)state;
    struct deadlines d;
    struct deadline a = none();
    deadlines_init(&d, timeouts);
    deadline_arm(&d, &a, DEADLINE_HEAD, 0);
    deadline_arm(&d, &a, DEADLINE_BODY, 5);
    assert_null(deadline_find_first(&d, DEADLINE_HEAD));
    assert_ptr_equal(deadline_find_first(&d, DEADLINE_BODY), &a);
    assert_int_equal(deadline_next_ns(&d), 65);
}

/* Not the one that is due next: kinds have limits of their own. */
static void the_oldest_has_waited_longest(void **state)
{
    (void)state;
    struct deadlines d;
    struct deadline idle = none(), head = none(), answer = none();
    deadlines_init(&d, timeouts);
    assert_null(deadline_find_oldest(&d));
    deadline_arm(&d, &idle, DEADLINE_IDLE, 0);
    deadline_arm(&d, &head, DEADLINE_HEAD, 1);
    deadline_arm(&d, &answer, DEADLINE_ANSWER, 2);
    assert_ptr_equal(deadline_find_oldest(&d), &idle);
    deadline_arm(&d, &idle, DEADLINE_IDLE, 3);
    assert_ptr_equal(deadline_find_oldest(&d), &head);
    deadline_disarm(&d, &head);
    assert_ptr_equal(deadline_find_oldest(&d), &answer);
    deadline_disarm(&d, &answer);
    assert_ptr_equal(deadline_find_oldest(&d), &idle);
}

/* It is the queue of those that wait for their own turn, in order. */
static void queued_is_never_due(void **state)
{
    (void)state;
    struct deadlines d;
    struct deadline a = none(), b = none();
    deadlines_init(&d, timeouts);
    deadline_arm(&d, &a, DEADLINE_QUEUED, 5);
    deadline_arm(&d, &b, DEADLINE_QUEUED, 3);
    assert_int_equal(d.counts[DEADLINE_QUEUED], 2);
    assert_null(deadline_find_due(&d, UINT64_MAX - 1));
    assert_true(deadline_next_ns(&d) == UINT64_MAX);
    assert_ptr_equal(deadline_find_first(&d, DEADLINE_QUEUED), &a);
    assert_int_equal(deadline_armed_ns(&d, &a), 5);
    deadline_disarm(&d, &a);
    assert_ptr_equal(deadline_find_first(&d, DEADLINE_QUEUED), &b);
    deadline_disarm(&d, &b);
    assert_int_equal(d.counts[DEADLINE_QUEUED], 0);
}

static void the_longest_silent(void **state)
{
    (void)state;
    struct deadlines d;
    struct deadline head = none(), fresh = none(), idle = none();
    deadlines_init(&d, timeouts);
    assert_null(deadline_find_silent(&d));
    deadline_arm(&d, &head, DEADLINE_HEAD, 1);
    assert_null(deadline_find_silent(&d));
    deadline_arm(&d, &idle, DEADLINE_IDLE, 2);
    deadline_arm(&d, &fresh, DEADLINE_FRESH, 3);
    assert_int_equal(deadline_silent_count(&d), 2);
    assert_ptr_equal(deadline_find_silent(&d), &idle);
    deadline_arm(&d, &idle, DEADLINE_IDLE, 4); /* the last of its list: in place */
    assert_int_equal(deadline_silent_count(&d), 2);
    assert_ptr_equal(deadline_find_silent(&d), &fresh);
    deadline_arm(&d, &fresh, DEADLINE_BODY, 5);
    assert_int_equal(deadline_silent_count(&d), 1);
    assert_ptr_equal(deadline_find_silent(&d), &idle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_armed),
        cmocka_unit_test(due_at_its_time),
        cmocka_unit_test(nearest_of_all_kinds),
        cmocka_unit_test(armed_anew),
        cmocka_unit_test(another_kind_leaves_the_list),
        cmocka_unit_test(the_oldest_has_waited_longest),
        cmocka_unit_test(queued_is_never_due),
        cmocka_unit_test(the_longest_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
