/* Readers that turn, and a publisher that destroys what it gets back: no reader may ever see a
 * destroyed one, nor one older than a publication that had returned before its turn began. */
#include "serve/plan_live.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { READERS = 3, PUBLICATIONS = 300 };

struct race {
    struct plan_live live;
    _Atomic uint64_t published; /* the serial of the last publication that returned */
    _Atomic bool stop;
    _Atomic int faults;
    _Atomic uint64_t turns;
};

struct race_reader {
    struct race *race;
    int reader;
};

static const struct plan_served *served_new(uint64_t serial)
{
    struct plan_served *served = calloc(1, sizeof *served);
    assert_non_null(served);
    served->serial = serial;
    return served;
}

static void served_destroy(const struct plan_served *served)
{
    struct plan_served *own = (struct plan_served *)(uintptr_t)served;
    own->serial = 0;
    free(own);
}

static void *reader_run(void *argument)
{
    struct race_reader *r = argument;
    struct race *race = r->race;
    while (!atomic_load(&race->stop)) {
        uint64_t least = atomic_load(&race->published);
        const struct plan_served *served = plan_live_enter(&race->live, r->reader);
        uint64_t first = served->serial;
        for (int i = 0; i < 50; i++)
            if (*(volatile const uint64_t *)&served->serial != first)
                atomic_fetch_add(&race->faults, 1);
        if (first < least) atomic_fetch_add(&race->faults, 1);
        plan_live_leave(&race->live, r->reader);
        atomic_fetch_add(&race->turns, 1);
    }
    return NULL;
}

static void no_reader_sees_a_retired_plan(void **state)
{
    (void)state;
    struct race *race = aligned_alloc(_Alignof(struct race), sizeof *race);
    assert_non_null(race);
    atomic_init(&race->published, 1);
    atomic_init(&race->stop, false);
    atomic_init(&race->faults, 0);
    atomic_init(&race->turns, 0);
    plan_live_init(&race->live, served_new(1), READERS);
    pthread_t threads[READERS];
    struct race_reader readers[READERS];
    for (int i = 0; i < READERS; i++) {
        readers[i] = (struct race_reader){race, i};
        assert_int_equal(pthread_create(&threads[i], NULL, reader_run, &readers[i]), 0);
    }
    while (atomic_load(&race->turns) < 100) continue;
    for (uint64_t serial = 2; serial < 2 + PUBLICATIONS; serial++) {
        const struct plan_served *before = plan_live_publish(&race->live, served_new(serial));
        assert_int_equal(before->serial, serial - 1);
        atomic_store(&race->published, serial);
        served_destroy(before);
    }
    atomic_store(&race->stop, true);
    for (int i = 0; i < READERS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&race->faults), 0);
    served_destroy(plan_live_current(&race->live));
    free(race);
}

struct waiting {
    struct plan_live live;
    const struct plan_served *next;
    _Atomic bool returned;
};

static void *publisher_run(void *argument)
{
    struct waiting *w = argument;
    served_destroy(plan_live_publish(&w->live, w->next));
    atomic_store(&w->returned, true);
    return NULL;
}

static void publishing_waits_for(int holder)
{
    struct waiting *w = aligned_alloc(_Alignof(struct waiting), sizeof *w);
    assert_non_null(w);
    plan_live_init(&w->live, served_new(1), READERS);
    w->next = served_new(2);
    atomic_init(&w->returned, false);
    const struct plan_served *held = plan_live_enter(&w->live, holder);
    int other = (holder + 1) % READERS;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, publisher_run, w), 0);
    /* The new one is there at once, for whoever begins now: who does is not waited for. */
    while (plan_live_current(&w->live)->serial != 2) continue;
    assert_int_equal(plan_live_enter(&w->live, other)->serial, 2);
    usleep(20000); /* time enough to return */
    assert_false(atomic_load(&w->returned));
    assert_int_equal(held->serial, 1);
    plan_live_leave(&w->live, holder);
    pthread_join(thread, NULL);
    assert_true(atomic_load(&w->returned));
    plan_live_leave(&w->live, other);
    served_destroy(plan_live_current(&w->live));
    free(w);
}

static void publishing_waits_for_the_one_who_holds(void **state)
{
    (void)state;
    for (int holder = 0; holder < READERS; holder++) publishing_waits_for(holder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_reader_sees_a_retired_plan),
        cmocka_unit_test(publishing_waits_for_the_one_who_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
