/* line: one log line, JSON. Never longer than LINE_BYTES_MAX with its newline; what does not fit is
 * left out, the line is valid JSON all the same, and has "cut": true. Private to the room.
 * Threads: one at a time. Nothing allocates. */
#ifndef INTERLUDE_SIGNAL_LINE_H
#define INTERLUDE_SIGNAL_LINE_H

#include "base/buf.h"
#include "signal/record.h"

enum { LINE_BYTES_MAX = 4096 };

struct line {
    struct buf text;
    bool cut;
};

/* `memory` holds LINE_BYTES_MAX bytes. Then fields, in the table's order; then line_end, which
 * returns the line's length, newline included. */
void line_begin(struct line *l, char *memory, enum signal_site site, int64_t wall_us);
void line_text(struct line *l, enum signal_field_id field, struct span text);
void line_number(struct line *l, enum signal_field_id field, int64_t number);
/* An object from site to count, without those that are 0; all 0: left out. */
void line_counts(struct line *l, enum signal_field_id field, const uint64_t counts[SITE_COUNT]);
size_t line_end(struct line *l);

/* A record as a line; returns its length. */
size_t line_render(char *memory, const struct record *record);

#endif
