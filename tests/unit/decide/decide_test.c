/* Decisions as a whole: how often each action comes, and that the same comes again.
 *
 * DESIGN's reference values, which were found by integration, are drawn with 100,000 request ids
 * each, other shares with fewer, and compared within five standard errors. The ids are fixed, and
 * so is all that follows from them: a test that passes once passes always. */
#include "plan_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { DRAWS = 100000, DRAWS_FEW = 30000 };

static void assert_share(const char *what, int action, int hits, int draws, double p)
{
    if (fabs(hits / (double)draws - p) > 5 * sqrt(p * (1 - p) / draws) + 1e-12)
        fail_msg("%s: action %d %d times of %d, expected %.7f", what, action, hits, draws, p);
}

static void count_shares(const struct plan *plan, const char *request, int draws, int hits[4])
{
    struct run run;
    run_decide(&run, plan, request);
    memset(hits, 0, 4 * sizeof *hits);
    for (int id = 0; id < draws; id++) hits[run_again(&run, plan, (uint32_t)id)]++;
    run_done(&run);
}

/* ---- thompson ---- */

#define B(a, b) "{'alpha':" #a ",'beta':" #b "}"
#define NORMAL(m, v) "{'mean':" #m ",'variance':" #v "}"
#define NIG(m, l, a, b) "{'mu':" #m ",'lambda':" #l ",'alpha':" #a ",'beta':" #b "}"
#define GAMMA(s, r) "{'shape':" #s ",'rate':" #r "}"

static const struct {
    const char *what, *none, *pod_1, *pod_2, *pod_3; /* NULL: not used */
    double p[4];
} shares[] = {
    {"Beta, two", B(2, 3), B(3, 2), NULL, NULL, {17 / 70.0, 53 / 70.0}},
    {"Beta, alpha 1 2 3", B(1, 1), B(2, 1), B(3, 1), NULL, {1 / 6.0, 1 / 3.0, 1 / 2.0}},
    {"Beta, beta 1 2 3", B(1, 1), B(1, 2), B(1, 3), NULL, {7 / 12.0, 4 / 15.0, 3 / 20.0}},
    {"Beta, four",
     B(20, 80),
     B(25, 75),
     B(30, 70),
     B(22, 78),
     {0.0254188, 0.1862940, 0.7262481, 0.0620391}},
    {"Beta, four the same", B(5, 5), B(5, 5), B(5, 5), B(5, 5), {.25, .25, .25, .25}},
    {"Beta, tiny shapes", B(1e-12, 3e-12), B(1e-12, 1e-12), NULL, NULL, {11 / 32.0, 21 / 32.0}},
    {"Normal, two", NORMAL(0, 0.5), NORMAL(1, 0.5), NULL, NULL, {0.1586553, 0.8413447}},
    {"Normal, three",
     NORMAL(0, 4),
     NORMAL(0, 1),
     NORMAL(0, 1),
     NULL,
     {0.3975836, 0.3012082, 0.3012082}},
    {"Normal-inverse-gamma",
     NIG(0, 1, 0.5, 0.5),
     NIG(1, 1, 0.5, 0.5),
     NULL,
     NULL,
     {0.3524164, 0.6475836}},
    {"Gamma", GAMMA(1, 1), GAMMA(2, 2), NULL, NULL, {4 / 9.0, 5 / 9.0}},
};

static struct plan *plan_thompson(action_set used)
{
    struct plan *plan = fixture_bare();
    plan->policies[BAYESIAN].actions = used;
    return plan;
}

static const char *posteriors_text(char text[1024], const char *none, const char *pod_1,
                                   const char *pod_2, const char *pod_3)
{
    int len =
        snprintf(text, 1024, "{'variant':'bayes','posteriors':{'none':%s,'pod_1':%s", none, pod_1);
    if (pod_2) len += snprintf(text + len, 1024 - (size_t)len, ",'pod_2':%s", pod_2);
    if (pod_3) len += snprintf(text + len, 1024 - (size_t)len, ",'pod_3':%s", pod_3);
    snprintf(text + len, 1024 - (size_t)len, "}}");
    return text;
}

