#include "plan/load.h"

/* ---- variants ---- */

static key_read load_variant_policy;

static const struct key variant_keys[] = {
    {"policy", load_variant_policy, offsetof(struct plan_variant, policy), .required = true},
    {"params", NULL},
};
const struct key_table load_variant_keys = KEY_TABLE("variants.NAME", variant_keys);

static void load_variant_policy(struct load *l, const struct yaml_tree *node, const struct key *key,
                                void *into)
{
    int policy = load_policy_name(l, node);
    if (policy >= 0) *(const struct policy **)load_field(into, key) = &l->plan->policies[policy];
}

void load_variants(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    (void)key, (void)into;
    struct plan *plan = l->plan;
    if (!load_is_mapping(l, node, "a mapping from name to {policy: NAME}")) return;
    if ((node->count < 1 && !node->lossy) || node->count > PLAN_VARIANTS_MAX)
        load_error(l, node->place, "expected 1 to %d variants, found %u", PLAN_VARIANTS_MAX,
                   node->count);
    if (node->lossy || node->count > PLAN_VARIANTS_MAX) l->unread |= UNREAD_VARIANTS;
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        struct plan_variant variant = {.policy = NULL};
        struct span name;
        bool named = load_name(l, child->key, &name);
        if (!named) load_note_bad_name(l, child->key, UNREAD_VARIANTS);
        if (named && span_is(name, VARIANT_UNKNOWN_NAME))
            load_error(l, child->key->place,
                       "`unknown` is reserved: it is what a variant outside the plan is called");
        if (load_is_mapping(l, child, "a variant, {policy: NAME}"))
            load_keys(l, child, &load_variant_keys, &variant);
        if (!named || plan->variant_count == PLAN_VARIANTS_MAX) continue;
        variant.name = arena_copy(&plan->arena, name);
        plan->variants[plan->variant_count++] = variant;
    }
}

void load_key_variant(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    int variant = load_variant_name(l, node);
    if (variant >= 0) *(int *)load_field(into, key) = variant;
}

/* ---- experiments ---- */

static key_read load_split;

static const struct key experiment_keys[] = {
    {"name", load_key_name, offsetof(struct plan_experiment, name), .required = true},
    {"salt", load_key_salt, offsetof(struct plan_experiment, salt), .required = true},
    {"slice", load_key_share, offsetof(struct plan_experiment, slice_ppm)},
    {"split", load_split, .required = true},
    {"layer", NULL},
    {"from", NULL},
    {"when", NULL},
};
const struct key_table load_experiment_keys = KEY_TABLE("experiments", experiment_keys);

/* To shares of 100%. A unit's place is a whole number of millionths, and is below up_to / sum if
 * and only if it is below that rounded up: so nobody changes arms by the rounding, and splits of
 * equal proportions become the same split. */
static void split_apply(struct plan_experiment *experiment, uint64_t sum)
{
    for (int i = 0; i < experiment->split_count; i++)
        experiment->split[i].up_to = (experiment->split[i].up_to * PPM + sum - 1) / sum;
}

static void load_split(struct load *l, const struct yaml_tree *node, const struct key *key,
                       void *into)
{
    (void)key;
    struct plan_experiment *experiment = into;
    if (!load_is_mapping(l, node, "a mapping from variant to percentage")) return;
    uint64_t sum = 0;
    bool ok = !node->lossy;
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        int variant = load_variant_name(l, child->key);
        uint32_t ppm = 0;
        if (!load_share(l, child, &ppm) || variant < 0) ok = false;
        sum += ppm;
        int at = experiment->split_count;
        if (variant < 0 || at == PLAN_VARIANTS_MAX) continue;
        experiment->split[at].variant = variant;
        experiment->split[at].up_to = sum;
        experiment->split_count++;
    }
    if (ok && sum == 0) load_error(l, node->place, "expected a variant with more than 0%%");
    if (sum > 0) split_apply(experiment, sum);
}

/* A unit is in the first experiment that holds it, so one that begins where another begins, or
 * comes after one that leaves nobody, would be there in vain. */
static void check_salt(struct load *l, struct yaml_place place,
                       const struct plan_experiment *earlier, struct span salt)
{
    if (span_equal(earlier->salt, salt))
        load_error(l, place,
                   "`%s` is the salt of `%s` too: both would draw the same units, and `%s` keeps "
                   "them; give each experiment a salt of its own",
                   load_show(salt).text, load_show(earlier->name).text,
                   load_show(earlier->name).text);
}

static void check_experiment(struct load *l, const struct yaml_tree *node,
                             const struct plan_experiment *experiment)
{
    const struct plan *plan = l->plan;
    struct yaml_place name = yaml_tree_find(node, SPAN("name"))->place;
    if (span_is(experiment->name, "none"))
        load_error(l, name, "`none` is reserved: it is what no experiment is called");
    for (int i = 0; i < plan->experiment_count; i++) {
        const struct plan_experiment *earlier = &plan->experiments[i];
        if (span_equal(earlier->name, experiment->name))
            load_error(l, name, "two experiments are named `%s`: each needs a name of its own",
                       load_show(experiment->name).text);
        if (experiment->salt.len)
            check_salt(l, yaml_tree_find(node, SPAN("salt"))->place, earlier, experiment->salt);
        if (earlier->slice_ppm == PPM)
            load_error(l, name, "`%s` gets nobody: `%s` before it has a slice of 100%%",
                       load_show(experiment->name).text, load_show(earlier->name).text);
    }
}

static void load_experiment(struct load *l, const struct yaml_tree *node)
{
    struct plan *plan = l->plan;
    struct plan_experiment experiment = {.slice_ppm = PPM};
    if (!load_is_mapping(l, node, "an experiment, {name, salt, slice, split}")) return;
    int told = load_errors_told(l);
    load_keys(l, node, &load_experiment_keys, &experiment);
    if (load_errors_told(l) > told || load_is_damaged(node))
        experiment.slice_ppm = 0; /* nothing follows from a wrong one */
    if (experiment.name.len) check_experiment(l, node, &experiment);
    if (plan->experiment_count < PLAN_EXPERIMENTS_MAX)
        plan->experiments[plan->experiment_count++] = experiment;
}

void load_experiments(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    (void)key, (void)into;
    if (!load_is_list(l, node, "a list of experiments")) return;
    if (node->count > PLAN_EXPERIMENTS_MAX)
        load_error(l, node->place, "expected at most %d experiments, found %u",
                   PLAN_EXPERIMENTS_MAX, node->count);
    for (const struct yaml_tree *child = node->first; child; child = child->next)
        load_experiment(l, child);
}
