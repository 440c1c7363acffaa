#include "lab/load_answer.h"

#include <strings.h>

enum state { STATUS, FIELD, BODY, TO_CLOSE, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, TRAILER, DONE, BAD };

void load_answer_init(struct load_answer *a)
{
    /* Not the line's bytes: that is most of the struct, and once a request. */
    a->status = 0;
    a->close = a->chunked = a->has_length = false;
    a->state = STATUS;
    a->left = 0;
    a->line_len = 0;
}

bool load_answer_idle(const struct load_answer *a)
{
    return a->state == STATUS && a->status == 0 && a->line_len == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static enum state read_status(struct load_answer *a, struct span line)
{
    if (line.len < 12 || memcmp(line.data, "HTTP/1.", 7) != 0 || line.data[8] != ' ') return BAD;
    const char *digits = line.data + 9;
    for (int i = 0; i < 3; i++)
        if (!is_digit(digits[i])) return BAD;
    a->status = (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + digits[2] - '0';
    a->close = line.data[7] == '0';
    return a->status < 100 ? BAD : FIELD;
}

/* A field's value, if the line is that field. */
static bool field_is(struct span line, const char *name, struct span *value)
{
    size_t len = strlen(name);
    if (line.len <= len || line.data[len] != ':' || strncasecmp(line.data, name, len) != 0)
        return false;
    struct span v = {line.data + len + 1, line.len - len - 1};
    while (v.len && (*v.data == ' ' || *v.data == '\t')) v.data++, v.len--;
    while (v.len && (v.data[v.len - 1] == ' ' || v.data[v.len - 1] == '\t')) v.len--;
    *value = v;
    return true;
}

static bool value_is(struct span value, const char *word)
{
    return value.len == strlen(word) && strncasecmp(value.data, word, value.len) == 0;
}

/* Digits of a base up to the first other byte; false if there are none or too many. */
static bool read_number(struct span text, unsigned base, uint64_t *out, size_t *digits)
{
    uint64_t n = 0;
    size_t i = 0;
    for (; i < text.len; i++) {
        char c = text.data[i];
        unsigned digit = is_digit(c)            ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 99;
        if (digit >= base) break;
        if (__builtin_mul_overflow(n, base, &n) || __builtin_add_overflow(n, digit, &n))
            return false;
    }
    *out = n;
    *digits = i;
    return i > 0;
}

static enum state head_end(struct load_answer *a)
{
    if (a->status < 200) {
        bool switched = a->status == 101;
        load_answer_init(a);
        return switched ? BAD : STATUS;
    }
    if (a->status == 204 || a->status == 304) return DONE;
    if (a->chunked) return a->has_length ? BAD : CHUNK_SIZE;
    if (a->has_length) return a->left ? BODY : DONE;
    a->close = true;
    return TO_CLOSE;
}

static enum state read_field(struct load_answer *a, struct span line)
{
    struct span value;
    if (line.len == 0) return head_end(a);
    if (field_is(line, "content-length", &value)) {
        size_t digits;
        if (a->has_length || !read_number(value, 10, &a->left, &digits) || digits != value.len)
            return BAD;
        a->has_length = true;
    } else if (field_is(line, "transfer-encoding", &value)) {
        if (a->chunked || !value_is(value, "chunked")) return BAD;
        a->chunked = true;
    } else if (field_is(line, "connection", &value)) {
        if (value_is(value, "close")) a->close = true;
        if (value_is(value, "keep-alive")) a->close = false;
    }
    return FIELD;
}

static enum state read_chunk_size(struct load_answer *a, struct span line)
{
    size_t digits;
    if (!read_number(line, 16, &a->left, &digits)) return BAD;
    if (digits < line.len && line.data[digits] != ';' && line.data[digits] != ' ') return BAD;
    return a->left ? CHUNK_DATA : TRAILER;
}

static enum state read_line(struct load_answer *a, struct span line)
{
    if (line.len && line.data[line.len - 1] == '\r') line.len--;
    switch (a->state) {
    case STATUS:
        return read_status(a, line);
    case FIELD:
        return read_field(a, line);
    case CHUNK_SIZE:
        return read_chunk_size(a, line);
    case CHUNK_END:
        return line.len ? BAD : CHUNK_SIZE;
    default: /* TRAILER */
        return line.len ? TRAILER : DONE;
    }
}

/* Takes a line's bytes up to its end, or all. Lines that came whole are read where they stand. */
static size_t take_line(struct load_answer *a, const char *bytes, size_t len)
{
    const char *eol = memchr(bytes, '\n', len);
    size_t n = eol ? (size_t)(eol - bytes) : len;
    if (eol && a->line_len == 0) {
        a->state = read_line(a, (struct span){bytes, n});
        return n + 1;
    }
    size_t room = sizeof a->line - a->line_len;
    memcpy(a->line + a->line_len, bytes, n < room ? n : room);
    a->line_len += n < room ? n : room;
    if (!eol) return n;
    struct span line = {a->line, a->line_len};
    a->line_len = 0;
    a->state = read_line(a, line);
    return n + 1;
}

static size_t take_data(struct load_answer *a, size_t len, enum state then)
{
    size_t n = a->left < len ? (size_t)a->left : len;
    a->left -= n;
    if (a->left == 0) a->state = then;
    return n;
}

enum load_answer_result load_answer_read(struct load_answer *a, const char *bytes, size_t len,
                                         size_t *used)
{
    size_t at = 0;
    while (at < len && a->state != DONE && a->state != BAD) {
        if (a->state == BODY)
            at += take_data(a, len - at, DONE);
        else if (a->state == CHUNK_DATA)
            at += take_data(a, len - at, CHUNK_END);
        else if (a->state == TO_CLOSE)
            at = len;
        else
            at += take_line(a, bytes + at, len - at);
    }
    *used = at;
    return a->state == DONE  ? LOAD_ANSWER_DONE
           : a->state == BAD ? LOAD_ANSWER_FAILED
                             : LOAD_ANSWER_MORE;
}

bool load_answer_end(const struct load_answer *a)
{
    return a->state == TO_CLOSE;
}
