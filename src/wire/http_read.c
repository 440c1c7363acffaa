/* One automaton, driven by bytes, whose whole state is in the reader: each step takes bytes from
 * `at` up to where it must stop, and either goes on or leaves `state` so that the next call resumes
 * at the same byte. Nothing looks ahead of `at`, so a prefix of the bytes alone decides what is
 * told about it, and the splits cannot matter. What a line means is worked out once, at its LF, out
 * of bytes that have all been checked by then.
 *
 * Limits are ends: a step is shown no byte beyond its limit, and one that has to stop exactly there
 * has failed.
 *
 * A chunked body is decoded downwards in place: buf[body.at .. write_at) is what has been decoded,
 * and `at - write_at` is therefore how much was spent on anything but data. */
#include "wire/http_read.h"

#include "wire/http_chunk.h"
#include "wire/http_field.h"
#include "wire/http_scan.h"

enum state {
    /* before a request: http_reader_idle */
    START,
    EMPTY_LINE_LF,
    FIRST,
    /* the request line */
    METHOD,
    TARGET,
    VERSION,
    /* field lines, in the head and in trailers */
    LINE_FIRST,
    NAME,
    BEFORE_VALUE,
    VALUE,
    VALUE_LF,
    LAST_LF,
    /* the body */
    BODY,
    CHUNK_CR,
    CHUNK_LF,
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK_SIZE_LF,
    CHUNK_DATA,
    DONE,
    FAILED,
};

/* In `flags`, bit f tells that field f was seen. */
#define SEEN(field) (1u << (field))

enum {
    FRAMING = SEEN(FIELD_CONTENT_LENGTH) | SEEN(FIELD_TRANSFER_ENCODING),
    /* The other flags. */
    SAYS_CLOSE = 1u << FIELD_COUNT,
    SAYS_KEEP_ALIVE = SAYS_CLOSE << 1,
    HEAD_TOLD = SAYS_CLOSE << 2,
    OF_1_0 = SAYS_CLOSE << 3,
};

enum { CHUNK_SIZE_DIGITS_MAX = 16 };

#define CHUNK_EXTENSION_FORM \
    "a chunk extension is ;NAME or ;NAME=VALUE, and its value a token or a text in double quotes"

/* Every step returns true when it is through, false when the reader has to stop: here, because
 * something is wrong; in stop_at, because the bytes are at their end. */
static bool fail(struct http_reader *r, enum err_code code, uint32_t at, const char *text)
{
    r->state = FAILED;
    r->error = code;
    r->error_at = at;
    r->error_text = text;
    return false;
}

static inline bool stop_at(struct http_reader *r, uint32_t at)
{
    r->at = at;
    return false;
}

/* `text` is for a byte that has no name of its own. */
static bool fail_byte(struct http_reader *r, const char *buf, uint32_t at, const char *text)
{
    switch (buf[at]) {
    case '\r':
        text = "a carriage return may only stand before the line feed that ends a line";
        break;
    case '\n':
        text = "a line must end in CRLF, not in a bare line feed";
        break;
    case '\0':
        text = "a NUL byte may not stand here";
        break;
    }
    return fail(r, ERR_HTTP_SYNTAX, at, text);
}

/* Takes the line feed that must stand at `at`, after a carriage return. */
static bool line_feed_take(struct http_reader *r, const char *buf, uint32_t at, uint32_t end)
{
    if (at == end) return stop_at(r, at);
    if (buf[at] != '\n')
        return fail(r, ERR_HTTP_SYNTAX, at, "a carriage return must be followed by a line feed");
    r->at = at + 1;
    return true;
}

/* ---- the request line ---- */

#define REQUEST_LINE "a request line is METHOD, TARGET and HTTP/1.1, with one space between them"
#define TARGET_MISSING "this line has no target and no version: " REQUEST_LINE
#define VERSION_MISSING "this line has no version: " REQUEST_LINE

