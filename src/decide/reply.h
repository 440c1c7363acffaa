/* reply: a decision as JSON. Nothing allocates; any thread, on its own buf. */
#ifndef INTERLUDE_DECIDE_REPLY_H
#define INTERLUDE_DECIDE_REPLY_H

#include "base/buf.h"
#include "decide/decide.h"

enum {
    /* No answer is longer: ids at most six bytes a byte once escaped, and the longest names. */
    REPLY_BYTES_MAX = 4096,
    REPLY_EXPLAIN_BYTES_MAX = 64 * 1024,
};

/* The answer's JSON object. With request->explain, explain.c's part is in it. */
void reply_write(struct buf *b, const struct plan *plan, const struct request *request,
                 const struct decision *decision, int64_t now_us);

/* explain.c: `,"eligible":[...],"exploration_key":...,"considered":[...]`, the ordered account. */
void explain_write(struct buf *b, const struct plan *plan, const struct request *request,
                   const struct decision *decision);

#endif
