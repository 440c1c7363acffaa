#include "signal/line.h"

#include "base/buf.h"
#include "decide/request.h"
#include "wire/json_write.h"

/* Always kept free: for the line's end. */
#define CUT_END ",\"cut\":true}\n"
enum { END_BYTES = sizeof(CUT_END) - 1 };

struct line {
    struct buf text;
    bool cut;
};

static void line_begin(struct line *l, char *memory, enum signal_site site, int64_t wall_us)
{
    *l = (struct line){.text = buf_of(memory, LINE_BYTES_MAX - END_BYTES)};
    buf_lit(&l->text, "{\"timestamp\":\"");
    request_time_write(&l->text, wall_us);
    buf_lit(&l->text, "\",\"level\":\"");
    buf_span(&l->text, span_of(log_level_names[signal_sites[site].level]));
    buf_lit(&l->text, "\",\"event\":\"");
    buf_span(&l->text, signal_site_names()[site]);
    buf_char(&l->text, '"');
}

static void key(struct line *l, enum signal_field_id field)
{
    json_write_key(&l->text, span_of(signal_fields[field].name));
}

/* Undoes what was written after `len` if not all of it fitted. True: it did. */
static bool keep(struct line *l, size_t len)
{
    if (!l->text.full) return true;
    l->text.len = len;
    l->text.full = false;
    l->cut = true;
    return false;
}

/* `"field":[`, and the byte that will close it is kept free until nested_end. False: no room. */
static bool nested_begin(struct line *l, enum signal_field_id field, char bracket)
{
    size_t before = l->text.len;
    if (before == l->text.cap) {
        l->cut = true;
        return false;
    }
    l->text.cap--;
    key(l, field);
    buf_char(&l->text, bracket);
    if (keep(l, before)) return true;
    l->text.cap++;
    return false;
}

static void nested_end(struct line *l, char bracket)
{
    l->text.cap++;
    buf_char(&l->text, bracket);
}

static void line_text(struct line *l, enum signal_field_id field, struct span text)
{
    size_t len = l->text.len;
    key(l, field);
    json_write_printed(&l->text, text);
    keep(l, len);
}

static void line_number(struct line *l, enum signal_field_id field, int64_t number)
{
    size_t len = l->text.len;
    key(l, field);
    buf_i64(&l->text, number);
    keep(l, len);
}

static void line_flag(struct line *l, enum signal_field_id field)
{
    size_t len = l->text.len;
    key(l, field);
    buf_lit(&l->text, "true");
    keep(l, len);
}

static void line_counts(struct line *l, enum signal_field_id field, struct span counts)
{
    if (!nested_begin(l, field, '{')) return;
    enum signal_site site;
    uint64_t count;
    while (record_count_next(&counts, &site, &count)) {
        size_t len = l->text.len;
        json_write_key(&l->text, signal_site_names()[site]);
        buf_u64(&l->text, count);
        keep(l, len);
    }
    nested_end(l, '}');
}

static void line_list(struct line *l, enum signal_field_id field, struct span list)
{
    if (!nested_begin(l, field, '[')) return;
    struct span entry;
    for (bool first = true; record_entry_next(&list, &entry); first = false) {
        size_t len = l->text.len;
        if (!first) buf_char(&l->text, ',');
        json_write_printed(&l->text, entry);
        if (!keep(l, len)) break;
    }
    nested_end(l, ']');
}

static size_t line_end(struct line *l)
{
    l->text.cap = LINE_BYTES_MAX;
    if (l->cut)
        buf_lit(&l->text, CUT_END);
    else
        buf_lit(&l->text, "}\n");
    return l->text.len;
}

size_t line_render(char *memory, const struct record *record)
{
    struct line l;
    line_begin(&l, memory, (enum signal_site)record->site, record->wall_us);
    struct record_field field;
    for (size_t at = 0; record_field_next(record, &at, &field);) {
        switch (signal_fields[field.id].kind) {
        case FIELD_KIND_TEXT:
            line_text(&l, field.id, field.bytes);
            break;
        case FIELD_KIND_NUMBER:
        case FIELD_KIND_PLACE:
            line_number(&l, field.id, record_number_read(field.bytes));
            break;
        case FIELD_KIND_LIST:
            line_list(&l, field.id, field.bytes);
            break;
        case FIELD_KIND_FLAG:
            line_flag(&l, field.id);
            break;
        case FIELD_KIND_COUNTS:
            line_counts(&l, field.id, field.bytes);
            break;
        }
    }
    l.cut |= record->cut;
    return line_end(&l);
}
