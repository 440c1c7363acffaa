#include "signal/writer.h"

#include "support.h"

enum { RING_BYTES = 256 * 1024 };

static struct signal_writer writer;
static struct signal_shared shared;
static _Alignas(64) char ring_memory[RING_BYTES];
static _Atomic uint64_t cells[CELL_FIXED_COUNT];

static int fresh(void **state)
{
    (void)state;
    shared = (struct signal_shared){0};
    writer_init(&writer, ring_memory, RING_BYTES, cells, CELL_FIXED_COUNT, &shared);
    return 0;
}

/* Fires `site` with a record as long as can be, or as short. */
static void fire(enum signal_site site, bool longest)
{
    if (!writer_fire(&writer, site)) return;
    struct record r;
    record_init(&r, site, 0);
    static const char text[512];
    while (longest && !r.cut) record_text(&r, FIELD_message, (struct span){text, 64});
    writer_place(&writer, &r);
}

static int placed(enum signal_site site)
{
    return (int)(writer.fired[site] - writer.dropped[site] - writer.suppressed[site]);
}

static bool take(void)
{
    size_t n;
    const struct record *r = ring_peek(&writer.ring, &n);
    if (r) writer_release(&writer, r);
    return r != NULL;
}

/* Whatever the others did before, in a full ring every site can place its reserve. */
static void a_noisy_site_leaves_room_for_the_rare(void **state)
{
    (void)state;
    for (int noisy = 0; noisy < SITE_SCRIBE_FIRST; noisy++)
        for (int longest = 0; longest < 2; longest++) {
            fresh(NULL);
            for (int i = 0; i < 20000; i++) fire((enum signal_site)noisy, longest);
            assert_true(writer.dropped[noisy] > 0);
            for (int site = 0; site < SITE_SCRIBE_FIRST; site++) {
                if (site == noisy) continue;
                for (int i = 0; i < 12; i++) fire((enum signal_site)site, true);
                assert_int_equal(placed((enum signal_site)site), SITE_RESERVE_RECORDS);
            }
        }
}

/* The reserve comes back as it is read, wherever in the ring its records lie. */
static void the_reserve_is_given_back(void **state)
{
    (void)state;
    uint32_t random = 3;
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 300; i++) {
            random = random * 1664525 + 1013904223;
            fire(SITE_POSTERIORS_ABSENT, random >> 31);
        }
        int before = placed(SITE_UNKNOWN_VARIANT);
        for (int i = 0; i < SITE_RESERVE_RECORDS; i++) fire(SITE_UNKNOWN_VARIANT, true);
        assert_int_equal(placed(SITE_UNKNOWN_VARIANT) - before, SITE_RESERVE_RECORDS);
        if (random >> 30 == 0)
            while (take()) {
            }
        /* All of the rare ones, and some of the noisy ones that came before. */
        for (int i = 0; i < 1000000 && ring_used(&writer.ring) > (random >> 20) * 8; i++) take();
        while (writer.reserve_freed[SITE_UNKNOWN_VARIANT] <
               writer.reserve_placed[SITE_UNKNOWN_VARIANT])
            assert_true(take());
    }
    assert_true(writer.dropped[SITE_POSTERIORS_ABSENT] > 0);
    while (take()) {
    }
    assert_int_equal(writer.pool_placed, writer.pool_freed);
}

static void a_closed_site_copies_nothing(void **state)
{
    (void)state;
    shared.closed[SITE_POSTERIORS_STALE] = true;
    for (int i = 0; i < 5; i++) fire(SITE_POSTERIORS_STALE, false);
    fire(SITE_POSTERIORS_PARTIAL, false);
    assert_int_equal(writer.fired[SITE_POSTERIORS_STALE], 5);
    assert_int_equal(writer.suppressed[SITE_POSTERIORS_STALE], 5);
    assert_int_equal(writer.fired[SITE_POSTERIORS_PARTIAL], 1);
    assert_true(take());
    assert_false(take());
}

static void outranked_is_fired(void **state)
{
    (void)state;
    writer_outrank(&writer, SITE_POSTERIORS_PARTIAL);
    assert_int_equal(writer.fired[SITE_POSTERIORS_PARTIAL], 1);
    assert_int_equal(writer.outranked[SITE_POSTERIORS_PARTIAL], 1);
    assert_false(take());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_noisy_site_leaves_room_for_the_rare, fresh),
        cmocka_unit_test_setup(the_reserve_is_given_back, fresh),
        cmocka_unit_test_setup(a_closed_site_copies_nothing, fresh),
        cmocka_unit_test_setup(outranked_is_fired, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
