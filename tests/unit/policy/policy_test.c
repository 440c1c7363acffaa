#include "policy/policy.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arena scratch; /* of rule_compile */

/* Four actions, of which the first in plan order is the heaviest: so an order by plan and an order
 * by ads cannot be taken for each other. */
enum { POD_3, NONE, POD_1, POD_2 };
enum { S3 = 1, S0 = 2, S1 = 4, S2 = 8, ALL = 15 };

static struct action_table actions;
static struct hash128 draw_key;
static struct attributes attributes;
static struct arena arena;
static struct attribute_schema schema;

static void setup(void)
{
    actions.count = 4;
    actions.actions[POD_3] = (struct action){SPAN("pod_3"), 3, 1000, 90000};
    actions.actions[NONE] = (struct action){SPAN("none"), 0, 1000, 0};
    actions.actions[POD_1] = (struct action){SPAN("pod_1"), 1, 1000, 30000};
    actions.actions[POD_2] = (struct action){SPAN("pod_2"), 2, 1000, 60000};
    action_table_finish(&actions);
    draw_key = policy_draw_key(SPAN("salt"), SPAN("variant"));
    arena_init(&arena, NULL);
    attribute_schema_init(&schema);
}

static const struct rule *rule_of(const char *text)
{
    const struct rule *rule = NULL;
    struct err e;
    if (rule_compile(&arena, &scratch, &schema, span_of(text), &rule, &e))
        fail_msg("%s: %s", text, e.text);
    return rule;
}

static struct policy policy_of(enum policy_kind kind)
{
    struct policy policy = {.kind = kind, .actions = ALL, .values_equal = true};
    for (int i = 0; i < ACTIONS_MAX; i++) policy.weight[i] = 1;
    return policy;
}

/* Chooses among `eligible` with the same Beta for all, unless `posteriors` says otherwise. */
static struct choice choose(const struct policy *policy, action_set eligible,
                            const struct posterior *posteriors, uint32_t key)
{
    static const struct posterior same = {FAMILY_BETA, {2, 3}};
    char text[16];
    int len = snprintf(text, sizeof text, "%u", key);
    struct choice_input in = {
        .actions = &actions,
        .eligible = eligible,
        .attributes = &attributes,
        .draw_key = draw_key,
        .exploration_key = {text, (size_t)len},
    };
    /* What is not eligible has no posterior: it must not be looked at. */
    for (int i = 0; i < actions.count; i++)
        if (action_in(eligible, i)) in.posteriors[i] = posteriors ? &posteriors[i] : &same;
    struct choice out;
    memset(&out, 0x5a, sizeof out);
    policy_choose(policy, &in, &out);
    return out;
}

static void assert_share(int hits, int draws, double p, const char *what)
{
    double off = hits / (double)draws - p;
    if (fabs(off) > 5 * sqrt(p * (1 - p) / draws) + 1e-12)
        fail_msg("%s: %d of %d, expected %g", what, hits, draws, p);
}

static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum policy_kind kind;
        bool reads, draws; /* who draws nothing needs no seed, which is a hash a decision */
    } rows[] = {{"fixed", POLICY_FIXED, false, false},
                {"thompson", POLICY_THOMPSON, true, true},
                {"greedy", POLICY_GREEDY, true, false},
                {"uniform", POLICY_UNIFORM, false, true},
                {"ucb", POLICY_UCB, true, false}};
    assert_int_equal(sizeof rows / sizeof *rows, POLICY_KIND_COUNT);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(policy_kind_find(span_of(rows[i].name)), rows[i].kind);
        assert_string_equal(policy_ops(rows[i].kind)->name, rows[i].name);
        struct policy policy = {.kind = rows[i].kind};
        assert_int_equal(policy_reads_posteriors(&policy), rows[i].reads);
        assert_int_equal(policy_is(&policy, POLICY_DRAWS), rows[i].draws);
    }
    const struct span others[] = {SPAN(""), {NULL, 0}, SPAN("Fixed"), SPAN("fix"), SPAN("fixed ")};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(policy_kind_find(others[i]), -1);
}

