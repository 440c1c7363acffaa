/* text: bodies that several answers share: a scrape's, mostly.
 *
 * A text is written once, and answers that are given soon afterwards refer to it instead of copying
 * it. So what a reader has not taken yet needs no memory of its own: that was reserved at the
 * start, for a few texts, and what is not touched of it costs nothing.
 *
 * When a further text is wanted and readers hold them all, the oldest is taken from its readers:
 * theirs is then no longer valid, and whoever is about to send from it finds that out
 * (text_is_valid) and closes the connection. Nobody is looked for, and nobody waits.
 *
 * Threads: all on one. Ownership: the caller's struct; the memory is the texts' own. */
#ifndef INTERLUDE_SERVE_TEXT_H
#define INTERLUDE_SERVE_TEXT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { TEXTS_MAX = 8, TEXT_SHARED_MS = 20 };

struct text {
    char *data;
    size_t len;
    uint64_t serial;   /* of what is in it; 0: nothing */
    uint64_t since_ns; /* when that was written */
    int kind;          /* the caller's: texts of one kind say the same, but for when */
    uint32_t holds;
};

/* One answer's share in a text. {0}: none. */
struct text_hold {
    struct text *text;
    uint64_t serial;
};

struct texts {
    struct text all[TEXTS_MAX];
    char *memory;
    size_t text_bytes;
    uint64_t serial;
};

/* `text_bytes`: what each may be long. False if there is not so much address space. */
bool texts_init(struct texts *t, size_t text_bytes) MUST_CHECK;
void texts_done(struct texts *t);

/* The latest of that kind, if it was written less than TEXT_SHARED_MS before `now_ns`; else NULL.
 */
struct text *text_find(struct texts *t, int kind, uint64_t now_ns);

/* One to be written anew, into *out; then text_written. Adds to *cut the readers that lost theirs.
 */
struct text *text_begin(struct texts *t, int kind, struct buf *out, uint32_t *cut);

/* What is in `out` is the text, as of `now_ns`. */
void text_written(struct texts *t, struct text *text, const struct buf *out, uint64_t now_ns);

struct text_hold text_hold(struct text *text);
void text_release(struct text_hold *hold);

static inline bool text_is_valid(const struct text_hold *hold)
{
    return !hold->text || hold->text->serial == hold->serial;
}

#endif