static void test_thompson_s_shares(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        action_set used =
            (action_set)(N | P1 | (shares[i].pod_2 ? P2 : 0) | (shares[i].pod_3 ? P3 : 0));
        struct plan *plan = fixture_finish(plan_thompson(used));
        char text[1024];
        int hits[4];
        count_shares(plan,
                     posteriors_text(text, shares[i].none, shares[i].pod_1, shares[i].pod_2,
                                     shares[i].pod_3),
                     DRAWS, hits);
        for (int a = 0; a < 4; a++) assert_share(shares[i].what, a, hits[a], DRAWS, shares[i].p[a]);
        plan_free(plan);
    }
}

/* value = offset + weight x draw. */
static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *what, *none, *pod_1;
        double offset[2], weight[2];
        double p; /* of pod_1 */
    } rows[] = {
        {"an offset", NORMAL(0, 0.5), NORMAL(0, 0.5), {0, 1}, {1, 1}, 0.8413447},
        {"a weight", NORMAL(0, 0.5), NORMAL(0.5, 0.125), {0, 0}, {1, 2}, 0.8413447},
        {"a cost", NORMAL(0, 0.5), NORMAL(-1, 0.5), {0, 0}, {1, -1}, 0.8413447},
        {"a revenue less a cost", NORMAL(0, 0.5), NORMAL(2, 0.5), {0, 3}, {1, -1}, 0.8413447},
        {"costs alone", B(2, 3), B(3, 2), {0, 0}, {-1, -1}, 17 / 70.0},
        {"costs of unequal offset", B(2, 3), B(2, 3), {0, 2}, {-1, -1}, 1},
        {"Betas of unequal weight", B(3, 2), B(2, 3), {1, 1}, {-1, -1.0000000001}, 53 / 70.0},
        {"equal offsets and weights change nothing", B(2, 3), B(3, 2), {7, 7}, {3, 3}, 53 / 70.0},
        {"a weight of nothing", B(2, 3), B(3, 2), {.1, 0}, {0, 0}, 0},
        {"a sure thing", B(2, 3), B(3, 2), {0, .5}, {1, 0}, 0.6875},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan *plan = plan_thompson(N | P1);
        struct policy *policy = &plan->policies[BAYESIAN];
        memcpy(policy->offset, rows[i].offset, sizeof rows[i].offset);
        memcpy(policy->weight, rows[i].weight, sizeof rows[i].weight);
        policy->values_equal =
            rows[i].offset[0] == rows[i].offset[1] && rows[i].weight[0] == rows[i].weight[1];
        fixture_finish(plan);
        char text[1024];
        int hits[4];
        count_shares(plan, posteriors_text(text, rows[i].none, rows[i].pod_1, NULL, NULL),
                     DRAWS_FEW, hits);
        assert_share(rows[i].what, POD_1, hits[POD_1], DRAWS_FEW, rows[i].p);
        plan_free(plan);
    }
}

/* Missing ones draw from their own priors, sent ones from what was sent. */
static void test_priors_are_drawn_from(void **state)
{
    (void)state;
    static const struct {
        const char *posteriors;
        double p; /* of pod_1 */
    } rows[] = {
        {"{}", 53 / 70.0},
        {"{'none':" B(2, 3) "}", 53 / 70.0},
        {"{'pod_1':" B(3, 2) "}", 53 / 70.0},
        {"{'none':" B(2, 3) ",'pod_1':7}", 53 / 70.0},
        {"{'none':" B(3, 2) "}", 0.5},
        {"{'none':null,'pod_1':" B(2, 3) "}", 0.5},
        {"{'none':" B(3, 2) ",'pod_1':" B(2, 3) "}", 17 / 70.0},
    };
    struct plan *plan = plan_thompson(N | P1);
    struct policy *policy = &plan->policies[BAYESIAN];
    policy->on_partial = ON_PARTIAL_PRIOR;
    policy->on_empty = ON_EMPTY_COLD_START;
    policy->has_prior = true;
    policy->prior[NONE] = (struct posterior){FAMILY_BETA, {2, 3}};
    policy->prior[POD_1] = (struct posterior){FAMILY_BETA, {3, 2}};
    fixture_finish(plan);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        int hits[4];
        snprintf(text, sizeof text, "{'variant':'bayes','posteriors':%s}", rows[i].posteriors);
        count_shares(plan, text, DRAWS_FEW, hits);
        assert_share(rows[i].posteriors, POD_1, hits[POD_1], DRAWS_FEW, rows[i].p);
    }
    plan_free(plan);
}

