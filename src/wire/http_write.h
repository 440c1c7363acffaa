/* http_write: response heads and problem documents into a buf. Threads, ownership: the buf's.
 *
 * A head is written before its body's length is known. Content-Length is therefore its last field,
 * and its value stands at the right of a column of fixed width, behind blanks: RFC 9112, 5 allows
 * any number of them before a value, so the body never moves. */
#ifndef INTERLUDE_WIRE_HTTP_WRITE_H
#define INTERLUDE_WIRE_HTTP_WRITE_H

#include "base/buf.h"
#include "base/err.h"

/* The standard reason phrase; "" for a status that is never answered here. */
const char *http_reason(int status);

/* A Date field line, with its CRLF (RFC 9110, 5.6.7 and 6.6.1). */
enum { HTTP_DATE_BYTES = sizeof "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n" - 1 };

/* For seconds since 1970, from then to the end of 9999. No locale, nothing asked of the system. */
void http_date_write(char line[HTTP_DATE_BYTES], int64_t unix_s);

struct http_head {
    int status;               /* three digits */
    const char *content_type; /* NULL: no body, and then no Content-Type */
    bool close;               /* Connection: close */
    bool keep_alive_1_0;      /* Connection: keep-alive, which HTTP/1.0 clients need to be told */
    const char *fields;       /* whole field lines, each ended by CRLF, or NULL: what all answers
                               * have in common */
    const char *extra;        /* more of them: what this answer has, or NULL */
    const char *date; /* from http_date_write, HTTP_DATE_BYTES long; NULL: none. 1xx: none */
};

/* Writes the head with a Content-Length whose value is not known yet, and returns where in the buf
 * it stands, for http_head_end; 0 if the buf is full, and for 1xx and 204, which have none. The
 * body follows. */
size_t http_head_begin(struct buf *b, const struct http_head *head);

/* Puts in the length of what was written since; nothing if `mark` is 0 or the buf is full. */
void http_head_end(struct buf *b, size_t mark);

/* The same, where a body of so many bytes follows that is not put into the buf. */
void http_head_end_apart(struct buf *b, size_t mark, size_t length);

/* A whole response: an RFC 9457 problem document for `e`, and a newline. Its status is the error's
 * (500 if it has none), its type application/problem+json: those of `head` are not used, the rest
 * is. `head_only`: to a HEAD request, which gets the length and no body. */
void http_write_problem(struct buf *b, const struct err *e, const struct http_head *head,
                        bool head_only);

/* Just the JSON of that document (for `interlude decide`): `type` "about:blank", title, status,
 * code; detail, pointer, line and column where known; and the offset where the code is one of
 * syntax, for which 0 is a place like any other. */
void http_write_problem_body(struct buf *b, const struct err *e);

#endif
