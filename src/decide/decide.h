/* decide: a plan and a request give a decision. A pure function: no clock, no I/O, no allocation,
 * no global; the same plan and request give the same decision on any machine. Any thread. */
#ifndef INTERLUDE_DECIDE_DECIDE_H
#define INTERLUDE_DECIDE_DECIDE_H

#include "decide/presence.h"
#include "decide/probe.h"

struct decision {
    int variant;          /* that decided */
    bool variant_unknown; /* the request named one that the plan does not have */
    enum assignment assignment;
    int experiment; /* -1: none */

    const struct policy *asked;  /* NULL: the gate settled it */
    const struct policy *policy; /* that decided; the variant's where nobody was asked */
    struct presence presence;
    struct session_state state;

    uint64_t masked; /* bit r of enum reason: that guardrail took away an action */
    /* Bit r: something that the guardrail reads is unknown, and so it was taken to be in force
     * (conservative), or was in part or whole not enforced (permissive). */
    uint64_t assumed, unenforced;
    action_set eligible;
    struct choice choice;
    int action;
    int wanted; /* differs from `action` only where a guardrail masked a rule's action */
    int ads;
    int64_t max_duration_s; /* 0: none */
    int64_t cooldown_s;
    uint64_t reasons; /* REASON_BIT */
};

/* `now_us`: the request's time if it has one, else the clock's, in microseconds since 1970. Fills
 * the context slots of request->attributes. `probe` may be NULL. */
void decide(const struct plan *plan, struct request *request, int64_t now_us, struct probe *probe,
            struct decision *out);

/* allocate.c */
void allocate(const struct plan *plan, const struct request *request, struct decision *out);
/* ppm(tag) = murmur3_x86_32(salt "/" tag "/" unit, 0) x 1,000,000 >> 32 */
uint32_t allocate_ppm(struct span salt, const char *tag, struct span unit);

#endif
