/* yaml_tree: YAML text as a small tree in which every node knows where it stands.
 *
 * A plan is decided upon by people who read it, so the tree is of the part of YAML that means what
 * it looks like: mappings, sequences and scalars of one document. Anchors, aliases, tags, keys that
 * stand twice, keys that are no scalars, and further documents are refused. Scalars are not given a
 * type here: what `20%` or `yes` means is for the reader of the key to say.
 *
 * A mapping has no order, so its children stand in the byte order of their keys, however they were
 * written: nothing that is read from a tree can depend on what a sorted file would lose. A sequence
 * keeps its order.
 *
 * Threads: one at a time. Ownership: the tree lives in the arena that it was built into, and points
 * into the text, which must outlive it. */
#ifndef INTERLUDE_PLAN_YAML_TREE_H
#define INTERLUDE_PLAN_YAML_TREE_H

#include "base/arena.h"

#include <stdint.h>

enum {
    YAML_TREE_DEPTH_MAX = 32,
    YAML_TREE_ENTRIES_MAX = 1024, /* of one mapping or sequence; more than any plan can use */
};

enum yaml_tree_kind {
    TREE_SCALAR,
    TREE_SEQUENCE,
    TREE_MAPPING,
    TREE_UNUSABLE, /* its error is already told; readers pass over it without a word */
};

enum yaml_tree_style { TREE_PLAIN, TREE_SINGLE, TREE_DOUBLE, TREE_BLOCK };

/* Line and column count from 1; columns are characters, not bytes. */
struct yaml_place {
    uint32_t line, column;
    size_t index; /* characters from the start of the text */
};

struct yaml_tree {
    enum yaml_tree_kind kind;
    enum yaml_tree_style style; /* of a scalar */
    struct yaml_place place;
    struct span text;            /* of a scalar: decoded, and followed by a NUL */
    const struct yaml_tree *key; /* in a mapping: this value's key */
    struct yaml_tree *first, *next;
    uint32_t count; /* of children */
    /* An entry was dropped, and its error told: what is not found may have been there. */
    bool lossy;
};

/* Where faults go. `text` is one line. */
struct yaml_faults {
    void (*add)(void *owner, struct yaml_place place, const char *text);
    void *owner;
};

/* The tree of `text`, or NULL if it cannot be read to its end; each fault is told to `faults`. A
 * tree can come with faults: the parts that they are about are then cut off or TREE_UNUSABLE. */
struct yaml_tree *yaml_tree_read(struct arena *arena, struct span text,
                                 const struct yaml_faults *faults);

/* The value of that key, or NULL. */
const struct yaml_tree *yaml_tree_find(const struct yaml_tree *mapping, struct span key);

/* Nothing, `~` or `null`, unquoted. */
bool yaml_tree_is_null(const struct yaml_tree *node);

/* Where in `text` (the text that the tree was read from) the byte stands that became byte `offset`
 * of the scalar's decoded text, whatever its style: escapes, folding and indentation are undone. */
struct yaml_place yaml_tree_locate(struct span text, const struct yaml_tree *scalar, size_t offset);

#endif
