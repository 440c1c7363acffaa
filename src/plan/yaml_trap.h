/* yaml_trap: why a line that looks right is no YAML.
 *
 * Texts such as conditions are easily written without quotes, and YAML gives some of their
 * characters meanings of its own. A parser tells what it missed, often behind the place that is
 * wrong; this looks for a text that should have been quoted. For messages only. Pure; any thread.
 */
#ifndef INTERLUDE_PLAN_YAML_TRAP_H
#define INTERLUDE_PLAN_YAML_TRAP_H

#include "plan/yaml_tree.h"

struct yaml_trap {
    struct yaml_place place; /* of the text to quote, or of the sign that cuts it */
    const char *text;        /* what is the matter, and what to do */
};

/* Looks at the line of `fault`, where the text could not be read on, and at the one before it.
 * False: nothing there is a trap that is known. */
bool yaml_trap_find(struct span text, struct yaml_place fault, struct yaml_trap *out);

#endif