/* ---- floor ---- */

/* P[N(m,1) > N(0,1)] = .7 for m = sqrt(2) x 0.5244005; the third never wins. */
#define SEVEN NORMAL(0.7416143, 1)
#define THREE NORMAL(0, 1)
#define NEVER NORMAL(-1000, 1)

static void test_floor(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        double floor;
        enum floor_toward toward;
        double p[3];
    } rows[] = {
        {"no floor", 0, FLOOR_UNIFORM, {.7, .3, 0}},
        {"floor .05", .05, FLOOR_UNIFORM, {.681667, .301667, .016667}},
        {"floor 1", 1, FLOOR_UNIFORM, {1 / 3.0, 1 / 3.0, 1 / 3.0}},
        {"floor .2 toward the fallback", .2, FLOOR_FALLBACK, {.56, .24, .2}},
        {"floor 1 toward the fallback", 1, FLOOR_FALLBACK, {0, 0, 1}},
    };
    static const struct policy_rule always_pod_2 = {NULL, POD_2, -1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan *plan = plan_thompson(N | P1 | P2);
        plan->policies[BAYESIAN].floor = rows[i].floor;
        plan->policies[BAYESIAN].floor_toward = rows[i].toward;
        plan->policies[PROMOTED].rules = &always_pod_2;
        plan->policies[PROMOTED].rule_count = 1;
        fixture_finish(plan);
        char text[1024];
        int hits[4];
        count_shares(plan, posteriors_text(text, SEVEN, THREE, NEVER, NULL), DRAWS, hits);
        for (int a = 0; a < 3; a++) assert_share(rows[i].what, a, hits[a], DRAWS, rows[i].p[a]);
        plan_free(plan);
    }
}

/* The floor's share is of the actions that are left, so its part of each grows as others go. */
static void test_floor_is_over_the_eligible(void **state)
{
    (void)state;
    struct plan *plan = plan_thompson(ALL);
    plan->policies[BAYESIAN].floor = 0.3;
    fixture_cap(plan, GUARDRAIL_ADS_PER_HOUR, NULL, 1);
    fixture_finish(plan);
    int hits[4];
    count_shares(plan,
                 "{'variant':'bayes','session':{'ads_last_hour':0},'posteriors':{'none':" NORMAL(
                     0, 1) ",'pod_1':" NEVER ",'pod_2':" NORMAL(1000, 1) ",'pod_3':" NEVER "}}",
                 DRAWS_FEW, hits);
    static const double p[] = {0.85, 0.15, 0, 0};
    for (int a = 0; a < 4; a++) assert_share("masked", a, hits[a], DRAWS_FEW, p[a]);
    plan_free(plan);
}

/* ---- uniform, greedy, ties ---- */

static void test_uniform(void **state)
{
    (void)state;
    static const struct {
        const char *session;
        double p[4];
    } rows[] = {
        {"{'ads_last_hour':0}", {.25, .25, .25, .25}},
        {"{'ads_last_hour':4}", {1 / 3.0, 1 / 3.0, 1 / 3.0, 0}},
        {"{'ads_last_hour':5}", {.5, .5, 0, 0}},
        {"{'ads_last_hour':6}", {1, 0, 0, 0}},
    };
    struct plan *plan = fixture_bare();
    fixture_cap(plan, GUARDRAIL_ADS_PER_HOUR, NULL, 6);
    fixture_finish(plan);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        int hits[4];
        snprintf(text, sizeof text, "{'variant':'random','session':%s}", rows[i].session);
        count_shares(plan, text, DRAWS_FEW, hits);
        for (int a = 0; a < 4; a++)
            assert_share(rows[i].session, a, hits[a], DRAWS_FEW, rows[i].p[a]);
    }
    plan_free(plan);
}

