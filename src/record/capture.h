/* capture: what was measured, in a form that can be added up without loss.
 *
 * A capture is a file of JSON lines (docs/captures.md): a header that says what was measured on
 * what, then a line for each interval and target with every count and the whole latency histogram.
 * A percentile cannot be averaged; a histogram can be added. So nothing here stores a percentile:
 * whoever reads the file works it out, over whichever intervals the question is about.
 *
 * Lines of one target add up one after the other (capture_interval_add). Lines of several targets
 * tell of the same time and the same machine, so those must not be counted once a target:
 * capture_total_all.
 *
 * Threads: values, no state. Ownership: headers and intervals hold no pointers; a struct capture
 * owns its intervals until capture_done. The functions on text allocate nothing. */
#ifndef INTERLUDE_RECORD_CAPTURE_H
#define INTERLUDE_RECORD_CAPTURE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hist.h"
#include "record/machine.h"

enum {
    CAPTURE_TARGETS_MAX = 8,
    CAPTURE_TEXT_MAX = 256,              /* of each text in a header, its NUL included */
    CAPTURE_LINE_BYTES_MAX = 96 * 1024,  /* of any line, without its end */
    CAPTURE_INTERVALS_MAX = 1000 * 1000, /* of one file */
};

/* Where a request failed. A failed connect is an attempt's, not a request's: the request waits for
 * another connection. */
enum capture_stage {
    CAPTURE_CONNECT,
    CAPTURE_SEND,
    CAPTURE_RECEIVE,
    CAPTURE_STATUS, /* answered, but not with 2xx */
    CAPTURE_TIMEOUT,
    CAPTURE_STAGE_COUNT,
};

const char *capture_stage_name(enum capture_stage stage);

struct capture_target {
    char url[CAPTURE_TEXT_MAX];
    char build_version[CAPTURE_TEXT_MAX], commit[CAPTURE_TEXT_MAX]; /* "" if not known */
    char plan_version[CAPTURE_TEXT_MAX], fingerprint[CAPTURE_TEXT_MAX];
};

/* All texts are UTF-8. Rates are per second, of all targets together. */
struct capture_header {
    int64_t started_us; /* since 1970, UTC */
    struct machine machine;
    char shape[32];    /* "flat" or "diurnal" */
    char arrivals[32]; /* "constant" or "poisson" */
    char spread[32];   /* over the targets: "interleave" or "alternate" */
    char bodies[CAPTURE_TEXT_MAX];
    double rate;         /* flat */
    double peak, trough; /* diurnal */
    uint64_t cycle_us, duration_us, turn_us;
    uint64_t seed, connections;
    uint32_t targets;
    struct capture_target target[CAPTURE_TARGETS_MAX];
};

/* Every request that was due is in exactly one of: latency.count, an error of the stages from send
 * on, unsent; or it is still under way, and will be in a later interval. */
struct capture_interval {
    uint32_t target;  /* its place in the header, from 0 */
    int64_t start_us; /* since 1970, UTC */
    uint64_t
        length_us; /* to the end; of intervals added up: from the first start to the last end */
    uint64_t active_us; /* in which requests to this target were due */

    uint64_t due, sent;
    uint64_t errors[CAPTURE_STAGE_COUNT];
    uint64_t late;      /* sent more than 1 ms after it was due */
    uint64_t late_free; /* those of them for which a connection was free */
    /* Taken up by the generator more than 1 ms after they were due, before it looked for a
     * connection, and whether or not they were sent: its own fault. */
    uint64_t taken_late;
    uint64_t queued; /* no connection was free when it was due */
    uint64_t unsent; /* given up at the end of the run, still waiting for a connection */

    int64_t steal_us, throttled_us; /* the machine's in this interval, or MACHINE_UNKNOWN */
    struct hist latency;            /* of 2xx answers, from when the request was due */
};

void capture_interval_init(struct capture_interval *i, uint32_t target);

/* Adds another interval of the same target. Exact: the result is what one interval over both would
 * have been. Unknown disturbance stays unknown. */
void capture_interval_add(struct capture_interval *into, const struct capture_interval *from);

/* Requests that were due and got no 2xx answer. */
uint64_t capture_interval_failed(const struct capture_interval *i);

/* A line without its end. A buf of CAPTURE_LINE_BYTES_MAX always suffices. */
void capture_write_header(struct buf *b, const struct capture_header *h);
void capture_write_interval(struct buf *b, const struct capture_interval *i);

/* Read what those wrote, without the line's end. Unknown members are skipped; what every
 * capture has must be there, and a histogram must agree with itself.
 * ERR_JSON_*: no such line (`e` has the offset); ERR_FIELD_TYPE, ERR_FIELD_RANGE: a member is
 * wrong or missing; ERR_UNSUPPORTED: another format, another division into buckets, or a header
 * where an interval should be. `line` has at most
 * CAPTURE_LINE_BYTES_MAX bytes, else ERR_LIMIT. */
enum err_code capture_read_header(struct span line, struct capture_header *out,
                                  struct err *e) MUST_CHECK;
enum err_code capture_read_interval(struct span line, struct capture_interval *out,
                                    struct err *e) MUST_CHECK;

struct capture {
    struct capture_header header;
    struct capture_interval *intervals; /* as in the file */
    size_t count;
};

/* Reads a file. A last line that lacks its end is left out: its writer was stopped within it.
 * Errors are those above with `line`, and ERR_SYSTEM. */
enum err_code capture_open(const char *path, struct capture *out, struct err *e) MUST_CHECK;
void capture_done(struct capture *c);

/* All intervals of all targets as one, as if they had been one target (out->target is 0). What is
 * the machine's is taken once an interval. So is active_us, unless targets took turns, each of
 * which was active in its own. */
void capture_total_all(const struct capture *c, struct capture_interval *out);

/* All intervals of one target, added up. */
void capture_total(const struct capture *c, uint32_t target, struct capture_interval *out);

#endif
