/* load_answer: where one HTTP/1.1 answer ends, its status, and whether the connection stays.
 *
 * For measuring: bodies are counted, not kept. Understands Content-Length, chunked bodies, bodies
 * up to the end of the connection, answers without a body, and 1xx before the answer. What it
 * cannot frame with certainty is a failure, for then nothing later on the connection could be
 * trusted.
 *
 * Threads: a reader belongs to one connection. Nothing allocates. */
#ifndef INTERLUDE_LAB_LOAD_ANSWER_H
#define INTERLUDE_LAB_LOAD_ANSWER_H

#include "base/span.h"

#include <stdint.h>

enum { LOAD_STATUS_MAX = 999 };

enum load_answer_result { LOAD_ANSWER_MORE, LOAD_ANSWER_DONE, LOAD_ANSWER_FAILED };

struct load_answer {
    int status; /* 100 to LOAD_STATUS_MAX, from the status line on; never 1xx at LOAD_ANSWER_DONE */
    bool close; /* the server will close, or the body ends only there */

    /* The reader's own. */
    int state;
    bool chunked, has_length;
    uint64_t left;
    size_t line_len; /* of a line that came in pieces; more than `line` holds is cut */
    char line[256];
};

void load_answer_init(struct load_answer *a);

/* True until the first byte. */
bool load_answer_idle(const struct load_answer *a);

/* Reads on. At LOAD_ANSWER_DONE `*used` of the bytes were the answer's; else all were. */
enum load_answer_result load_answer_read(struct load_answer *a, const char *bytes, size_t len,
                                         size_t *used);

/* The connection has ended: is the answer whole by that? */
bool load_answer_end(const struct load_answer *a);

#endif