static void test_greedy(void **state)
{
    (void)state;
    static const struct {
        const char *session, *posteriors;
        int action;
    } rows[] = {
        {"0", "'none':" B(20, 80) ",'pod_1':" B(25, 75) ",'pod_2':" B(30, 70) ",'pod_3':" B(22, 78),
         POD_2},
        {"5", "'none':" B(20, 80) ",'pod_1':" B(25, 75) ",'pod_2':" B(30, 70) ",'pod_3':" B(22, 78),
         POD_1},
        {"6", "'none':" B(20, 80) ",'pod_1':" B(25, 75) ",'pod_2':" B(30, 70) ",'pod_3':" B(22, 78),
         NONE},
        {"0", "'none':" B(1, 1) ",'pod_1':" B(7, 7) ",'pod_2':" B(2, 2) ",'pod_3':" B(0.5, 0.5),
         NONE},
        {"0", "'none':" B(1, 9) ",'pod_1':" B(1, 2) ",'pod_2':" B(2, 4) ",'pod_3':" B(5, 10),
         POD_1},
        {"0",
         "'none':" GAMMA(1, 2) ",'pod_1':" GAMMA(1, 3) ",'pod_2':" GAMMA(2, 4) ",'pod_3':" GAMMA(
             1e308, 1e-308),
         POD_3},
        {"0",
         "'none':" NIG(-5, 1, 1, 1) ",'pod_1':" NIG(-6, 9, 9, 9) ",'pod_2':" NIG(
             -4, 1, 1, 1) ",'pod_3':" NIG(-7, 1, 1, 1),
         POD_2},
    };
    struct plan *plan = fixture_bare();
    fixture_cap(plan, GUARDRAIL_ADS_PER_HOUR, NULL, 6);
    fixture_finish(plan);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "{'variant':'greedy','session':{'ads_last_hour':%s},'posteriors':{%s}}",
                 rows[i].session, rows[i].posteriors);
        struct run run;
        run_decide(&run, plan, text);
        for (uint32_t id = 0; id < 20; id++)
            if (run_again(&run, plan, id) != rows[i].action)
                fail_msg("row %zu: %d", i, run.decision.action);
        run_done(&run);
    }
    plan_free(plan);
}

/* ---- draws ---- */

#define SAME \
    "'posteriors':{'none':" B(5, 5) ",'pod_1':" B(5, 5) ",'pod_2':" B(5, 5) ",'pod_3':" B(5, 5) "}"

static void test_masking_leaves_the_draws_of_the_others(void **state)
{
    (void)state;
    struct plan *plan = fixture_bare();
    fixture_cap(plan, GUARDRAIL_ADS_PER_HOUR, NULL, 6);
    fixture_finish(plan);
    struct run all, two, one;
    run_decide(&all, plan, "{'variant':'bayes','session':{'ads_last_hour':0}," SAME "}");
    run_decide(&two, plan, "{'variant':'bayes','session':{'ads_last_hour':4}," SAME "}");
    run_decide(&one, plan, "{'variant':'bayes','session':{'ads_last_hour':5}," SAME "}");
    int changed = 0;
    for (uint32_t id = 0; id < 20000; id++) {
        int a = run_again(&all, plan, id), b = run_again(&two, plan, id);
        int c = run_again(&one, plan, id);
        if (a != POD_3) assert_int_equal(b, a);
        if (b != POD_2) assert_int_equal(c, b);
        changed += a != b;
    }
    assert_true(changed > 4000 && changed < 6000);
    run_done(&all);
    run_done(&two);
    run_done(&one);
    plan_free(plan);
}

/* Two variants of one policy draw independently of each other. */
static void test_variants_draw_independently(void **state)
{
    (void)state;
    struct plan *plan = fixture_bare();
    fixture_variant(plan, "bayes_2", BAYESIAN);
    fixture_finish(plan);
    struct run first, second;
    run_decide(&first, plan, "{'variant':'bayes'," SAME "}");
    run_decide(&second, plan, "{'variant':'bayes_2'," SAME "}");
    int both[4][4] = {{0}};
    for (uint32_t id = 0; id < DRAWS; id++)
        both[run_again(&first, plan, id)][run_again(&second, plan, id)]++;
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) assert_share("both", a * 4 + b, both[a][b], DRAWS, 1 / 16.0);
    run_done(&first);
    run_done(&second);
    plan_free(plan);
}

