/* record: one firing of a log site, as bytes that refer to nothing.
 *
 * A head, and then fields: each an id, the number of its bytes, bytes, no alignment. Names are
 * copied, so the plan and the request that they came from may be gone when the scribe reads it.
 * What does not fit is left out, from the first field that is too long on, and `cut` says so.
 *
 * Private to the room. Threads: values. */
#ifndef INTERLUDE_SIGNAL_RECORD_H
#define INTERLUDE_SIGNAL_RECORD_H

#include "table/signal_table.h"

/* Enough for a request's ids and names and all actions at their longest, and a long refusal. */
enum { RECORD_BYTES_MAX = 1792, RECORD_HEAD_BYTES = 24 };

struct record {
    int64_t wall_us;
    uint16_t bytes; /* of all of it */
    uint8_t site;
    bool cut;
    bool reserved; /* it lies in its site's reserve, not in the pool */
    char fields[RECORD_BYTES_MAX - RECORD_HEAD_BYTES];
};

/* Names in a table of structs: those at the places whose bit is set, in the table's order. */
struct names {
    const struct span *first; /* at place 0; the next is `stride` bytes on */
    size_t stride;
    uint64_t places;
    bool cut; /* others are left out already, or some are shortened: the record then says so */
};

void record_init(struct record *r, enum signal_site site, int64_t wall_us);

/* One for each kind of field; signal_table.h tells what each leaves out. They are called by emit.h,
 * which knows what fields a site has. */
void record_text(struct record *r, enum signal_field_id field, struct span text);
void record_number(struct record *r, enum signal_field_id field, int64_t number);
void record_place(struct record *r, enum signal_field_id field, int64_t place);
void record_counts(struct record *r, enum signal_field_id field, const uint64_t counts[SITE_COUNT]);
void record_flag(struct record *r, enum signal_field_id field, bool flag);
void record_names(struct record *r, enum signal_field_id field, const struct names *names);
static inline void record_list(struct record *r, enum signal_field_id field, struct names names)
{
    if (names.places) record_names(r, field, &names); /* mostly there are none */
}

/* Reading. Begin with at = 0; false at the end. */
struct record_field {
    enum signal_field_id id;
    struct span bytes; /* of a text: itself; of others: to be read with what follows */
};

bool record_field_next(const struct record *r, size_t *at, struct record_field *out);
int64_t record_number_read(struct span number);
bool record_entry_next(struct span *list, struct span *entry);
bool record_count_next(struct span *counts, enum signal_site *site, uint64_t *count);

#endif
