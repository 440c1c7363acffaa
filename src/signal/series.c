#include "signal/series.h"

#include "base/hash.h"

#include <stdlib.h>

static uint32_t cells_of(enum signal_metric metric)
{
    return signal_metrics[metric].type == METRIC_HISTOGRAM ? DURATION_CELLS : 1;
}

/* ---- the place of a label set ---- */

/* Makes room for `count` of `size` bytes. False, and told to the load, if there is no memory. */
static bool grow(struct series_table *t, void **old, size_t count, size_t size)
{
    void *fresh = realloc(*old, count * size);
    if (!fresh) {
        t->no_memory = true;
        return false;
    }
    *old = fresh;
    return true;
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

/* Anew, from all series. */
static void index_fill(struct series_table *t)
{
    memset(t->index, 0, t->index_cap * sizeof *t->index);
    for (uint32_t i = 0; i < t->count; i++)
        if (t->all[i].labels) *index_slot(t, t->all[i].metric, span_of(t->all[i].labels)) = i + 1;
}

static bool index_grow(struct series_table *t, uint32_t cap)
{
    void *index = t->index;
    if (!grow(t, &index, cap, sizeof *t->index)) return false;
    t->index = index;
    t->index_cap = cap;
    index_fill(t);
    return true;
}

bool series_init(struct series_table *t, const struct signal_writer *writers, int writer_count,
                 uint32_t cells_max)
{
    *t = (struct series_table){.writers = writers,
                               .writer_count = writer_count,
                               .cells_max = cells_max,
                               .cell_next = CELL_FIXED_COUNT};
    for (int m = 0; m < METRIC_COUNT; m++) t->first[m] = t->last[m] = SERIES_NONE;
    return index_grow(t, 1024);
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

/* There is room: the stack holds as many as there are places for series. */
static void cell_give(struct series_table *t, uint32_t cell)
{
    INVARIANT(t->cells_free_count < t->cap);
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

/* Room for one more, wherever one has to be noted; so that to give a cell back never fails. */
static bool room_for_one(struct series_table *t)
{
    if (4 * (t->count + 1) > 3 * t->index_cap && !index_grow(t, 2 * t->index_cap)) return false;
    if (t->count < t->cap) return true;
    uint32_t cap = t->cap ? 2 * t->cap : 256;
    void *all = t->all, *cells_free = t->cells_free;
    bool room = grow(t, &all, cap, sizeof *t->all);
    t->all = all;
    room = room && grow(t, &cells_free, cap, sizeof *t->cells_free);
    t->cells_free = cells_free;
    if (room) t->cap = cap;
    return room;
}

static char *copy_of(struct series_table *t, struct span text)
{
    void *copy = NULL;
    if (!grow(t, &copy, text.len + 1, 1)) return NULL;
    memcpy(copy, text.data, text.len);
    ((char *)copy)[text.len] = '\0';
    return copy;
}

uint32_t series_resolve(struct series_table *t, enum signal_metric metric, uint8_t tag,
                        uint64_t version, struct span labels)
{
    if (t->no_memory) return CELL_OVERFLOW;
    INVARIANT((int)metric < SERIES_METRICS && tag < SERIES_TAGS);
    if (!room_for_one(t)) return CELL_OVERFLOW;
    uint32_t *slot = index_slot(t, (uint8_t)metric, labels);
    if (*slot) return t->all[*slot - 1].cell;
    uint64_t base;
    uint32_t cell = cells_take(t, cells_of(metric), &base);
    if (cell == CELL_OVERFLOW) {
        t->refused++;
        return cells_of(metric) == 1 ? overflow_cell(metric, tag) : CELL_OVERFLOW;
    }
    char *text = copy_of(t, labels);
    if (!text) return CELL_OVERFLOW; /* the cell is taken back with the load */
    t->all[t->count] = (struct series){.labels = text,
                                       .base = base,
                                       .version = version,
                                       .cell = cell,
                                       .metric = (uint8_t)metric,
                                       .tag = tag};
    chain_append(t, (int32_t)t->count);
    *slot = ++t->count;
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

/* ---- loads, and the versions of their plans ---- */

static void chains_fill(struct series_table *t)
{
    for (int m = 0; m < METRIC_COUNT; m++) t->first[m] = t->last[m] = SERIES_NONE;
    for (uint32_t i = 0; i < t->count; i++) chain_append(t, (int32_t)i);
}

/* Takes out every series of the version, and closes the gaps. */
static void version_forget(struct series_table *t, uint64_t id)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        struct series *s = &t->all[i];
        if (s->version == id) {
            cell_give(t, s->cell);
            free(s->labels);
            continue;
        }
        t->all[kept++] = *s;
    }
    t->count = kept;
    chains_fill(t);
    index_fill(t);
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

static struct series_version *version_find(struct series_table *t, struct span name)
{
    for (int i = 0; i < t->version_count; i++)
        if (span_is(name, t->versions[i].name)) return &t->versions[i];
    return NULL;
}

/* NULL: there is no memory. */
static struct series_version *version_add(struct series_table *t, struct span name)
{
    void *versions = t->versions;
    bool room = grow(t, &versions, (size_t)t->version_count + 1, sizeof *t->versions);
    t->versions = versions;
    if (!room) return NULL;
    struct series_version *v = &t->versions[t->version_count++];
    *v = (struct series_version){.id = t->serial};
    memcpy(v->name, name.data, name.len);
    return v;
}

struct series_load series_load_begin(struct series_table *t, struct span version)
{
    INVARIANT(version.len <= NAME_BYTES_MAX);
    t->no_memory = false;
    struct series_load load = {.serial = t->serial,
                               .refused = t->refused,
                               .count = t->count,
                               .cell_next = t->cell_next,
                               .cells_free_count = t->cells_free_count};
    t->serial++;
    struct series_version *v = version_find(t, version);
    if (!v) v = version_add(t, version);
    if (!v) return load;
    load.version = v->id;
    load.version_serial = v->serial;
    v->serial = t->serial;
    v->plans++;
    return load;
}

/* Cells that were taken off the stack still lie on it, and what lies on it is only given in
 * versions_prune: so to go back is to set back. */
static void load_undo(struct series_table *t, const struct series_load *load)
{
    for (uint32_t i = load->count; i < t->count; i++) free(t->all[i].labels);
    t->count = load->count;
    t->cell_next = load->cell_next;
    t->cells_free_count = load->cells_free_count;
    t->serial = load->serial;
    t->refused = load->refused;
    chains_fill(t);
    index_fill(t);
    for (int i = 0; i < t->version_count; i++) {
        struct series_version *v = &t->versions[i];
        if (v->id != load->version) continue;
        v->plans--;
        v->serial = load->version_serial;
        if (!v->serial) *v = t->versions[--t->version_count];
        break;
    }
}

bool series_load_end(struct series_table *t, const struct series_load *load)
{
    if (t->no_memory)
        load_undo(t, load);
    else
        versions_prune(t);
    return !t->no_memory;
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
