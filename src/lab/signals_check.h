/* signals_check: what GET /v1/signals says, and which signals are constant by it.
 *
 * A verdict takes evidence: a signal that had too few chances to fire is neither fine nor constant,
 * and a check that could judge none has found out nothing.
 *
 * Values; any thread. Ownership: names point into the text or into the scratch that were given. */
#ifndef INTERLUDE_LAB_SIGNALS_CHECK_H
#define INTERLUDE_LAB_SIGNALS_CHECK_H

#include "base/err.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIGNALS_CHECK_SITES_MAX = 64 };

/* The part of a site's books that drills are. */
struct signals_drills {
    uint64_t fired, written, dropped, suppressed, outranked;
};

struct signals_site {
    struct span name, state, expected;
    uint64_t fired, opportunities;               /* since the server's start */
    uint64_t recent_fired, recent_opportunities; /* in the last five to ten minutes */
    uint64_t written, dropped, suppressed, outranked;
    struct signals_drills drills;
    double share, records_per_s, lines_per_s;
};

struct signals_list {
    struct span started_at; /* of another process: another time */
    int count;
    struct signals_site sites[SIGNALS_CHECK_SITES_MAX];
};

/* `scratch` holds at least json.len bytes. What is not known is skipped. ERR_JSON_*: it is no JSON,
 * or not of that form. */
enum err_code signals_list_read(struct span json, char *scratch, struct signals_list *out,
                                struct err *e) MUST_CHECK;

/* NULL if it is not there. */
const struct signals_site *signals_list_find(const struct signals_list *list, struct span name);

/* The server's own limits: see src/signal/watch.h. And the fewest opportunities, our own, from
 * which on a site may look constant: one of one tells nothing. */
enum { SIGNALS_OPPORTUNITIES_MIN = 1000, SIGNALS_FIRED_PERCENT = 99, SIGNALS_LOOKS_MIN = 20 };

enum signals_verdict {
    SIGNALS_EXEMPT,    /* declared to fire always, or at each request */
    SIGNALS_FINE,      /* opportunities enough, and it did not fire on nearly all of them */
    SIGNALS_CONSTANT,  /* it fires nearly always */
    SIGNALS_TOO_FEW,   /* fewer opportunities than can be judged */
    SIGNALS_TOO_YOUNG, /* opportunities enough, nearly all fired; the server does not say so yet */
    SIGNALS_VERDICT_COUNT
};

struct signals_judgement {
    enum signals_verdict verdict;
    bool looks_constant; /* not judged, but fired on nearly all of SIGNALS_LOOKS_MIN or more */
    uint64_t fired, opportunities; /* that it was judged by */
    double share; /* of the opportunities: in the server's windows, or between the two looks */
};

/* By what the server tells, whose verdict takes two windows of five minutes; that a site is fine is
 * told by its recent counts. */
struct signals_judgement signals_site_judge(const struct signals_site *now);

/* By what happened between two looks at the same process, which needs no window. */
struct signals_judgement signals_site_judge_between(const struct signals_site *before,
                                                    const struct signals_site *now);

/* Whether a check passes over it. Whatever fires on nearly all of its opportunities fails.
 * `lenient` lets pass what had too few of them for a verdict; `required` lets pass nothing that had
 * too few, however it looks. */
bool signals_judgement_passes(const struct signals_judgement *j, bool lenient, bool required);

/* The records of a site that have an outcome. */
static inline uint64_t signals_site_settled(const struct signals_site *s)
{
    return s->written + s->dropped + s->suppressed + s->outranked;
}

#endif
