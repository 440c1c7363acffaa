/* allocate: which variant a request gets. The variant that the request names; else the first
 * experiment, in file order, whose slice holds the unit; else the default. */
#include "decide/decide.h"

#include "base/err.h"

uint32_t allocate_ppm(struct span salt, const char *tag, struct span unit)
{
    char text[NAME_BYTES_MAX * 4 + 16 + REQUEST_UNIT_BYTES_MAX];
    struct buf b = buf_of(text, sizeof text);
    buf_span(&b, salt);
    buf_char(&b, '/');
    buf_span(&b, span_of(tag));
    buf_char(&b, '/');
    buf_span(&b, unit);
    INVARIANT(!b.full);
    return (uint32_t)((uint64_t)hash_murmur3_32(buf_text(&b), 0) * PPM >> 32);
}

static int split_of(const struct plan_experiment *experiment, struct span unit)
{
    uint64_t ppm = allocate_ppm(experiment->salt, "split", unit);
    int last = experiment->split_count - 1;
    uint64_t sum = experiment->split[last].up_to;
    for (int i = 0; i < last; i++)
        if (ppm * sum < experiment->split[i].up_to * PPM) return experiment->split[i].variant;
    return experiment->split[last].variant;
}

static bool allocate_experiment(const struct plan *plan, struct span unit, struct decision *out)
{
    for (int i = 0; i < plan->experiment_count; i++) {
        const struct plan_experiment *experiment = &plan->experiments[i];
        if (allocate_ppm(experiment->salt, "slice", unit) >= experiment->slice_ppm) continue;
        out->experiment = i;
        out->assignment = ASSIGNMENT_EXPERIMENT;
        out->variant = split_of(experiment, unit);
        return true;
    }
    return false;
}

void allocate(const struct plan *plan, const struct request *request, struct decision *out)
{
    out->experiment = -1;
    out->variant_unknown = false;
    out->variant = plan->default_variant;
    if (request->variant >= 0) {
        out->assignment = ASSIGNMENT_CALLER;
        out->variant = request->variant;
    } else if (request->variant == REQUEST_VARIANT_UNKNOWN) {
        out->assignment = ASSIGNMENT_UNKNOWN_VARIANT;
        out->variant_unknown = true;
        out->reasons |= REASON_BIT(REASON_UNKNOWN_VARIANT);
    } else if (plan->experiment_count && !request->unit_id.len) {
        out->assignment = ASSIGNMENT_NO_UNIT;
        out->reasons |= REASON_BIT(REASON_NO_UNIT);
    } else if (!allocate_experiment(plan, request->unit_id, out)) {
        out->assignment = ASSIGNMENT_DEFAULT;
    }
}
