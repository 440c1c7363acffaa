#include "serve/handoff.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void in_order_and_empty(void **state)
{
    (void)state;
    struct handoff h;
    uint32_t item = 99;
    assert_true(handoff_init(&h, 5));
    assert_false(handoff_take(&h, &item));
    assert_int_equal(item, 99);
    for (uint32_t round = 0; round < 10; round++) {
        for (uint32_t i = 0; i < 5; i++) handoff_put(&h, round * 5 + i);
        for (uint32_t i = 0; i < 5; i++) {
            assert_true(handoff_take(&h, &item));
            assert_int_equal(item, round * 5 + i);
        }
        assert_false(handoff_take(&h, &item));
    }
    handoff_done(&h);
}

static void of_one(void **state)
{
    (void)state;
    struct handoff h;
    uint32_t item;
    assert_true(handoff_init(&h, 1));
    for (uint32_t i = 0; i < 3; i++) {
        handoff_put(&h, i);
        assert_true(handoff_take(&h, &item));
        assert_int_equal(item, i);
    }
    handoff_done(&h);
}

enum { SLOTS = 64, ROUNDS = 200000 };

struct pair {
    struct handoff there, back;
};

static void *echo(void *argument)
{
    struct pair *p = argument;
    for (uint32_t n = 0, item; n < ROUNDS;) {
        if (!handoff_take(&p->there, &item)) continue;
        handoff_put(&p->back, item);
        n++;
    }
    return NULL;
}

/* Slots go to and fro, as between acceptor and loop: none is lost and none comes twice. */
static void between_threads(void **state)
{
    (void)state;
    static struct pair p;
    bool away[SLOTS] = {false};
    assert_true(handoff_init(&p.there, SLOTS));
    assert_true(handoff_init(&p.back, SLOTS));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, echo, &p), 0);
    uint32_t sent = 0, got = 0, item;
    while (got < ROUNDS) {
        uint32_t slot = sent % SLOTS;
        if (sent < ROUNDS && !away[slot]) {
            away[slot] = true;
            handoff_put(&p.there, slot);
            sent++;
        }
        while (handoff_take(&p.back, &item)) {
            assert_true(item < SLOTS && away[item]);
            assert_int_equal(item, got % SLOTS);
            away[item] = false;
            got++;
        }
    }
    pthread_join(thread, NULL);
    handoff_done(&p.there);
    handoff_done(&p.back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order_and_empty),
        cmocka_unit_test(of_one),
        cmocka_unit_test(between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