static void test_every_kind_takes_what_is_eligible(void **state)
{
    (void)state;
    for (int kind = 0; kind < POLICY_KIND_COUNT; kind++)
        for (int with_floor = 0; with_floor < 2; with_floor++)
            for (action_set eligible = 1; eligible <= ALL; eligible++) {
                if (!action_in(eligible, NONE)) continue;
                struct policy policy = policy_of((enum policy_kind)kind);
                policy.floor = with_floor ? 0.5 : 0;
                for (uint32_t key = 0; key < 50; key++) {
                    struct choice c = choose(&policy, eligible, NULL, key);
                    assert_true(action_in(eligible, c.action));
                    if (eligible == S0) assert_int_equal(c.action, NONE);
                }
            }
}

/* ---- fixed ---- */

static const struct {
    int64_t tracks; /* -1: not known */
    action_set eligible;
    int action, wanted, rule, errors;
    int64_t cooldown_ms;
} fixed_rows[] = {
    {9, ALL, POD_2, POD_2, 0, 0, -1},
    {4, ALL, POD_1, POD_1, 1, 0, 5000},
    {1, ALL, NONE, NONE, -1, 0, -1},
    {-1, ALL, NONE, NONE, -1, 2, -1}, /* both end in an error */
    {9, ALL & ~S2, POD_1, POD_2, 0, 0, -1},
    {9, ALL & ~(S2 | S1), NONE, POD_2, 0, 0, -1},
    {9, S0, NONE, POD_2, 0, 0, -1},
    /* Not the cooldown of a rule whose action is not served. */
    {4, ALL & ~S1, NONE, POD_1, 1, 0, -1},
};

static void test_fixed_takes_the_first_rule_that_holds(void **state)
{
    (void)state;
    const struct policy_rule rules[] = {
        {rule_of("tracks_played >= 6"), POD_2, -1},
        {rule_of("tracks_played >= 3"), POD_1, 5000},
    };
    struct policy policy = policy_of(POLICY_FIXED);
    policy.rules = rules;
    policy.rule_count = 2;
    for (size_t i = 0; i < sizeof fixed_rows / sizeof *fixed_rows; i++) {
        attributes = (struct attributes){0};
        if (fixed_rows[i].tracks >= 0) {
            attributes.known = (uint64_t)1 << ATTRIBUTE_SLOT_TRACKS_PLAYED;
            attributes.values[ATTRIBUTE_SLOT_TRACKS_PLAYED].i = fixed_rows[i].tracks;
        }
        struct choice c = choose(&policy, fixed_rows[i].eligible, NULL, 1);
        if (c.action != fixed_rows[i].action || c.wanted != fixed_rows[i].wanted ||
            c.rule != fixed_rows[i].rule || c.rule_errors != fixed_rows[i].errors ||
            c.cooldown_ms != fixed_rows[i].cooldown_ms || c.floored)
            fail_msg("row %zu: action %d, wanted %d, rule %d, errors %d, cooldown %lld", i,
                     c.action, c.wanted, c.rule, c.rule_errors, (long long)c.cooldown_ms);
    }
}

static void test_fixed_matches_a_later_rule_after_an_error(void **state)
{
    (void)state;
    const struct policy_rule rules[] = {
        {rule_of("tracks_played >= 6"), POD_3, -1},
        {NULL, POD_2, 0},
        {NULL, POD_1, -1},
    };
    struct policy policy = policy_of(POLICY_FIXED);
    policy.rules = rules;
    policy.rule_count = 3;
    attributes = (struct attributes){0};
    struct choice c = choose(&policy, ALL, NULL, 1);
    assert_int_equal(c.action, POD_2);
    assert_int_equal(c.rule, 1);
    assert_int_equal(c.rule_errors, 1);
    assert_int_equal(c.cooldown_ms, 0);
}

/* ---- greedy and ties ---- */

#define BETA(a, b)   \
    {                \
        FAMILY_BETA, \
        {            \
            a, b     \
        }            \
    }
