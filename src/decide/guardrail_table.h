/* The guardrails, in the order in which they are judged and reported.
 *
 * A row is all that there is to know of one, but for the bodies of its functions (guardrail.c):
 * from it come the reason and the label in the metrics, the key in a plan, what is read of a
 * session, and the line in docs/plans.md. */
#ifndef INTERLUDE_DECIDE_GUARDRAIL_TABLE_H
#define INTERLUDE_DECIDE_GUARDRAIL_TABLE_H

#include "rule/attribute.h"

/* What a plan gives for it. */
enum guardrail_shape {
    GUARDRAIL_CONDITION,
    GUARDRAIL_DURATION, /* 0 to 30 days */
    GUARDRAIL_SWITCH,
    GUARDRAIL_CAP, /* a number, or a list of {when, max} */
};

/* What a cap counts, and what a pod costs there. */
enum guardrail_unit { GUARDRAIL_NO_UNIT, GUARDRAIL_ADS, GUARDRAIL_SECONDS, GUARDRAIL_BREAKS };

#define ATTRIBUTE_BIT(suffix) ((uint64_t)1 << ATTRIBUTE_SLOT_##suffix)

/* X(CODE, word, shape, unit, needed, read, functions, help, why)
 *   unit: SECONDS also means that every pod must have a `max_duration`
 *   needed: the attributes without which the guardrail is unknown
 *   read: others that it looks at, which may be absent; nonsense in them makes the state invalid
 *   functions: GATE(f), MASK(f), or MASK_AND_LEFT(f): gate_f, mask_f, left_f of guardrail.c
 *   help: what it takes away, for docs/plans.md
 *   why: what the reason means, for docs/http.md */
#define GUARDRAILS(X)                                                                              \
    X(AD_FREE, "ad_free", CONDITION, NO_UNIT, 0, 0, GATE(ad_free),                                 \
      "every ad; no policy is asked. Guard it with `has()`: a caller who does not send what it "   \
      "reads counts as ad-free. What is sent and is no value of its type counts as ad-free even "  \
      "so",                                                                                        \
      "the guardrail of that name held: no ads, and no policy was asked. No other guardrail is "   \
      "told beside it")                                                                            \
    X(GRACE_PERIOD, "grace_period", DURATION, NO_UNIT, ATTRIBUTE_BIT(ELAPSED_S), 0,                \
      MASK_AND_LEFT(grace_period), "every ad while `elapsed_s` is below",                          \
      "the session is too young, or `elapsed_s` is unknown")                                       \
    X(MIN_GAP, "min_gap", DURATION, NO_UNIT, ATTRIBUTE_BIT(SECONDS_SINCE_LAST_BREAK_END),          \
      ATTRIBUTE_BIT(BREAKS_IN_SESSION), MASK_AND_LEFT(min_gap),                                    \
      "every ad until that long after the last break ended",                                       \
      "the last break ended too short a while ago, or `seconds_since_last_break_end` is unknown")  \
    X(COOLDOWN, "cooldown", SWITCH, NO_UNIT,                                                       \
      ATTRIBUTE_BIT(LAST_SECONDS_AGO) | ATTRIBUTE_BIT(LAST_COOLDOWN_S), 0,                         \
      MASK_AND_LEFT(cooldown),                                                                     \
      "every ad before the last answer's cooldown is over, when the request carries "              \
      "[`last`](http.md). Without a `last` it takes nothing; one that is sent in part, or with "   \
      "nonsense in it, is unknown",                                                                \
      "the cooldown of the previous answer is not over, or `last` was sent in part or is "         \
      "nonsense")                                                                                  \
    X(ADS_PER_HOUR, "ads_per_hour", CAP, ADS, ATTRIBUTE_BIT(ADS_LAST_HOUR), 0, MASK(cap),          \
      "pods of more ads than are left of it",                                                      \
      "the pod has more ads than are left of the cap, or `ads_last_hour` is unknown")              \
    X(AD_SECONDS_PER_HOUR, "ad_seconds_per_hour", CAP, SECONDS,                                    \
      ATTRIBUTE_BIT(AD_SECONDS_LAST_HOUR), 0, MASK(cap),                                           \
      "pods of more seconds than are left of it",                                                  \
      "the pod may last longer than what is left of the cap, or `ad_seconds_last_hour` is "        \
      "unknown")                                                                                   \
    X(ADS_PER_DAY, "ads_per_day", CAP, ADS, ATTRIBUTE_BIT(ADS_TODAY), 0, MASK(cap),                \
      "pods of more ads than are left of it",                                                      \
      "the pod has more ads than are left of the cap, or `ads_today` is unknown")                  \
    X(MAX_BREAKS_PER_SESSION, "max_breaks_per_session", CAP, BREAKS,                               \
      ATTRIBUTE_BIT(BREAKS_IN_SESSION), 0, MASK(cap),                                              \
      "every ad once the session has had so many breaks",                                          \
      "the session has had as many breaks as it may, or `breaks_in_session` is unknown")           \
    X(CONTENT_REMAINING, "content_remaining", SWITCH, SECONDS, ATTRIBUTE_BIT(CONTENT_REMAINING_S), \
      0, MASK(content_remaining), "pods that don't fit into `content_remaining_s`",                \
      "the pod may last longer than what remains of the content, or `content_remaining_s` is "     \
      "unknown")                                                                                   \
    X(CONTENT_BOUNDARY, "content_boundary", SWITCH, NO_UNIT, ATTRIBUTE_BIT(AT_CONTENT_BOUNDARY),   \
      0, MASK(content_boundary), "every ad off a content boundary",                                \
      "this is no boundary of the content, or `at_content_boundary` is unknown")

#define GUARDRAIL_ENUM(code, ...) GUARDRAIL_##code,
enum guardrail_code { GUARDRAILS(GUARDRAIL_ENUM) GUARDRAIL_COUNT };
#undef GUARDRAIL_ENUM

#endif
