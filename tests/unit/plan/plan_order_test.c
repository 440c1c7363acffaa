/* A mapping has no order: however its keys are shuffled, a plan decides alike and has the same
 * fingerprint. A list has one. */
#include "plan_files.h"

#include "base/rng.h"
#include "decide/decide.h"
#include "plan/yaml_tree.h"

enum { SHUFFLES = 40, REQUESTS = 400, UNITS = 10000 };

/* ---- a plan's text anew, with the keys of every mapping shuffled ---- */

static char text_memory[PLAN_BYTES_MAX];

static void put_scalar(struct buf *b, const struct yaml_tree *node)
{
    if (node->style == TREE_PLAIN) {
        buf_span(b, node->text);
        return;
    }
    buf_char(b, '"');
    for (size_t i = 0; i < node->text.len;) {
        unsigned char c = (unsigned char)node->text.data[i];
        int more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
        uint32_t code = more ? c & (0x3fu >> more) : c;
        for (i++; more--; i++) code = code << 6 | ((unsigned char)node->text.data[i] & 0x3f);
        buf_format(b, "\\U%08x", code); /* whatever it is */
    }
    buf_char(b, '"');
}

static void put_shuffled(struct buf *b, const struct yaml_tree *node, struct rng *r)
{
    const struct yaml_tree *children[YAML_TREE_ENTRIES_MAX];
    uint32_t count = 0;
    bool mapping = node->kind == TREE_MAPPING;
    if (node->kind == TREE_SCALAR) {
        put_scalar(b, node);
        return;
    }
    for (const struct yaml_tree *child = node->first; child; child = child->next)
        children[count++] = child;
    for (uint32_t i = count; mapping && i > 1; i--) {
        uint32_t other = (uint32_t)(rng_next(r) % i);
        const struct yaml_tree *was = children[i - 1];
        children[i - 1] = children[other];
        children[other] = was;
    }
    buf_char(b, mapping ? '{' : '[');
    for (uint32_t i = 0; i < count; i++) {
        if (i) buf_lit(b, ", ");
        if (mapping) {
            put_scalar(b, children[i]->key);
            buf_lit(b, ": ");
        }
        put_shuffled(b, children[i], r);
    }
    buf_char(b, mapping ? '}' : ']');
}

static void no_fault(void *owner, struct yaml_place place, const char *text)
{
    (void)owner;
    fail_msg("%u:%u: %s", place.line, place.column, text);
}

static struct plan *load_shuffled(const struct yaml_tree *root, uint64_t seed,
                                  struct settings **settings)
{
    struct rng r;
    rng_init(&r, (struct hash128){seed, 0x6f72646572});
    struct buf b = buf_of(text_memory, sizeof text_memory);
    put_shuffled(&b, root, &r);
    buf_char(&b, '\n');
    assert_false(b.full);
    return load_both(buf_text(&b), settings, "shuffled");
}

/* ---- what it decides ---- */

static void decide_one(const struct plan *plan, int n, struct decision *out)
{
    static const char *const variants[] = {"control", "bayes", "greedy", "random", "", ""};
    static struct request request;
    static char body[1024], scratch[sizeof body];
    struct err e;
    int len = snprintf(
        body, sizeof body,
        "{\"request_id\":\"r-%d\",\"unit_id\":\"u-%d\",\"variant\":\"%s\",\"session\":{"
        "\"elapsed_s\":%d,\"tracks_played\":%d,\"seconds_since_last_break_end\":915,"
        "\"ads_last_hour\":%d,\"ad_seconds_last_hour\":55,\"tier\":\"free\"},\"posteriors\":{"
        "\"none\":{\"alpha\":2,\"beta\":8},\"pod_1\":{\"alpha\":3,\"beta\":7},"
        "\"pod_2\":{\"alpha\":3,\"beta\":6},\"pod_3\":{\"alpha\":2,\"beta\":7}}}",
        n, n, variants[n % 6], 150 + 7 * n, n % 9, n % 7);
    assert_int_equal(request_read(plan, (struct span){body, (size_t)len}, scratch, &request, &e),
                     ERR_OK);
    decide(plan, &request, 0, NULL, out);
}

static void assert_decides_alike(const struct plan *a, const struct plan *b)
{
    for (int n = 0; n < REQUESTS; n++) {
        struct decision x, y;
        decide_one(a, n, &x);
        decide_one(b, n, &y);
        assert_true(span_equal(a->variants[x.variant].name, b->variants[y.variant].name) &&
                    span_equal(x.policy->name, y.policy->name) && x.assignment == y.assignment &&
                    x.action == y.action && x.wanted == y.wanted && x.eligible == y.eligible &&
                    x.cooldown_s == y.cooldown_s && x.reasons == y.reasons);
    }
}

/* ---- the tests ---- */

static void check_text(struct span yaml, bool decides)
{
    struct arena arena;
    arena_init(&arena, NULL);
    const struct yaml_tree *root =
        yaml_tree_read(&arena, yaml, &(struct yaml_faults){no_fault, NULL});
    assert_non_null(root);
    struct settings *settings, *others;
    struct plan *plan = load_both(yaml, &settings, "as written");
    for (uint64_t seed = 0; seed < SHUFFLES; seed++) {
        struct plan *other = load_shuffled(root, seed, &others);
        assert_string_equal(other->fingerprint, plan->fingerprint);
        assert_memory_equal(&others->identity, &settings->identity, sizeof settings->identity);
        settings_free(others);
        if (decides) assert_decides_alike(plan, other);
        plan_free(other);
    }
    plan_free(plan);
    settings_free(settings);
    arena_done(&arena);
}

static void test_shuffled_mappings_are_one_plan(void **state)
{
    (void)state;
    check_text(plan_demo_text(), true);
}

