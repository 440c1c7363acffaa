#include "signal/record.h"

_Static_assert(offsetof(struct record, fields) <= RECORD_HEAD_BYTES, "the head fits");
_Static_assert(sizeof(struct record) <= RECORD_BYTES_MAX, "a record is no longer than its limit");

enum { TEXT_BYTES_MAX = 512, ENTRY_BYTES_MAX = 255, FIELD_HEAD_BYTES = 3 };

static size_t fields_len(const struct record *r)
{
    return r->bytes - offsetof(struct record, fields);
}

/* Room for `n` more bytes, or NULL and `cut`. */
static char *take(struct record *r, size_t n)
{
    size_t len = fields_len(r);
    if (n > sizeof r->fields - len) {
        r->cut = true;
        return NULL;
    }
    r->bytes = (uint16_t)(r->bytes + n);
    return r->fields + len;
}

void record_init(struct record *r, enum signal_site site, int64_t wall_us)
{
    r->wall_us = wall_us;
    r->bytes = offsetof(struct record, fields);
    r->site = (uint8_t)site;
    r->cut = r->reserved = false;
}

/* Room for a field of `n` bytes, after its head: id and, in the machine's own order since no record
 * leaves it, the two bytes of `n`. NULL and `cut`: there is none. */
static char *field_begin(struct record *r, enum signal_field_id field, size_t n)
{
    char *head = take(r, FIELD_HEAD_BYTES + n);
    if (!head) return NULL;
    uint16_t len = (uint16_t)n;
    head[0] = (char)field;
    memcpy(head + 1, &len, sizeof len);
    return head + FIELD_HEAD_BYTES;
}

void record_text(struct record *r, enum signal_field_id field, struct span text)
{
    if (text.len == 0) return;
    if (text.len > TEXT_BYTES_MAX) {
        text.len = TEXT_BYTES_MAX;
        r->cut = true;
    }
    char *at = field_begin(r, field, text.len);
    if (at) memcpy(at, text.data, text.len);
}

void record_number(struct record *r, enum signal_field_id field, int64_t number)
{
    char *at = field_begin(r, field, sizeof number);
    if (at) memcpy(at, &number, sizeof number);
}

void record_place(struct record *r, enum signal_field_id field, int64_t place)
{
    if (place) record_number(r, field, place);
}

void record_flag(struct record *r, enum signal_field_id field, bool flag)
{
    if (flag) field_begin(r, field, 0);
}

/* An entry of the list that was begun last: a byte of length, bytes. */
static void list_add(struct record *r, struct span entry)
{
    if (entry.len > ENTRY_BYTES_MAX) {
        r->cut = true;
        return;
    }
    char *at = take(r, 1 + entry.len);
    if (!at) return;
    at[0] = (char)entry.len;
    memcpy(at + 1, entry.data, entry.len);
}

/* `list`: what field_begin returned. */
static void list_end(struct record *r, char *list)
{
    uint16_t len = (uint16_t)(r->fields + fields_len(r) - list);
    memcpy(list - sizeof len, &len, sizeof len);
    if (len == 0) r->bytes = (uint16_t)(r->bytes - FIELD_HEAD_BYTES);
}

void record_names(struct record *r, enum signal_field_id field, const struct names *names)
{
    r->cut |= names->cut;
    char *list = field_begin(r, field, 0);
    if (!list) return;
    for (uint64_t left = names->places; left; left &= left - 1) {
        size_t at = names->stride * (size_t)__builtin_ctzll(left);
        list_add(r, *(const struct span *)(const void *)((const char *)names->first + at));
    }
    list_end(r, list);
}

/* A list too: an entry is a site and its count. */
void record_counts(struct record *r, enum signal_field_id field, const uint64_t counts[SITE_COUNT])
{
    char *list = field_begin(r, field, 0);
    if (!list) return;
    for (int site = 0; site < SITE_COUNT; site++) {
        char entry[1 + sizeof *counts] = {(char)site};
        memcpy(entry + 1, &counts[site], sizeof *counts);
        if (counts[site]) list_add(r, (struct span){entry, sizeof entry});
    }
    list_end(r, list);
}

bool record_field_next(const struct record *r, size_t *at, struct record_field *out)
{
    if (*at >= fields_len(r)) return false;
    const char *head = r->fields + *at;
    uint16_t len;
    memcpy(&len, head + 1, sizeof len);
    out->id = (enum signal_field_id)(unsigned char)head[0];
    out->bytes = (struct span){head + FIELD_HEAD_BYTES, len};
    *at += FIELD_HEAD_BYTES + (size_t)len;
    return true;
}

int64_t record_number_read(struct span number)
{
    int64_t value;
    memcpy(&value, number.data, sizeof value);
    return value;
}

bool record_entry_next(struct span *list, struct span *entry)
{
    if (list->len == 0) return false;
    size_t len = (unsigned char)list->data[0];
    *entry = (struct span){list->data + 1, len};
    *list = (struct span){list->data + 1 + len, list->len - 1 - len};
    return true;
}

bool record_count_next(struct span *counts, enum signal_site *site, uint64_t *count)
{
    struct span entry;
    if (!record_entry_next(counts, &entry)) return false;
    *site = (enum signal_site)(unsigned char)entry.data[0];
    memcpy(count, entry.data + 1, sizeof *count);
    return true;
}
