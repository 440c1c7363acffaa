#include "signal/series.h"

#include "support.h"

enum { CELLS = CELL_FIXED_COUNT + 200 };

static struct signal_writer writers[2];
static _Atomic uint64_t cells[2][CELLS];
static struct series_table table;

static int fresh(void **state)
{
    (void)state;
    memset(cells, 0, sizeof cells);
    for (int i = 0; i < 2; i++) writers[i].cells = cells[i];
    assert_true(series_init(&table, writers, 2, CELLS));
    return 0;
}

static int done(void **state)
{
    (void)state;
    series_done(&table);
    return 0;
}

static uint32_t resolve(enum signal_metric metric, uint64_t version, const char *labels)
{
    return series_resolve(&table, metric, 0, version, span_of(labels));
}

static uint64_t version_load(struct span name)
{
    struct series_load load = series_load_begin(&table, name);
    assert_true(series_load_end(&table, &load));
    return load.version;
}

static const struct series *find(enum signal_metric metric, const char *labels)
{
    for (int32_t i = table.first[metric]; i != SERIES_NONE; i = table.all[i].next)
        if (strcmp(table.all[i].labels, labels) == 0) return &table.all[i];
    return NULL;
}

static void a_label_set_keeps_its_cell(void **state)
{
    (void)state;
    uint32_t a = resolve(METRIC_STATE, 0, "a"), b = resolve(METRIC_STATE, 0, "b");
    uint32_t other = resolve(METRIC_FALLBACK, 0, "a");
    assert_true(a >= CELL_FIXED_COUNT && b >= CELL_FIXED_COUNT);
    assert_true(a != b && a != other && b != other);
    cells[0][a] = 3;
    cells[1][a] = 4;
    assert_int_equal(resolve(METRIC_STATE, 0, "a"), a);
    assert_int_equal(series_value(&table, find(METRIC_STATE, "a"), 0), 7);
    assert_int_equal(series_sum(&table, METRIC_STATE, 0, 255), 7);
}

static void beyond_the_limit_is_the_overflow_cell(void **state)
{
    (void)state;
    char labels[16];
    for (int i = 0; i < 250; i++) {
        snprintf(labels, sizeof labels, "v%d", i);
        uint32_t cell = resolve(METRIC_STATE, 0, labels);
        if (i < 200)
            assert_int_equal(cell, CELL_FIXED_COUNT + i);
        else
            assert_in_range(cell, CELL_OVERFLOWS, CELL_COUNTERS - 1);
    }
    assert_int_equal(table.refused, 50);
    assert_int_equal(series_cells(&table), 200);
    assert_int_equal(resolve(METRIC_REQUEST_DURATION, 0, "v"), CELL_OVERFLOW);
}

/* Sums do not depend on whether there was a cell left. */
static void what_has_no_series_is_in_its_metrics_sum(void **state)
{
    (void)state;
    char labels[16];
    for (int i = 0; i < 200; i++) {
        snprintf(labels, sizeof labels, "v%d", i);
        resolve(METRIC_DECISIONS, 0, labels);
    }
    cells[0][series_resolve(&table, METRIC_POSTERIORS, 2, 0, SPAN("a"))] += 3;
    cells[1][series_resolve(&table, METRIC_POSTERIORS, 2, 0, SPAN("b"))] += 4;
    cells[0][series_resolve(&table, METRIC_POSTERIORS, 1, 0, SPAN("c"))] += 5;
    cells[0][series_resolve(&table, METRIC_STATE, 2, 0, SPAN("d"))] += 6;
    cells[0][series_resolve(&table, METRIC_COVERED_SECONDS, 0, 0, SPAN("e"))] += 420;
    cells[0][series_resolve(&table, METRIC_ADS_DECIDED, 0, 0, SPAN("e"))] += 3;
    cells[0][series_resolve(&table, METRIC_REQUEST_DURATION, 0, 0, SPAN("f"))] += 1;
    assert_int_equal(series_sum(&table, METRIC_POSTERIORS, 2, 8), 7);
    assert_int_equal(series_sum(&table, METRIC_POSTERIORS, 0, 255), 12);
    assert_int_equal(series_sum(&table, METRIC_STATE, 0, 3), 6);
    assert_int_equal(series_overflow(&table), 3 + 4 + 5 + 6 + 1); /* no seconds, no ads */
}

