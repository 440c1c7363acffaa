/* library: the public face of the pure core, include/interlude.h. It stands on the top floor of
 * what libinterlude holds. */
#include "interlude.h"

#include "decide/reply.h"
#include "plan/plan_load.h"

#include <stdlib.h>

static void tell(struct interlude_error *to, const struct err *from)
{
    if (!to) return;
    *to = (struct interlude_error){
        .line = from->line, .column = from->column, .offset = from->offset};
    strncpy(to->code, err_name(from->code), sizeof to->code - 1);
    memcpy(to->pointer, from->pointer, sizeof to->pointer);
    memcpy(to->text, from->text, sizeof to->text);
}

struct interlude_plan *interlude_plan_load(const char *yaml, size_t len,
                                           struct interlude_error *errors, size_t errors_max,
                                           size_t *error_count)
{
    struct plan_errors *found = calloc(1, sizeof *found);
    if (!found) {
        struct err e;
        err_set(&e, ERR_NO_MEMORY, "there is not enough memory to load the plan");
        if (errors_max) tell(&errors[0], &e);
        if (error_count) *error_count = 1;
        return NULL;
    }
    struct plan *plan = plan_load((struct span){yaml, len}, NULL, found);
    if (!plan)
        for (size_t i = 0; i < errors_max && i < (size_t)found->count; i++)
            tell(&errors[i], &found->errors[i]);
    if (error_count) *error_count = plan ? 0 : (size_t)(found->count + found->more);
    free(found);
    return (struct interlude_plan *)plan;
}

void interlude_plan_free(struct interlude_plan *plan)
{
    plan_free((struct plan *)plan);
}

const char *interlude_plan_version(const struct interlude_plan *plan)
{
    return ((const struct plan *)plan)->version.data;
}

const char *interlude_plan_fingerprint(const struct interlude_plan *plan)
{
    return ((const struct plan *)plan)->fingerprint;
}

const char *interlude_demo_plan(void)
{
    return plan_demo_text().data;
}

/* `work` is a request, and then as many bytes of scratch as the request's text has. */
_Static_assert(sizeof(struct request) <= INTERLUDE_WORK_BYTES, "INTERLUDE_WORK_BYTES is too small");
_Static_assert((int)INTERLUDE_REQUEST_BYTES_MAX == (int)REQUEST_BYTES_MAX, "as told");
_Static_assert((int)INTERLUDE_ANSWER_BYTES_MAX == (int)REPLY_EXPLAIN_BYTES_MAX, "as told");

static enum err_code decide_text(const struct plan *plan, struct span text, int64_t *now_us,
                                 void *work, size_t work_bytes, struct decision *decision,
                                 struct err *e)
{
    if (text.len > REQUEST_BYTES_MAX)
        return err_set(e, ERR_BODY_TOO_LARGE, "a request has at most %d bytes", REQUEST_BYTES_MAX);
    if (work_bytes < INTERLUDE_WORK_BYTES + text.len)
        return err_set(e, ERR_LIMIT, "`work` needs INTERLUDE_WORK_BYTES + len bytes");
    if (!request_time_is_told(*now_us))
        return err_set(e, ERR_LIMIT, "`now_us` is microseconds since 1970, of the years 0 to 9999");
    struct request *request = work;
    enum err_code code = request_read(plan, text, (char *)work + INTERLUDE_WORK_BYTES, request, e);
    if (code) return code;
    *now_us = request_now_us(request, *now_us);
    decide(plan, request, *now_us, NULL, decision);
    return ERR_OK;
}

int interlude_decide(const struct interlude_plan *opaque, const char *text, size_t len,
                     int64_t now_us, void *work, size_t work_bytes, struct interlude_decision *out,
                     struct interlude_error *error)
{
    const struct plan *plan = (const struct plan *)opaque;
    struct decision d;
    struct err e;
    if (decide_text(plan, (struct span){text, len}, &now_us, work, work_bytes, &d, &e)) {
        tell(error, &e);
        return -1;
    }
    /* Names in a plan's arena are followed by a NUL. */
    *out = (struct interlude_decision){
        .variant = d.variant_unknown ? VARIANT_UNKNOWN_NAME : plan->variants[d.variant].name.data,
        .assignment = assignment_name(d.assignment),
        .policy = d.policy->name.data,
        .action = plan->actions.actions[d.action].name.data,
        .wanted = plan->actions.actions[d.wanted].name.data,
        .posteriors = posteriors_status_name(d.presence.status),
        .state = state_status_name(d.state.status),
        .ads = d.ads,
        .max_duration_s = d.max_duration_s,
        .cooldown_s = d.cooldown_s,
    };
    return 0;
}

int interlude_decide_json(const struct interlude_plan *opaque, const char *text, size_t len,
                          int64_t now_us, void *work, size_t work_bytes, char *answer,
                          size_t answer_bytes, size_t *answer_len, struct interlude_error *error)
{
    const struct plan *plan = (const struct plan *)opaque;
    struct decision d;
    struct err e;
    if (decide_text(plan, (struct span){text, len}, &now_us, work, work_bytes, &d, &e)) {
        tell(error, &e);
        return -1;
    }
    struct buf b = buf_of(answer, answer_bytes);
    reply_write(&b, plan, work, &d, now_us);
    if (b.full) {
        err_set(&e, ERR_LIMIT, "the answer does not fit; INTERLUDE_ANSWER_BYTES_MAX bytes suffice");
        tell(error, &e);
        return -1;
    }
    *answer_len = b.len;
    return 0;
}
