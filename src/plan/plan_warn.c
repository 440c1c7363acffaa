/* What a plan may not mean, though it can be served: learned policies, experiments, cooldowns. */
#include "plan/warn.h"

#include "plan/yaml_walk.h"

#include <stdio.h>

/* A comment that looks like the rest of the unquoted condition before it: it has a `&&` or `||`. */
static void warn_comment(struct warn *w, const struct yaml_tree *node)
{
    struct yaml_place end = yaml_tree_locate(w->l->text, node, node->text.len);
    if (node->style != TREE_PLAIN || yaml_walk_cut_by(w->l->text, end) != '#') return;
    struct yaml_walk at = yaml_walk_to(w->l->text, end);
    while (yaml_walk_byte(&at) != '#') yaml_walk_step(&at);
    struct yaml_place comment = at.place;
    for (char before = '\0'; !yaml_walk_ended(&at) && !yaml_walk_break(&at); yaml_walk_step(&at)) {
        char c = yaml_walk_byte(&at);
        if ((c == '&' || c == '|') && c == before) {
            load_warning(w->l, comment,
                         "` #` begins a comment, and this one looks like the rest of the "
                         "condition: quote the condition, or reword the comment");
            return;
        }
        before = c;
    }
}

const struct rule_study *warn_condition(struct warn *w, const struct yaml_tree *node,
                                        const struct rule *rule)
{
    struct rule_notes notes;
    if (!rule) return NULL;
    warn_comment(w, node);
    const struct rule_study *study = rule_study_make(&w->context, rule_text(rule), &notes);
    for (int i = 0; i < notes.count; i++)
        load_warning(w->l, yaml_tree_locate(w->l->text, node, notes.notes[i].at), "%s",
                     notes.notes[i].text);
    return study;
}

struct warn_names warn_names_of(const struct plan *plan, uint64_t slots)
{
    struct warn_names names = {""};
    size_t used = 0;
    for (uint32_t i = 0; i < plan->schema.count; i++) {
        if (!(slots >> i & 1)) continue;
        struct span name = plan->schema.attributes[i].name;
        if (name.len + sizeof " or `` or ..." > sizeof names.text - used) {
            snprintf(names.text + used, sizeof names.text - used, " or ...");
            break;
        }
        used += (size_t)snprintf(names.text + used, sizeof names.text - used, "%s`%s`",
                                 used ? " or " : "", name.data);
    }
    return names;
}

/* ---- cooldowns ---- */

/* After a pod, what is told is `min_gap` at the least. */
static void warn_cooldown(struct warn *w, const struct yaml_tree *node, int ads)
{
    const struct yaml_tree *cooldown = yaml_tree_find(node, SPAN("cooldown"));
    const struct plan_guardrail *gap = plan_guardrail_find(w->l->plan, GUARDRAIL_MIN_GAP);
    if (cooldown && !(ads && gap && gap->ms > 0))
        load_warning(w->l, cooldown->place,
                     "a cooldown of 0s: the caller may ask again at once, and for ever; say how "
                     "long to wait");
}

static void warn_actions(struct warn *w, const struct yaml_tree *list)
{
    const struct action *action = w->l->plan->actions.actions;
    for (const struct yaml_tree *node = list->first; node; node = node->next, action++)
        if (action->cooldown_ms == 0) warn_cooldown(w, node, action->ads);
}

static void warn_rule_cooldowns(struct warn *w, const struct yaml_tree *list,
                                const struct policy *policy)
{
    const struct policy_rule *rule = policy->rules;
    for (const struct yaml_tree *node = list->first; node; node = node->next, rule++)
        if (rule->cooldown_ms == 0)
            warn_cooldown(w, node, w->l->plan->actions.actions[rule->action].ads);
}

/* ---- policies ---- */

static void warn_learned(struct warn *w, const struct yaml_tree *node, const struct policy *policy)
{
    if (policy->on_partial == ON_PARTIAL_PRIOR)
        load_warning(w->l, yaml_tree_find(node, SPAN("on_partial"))->place,
                     "`on_partial: prior`: a request that lacks posteriors may get more ads than "
                     "with all of them; `exclude` and `fallback` never give more");
    if (policy->on_empty == ON_EMPTY_COLD_START)
        load_warning(w->l, yaml_tree_find(node, SPAN("on_empty"))->place,
                     "`on_empty: cold_start`: a request with `\"posteriors\": {}` may get more ads "
                     "than from the fallback; `fallback` never gives more");
}

static void warn_policies(struct warn *w, const struct yaml_tree *mapping)
{
    const struct policy *policy = w->l->plan->policies;
    for (const struct yaml_tree *node = mapping->first; node; node = node->next, policy++) {
        if (policy_reads_posteriors(policy)) warn_learned(w, node, policy);
        if (!policy_is(policy, POLICY_HAS_RULES)) continue;
        const struct yaml_tree *rules = yaml_tree_find(node, SPAN("rules"));
        warn_rules(w, rules, policy);
        warn_rule_cooldowns(w, rules, policy);
    }
}

/* ---- experiments ---- */

static void warn_split(struct warn *w, const struct yaml_tree *split,
                       const struct plan_experiment *experiment)
{
    uint64_t sum = 0;
    int i = 0;
    for (const struct yaml_tree *node = split->first; node; node = node->next, i++) {
        uint32_t ppm = 0;
        load_share(w->l, node, &ppm);
        sum += ppm;
        if (experiment->split[i].up_to == (i ? experiment->split[i - 1].up_to : 0))
            load_warning(w->l, node->place, "`%s` gets nobody: %s", load_show(node->key->text).text,
                         ppm ? "its share is below a millionth of the sum" : "its share is 0%");
    }
    if (sum != PPM)
        load_warning(
            w->l, split->place,
            "the shares sum to %.10g%%, not 100%%: each is taken in proportion to the sum, "
            "as `interlude check` prints them",
            (double)sum / (PPM / 100));
}

static void warn_experiments(struct warn *w, const struct yaml_tree *list)
{
    const struct plan_experiment *experiment = w->l->plan->experiments;
    if (!list) return;
    for (const struct yaml_tree *node = list->first; node; node = node->next, experiment++) {
        if (experiment->slice_ppm == 0)
            load_warning(w->l, yaml_tree_find(node, SPAN("slice"))->place,
                         "a slice of 0%%: nobody takes part; leave the experiment out, or give it "
                         "a share");
        warn_split(w, yaml_tree_find(node, SPAN("split")), experiment);
    }
}

/* ---- the plan ---- */

void plan_warn(struct load *l, const struct yaml_tree *root)
{
    const struct plan *plan = l->plan;
    struct span variants[PLAN_VARIANTS_MAX];
    for (int i = 0; i < plan->variant_count; i++) variants[i] = plan->variants[i].name;
    struct warn w = {
        .l = l,
        .context = {.arena = &l->scratch,
                    .scratch = &l->rule_scratch,
                    .spare = &l->rule_spare,
                    .schema = &plan->schema,
                    .variants = {"variant", variants, plan->variant_count, .closed = true},
                    .segments = {"segment", plan->segments, plan->segment_count, .closed = false}},
    };
    warn_actions(&w, yaml_tree_find(root, SPAN("actions")));
    warn_policies(&w, yaml_tree_find(root, SPAN("policies")));
    warn_experiments(&w, yaml_tree_find(root, SPAN("experiments")));
    const struct yaml_tree *guardrails = yaml_tree_find(root, SPAN("guardrails"));
    if (guardrails) warn_guardrails(&w, guardrails);
}
