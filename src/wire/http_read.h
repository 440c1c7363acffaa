/* http_read: one HTTP/1.1 request out of bytes that arrive in pieces. Small and strict.
 *
 * The caller keeps the bytes of the request in one buffer, from its first byte on, and calls
 * http_read again whenever there are more; it may move the buffer between calls. The reader keeps
 * offsets, never pointers. The result is the same however the bytes were split, errors included:
 * a wrong byte is told when it is seen, a wrong field value when its line ends, a field that may
 * not stand there at its colon; and no later byte changes it.
 *
 * Anything ambiguous is refused, with the connection to be closed: two Content-Lengths (equal ones
 * and lists too), a length with chunks, any Transfer-Encoding but exactly one `chunked`, +5, 0x5,
 * 5_0, numbers that overflow, bare LF or CR anywhere, white space before the colon, obs-fold, NUL
 * and other control bytes, name bytes that are no token, no Host or two of them (HTTP/1.1), a Host
 * that is no host[:port], a second Content-Type, Authorization or Origin, percent-encoded hosts,
 * chunk extensions that are none (RFC 9112, 7.1.1), trailers that name a field which is read in the
 * head, CONNECT and the HTTP/2 preface. So are https:// targets: they were meant for another port.
 * Understood: origin-form and absolute-form targets, HTTP/1.0 with and without keep-alive, HTTP/1.2
 * and up to 1.9 as 1.1, chunked bodies with extensions and trailers (ignored), Expect:
 * 100-continue, one empty line (CRLF) before the request line.
 *
 * Threads: a reader belongs to one connection. Nothing allocates, no I/O. */
#ifndef INTERLUDE_WIRE_HTTP_READ_H
#define INTERLUDE_WIRE_HTTP_READ_H

#include "base/err.h"
#include "base/span.h"

#include <stdint.h>

enum {
    HTTP_HEAD_BYTES_MAX = 16 * 1024, /* request line and fields: more is 431 */
    HTTP_FIELDS_MAX = 100,           /* more is 431 */
    /* Part of the head; more is 414. RFC 9112, 3 wants 8,000 bytes of a request line to be read. */
    HTTP_TARGET_BYTES_MAX = 8 * 1024,
    HTTP_BODY_BYTES_MAX = 64 * 1024, /* decoded; more is 413 */
    /* Sizes, extensions, CRLFs and trailers of one chunked body; more is 413. */
    HTTP_CHUNK_OVERHEAD_MAX = 16 * 1024,
    /* What a caller's buffer must be able to hold. */
    HTTP_REQUEST_BYTES_MAX =
        2 + HTTP_HEAD_BYTES_MAX + HTTP_BODY_BYTES_MAX + HTTP_CHUNK_OVERHEAD_MAX,
};

/* HTTP_OTHER: any other token; `method_text` has it. */
enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_OPTIONS, HTTP_OTHER };

/* What Content-Type says. */
enum http_content { HTTP_CONTENT_NONE, HTTP_CONTENT_JSON, HTTP_CONTENT_OTHER };

/* A place in the buffer. */
struct http_range {
    uint32_t at, len;
};

enum http_result {
    HTTP_MORE,      /* needs more bytes */
    HTTP_HEAD_READ, /* told once a request, when its head is whole, body or none */
    HTTP_DONE,      /* the request is whole: `consumed` bytes of the buffer were it */
    HTTP_FAILED,    /* `error` */
};

struct http_reader {
    /* Valid from HTTP_HEAD_READ on. */
    enum http_method method;
    struct http_range method_text;
    struct http_range path;   /* without the query; "/" for an absolute-form target that has none */
    struct http_range host;   /* an absolute-form target's authority, else the Host field */
    struct http_range origin; /* the Origin field; len 0 if none */
    struct http_range authorization; /* the Authorization field; len 0 if none */
    enum http_content content;       /* application/json, parameters allowed, any case */
    bool encoded;                    /* Content-Encoding names another coding than identity */
    bool http_1_0;
    bool keep_alive;         /* what the client allows: version and Connection */
    bool expect_continue;    /* 100-continue (HTTP/1.1 only); another is ERR_EXPECTATION */
    bool accept_openmetrics; /* an Accept field does: http_accepts_openmetrics */
    bool chunked;
    bool has_length;
    uint64_t content_length;

    /* Valid at HTTP_DONE. A chunked body has been decoded in place. */
    struct http_range body;
    uint32_t consumed;

    /* Valid at HTTP_FAILED: ERR_HTTP_SYNTAX, ERR_URI_TOO_LONG, ERR_HEAD_TOO_LARGE,
     * ERR_BODY_TOO_LARGE (after HTTP_HEAD_READ), ERR_EXPECTATION, ERR_MISDIRECTED or
     * ERR_NOT_IMPLEMENTED (CONNECT, and transfer codings other than chunked); ERR_LENGTH_REQUIRED
     * is the caller's to find. `error_at` is the offset in the buffer, `error_text` static, one
     * line. After a failure nothing that follows on the connection may be read as a request. */
    enum err_code error;
    uint32_t error_at;
    const char *error_text;

    /* The reader's own. */
    uint32_t state, at, mark, field, fields, extension, write_at, flags;
    uint64_t left;
};

void http_reader_init(struct http_reader *r);

/* True while no byte of a request has been seen, the empty line before it apart (so that closing
 * now loses nothing). */
bool http_reader_idle(const struct http_reader *r);

/* Reads on. buf[0..len) is everything so far. After HTTP_HEAD_READ call again at once with the same
 * bytes. After HTTP_DONE call http_reader_init, and start at buf + consumed. HTTP_MORE is never the
 * answer to HTTP_REQUEST_BYTES_MAX bytes. */
enum http_result http_read(struct http_reader *r, char *buf, size_t len);

static inline struct span http_text(const char *buf, struct http_range range)
{
    return (struct span){buf + range.at, range.len};
}

#endif
