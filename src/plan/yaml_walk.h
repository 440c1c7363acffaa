/* yaml_walk: places in YAML text, counted as libyaml counts them.
 *
 * A column is a character; a line ends in LF, CR, CR LF, NEL, LS or PS. Pure; any thread. */
#ifndef INTERLUDE_PLAN_YAML_WALK_H
#define INTERLUDE_PLAN_YAML_WALK_H

#include "plan/yaml_tree.h"

struct yaml_walk {
    struct span text;
    size_t at; /* bytes from the start of the text */
    struct yaml_place place;
};

struct yaml_walk yaml_walk_start(struct span text);

static inline bool yaml_walk_ended(const struct yaml_walk *w)
{
    return w->at >= w->text.len;
}

/* The byte here; 0 at the end. */
static inline char yaml_walk_byte(const struct yaml_walk *w)
{
    return yaml_walk_ended(w) ? '\0' : w->text.data[w->at];
}

/* The bytes of the line break here: 0 if there is none. */
size_t yaml_walk_break(const struct yaml_walk *w);

/* One character on, or one line break. */
void yaml_walk_step(struct yaml_walk *w);

/* There, or at the end. */
struct yaml_walk yaml_walk_to(struct span text, struct yaml_place place);

/* What ends an unquoted text at that place: `#` behind a blank, a comma, or NUL for another. */
char yaml_walk_cut_by(struct span text, struct yaml_place place);

/* The place of a byte; bytes that are not UTF-8 count as characters of one byte. */
struct yaml_place yaml_walk_to_byte(struct span text, size_t byte);

#endif
