#include "lab/load_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct load_due due_of(uint64_t n)
{
    return (struct load_due){.due_ns = 1000 + n, .seq = n};
}

/* First in, first out, however it has grown and gone round meanwhile. */
static void in_order(void **state)
{
    (void)state;
    static const struct {
        int push, pop;
    } rows[] = {{1, 1}, {700, 650}, {900, 100}, {1, 0}, {2000, 2500}, {5000, 0}, {1, 5252}};
    struct load_queue q = {0};
    uint64_t pushed = 0, popped = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int k = 0; k < rows[i].push; k++) load_queue_push(&q, due_of(pushed++));
        for (int k = 0; k < rows[i].pop && q.count; k++) {
            struct load_due due = load_queue_pop(&q);
            assert_int_equal(due.seq, popped);
            assert_int_equal(due.due_ns, 1000 + popped++);
        }
        assert_int_equal(q.count, pushed - popped);
    }
    while (q.count) assert_int_equal(load_queue_pop(&q).seq, popped++);
    assert_int_equal(popped, pushed);
    load_queue_done(&q);
    load_queue_push(&q, due_of(7));
    assert_int_equal(load_queue_pop(&q).seq, 7);
    load_queue_done(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