/* Takes an empty line, and leaves the first byte of the method. */
static bool start_read(struct http_reader *r, const char *buf, size_t len)
{
    if (r->state == START) {
        if (len == 0) return false;
        r->state = buf[0] == '\r' ? EMPTY_LINE_LF : FIRST;
        r->at = buf[0] == '\r';
    }
    if (r->state == EMPTY_LINE_LF) {
        if (r->at == len) return false;
        if (!line_feed_take(r, buf, r->at, r->at + 1)) return false;
        r->state = FIRST;
    }
    if (r->at == len) return false;
    if (r->at && buf[r->at] == '\r')
        return fail(r, ERR_HTTP_SYNTAX, r->at, "only one empty line may stand before a request");
    if (buf[r->at] == 0x16)
        return fail(r, ERR_HTTP_SYNTAX, r->at, "this looks like TLS; the port speaks plain HTTP");
    if (!http_byte_is(buf[r->at], HTTP_IN_TOKEN))
        return fail_byte(r, buf, r->at, "a request must begin with a method");
    r->method_text.at = r->at;
    r->state = METHOD;
    return true;
}

/* The byte at `at` is the first one that is not the method's. */
static bool method_take(struct http_reader *r, const char *buf, uint32_t at)
{
    if (buf[at] == '\r') return fail(r, ERR_HTTP_SYNTAX, at, TARGET_MISSING);
    if (buf[at] != ' ')
        return fail_byte(r, buf, at, "a method must be a token with one space after it");
    r->method_text.len = at - r->method_text.at;
    struct span method = http_text(buf, r->method_text);
    if (span_equal(method, SPAN("POST")))
        r->method = HTTP_POST;
    else if (span_equal(method, SPAN("GET")))
        r->method = HTTP_GET;
    else if (span_equal(method, SPAN("HEAD")))
        r->method = HTTP_HEAD;
    else if (span_equal(method, SPAN("OPTIONS")))
        r->method = HTTP_OPTIONS;
    else
        r->method = HTTP_OTHER;
    if (r->method != HTTP_OTHER) return true;
    /* Both would change what the bytes after them mean. */
    if (span_equal(method, SPAN("PRI")))
        return fail(r, ERR_HTTP_SYNTAX, r->method_text.at, "HTTP/2 is not spoken here");
    if (span_equal(method, SPAN("CONNECT")))
        return fail(r, ERR_NOT_IMPLEMENTED, r->method_text.at, "this is no proxy");
    return true;
}

static void path_take(struct http_reader *r, const char *buf, uint32_t from, uint32_t end)
{
    const char *query = memchr(buf + from, '?', end - from);
    r->path = (struct http_range){from, query ? (uint32_t)(query - (buf + from)) : end - from};
}

static bool absolute_form_take(struct http_reader *r, const char *buf, uint32_t end)
{
    bool secure;
    uint32_t scheme = http_scheme_length((struct span){buf + r->mark, end - r->mark}, &secure);
    if (scheme == 0)
        return fail(r, ERR_HTTP_SYNTAX, r->mark,
                    "a target must begin with a slash, or with http:// and a host");
    if (secure)
        return fail(r, ERR_MISDIRECTED, r->mark,
                    "an https:// target was sent over plain HTTP; this port has no TLS");
    uint32_t from = r->mark + scheme;
    uint32_t at = from;
    while (at < end && buf[at] != '/' && buf[at] != '?') at++;
    r->host = (struct http_range){from, at - from};
    if (!http_host_is_valid(http_text(buf, r->host)))
        return fail(r, ERR_HTTP_SYNTAX, from, "the target's authority must be a host or host:port");
    if (at < end && buf[at] == '/')
        path_take(r, buf, at, end);
    else
        r->path = (struct http_range){from - 1, 1}; /* no path means "/": the last one of "//" */
    return true;
}

/* The byte at `at` is the first one that is not the target's, or one too many. */
static bool target_take(struct http_reader *r, const char *buf, uint32_t at)
{
    if (http_byte_is(buf[at], HTTP_IN_TARGET))
        return fail(r, ERR_URI_TOO_LONG, at, "the target is longer than 8 KiB");
    if (buf[at] == '\r')
        return fail(r, ERR_HTTP_SYNTAX, at, at == r->mark ? TARGET_MISSING : VERSION_MISSING);
    if (buf[at] != ' ') return fail_byte(r, buf, at, "this byte may not stand in a target");
    if (at == r->mark)
        return fail(r, ERR_HTTP_SYNTAX, at, "one space and a target must follow the method");
    if (buf[r->mark] == '/') {
        path_take(r, buf, r->mark, at);
        return true;
    }
    if (buf[r->mark] != '*') return absolute_form_take(r, buf, at);
    if (at - r->mark > 1 || r->method != HTTP_OPTIONS)
        return fail(r, ERR_HTTP_SYNTAX, r->mark, "only OPTIONS may have the target *");
    r->path = (struct http_range){r->mark, 1};
    return true;
}

