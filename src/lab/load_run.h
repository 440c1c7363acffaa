/* load_run: an open loop of requests against one server or several.
 *
 * Requests are due when the schedule says (load_plan), whatever the servers do. A latency is
 * counted from when its request was DUE, not from when it was sent: a server that stalls for 100 ms
 * makes everybody wait who comes in that time, and a generator that politely waits with it (a
 * closed loop) would count one slow request where there were a hundred. So:
 *
 * - a request whose target has no free connection waits in that target's queue and keeps its time;
 * - what is still in a queue a second after the schedule's end is counted as unsent;
 * - a request sent more than 1 ms after it was due is counted as late; and if a connection was free
 *   meanwhile, it was this generator that was late, and its figures are not the server's.
 *
 * One thread. It sleeps until shortly before the next request is due and then polls, because a
 * sleep ends tens of microseconds late; the time spent polling in vain is told apart from its work.
 *
 * The hooks are called in between; what they take delays requests. */
#ifndef INTERLUDE_LAB_LOAD_RUN_H
#define INTERLUDE_LAB_LOAD_RUN_H

#include "lab/load_body.h"
#include "lab/load_plan.h"
#include "lab/load_target.h"
#include "record/capture.h"

#include <signal.h>

enum {
    LOAD_CONNECTIONS_MAX = 10000,
    LOAD_LATE_NS = 1000000,
    LOAD_GRACE_NS = 1000000000, /* for queued requests, after the schedule's end */
};

enum load_spread {
    LOAD_INTERLEAVE, /* request by request, in turn */
    LOAD_ALTERNATE,  /* turn_ns for each in turn */
};

struct load_progress {
    uint64_t done_ns, duration_ns;
    double rate;        /* answers a second, of late */
    struct hist recent; /* one to two intervals */
    uint64_t failed;    /* requests, and connects, so far */
};

struct load_options {
    struct load_shape shape; /* of all targets together */
    const struct load_target *targets;
    uint32_t target_count; /* 1 to CAPTURE_TARGETS_MAX */
    enum load_spread spread;
    uint64_t turn_ns;     /* LOAD_ALTERNATE: above 0 */
    uint32_t connections; /* to each target, 1 to LOAD_CONNECTIONS_MAX */
    uint64_t timeout_ns;  /* of a connect, and of a request from when it was sent; above 0 */
    uint64_t spin_ns;     /* how long before a request is due polling begins */
    uint64_t interval_ns; /* above 0 */
    const struct load_bodies *bodies;
    const volatile sig_atomic_t *stop; /* not 0: end the schedule; may be NULL */

    void *context; /* the hooks'; either hook may be NULL */
    void (*interval)(void *context, const struct capture_interval *interval);
    void (*progress)(void *context, const struct load_progress *progress);
};

struct load_result {
    int64_t started_us; /* since 1970: when the schedule began */
    uint32_t targets;
    struct capture_interval total[CAPTURE_TARGETS_MAX];
    struct hist send_delay; /* sent - due, of requests that did not have to queue */
    uint64_t wall_ns, cpu_ns;
    uint64_t spin_ns;    /* of cpu_ns: polling in vain */
    uint64_t reconnects; /* connections that servers closed while they were idle */
};

/* Opens all connections, runs the schedule, and waits for what is under way. ERR_SYSTEM: a target
 * cannot be connected to at all. What happens to single requests is no error but a count. */
enum err_code load_run(const struct load_options *options, struct load_result *out,
                       struct err *e) MUST_CHECK;

#endif
