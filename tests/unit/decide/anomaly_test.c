/* No anomaly may raise the ads of an answer.
 *
 * Requests with random posteriors are decided whole, and again with some of their entries removed
 * or spoilt, under the same ids. Where the learned policy still decides, every single answer must
 * have as many ads as the whole request's or fewer. Where the fallback decides, every answer must
 * be the fallback's. So the expected ads are no more than the larger of the two, and the sums are
 * compared as well, in case both claims are wrong together. */
#include "plan_fixture.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { PLANS = 40, SUBSETS = 6, IDS = 2000 };

static uint64_t below(struct rng *r, uint64_t n)
{
    return rng_next(r) % n;
}

/* Shapes from 1e-3 to 1e3, so that some actions win nearly always and some hardly ever. */
static double random_shape(struct rng *r)
{
    static const double scales[] = {1e-3, 0.1, 1, 1, 1, 10, 1e3};
    return scales[below(r, 7)] * (0.1 + 4 * rng_open01(rng_next(r)));
}

static void put_valid(struct rng *r, int family, char entry[160])
{
    double a = random_shape(r), b = random_shape(r), c = random_shape(r);
    double m = 4 * rng_open01(rng_next(r)) - 2;
    if (family == FAMILY_BETA)
        snprintf(entry, 160, "{\"alpha\":%.17g,\"beta\":%.17g}", a, b);
    else if (family == FAMILY_NORMAL)
        snprintf(entry, 160, "{\"mean\":%.17g,\"variance\":%.17g}", m, a);
    else if (family == FAMILY_GAMMA)
        snprintf(entry, 160, "{\"shape\":%.17g,\"rate\":%.17g}", a, b);
    else
        snprintf(entry, 160, "{\"mu\":%.17g,\"lambda\":%.17g,\"alpha\":%.17g,\"beta\":%.17g}", m, a,
                 b, c);
}

static const char *const spoilt[] = {
    NULL,        "null", "{}", "7", "{\"alpha\":0,\"beta\":1}", "{\"alpha\":1e999,\"beta\":1}",
    "{\"a\":1}", "[]",
};

static struct run read_request(const struct plan *plan, const char *variant,
                               const char *const entries[4], int ads_last_hour, bool extra)
{
    char text[2048];
    int len = snprintf(text, sizeof text,
                       "{\"variant\":\"%s\",\"session\":{\"elapsed_s\":5000,\"tracks_played\":%d,"
                       "\"ads_last_hour\":%d},\"posteriors\":{\"x\":1",
                       variant, ads_last_hour + 2, ads_last_hour);
    if (!extra) len -= 5; /* without the action that the plan does not have */
    const char *comma = extra ? "," : "";
    for (int i = 0; i < 4; i++) {
        if (!entries[i]) continue;
        len += snprintf(text + len, sizeof text - (size_t)len, "%s\"%.*s\":%s", comma,
                        (int)plan->actions.actions[i].name.len, plan->actions.actions[i].name.data,
                        entries[i]);
        comma = ",";
    }
    snprintf(text + len, sizeof text - (size_t)len, "}}");
    struct run run;
    run_decide(&run, plan, text);
    return run;
}

/* The actions in a random order, sometimes two of as many ads; values, floor, fallback at random.
 */
static struct plan *random_plan(struct rng *r)
{
    struct plan *plan = fixture_bare();
    for (int i = 3; i > 0; i--) {
        int j = (int)below(r, (uint64_t)i + 1);
        struct action swapped = plan->actions.actions[i];
        plan->actions.actions[i] = plan->actions.actions[j];
        plan->actions.actions[j] = swapped;
    }
    for (int i = 0; i < 4; i++)
        if (plan->actions.actions[i].ads == 2 && below(r, 4) == 0) plan->actions.actions[i].ads = 1;

    static const struct policy_rule always[4] = {
        {NULL, 0, -1}, {NULL, 1, -1}, {NULL, 2, -1}, {NULL, 3, -1}};
    plan->policies[PROMOTED].rules = &always[below(r, 4)];
    plan->policies[PROMOTED].rule_count = 1;
    int fallback = below(r, 2) ? PROMOTED : RANDOM;
    for (int p = BAYESIAN; p <= GREEDY; p++) {
        struct policy *policy = &plan->policies[p];
        static const double floors[] = {0, 0, 0.05, 0.5, 1};
        policy->on_partial = below(r, 2) ? ON_PARTIAL_EXCLUDE : ON_PARTIAL_FALLBACK;
        policy->floor = floors[below(r, 5)];
        policy->floor_toward = below(r, 2) ? FLOOR_UNIFORM : FLOOR_FALLBACK;
        policy->fallback = &plan->policies[fallback];
        policy->values_equal = below(r, 2);
        for (int i = 0; i < 4 && !policy->values_equal; i++) {
            policy->offset[i] = (double)below(r, 3) / 2;
            policy->weight[i] = (double)below(r, 5) - 1;
        }
    }
    if (below(r, 2)) fixture_cap(plan, GUARDRAIL_ADS_PER_HOUR, NULL, 4);
    return fixture_finish(plan);
}