static bool version_read(struct http_reader *r, const char *buf, uint32_t at, uint32_t end)
{
    static const char line_end[] = "HTTP/1.1\r\n";
    enum { LEN = sizeof line_end - 1, MINOR_AT = 7 };
    if (at == r->mark && end - at >= LEN && memcmp(buf + at, line_end, LEN) == 0) at += LEN;
    for (uint32_t i = at - r->mark; i < LEN; i++, at++) {
        if (at == end) return stop_at(r, at);
        if (buf[at] == line_end[i]) continue;
        if (i == 0 && buf[at] == '\r') return fail(r, ERR_HTTP_SYNTAX, at, VERSION_MISSING);
        /* A minor version above ours is to be read as ours (RFC 9110, 2.5). */
        if (i == MINOR_AT && http_is_digit(buf[at]))
            r->flags |= buf[at] == '0' ? OF_1_0 : 0;
        else if (i > MINOR_AT)
            return fail_byte(r, buf, at, "the request line must end in CRLF after the version");
        else
            return fail_byte(r, buf, at, "the version must be HTTP/1.1, or another HTTP/1");
    }
    r->http_1_0 = r->flags & OF_1_0;
    r->at = at;
    r->state = LINE_FIRST;
    return true;
}

static bool request_line_read(struct http_reader *r, const char *buf, uint32_t end)
{
    uint32_t at = r->at;
    if (r->state == METHOD) {
        at = class_scan(buf, at, end, HTTP_IN_TOKEN);
        if (at == end) return stop_at(r, at);
        if (!method_take(r, buf, at)) return false;
        r->mark = ++at;
        r->state = TARGET;
    }
    if (r->state == TARGET) {
        uint32_t limit = r->mark + HTTP_TARGET_BYTES_MAX;
        if (limit > end) limit = end;
        at = class_scan(buf, at, limit, HTTP_IN_TARGET);
        if (at == end) return stop_at(r, at);
        if (!target_take(r, buf, at)) return false;
        r->mark = ++at;
        r->state = VERSION;
    }
    return version_read(r, buf, at, end);
}

/* ---- what fields mean ---- */

/* The flags under which a field may not stand where it does. */
static const uint32_t refused_under[FIELD_COUNT] = {
    [FIELD_HOST] = HEAD_TOLD | SEEN(FIELD_HOST),
    [FIELD_ACCEPT] = HEAD_TOLD,
    [FIELD_EXPECT] = HEAD_TOLD,
    [FIELD_ORIGIN] = HEAD_TOLD | SEEN(FIELD_ORIGIN),
    [FIELD_CONNECTION] = HEAD_TOLD,
    [FIELD_CONTENT_TYPE] = HEAD_TOLD | SEEN(FIELD_CONTENT_TYPE),
    [FIELD_AUTHORIZATION] = HEAD_TOLD | SEEN(FIELD_AUTHORIZATION),
    [FIELD_CONTENT_LENGTH] = HEAD_TOLD | FRAMING,
    [FIELD_CONTENT_ENCODING] = HEAD_TOLD,
    [FIELD_TRANSFER_ENCODING] = HEAD_TOLD | FRAMING | OF_1_0,
};

static bool field_refuse(struct http_reader *r, uint32_t name_at)
{
    const char *text = "HTTP/1.0 has no Transfer-Encoding";
    if (r->flags & HEAD_TOLD)
        text = "this field may not stand in a trailer";
    else if (r->flags & SEEN(r->field))
        text = "this field may stand only once";
    else if (r->flags & FRAMING)
        text = "Content-Length and Transfer-Encoding may not stand together";
    return fail(r, ERR_HTTP_SYNTAX, name_at, text);
}

