/* load_body: request bodies that vary, made of pieces.
 *
 * A file of JSON lines, each {"weight": 3, "body": VALUE}; a body is chosen by weight. In its
 * strings stand templates:
 *
 *     {seq}            the request's number, from 0
 *     {unit}           one of a million units, as a number
 *     {int:LOW:HIGH}   a whole number, both ends included
 *     {float:LOW:HIGH} a number with up to six decimals
 *
 * A string that is exactly one template becomes a JSON number; within other text it stays text.
 * Keys are taken as they are. Everything is parsed once; making a body is copying pieces and
 * writing numbers, and allocates nothing.
 *
 * Threads: a compiled set is immutable, any thread. Ownership: load_bodies_done frees it. The same
 * set, seed and number give the same body. */
#ifndef INTERLUDE_LAB_LOAD_BODY_H
#define INTERLUDE_LAB_LOAD_BODY_H

#include "base/buf.h"
#include "base/err.h"

enum {
    LOAD_BODY_BYTES_MAX = 64 * 1024, /* of a body, as it is sent */
    LOAD_BODY_LINE_MAX = 64 * 1024,  /* of a line of the file */
    LOAD_BODY_LINES_MAX = 10 * 1000,
    LOAD_UNITS = 1000 * 1000,
};

struct load_body;

struct load_bodies {
    struct load_body *bodies; /* in order; each knows the weights up to and with its own */
    size_t count;
    double weight; /* of all */
};

/* Compiles a file's text. Errors have `line` (and `offset` in it where it is no JSON). */
enum err_code load_bodies_compile(struct span text, struct load_bodies *out,
                                  struct err *e) MUST_CHECK;

/* The built-in requests: four actions' Betas for every request, for some actions, for none, or a
 * mixture (8 : 1 : 1). `which` is all, some, none or mix; NULL if it is another word. */
const char *load_bodies_built_in(const char *which);

/* Writes request number `seq`. A buf of LOAD_BODY_BYTES_MAX always suffices. */
void load_bodies_make(const struct load_bodies *set, uint64_t seed, uint64_t seq, struct buf *b);

void load_bodies_done(struct load_bodies *set);

#endif
