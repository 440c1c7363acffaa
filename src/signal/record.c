#include "signal/record.h"

_Static_assert(offsetof(struct record, fields) <= RECORD_HEAD_BYTES, "the head fits");
_Static_assert(sizeof(struct record) <= RECORD_BYTES_MAX, "a record is no longer than its limit");

/* A text's and an entry's length are two bytes and one. Their order is the machine's own: no record
 * leaves it. */
enum { TEXT_BYTES_MAX = 512, ENTRY_BYTES_MAX = 255, ENTRIES_MAX = 255 };

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
    r->list = 0;
}

void record_text(struct record *r, enum signal_field_id field, struct span text)
{
    if (text.len == 0) return;
    if (text.len > TEXT_BYTES_MAX) {
        text.len = TEXT_BYTES_MAX;
        r->cut = true;
    }
    char *at = take(r, 3 + text.len);
    if (!at) return;
    uint16_t len = (uint16_t)text.len;
    at[0] = (char)field;
    memcpy(at + 1, &len, sizeof len);
    memcpy(at + 3, text.data, text.len);
}

void record_number(struct record *r, enum signal_field_id field, int64_t number)
{
    char *at = take(r, 1 + sizeof number);
    if (!at) return;
    at[0] = (char)field;
    memcpy(at + 1, &number, sizeof number);
}

void record_flag(struct record *r, enum signal_field_id field)
{
    char *at = take(r, 1);
    if (at) at[0] = (char)field;
}

/* A list: id, number of entries, entries. */
void record_list_begin(struct record *r, enum signal_field_id field)
{
    char *at = take(r, 2);
    r->list = at ? (uint16_t)(at - r->fields + 1) : 0;
    if (at) at[0] = (char)field, at[1] = 0;
}

void record_list_add(struct record *r, struct span text)
{
    if (!r->list) return;
    unsigned char entries = (unsigned char)r->fields[r->list];
    if (text.len > ENTRY_BYTES_MAX || entries == ENTRIES_MAX) {
        r->cut = true;
        return;
    }
    char *at = take(r, 1 + text.len);
    if (!at) return;
    at[0] = (char)text.len;
    memcpy(at + 1, text.data, text.len);
    r->fields[r->list] = (char)(entries + 1);
}

void record_list_end(struct record *r)
{
    if (r->list && r->fields[r->list] == 0) r->bytes = (uint16_t)(r->bytes - 2);
    r->list = 0;
}

bool record_entry_next(struct span *list, struct span *entry)
{
    if (list->len == 0) return false;
    size_t len = (unsigned char)list->data[0];
    *entry = (struct span){list->data + 1, len};
    *list = (struct span){list->data + 1 + len, list->len - 1 - len};
    return true;
}

bool record_field_next(const struct record *r, size_t *at, struct record_field *out)
{
    if (*at >= fields_len(r)) return false;
    const char *p = r->fields + *at;
    *out = (struct record_field){.id = (enum signal_field_id)(unsigned char)p[0]};
    uint16_t len;
    switch (signal_fields[out->id].kind) {
    case FIELD_KIND_TEXT:
        memcpy(&len, p + 1, sizeof len);
        out->bytes = (struct span){p + 3, len};
        *at += 3u + len;
        return true;
    case FIELD_KIND_NUMBER:
        memcpy(&out->number, p + 1, sizeof out->number);
        *at += 1 + sizeof out->number;
        return true;
    case FIELD_KIND_FLAG:
        *at += 1;
        return true;
    default:
        break;
    }
    out->entries = (unsigned char)p[1];
    const char *end = p + 2;
    for (int i = 0; i < out->entries; i++) end += 1 + (unsigned char)*end;
    out->bytes = (struct span){p + 2, (size_t)(end - (p + 2))};
    *at = (size_t)(end - r->fields);
    return true;
}
