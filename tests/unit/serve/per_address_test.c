#include "serve/per_address.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static address_key key(const char *text)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
        address.ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
        address.ss_family = AF_INET6;
    else
        address.ss_family = AF_UNIX;
    return address_key_of(&address);
}

static void what_is_one_address(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"192.0.2.1", "192.0.2.1", true},
        {"192.0.2.1", "192.0.2.2", false},
        {"192.0.2.1", "::ffff:192.0.2.1", true},
        {"192.0.2.1", "::ffff:192.0.2.2", false},
        {"2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true},
        {"2001:db8:1:2::1", "2001:db8:1:3::1", false},
        {"2001:db8:1:2::1", "2001:db8:2:2::1", false},
        {"::1", "::1", true},
        {"::1", "127.0.0.1", false},
        {"0.0.0.0", "::", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(key(rows[i].a) != 0);
        if ((key(rows[i].a) == key(rows[i].b)) != rows[i].same)
            fail_msg("%s and %s", rows[i].a, rows[i].b);
    }
    assert_true(key("unix") == 0);
}

static void counts_go_up_and_down(void **state)
{
    (void)state;
    struct per_address p;
    assert_true(per_address_init(&p, 8, 2));
    assert_int_equal(per_address_count(&p, key("192.0.2.1")), 0);
    per_address_take(&p, 0, key("192.0.2.1"));
    per_address_take(&p, 7, key("192.0.2.1"));
    per_address_take(&p, 3, key("2001:db8::1"));
    per_address_take(&p, 4, 0);
    assert_int_equal(per_address_count(&p, key("192.0.2.1")), 2);
    assert_int_equal(per_address_count(&p, key("2001:db8::2")), 1);
    assert_int_equal(per_address_count(&p, 0), 0);
    per_address_give(&p, 0);
    per_address_give(&p, 4);
    assert_int_equal(per_address_count(&p, key("192.0.2.1")), 1);
    per_address_give(&p, 7);
    per_address_give(&p, 3);
    assert_int_equal(per_address_count(&p, key("192.0.2.1")), 0);
    assert_int_equal(per_address_count(&p, key("2001:db8::1")), 0);
    per_address_done(&p);
}

static void without_a_limit_nothing_is_counted(void **state)
{
    (void)state;
    struct per_address p;
    assert_true(per_address_init(&p, 8, 0));
    assert_null(p.entries);
    per_address_take(&p, 0, key("192.0.2.1"));
    assert_int_equal(per_address_count(&p, key("192.0.2.1")), 0);
    per_address_give(&p, 0);
    per_address_done(&p);
}

/* Against an array of counts: every slot taken and given back again and again, by few addresses and
 * by as many as there are slots. */
static void is_as_a_plain_array(void **state)
{
    (void)state;
    enum { SLOTS = 64, ADDRESSES = 100, STEPS = 200000 };
    static const int addresses[] = {1, 3, SLOTS, ADDRESSES};
    for (size_t row = 0; row < sizeof addresses / sizeof addresses[0]; row++) {
        struct per_address p;
        int of_slot[SLOTS];
        uint32_t counts[ADDRESSES] = {0}, random = 1;
        memset(of_slot, -1, sizeof of_slot);
        assert_true(per_address_init(&p, SLOTS, 5));
        for (int step = 0; step < STEPS; step++) {
            random = random * 1664525u + 1013904223u;
            uint32_t slot = random >> 8 & (SLOTS - 1);
            int address = (int)((random >> 16) % (uint32_t)addresses[row]);
            if (of_slot[slot] < 0) {
                per_address_take(&p, slot, 1000 + (address_key)address);
                of_slot[slot] = address;
                counts[address]++;
            } else {
                address = of_slot[slot];
                per_address_give(&p, slot);
                of_slot[slot] = -1;
                counts[address]--;
            }
            assert_int_equal(per_address_count(&p, 1000 + (address_key)address), counts[address]);
        }
        for (int i = 0; i < ADDRESSES; i++)
            assert_int_equal(per_address_count(&p, 1000 + (address_key)i), counts[i]);
        per_address_done(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_one_address),
        cmocka_unit_test(counts_go_up_and_down),
        cmocka_unit_test(without_a_limit_nothing_is_counted),
        cmocka_unit_test(is_as_a_plain_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