/* Two sessions that send the same posteriors are two draws; one request, sent again, is one. */
static void test_sessions_with_the_same_posteriors_are_not_all_alike(void **state)
{
    (void)state;
    struct plan *plan = fixture_finish(fixture_bare());
    int hits[4] = {0};
    for (int i = 0; i < 400; i++) {
        char text[512];
        snprintf(text, sizeof text, "{'request_id':'%c%d','variant':'bayes'," SAME "}",
                 'a' + i % 26, i);
        struct run run;
        int action = run_decide(&run, plan, text)->action;
        hits[action]++;
        run_done(&run);
        assert_int_equal(run_decide(&run, plan, text)->action, action);
        run_done(&run);
    }
    for (int a = 0; a < 4; a++) assert_true(hits[a] > 50 && hits[a] < 150);
    plan_free(plan);
}

/* ---- settling ---- */

/* A cooldown and a duration that are no whole seconds end at the next one; also where nobody was
 * asked. */
static void test_parts_of_a_second_are_rounded_up(void **state)
{
    (void)state;
    static const struct {
        int64_t ms, s;
    } rows[] = {{0, 0}, {1, 1}, {999, 1}, {1000, 1}, {1001, 2}, {1500, 2}, {2000, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan *plan = fixture_bare();
        fixture_ad_free(plan, "has(tier) && tier == 'premium'");
        plan->policies[GREEDY].actions = N | P1;
        for (int a = 0; a < 4; a++) plan->actions.actions[a].cooldown_ms = rows[i].ms;
        for (int a = 1; a < 4; a++) plan->actions.actions[a].max_duration_ms = rows[i].ms;
        fixture_finish(plan);
        struct run run;
        const struct decision *d = run_decide(&run, plan, "{'session':{'tier':'premium'}}");
        assert_null(d->asked);
        assert_int_equal(d->cooldown_s, rows[i].s);
        assert_int_equal(d->max_duration_s, 0);
        assert_int_equal(d->ads, 0);
        run_done(&run);
        d = run_decide(
            &run, plan,
            "{'variant':'greedy','posteriors':{'none':" B(1, 9) ",'pod_1':" B(9, 1) "}}");
        assert_int_equal(d->action, POD_1);
        assert_int_equal(d->ads, 1);
        assert_int_equal(d->cooldown_s, rows[i].s);
        assert_int_equal(d->max_duration_s, rows[i].s);
        run_done(&run);
        plan_free(plan);
    }
}

static uint64_t ticks;

static uint64_t next_tick(void)
{
    ticks = ticks * 2 + 1;
    return ticks;
}

/* Each stage is told once, and what it is told is what passed in it. */
static void test_a_probe_is_marked_stage_by_stage(void **state)
{
    (void)state;
    static const enum request_stage asked[] = {STAGE_ALLOCATE, STAGE_PRESENCE, STAGE_MASK,
                                               STAGE_CHOOSE, STAGE_SETTLE};
    static const enum request_stage gated[] = {STAGE_ALLOCATE, STAGE_PRESENCE, STAGE_SETTLE};
    for (int ad_free = 0; ad_free < 2; ad_free++) {
        struct plan *plan = fixture_finish(fixture_plan());
        struct run run;
        run_decide(&run, plan, ad_free ? "{'session':{'tier':'premium'}}" : "{}");
        struct probe probe = {.tick = next_tick};
        struct decision probed;
        ticks = 0;
        decide(plan, &run.request, run.now_us, &probe, &probed);
        assert_int_equal(probed.reasons, run.decision.reasons);
        int count = ad_free ? 3 : 5;
        uint64_t expected[STAGE_COUNT] = {0};
        for (int i = 0; i < count; i++) expected[ad_free ? gated[i] : asked[i]] = (uint64_t)1 << i;
        assert_memory_equal(probe.spent_ns, expected, sizeof expected);
        run_done(&run);
        plan_free(plan);
    }
}

/* ---- the same again ---- */

static size_t reply_text(struct run *run, const struct plan *plan, const char *json, char *text)
{
    run_decide(run, plan, json);
    struct buf b = buf_of(text, REPLY_EXPLAIN_BYTES_MAX);
    reply_write(&b, plan, &run->request, &run->decision, run->now_us);
    assert_false(b.full);
    return b.len;
}

static const char *const groups[] = {
    /* each line one request, its fields in different orders */
    "{'request_id':'r-1','variant':'bayes','session':{'elapsed_s':1830,'ads_last_hour':4,"
    "'seconds_since_last_break_end':915,'ad_seconds_last_hour':55},'explain':true," SAME "}",
    "{" SAME ",'explain':true,'session':{'ad_seconds_last_hour':55,'elapsed_s':1830,"
    "'seconds_since_last_break_end':915,'ads_last_hour':4},'variant':'bayes','request_id':'r-1'}",
    " { 'x' : [ ] , 'variant' : 'b\\u0061yes' , 'session' : { 'elapsed_s' : 1830.0 , "
    "'ads_last_hour' : 4e0 , 'y' : null , 'seconds_since_last_break_end' : 915.25 , "
    "'ad_seconds_last_hour' : 550e-1 } , 'posteriors' : { 'pod_3' : { 'beta' : 5 , 'alpha' : 5 } , "
    "'pod_1' : " B(5.0, 5e0) " , 'none' : " B(5, 5) " , 'pod_2' : " B(
        5, 5) " } , 'request_id' : "
              "'\\u0072-1' , 'explain' : true } \n",
    NULL,
    "{'variant':'bayes','posteriors':{'none':" B(1, 1) ",'x':1,'pod_2':7},'request_id':'r-2'}",
    "{'request_id':'r-2','posteriors':{'pod_2':7,'none':" B(1, 1) ",'x':1},'variant':'bayes'}",
    NULL,
    "{'unit_id':'u-6','request_id':'r-3','last':{'seconds_ago':1,'cooldown_s':9}}",
    "{'last':{'cooldown_s':9,'seconds_ago':1},'request_id':'r-3','unit_id':'u-6'}",
};

static void test_a_reply_does_not_depend_on_the_order_of_fields(void **state)
{
    (void)state;
    static char first[REPLY_EXPLAIN_BYTES_MAX], text[REPLY_EXPLAIN_BYTES_MAX];
    struct plan *plan = fixture_finish(fixture_plan());
    size_t first_len = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (!groups[i]) {
            first_len = 0;
            continue;
        }
        struct run run;
        size_t len = reply_text(&run, plan, groups[i], text);
        run_done(&run);
        if (first_len) {
            if (len != first_len || memcmp(text, first, len))
                fail_msg("%s:\n%.*s\n%.*s", groups[i], (int)first_len, first, (int)len, text);
        } else {
            memcpy(first, text, len);
            first_len = len;
        }
    }
    plan_free(plan);
}

