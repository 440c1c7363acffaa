/* presence: what is missing, and which kind of missing it is. DESIGN's presence table is the code
 * of presence.c. Pure; any thread. */
#ifndef INTERLUDE_DECIDE_PRESENCE_H
#define INTERLUDE_DECIDE_PRESENCE_H

#include "decide/request.h"

struct presence {
    enum posteriors_status status; /* the gravest that holds */
    uint32_t conditions;           /* bit s of enum posteriors_status: every one that held */
    action_set missing, invalid;   /* of the actions used; disjoint */
    action_set unused;             /* sent for actions of the plan that the policy does not use */
    action_set usable;             /* can be chosen, before the mask */
    action_set from_prior;
    bool prior_family; /* an action was left out because the prior is of another family */
    enum fallback_reason fallback;
};

/* Judges the posteriors against what `asked` uses; NULL: nobody is asked. `now_us` is the request's
 * time or the clock's. */
void presence_classify(const struct plan *plan, const struct policy *asked,
                       const struct request *request, int64_t now_us, struct presence *out);

struct session_state {
    enum state_status status;
    uint64_t unknown; /* slots that were needed and are absent or null */
    uint64_t invalid; /* slots that were read and hold no value of their type */
};

/* Judges the session, and `last`, against what is read. */
void presence_classify_state(const struct plan *plan, const struct policy *asked,
                             const struct request *request, struct session_state *out);

#endif
