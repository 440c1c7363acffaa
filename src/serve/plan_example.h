/* plan_example: requests to try a plan with: one for each policy that a variant asks.
 *
 * Each names its variant, a segment of the plan, every attribute that the plan would read, and
 * posteriors where the policy wants some; so the plan decides it without an anomaly. The values are
 * those of an ordinary listener who may hear ads, as far as the plan lets anybody: where `ad_free`
 * asks for other values, they come from its own literals (drill_gate.h).
 *
 * Threads: one at a time. Ownership: the caller's struct, which is large; the plan must outlive it.
 * Not on the request path. */
#ifndef INTERLUDE_SERVE_PLAN_EXAMPLE_H
#define INTERLUDE_SERVE_PLAN_EXAMPLE_H

#include "decide/decide.h"
#include "serve/drill_gate.h"

enum { PLAN_EXAMPLE_BYTES_MAX = REQUEST_BYTES_MAX };

struct plan_example {
    const struct plan *plan;
    int64_t wall_us;
    int next; /* the variant to look at next */
    struct drill_gate gate;
    struct rule_values literals;
    struct attributes session; /* of the body that is made, `segment_id` and time included */
    struct request request;
    struct decision decision;
    char scratch[PLAN_EXAMPLE_BYTES_MAX];
    char body[PLAN_EXAMPLE_BYTES_MAX], best[PLAN_EXAMPLE_BYTES_MAX];
};

/* `wall_us`: now, for a plan whose `ad_free` asks what time it is. */
void plan_example_init(struct plan_example *x, const struct plan *plan, int64_t wall_us);

/* The next one, in the order of the variants: *variant asks a policy that none before it did, *body
 * is the request as JSON, in one line, and lives until the next call. False: there are no more. */
bool plan_example_next(struct plan_example *x, int *variant, struct span *body);

#endif