static void check_subset(const struct plan *plan, struct rng *r, const char *variant,
                         const char *const entries[4], int ads_last_hour)
{
    const char *left[4];
    for (int i = 0; i < 4; i++) left[i] = below(r, 2) ? entries[i] : spoilt[below(r, 8)];
    static const char *const nothing[4];
    struct run whole = read_request(plan, variant, entries, ads_last_hour, false);
    struct run some = read_request(plan, variant, left, ads_last_hour, below(r, 2));
    struct run none = read_request(plan, variant, nothing, ads_last_hour, false);
    assert_int_equal(whole.decision.presence.status, POSTERIORS_COMPLETE);
    assert_int_equal(none.decision.presence.status, POSTERIORS_ABSENT);

    bool fell = some.decision.presence.fallback != FALLBACK_NONE;
    int64_t sum_whole = 0, sum_some = 0, sum_none = 0;
    for (uint32_t id = 0; id < IDS; id++) {
        const struct action *actions = plan->actions.actions;
        int from_whole = run_again(&whole, plan, id), from_some = run_again(&some, plan, id);
        int from_none = run_again(&none, plan, id);
        if (fell)
            assert_int_equal(from_some, from_none);
        else if (actions[from_some].ads > actions[from_whole].ads)
            fail_msg("%s, id %u: %d ads, and %d with all", variant, id, actions[from_some].ads,
                     actions[from_whole].ads);
        sum_whole += actions[from_whole].ads;
        sum_some += actions[from_some].ads;
        sum_none += actions[from_none].ads;
    }
    if (sum_some > sum_whole && sum_some > sum_none)
        fail_msg("%s: %lld ads, all %lld, fallback %lld", variant, (long long)sum_some,
                 (long long)sum_whole, (long long)sum_none);
    run_done(&whole);
    run_done(&some);
    run_done(&none);
}

static void test_leaving_out_posteriors_never_adds_ads(void **state)
{
    (void)state;
    struct rng r;
    rng_init(&r, (struct hash128){11, 30});
    for (int p = 0; p < PLANS; p++) {
        struct plan *plan = random_plan(&r);
        int family = (int)below(&r, FAMILY_COUNT), ads_last_hour = (int)below(&r, 4);
        char texts[4][160];
        const char *entries[4];
        for (int i = 0; i < 4; i++) {
            put_valid(&r, family, texts[i]);
            entries[i] = texts[i];
        }
        for (int s = 0; s < SUBSETS; s++)
            check_subset(plan, &r, p % 2 ? "bayes" : "greedy", entries, ads_last_hour);
        plan_free(plan);
    }
}

/* Stale posteriors, by either way, are the whole request's answer or the fallback's. */
static void test_stale_adds_no_ads(void **state)
{
    (void)state;
#define POSTERIORS                                                            \
    "'posteriors':{'none':{'alpha':5,'beta':5},'pod_1':{'alpha':5,'beta':5}," \
    "'pod_2':{'alpha':5,'beta':5},'pod_3':{'alpha':5,'beta':5}}"
    for (int way = 0; way < 2; way++) {
        struct plan *plan = fixture_bare();
        plan->policies[BAYESIAN].max_posterior_age_us = 1;
        plan->policies[BAYESIAN].on_stale = way ? ON_STALE_FALLBACK : ON_STALE_USE;
        plan->policies[BAYESIAN].fallback = &plan->policies[RANDOM];
        fixture_finish(plan);
        struct run fresh, stale, none;
        run_decide(&fresh, plan, "{'variant':'bayes'," POSTERIORS "}");
        run_decide(&stale, plan,
                   "{'variant':'bayes','posteriors_as_of':'2026-01-01T00:00:00Z',"
                   "" POSTERIORS "}");
        run_decide(&none, plan, "{'variant':'bayes'}");
        assert_int_equal(stale.decision.presence.status, POSTERIORS_STALE);
        for (uint32_t id = 0; id < IDS; id++)
            assert_int_equal(run_again(&stale, plan, id),
                             run_again(way ? &none : &fresh, plan, id));
        run_done(&fresh);
        run_done(&stale);
        run_done(&none);
        plan_free(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaving_out_posteriors_never_adds_ads),
        cmocka_unit_test(test_stale_adds_no_ads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
