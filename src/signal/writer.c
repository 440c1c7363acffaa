/* How a noisy site cannot starve a rare one.
 *
 * A ring is divided, in the books alone, into a pool that all sites share and, for each site, a
 * reserve of SITE_RESERVE_RECORDS records of the greatest length. A record goes to the pool's
 * account while the pool has room, else to its site's reserve, else it is dropped. Which account it
 * was is a bit in the record, so that the scribe credits the same one when it has read it. Pool and
 * reserves together, and one frame for what the ring skips at its end, are the ring's size: a
 * record that an account admits always finds room in the ring. */
#include "signal/writer.h"

enum { RECORD_FRAME_MAX = (RECORD_BYTES_MAX + 8 + 7) & ~7 };

size_t writer_pool_bytes(size_t ring_bytes)
{
    size_t reserves = (size_t)SITE_SCRIBE_FIRST * SITE_RESERVE_RECORDS * RECORD_FRAME_MAX;
    INVARIANT(ring_bytes > reserves + 2 * RECORD_FRAME_MAX);
    return ring_bytes - reserves - RECORD_FRAME_MAX;
}

void writer_init(struct signal_writer *writer, void *ring_memory, size_t ring_bytes,
                 _Atomic uint64_t *cells, uint32_t cells_max, const struct signal_shared *shared)
{
    *writer = (struct signal_writer){.cells = cells, .cells_max = cells_max, .shared = shared};
    ring_init(&writer->ring, ring_memory, ring_bytes);
}

bool writer_fire(struct signal_writer *writer, enum signal_site site)
{
    cell_add(&writer->fired[site], 1);
    if (!atomic_load_explicit(&writer->shared->closed[site], memory_order_relaxed)) return true;
    cell_add_release(&writer->suppressed[site], 1);
    return false;
}

void writer_outrank(struct signal_writer *writer, enum signal_site site)
{
    cell_add(&writer->fired[site], 1);
    cell_add_release(&writer->outranked[site], 1);
}

static bool pool_admits(struct signal_writer *w, size_t frame)
{
    size_t pool = writer_pool_bytes(w->ring.cap);
    if (w->pool_placed - w->pool_freed_seen + frame <= pool) return true;
    w->pool_freed_seen = atomic_load_explicit(&w->pool_freed, memory_order_acquire);
    return w->pool_placed - w->pool_freed_seen + frame <= pool;
}

static bool reserve_admits(struct signal_writer *w, int site)
{
    uint64_t *seen = &w->reserve_freed_seen[site];
    if (w->reserve_placed[site] - *seen < SITE_RESERVE_RECORDS) return true;
    *seen = atomic_load_explicit(&w->reserve_freed[site], memory_order_acquire);
    return w->reserve_placed[site] - *seen < SITE_RESERVE_RECORDS;
}

void writer_place(struct signal_writer *writer, const struct record *record)
{
    size_t frame = ring_frame_bytes(record->bytes);
    bool pool = pool_admits(writer, frame);
    if (!pool && !reserve_admits(writer, record->site)) {
        cell_add_release(&writer->dropped[record->site], 1);
        return;
    }
    struct record *at = ring_reserve(&writer->ring, record->bytes);
    INVARIANT(at);
    memcpy(at, record, record->bytes);
    at->reserved = !pool;
    ring_commit(&writer->ring, record->bytes);
    if (pool)
        writer->pool_placed += frame;
    else
        writer->reserve_placed[record->site]++;
}

void writer_release(struct signal_writer *writer, const struct record *record)
{
    size_t frame = ring_frame_bytes(record->bytes);
    bool reserved = record->reserved;
    int site = record->site;
    /* The ring first: whoever sees the credit must find the room. */
    ring_release(&writer->ring);
    if (reserved)
        cell_add_release(&writer->reserve_freed[site], 1);
    else
        cell_add_release(&writer->pool_freed, frame);
}
