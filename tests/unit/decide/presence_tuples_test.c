/* DESIGN's presence table in all combinations: everything that can stand for one action, for each
 * of four actions, compared with a judge that is written here, from DESIGN's words. */
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum {
    COMPLETE = 1 << POSTERIORS_COMPLETE,
    PARTIAL = 1 << POSTERIORS_PARTIAL,
    STALE = 1 << POSTERIORS_STALE,
    ABSENT = 1 << POSTERIORS_ABSENT,
    UNKNOWN = 1 << POSTERIORS_UNKNOWN_ACTION,
    INVALID = 1 << POSTERIORS_INVALID,
};

#define AGE_MAX_US INT64_C(3600000000)
#define AS_OF_OLD "2026-11-30T07:00:00.122Z" /* a millisecond too old */

static void set_learned(struct policy *policy, enum on_partial on_partial, action_set used)
{
    policy->on_partial = on_partial;
    policy->actions = used;
    policy->max_posterior_age_us = AGE_MAX_US;
    policy->has_prior = true;
    for (int i = 0; i < ACTIONS_MAX; i++)
        policy->prior[i] = (struct posterior){FAMILY_BETA, {1, 1}};
}

/* What can stand for one action, and DESIGN's words for it. */
enum { MISSING, BAD, BAD_BETA, GOOD_BETA, GOOD_NORMAL };