#define NORMAL(m, v)   \
    {                  \
        FAMILY_NORMAL, \
        {              \
            m, v       \
        }              \
    }

static const struct {
    struct posterior posteriors[4]; /* pod_3, none, pod_1, pod_2 */
    double offset[4], weight[4];
    bool equal;
    action_set eligible;
    int action;
} greedy_rows[] = {
    {{BETA(1, 9), BETA(2, 8), BETA(4, 6), BETA(3, 7)}, {0}, {1, 1, 1, 1}, true, ALL, POD_1},
    {{BETA(1, 9), BETA(2, 8), BETA(4, 6), BETA(3, 7)}, {0}, {1, 1, 1, 1}, true, ALL & ~S1, POD_2},
    {{BETA(1, 9), BETA(2, 8), BETA(4, 6), BETA(3, 7)}, {0}, {-1, -1, -1, -1}, true, ALL, POD_3},
    /* Ties go to plan order, not to the fewest ads. */
    {{BETA(1, 1), BETA(2, 2), BETA(9, 9), BETA(5, 5)}, {0}, {1, 1, 1, 1}, true, ALL, POD_3},
    {{BETA(1, 1), BETA(2, 2), BETA(9, 9), BETA(5, 5)}, {0}, {1, 1, 1, 1}, true, ALL & ~S3, NONE},
    {{BETA(1, 9), BETA(2, 8), BETA(4, 6), BETA(3, 7)}, {0}, {0, 0, 0, 0}, true, ALL, POD_3},
    {{BETA(1, 9), BETA(2, 8), BETA(4, 6), BETA(3, 7)},
     {7, 7, 7, 7},
     {2, 2, 2, 2},
     true,
     ALL,
     POD_1},
    {{BETA(1, 9), BETA(2, 8), BETA(4, 6), BETA(3, 7)},
     {.31, .2, 0, 0},
     {1, 1, 1, 1},
     false,
     ALL,
     POD_3},
    {{BETA(1, 9), BETA(2, 8), BETA(4, 6), BETA(3, 7)},
     {.25, .2, 0, 0},
     {1, 1, 1, 1},
     false,
     ALL,
     NONE},
    {{BETA(1, 9), BETA(2, 8), BETA(4, 6), BETA(3, 7)}, {0}, {1, -1, -1, -1}, false, ALL, POD_3},
    /* a larger weight, of a later action and of the last */
    {{BETA(1, 9), BETA(2, 8), BETA(4, 6), BETA(3, 7)}, {0}, {1, 2.5, 1, 1}, false, ALL, NONE},
    {{BETA(1, 9), BETA(2, 8), BETA(4, 6), BETA(3, 7)}, {0}, {1, 1, 1, 1.5}, false, ALL, POD_2},
    {{BETA(1, 9), BETA(2, 8), BETA(4, 6), BETA(3, 7)},
     {1, 2, 3, 3},
     {0, 0, 0, 0},
     false,
     ALL,
     POD_1},
    {{NORMAL(-1, 9), NORMAL(-2, 1), NORMAL(-3, 1), NORMAL(-.5, 4)},
     {0},
     {1, 1, 1, 1},
     true,
     ALL,
     POD_2},
};

static void test_greedy_takes_the_best_mean(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof greedy_rows / sizeof *greedy_rows; i++) {
        struct policy policy = policy_of(POLICY_GREEDY);
        memcpy(policy.offset, greedy_rows[i].offset, sizeof greedy_rows[i].offset);
        memcpy(policy.weight, greedy_rows[i].weight, sizeof greedy_rows[i].weight);
        policy.values_equal = greedy_rows[i].equal;
        for (uint32_t key = 0; key < 5; key++) {
            struct choice c =
                choose(&policy, greedy_rows[i].eligible, greedy_rows[i].posteriors, key);
            if (c.action != greedy_rows[i].action) fail_msg("row %zu: %d", i, c.action);
            assert_int_equal(c.wanted, c.action);
            assert_int_equal(c.rule, -1);
            assert_int_equal(c.cooldown_ms, -1);
            assert_false(c.floored);
        }
    }
}

