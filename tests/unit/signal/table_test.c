#include "signal/series.h"
#include "support.h"

/* Lower-case words with underscores. */
static bool is_name(const char *name)
{
    return *name >= 'a' && *name <= 'z' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

/* Goes into HELP lines and table cells as it is. */
static bool is_plain(const char *text)
{
    return *text && !strpbrk(text, "\"\\\n|") && text[strlen(text) - 1] != '.';
}

static void sites_are_well_formed(void **state)
{
    (void)state;
    for (int i = 0; i < SITE_COUNT; i++) {
        const struct signal_site_row *row = &signal_sites[i];
        assert_true(is_name(row->name) && is_plain(row->help) && is_plain(row->opportunity));
        assert_true(span_is(signal_site_names()[i], row->name));
        for (int k = 0; k < i; k++) assert_string_not_equal(row->name, signal_sites[k].name);
        int field = -1;
        for (const char *at = row->fields; *at;) {
            size_t len = strcspn(at, " ");
            int next = field + 1;
            while (next < FIELD_COUNT &&
                   !span_equal((struct span){at, len}, span_of(signal_fields[next].name)))
                next++;
            assert_in_range(next, 0, FIELD_COUNT - 1); /* known, and in the lines' order */
            field = next;
            at += len + (at[len] == ' ');
        }
    }
}

static void metrics_are_well_formed(void **state)
{
    (void)state;
    for (int i = 0; i < METRIC_COUNT; i++) {
        const struct signal_metric_row *row = &signal_metrics[i];
        assert_true(is_name(row->name) && is_plain(row->help) && is_plain(row->moves));
        assert_null(strstr(row->name, "_total"));
        for (int k = 0; k < i; k++) assert_string_not_equal(row->name, signal_metrics[k].name);
        for (const char *at = row->labels; *at; at += strspn(at, " ")) {
            assert_in_range(strcspn(at, " "), 1, SERIES_LABEL_NAME_MAX);
            at += strcspn(at, " ");
        }
        int labels = *row->labels ? 1 + count_of(row->labels, " ") : 0;
        assert_true(labels <= METRIC_LABELS_MAX);
    }
}

/* UPDATE_DOCS=1 writes the file instead. */
static void the_document_is_the_table(void **state)
{
    (void)state;
    char memory[65536];
    struct buf b = buf_of(memory, sizeof memory - 1);
    signals_doc_print(&b);
    assert_false(b.full);
    memory[b.len] = '\0';
    const char *here = strstr(__FILE__, "tests/unit/");
    char path[1024];
    snprintf(path, sizeof path, "%.*sdocs/signals.md", (int)(here - __FILE__), __FILE__);
    if (getenv("UPDATE_DOCS")) {
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        assert_int_equal(fwrite(memory, 1, b.len, f), b.len);
        fclose(f);
    }
    char *text = file_text(path);
    assert_string_equal(text, memory);
    free(text);
}

static void standard_descriptors_are_filled(void **state)
{
    (void)state;
    int saved = dup(STDIN_FILENO);
    assert_true(saved > STDERR_FILENO);
    close(STDIN_FILENO);
    bool ok = signals_standard_descriptors();
    struct stat st, null;
    int opened = fstat(STDIN_FILENO, &st);
    dup2(saved, STDIN_FILENO);
    close(saved);
    assert_true(ok);
    assert_int_equal(opened, 0);
    assert_int_equal(stat("/dev/null", &null), 0);
    assert_int_equal(st.st_rdev, null.st_rdev);
}

/* What a series is written into has room for as many labels as a metric has at most. */
static void the_most_labels_are_as_many_as_there_may_be(void **state)
{
    (void)state;
    int most = 0;
    for (int m = 0; m < METRIC_COUNT; m++) {
        int count = signal_metrics[m].labels[0] != 0;
        for (const char *at = signal_metrics[m].labels; *at; at++) count += *at == ' ';
        if (count > most) most = count;
    }
    assert_int_equal(most, METRIC_LABELS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_labels_are_as_many_as_there_may_be),
        cmocka_unit_test(sites_are_well_formed),
        cmocka_unit_test(metrics_are_well_formed),
        cmocka_unit_test(the_document_is_the_table),
        cmocka_unit_test(standard_descriptors_are_filled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
