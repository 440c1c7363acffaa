/* line: one log line, JSON. Never longer than LINE_BYTES_MAX with its newline; what does not fit is
 * left out, the line is valid JSON all the same, and has "cut": true. Private to the room.
 * Threads: one at a time. Nothing allocates. */
#ifndef INTERLUDE_SIGNAL_LINE_H
#define INTERLUDE_SIGNAL_LINE_H

#include "signal/record.h"

enum { LINE_BYTES_MAX = 4096 };

/* A record as a line. `memory` holds LINE_BYTES_MAX bytes. Returns the line's length, newline
 * included. */
size_t line_render(char *memory, const struct record *record);

#endif
