/* outbox: rendered lines on their way to the sink, and what became of each.
 *
 * A line is written once the kernel has taken it whole. One that was taken in part when the sink
 * failed is lost, and the next write begins with a newline, so that whatever reads the sink finds
 * every other line whole.
 *
 * What the scribe has to tell itself must not wait until records leave room for it, which under a
 * reader that is too slow they never do. So records may not have the last OUTBOX_OWN_LINES lines.
 *
 * Private to the room. Threads: the scribe alone; the counts may be read by any. */
#ifndef INTERLUDE_SIGNAL_OUTBOX_H
#define INTERLUDE_SIGNAL_OUTBOX_H

#include "signal/line.h"
#include "signal/sink.h"

#include <stdatomic.h>

enum {
    OUTBOX_OWN_LINES = 4,
    OUTBOX_LINES = 1024,
    OUTBOX_RECORD_BYTES = 64 * 1024,
    OUTBOX_BYTES = OUTBOX_RECORD_BYTES + OUTBOX_OWN_LINES * LINE_BYTES_MAX,
};

struct outbox {
    struct sink sink;
    size_t start, end; /* of what is in `data` */
    int first, count;  /* lines, in a circle */
    size_t begun;      /* bytes of the first line that were taken already */
    struct {
        uint16_t bytes;
        uint8_t site;
        bool drill;
    } lines[OUTBOX_LINES];
    char data[OUTBOX_BYTES];

    _Alignas(64) _Atomic uint64_t written[SITE_COUNT];
    _Atomic uint64_t bytes[SITE_COUNT];   /* of the lines written */
    _Atomic uint64_t dropped[SITE_COUNT]; /* for any reason below */
    _Atomic uint64_t lost[LOSS_COUNT];    /* the same records, by reason */
    /* Of those above, the lines of drills. */
    _Atomic uint64_t drills_written[SITE_COUNT], drills_dropped[SITE_COUNT];
};

void outbox_init(struct outbox *o);

/* LINE_BYTES_MAX bytes to render a record's line in, or a line of the scribe's own; NULL if there
 * is no room. */
char *outbox_room(struct outbox *o);
char *outbox_own_room(struct outbox *o);

/* The line that was rendered in that memory. */
void outbox_add(struct outbox *o, enum signal_site site, size_t bytes);

/* The same, of a drill. */
void outbox_add_drill(struct outbox *o, enum signal_site site, size_t bytes);

/* Writes what the sink takes. Ends with SINK_OK: all of it; SINK_BUSY: the rest waits; otherwise
 * the rest is lost. */
enum sink_result outbox_flush(struct outbox *o);

/* Counts a record that never became a line, or every line, as lost. */
void outbox_lose(struct outbox *o, enum signal_site site, enum signal_loss loss);
void outbox_lose_all(struct outbox *o, enum signal_loss loss);

/* What became of the site's lines: so many that were added have an end, written or dropped. */
uint64_t outbox_ended(const struct outbox *o, enum signal_site site);

/* As sink_reopen. A line that was begun before is then written whole. */
bool outbox_reopen(struct outbox *o);

#endif
