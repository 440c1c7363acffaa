#include "signal/series.h"

#include "base/hash.h"

#include <stdlib.h>

static uint32_t cells_of(enum signal_metric metric)
{
    return signal_metrics[metric].type == METRIC_HISTOGRAM ? DURATION_CELLS : 1;
}

/* ---- the place of a label set ---- */

static void *grow(void *old, size_t count, size_t size)
{
    void *fresh = realloc(old, count * size);
    INVARIANT(fresh);
    return fresh;
}

/* The slot of the label set in the index, or the free one where it belongs. */
static uint32_t *index_slot(const struct series_table *t, uint8_t metric, struct span labels)
{
    uint32_t at = hash_murmur3_32(labels, metric);
    for (;; at++) {
        uint32_t *slot = &t->index[at & (t->index_cap - 1)];
        if (!*slot) return slot;
        const struct series *s = &t->all[*slot - 1];
        if (s->metric == metric && span_is(labels, s->labels)) return slot;
    }
}

static void index_build(struct series_table *t, uint32_t cap)
{
    free(t->index);
    t->index = calloc(cap, sizeof *t->index);
    INVARIANT(t->index);
    t->index_cap = cap;
    for (uint32_t i = 0; i < t->count; i++)
        if (t->all[i].labels) *index_slot(t, t->all[i].metric, span_of(t->all[i].labels)) = i + 1;
}

void series_init(struct series_table *t, const struct signal_writer *writers, int writer_count,
                 uint32_t cells_max)
{
    *t = (struct series_table){.writers = writers,
                               .writer_count = writer_count,
                               .cells_max = cells_max,
                               .cell_next = CELL_FIXED_COUNT};
    for (int m = 0; m < METRIC_COUNT; m++) t->first[m] = t->last[m] = SERIES_NONE;
    index_build(t, 1024);
}

void series_done(struct series_table *t)
{
    for (uint32_t i = 0; i < t->count; i++) free(t->all[i].labels);
    free(t->all);
    free(t->index);
    free(t->cells_free);
    free(t->versions);
}

/* ---- cells ---- */

uint64_t series_cell(const struct series_table *t, uint32_t cell)
{
    uint64_t sum = 0;
    for (int i = 0; i < t->writer_count; i++) sum += cell_load(&t->writers[i].cells[cell]);
    return sum;
}

uint32_t series_cells(const struct series_table *t)
{
    return t->cell_next - CELL_FIXED_COUNT - t->cells_free_count;
}

static uint32_t overflow_cell(enum signal_metric metric, int tag)
{
    return (uint32_t)(CELL_OVERFLOWS + (int)metric * SERIES_TAGS + tag);
}

uint64_t series_overflow(const struct series_table *t)
{
    uint64_t sum = series_cell(t, CELL_OVERFLOW);
    for (int m = 0; m < SERIES_METRICS; m++) {
        /* Amounts, not counts. Whoever has no series for them has none for its decisions either:
         * its variant's `state` is resolved after them. */
        if (m == METRIC_COVERED_SECONDS || m == METRIC_ADS_DECIDED) continue;
        for (int tag = 0; tag < SERIES_TAGS; tag++)
            sum += series_cell(t, overflow_cell((enum signal_metric)m, tag));
    }
    return sum;
}

/* CELL_OVERFLOW if there is none left. *base: what a cell that is given out again holds. */
static uint32_t cells_take(struct series_table *t, uint32_t n, uint64_t *base)
{
    *base = 0;
    if (n == 1 && t->cells_free_count) {
        uint32_t cell = t->cells_free[--t->cells_free_count];
        *base = series_cell(t, cell);
        return cell;
    }
    if (n > t->cells_max - t->cell_next) return CELL_OVERFLOW;
    t->cell_next += n;
    return t->cell_next - n;
}

static void cell_give(struct series_table *t, uint32_t cell)
{
    if (t->cells_free_count == t->cells_free_cap) {
        t->cells_free_cap = t->cells_free_cap ? 2 * t->cells_free_cap : 256;
        t->cells_free = grow(t->cells_free, t->cells_free_cap, sizeof *t->cells_free);
    }
    t->cells_free[t->cells_free_count++] = cell;
}

/* ---- series ---- */

static void chain_append(struct series_table *t, int32_t place)
{
    struct series *s = &t->all[place];
    s->next = SERIES_NONE;
    if (t->last[s->metric] == SERIES_NONE)
        t->first[s->metric] = place;
    else
        t->all[t->last[s->metric]].next = place;
    t->last[s->metric] = place;
}

