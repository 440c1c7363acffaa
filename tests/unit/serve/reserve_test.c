#include "serve/reserve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { SLOTS = 1000 };

/* Pages of the reserve that hold memory. */
static size_t resident(const struct reserve *r)
{
    static unsigned char pages[SLOTS * RESERVE_SIDES];
    size_t count = 0;
    assert_int_equal(mincore(r->memory, r->bytes, pages), 0);
    for (size_t i = 0; i < sizeof pages; i++) count += pages[i] & 1;
    return count;
}

static void each_slot_has_two_of_its_own(void **state)
{
    (void)state;
    struct reserve r;
    struct pool_buf in = {0}, out = {0}, other = {0};
    assert_true(reserve_init(&r, SLOTS));
    assert_true(reserve_take(&r, SLOTS - 1, RESERVE_IN, 1, &in));
    assert_true(reserve_take(&r, SLOTS - 1, RESERVE_OUT, RESERVE_BYTES, &out));
    assert_true(reserve_take(&r, 0, RESERVE_IN, 10, &other));
    assert_int_equal(in.cap, RESERVE_BYTES);
    memset(in.data, 1, in.cap);
    memset(out.data, 2, out.cap);
    memset(other.data, 3, other.cap);
    assert_int_equal(in.data[RESERVE_BYTES - 1], 1);
    assert_int_equal(out.data[0], 2);
    assert_true(reserve_give(&r, &in));
    assert_true(reserve_give(&r, &out));
    assert_true(reserve_give(&r, &other));
    assert_null(in.data);
    reserve_done(&r);
}

static void not_more_than_it_has(void **state)
{
    (void)state;
    struct reserve r;
    char memory[16];
    struct pool_buf b = {0}, foreign = {memory, sizeof memory};
    assert_true(reserve_init(&r, SLOTS));
    assert_false(reserve_take(&r, 0, RESERVE_IN, RESERVE_BYTES + 1, &b));
    assert_null(b.data);
    assert_false(reserve_take(NULL, 0, RESERVE_IN, 1, &b));
    assert_false(reserve_give(&r, &foreign));
    assert_false(reserve_give(NULL, &foreign));
    assert_ptr_equal(foreign.data, memory);
    reserve_done(&r);
}

static void memory_goes_back_at_once(void **state)
{
    (void)state;
    struct reserve r;
    static struct pool_buf all[SLOTS];
    assert_true(reserve_init(&r, SLOTS));
    size_t fresh = resident(&r);
    for (uint32_t i = 0; i < SLOTS; i++) {
        assert_true(reserve_take(&r, i, RESERVE_IN, 1, &all[i]));
        memset(all[i].data, 1, all[i].cap);
    }
    if (resident(&r) < fresh + SLOTS) {
        print_message("skipped: this system does not tell what is resident\n");
        skip();
    }
    for (uint32_t i = 0; i < SLOTS; i++) assert_true(reserve_give(&r, &all[i]));
    if (resident(&r) > fresh) {
        /* Where mincore tells of every page, what is there is zero again. */
        assert_true(reserve_take(&r, 5, RESERVE_IN, 1, &all[5]));
        for (int i = 0; i < RESERVE_BYTES; i++) assert_int_equal(all[5].data[i], 0);
    }
    reserve_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_slot_has_two_of_its_own),
        cmocka_unit_test(not_more_than_it_has),
        cmocka_unit_test(memory_goes_back_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