static void test_shuffled_mappings_of_every_key_are_one_plan(void **state)
{
    (void)state;
    struct span text = file_read("tests/cases/plans/good-everything.yaml");
    check_text(text, false);
    free((void *)text.data);
}

static const char head[] =
    "salt: s\n"
    "actions: [{name: none, ads: 0, cooldown: 0s}, {name: p, ads: 1, cooldown: 0s}]\n"
    "policies: {f: {kind: fixed, rules: [{action: none}]}}\n"
    "variants: {b-2: {policy: f}, a: {policy: f}, b: {policy: f}, B: {policy: f}}\n"
    "default_variant: a\n";

static struct plan *load_split(const char *split)
{
    struct buf b = buf_of(text_memory, sizeof text_memory);
    buf_format(&b, "%sexperiments: [{name: e, salt: adload-1, split: {%s}}]\n", head, split);
    return load_good(buf_text(&b), split);
}

static struct span arm_of(const struct plan *plan, const char *unit)
{
    struct request request = {.variant = REQUEST_VARIANT_NONE, .unit_id = span_of(unit)};
    struct decision d = {0};
    allocate(plan, &request, &d);
    assert_int_equal(d.assignment, ASSIGNMENT_EXPERIMENT);
    return plan->variants[d.variant].name;
}

/* Known values: u-6 splits at 57,834 millionths, u-9f2 at 901,757. Bytes: B < a < b < b-2. */
static void test_shares_add_up_in_the_byte_order_of_the_names(void **state)
{
    (void)state;
    static const struct {
        const char *split, *u_6, *u_9f2;
    } rows[] = {
        {"a: 50%, b: 50%", "a", "b"},
        {"b: 50%, a: 50%", "a", "b"},
        {"b: 5%, B: 5%", "B", "b"},
        {"a: 95%, B: 5%", "a", "a"},
        {"a: 94.2166%, B: 5.7834%", "a", "a"},
        {"a: 94.2165%, B: 5.7835%", "B", "a"},
        {"b-2: 9.8243%, b: 90.1757%", "b", "b-2"},
        {"b-2: 9.8242%, b: 90.1758%", "b", "b"},
        /* in proportion to their sum */
        {"b: 1%, a: 9%", "a", "b"},
        {"b: 1%, a: 10%", "a", "a"},
        {"b: 1%, a: 0%", "b", "b"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan *plan = load_split(rows[i].split);
        struct span u_6 = arm_of(plan, "u-6"), u_9f2 = arm_of(plan, "u-9f2");
        if (!span_is(u_6, rows[i].u_6) || !span_is(u_9f2, rows[i].u_9f2))
            fail_msg("%s: %s, %s", rows[i].split, u_6.data, u_9f2.data);
        plan_free(plan);
    }
}

static void test_every_order_of_a_split_gives_every_unit_the_same_arm(void **state)
{
    (void)state;
    static const char *const arms[] = {"a: 40%", "B: 10%", "b: 30%", "b-2: 20%"};
    struct plan *first = NULL;
    int orders = 0;
    for (int i = 0; i < 4 * 4 * 4; i++) {
        int at[4] = {i % 4, i / 4 % 4, i / 16, 0};
        if (at[0] == at[1] || at[0] == at[2] || at[1] == at[2]) continue;
        at[3] = 6 - at[0] - at[1] - at[2];
        char split[128];
        snprintf(split, sizeof split, "%s, %s, %s, %s", arms[at[0]], arms[at[1]], arms[at[2]],
                 arms[at[3]]);
        struct plan *plan = load_split(split);
        orders++;
        if (!first) {
            first = plan;
            continue;
        }
        assert_string_equal(plan->fingerprint, first->fingerprint);
        for (int n = 0; n < UNITS; n++) {
            char unit[16];
            snprintf(unit, sizeof unit, "u-%d", n);
            assert_true(span_equal(arm_of(plan, unit), arm_of(first, unit)));
        }
        plan_free(plan);
    }
    assert_int_equal(orders, 24);
    plan_free(first);
}

/* What is a list has an order, and the fingerprint tells it. */
static void test_the_order_of_a_list_is_part_of_the_plan(void **state)
{
    (void)state;
    static const char *const tails[] = {
        "segments: [x, y]\n",
        "segments: [y, x]\n",
        "experiments: [{name: e, salt: e, split: {a: 1%}, slice: 1%}, "
        "{name: f, salt: f, split: {b: 1%}}]\n",
        "experiments: [{name: f, salt: f, split: {b: 1%}, slice: 1%}, "
        "{name: e, salt: e, split: {a: 1%}}]\n",
        "guardrails: {ads_per_hour: [{max: 1}, {max: 2}]}\n",
        "guardrails: {ads_per_hour: [{max: 2}, {max: 1}]}\n",
    };
    enum { TAILS = sizeof tails / sizeof *tails };
    char fingerprints[TAILS][13];
    for (int i = 0; i < TAILS; i++) {
        struct buf b = buf_of(text_memory, sizeof text_memory);
        buf_format(&b, "%s%s", head, tails[i]);
        struct plan *plan = load_good(buf_text(&b), tails[i]);
        memcpy(fingerprints[i], plan->fingerprint, sizeof fingerprints[i]);
        plan_free(plan);
        for (int j = 0; j < i; j++) assert_string_not_equal(fingerprints[i], fingerprints[j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shuffled_mappings_are_one_plan),
        cmocka_unit_test(test_shuffled_mappings_of_every_key_are_one_plan),
        cmocka_unit_test(test_shares_add_up_in_the_byte_order_of_the_names),
        cmocka_unit_test(test_every_order_of_a_split_gives_every_unit_the_same_arm),
        cmocka_unit_test(test_the_order_of_a_list_is_part_of_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
