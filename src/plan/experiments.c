#include "plan/key.h"
#include "plan/units.h"

/* ---- split ---- */

/* To shares of 100%. A unit's place is a whole number of millionths, and is below up_to / sum if
 * and only if it is below that rounded up: so nobody changes arms by the rounding, and splits of
 * equal proportions become the same split. */
static void split_apply(struct plan_experiment *experiment, uint64_t sum)
{
    for (int i = 0; i < experiment->split_count; i++)
        experiment->split[i].up_to = (experiment->split[i].up_to * PPM + sum - 1) / sum;
}

static void read_split(struct load *l, const struct yaml_tree *node, const struct key *key,
                       void *into)
{
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

static void print_split(struct print *p, const struct key *key, const void *from)
{
    const struct plan_experiment *experiment = from;
    bool first = true;
    uint64_t so_far = 0;
    buf_char(p->b, '{');
    for (int i = 0; i < experiment->split_count; i++) {
        print_comma(p->b, &first);
        print_text(p->b, p->plan->variants[experiment->split[i].variant].name);
        buf_lit(p->b, ": ");
        share_write(p->b, experiment->split[i].up_to - so_far);
        so_far = experiment->split[i].up_to;
    }
    buf_char(p->b, '}');
}

static void schema_split(struct buf *b, const struct key *key)
{
    buf_format(b,
               "{\"type\":\"object\",\"minProperties\":1,\"maxProperties\":%d,"
               "\"additionalProperties\":",
               PLAN_VARIANTS_MAX);
    kind_share.schema(b, key);
    buf_char(b, '}');
}

static const struct key_kind kind_split = {read_split, print_split, schema_split, "mapping,",
                                           key_bound_number};

/* ---- experiments ---- */

static const struct key experiment_rows[] = {
    {"name", KEY_NAME(plan_experiment, name), .required = true, .help = ""},
    {"salt", KEY_SALT(plan_experiment, salt), .required = true,
     .help = "one for each experiment, so that their allocations are independent; the salt of "
             "another is an error"},
    {"slice", KEY_SHARE(plan_experiment, slice_ppm), .initial = "100%",
     .help = "of all listeners that take part"},
    {"split", .kind = &kind_split, .min = 1, .max = PLAN_VARIANTS_MAX, .required = true,
     .help =
         "share of each variant; the shares are taken in proportion to their sum, one after the "
         "other in the byte order of the variants' names, whatever their order in the file. "
         "`interlude check` prints them as applied: as shares of 100%, so equal proportions are "
         "one plan, with one fingerprint"},
    {"layer", NULL, .help = "experiments that exclude each other"},
    {"from", NULL, .help = "where the slice begins"},
    {"when", NULL, .help = "a condition for taking part"},
};
const struct key_table experiment_keys = KEY_TABLE("experiments", experiment_rows);

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
    struct plan_experiment experiment = {.split_count = 0};
    keys_init(l, &experiment_keys, &experiment);
    if (!load_is_mapping(l, node, "an experiment, {name, salt, slice, split}")) return;
    int told = load_errors_told(l);
    keys_read(l, node, &experiment_keys, &experiment);
    if (load_errors_told(l) > told || load_is_damaged(node))
        experiment.slice_ppm = 0; /* nothing follows from a wrong one */
    if (experiment.name.len) check_experiment(l, node, &experiment);
    if (plan->experiment_count < PLAN_EXPERIMENTS_MAX)
        plan->experiments[plan->experiment_count++] = experiment;
}

static void read_experiments(struct load *l, const struct yaml_tree *node, const struct key *key,
                             void *into)
{
    if (!load_is_list(l, node, "a list of experiments")) return;
    load_count(l, node, key, "experiments");
    for (const struct yaml_tree *child = node->first; child; child = child->next)
        load_experiment(l, child);
}

static void print_experiments(struct print *p, const struct key *key, const void *from)
{
    print_word(p->b, p->plan->experiment_count ? "\n" : " []\n");
    for (int i = 0; i < p->plan->experiment_count; i++)
        keys_print_item(p, &experiment_keys, &p->plan->experiments[i], 2);
}

const struct key_kind kind_experiments = {read_experiments, print_experiments, key_schema_list,
                                          "list,",          key_bound_number,  .block = true};
