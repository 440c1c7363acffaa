/* watch: which signals have become useless.
 *
 * A signal that always fires tells nothing, and neither does one of which nobody knows if it still
 * can. Time is cut into windows of five minutes, one after the other. At a window's end each site
 * gets a verdict on it: `constant` if it had at least 1,000 opportunities in the window and fired
 * on at least 99% of them, `quiet` if it has not fired in as many windows as make an hour, `normal`
 * otherwise. A site's state is the last verdict that two windows in succession agreed on; so an
 * hour's peak or a single bad minute does not make the state flap. Until two have, it is normal.
 *
 * Between the ends of windows the watch looks at the accounts ten times a window, so that what a
 * site costs can be told for the last half to whole minute. A thread that could not look for a
 * while (a log sink that blocks) makes a window longer, never two out of one.
 *
 * Private to the room. Threads: under the lock of `struct signals`. Plain values, no clock: the
 * caller says what time it is. */
#ifndef INTERLUDE_SIGNAL_WATCH_H
#define INTERLUDE_SIGNAL_WATCH_H

#include "signal/signals.h"

enum {
    WATCH_LOOKS = 10, /* a window */
    WATCH_OPPORTUNITIES_MIN = 1000,
    WATCH_FIRED_PERCENT = 99,
    WATCH_NEVER_WEIGHT = 10, /* what a firing of a `never` site counts, against one of a `rare` */
};

struct watch_sample {
    uint64_t ns;
    struct signal_account of[SITE_COUNT];
};

struct watch_site {
    enum signal_state state, verdict; /* verdict: of the last window */
    uint64_t windows_silent;
    uint64_t fired, opportunities; /* in the last window */
};

struct watch {
    uint64_t window_ns, quiet_windows;
    uint64_t window_end_ns, look_due_ns;
    struct watch_sample last, current; /* where the last window began, and where this one did */
    struct watch_sample older, newer;  /* the last two looks */
    struct watch_site sites[SITE_COUNT];
    uint64_t judged; /* verdicts on sites that watch_minds */
};

/* A site that is declared to fire seldom: to be constant is wrong for it. */
static inline bool watch_minds(enum signal_site site)
{
    return signal_sites[site].expected < EXPECTED_PER_REQUEST;
}

/* `quiet_ns` is rounded up to whole windows. */
void watch_init(struct watch *w, uint64_t window_ns, uint64_t quiet_ns, uint64_t now_ns);

/* A look, and, where a window is over, the verdicts. Returns the sites (bit s of enum signal_site)
 * that have just become constant and that watch_minds. */
uint32_t watch_take(struct watch *w, const struct signal_account accounts[SITE_COUNT],
                    uint64_t now_ns);

/* What a site has been doing, from the watch and its account now. */
struct watch_rates {
    uint64_t recent_fired, recent_opportunities; /* in this window and the last */
    double share;                                /* of those; 0 to 1 */
    double wrong;                 /* the same, weighed against what is declared; 0 to 1 */
    double fired, written, bytes; /* a second, since the look before the last */
};

void watch_rates(const struct watch *w, enum signal_site site, const struct signal_account *account,
                 uint64_t now_ns, struct watch_rates *out);

/* All sites, the one whose firings are the least worth first: constant against what is declared;
 * quiet though it is declared to fire at every request; then by `wrong`; the quiet ones last. */
void watch_order(const struct watch *w, const struct watch_rates rates[SITE_COUNT],
                 enum signal_site order[SITE_COUNT]);

#endif