/* pod_3, none, pod_1, pod_2, in plan order. */
static const struct {
    struct posterior posteriors[4];
    double offset[4], weight[4], z;
    bool equal;
    int action;
} ucb_rows[] = {
    /* Means of 0.2 all, deviations of 0.121, 0.057, 0.163, 0.040. */
    {{BETA(2, 8), BETA(10, 40), BETA(1, 4), BETA(20, 80)}, {0}, {1, 1, 1, 1}, 1, true, POD_1},
    {{BETA(2, 8), BETA(10, 40), BETA(1, 4), BETA(20, 80)}, {0}, {1, 1, 1, 1}, 0, true, POD_3},
    /* A cost: its better side is the lower one. */
    {{BETA(2, 8), BETA(10, 40), BETA(1, 4), BETA(20, 80)}, {0}, {-1, -1, -1, -1}, 1, true, POD_1},
    {{BETA(2, 8), BETA(10, 40), BETA(1, 4), BETA(20, 80)}, {0}, {-1, -1, -1, -2}, 1, false, POD_1},
    /* mean + 2 deviations: 1, 3, 5, 4.5; and 1.5 of them: .75, 2.5, 4, 4.125 */
    {{NORMAL(0, .25), NORMAL(1, 1), NORMAL(1, 4), NORMAL(3, .5625)},
     {0},
     {1, 1, 1, 1},
     2,
     true,
     POD_1},
    {{NORMAL(0, .25), NORMAL(1, 1), NORMAL(1, 4), NORMAL(3, .5625)},
     {0},
     {1, 1, 1, 1},
     1.5,
     true,
     POD_2},
    /* The value is offset + weight x bound: 5.5, 2, 4, 4.75. */
    {{NORMAL(0, .25), NORMAL(1, 1), NORMAL(1, 4), NORMAL(3, .5625)},
     {5, 0, 1, 1},
     {1, 1, 1, 1},
     1,
     false,
     POD_3},
    /* Without a weight, all are alike. */
    {{BETA(2, 8), BETA(10, 40), BETA(1, 4), BETA(20, 80)}, {0}, {0, 0, 0, 0}, 100, true, POD_3},
    /* A deviation that does not exist is more than any other; and a weight of 0 makes a number of
     * it. */
    {{BETA(2, 8), {FAMILY_NIG, {0, 1, 1, 1}}, BETA(1, 4), BETA(20, 80)},
     {0},
     {1, 1, 1, 1},
     1,
     true,
     NONE},
    {{BETA(2, 8), {FAMILY_NIG, {DBL_MAX, 1, 1, 1}}, BETA(1, 4), BETA(20, 80)},
     {0},
     {1, 0, 1, 1},
     100,
     false,
     POD_1},
};

static void test_ucb_adds_deviations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ucb_rows / sizeof *ucb_rows; i++) {
        struct policy policy = policy_of(POLICY_UCB);
        policy.z = ucb_rows[i].z;
        memcpy(policy.offset, ucb_rows[i].offset, sizeof ucb_rows[i].offset);
        memcpy(policy.weight, ucb_rows[i].weight, sizeof ucb_rows[i].weight);
        policy.values_equal = ucb_rows[i].equal;
        for (uint32_t key = 0; key < 5; key++) {
            struct choice c = choose(&policy, ALL, ucb_rows[i].posteriors, key);
            if (c.action != ucb_rows[i].action) fail_msg("row %zu: %d", i, c.action);
            assert_int_equal(c.wanted, c.action);
        }
    }
}

static void test_thompson_of_no_weight_is_a_tie(void **state)
{
    (void)state;
    for (int equal = 0; equal < 2; equal++) {
        struct policy policy = policy_of(POLICY_THOMPSON);
        memset(policy.weight, 0, sizeof policy.weight);
        policy.values_equal = equal;
        for (uint32_t key = 0; key < 100; key++) {
            assert_int_equal(choose(&policy, ALL, NULL, key).action, POD_3);
            assert_int_equal(choose(&policy, ALL & ~S3, NULL, key).action, NONE);
        }
    }
}

