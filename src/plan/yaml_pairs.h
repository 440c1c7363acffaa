/* yaml_pairs: characters beyond U+FFFF that JSON printers escape as two halves: "\ud83d\ude00".
 *
 * JSON is YAML, but for these: libyaml refuses a half. So what it is given to read has another
 * escape in the place of each half, one that the text holds nowhere else; the length stays, and
 * with it every place. What becomes of it is put right in each scalar.
 *
 * Threads: one at a time. Ownership: everything lives in the arena. */
#ifndef INTERLUDE_PLAN_YAML_PAIRS_H
#define INTERLUDE_PLAN_YAML_PAIRS_H

#include "plan/yaml_tree.h"

struct yaml_pair {
    struct yaml_place place;
    size_t at; /* bytes before it */
    uint32_t code;
};

struct yaml_pairs {
    struct span original, text; /* the same where there are none */
    uint32_t marker;            /* the code point that stands for a half */
    struct yaml_pair *pairs;    /* in order */
    size_t count, next;
};

/* `text` is kept, not copied. */
void yaml_pairs_find(struct arena *arena, struct span text, struct yaml_pairs *out);

/* The decoded text of a scalar, with each pair put right. Scalars are asked for in the order of the
 * text. `end` is the index of the character after the scalar. */
struct span yaml_pairs_restore(struct yaml_pairs *p, struct arena *arena,
                               const struct yaml_tree *scalar, size_t end);

/* Whether an escaped pair stands here. */
bool yaml_pair_here(struct span text, size_t at, uint32_t *code);

#endif
