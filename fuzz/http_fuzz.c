/* http_read tells the same about the same bytes however they are split.
 *
 * The first four bytes of an input choose the sizes of the pieces, the others are what arrives on a
 * connection. It is read three times: whole, in those pieces, and byte by byte; each time the
 * account of everything told must be the same. Pieces land in memory that ends where they end, and
 * moves, so that a sanitizer sees every byte too many.
 *
 * Each line of an input is also taken for the extensions of a chunk, and what the reader says of it
 * held against a second reading of the grammar, which sees all of it at once. */
#include "wire/http_read.h"

#include <stdint.h>
#include <stdlib.h>

enum { PIECES = 4, ACCOUNT_MAX = 1 << 20, BYTEWISE_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct account {
    size_t len;
    uint8_t bytes[ACCOUNT_MAX];
};

static void note(struct account *a, const void *bytes, size_t n)
{
    INVARIANT(n <= ACCOUNT_MAX - a->len);
    if (n) memcpy(a->bytes + a->len, bytes, n);
    a->len += n;
}

static void note_number(struct account *a, uint64_t n)
{
    note(a, &n, sizeof n);
}

static void note_range(struct account *a, const char *buf, struct http_range range, size_t end)
{
    INVARIANT(range.at <= end && range.len <= end - range.at);
    note_number(a, range.at);
    note_number(a, range.len);
    note(a, buf + range.at, range.len);
}

static void note_head(struct account *a, const struct http_reader *r, const char *buf, size_t len)
{
    INVARIANT(!http_reader_idle(r));
    INVARIANT(r->method_text.len > 0 && r->path.len > 0);
    INVARIANT(r->http_1_0 || r->host.len > 0);
    INVARIANT(!(r->chunked && r->has_length) && !(r->chunked && r->http_1_0));
    INVARIANT(buf[r->path.at] == '/' || buf[r->path.at] == '*');
    note_range(a, buf, r->method_text, len);
    note_range(a, buf, r->path, len);
    note_range(a, buf, r->host, len);
    note_range(a, buf, r->origin, len);
    note_range(a, buf, r->authorization, len);
    note_number(a, r->method);
    note_number(a, r->content);
    note_number(a, (uint64_t)(r->http_1_0 | r->keep_alive << 1 | r->expect_continue << 2 |
                              r->accept_openmetrics << 3 | r->chunked << 4 | r->has_length << 5 |
                              r->encoded << 6));
    note_number(a, r->content_length);
}

static void note_failure(struct account *a, const struct http_reader *r, size_t len)
{
    INVARIANT(r->error == ERR_HTTP_SYNTAX || r->error == ERR_URI_TOO_LONG ||
              r->error == ERR_HEAD_TOO_LARGE || r->error == ERR_BODY_TOO_LARGE ||
              r->error == ERR_EXPECTATION || r->error == ERR_MISDIRECTED ||
              r->error == ERR_NOT_IMPLEMENTED);
    INVARIANT(r->error_at <= len && r->error_text && !strchr(r->error_text, '\n'));
    note_number(a, r->error);
    note_number(a, r->error_at);
    note(a, r->error_text, strlen(r->error_text));
}

/* Reads on as far as the bytes go; returns false when the connection is over. */
static bool read_on(struct account *a, struct http_reader *r, char *buf, size_t *len)
{
    for (bool head_read = r->body.at > 0;;) {
        enum http_result result = http_read(r, buf, *len);
        if (result == HTTP_MORE) {
            INVARIANT(*len < HTTP_REQUEST_BYTES_MAX);
            return true;
        }
        note_number(a, result);
        if (result == HTTP_HEAD_READ) {
            INVARIANT(!head_read);
            head_read = true;
            note_head(a, r, buf, *len);
            continue;
        }
        INVARIANT(http_read(r, buf, *len) == result);
        if (result == HTTP_FAILED) {
            note_failure(a, r, *len);
            return false;
        }
        INVARIANT(head_read && r->consumed > 0 && r->consumed <= *len);
        INVARIANT(r->body.len <= HTTP_BODY_BYTES_MAX);
        INVARIANT(!r->has_length || r->body.len == r->content_length);
        INVARIANT(r->chunked || r->body.at + r->body.len == r->consumed);
        note_range(a, buf, r->body, r->consumed);
        note_number(a, r->consumed);
        *len -= r->consumed;
        memmove(buf, buf + r->consumed, *len);
        http_reader_init(r);
        INVARIANT(http_reader_idle(r));
        head_read = false;
    }
}

/* sizes[i % PIECES] + 1 bytes are the i-th piece; NULL: all at once. */
static void read_pieces(struct account *a, const uint8_t *data, size_t size, const uint8_t *sizes)
{
    struct http_reader r;
    http_reader_init(&r);
    a->len = 0;
    char *buf = NULL;
    size_t len = 0, from = 0;
    bool open = true;
    for (size_t i = 0; open && from < size; i++) {
        size_t piece = sizes ? sizes[i % PIECES] + 1u : size;
        if (piece > size - from) piece = size - from;
        char *moved = malloc(len + piece);
        INVARIANT(moved);
        if (len) memcpy(moved, buf, len);
        memcpy(moved + len, data + from, piece);
        free(buf);
        buf = moved;
        len += piece;
        from += piece;
        open = read_on(a, &r, buf, &len);
    }
    free(buf);
    note_number(a, open);
    if (open) note_number(a, http_reader_idle(&r));
}

/* ---- chunk extensions (RFC 9112, 7.1.1) ---- */

/* What follows the blanks, or the token, or the quoted text, that `at` begins with. */
static const char *blanks_end(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    return at;
}

static const char *token_end(const char *at, const char *end)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (; at < end; at++) {
        bool alphanumeric =
            (*at >= '0' && *at <= '9') || (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z');
        if (!alphanumeric && (!*at || !strchr(others, *at))) break;
    }
    return at;
}

/* NULL: the quotes are not closed. */
static const char *quoted_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\') at++;
    return at < end ? at + 1 : NULL;
}

