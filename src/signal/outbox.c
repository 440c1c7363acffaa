#include "signal/outbox.h"

#include "signal/writer.h"

#include <limits.h>

void outbox_init(struct outbox *o)
{
    o->start = o->end = o->begun = 0;
    o->first = o->count = 0;
}

static char *room_within(struct outbox *o, int lines_max, size_t bytes_max)
{
    if (o->count >= lines_max) return NULL;
    if (o->end + LINE_BYTES_MAX > bytes_max && o->start > 0) {
        memmove(o->data, o->data + o->start, o->end - o->start);
        o->end -= o->start;
        o->start = 0;
    }
    return o->end + LINE_BYTES_MAX > bytes_max ? NULL : o->data + o->end;
}

char *outbox_room(struct outbox *o)
{
    return room_within(o, OUTBOX_LINES - OUTBOX_OWN_LINES, OUTBOX_RECORD_BYTES);
}

char *outbox_own_room(struct outbox *o)
{
    return room_within(o, OUTBOX_LINES, OUTBOX_BYTES);
}

static void line_add(struct outbox *o, enum signal_site site, size_t bytes, bool drill)
{
    INVARIANT(o->count < OUTBOX_LINES && bytes <= LINE_BYTES_MAX);
    int last = (o->first + o->count++) % OUTBOX_LINES;
    o->lines[last].bytes = (uint16_t)bytes;
    o->lines[last].site = (uint8_t)site;
    o->lines[last].drill = drill;
    o->end += bytes;
}

void outbox_add(struct outbox *o, enum signal_site site, size_t bytes)
{
    line_add(o, site, bytes, false);
}

void outbox_add_drill(struct outbox *o, enum signal_site site, size_t bytes)
{
    line_add(o, site, bytes, true);
}

/* Takes the first line out; its outcome is the caller's. */
static enum signal_site line_pop(struct outbox *o)
{
    enum signal_site site = (enum signal_site)o->lines[o->first].site;
    o->start += o->lines[o->first].bytes;
    o->first = (o->first + 1) % OUTBOX_LINES;
    o->begun = 0;
    if (--o->count == 0) o->start = o->end = 0;
    return site;
}

void outbox_lose(struct outbox *o, enum signal_site site, enum signal_loss loss)
{
    cell_add_release(&o->lost[loss], 1);
    cell_add_release(&o->dropped[site], 1);
}

void outbox_lose_all(struct outbox *o, enum signal_loss loss)
{
    o->sink.mid_line |= o->begun > 0;
    while (o->count) {
        bool drill = o->lines[o->first].drill;
        enum signal_site site = line_pop(o);
        outbox_lose(o, site, loss);
        if (drill) cell_add_release(&o->drills_dropped[site], 1);
    }
}

uint64_t outbox_ended(const struct outbox *o, enum signal_site site)
{
    return cell_load(&o->written[site]) + cell_load(&o->dropped[site]);
}

bool outbox_reopen(struct outbox *o)
{
    bool before = o->sink.mid_line;
    o->sink.mid_line |= o->begun > 0;
    if (sink_reopen(&o->sink)) {
        o->begun = 0;
        return true;
    }
    o->sink.mid_line = before;
    return false;
}

_Static_assert((int)LINE_BYTES_MAX <= (int)PIPE_BUF, "one line is never more than one write");

/* The bytes of as many whole lines as one write may have; at least the rest of the first. */
static size_t batch_bytes(const struct outbox *o)
{
    size_t bytes = o->lines[o->first].bytes - o->begun;
    for (int i = 1; i < o->count; i++) {
        size_t next = o->lines[(o->first + i) % OUTBOX_LINES].bytes;
        if (bytes + next > o->sink.batch_max) break;
        bytes += next;
    }
    return bytes;
}

static void taken(struct outbox *o, size_t bytes)
{
    while (bytes) {
        size_t rest = o->lines[o->first].bytes - o->begun;
        if (bytes < rest) {
            o->begun += bytes;
            return;
        }
        bytes -= rest;
        size_t line = o->lines[o->first].bytes;
        bool drill = o->lines[o->first].drill;
        enum signal_site site = line_pop(o);
        cell_add(&o->bytes[site], line);
        cell_add_release(&o->written[site], 1);
        if (drill) cell_add_release(&o->drills_written[site], 1);
    }
}

enum sink_result outbox_flush(struct outbox *o)
{
    while (o->count) {
        size_t done = 0;
        enum sink_result result = sink_ready(&o->sink);
        bool newline = o->sink.mid_line;
        if (result == SINK_OK)
            result = newline ? sink_write(&o->sink, "\n", 1, &done)
                             : sink_write(&o->sink, o->data + o->start + o->begun, batch_bytes(o),
                                          &done);
        if (result == SINK_BUSY) return result;
        if (result != SINK_OK) {
            outbox_lose_all(o, result == SINK_FULL ? LOSS_DISK_FULL : LOSS_SINK_GONE);
            return result;
        }
        if (newline)
            o->sink.mid_line = false;
        else
            taken(o, done);
    }
    return SINK_OK;
}