/* ---- draws ---- */

static void test_masking_one_leaves_the_draws_of_the_others(void **state)
{
    (void)state;
    for (int equal = 0; equal < 2; equal++) {
        struct policy policy = policy_of(POLICY_THOMPSON);
        policy.values_equal = equal;
        int won[4] = {0};
        for (uint32_t key = 0; key < 2000; key++) {
            int winner = choose(&policy, ALL, NULL, key).action;
            won[winner]++;
            for (int masked = 0; masked < 4; masked++) {
                if (masked == winner || masked == NONE) continue;
                action_set rest = (action_set)(ALL & ~action_bit(masked));
                assert_int_equal(choose(&policy, rest, NULL, key).action, winner);
            }
        }
        for (int i = 0; i < 4; i++) assert_share(won[i], 2000, 0.25, "equal posteriors");
    }
}

static void test_draw_keys_differ_by_salt_and_variant(void **state)
{
    (void)state;
    static const struct {
        struct span salt, variant;
    } rows[] = {{{"salt", 4}, {"variant", 7}},
                {{"salt", 4}, {"variant2", 8}},
                {{"saltv", 5}, {"ariant", 6}},
                {{"sal", 3}, {"tvariant", 8}},
                {{"", 0}, {"saltvariant", 11}}};
    enum { ROWS = sizeof rows / sizeof *rows };
    struct hash128 all[ROWS];
    for (int i = 0; i < ROWS; i++) {
        all[i] = policy_draw_key(rows[i].salt, rows[i].variant);
        for (int j = 0; j < i; j++) assert_true(all[i].lo != all[j].lo && all[i].hi != all[j].hi);
    }
}

/* A plan that gets an action more, wherever it stands, draws for the others as before. */
static void test_adding_an_action_leaves_the_draws_of_the_others(void **state)
{
    (void)state;
    struct action_table before = actions;
    struct policy policy = policy_of(POLICY_THOMPSON);
    static const int place_before[] = {POD_3, NONE, POD_1, POD_2};
    int moved = 0;
    for (uint32_t key = 0; key < 2000; key++) {
        struct choice was = choose(&policy, ALL, NULL, key);
        actions.count = 5;
        actions.actions[0] = (struct action){SPAN("pod_9"), 9, 1000, 90000};
        for (int i = 0; i < 4; i++) actions.actions[i + 1] = before.actions[place_before[i]];
        action_table_finish(&actions);
        policy.actions = 31;
        struct choice without = choose(&policy, 30, NULL, key);
        moved += choose(&policy, 31, NULL, key).action == 0;
        actions = before;
        policy.actions = ALL;
        assert_int_equal(without.action, was.action + 1);
    }
    assert_share(moved, 2000, 0.2, "the new one");
}

/* The way from the names to a draw, once more by hand. */
static void test_a_draw_is_of_key_purpose_and_action(void **state)
{
    (void)state;
    static const struct posterior normals[4] = {
        {FAMILY_NORMAL, {0, 1}}, {FAMILY_NORMAL, {0, 1}}, {FAMILY_NORMAL, {0, 1}}, {0}};
    struct policy policy = policy_of(POLICY_THOMPSON);
    for (uint32_t key = 0; key < 200; key++) {
        char text[16];
        int len = snprintf(text, sizeof text, "%u", key);
        struct hash128 seed = hash_sip128_framed(
            hash_parts((struct span[]){SPAN("draw"), SPAN("salt"), SPAN("variant")}, 3),
            (struct span){text, (size_t)len});
        int best = -1;
        double most = 0;
        for (int i = 0; i < 3; i++) {
            struct span name = actions.actions[i].name;
            uint64_t digest = hash_parts((struct span[]){SPAN("action"), name}, 2).lo;
            struct rng r;
            rng_init_stream(&r, seed, (struct rng_stream){1, digest});
            double draw = sample_ordered(&normals[i], &r);
            if (best < 0 || draw > most) best = i, most = draw;
        }
        assert_int_equal(choose(&policy, S3 | S0 | S1, normals, key).action, best);

        uint64_t words[4];
        rng_block(seed, (struct rng_stream){2, 0}, 0, words);
        policy.kind = POLICY_UNIFORM;
        int place = (int)(rng_open01(words[0]) * 4);
        assert_int_equal(choose(&policy, ALL, NULL, key).action, action_at(&actions, ALL, place));

        rng_block(seed, (struct rng_stream){3, 0}, 0, words);
        policy.floor = 0.5;
        struct choice floored = choose(&policy, ALL, NULL, key);
        assert_int_equal(floored.floored, rng_open01(words[0]) < 0.5);
        place = (int)(rng_open01(words[1]) * 4);
        if (floored.floored) assert_int_equal(floored.action, action_at(&actions, ALL, place));
        policy.floor = 0;
        policy.kind = POLICY_THOMPSON;
    }
}

