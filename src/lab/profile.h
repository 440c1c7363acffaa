/* profile: where a request's time goes, from two looks at a server's interlude_stage_* metrics.
 *
 * The server times one request in some hundred, stage by stage; what passed between the two looks
 * is an average over those. Any thread; pure but for profile_print. */
#ifndef INTERLUDE_LAB_PROFILE_H
#define INTERLUDE_LAB_PROFILE_H

#include "base/buf.h"
#include "base/span.h"

#include <stdint.h>

enum { PROFILE_STAGES_MAX = 32, PROFILE_NAME_MAX = 32 };

struct profile {
    int count; /* in the order of the metrics: that in which a request passes them */
    struct {
        char name[PROFILE_NAME_MAX + 1];
        double seconds, samples; /* totals since the server's start */
    } stages[PROFILE_STAGES_MAX];
};

/* Reads one look. False if the text has no interlude_stage_seconds_total. */
bool profile_read(struct span metrics, struct profile *out);

/* What passed between two looks, which must have the same stages: false if they don't, or if
 * `after` is less than `before` (the server was restarted). */
bool profile_between(const struct profile *before, const struct profile *after,
                     struct profile *out);

/* Whether a stage was timed at all. */
bool profile_sampled(const struct profile *p);

/* A line a stage: name, share of the whole, microseconds a request, and a bar; then the sum. */
void profile_print(struct buf *b, const struct profile *p);

#endif
