/* drill_gate: a made-up session that the plan's `ad_free` lets through.
 *
 * Where nobody is asked nothing about posteriors can fire, so a drill needs a session that passes.
 * Values come from the condition's own literals (rule_values). All combinations are tried where
 * they are few enough; else those at the same place in each attribute's values, and then some at
 * random. So a session that passes may be missed where very many attributes have to fit together;
 * the drill then says that it found none, and not that there is none.
 *
 * Threads: the operations loop's. Ownership: strings of a session lie in the plan or in the struct,
 * until the next search. Takes at most DRILL_GATE_TRIES evaluations of the condition. */
#ifndef INTERLUDE_SERVE_DRILL_GATE_H
#define INTERLUDE_SERVE_DRILL_GATE_H

#include "decide/decide.h"
#include "rule/rule_values.h"

enum { DRILL_GATE_TRIES = 100000, DRILL_GATE_SLOTS_MAX = 16 };

struct drill_gate {
    const struct plan *plan;
    int slots; /* that the condition reads, and that a request can choose */
    struct {
        int slot;
        struct rule_values values;
    } choices[DRILL_GATE_SLOTS_MAX];
};

/* For a plan; then as many searches as there are variants to try. */
void drill_gate_init(struct drill_gate *g, const struct plan *plan);

/* Sets request->attributes to a session, `segment_id`, `hour` and `weekday` included where the
 * condition reads them, that is let through to the variant. False: none was found, and what
 * request->attributes holds means nothing. */
bool drill_gate_open(const struct drill_gate *g, int variant, int tries, struct request *request);

/* The condition reads nothing, and stops all: no request gets through. */
bool drill_gate_shut(const struct plan *plan);

#endif