/* Whether the floor chooses, what it picks, and what the policy draws have nothing to do with each
 * other, though all come of one hash. */
static void test_floor_and_draws_are_independent(void **state)
{
    (void)state;
    enum { DRAWS = 200000 };
    struct policy plain = policy_of(POLICY_THOMPSON), floored = plain;
    struct policy uniform = policy_of(POLICY_UNIFORM);
    floored.floor = 0.5;
    int by_draw[4] = {0}, by_pick[4] = {0}, pair[4][4] = {{0}}, hits = 0;
    for (uint32_t key = 0; key < DRAWS; key++) {
        int draw = choose(&plain, ALL, NULL, key).action;
        int pick = choose(&uniform, ALL, NULL, key).action;
        struct choice c = choose(&floored, ALL, NULL, key);
        pair[draw][pick]++;
        if (!c.floored) {
            assert_int_equal(c.action, draw);
            continue;
        }
        hits++;
        by_draw[draw] += c.action == draw;
        by_pick[pick] += c.action == pick;
    }
    assert_share(hits, DRAWS, 0.5, "floored");
    for (int i = 0; i < 4; i++) {
        assert_share(by_draw[i], DRAWS, 0.5 / 16, "the floor's pick is the draw's");
        assert_share(by_pick[i], DRAWS, 0.5 / 16, "the floor's pick is the uniform one");
        for (int j = 0; j < 4; j++) assert_share(pair[i][j], DRAWS, 1.0 / 16, "draw and pick");
    }
}

static void test_uniform_shares_equally(void **state)
{
    (void)state;
    enum { DRAWS = 100000 };
    static const action_set sets[] = {ALL, S0 | S3, S0 | S1 | S2};
    struct policy policy = policy_of(POLICY_UNIFORM);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        int won[4] = {0};
        for (uint32_t key = 0; key < DRAWS; key++)
            won[choose(&policy, sets[i], NULL, key).action]++;
        for (int a = 0; a < 4; a++)
            assert_share(won[a], DRAWS, action_in(sets[i], a) ? 1.0 / action_count(sets[i]) : 0,
                         "uniform");
    }
}

/* ---- floor ---- */

/* Greedy always takes pod_3 here, so what is not pod_3 is the floor's. */
static const struct posterior pod_3_best[4] = {BETA(9, 1), BETA(1, 9), BETA(1, 9), BETA(1, 9)};

static void test_floor_mixes_in_a_uniform_pick(void **state)
{
    (void)state;
    enum { DRAWS = 100000 };
    static const double floors[] = {0.01, 0.05, 0.5, 1};
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++) {
        struct policy policy = policy_of(POLICY_GREEDY);
        policy.floor = floors[i];
        int won[4] = {0}, floored = 0;
        for (uint32_t key = 0; key < DRAWS; key++) {
            struct choice c = choose(&policy, ALL, pod_3_best, key);
            won[c.action]++;
            floored += c.floored;
            if (!c.floored) assert_int_equal(c.action, POD_3);
            assert_int_equal(c.wanted, c.action);
        }
        assert_share(floored, DRAWS, floors[i], "floored");
        assert_share(won[NONE], DRAWS, floors[i] / 4, "none");
        assert_share(won[POD_1], DRAWS, floors[i] / 4, "pod_1");
        assert_share(won[POD_2], DRAWS, floors[i] / 4, "pod_2");
        assert_share(won[POD_3], DRAWS, 1 - floors[i] * 3 / 4, "pod_3");
    }
}

