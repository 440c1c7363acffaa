/* http_write: response heads and problem documents into a buf. Threads, ownership: the buf's. */
#ifndef INTERLUDE_WIRE_HTTP_WRITE_H
#define INTERLUDE_WIRE_HTTP_WRITE_H

#include "base/buf.h"
#include "base/err.h"

/* The standard reason phrase. */
const char *http_reason(int status);

struct http_head {
    int status;
    const char *content_type; /* NULL: no body, and then no Content-Type */
    bool close;               /* Connection: close */
    bool keep_alive_1_0;      /* Connection: keep-alive, which HTTP/1.0 clients need to be told */
    const char *extra;        /* more whole field lines, each ended by CRLF, or NULL */
};

/* Writes the head with a Content-Length whose value is not known yet, and returns where in the buf
 * it stands, for http_head_end; 0 if the buf is full. The body follows. */
size_t http_head_begin(struct buf *b, const struct http_head *head);

/* Puts in the length of what was written since. */
void http_head_end(struct buf *b, size_t mark);

/* A whole response: an RFC 9457 problem document for `e`, with `type` "about:blank", title, status,
 * code, detail, and pointer, offset or errors where known. `head_only`: to a HEAD request. */
void http_write_problem(struct buf *b, const struct err *e, const struct http_head *head,
                        bool head_only);

/* Just the JSON of that document (for `interlude decide`). */
void http_write_problem_body(struct buf *b, const struct err *e);

#endif
