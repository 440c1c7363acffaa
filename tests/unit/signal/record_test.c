/* Records: every kind of field comes out as it went in; and what is too long is left out. */
#include "signal/record.h"

#include "support.h"

enum { ROOM = RECORD_BYTES_MAX - RECORD_HEAD_BYTES, HEAD = 3, TEXT_MAX = 512, ENTRY_MAX = 255 };

static struct record r;
static char bytes[2 * RECORD_BYTES_MAX];

static int fresh(void **state)
{
    (void)state;
    memset(&r, 0x55, sizeof r);
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)('a' + i % 26);
    record_init(&r, SITE_UNKNOWN_VARIANT, -5);
    assert_int_equal(r.site, SITE_UNKNOWN_VARIANT);
    assert_int_equal(r.wall_us, -5);
    assert_false(r.cut || r.reserved);
    return 0;
}

static struct span letters(size_t n)
{
    return (struct span){bytes, n};
}

/* The next field, which has this id. */
static struct span next(size_t *at, enum signal_field_id id)
{
    struct record_field field;
    assert_true(record_field_next(&r, at, &field));
    assert_int_equal(field.id, id);
    return field.bytes;
}

static void is_over(size_t at)
{
    struct record_field field;
    assert_false(record_field_next(&r, &at, &field));
}

static void each_kind_comes_out(void **state)
{
    (void)state;
    uint64_t counts[SITE_COUNT] = {0};
    counts[0] = 7;
    counts[SITE_COUNT - 1] = UINT64_MAX;
    const struct {
        int other;
        struct span name;
    } table[] = {{1, SPAN("zero")}, {2, SPAN("one")}, {3, SPAN("")}, {4, SPAN("three")}};
    const struct names names = {&table[0].name, sizeof table[0], 1 | 4 | 8, false};
    record_text(&r, FIELD_variant, SPAN("bayes"));
    record_text(&r, FIELD_version, SPAN("")); /* left out */
    record_number(&r, FIELD_connections, INT64_MIN);
    record_number(&r, FIELD_sink_gone, 0);
    record_place(&r, FIELD_disk_full, 0); /* left out */
    record_place(&r, FIELD_disk_full, 3);
    record_flag(&r, FIELD_drill, false); /* left out */
    record_flag(&r, FIELD_drill, true);
    record_names(&r, FIELD_missing_actions, &names);
    record_counts(&r, FIELD_suppressed, counts);
    assert_false(r.cut);

    size_t at = 0;
    assert_true(span_is(next(&at, FIELD_variant), "bayes"));
    assert_int_equal(record_number_read(next(&at, FIELD_connections)), INT64_MIN);
    assert_int_equal(record_number_read(next(&at, FIELD_sink_gone)), 0);
    assert_int_equal(record_number_read(next(&at, FIELD_disk_full)), 3);
    assert_int_equal(next(&at, FIELD_drill).len, 0);
    struct span list = next(&at, FIELD_missing_actions), entry;
    assert_true(record_entry_next(&list, &entry) && span_is(entry, "zero"));
    assert_true(record_entry_next(&list, &entry) && entry.len == 0);
    assert_true(record_entry_next(&list, &entry) && span_is(entry, "three"));
    assert_false(record_entry_next(&list, &entry));
    struct span told = next(&at, FIELD_suppressed);
    enum signal_site site;
    uint64_t count;
    assert_true(record_count_next(&told, &site, &count));
    assert_int_equal(site, 0);
    assert_int_equal(count, 7);
    assert_true(record_count_next(&told, &site, &count));
    assert_int_equal(site, SITE_COUNT - 1);
    assert_true(count == UINT64_MAX);
    assert_false(record_count_next(&told, &site, &count));
    is_over(at);
}

/* A list without entries is no field; and one that lacks some says so. */
static void empty_lists(void **state)
{
    (void)state;
    const uint64_t counts[SITE_COUNT] = {0};
    record_counts(&r, FIELD_suppressed, counts);
    record_names(&r, FIELD_missing_actions, &(struct names){0});
    is_over(0);
    assert_false(r.cut);
    record_names(&r, FIELD_missing_actions, &(struct names){.cut = true});
    is_over(0);
    assert_true(r.cut);
}

static void a_text_has_a_limit(void **state)
{
    for (size_t n = TEXT_MAX - 1; n <= TEXT_MAX + 1; n++) {
        fresh(state);
        record_text(&r, FIELD_variant, letters(n));
        size_t at = 0, kept = n < TEXT_MAX ? n : TEXT_MAX;
        struct span text = next(&at, FIELD_variant);
        assert_int_equal(text.len, kept);
        assert_memory_equal(text.data, bytes, kept);
        assert_int_equal(r.cut, n > TEXT_MAX);
    }
}

static void an_entry_has_a_limit(void **state)
{
    for (size_t n = ENTRY_MAX - 1; n <= ENTRY_MAX + 1; n++) {
        fresh(state);
        const struct span table[] = {letters(n), SPAN("x")};
        record_names(&r, FIELD_missing_actions, &(struct names){table, sizeof *table, 3, false});
        size_t at = 0;
        struct span list = next(&at, FIELD_missing_actions), entry;
        assert_true(record_entry_next(&list, &entry));
        if (n <= ENTRY_MAX) {
            assert_int_equal(entry.len, n);
            assert_memory_equal(entry.data, bytes, n);
            assert_true(record_entry_next(&list, &entry));
        }
        assert_true(span_is(entry, "x"));
        assert_false(record_entry_next(&list, &entry));
        assert_int_equal(r.cut, n > ENTRY_MAX);
    }
}

/* To the byte. */
static void a_record_has_an_end(void **state)
{
    for (size_t more = 0; more <= 1; more++) {
        fresh(state);
        for (int i = 0; i < 3; i++) record_text(&r, FIELD_variant, letters(500));
        size_t left = ROOM - 3 * (HEAD + 500);
        assert_false(r.cut);
        record_text(&r, FIELD_version, letters(left - HEAD + more));
        assert_int_equal(r.cut, more == 1);
        assert_true(r.bytes <= RECORD_BYTES_MAX);
        size_t at = 0;
        for (int i = 0; i < 3; i++) assert_int_equal(next(&at, FIELD_variant).len, 500);
        if (!more) assert_int_equal(next(&at, FIELD_version).len, left - HEAD);
        is_over(at);
        /* What is short enough still finds room, where there is any. */
        record_flag(&r, FIELD_drill, true);
        if (more) assert_int_equal(next(&at, FIELD_drill).len, 0);
        is_over(at);
        assert_true(r.cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_kind_comes_out, fresh),
        cmocka_unit_test_setup(empty_lists, fresh),
        cmocka_unit_test_setup(a_text_has_a_limit, fresh),
        cmocka_unit_test_setup(an_entry_has_a_limit, fresh),
        cmocka_unit_test_setup(a_record_has_an_end, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