uint32_t series_resolve(struct series_table *t, enum signal_metric metric, uint8_t tag,
                        uint64_t version, struct span labels)
{
    uint32_t *slot = index_slot(t, (uint8_t)metric, labels);
    if (*slot) return t->all[*slot - 1].cell;
    INVARIANT((int)metric < SERIES_METRICS && tag < SERIES_TAGS);
    uint64_t base;
    uint32_t cell = cells_take(t, cells_of(metric), &base);
    if (cell == CELL_OVERFLOW) {
        t->refused++;
        return cells_of(metric) == 1 ? overflow_cell(metric, tag) : CELL_OVERFLOW;
    }
    if (t->count == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 256;
        t->all = grow(t->all, t->cap, sizeof *t->all);
    }
    char *text = malloc(labels.len + 1);
    INVARIANT(text);
    memcpy(text, labels.data, labels.len);
    text[labels.len] = '\0';
    t->all[t->count] = (struct series){.labels = text,
                                       .base = base,
                                       .version = version,
                                       .cell = cell,
                                       .metric = (uint8_t)metric,
                                       .tag = tag};
    chain_append(t, (int32_t)t->count);
    *slot = ++t->count;
    if (4 * (t->count + 1) > 3 * t->index_cap) index_build(t, 2 * t->index_cap);
    return cell;
}

uint64_t series_value(const struct series_table *t, const struct series *s, uint32_t offset)
{
    return series_cell(t, s->cell + offset) - s->base;
}

uint64_t series_sum(const struct series_table *t, enum signal_metric metric, int tag_min,
                    int tag_max)
{
    uint64_t sum = 0;
    for (int32_t i = t->first[metric]; i != SERIES_NONE; i = t->all[i].next)
        if (t->all[i].tag >= tag_min && t->all[i].tag <= tag_max)
            sum += series_value(t, &t->all[i], 0);
    for (int tag = tag_min; tag <= tag_max && tag < SERIES_TAGS; tag++)
        sum += series_cell(t, overflow_cell(metric, tag));
    return sum;
}

/* ---- versions ---- */

/* Takes out every series of the version, and closes the gaps. */
static void version_forget(struct series_table *t, uint64_t id)
{
    uint32_t kept = 0;
    for (int m = 0; m < METRIC_COUNT; m++) t->first[m] = t->last[m] = SERIES_NONE;
    for (uint32_t i = 0; i < t->count; i++) {
        struct series *s = &t->all[i];
        if (s->version == id) {
            cell_give(t, s->cell);
            free(s->labels);
            continue;
        }
        t->all[kept] = *s;
        chain_append(t, (int32_t)kept++);
    }
    t->count = kept;
    index_build(t, t->index_cap);
}

static void versions_prune(struct series_table *t)
{
    for (int i = 0; i < t->version_count;) {
        struct series_version *v = &t->versions[i];
        int later = 0;
        for (int k = 0; k < t->version_count; k++) later += t->versions[k].serial > v->serial;
        if (v->plans > 0 || later < SERIES_VERSIONS_KEPT) {
            i++;
            continue;
        }
        version_forget(t, v->id);
        *v = t->versions[--t->version_count];
    }
}

uint64_t series_version_load(struct series_table *t, struct span name)
{
    INVARIANT(name.len <= NAME_BYTES_MAX);
    struct series_version *v = NULL;
    for (int i = 0; i < t->version_count; i++)
        if (span_is(name, t->versions[i].name)) v = &t->versions[i];
    uint64_t serial = ++t->serial;
    if (!v) {
        t->versions = grow(t->versions, (size_t)t->version_count + 1, sizeof *t->versions);
        v = &t->versions[t->version_count++];
        *v = (struct series_version){.id = serial};
        memcpy(v->name, name.data, name.len);
    }
    v->serial = serial;
    v->plans++;
    uint64_t id = v->id;
    versions_prune(t);
    return id;
}

void series_version_retire(struct series_table *t, uint64_t id)
{
    for (int i = 0; i < t->version_count; i++)
        if (t->versions[i].id == id) t->versions[i].plans--;
    versions_prune(t);
}

/* ---- durations ---- */

#define DECADE(ns)                                                                      \
    100 * (ns), 125 * (ns), 160 * (ns), 200 * (ns), 250 * (ns), 320 * (ns), 400 * (ns), \
        500 * (ns), 630 * (ns), 800 * (ns)

static const uint64_t bounds_ns[DURATION_BOUNDS] = {
    DECADE(100ull), DECADE(1000ull), DECADE(10000ull), DECADE(100000ull), DECADE(1000000ull),
    1000000000,     1250000000,      1600000000,       2000000000};

uint64_t duration_bound_ns(int bucket)
{
    return bounds_ns[bucket];
}

int duration_bucket(uint64_t ns)
{
    int low = 0, high = DURATION_BOUNDS;
    while (low < high) {
        int middle = (low + high) / 2;
        if (ns <= bounds_ns[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
