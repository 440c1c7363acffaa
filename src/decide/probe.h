/* probe: where a request's time goes, in the few requests that are sampled.
 *
 * The one who serves hands a probe in, or NULL; a mark then costs one comparison. Nothing that is
 * decided depends on it. Threads: a probe belongs to one. */
#ifndef INTERLUDE_DECIDE_PROBE_H
#define INTERLUDE_DECIDE_PROBE_H

#include <stdint.h>

/* In the order in which a request passes them. */
#define STAGES(X)                                                 \
    X(STAGE_READ, "read")         /* HTTP */                      \
    X(STAGE_PARSE, "parse")       /* JSON to a request */         \
    X(STAGE_ALLOCATE, "allocate") /* the variant, and the gate */ \
    X(STAGE_PRESENCE, "presence")                                 \
    X(STAGE_MASK, "mask")                                         \
    X(STAGE_CHOOSE, "choose")                                     \
    X(STAGE_SETTLE, "settle")                                     \
    X(STAGE_ENCODE, "encode")   /* the answer's bytes */          \
    X(STAGE_SIGNALS, "signals") /* counters and records */        \
    X(STAGE_WRITE, "write")     /* send(); shared by the answers that go out together */

#define STAGE_ENUM(code, name) code,
enum request_stage { STAGES(STAGE_ENUM) STAGE_COUNT };
#undef STAGE_ENUM

const char *stage_name(enum request_stage stage);

struct probe {
    uint64_t (*tick)(void); /* nanoseconds, never going back */
    uint64_t last_ns;
    uint64_t spent_ns[STAGE_COUNT];
};

/* What passed since the last mark was `stage`. `probe` may be NULL. */
static inline void probe_mark(struct probe *probe, enum request_stage stage)
{
    if (__builtin_expect(!probe, 1)) return;
    uint64_t now_ns = probe->tick();
    probe->spent_ns[stage] += now_ns - probe->last_ns;
    probe->last_ns = now_ns;
}

#endif
