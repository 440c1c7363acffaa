#include "serve/drill_gate.h"

#include "base/hash.h"
#include "decide/guardrail.h"

static const struct rule *ad_free_of(const struct plan *plan)
{
    const struct plan_guardrail *g = plan_guardrail_find(plan, GUARDRAIL_AD_FREE);
    return g ? g->when : NULL;
}

/* What a request can say of an attribute. */
static bool sayable(const struct attribute *attribute, int slot, union attribute_value value)
{
    if (slot == ATTRIBUTE_SLOT_HOUR) return value.i >= 0 && value.i < 24;
    if (slot == ATTRIBUTE_SLOT_WEEKDAY) return value.i >= 0 && value.i < 7;
    if (attribute->type == ATTRIBUTE_INT && attribute->source != ATTRIBUTE_DECLARED)
        return value.i >= 0;
    if (slot == ATTRIBUTE_SLOT_SEGMENT_ID)
        return value.s.len > 0 && value.s.len <= REQUEST_NAME_BYTES_MAX;
    return attribute->type != ATTRIBUTE_STRING || value.s.len <= ATTRIBUTE_STRING_BYTES_MAX;
}

static void choice_add(struct drill_gate *g, int slot)
{
    const struct attribute *attribute = &g->plan->schema.attributes[slot];
    struct rule_values *v = &g->choices[g->slots].values;
    g->choices[g->slots++].slot = slot;
    rule_values(ad_free_of(g->plan), slot, attribute->type, v);
    int kept = 0;
    for (int i = 0; i < v->count; i++)
        if (sayable(attribute, slot, v->values[i])) v->values[kept++] = v->values[i];
    v->count = kept;
}

void drill_gate_init(struct drill_gate *g, const struct plan *plan)
{
    g->plan = plan;
    g->slots = 0;
    if (!ad_free_of(plan)) return;
    uint64_t reads = rule_reads(ad_free_of(plan)) & ~((uint64_t)1 << ATTRIBUTE_SLOT_VARIANT);
    for (; reads && g->slots < DRILL_GATE_SLOTS_MAX; reads &= reads - 1)
        choice_add(g, __builtin_ctzll(reads));
}

/* A time has an hour and a weekday; a request that leaves them out gets the clock's. */
static bool always_known(int slot)
{
    return slot == ATTRIBUTE_SLOT_HOUR || slot == ATTRIBUTE_SLOT_WEEKDAY;
}

/* Choice `i` of an attribute; the last one is to say nothing of it. */
static int choices_of(const struct drill_gate *g, int at)
{
    return g->choices[at].values.count + !always_known(g->choices[at].slot);
}

static void choose(const struct drill_gate *g, int at, int i, struct attributes *a)
{
    int slot = g->choices[at].slot;
    if (i >= g->choices[at].values.count) return;
    a->known |= (uint64_t)1 << slot;
    a->values[slot] = g->choices[at].values.values[i];
}

static void begin(const struct drill_gate *g, int variant, struct attributes *a)
{
    a->known = (uint64_t)1 << ATTRIBUTE_SLOT_VARIANT;
    a->invalid = 0;
    a->values[ATTRIBUTE_SLOT_VARIANT].s = g->plan->variants[variant].name;
}

/* All combinations, as a counter whose digits have as many values as there are choices; nothing
 * said of anything comes first. */
static bool open_by_count(const struct drill_gate *g, int variant, uint64_t all,
                          struct request *request)
{
    for (uint64_t n = all; n-- > 0;) {
        uint64_t left = n;
        begin(g, variant, &request->attributes);
        for (int at = 0; at < g->slots; at++) {
            uint64_t digits = (uint64_t)choices_of(g, at);
            choose(g, at, (int)(left % digits), &request->attributes);
            left /= digits;
        }
        if (!guardrail_gate(g->plan, request, NULL)) return true;
    }
    return false;
}

/* Every attribute at the same place of its choices. */
static bool open_in_step(const struct drill_gate *g, int variant, struct request *request)
{
    for (int i = 0; i <= RULE_VALUES_MAX; i++) {
        begin(g, variant, &request->attributes);
        for (int at = 0; at < g->slots; at++)
            choose(g, at, i % choices_of(g, at), &request->attributes);
        if (!guardrail_gate(g->plan, request, NULL)) return true;
    }
    return false;
}

/* At random, but the same ones each time. */
static bool open_by_chance(const struct drill_gate *g, int variant, int tries,
                           struct request *request)
{
    for (int n = 0; n < tries; n++) {
        begin(g, variant, &request->attributes);
        for (int at = 0; at < g->slots; at++) {
            int counter[2] = {n, at};
            uint32_t drawn =
                hash_murmur3_32((struct span){(const char *)counter, sizeof counter}, 1);
            choose(g, at, (int)(drawn % (uint32_t)choices_of(g, at)), &request->attributes);
        }
        if (!guardrail_gate(g->plan, request, NULL)) return true;
    }
    return false;
}

bool drill_gate_open(const struct drill_gate *g, int variant, int tries, struct request *request)
{
    uint64_t all = 1;
    for (int at = 0; at < g->slots && all <= DRILL_GATE_TRIES; at++)
        all *= (uint64_t)choices_of(g, at);
    if (all <= (uint64_t)tries) return open_by_count(g, variant, all, request);
    return open_in_step(g, variant, request) || open_by_chance(g, variant, tries, request);
}

bool drill_gate_shut(const struct plan *plan)
{
    struct request *nothing = &(struct request){0};
    const struct rule *gate = ad_free_of(plan);
    return gate && rule_reads(gate) == 0 && guardrail_gate(plan, nothing, NULL);
}