static bool are_extensions(const char *at, const char *end)
{
    for (const char *p = at; p < end; p++)
        if (((uint8_t)*p < ' ' && *p != '\t') || *p == 0x7f) return false;
    while (at < end) {
        at = blanks_end(at, end);
        if (at == end || *at++ != ';') return false;
        const char *name = blanks_end(at, end);
        at = token_end(name, end);
        if (at == name) return false;
        const char *equals = blanks_end(at, end);
        if (equals == end || *equals != '=') continue;
        const char *value = blanks_end(equals + 1, end);
        at = value < end && *value == '"' ? quoted_end(value, end) : token_end(value, end);
        if (!at || at == value) return false;
    }
    return true;
}

static void check_extensions(const char *line, size_t len)
{
    static const char head[] = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0";
    static char buf[sizeof head + HTTP_CHUNK_OVERHEAD_MAX + 4];
    size_t head_len = sizeof head - 1;
    if (len > HTTP_CHUNK_OVERHEAD_MAX - 16) return;
    memcpy(buf, head, head_len);
    if (len) memcpy(buf + head_len, line, len);
    memcpy(buf + head_len + len, "\r\n\r\n", 4);
    /* A digit would be one of the chunk's size. */
    if (len && strchr("0123456789abcdefABCDEF", buf[head_len]) && buf[head_len]) return;
    struct http_reader r;
    http_reader_init(&r);
    INVARIANT(http_read(&r, buf, head_len + len + 4) == HTTP_HEAD_READ);
    enum http_result result = http_read(&r, buf, head_len + len + 4);
    INVARIANT(result == (are_extensions(line, line + len) ? HTTP_DONE : HTTP_FAILED));
}

static void check_lines(const char *bytes, size_t size)
{
    for (const char *at = bytes, *end = bytes + size; at < end; at++) {
        const char *line = at;
        while (at < end && *at != '\r' && *at != '\n') at++;
        check_extensions(line, (size_t)(at - line));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct account whole, split;
    static const uint8_t single[PIECES] = {0, 0, 0, 0};
    if (size < PIECES || size > ACCOUNT_MAX / 4) return 0;
    const uint8_t *bytes = data + PIECES;
    size -= PIECES;
    check_lines((const char *)bytes, size);
    read_pieces(&whole, bytes, size, NULL);
    read_pieces(&split, bytes, size, data);
    INVARIANT(split.len == whole.len && memcmp(split.bytes, whole.bytes, whole.len) == 0);
    if (size > BYTEWISE_MAX) return 0;
    read_pieces(&split, bytes, size, single);
    INVARIANT(split.len == whole.len && memcmp(split.bytes, whole.bytes, whole.len) == 0);
    return 0;
}