static const struct {
    const char *entry; /* NULL: no entry */
    int word;
} kinds[] = {
    {"{'alpha':2,'beta':3}", GOOD_BETA},
    {NULL, MISSING},
    {"null", MISSING},
    {"{}", MISSING},
    {"{'alpha':1e999,'beta':3}", BAD_BETA},
    {"{'alpha':'2','beta':3}", BAD_BETA},
    {"{'alpha':2,'beta':null}", BAD_BETA},
    {"{'alpha':0,'beta':3}", BAD_BETA},
    {"{'beta':-3,'alpha':2}", BAD_BETA},
    {"[2,3]", BAD},
    {"{'a':2,'b':3}", BAD},
    {"{'alpha':2,'beta':3,'n':5}", BAD},
    {"{'alpha':2,'beta':3,'mean':0,'variance':1}", BAD},
    {"{'mean':0,'variance':1}", GOOD_NORMAL},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct judged {
    action_set missing, invalid, valid, unused;
    bool beta, normal; /* the request's family; neither: none is set */
};

static struct judged judge(const int tuple[4], action_set used)
{
    struct judged j = {0};
    for (int i = 0; i < 4; i++) {
        int word = kinds[tuple[i]].word;
        action_set bit = (action_set)(1 << i);
        if (!(used & bit)) {
            if (word != MISSING) j.unused |= bit;
            continue;
        }
        if (!j.beta && !j.normal) {
            j.beta = word == BAD_BETA || word == GOOD_BETA;
            j.normal = word == GOOD_NORMAL;
        }
        if (word == MISSING)
            j.missing |= bit;
        else if ((word == GOOD_BETA && j.beta) || (word == GOOD_NORMAL && j.normal))
            j.valid |= bit;
        else
            j.invalid |= bit;
    }
    return j;
}

static uint32_t judge_conditions(const struct judged *j, action_set used, bool unknown, bool old)
{
    uint32_t c = 0;
    if (j->missing == used)
        c |= ABSENT;
    else if (j->missing)
        c |= PARTIAL;
    if (j->invalid) c |= INVALID;
    if (unknown) c |= UNKNOWN;
    if (old && j->valid) c |= STALE;
    return c ? c : COMPLETE;
}

static enum posteriors_status judge_status(uint32_t c)
{
    if (c & INVALID) return POSTERIORS_INVALID;
    if (c & UNKNOWN) return POSTERIORS_UNKNOWN_ACTION;
    if (c & ABSENT) return POSTERIORS_ABSENT;
    if (c & STALE) return POSTERIORS_STALE;
    return c & PARTIAL ? POSTERIORS_PARTIAL : POSTERIORS_COMPLETE;
}

/* Here an action's number is its ads: without the gone ones, and without all above the first. */
static action_set judge_exclude(action_set used, action_set gone)
{
    action_set left = 0;
    for (int i = 0; i < 4 && !(gone >> i & 1); i++) left |= (action_set)(used & 1 << i);
    return left;
}

/* The actions that may be chosen; 0: the fallback decides. The prior is a Beta. */
static action_set judge_usable(const struct judged *j, const struct policy *policy, uint32_t c)
{
    action_set used = policy->actions, gone = j->missing | j->invalid, usable;
    if (gone == used) return 0;
    if (c & STALE && policy->on_stale == ON_STALE_FALLBACK) return 0;
    if (gone && policy->on_partial == ON_PARTIAL_FALLBACK) return 0;
    if (policy->on_partial == ON_PARTIAL_PRIOR && !j->normal)
        usable = used;
    else
        usable = judge_exclude(used, gone);
    return usable & N && usable & (P1 | P2 | P3) ? usable : 0;
}

static void check_tuple(const struct plan *plan, const char *text, const struct request *request,
                        const int tuple[4], const struct policy *policy)
{
    bool unknown = request->unknown_actions > 0, old = request->as_of_us != REQUEST_TIME_NONE;
    struct presence p;
    presence_classify(plan, policy, request, FIXTURE_NOW_US, &p);
    struct judged j = judge(tuple, policy->actions);
    uint32_t conditions = judge_conditions(&j, policy->actions, unknown, old);
    action_set usable = judge_usable(&j, policy, conditions);
    bool good = p.conditions == conditions && p.status == judge_status(conditions) &&
                p.missing == j.missing && p.invalid == j.invalid && p.unused == j.unused &&
                (p.fallback != FALLBACK_NONE) == (usable == 0) && (!usable || p.usable == usable);
    if (!good)
        fail_msg("%s: %s, conditions %x, missing %x, invalid %x, usable %x, fallback %s; "
                 "expected %x, %x, %x, %x",
                 text, posteriors_status_name(p.status), p.conditions, p.missing, p.invalid,
                 p.usable, fallback_reason_name(p.fallback), conditions, j.missing, j.invalid,
                 usable);
}

/* Six policies: each on_partial, with all actions and with some. */
static struct plan *plan_of_ways(void)
{
    struct plan *plan = fixture_bare();
    static const action_set used[] = {ALL, N | P1 | P3};
    for (int u = 0; u < 2; u++)
        for (int way = 0; way < 3; way++) {
            struct policy *policy = fixture_policy(plan, "way", POLICY_THOMPSON);
            set_learned(policy, (enum on_partial)way, used[u]);
            policy->on_stale = way == ON_PARTIAL_EXCLUDE ? ON_STALE_FALLBACK : ON_STALE_USE;
        }
    return fixture_finish(plan);
}

static void test_every_tuple(void **state)
{
    (void)state;
    struct plan *plan = plan_of_ways();
    for (int n = 0; n < KINDS * KINDS * KINDS * KINDS; n++) {
        const int tuple[4] = {n % KINDS, n / KINDS % KINDS, n / KINDS / KINDS % KINDS,
                              n / KINDS / KINDS / KINDS};
        bool unknown = n % 5 == 0, old = n % 3 == 0;
        char text[512] = "{'posteriors':{";
        const char *comma = "";
        for (int i = 0; i < 4; i++) {
            if (!kinds[tuple[i]].entry) continue;
            static const char *const names[] = {"none", "pod_1", "pod_2", "pod_3"};
            size_t len = strlen(text);
            snprintf(text + len, sizeof text - len, "%s'%s':%s", comma, names[i],
                     kinds[tuple[i]].entry);
            comma = ",";
        }
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "%s%s}%s}", unknown ? comma : "",
                 unknown ? "'x':{'mean':0,'variance':1}" : "",
                 old ? ",'posteriors_as_of':'" AS_OF_OLD "'" : "");
        struct run run;
        if (run_read(&run, plan, text)) fail_msg("%s: %s", text, run.e.text);
        assert_int_equal(run.request.unknown_actions, unknown);
        for (int way = 0; way < 6; way++)
            check_tuple(plan, text, &run.request, tuple, &plan->policies[RANDOM + 1 + way]);
        run_done(&run);
    }
    plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_tuple),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
