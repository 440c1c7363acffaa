/* plan_load: YAML text to a plan, or every error in it with line and column.
 *
 * No I/O: the caller reads the file. Any thread; allocates (never called on the request path). */
#ifndef INTERLUDE_PLAN_PLAN_LOAD_H
#define INTERLUDE_PLAN_PLAN_LOAD_H

#include "base/buf.h"
#include "decide/plan.h"

enum { PLAN_BYTES_MAX = 1024 * 1024, PLAN_ERRORS_MAX = 64 };

/* Every error of one run, in the order of the file. `more` counts those beyond PLAN_ERRORS_MAX. */
struct plan_errors {
    int count, more;
    struct err errors[PLAN_ERRORS_MAX]; /* code ERR_PLAN_INVALID; line, column, text */
};

/* What the plan may name that only other rooms know. */
struct plan_options {
    const struct span *log_sites; /* names that `log: {sites: ...}` may use */
    size_t log_site_count;
    size_t
        log_site_free; /* so many of them, the last ones, have no budget: they may not be named */
};

/* On success the new plan, owned by the caller (plan_free). On failure NULL, and errors->count > 0.
 */
struct plan *plan_load(struct span yaml, const struct plan_options *options,
                       struct plan_errors *errors) MUST_CHECK;

/* The demonstration plan's text, built in; NUL-terminated. */
struct span plan_demo_text(void);

/* plan_check.c: the plan as it would run, as YAML: every default filled in, in a fixed order. This
 * text is what the fingerprint is a hash of (its decision part). It loads again to an equal plan;
 * PLAN_BYTES_MAX bytes always hold it. */
void plan_print(struct buf *b, const struct plan *plan);
void plan_print_decision_part(struct buf *b, const struct plan *plan);

/* The most metric series that the plan can make; largest: the name of the metric with the most. */
uint64_t plan_series_count(const struct plan *plan, const char **largest);

#endif