static bool transfer_encoding_take(struct http_reader *r, struct span value, uint32_t at)
{
    enum http_coding coding = http_coding_find(value);
    r->chunked = coding == HTTP_CODING_CHUNKED;
    if (r->chunked) return true;
    return fail(r, coding == HTTP_CODING_COMPRESSED ? ERR_NOT_IMPLEMENTED : ERR_HTTP_SYNTAX, at,
                "the one Transfer-Encoding understood is: chunked");
}

static void connection_take(struct http_reader *r, struct span value)
{
    struct http_connection says = http_connection_read(value);
    if (says.close) r->flags |= SAYS_CLOSE;
    if (says.keep_alive) r->flags |= SAYS_KEEP_ALIVE;
}

/* At the end of the line: what does it say? */
static bool field_take(struct http_reader *r, const char *buf, struct http_range range)
{
    struct span value = http_text(buf, range);
    switch ((enum field)r->field) {
    case FIELD_HOST:
        if (!http_host_is_valid(value))
            return fail(r, ERR_HTTP_SYNTAX, range.at, "Host must be a host or host:port");
        if (!r->host.len) r->host = range; /* RFC 9112, 3.2.2: an absolute-form target goes first */
        return true;
    case FIELD_CONTENT_LENGTH:
        r->has_length = http_length_read(value, &r->content_length);
        return r->has_length ||
               fail(r, ERR_HTTP_SYNTAX, range.at, "Content-Length must be one number, in digits");
    case FIELD_TRANSFER_ENCODING:
        return transfer_encoding_take(r, value, range.at);
    case FIELD_EXPECT:
        if (!http_is_100_continue(value))
            return fail(r, ERR_EXPECTATION, range.at, "100-continue is the one expectation met");
        r->expect_continue = !r->http_1_0;
        return true;
    case FIELD_CONTENT_TYPE:
        r->content = http_is_json(value) ? HTTP_CONTENT_JSON : HTTP_CONTENT_OTHER;
        return true;
    case FIELD_CONTENT_ENCODING:
        r->encoded |= !http_is_identity(value);
        return true;
    case FIELD_ACCEPT:
        r->accept_openmetrics |= http_accepts_openmetrics(value);
        return true;
    case FIELD_CONNECTION:
        connection_take(r, value);
        return true;
    case FIELD_ORIGIN:
        r->origin = range;
        return true;
    case FIELD_AUTHORIZATION:
        r->authorization = range;
        return true;
    case FIELD_OTHER:
    case FIELD_COUNT:
        break;
    }
    return true;
}

/* ---- field lines ---- */

/* The first byte of a line: of a name, or of the empty line that ends them all. */
static bool line_begin(struct http_reader *r, const char *buf, uint32_t end)
{
    uint32_t at = r->at;
    if (at == end) return false;
    if (buf[at] == '\r') {
        r->at = at + 1;
        r->state = LAST_LF;
        return true;
    }
    if (http_is_blank(buf[at]))
        return fail(r, ERR_HTTP_SYNTAX, at, "a line may not begin with white space");
    /* Trailers are bounded by what a chunked body may spend on them. */
    if (!(r->flags & HEAD_TOLD) && r->fields++ == HTTP_FIELDS_MAX)
        return fail(r, ERR_HEAD_TOO_LARGE, at, "there are too many fields");
    r->mark = at;
    r->state = NAME;
    return true;
}

static bool name_read(struct http_reader *r, const char *buf, uint32_t end)
{
    enum field field;
    uint32_t at = r->mark + http_field_peek((struct span){buf + r->mark, end - r->mark}, &field);
    if (at == r->mark) {
        at = class_scan(buf, r->at, end, HTTP_IN_TOKEN);
        if (at == end) return stop_at(r, at);
        if (at > r->mark && http_is_blank(buf[at]))
            return fail(r, ERR_HTTP_SYNTAX, at, "white space may not stand before a colon");
        if (buf[at] == '\r')
            return fail(r, ERR_HTTP_SYNTAX, at, "this line has no colon: a field is NAME: VALUE");
        if (buf[at] != ':' || at == r->mark)
            return fail_byte(r, buf, at, "a field name must be a token with a colon after it");
        field = http_field_find((struct span){buf + r->mark, at - r->mark});
    }
    r->field = field;
    if (r->flags & refused_under[field]) return field_refuse(r, r->mark);
    r->flags |= SEEN(field);
    r->at = at + 1;
    r->state = BEFORE_VALUE;
    return true;
}

