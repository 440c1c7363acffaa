/* record: one firing of a log site, as bytes that refer to nothing.
 *
 * A head, and then fields: each an id, a kind's own bytes, no alignment. Names are copied, so the
 * plan and the request that they came from may be gone when the scribe reads it. What does not fit
 * is left out, from the first field that is too long on, and `cut` says so.
 *
 * Private to the room. Threads: values. */
#ifndef INTERLUDE_SIGNAL_RECORD_H
#define INTERLUDE_SIGNAL_RECORD_H

#include "signal/table.h"

/* Enough for a request's ids and names and all actions at their longest, and a long refusal. */
enum { RECORD_BYTES_MAX = 1792, RECORD_HEAD_BYTES = 24 };

struct record {
    int64_t wall_us;
    uint16_t bytes; /* of all of it */
    uint8_t site;
    bool cut;
    bool reserved; /* it lies in its site's reserve, not in the pool */
    uint16_t list; /* while a list is being written: where its number of entries stands */
    char fields[RECORD_BYTES_MAX - RECORD_HEAD_BYTES];
};

void record_init(struct record *r, enum signal_site site, int64_t wall_us);
/* An empty text, an empty list, is left out. */
void record_text(struct record *r, enum signal_field_id field, struct span text);
void record_number(struct record *r, enum signal_field_id field, int64_t number);
void record_flag(struct record *r, enum signal_field_id field);
/* A list: begin, any number of entries, end. */
void record_list_begin(struct record *r, enum signal_field_id field);
void record_list_add(struct record *r, struct span text);
void record_list_end(struct record *r);

/* Reading. Begin with at = 0; false at the end. */
struct record_field {
    enum signal_field_id id;
    int64_t number;
    int entries;       /* of a list: their number */
    struct span bytes; /* of a text: itself; of a list: to be read with record_entry_next */
};

bool record_field_next(const struct record *r, size_t *at, struct record_field *out);
bool record_entry_next(struct span *list, struct span *entry);

#endif
