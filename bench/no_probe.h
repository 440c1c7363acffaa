/* Stands in for decide/probe.h in a build without marks: what bench/benches/sampling.py compares
 * the product with. Included before everything else, under the same guard. */
#ifndef INTERLUDE_DECIDE_PROBE_H
#define INTERLUDE_DECIDE_PROBE_H

#include <stdint.h>

#define STAGES(X)                 \
    X(STAGE_READ, "read")         \
    X(STAGE_PARSE, "parse")       \
    X(STAGE_ALLOCATE, "allocate") \
    X(STAGE_PRESENCE, "presence") \
    X(STAGE_MASK, "mask")         \
    X(STAGE_CHOOSE, "choose")     \
    X(STAGE_SETTLE, "settle")     \
    X(STAGE_ENCODE, "encode")     \
    X(STAGE_SIGNALS, "signals")   \
    X(STAGE_WRITE, "write")

#define STAGE_ENUM(code, name) code,
enum request_stage { STAGES(STAGE_ENUM) STAGE_COUNT };
#undef STAGE_ENUM

const char *stage_name(enum request_stage stage);

struct probe {
    uint64_t (*tick)(void);
    uint64_t last_ns;
    uint64_t spent_ns[STAGE_COUNT];
};

static inline void probe_mark(struct probe *probe, enum request_stage stage)
{
    (void)probe, (void)stage;
}

#endif