static bool value_read(struct http_reader *r, const char *buf, uint32_t end)
{
    uint32_t at = r->at;
    if (r->state == BEFORE_VALUE) {
        while (at < end && http_is_blank(buf[at])) at++;
        if (at == end) return stop_at(r, at);
        r->mark = at;
        r->state = VALUE;
    }
    if (r->state == VALUE) {
        at = value_scan(buf, at, end);
        if (at == end) return stop_at(r, at);
        if (buf[at] != '\r')
            return fail_byte(r, buf, at, "a control character may not stand in a field");
        at++;
        r->state = VALUE_LF;
    }
    if (!line_feed_take(r, buf, at, end)) return false;
    r->state = LINE_FIRST;
    if (r->field == FIELD_OTHER) return true;
    at--;
    while (at > r->mark && http_is_blank(buf[at - 1])) at--;
    return field_take(r, buf, (struct http_range){r->mark, at - r->mark});
}

/* Field lines, up to and with the empty one. */
static bool lines_read(struct http_reader *r, const char *buf, uint32_t end)
{
    while (r->state != LAST_LF) {
        if (r->state == LINE_FIRST && !line_begin(r, buf, end)) return false;
        if (r->state == NAME && !name_read(r, buf, end)) return false;
        if (r->state != LAST_LF && !value_read(r, buf, end)) return false;
    }
    return line_feed_take(r, buf, r->at, end);
}

static bool head_read(struct http_reader *r, const char *buf, size_t len)
{
    if (r->state <= FIRST && !start_read(r, buf, len)) return false;
    uint32_t limit = r->method_text.at + HTTP_HEAD_BYTES_MAX;
    uint32_t end = len < limit ? (uint32_t)len : limit;
    if ((r->state <= VERSION && !request_line_read(r, buf, end)) || !lines_read(r, buf, end)) {
        if (r->state != FAILED && r->at == limit)
            fail(r, ERR_HEAD_TOO_LARGE, limit, "the request head is too large");
        return false;
    }
    if (!r->http_1_0 && !(r->flags & SEEN(FIELD_HOST)))
        return fail(r, ERR_HTTP_SYNTAX, r->at - 1, "an HTTP/1.1 request needs a Host");
    r->keep_alive = !(r->flags & SAYS_CLOSE) && (!r->http_1_0 || (r->flags & SAYS_KEEP_ALIVE));
    r->flags |= HEAD_TOLD;
    r->state = r->chunked ? CHUNK_SIZE : BODY;
    r->mark = r->write_at = r->body.at = r->at;
    return true;
}

/* ---- the body ---- */

