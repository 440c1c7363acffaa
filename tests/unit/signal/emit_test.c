/* What the table's lists make: each site tells the fields of its row, in the row's order. */
#include "signal/emit.h"

#include "signal/line.h"
#include "support.h"

#include <jansson.h>

enum { RING_BYTES = 256 * 1024 };

static struct signal_writer writer;
static struct signal_shared shared;
static _Alignas(64) char ring_memory[RING_BYTES];
static _Atomic uint64_t cells[CELL_FIXED_COUNT];

static const struct span name = {"x", 1};
static const uint64_t counts[SITE_COUNT] = {1};

#define SAMPLE_TEXT name
#define SAMPLE_LIST ((struct names){&name, sizeof name, 1, false})
#define SAMPLE_NUMBER 7
#define SAMPLE_PLACE 7
#define SAMPLE_COUNTS counts
#define SAMPLE_FLAG true

/* sample_version(), and so on: a field that is not empty. That each is used is the compiler's to
 * see. */
#define SAMPLE(field, kind)                          \
    static struct field_##field sample_##field(void) \
    {                                                \
        return field_##field(SAMPLE_##kind);         \
    }
SIGNAL_FIELDS(SAMPLE)

#define ARGUMENT(field) , sample_##field()
#define EMIT(suffix, site, level, expected, budget, fields, ...) \
    emit_##site(&writer, 0 fields(ARGUMENT));

static void emit_all(void)
{
    writer_init(&writer, ring_memory, RING_BYTES, cells, CELL_FIXED_COUNT, &shared);
    SIGNAL_SITES(EMIT)
}

/* The names of a line's fields, after timestamp, level and event, as the table has them. */
static void fields_of(const struct record *record, char *out)
{
    char memory[LINE_BYTES_MAX];
    json_t *json = json_loadb(memory, line_render(memory, record), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    const char *key;
    json_t *value;
    int n = 0;
    *out = '\0';
    json_object_foreach(json, key, value)
    {
        if (n++ < 3) continue;
        if (*out) strcat(out, " ");
        strcat(out, key);
    }
    json_decref(json);
}

static void a_line_has_the_fields_of_its_row(void **state)
{
    (void)state;
    emit_all();
    for (int site = 0; site < SITE_COUNT; site++) {
        size_t n;
        const struct record *record = ring_peek(&writer.ring, &n);
        assert_non_null(record);
        assert_int_equal(record->site, site);
        char fields[LINE_BYTES_MAX];
        fields_of(record, fields);
        assert_string_equal(fields, signal_sites[site].fields);
        writer_release(&writer, record);
    }
}

static void a_closed_site_makes_no_record(void **state)
{
    (void)state;
    for (int site = 0; site < SITE_COUNT; site++) shared.closed[site] = true;
    emit_all();
    for (int site = 0; site < SITE_COUNT; site++) {
        assert_int_equal(writer.fired[site], 1);
        assert_int_equal(writer.suppressed[site], 1);
    }
    assert_int_equal(ring_used(&writer.ring), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_the_fields_of_its_row),
        cmocka_unit_test(a_closed_site_makes_no_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