/* A histogram that does not fit takes nothing; what fits beside it still does. */
static void a_histogram_takes_its_cells_together(void **state)
{
    (void)state;
    uint32_t first = resolve(METRIC_REQUEST_DURATION, 0, "a");
    assert_int_equal(resolve(METRIC_REQUEST_DURATION, 0, "b"), first + DURATION_CELLS);
    assert_int_equal(resolve(METRIC_REQUEST_DURATION, 0, "c"), first + 2 * DURATION_CELLS);
    assert_int_equal(resolve(METRIC_REQUEST_DURATION, 0, "d"), CELL_OVERFLOW);
    assert_int_equal(resolve(METRIC_STATE, 0, "a"), first + 3 * DURATION_CELLS);
}

/* Load, count, retire, a thousand times: the last four versions are told, and memory is flat. */
static void old_versions_give_their_cells_back(void **state)
{
    (void)state;
    char name[16], labels[64];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "v%d", i);
        uint64_t version = version_load(span_of(name));
        for (int k = 0; k < 10; k++) {
            snprintf(labels, sizeof labels, "%s,%d", name, k);
            uint32_t cell = resolve(METRIC_MISSING_POSTERIORS, version, labels);
            assert_int_not_equal(cell, CELL_OVERFLOW);
            /* A cell that held something before begins at 0 all the same. */
            assert_int_equal(series_value(&table, find(METRIC_MISSING_POSTERIORS, labels), 0), 0);
            cells[i & 1][cell] += (uint64_t)k + 1;
            assert_int_equal(series_value(&table, find(METRIC_MISSING_POSTERIORS, labels), 0),
                             k + 1);
        }
        series_version_retire(&table, version);
    }
    assert_true(table.version_count <= SERIES_VERSIONS_KEPT);
    assert_true(table.cell_next <= CELL_FIXED_COUNT + 60);
    assert_int_equal(series_cells(&table), 10 * table.version_count);
    assert_non_null(find(METRIC_MISSING_POSTERIORS, "v996,9"));
    assert_null(find(METRIC_MISSING_POSTERIORS, "v995,0"));
}

/* A plan that somebody still uses keeps its series, however many came later. */
static void a_version_in_use_stays(void **state)
{
    (void)state;
    uint64_t old = version_load(SPAN("old"));
    uint32_t cell = resolve(METRIC_MISSING_POSTERIORS, old, "old");
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        series_version_retire(&table, version_load(span_of(name)));
    }
    assert_int_equal(resolve(METRIC_MISSING_POSTERIORS, old, "old"), cell);
    assert_int_equal(version_load(SPAN("old")), old); /* it is the latest again */
    series_version_retire(&table, old);
    series_version_retire(&table, old);
    assert_non_null(find(METRIC_MISSING_POSTERIORS, "old"));
    for (int i = 6; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        series_version_retire(&table, version_load(span_of(name)));
    }
    assert_null(find(METRIC_MISSING_POSTERIORS, "old"));
}

static void durations_fall_in_their_buckets(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        int bucket;
    } cases[] = {
        {0, 0},           {10000, 0},       {10001, 1},       {12500, 1},    {12501, 2},
        {100000, 10},     {100001, 11},     {630000, 18},     {1000000, 20}, {1000000000, 50},
        {2000000000, 53}, {2000000001, 54}, {UINT64_MAX, 54},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(duration_bucket(cases[i].ns), cases[i].bucket);
    for (int i = 1; i < DURATION_BOUNDS; i++)
        assert_true(duration_bound_ns(i - 1) < duration_bound_ns(i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_label_set_keeps_its_cell, fresh, done),
        cmocka_unit_test_setup_teardown(beyond_the_limit_is_the_overflow_cell, fresh, done),
        cmocka_unit_test_setup_teardown(what_has_no_series_is_in_its_metrics_sum, fresh, done),
        cmocka_unit_test_setup_teardown(a_histogram_takes_its_cells_together, fresh, done),
        cmocka_unit_test_setup_teardown(old_versions_give_their_cells_back, fresh, done),
        cmocka_unit_test_setup_teardown(a_version_in_use_stays, fresh, done),
        cmocka_unit_test(durations_fall_in_their_buckets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
