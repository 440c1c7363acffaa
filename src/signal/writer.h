/* writer: what one thread counts in, and the ring that its records go through.
 *
 * Private to the room. Every word here has one writer: the thread that owns the signal_writer, or
 * the scribe, which has its own cache lines. So a count is a load and a store, never a locked
 * instruction, and a thread that only looks (the scrape) disturbs nobody but by the line it reads.
 *
 * Order. A site's `fired` is stored before the record is placed or refused, and every outcome is
 * stored with release after it. Who reads all outcomes (acquire) before `fired` therefore never
 * sees more outcomes than firings: see account.c. */
#ifndef INTERLUDE_SIGNAL_WRITER_H
#define INTERLUDE_SIGNAL_WRITER_H

#include "base/ring.h"
#include "signal/record.h"
#include "signal/signals.h"

/* A plan's names resolve in the metrics that come first in the table, and a series' tag (series.h)
 * is below this. */
enum { SERIES_METRICS = METRIC_REQUEST_DURATION + 1, SERIES_TAGS = 32 };

/* Cells that no plan resolves. The overflow cells take what has no series of its own; there is one
 * for each metric and tag, so that sums over series stay right. CELL_OVERFLOW itself takes the
 * durations, and what a plan cannot have. */
enum {
    CELL_OVERFLOW,
    CELL_OVERFLOWS, /* [SERIES_METRICS][SERIES_TAGS] */
    CELL_COUNTERS = CELL_OVERFLOWS + SERIES_METRICS * SERIES_TAGS,
    CELL_HTTP = CELL_COUNTERS + SIGNAL_COUNTER_COUNT, /* one for each status from 100 to 599 */
    CELL_AGE_JUDGED = CELL_HTTP + 500, /* decisions in which posteriors could have been stale */
    CELL_DRILLS,                       /* by site: its opportunities in drills */
    CELL_DRILLS_FIRED = CELL_DRILLS + SITE_COUNT,         /* by site */
    CELL_DRILLS_DROPPED = CELL_DRILLS_FIRED + SITE_COUNT, /* by site; what the writer decides */
    CELL_DRILLS_SUPPRESSED = CELL_DRILLS_DROPPED + SITE_COUNT,
    CELL_DRILLS_OUTRANKED = CELL_DRILLS_SUPPRESSED + SITE_COUNT,
    CELL_STAGE_NS = CELL_DRILLS_OUTRANKED + SITE_COUNT, /* by stage */
    CELL_STAGE_SAMPLES = CELL_STAGE_NS + STAGE_COUNT,
    CELL_FIXED_COUNT = CELL_STAGE_SAMPLES + STAGE_COUNT,
};

/* What each site's records may always take in a ring, whatever the other sites do. */
enum { SITE_RESERVE_RECORDS = 4 };

/* What the scribe tells all writers: read by them, written only by it, and only when it changes. */
struct signal_shared {
    /* The site's budget is used up: a record would only be suppressed. The writer then counts it as
     * suppressed and spares the ring and the copy. Old news errs by a turn of the scribe. */
    _Alignas(64) _Atomic bool closed[SITE_COUNT];
};

struct signal_writer {
    _Alignas(64) _Atomic uint64_t *cells;
    uint32_t cells_max;
    const struct signal_shared *shared;
    struct ring ring;

    /* By site; the owner's. */
    _Alignas(64) _Atomic uint64_t fired[SITE_COUNT];
    _Atomic uint64_t dropped[SITE_COUNT];    /* the ring was full */
    _Atomic uint64_t suppressed[SITE_COUNT]; /* the site was closed */
    _Atomic uint64_t outranked[SITE_COUNT];
    /* Placed since the start: bytes in the pool, records in each site's reserve. Beside them, the
     * last look at what the scribe gave back; an old one only makes the ring seem fuller. */
    uint64_t pool_placed, pool_freed_seen;
    uint64_t reserve_placed[SITE_COUNT], reserve_freed_seen[SITE_COUNT];

    /* The scribe's. */
    _Alignas(64) _Atomic uint64_t pool_freed;
    _Atomic uint64_t reserve_freed[SITE_COUNT];
};

static inline uint64_t cell_load(const _Atomic uint64_t *cell)
{
    return atomic_load_explicit(cell, memory_order_relaxed);
}

/* For the one thread that writes `cell`. */
static inline void cell_add(_Atomic uint64_t *cell, uint64_t n)
{
    atomic_store_explicit(cell, cell_load(cell) + n, memory_order_relaxed);
}

/* The same, for an outcome: what was stored before is seen by whoever sees this. */
static inline void cell_add_release(_Atomic uint64_t *cell, uint64_t n)
{
    atomic_store_explicit(cell, cell_load(cell) + n, memory_order_release);
}

static inline void signal_add(struct signal_writer *writer, uint32_t cell, uint64_t n)
{
    cell_add(&writer->cells[cell], n);
}

/* The bytes of a ring that all sites share: what the reserves, and one frame for skipping, leave.
 */
size_t writer_pool_bytes(size_t ring_bytes);

void writer_init(struct signal_writer *writer, void *ring_memory, size_t ring_bytes,
                 _Atomic uint64_t *cells, uint32_t cells_max, const struct signal_shared *shared);

/* Counts a firing of `site`. True: the caller now makes the record, in writer_place's memory. */
bool writer_fire(struct signal_writer *writer, enum signal_site site);

/* A firing that a graver one of the same request outranks. */
void writer_outrank(struct signal_writer *writer, enum signal_site site);

/* Copies the record into the ring, or counts it as dropped. */
void writer_place(struct signal_writer *writer, const struct record *record);

/* The scribe's: gives back what the record of `bytes` bytes took. */
void writer_release(struct signal_writer *writer, const struct record *record);

#endif
