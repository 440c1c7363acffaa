/* The metric series that a plan makes: the rows are DESIGN's metrics whose labels the plan closes,
 * the columns are those labels. What every plan makes alike (process, log, signals) is not in it.
 */
#include "plan/plan_load.h"

enum dimension {
    BY_VARIANT, /* and `unknown` */
    BY_SEGMENT, /* and `other` and `unset` */
    BY_ACTION,
    BY_POSTERIORS_STATUS,
    BY_STATE_STATUS,
    BY_EXPERIMENT, /* and `none` */
    BY_ASSIGNMENT,
    BY_ATTRIBUTE, /* of a session, and of `last` */
    BY_WHY_UNKNOWN,
    BY_GUARDRAIL,
    BY_FALLBACK_REASON,
    BY_BUCKET,
    DIMENSION_COUNT,
};

enum {
    WHYS_UNKNOWN = 2, /* absent, invalid */
    /* 10 a decade from 10 us to 1 s, then 1 1.25 1.6 2 s and +Inf; and _sum and _count */
    BUCKETS = 5 * 10 + 4 + 1 + 2,
};

#define BY(dimension) (1u << BY_##dimension)

static const struct {
    const char *name;
    uint32_t by;
} metrics[] = {
    {"interlude_decisions_total", BY(VARIANT) | BY(SEGMENT) | BY(ACTION)},
    {"interlude_assignments_total", BY(EXPERIMENT) | BY(ASSIGNMENT) | BY(VARIANT)},
    {"interlude_request_duration_seconds", BY(VARIANT) | BY(BUCKET)},
    {"interlude_posteriors_total", BY(VARIANT) | BY(SEGMENT) | BY(POSTERIORS_STATUS)},
    {"interlude_state_total", BY(VARIANT) | BY(STATE_STATUS)},
    /* Of one version: those of plans before it are theirs. */
    {"interlude_missing_posteriors_total", BY(VARIANT) | BY(SEGMENT) | BY(ACTION)},
    {"interlude_posteriors_unused_total", BY(VARIANT)},
    {"interlude_attribute_unknown_total", BY(ATTRIBUTE) | BY(WHY_UNKNOWN)},
    {"interlude_guardrail_total", BY(VARIANT) | BY(GUARDRAIL)},
    {"interlude_fallback_total", BY(VARIANT) | BY(FALLBACK_REASON)},
    {"interlude_rule_errors_total", BY(VARIANT)},
    {"interlude_ads_decided_total", BY(VARIANT)},
    {"interlude_covered_seconds_total", BY(VARIANT)},
    {"interlude_plan_info", 0},
};

static uint64_t judged_attributes(const struct attribute_schema *schema)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < schema->count; i++)
        count += schema->attributes[i].source != ATTRIBUTE_CONTEXT;
    return count;
}

uint64_t plan_series_count(const struct plan *plan, const char **largest)
{
    const uint64_t sizes[DIMENSION_COUNT] = {
        [BY_VARIANT] = (uint64_t)plan->variant_count + 1,
        [BY_SEGMENT] = (uint64_t)plan->segment_count + 2,
        [BY_ACTION] = (uint64_t)plan->actions.count,
        [BY_POSTERIORS_STATUS] = POSTERIORS_STATUS_COUNT,
        [BY_STATE_STATUS] = STATE_STATUS_COUNT,
        [BY_EXPERIMENT] = (uint64_t)plan->experiment_count + 1,
        [BY_ASSIGNMENT] = ASSIGNMENT_COUNT,
        [BY_ATTRIBUTE] = judged_attributes(&plan->schema),
        [BY_WHY_UNKNOWN] = WHYS_UNKNOWN,
        [BY_GUARDRAIL] = GUARDRAIL_COUNT,
        [BY_FALLBACK_REASON] = FALLBACK_REASON_COUNT - 1,
        [BY_BUCKET] = BUCKETS,
    };
    uint64_t sum = 0, most = 0;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        uint64_t series = 1;
        for (int d = 0; d < DIMENSION_COUNT; d++)
            if (metrics[i].by >> d & 1) series *= sizes[d];
        sum += series;
        if (series <= most) continue;
        most = series;
        *largest = metrics[i].name;
    }
    return sum;
}
