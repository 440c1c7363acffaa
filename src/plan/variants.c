#include "plan/key.h"

/* ---- a variant's policy ---- */

static void read_policy(struct load *l, const struct yaml_tree *node, const struct key *key,
                        void *into)
{
    int policy = load_policy_name(l, node);
    if (policy >= 0) ((struct plan_variant *)into)->policy = &l->plan->policies[policy];
}

static void print_policy(struct print *p, const struct key *key, const void *from)
{
    print_text(p->b, ((const struct plan_variant *)from)->policy->name);
}

static const struct key_kind kind_policy = {read_policy, print_policy, key_schema_name, "a policy"};

/* ---- variants ---- */

static const struct key variant_rows[] = {
    {"policy", .kind = &kind_policy, .required = true, .help = ""},
    {"params", NULL, .help = "values for the policy's conditions"},
};
const struct key_table variant_keys = KEY_TABLE("variants.NAME", variant_rows);

static void read_variants(struct load *l, const struct yaml_tree *node, const struct key *key,
                          void *into)
{
    struct plan *plan = l->plan;
    if (!load_is_mapping(l, node, "a mapping from name to {policy: NAME}")) return;
    load_count(l, node, key, "variants");
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
            keys_read(l, child, &variant_keys, &variant);
        if (!named || plan->variant_count == PLAN_VARIANTS_MAX) continue;
        variant.name = arena_copy(&plan->arena, name);
        plan->variants[plan->variant_count++] = variant;
    }
}

static void print_variants(struct print *p, const struct key *key, const void *from)
{
    buf_char(p->b, '\n');
    for (int i = 0; i < p->plan->variant_count; i++) {
        const struct plan_variant *variant = &p->plan->variants[i];
        buf_lit(p->b, "  ");
        print_text(p->b, variant->name);
        buf_lit(p->b, ": ");
        keys_print_flow(p, &variant_keys, variant);
        buf_char(p->b, '\n');
    }
}

const struct key_kind kind_variants = {read_variants, print_variants,   key_schema_by_name,
                                       "mapping,",    key_bound_number, .block = true};

/* ---- a variant of the plan: the index ---- */

static void read_variant(struct load *l, const struct yaml_tree *node, const struct key *key,
                         void *into)
{
    int variant = load_variant_name(l, node);
    if (variant >= 0) *(int *)key_field(into, key) = variant;
}

static void print_variant(struct print *p, const struct key *key, const void *from)
{
    print_text(p->b, p->plan->variants[*(const int *)key_value(from, key)].name);
}

const struct key_kind kind_variant = {read_variant, print_variant, key_schema_name, "a variant"};
