/* signals_check: what GET /v1/signals says, and which signals are stuck by it.
 *
 * Values; any thread. Ownership: names point into the text or into the scratch that were given. */
#ifndef INTERLUDE_LAB_SIGNALS_CHECK_H
#define INTERLUDE_LAB_SIGNALS_CHECK_H

#include "base/err.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIGNALS_CHECK_SITES_MAX = 64 };

struct signals_site {
    struct span name, state, expected;
    uint64_t fired, opportunities;
    uint64_t written, dropped, suppressed, outranked;
    double share, records_per_s, lines_per_s;
};

struct signals_list {
    int count;
    struct signals_site sites[SIGNALS_CHECK_SITES_MAX];
};

/* `scratch` holds at least json.len bytes. What is not known is skipped. ERR_JSON_*: it is no JSON,
 * or not of that form. */
enum err_code signals_list_read(struct span json, char *scratch, struct signals_list *out,
                                struct err *e) MUST_CHECK;

/* NULL if it is not there. */
const struct signals_site *signals_list_find(const struct signals_list *list, struct span name);

/* It fires nearly always, and is not declared to. */
bool signals_site_stuck(const struct signals_site *site);

/* The same, found out from two looks instead of being told by the server, whose verdict takes two
 * windows of five minutes: at least 1,000 opportunities in between, and fired on 99% of them. */
bool signals_site_stuck_between(const struct signals_site *before,
                                const struct signals_site *after);

/* The records of a site that have an outcome. */
static inline uint64_t signals_site_settled(const struct signals_site *s)
{
    return s->written + s->dropped + s->suppressed + s->outranked;
}

#endif