/* Nothing of one decision is left for the next: not in the plan, not in the request. */
static void test_deciding_again_gives_the_same_bytes(void **state)
{
    (void)state;
    static char first[REPLY_EXPLAIN_BYTES_MAX], text[REPLY_EXPLAIN_BYTES_MAX];
    struct plan *plan = fixture_finish(fixture_plan());
    struct plan *other = fixture_finish(fixture_plan());
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (!groups[i]) continue;
        struct run run;
        size_t first_len = reply_text(&run, plan, groups[i], first);
        struct decision before = run.decision;
        memset(&run.decision, 0xa5, sizeof run.decision);
        decide(plan, &run.request, run.now_us, NULL, &run.decision);
        assert_int_equal(run.decision.action, before.action);
        assert_int_equal(run.decision.reasons, before.reasons);
        struct buf b = buf_of(text, sizeof text);
        reply_write(&b, plan, &run.request, &run.decision, run.now_us);
        assert_int_equal(b.len, first_len);
        assert_memory_equal(text, first, first_len);
        run_done(&run);

        assert_int_equal(reply_text(&run, other, groups[i], text), first_len);
        assert_memory_equal(text, first, first_len);
        run_done(&run);
    }
    plan_free(other);
    plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thompson_s_shares),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_priors_are_drawn_from),
        cmocka_unit_test(test_floor),
        cmocka_unit_test(test_floor_is_over_the_eligible),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_masking_leaves_the_draws_of_the_others),
        cmocka_unit_test(test_variants_draw_independently),
        cmocka_unit_test(test_sessions_with_the_same_posteriors_are_not_all_alike),
        cmocka_unit_test(test_parts_of_a_second_are_rounded_up),
        cmocka_unit_test(test_a_probe_is_marked_stage_by_stage),
        cmocka_unit_test(test_a_reply_does_not_depend_on_the_order_of_fields),
        cmocka_unit_test(test_deciding_again_gives_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
