/* series: which label set counts in which cell.
 *
 * A label set keeps its cell for the life of the process: a reload that has it again gets the same
 * number back, so no counter ever goes back. Only label sets with a plan's version in them are
 * given up, once four later versions were loaded and the last plan of that version is retired; such
 * a cell is given out again, and what it held is then its series' base, which is taken off.
 *
 * Beyond the limit a label set has no cell of its own; what belongs there goes to its metric's and
 * tag's overflow cell. Only sums by label are wrong then.
 *
 * All of a plan's label sets find their places, or none does: where there is no memory on the way,
 * series_load_end takes back what was given out since series_load_begin, and nothing has changed.
 *
 * Private to the room. Threads: under the lock of `struct signals`. No writer ever reads this. */
#ifndef INTERLUDE_SIGNAL_SERIES_H
#define INTERLUDE_SIGNAL_SERIES_H

#include "signal/writer.h"

enum {
    SERIES_VERSIONS_KEPT = 4,
    SERIES_LABEL_NAME_MAX = 16,
    /* A value may be all of what is escaped. */
    SERIES_LABELS_BYTES_MAX =
        METRIC_LABELS_MAX * (SERIES_LABEL_NAME_MAX + (int)sizeof "=\"\"," + 2 * NAME_BYTES_MAX),
    SERIES_NONE = -1,
};

/* Buckets at 1 1.25 1.6 2 2.5 3.2 4 5 6.3 8 a decade, from 10 us to 2 s, and one above; then the
 * sum, in ns. */
enum { DURATION_BOUNDS = 54, DURATION_SUM = DURATION_BOUNDS + 1, DURATION_CELLS };

struct series {
    char *labels; /* as they are scraped: `variant="a",action="b"` */
    uint64_t base;
    uint64_t version; /* serial of the version in its labels; 0: none */
    uint32_t cell;
    int32_t next; /* of the same metric; SERIES_NONE at the end */
    uint8_t metric;
    uint8_t tag; /* which of a closed list one label is: what opportunities are told by */
};

struct series_version {
    char name[NAME_BYTES_MAX + 1];
    uint64_t serial; /* of its latest load */
    uint64_t id;
    int plans; /* loaded and not yet retired */
};

struct series_table {
    const struct signal_writer *writers; /* for bases */
    int writer_count;
    uint32_t cells_max, cell_next;
    uint32_t *cells_free;
    uint32_t cells_free_count, cells_free_cap;
    struct series *all; /* holes have labels NULL */
    uint32_t count, cap, live;
    uint32_t *index; /* place in `all` + 1; 0: free; open addressing */
    uint32_t index_cap;
    int32_t first[METRIC_COUNT], last[METRIC_COUNT];
    struct series_version *versions;
    int version_count;
    uint64_t serial;
    uint64_t refused; /* label sets that found no cell, at all loads together */
    bool no_memory;   /* in the load that is under way */
};

/* False if there is no memory. */
bool series_init(struct series_table *t, const struct signal_writer *writers, int writer_count,
                 uint32_t cells_max) MUST_CHECK;
void series_done(struct series_table *t);

/* Where the table stood before a load. */
struct series_load {
    uint64_t version;        /* the id of its plan's */
    uint64_t version_serial; /* of the version's load before; 0: this is its first */
    uint64_t serial, refused;
    uint32_t count, cell_next, cells_free_count;
};

/* A plan of this version is loaded: series_resolve gives its label sets their places, then
 * series_load_end ends the load. False: there was no memory for all of it, and the table tells and
 * counts as before the load. */
struct series_load series_load_begin(struct series_table *t, struct span version);
bool series_load_end(struct series_table *t, const struct series_load *load) MUST_CHECK;

/* The first cell of the label set, as many as its metric's series have. If there are none left: the
 * overflow cell of a counter, CELL_OVERFLOW for a histogram. `version`: that in its labels, or 0.
 * Between series_load_begin and series_load_end. */
uint32_t series_resolve(struct series_table *t, enum signal_metric metric, uint8_t tag,
                        uint64_t version, struct span labels);

/* A plan of this version, whose load ended well, is retired. */
void series_version_retire(struct series_table *t, uint64_t id);

/* Of all writers together, base taken off. `offset`: which of the series' cells. */
uint64_t series_value(const struct series_table *t, const struct series *s, uint32_t offset);

/* Over all series of the metric whose tag is at least `tag_min` and at most `tag_max`, and what has
 * none of its own. */
uint64_t series_sum(const struct series_table *t, enum signal_metric metric, int tag_min,
                    int tag_max);

/* One cell of all writers together. */
uint64_t series_cell(const struct series_table *t, uint32_t cell);

/* The counts that have no series of their own; an increment of what is not counted one by one, such
 * as seconds, is none. */
uint64_t series_overflow(const struct series_table *t);

/* Cells in use beside the fixed ones. */
uint32_t series_cells(const struct series_table *t);

/* The index of the bucket a duration falls in; and a bucket's upper bound in ns. */
int duration_bucket(uint64_t ns);
uint64_t duration_bound_ns(int bucket);

#endif
