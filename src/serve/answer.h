/* answer: what a service writes that is no decision. Threads, ownership: the exchange's. */
#ifndef INTERLUDE_SERVE_ANSWER_H
#define INTERLUDE_SERVE_ANSWER_H

#include "serve/service.h"

#define ANSWER_JSON "application/json"
#define ANSWER_TEXT "text/plain; charset=utf-8"

/* What every answer has that a browser or a cache might otherwise make something of: one that says
 * how things are now, and one that is text or JSON whatever it looks like. The answer to a POST for
 * a decision goes without: nobody may keep that unless told so (RFC 9110, 9.3.3). */
#define ANSWER_FIELDS "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"

/* An answer whose body is written into x->out between its beginning and its end. */
struct answer {
    size_t begin, mark, body_at;
};
struct answer answer_begin(struct exchange *x, int status, const char *content_type);
/* One that did not fit becomes the problem `internal`. */
void answer_end(struct exchange *x, struct answer a);

void answer_with(struct exchange *x, int status, const char *content_type, struct span body);
void answer_problem(struct exchange *x, const struct err *e);
void answer_too_long(struct exchange *x);

/* To GET /readyz, on either port. */
void answer_ready(struct exchange *x, bool ready);

/* To OPTIONS: what may be asked of x->route. No field of CORS: no page may ask anything. */
void answer_options(struct exchange *x);

#endif