static void test_floor_is_never_heavier_without_heavier_actions(void **state)
{
    (void)state;
    static const action_set sets[] = {ALL, S0 | S1 | S2, S0 | S1, S0};
    struct policy policy = policy_of(POLICY_GREEDY);
    policy.floor = 1;
    for (uint32_t key = 0; key < 5000; key++) {
        int ads_before = 100;
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
            int ads = actions.actions[choose(&policy, sets[i], NULL, key).action].ads;
            assert_true(ads <= ads_before);
            ads_before = ads;
        }
    }
}

static void test_floor_toward_the_fallback(void **state)
{
    (void)state;
    enum { DRAWS = 100000 };
    static const struct policy_rule rules[] = {{NULL, POD_1, 5000}};
    struct policy fallback = policy_of(POLICY_FIXED);
    fallback.rules = rules;
    fallback.rule_count = 1;
    struct policy policy = policy_of(POLICY_GREEDY);
    policy.floor = 0.2;
    policy.floor_toward = FLOOR_FALLBACK;
    policy.fallback = &fallback;

    int won[4] = {0}, masked[4] = {0};
    for (uint32_t key = 0; key < DRAWS; key++) {
        won[choose(&policy, ALL, pod_3_best, key).action]++;
        masked[choose(&policy, ALL & ~S1, pod_3_best, key).action]++;
    }
    assert_share(won[POD_3], DRAWS, 0.8, "the policy's");
    assert_share(won[POD_1], DRAWS, 0.2, "the fallback's");
    assert_share(masked[POD_3], DRAWS, 0.8, "the policy's, masked");
    assert_share(masked[NONE], DRAWS, 0.2, "the fallback's, masked");
}

static void test_floor_toward_a_fallback_of_fewer_actions(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    struct policy fallback = policy_of(POLICY_UNIFORM);
    fallback.actions = S0 | S1;
    struct policy policy = policy_of(POLICY_GREEDY);
    policy.floor = 1;
    policy.floor_toward = FLOOR_FALLBACK;
    policy.fallback = &fallback;
    int won[4] = {0};
    for (uint32_t key = 0; key < DRAWS; key++) won[choose(&policy, ALL, pod_3_best, key).action]++;
    assert_share(won[NONE], DRAWS, 0.5, "none");
    assert_share(won[POD_1], DRAWS, 0.5, "pod_1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_every_kind_takes_what_is_eligible),
        cmocka_unit_test(test_fixed_takes_the_first_rule_that_holds),
        cmocka_unit_test(test_fixed_matches_a_later_rule_after_an_error),
        cmocka_unit_test(test_greedy_takes_the_best_mean),
        cmocka_unit_test(test_ucb_adds_deviations),
        cmocka_unit_test(test_thompson_of_no_weight_is_a_tie),
        cmocka_unit_test(test_masking_one_leaves_the_draws_of_the_others),
        cmocka_unit_test(test_draw_keys_differ_by_salt_and_variant),
        cmocka_unit_test(test_adding_an_action_leaves_the_draws_of_the_others),
        cmocka_unit_test(test_a_draw_is_of_key_purpose_and_action),
        cmocka_unit_test(test_floor_and_draws_are_independent),
        cmocka_unit_test(test_uniform_shares_equally),
        cmocka_unit_test(test_floor_mixes_in_a_uniform_pick),
        cmocka_unit_test(test_floor_is_never_heavier_without_heavier_actions),
        cmocka_unit_test(test_floor_toward_the_fallback),
        cmocka_unit_test(test_floor_toward_a_fallback_of_fewer_actions),
    };
    setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
