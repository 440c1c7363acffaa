/* load_run: an open loop of requests against one server or several.
 *
 * Requests are due when the schedule says (load_plan), whatever the servers do. A latency is
 * counted from when its request was DUE, not from when it was sent: a server that stalls for 100 ms
 * makes everybody wait who comes in that time, and a generator that politely waits with it (a
 * closed loop) would count one slow request where there were a hundred. So:
 *
 * - a request whose target has no free connection waits in that target's queue and keeps its time;
 * - what is still in a queue a second after the schedule's end is counted as unsent;
 * - a request sent more than 1 ms after it was due is counted as late, whoever was the cause;
 * - when the generator takes a request up, it asks first how long ago that was due, and only then
 *   whether a connection is free. Between those two moments lies the generator's own lateness and
 *   nothing of the server's: after a stall of the generator all that was due in it is found late,
 *   however few connections there are. If many were, the figures are not the server's.
 *
 * A server may close a connection when it likes. If it does so just when a request is sent, and the
 * kernel tells that it was closed without that request having been read (a reset, or bytes that
 * were never acknowledged), then the request goes out once more, on a new connection, and keeps the
 * time when it was due. A server that took a request and closed instead of answering has failed it:
 * that is an error, and not asked again.
 *
 * One thread. It sleeps until shortly before the next request is due and then polls, because a
 * sleep ends tens of microseconds late; the time spent polling in vain is told apart from its work.
 *
 * The hooks are called in between; what they take delays requests. */
#ifndef INTERLUDE_LAB_LOAD_RUN_H
#define INTERLUDE_LAB_LOAD_RUN_H

#include "lab/load_answer.h"
#include "lab/load_body.h"
#include "lab/load_plan.h"
#include "lab/load_target.h"
#include "record/capture.h"

#include <stdatomic.h>

enum {
    LOAD_CONNECTIONS_MAX = 10000,
    LOAD_LATE_NS = 1000000,
    LOAD_GRACE_NS = 1000000000, /* for queued requests, after the schedule's end */
    LOAD_TURN_NS_MIN = 1000000,
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
    uint64_t turn_ns;     /* LOAD_ALTERNATE: at least LOAD_TURN_NS_MIN */
    uint32_t connections; /* to each target, 1 to LOAD_CONNECTIONS_MAX */
    uint64_t timeout_ns;  /* of a connect, and of a request from when it was sent; above 0 */
    uint64_t spin_ns;     /* how long before a request is due polling begins */
    uint64_t interval_ns; /* above 0 */
    const struct load_bodies *bodies;
    /* Not 0: the schedule ends, and what is under way has LOAD_GRACE_NS more. May be NULL. */
    const atomic_int *stop;

    void *context; /* the hooks'; each of them may be NULL */
    /* All connections are open, and nothing was sent yet. An error ends the run with it. */
    enum err_code (*opened)(void *context, struct err *e);
    /* The schedule begins in a moment, at `started_us` since 1970. */
    void (*began)(void *context, int64_t started_us);
    void (*interval)(void *context, const struct capture_interval *interval);
    void (*progress)(void *context, const struct load_progress *progress);
};

struct load_result {
    int64_t started_us; /* since 1970: when the schedule began */
    uint32_t targets;
    struct capture_interval total[CAPTURE_TARGETS_MAX];
    struct hist taken_after; /* taken up - due, of ALL requests: the generator's own lateness */
    uint64_t reconnects;     /* connections that servers closed between two requests */
    uint64_t statuses[CAPTURE_TARGETS_MAX][LOAD_STATUS_MAX + 1]; /* answers, by their status */

    /* Of the schedule alone, without the wait for what is under way at its end. */
    uint64_t wall_ns;    /* how long it was */
    uint64_t cpu_ns;     /* this thread ran */
    uint64_t spin_ns;    /* of cpu_ns: polling in vain */
    uint64_t starved_ns; /* this thread could have run, and had no core */
};

/* Opens all connections, runs the schedule, and waits for what is under way. ERR_SYSTEM: a target
 * cannot be connected to at all; ERR_UNSUPPORTED: stopped before the first request; else that of
 * the hook `opened`. What happens to single requests is no error but a count. */
enum err_code load_run(const struct load_options *options, struct load_result *out,
                       struct err *e) MUST_CHECK;

#endif
