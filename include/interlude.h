/* interlude.h: decide in your own process.
 *
 * libinterlude is the pure core of the Interlude server: a plan (YAML, docs/plans.md in the source)
 * and a request (JSON) give a decision, the same one that the server gives, on any machine. It
 * opens no file, starts no thread, reads no clock, writes no log and keeps no global.
 *
 *   struct interlude_plan *plan = interlude_plan_load(yaml, yaml_len, errors, 8, &count);
 *   interlude_decide(plan, request, len, now_us, work, work_bytes, &decision, &error);
 *
 * Threads: a plan is immutable; any number of threads may decide with it at once, each with its own
 * `work`. Memory: only interlude_plan_load allocates; interlude_plan_free gives it back.
 * Link with -linterlude -lyaml -lm (pkg-config --libs --static libinterlude). */
#ifndef INTERLUDE_H
#define INTERLUDE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define INTERLUDE_API __attribute__((visibility("default")))
#else
#define INTERLUDE_API
#endif

struct interlude_plan;

/* What went wrong, and where. What is not known is 0 or "". */
struct interlude_error {
    char code[32];         /* as in the server's problem documents: "json_syntax", "plan_invalid" */
    uint32_t line, column; /* in a plan, from 1 */
    size_t offset;         /* in a request, bytes from 0 */
    char pointer[96];      /* in a request, a JSON pointer: "/session" */
    char text[256];        /* one line that a person can act on */
};

/* Compiles a plan. On failure returns NULL and fills the first `errors_max` of `errors`, in the
 * order of the text; *error_count is the number of all errors, which may be more. `errors` may be
 * NULL where errors_max is 0, `error_count` may be NULL, and `yaml` too where len is 0. The text is
 * not kept. Without memory there is one error, "no_memory". */
INTERLUDE_API struct interlude_plan *interlude_plan_load(const char *yaml, size_t len,
                                                         struct interlude_error *errors,
                                                         size_t errors_max, size_t *error_count);

/* NULL is allowed. No thread may be deciding with it. */
INTERLUDE_API void interlude_plan_free(struct interlude_plan *plan);

/* NUL-terminated; live as long as the plan. */
INTERLUDE_API const char *interlude_plan_version(const struct interlude_plan *plan);
INTERLUDE_API const char *interlude_plan_fingerprint(const struct interlude_plan *plan);

/* The demonstration plan, NUL-terminated, static. */
INTERLUDE_API const char *interlude_demo_plan(void);

enum {
    INTERLUDE_REQUEST_BYTES_MAX = 64 * 1024,
    INTERLUDE_ANSWER_BYTES_MAX = 64 * 1024,
    /* `work` beside the bytes of the request; must be aligned as for malloc. */
    INTERLUDE_WORK_BYTES = 8 * 1024,
};

/* A decision. The texts are NUL-terminated, live as long as the plan, and are the server's words.
 */
struct interlude_decision {
    const char *variant; /* "unknown" if the request named one that the plan does not have */
    const char *assignment;
    const char *policy; /* that decided */
    const char *action;
    const char *wanted; /* what a rule wanted; differs from `action` where a guardrail masked it */
    const char *posteriors, *state;
    int ads;                /* 0 to 100 */
    int64_t max_duration_s; /* of the pod, seconds; 0: none */
    int64_t cooldown_s;     /* until the next decision, seconds */
};

/* Decides. `request`: one JSON object of `len` bytes, at most INTERLUDE_REQUEST_BYTES_MAX; give it
 * a `request_id`, which is what draws are keyed by (requests without one share their draws).
 * `now_us`: microseconds since 1970, of the years 0 to 9999; used where the request has no
 * `time`. `work`: at least INTERLUDE_WORK_BYTES + len bytes, aligned as for malloc; its contents do
 * not matter. Returns 0; or -1, with *error filled (it may be NULL) and *out untouched: what the
 * server would answer with 400, or "limit" where `work` is too small or `now_us` out of range. For
 * reasons, experiment and fingerprint, ask for the JSON. */
INTERLUDE_API int interlude_decide(const struct interlude_plan *plan, const char *request,
                                   size_t len, int64_t now_us, void *work, size_t work_bytes,
                                   struct interlude_decision *out, struct interlude_error *error);

/* The same, as the server's JSON answer, into answer[0 .. *answer_len); not NUL-terminated.
 * INTERLUDE_ANSWER_BYTES_MAX bytes always suffice; "limit" where they did not fit. */
INTERLUDE_API int interlude_decide_json(const struct interlude_plan *plan, const char *request,
                                        size_t len, int64_t now_us, void *work, size_t work_bytes,
                                        char *answer, size_t answer_bytes, size_t *answer_len,
                                        struct interlude_error *error);

#ifdef __cplusplus
}
#endif

#endif