static int hex_digit(char c)
{
    if (http_is_digit(c)) return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool chunk_size_read(struct http_reader *r, const char *buf, uint32_t end)
{
    uint32_t at = r->at;
    for (int digit; at < end && (digit = hex_digit(buf[at])) >= 0; at++) {
        if (at - r->mark == CHUNK_SIZE_DIGITS_MAX)
            return fail(r, ERR_HTTP_SYNTAX, at, "a chunk size has too many digits");
        r->left = r->left << 4 | (uint64_t)digit;
    }
    if (at == end) return stop_at(r, at);
    bool ends = buf[at] == '\r' || buf[at] == ';' || http_is_blank(buf[at]);
    if (at == r->mark || !ends)
        return fail(r, ERR_HTTP_SYNTAX, at,
                    "a chunk size must be hexadecimal digits with CRLF or a semicolon after them");
    if (r->left > HTTP_BODY_BYTES_MAX - (r->write_at - r->body.at))
        return fail(r, ERR_BODY_TOO_LARGE, r->mark, "the body is longer than 64 KiB");
    r->at = at;
    r->extension = CHUNK_EXT_NONE;
    r->state = CHUNK_EXTENSION;
    return true;
}

/* What follows a chunk's size in its line, the carriage return included. */
static bool chunk_extension_take(struct http_reader *r, const char *buf, uint32_t end)
{
    uint32_t at = r->at;
    enum chunk_extension state = (enum chunk_extension)r->extension;
    for (; at < end && buf[at] != '\r'; at++) {
        state = chunk_extension_read(state, buf[at]);
        if (state == CHUNK_EXT_REFUSED) return fail_byte(r, buf, at, CHUNK_EXTENSION_FORM);
    }
    r->extension = state;
    if (at == end) return stop_at(r, at);
    if (!chunk_extension_may_end(state)) return fail(r, ERR_HTTP_SYNTAX, at, CHUNK_EXTENSION_FORM);
    r->at = at + 1;
    r->state = CHUNK_SIZE_LF;
    return true;
}

/* What stands between the data of two chunks: the CRLF of the first, and the second's size line. */
static bool chunk_line_read(struct http_reader *r, const char *buf, uint32_t end)
{
    if (r->state == CHUNK_CR) {
        if (r->at == end) return false;
        if (buf[r->at] != '\r')
            return fail(r, ERR_HTTP_SYNTAX, r->at, "CRLF must follow the data of a chunk");
        r->at++;
        r->state = CHUNK_LF;
    }
    if (r->state == CHUNK_LF) {
        if (!line_feed_take(r, buf, r->at, end)) return false;
        r->mark = r->at;
        r->state = CHUNK_SIZE;
    }
    if (r->state == CHUNK_SIZE && !chunk_size_read(r, buf, end)) return false;
    if (r->state == CHUNK_EXTENSION && !chunk_extension_take(r, buf, end)) return false;
    if (!line_feed_take(r, buf, r->at, end)) return false;
    r->state = r->left ? CHUNK_DATA : LINE_FIRST;
    return true;
}

static bool chunk_data_read(struct http_reader *r, char *buf, size_t len)
{
    uint32_t n = (uint32_t)(len - r->at < r->left ? len - r->at : r->left);
    memmove(buf + r->write_at, buf + r->at, n);
    r->write_at += n;
    r->at += n;
    r->left -= n;
    if (r->left) return false;
    r->state = CHUNK_CR;
    return true;
}

static bool chunks_read(struct http_reader *r, char *buf, size_t len)
{
    for (;;) {
        if (r->state == CHUNK_DATA && !chunk_data_read(r, buf, len)) return false;
        uint32_t limit = r->write_at + HTTP_CHUNK_OVERHEAD_MAX;
        uint32_t end = len < limit ? (uint32_t)len : limit;
        bool trailers = r->state <= LAST_LF;
        if (!(trailers ? lines_read(r, buf, end) : chunk_line_read(r, buf, end))) {
            if (r->state != FAILED && r->at == limit)
                fail(r, ERR_BODY_TOO_LARGE, limit, "too many bytes of the body are chunk framing");
            return false;
        }
        if (trailers) break;
    }
    r->body.len = r->write_at - r->body.at;
    r->consumed = r->at;
    r->state = DONE;
    return true;
}

static bool body_read(struct http_reader *r, char *buf, size_t len)
{
    if (r->state != BODY) return chunks_read(r, buf, len);
    if (r->content_length > HTTP_BODY_BYTES_MAX)
        return fail(r, ERR_BODY_TOO_LARGE, r->at, "the body is longer than 64 KiB");
    if (len - r->at < r->content_length) return false;
    r->body.len = (uint32_t)r->content_length;
    r->consumed = r->at + r->body.len;
    r->state = DONE;
    return true;
}

/* ---- the reader ---- */

void http_reader_init(struct http_reader *r)
{
    *r = (struct http_reader){.state = START};
}

bool http_reader_idle(const struct http_reader *r)
{
    return r->state <= FIRST;
}

enum http_result http_read(struct http_reader *r, char *buf, size_t len)
{
    if (r->state == DONE) return HTTP_DONE;
    if (r->state == FAILED) return HTTP_FAILED;
    if (!(r->flags & HEAD_TOLD)) {
        if (head_read(r, buf, len)) return HTTP_HEAD_READ;
    } else if (body_read(r, buf, len)) {
        return HTTP_DONE;
    }
    return r->state == FAILED ? HTTP_FAILED : HTTP_MORE;
}
