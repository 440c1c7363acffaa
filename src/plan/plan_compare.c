#include "plan/plan_compare.h"

#include "decide/guardrail.h"
#include "plan/key.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- telling ---- */

static void weaker(struct plan_weaker *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void weaker(struct plan_weaker *out, const char *format, ...)
{
    if (out->count == PLAN_WEAKER_MAX) {
        out->more++;
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(out->texts[out->count++], PLAN_WEAKER_TEXT_BYTES, format, args);
    va_end(args);
}

/* Names in a plan are followed by a NUL. */
static void gone(struct plan_weaker *out, const char *where, struct span name)
{
    weaker(out, "%s.%s is gone", where, name.data);
}

static bool same_rule(const struct rule *a, const struct rule *b)
{
    if (!a || !b) return a == b;
    return span_equal(rule_text(a), rule_text(b));
}

/* What is left of it is its beginning: as of a text that goes over several lines, cut. */
static bool shortened(struct span old, struct span new)
{
    return new.len < old.len &&span_equal((struct span){old.data, new.len}, new);
}

/* The condition, or the end of it, is gone. */
static bool lost(const struct rule *old, const struct rule *new)
{
    return old && (!new || shortened(rule_text(old), rule_text(new)));
}

/* ---- what is declared ---- */

static void compare_actions(const struct plan *before, const struct plan *after,
                            struct plan_weaker *out)
{
    for (int i = 0; i < before->actions.count; i++) {
        const struct action *old = &before->actions.actions[i];
        int found = action_find(&after->actions, old->name);
        if (found < 0) {
            gone(out, "actions", old->name);
            continue;
        }
        const struct action *new = &after->actions.actions[found];
        if (old->max_duration_ms && new->max_duration_ms < old->max_duration_ms)
            weaker(out, "actions.%s: its max_duration is %s, so caps count less of it",
                   old->name.data, new->max_duration_ms ? "shorter" : "gone");
        if (new->ads < old->ads)
            weaker(out, "actions.%s: it counts as %d ads, not %d", old->name.data, new->ads,
                   old->ads);
    }
}

static void compare_labels(const struct plan *before, const struct plan *after,
                           struct plan_weaker *out)
{
    for (int i = 0; i < before->segment_count; i++)
        if (plan_segment_find(after, before->segments[i]) < 0)
            gone(out, "segments", before->segments[i]);
    for (uint32_t i = 0; i < before->schema.count; i++) {
        const struct attribute *old = &before->schema.attributes[i];
        if (old->source == ATTRIBUTE_DECLARED && plan_attribute_find(after, old->name) < 0)
            gone(out, "attributes", old->name);
    }
    if (shortened(before->salt, after->salt)) weaker(out, "salt is shorter");
    if (before->timezone_offset_s && !after->timezone_offset_s)
        weaker(out, "timezone_offset is gone");
}

/* ---- policies ---- */

static const struct policy *policy_find(const struct plan *plan, struct span name)
{
    for (int i = 0; i < plan->policy_count; i++)
        if (span_equal(plan->policies[i].name, name)) return &plan->policies[i];
    return NULL;
}

/* A rule that has other words is somebody's work; one that lost its end may be half a file's. */
static void compare_rule(const struct policy *policy, int i, const struct policy_rule *old,
                         const struct policy_rule *new, struct plan_weaker *out)
{
    if (lost(old->when, new->when))
        weaker(out, "policies.%s.rules: the condition of rule %d is gone or shorter",
               policy->name.data, i + 1);
    if (old->cooldown_ms >= 0 && new->cooldown_ms < 0)
        weaker(out, "policies.%s.rules: the cooldown of rule %d is gone", policy->name.data, i + 1);
}

static void compare_rules(const struct policy *old, const struct policy *new,
                          struct plan_weaker *out)
{
    if (new->rule_count < old->rule_count)
        weaker(out, "policies.%s.rules: %d of %d rules are gone", old->name.data,
               old->rule_count - new->rule_count, old->rule_count);
    for (int i = 0; i < old->rule_count && i < new->rule_count; i++)
        compare_rule(old, i, &old->rules[i], &new->rules[i], out);
}

static void compare_used_actions(const struct plan *before, const struct policy *old,
                                 const struct plan *after, const struct policy *new,
                                 struct plan_weaker *out)
{
    for (int i = 0; i < before->actions.count; i++) {
        int found = action_find(&after->actions, before->actions.actions[i].name);
        if (action_in(old->actions, i) && found >= 0 && !action_in(new->actions, found))
            weaker(out, "policies.%s.actions: %s is gone", old->name.data,
                   before->actions.actions[i].name.data);
    }
    bool some = action_count(old->actions) < before->actions.count;
    if (some && action_count(new->actions) == after->actions.count)
        weaker(out, "policies.%s.actions: it uses every action now", old->name.data);
}

static bool same_values(const struct policy *old, const struct policy *new)
{
    for (int i = 0; i < ACTIONS_MAX; i++)
        if (old->offset[i] != new->offset[i] || old->weight[i] != new->weight[i]) return false;
    return true;
}

/* A key that said something else than its default, and is at its default now: as far as a plan
 * knows, it is gone. */
static void compare_keys(const struct plan *before, const struct policy *old,
                         const struct plan *after, const struct policy *new,
                         struct plan_weaker *out)
{
    struct print was = {.plan = before, .traits = policy_ops(old->kind)->traits};
    struct print is = {.plan = after, .traits = policy_ops(new->kind)->traits};
    for (size_t i = 0; i < policy_keys.count; i++) {
        const struct key *key = &policy_keys.keys[i];
        bool optional = key->kind && (key->initial || key->kind->is_set);
        if (optional && !key_is_initial(key, &was, old) && key_is_initial(key, &is, new))
            weaker(out, "policies.%s.%s is gone", old->name.data, key->name);
    }
    if (!old->values_equal && new->values_equal)
        weaker(out, "policies.%s.value is gone", old->name.data);
    if (!old->values_equal && !new->values_equal && !same_values(old, new))
        weaker(out, "policies.%s.value changed", old->name.data);
}

static void compare_policies(const struct plan *before, const struct plan *after,
                             struct plan_weaker *out)
{
    for (int i = 0; i < before->policy_count; i++) {
        const struct policy *old = &before->policies[i], *new = policy_find(after, old->name);
        if (!new) {
            gone(out, "policies", old->name);
            continue;
        }
        if (new->kind == old->kind) compare_rules(old, new, out);
        compare_used_actions(before, old, after, new, out);
        if (policy_reads_posteriors(old) && policy_reads_posteriors(new))
            compare_keys(before, old, after, new, out);
    }
}

/* ---- variants and experiments ---- */

static const struct plan_experiment *experiment_find(const struct plan *plan, struct span name)
{
    for (int i = 0; i < plan->experiment_count; i++)
        if (span_equal(plan->experiments[i].name, name)) return &plan->experiments[i];
    return NULL;
}

static bool split_has(const struct plan *plan, const struct plan_experiment *experiment,
                      struct span variant)
{
    for (int i = 0; i < experiment->split_count; i++)
        if (span_equal(plan->variants[experiment->split[i].variant].name, variant)) return true;
    return false;
}

static void compare_experiments(const struct plan *before, const struct plan *after,
                                struct plan_weaker *out)
{
    for (int i = 0; i < before->experiment_count; i++) {
        const struct plan_experiment *old = &before->experiments[i];
        const struct plan_experiment *new = experiment_find(after, old->name);
        if (!new) {
            gone(out, "experiments", old->name);
            continue;
        }
        if (shortened(old->salt, new->salt))
            weaker(out, "experiments.%s.salt is shorter", old->name.data);
        if (old->slice_ppm < PPM && new->slice_ppm == PPM)
            weaker(out, "experiments.%s.slice is gone: it takes everybody", old->name.data);
        for (int s = 0; s < old->split_count; s++) {
            struct span variant = before->variants[old->split[s].variant].name;
            if (!split_has(after, new, variant))
                weaker(out, "experiments.%s.split.%s is gone", old->name.data, variant.data);
        }
    }
}

static void compare_variants(const struct plan *before, const struct plan *after,
                             struct plan_weaker *out)
{
    for (int i = 0; i < before->variant_count; i++)
        if (plan_variant_find(after, before->variants[i].name) < 0)
            gone(out, "variants", before->variants[i].name);
}

/* ---- guardrails ---- */

static void compare_condition(struct span name, const struct rule *old, const struct rule *new,
                              struct plan_weaker *out)
{
    if (!same_rule(old, new))
        weaker(out, "guardrails.%s: its condition changed, and may hold less often", name.data);
}

static void compare_time(struct span name, int64_t old_ms, int64_t new_ms, struct plan_weaker *out)
{
    if (new_ms < old_ms)
        weaker(out, "guardrails.%s: %lld ms became %lld ms", name.data, (long long)old_ms,
               (long long)new_ms);
}

/* Whether some item of the cap holds wherever `when` does, and lets through no more than `max`. */
static bool cap_covers(const struct plan_cap *cap, const struct rule *when, int64_t max)
{
    for (int i = 0; i < cap->count; i++)
        if (cap->items[i].max <= max &&
            (!cap->items[i].when || same_rule(cap->items[i].when, when)))
            return true;
    return false;
}

static void compare_cap(struct span name, const struct plan_cap *old, const struct plan_cap *new,
                        struct plan_weaker *out)
{
    for (int i = 0; i < old->count; i++) {
        const struct rule *when = old->items[i].when;
        if (!cap_covers(new, when, old->items[i].max))
            weaker(out, "guardrails.%s: the cap of %lld%s%s is gone or higher", name.data,
                   (long long)old->items[i].max, when ? " when " : "",
                   when ? rule_text(when).data : "");
        else if (i < new->count &&new->items[i].max == old->items[i].max &&
                 lost(when, new->items[i].when))
            weaker(out, "guardrails.%s: the condition of the cap of %lld is gone or shorter",
                   name.data, (long long)old->items[i].max);
    }
}

static void compare_guardrail(const struct plan_guardrail *old, const struct plan_guardrail *new,
                              struct plan_weaker *out)
{
    struct span name = old->row->word;
    if (!new) {
        weaker(out, "guardrails.%s is gone", name.data);
        return;
    }
    switch (old->row->shape) {
    case GUARDRAIL_CONDITION:
        compare_condition(name, old->when, new->when, out);
        break;
    case GUARDRAIL_DURATION:
        compare_time(name, old->ms, new->ms, out);
        break;
    case GUARDRAIL_CAP:
        compare_cap(name, &old->cap, &new->cap, out);
        break;
    case GUARDRAIL_SWITCH:
        break;
    }
}

static void compare_guardrails(const struct plan *before, const struct plan *after,
                               struct plan_weaker *out)
{
    for (int code = 0; code < GUARDRAIL_COUNT; code++) {
        const struct plan_guardrail *old = plan_guardrail_find(before, (enum guardrail_code)code);
        if (old) compare_guardrail(old, plan_guardrail_find(after, (enum guardrail_code)code), out);
    }
    for (int code = 0; code < GUARDRAIL_COUNT; code++) {
        const struct plan_guardrail *old = plan_guardrail_find(before, (enum guardrail_code)code);
        const struct plan_guardrail *new = plan_guardrail_find(after, (enum guardrail_code)code);
        bool was = old && old->permissive, is = new &&new->permissive;
        if (is && !was)
            weaker(out, "guardrails.on_unknown: %s is permissive now",
                   guardrail_table[code].word.data);
        if (was && !is)
            weaker(out, "guardrails.on_unknown.%s is gone", guardrail_table[code].word.data);
    }
}

void plan_weaker_find(const struct plan *before, const struct plan *after, struct plan_weaker *out)
{
    out->count = out->more = 0;
    compare_guardrails(before, after, out);
    compare_actions(before, after, out);
    compare_policies(before, after, out);
    compare_variants(before, after, out);
    compare_experiments(before, after, out);
    compare_labels(before, after, out);
}

/* ---- who moves ---- */

/* The variant that an experiment gives the unit, or the default one. */
static struct span variant_of(const struct plan *plan, struct span unit)
{
    const struct request request = {.unit_id = unit, .variant = REQUEST_VARIANT_NONE};
    struct decision decision = {0};
    allocate(plan, &request, &decision);
    return plan->variants[decision.variant].name;
}

uint32_t plan_units_moved_ppm(const struct plan *before, const struct plan *after)
{
    uint32_t moved = 0;
    for (int i = 0; i < PLAN_UNITS_SAMPLED; i++) {
        char text[24];
        struct span unit = {text, (size_t)snprintf(text, sizeof text, "unit-%d", i)};
        moved += !span_equal(variant_of(before, unit), variant_of(after, unit));
    }
    return (uint32_t)((uint64_t)moved * PPM / PLAN_UNITS_SAMPLED);
}
