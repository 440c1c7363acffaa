/* words: the closed lists that answers, metrics and log lines are made of. Any thread. */
#ifndef INTERLUDE_DECIDE_WORDS_H
#define INTERLUDE_DECIDE_WORDS_H

#include "decide/guardrail_table.h"

/* Labels of a request's segment beside the plan's: not in the plan's set; not sent. */
#define SEGMENT_OTHER_NAME "other"
#define SEGMENT_UNSET_NAME "unset"
#define VARIANT_UNKNOWN_NAME "unknown"

#define ASSIGNMENTS(X)                     \
    X(ASSIGNMENT_EXPERIMENT, "experiment") \
    X(ASSIGNMENT_CALLER, "caller")         \
    X(ASSIGNMENT_DEFAULT, "default")       \
    X(ASSIGNMENT_NO_UNIT, "no_unit")       \
    X(ASSIGNMENT_UNKNOWN_VARIANT, "unknown_variant")

/* The statuses of posteriors, from harmless to grave: the gravest that holds is the one told. */
#define POSTERIORS_STATUSES(X)                     \
    X(POSTERIORS_BY_DESIGN, "by_design")           \
    X(POSTERIORS_UNSOLICITED, "unsolicited")       \
    X(POSTERIORS_COMPLETE, "complete")             \
    X(POSTERIORS_COLD_START, "cold_start")         \
    X(POSTERIORS_PARTIAL, "partial")               \
    X(POSTERIORS_STALE, "stale")                   \
    X(POSTERIORS_ABSENT, "absent")                 \
    X(POSTERIORS_UNKNOWN_ACTION, "unknown_action") \
    X(POSTERIORS_INVALID, "invalid")

#define STATE_STATUSES(X)         \
    X(STATE_COMPLETE, "complete") \
    X(STATE_PARTIAL, "partial")   \
    X(STATE_INVALID, "invalid")

/* In the order in which an answer lists them: these, and then the guardrails. */
#define REASONS(X)                               \
    X(REASON_POLICY, "policy")                   \
    X(REASON_RULE, "rule")                       \
    X(REASON_NO_RULE, "no_rule")                 \
    X(REASON_FALLBACK, "fallback")               \
    X(REASON_UNKNOWN_VARIANT, "unknown_variant") \
    X(REASON_NO_UNIT, "no_unit")                 \
    X(REASON_PRIOR_FAMILY, "prior_family")

#define FALLBACK_REASONS(X)        \
    X(FALLBACK_NONE, "none")       \
    X(FALLBACK_ABSENT, "absent")   \
    X(FALLBACK_PARTIAL, "partial") \
    X(FALLBACK_INVALID, "invalid") \
    X(FALLBACK_STALE, "stale")     \
    X(FALLBACK_PRIOR_FAMILY, "prior_family")

#define WORD_ENUM(code, text) code,
enum assignment { ASSIGNMENTS(WORD_ENUM) ASSIGNMENT_COUNT };
enum posteriors_status { POSTERIORS_STATUSES(WORD_ENUM) POSTERIORS_STATUS_COUNT };
enum state_status { STATE_STATUSES(WORD_ENUM) STATE_STATUS_COUNT };
#define GUARDRAIL_REASON(code, ...) REASON_##code,
enum reason { REASONS(WORD_ENUM) GUARDRAILS(GUARDRAIL_REASON) REASON_COUNT };
#undef GUARDRAIL_REASON
enum fallback_reason { FALLBACK_REASONS(WORD_ENUM) FALLBACK_REASON_COUNT };
#undef WORD_ENUM

/* A set of reasons. Its first 32 bits are of the list above; the rest is for what a plan names. */
#define REASON_BIT(reason) ((uint64_t)1 << (reason))
_Static_assert(REASON_COUNT <= 32, "the upper half of the set is the plan's");

/* The guardrails are reasons; their labels are the same words. */
enum { GUARDRAIL_FIRST = REASON_COUNT - GUARDRAIL_COUNT, GUARDRAIL_LAST = REASON_COUNT - 1 };

struct span assignment_word(enum assignment assignment);
struct span posteriors_status_word(enum posteriors_status status);
struct span state_status_word(enum state_status status);
struct span reason_word(enum reason reason);
struct span fallback_reason_word(enum fallback_reason reason);

/* The same as strings. */
const char *assignment_name(enum assignment assignment);
const char *posteriors_status_name(enum posteriors_status status);
const char *state_status_name(enum state_status status);
const char *reason_name(enum reason reason);
const char *fallback_reason_name(enum fallback_reason reason);

#endif
