/* DESIGN's presence table, row by row: what a caller can send, each alone and some together, with
 * what must come of it under each on_partial. Who is asked comes before what is missing: the same
 * rows, sent to policies that read nothing, miss nothing. */
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum {
    BY_DESIGN = 1 << POSTERIORS_BY_DESIGN,
    UNSOLICITED = 1 << POSTERIORS_UNSOLICITED,
    COMPLETE = 1 << POSTERIORS_COMPLETE,
    COLD_START = 1 << POSTERIORS_COLD_START,
    PARTIAL = 1 << POSTERIORS_PARTIAL,
    STALE = 1 << POSTERIORS_STALE,
    ABSENT = 1 << POSTERIORS_ABSENT,
    UNKNOWN = 1 << POSTERIORS_UNKNOWN_ACTION,
    INVALID = 1 << POSTERIORS_INVALID,
};

#define AGE_MAX_US INT64_C(3600000000)
#define AS_OF_OLD "2026-11-30T07:00:00.122Z"   /* a millisecond too old */
#define AS_OF_LIMIT "2026-11-30T07:00:00.123Z" /* exactly as old as is allowed */
#define AS_OF_LATER "2026-11-30T09:00:00Z"

#define OK_NONE "'none':{'alpha':20,'beta':80}"
#define OK_1 "'pod_1':{'alpha':25,'beta':75}"
#define OK_2 "'pod_2':{'alpha':30,'beta':70}"
#define OK_3 "'pod_3':{'alpha':22,'beta':78}"
#define REST OK_NONE "," OK_2 "," OK_3 /* all but pod_1 */
#define FULL OK_NONE "," OK_1 "," OK_2 "," OK_3

static const struct posterior prior_beta = {FAMILY_BETA, {1, 1}};
static const struct posterior prior_normal = {FAMILY_NORMAL, {0, 1}};

static void set_learned(struct policy *policy, enum on_partial on_partial, action_set used)
{
    policy->on_partial = on_partial;
    policy->actions = used;
    policy->max_posterior_age_us = AGE_MAX_US;
    policy->has_prior = true;
    for (int i = 0; i < ACTIONS_MAX; i++) policy->prior[i] = prior_beta;
}

static const char *request_text(char text[2048], const char *variant, const char *posteriors,
                                const char *as_of)
{
    int len = snprintf(text, 2048, "{'variant':'%s','session':{}", variant);
    if (posteriors) len += snprintf(text + len, 2048 - (size_t)len, ",'posteriors':%s", posteriors);
    if (as_of) len += snprintf(text + len, 2048 - (size_t)len, ",'posteriors_as_of':'%s'", as_of);
    snprintf(text + len, 2048 - (size_t)len, "}");
    return text;
}

/* ---- the table by hand ---- */

/* `usable` is what may be chosen, before the mask; where a fallback decides it is not judged. */
struct outcome {
    action_set usable;
    enum fallback_reason fallback;
};

#define USABLE(set)          \
    {                        \
        (set), FALLBACK_NONE \
    }
#define FALLS(why)        \
    {                     \
        0, FALLBACK_##why \
    }

struct row {
    const char *what, *posteriors, *as_of;
    enum posteriors_status status;
    uint32_t conditions;
    action_set missing, invalid;
    int unknown;
    action_set from_prior; /* under on_partial: prior */
    struct outcome exclude, prior, fallback;
};

#define ONE_INVALID(what, entry)                                                               \
    {                                                                                          \
        what, "{" REST ",'pod_1':" entry "}", NULL, POSTERIORS_INVALID, INVALID, 0, P1, 0, P1, \
            FALLS(INVALID), USABLE(ALL), FALLS(INVALID)                                        \
    }
/* Here pod_2, so that `exclude` leaves something: pod_2 and the heavier pod_3 go. */
#define SECOND_INVALID(what, entry)                                                          \
    {                                                                                        \
        what, "{" OK_NONE "," OK_1 "," OK_3 ",'pod_2':" entry "}", NULL, POSTERIORS_INVALID, \
            INVALID, 0, P2, 0, P2, USABLE(N | P1), USABLE(ALL), FALLS(INVALID)               \
    }
#define NOT_OBJECT(what, value)                                                       \
    {                                                                                 \
        what, value, NULL, POSTERIORS_INVALID, INVALID, 0, ALL, 0, 0, FALLS(INVALID), \
            FALLS(INVALID), FALLS(INVALID)                                            \
    }
#define ALL_FALL(why) 0, FALLS(why), FALLS(why), FALLS(why)

static const struct row rows[] = {
    {"complete", "{" FULL "}", NULL, POSTERIORS_COMPLETE, COMPLETE, 0, 0, 0, 0, USABLE(ALL),
     USABLE(ALL), USABLE(ALL)},
    {"complete and as old as is allowed", "{" FULL "}", AS_OF_LIMIT, POSTERIORS_COMPLETE, COMPLETE,
     0, 0, 0, 0, USABLE(ALL), USABLE(ALL), USABLE(ALL)},
    {"complete and from the future", "{" FULL "}", AS_OF_LATER, POSTERIORS_COMPLETE, COMPLETE, 0, 0,
     0, 0, USABLE(ALL), USABLE(ALL), USABLE(ALL)},

    /* nothing, in each of its forms */
    {"no field", NULL, NULL, POSTERIORS_ABSENT, ABSENT, ALL, 0, 0, ALL_FALL(ABSENT)},
    {"null", "null", NULL, POSTERIORS_ABSENT, ABSENT, ALL, 0, 0, ALL_FALL(ABSENT)},
    {"{}", "{}", NULL, POSTERIORS_ABSENT, ABSENT, ALL, 0, 0, ALL_FALL(ABSENT)},
    {"nothing, dated long ago", "{}", AS_OF_OLD, POSTERIORS_ABSENT, ABSENT, ALL, 0, 0,
     ALL_FALL(ABSENT)},
    {"every entry null or {}", "{'none':null,'pod_1':{},'pod_2':null,'pod_3':{}}", NULL,
     POSTERIORS_ABSENT, ABSENT, ALL, 0, 0, ALL_FALL(ABSENT)},
    {"only unknown actions", "{'pod_9':{'alpha':1,'beta':1}}", NULL, POSTERIORS_UNKNOWN_ACTION,
     ABSENT | UNKNOWN, ALL, 0, 1, ALL_FALL(ABSENT)},

    /* some: what is lighter than the lightest missing one stays */
    {"pod_3 missing", "{" OK_NONE "," OK_1 "," OK_2 "}", NULL, POSTERIORS_PARTIAL, PARTIAL, P3, 0,
     0, P3, USABLE(N | P1 | P2), USABLE(ALL), FALLS(PARTIAL)},
    {"pod_2 missing", "{" OK_NONE "," OK_1 "," OK_3 "}", NULL, POSTERIORS_PARTIAL, PARTIAL, P2, 0,
     0, P2, USABLE(N | P1), USABLE(ALL), FALLS(PARTIAL)},
    {"pod_2 null", "{" OK_NONE "," OK_1 "," OK_3 ",'pod_2':null}", NULL, POSTERIORS_PARTIAL,
     PARTIAL, P2, 0, 0, P2, USABLE(N | P1), USABLE(ALL), FALLS(PARTIAL)},
    {"pod_2 {}", "{" OK_NONE "," OK_1 "," OK_3 ",'pod_2':{}}", NULL, POSTERIORS_PARTIAL, PARTIAL,
     P2, 0, 0, P2, USABLE(N | P1), USABLE(ALL), FALLS(PARTIAL)},
    {"pod_1 missing", "{" REST "}", NULL, POSTERIORS_PARTIAL, PARTIAL, P1, 0, 0, P1, FALLS(PARTIAL),
     USABLE(ALL), FALLS(PARTIAL)},
    {"none missing", "{" OK_1 "," OK_2 "," OK_3 "}", NULL, POSTERIORS_PARTIAL, PARTIAL, N, 0, 0, N,
     FALLS(PARTIAL), USABLE(ALL), FALLS(PARTIAL)},
    {"all but none missing", "{" OK_NONE "}", NULL, POSTERIORS_PARTIAL, PARTIAL, P1 | P2 | P3, 0, 0,
     P1 | P2 | P3, FALLS(PARTIAL), USABLE(ALL), FALLS(PARTIAL)},
    {"pod_2 and pod_3 missing", "{" OK_NONE "," OK_1 "}", NULL, POSTERIORS_PARTIAL, PARTIAL,
     P2 | P3, 0, 0, P2 | P3, USABLE(N | P1), USABLE(ALL), FALLS(PARTIAL)},

    /* an action the plan does not have */
    {"complete and one extra", "{" FULL ",'pod_9':{'alpha':1,'beta':1}}", NULL,
     POSTERIORS_UNKNOWN_ACTION, UNKNOWN, 0, 0, 1, 0, USABLE(ALL), USABLE(ALL), USABLE(ALL)},
    {"complete and five extras of any type", "{'a':1,'b':null," FULL ",'c':{},'d':'x','e':[[]]}",
     NULL, POSTERIORS_UNKNOWN_ACTION, UNKNOWN, 0, 0, 5, 0, USABLE(ALL), USABLE(ALL), USABLE(ALL)},
    {"an extra one's impossible value is nobody's", "{" FULL ",'pod_9':{'alpha':-1,'beta':1e999}}",
     NULL, POSTERIORS_UNKNOWN_ACTION, UNKNOWN, 0, 0, 1, 0, USABLE(ALL), USABLE(ALL), USABLE(ALL)},
    {"names are case-sensitive", "{" OK_NONE "," OK_1 "," OK_2 ",'Pod_3':{'alpha':1,'beta':1}}",
     NULL, POSTERIORS_UNKNOWN_ACTION, PARTIAL | UNKNOWN, P3, 0, 1, P3, USABLE(N | P1 | P2),
     USABLE(ALL), FALLS(PARTIAL)},
    {"the empty name is an action that the plan does not have", "{" FULL ",'':{'alpha':1}}", NULL,
     POSTERIORS_UNKNOWN_ACTION, UNKNOWN, 0, 0, 1, 0, USABLE(ALL), USABLE(ALL), USABLE(ALL)},

    /* impossible values */
    SECOND_INVALID("1e999", "{'alpha':1e999,'beta':70}"),
    SECOND_INVALID("-1e999", "{'alpha':30,'beta':-1e999}"),
    SECOND_INVALID("a string member", "{'alpha':'30','beta':70}"),
    SECOND_INVALID("a bool member", "{'alpha':true,'beta':70}"),
    SECOND_INVALID("a null member", "{'alpha':null,'beta':70}"),
    SECOND_INVALID("an object member", "{'alpha':{},'beta':70}"),
    SECOND_INVALID("an array member", "{'alpha':[30],'beta':70}"),
    SECOND_INVALID("alpha 0", "{'alpha':0,'beta':70}"),
    SECOND_INVALID("alpha -0", "{'alpha':-0.0,'beta':70}"),
    SECOND_INVALID("alpha that is too small for a double", "{'alpha':1e-999,'beta':70}"),
    SECOND_INVALID("alpha negative", "{'alpha':-1,'beta':70}"),
    SECOND_INVALID("beta 0", "{'alpha':30,'beta':0}"),
    SECOND_INVALID("one name", "{'alpha':30}"),
    SECOND_INVALID("other names", "{'a':30,'b':70}"),
    SECOND_INVALID("names of another case", "{'Alpha':30,'Beta':70}"),
    SECOND_INVALID("an extra name", "{'alpha':30,'beta':70,'n':100}"),
    SECOND_INVALID("an extra name of nothing", "{'alpha':30,'beta':70,'n':null}"),
    SECOND_INVALID("two families", "{'alpha':30,'beta':70,'shape':1,'rate':1}"),
    SECOND_INVALID("half of another family", "{'alpha':30,'beta':70,'mean':0}"),
    SECOND_INVALID("Normal among Betas", "{'mean':0.3,'variance':0.01}"),
    SECOND_INVALID("Normal-inverse-gamma among Betas", "{'mu':0,'lambda':1,'alpha':30,'beta':70}"),
    SECOND_INVALID("Gamma among Betas", "{'shape':3,'rate':1}"),
    SECOND_INVALID("an array", "[30,70]"),
    SECOND_INVALID("an empty array", "[]"),
    SECOND_INVALID("a number", "0.3"),
    SECOND_INVALID("a string", "'{}'"),
    SECOND_INVALID("false", "false"),
    ONE_INVALID("pod_1 impossible", "{'alpha':0,'beta':1}"),
    ONE_INVALID("pod_1 an array", "[]"),
    NOT_OBJECT("no object: a string", "'x'"),
    NOT_OBJECT("no object: an array", "[]"),
    NOT_OBJECT("no object: an array of them", "[{" FULL "}]"),
    NOT_OBJECT("no object: a number", "7"),
    NOT_OBJECT("no object: false", "false"),
    {"all impossible", "{'none':1,'pod_1':2,'pod_2':3,'pod_3':4}", NULL, POSTERIORS_INVALID,
     INVALID, 0, ALL, 0, ALL_FALL(INVALID)},
    {"none valid: some missing, the others impossible", "{'none':1,'pod_3':{'alpha':0,'beta':1}}",
     NULL, POSTERIORS_INVALID, PARTIAL | INVALID, P1 | P2, N | P3, 0, ALL_FALL(INVALID)},

    /* the first used action with a family's exact names sets the family, whatever its values */
    {"the first is Normal, so the Betas are invalid",
     "{'none':{'mean':0,'variance':1}," OK_1 "," OK_2 "," OK_3 "}", NULL, POSTERIORS_INVALID,
     INVALID, 0, P1 | P2 | P3, 0, 0, FALLS(INVALID), FALLS(PRIOR_FAMILY), FALLS(INVALID)},
    {"an impossible first sets it all the same",
     "{'none':{'mean':0,'variance':0}," OK_1 "," OK_2 "," OK_3 "}", NULL, POSTERIORS_INVALID,
     INVALID, 0, ALL, 0, ALL_FALL(INVALID)},
    {"first in plan order, not in the sender's",
     "{" OK_3 "," OK_2 "," OK_1 ",'none':{'mean':0,'variance':1}}", NULL, POSTERIORS_INVALID,
     INVALID, 0, P1 | P2 | P3, 0, 0, FALLS(INVALID), FALLS(PRIOR_FAMILY), FALLS(INVALID)},
    {"without exact names it sets nothing",
     "{'none':{'mean':0},'pod_1':{'alpha':1,'beta':1}," OK_2 "," OK_3 "}", NULL, POSTERIORS_INVALID,
     INVALID, 0, N, 0, N, FALLS(INVALID), USABLE(ALL), FALLS(INVALID)},
    {"an unknown action sets nothing", "{'pod_9':{'mean':0,'variance':1}," FULL "}", NULL,
     POSTERIORS_UNKNOWN_ACTION, UNKNOWN, 0, 0, 1, 0, USABLE(ALL), USABLE(ALL), USABLE(ALL)},

    /* too old */
    {"stale", "{" FULL "}", AS_OF_OLD, POSTERIORS_STALE, STALE, 0, 0, 0, 0, USABLE(ALL),
     USABLE(ALL), USABLE(ALL)},

    /* together: the gravest is told, all are held */
    {"partial and stale", "{" OK_NONE "," OK_1 "," OK_2 "}", AS_OF_OLD, POSTERIORS_STALE,
     PARTIAL | STALE, P3, 0, 0, P3, USABLE(N | P1 | P2), USABLE(ALL), FALLS(PARTIAL)},
    {"partial and unknown", "{" OK_NONE "," OK_1 "," OK_2 ",'x':0}", NULL,
     POSTERIORS_UNKNOWN_ACTION, PARTIAL | UNKNOWN, P3, 0, 1, P3, USABLE(N | P1 | P2), USABLE(ALL),
     FALLS(PARTIAL)},
    {"partial and invalid: what is done is the same", "{" OK_NONE "," OK_1 ",'pod_2':7}", NULL,
     POSTERIORS_INVALID, PARTIAL | INVALID, P3, P2, 0, P2 | P3, USABLE(N | P1), USABLE(ALL),
     FALLS(INVALID)},
    {"stale and unknown", "{" FULL ",'x':0}", AS_OF_OLD, POSTERIORS_UNKNOWN_ACTION, STALE | UNKNOWN,
     0, 0, 1, 0, USABLE(ALL), USABLE(ALL), USABLE(ALL)},
    {"stale, partial, unknown and invalid", "{" OK_NONE "," OK_1 ",'pod_3':[],'x':0}", AS_OF_OLD,
     POSTERIORS_INVALID, PARTIAL | STALE | UNKNOWN | INVALID, P2, P3, 1, P2 | P3, USABLE(N | P1),
     USABLE(ALL), FALLS(INVALID)},
    {"absent and unknown, dated long ago: nothing valid is old", "{'x':0}", AS_OF_OLD,
     POSTERIORS_UNKNOWN_ACTION, ABSENT | UNKNOWN, ALL, 0, 1, ALL_FALL(ABSENT)},
    {"invalid wholly, dated long ago: nothing valid is old", "7", AS_OF_OLD, POSTERIORS_INVALID,
     INVALID, 0, ALL, 0, ALL_FALL(INVALID)},
};

static void assert_outcome(const struct row *row, const char *under, const struct presence *p,
                           int unknown, const struct outcome *expected)
{
    if (p->status != row->status || p->conditions != row->conditions ||
        p->missing != row->missing || p->invalid != row->invalid || unknown != row->unknown)
        fail_msg("%s (%s): %s, conditions %x, missing %x, invalid %x, unknown %d", row->what, under,
                 posteriors_status_name(p->status), p->conditions, p->missing, p->invalid, unknown);
    if (p->fallback != expected->fallback)
        fail_msg("%s (%s): fallback %s", row->what, under, fallback_reason_name(p->fallback));
    if (p->fallback == FALLBACK_NONE && p->usable != expected->usable)
        fail_msg("%s (%s): usable %x", row->what, under, p->usable);
}

static void test_rows_for_policies_that_read_posteriors(void **state)
{
    (void)state;
    static const char *const variants[] = {"bayes", "greedy"};
    static const char *const under[] = {"exclude", "prior", "fallback"};
    for (int way = 0; way < 3; way++) {
        struct plan *plan = fixture_bare();
        set_learned(&plan->policies[BAYESIAN], (enum on_partial)way, ALL);
        set_learned(&plan->policies[GREEDY], (enum on_partial)way, ALL);
        fixture_finish(plan);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            for (int v = 0; v < 2; v++) {
                const struct row *row = &rows[i];
                const struct outcome *expected = way == ON_PARTIAL_EXCLUDE ? &row->exclude
                                                 : way == ON_PARTIAL_PRIOR ? &row->prior
                                                                           : &row->fallback;
                char text[2048];
                struct run run;
                const struct decision *d = run_decide(
                    &run, plan, request_text(text, variants[v], row->posteriors, row->as_of));
                assert_outcome(row, under[way], &d->presence, run.request.unknown_actions,
                               expected);
                bool prior = way == ON_PARTIAL_PRIOR && expected->fallback == FALLBACK_NONE;
                assert_int_equal(d->presence.from_prior, prior ? row->from_prior : 0);

                bool fell = expected->fallback != FALLBACK_NONE;
                assert_ptr_equal(d->policy, fell ? &plan->policies[PROMOTED] : d->asked);
                assert_int_equal(d->eligible, fell ? ALL : expected->usable);
                assert_true(action_in(d->eligible, d->action));
                assert_int_equal(d->reasons >> REASON_FALLBACK & 1, fell);
                run_done(&run);
            }
        plan_free(plan);
    }
}

/* The same rows, asked of nobody, or of policies that read nothing: an anomaly is impossible. */
static void test_rows_for_policies_that_read_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *variant;
        const char *ad_free;
    } asked[] = {{"control", NULL},
                 {"random", NULL},
                 {"bayes", "true"},
                 {"greedy", "true"},
                 {"control", "true"}};
    for (size_t a = 0; a < sizeof asked / sizeof *asked; a++) {
        struct plan *plan = fixture_bare();
        set_learned(&plan->policies[BAYESIAN], ON_PARTIAL_FALLBACK, ALL);
        set_learned(&plan->policies[GREEDY], ON_PARTIAL_PRIOR, ALL);
        plan->policies[GREEDY].on_empty = ON_EMPTY_COLD_START;
        if (asked[a].ad_free) fixture_ad_free(plan, asked[a].ad_free);
        fixture_finish(plan);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const char *sent = rows[i].posteriors;
            bool nothing = !sent || !strcmp(sent, "null") || !strcmp(sent, "{}");
            char text[2048];
            struct run run;
            const struct decision *d =
                run_decide(&run, plan, request_text(text, asked[a].variant, sent, rows[i].as_of));
            const struct presence *p = &d->presence;
            if (p->status != (nothing ? POSTERIORS_BY_DESIGN : POSTERIORS_UNSOLICITED) ||
                p->conditions != (nothing ? BY_DESIGN : UNSOLICITED))
                fail_msg("%s to %s: %s, %x", rows[i].what, asked[a].variant,
                         posteriors_status_name(p->status), p->conditions);
            assert_int_equal(p->missing | p->invalid | p->unused | p->from_prior, 0);
            assert_int_equal(p->fallback, FALLBACK_NONE);
            assert_false(p->prior_family);
            if (asked[a].ad_free) {
                assert_null(d->asked);
                assert_int_equal(d->action, NONE);
                assert_int_equal(d->reasons, 1u << REASON_AD_FREE);
            } else {
                assert_int_equal(d->eligible, ALL);
            }
            run_done(&run);
        }
        plan_free(plan);
    }
}

/* ---- on_empty, on_stale, actions, prior ---- */

static void test_cold_start_is_for_the_empty_object_alone(void **state)
{
    (void)state;
    static const struct {
        const char *posteriors, *as_of;
        uint32_t conditions;
        enum fallback_reason fallback;
        action_set from_prior;
    } cases[] = {
        {"{}", NULL, COLD_START, FALLBACK_NONE, ALL},
        {" { } ", NULL, COLD_START, FALLBACK_NONE, ALL},
        {"{}", AS_OF_OLD, COLD_START, FALLBACK_NONE, ALL},
        {NULL, NULL, ABSENT, FALLBACK_ABSENT, 0},
        {"null", NULL, ABSENT, FALLBACK_ABSENT, 0},
        {"{'none':null}", NULL, ABSENT, FALLBACK_ABSENT, 0},
        {"{'none':{}}", NULL, ABSENT, FALLBACK_ABSENT, 0},
        {"{'x':{}}", NULL, ABSENT | UNKNOWN, FALLBACK_ABSENT, 0},
        {"[]", NULL, INVALID, FALLBACK_INVALID, 0},
        {"{" FULL "}", NULL, COMPLETE, FALLBACK_NONE, 0},
    };
    for (int way = 0; way < 3; way++) {
        struct plan *plan = fixture_bare();
        set_learned(&plan->policies[BAYESIAN], (enum on_partial)way, ALL);
        plan->policies[BAYESIAN].on_empty = ON_EMPTY_COLD_START;
        fixture_finish(plan);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            char text[2048];
            struct run run;
            const struct decision *d = run_decide(
                &run, plan, request_text(text, "bayes", cases[i].posteriors, cases[i].as_of));
            if (d->presence.conditions != cases[i].conditions ||
                d->presence.fallback != cases[i].fallback ||
                d->presence.from_prior != cases[i].from_prior)
                fail_msg("case %zu, way %d: conditions %x, fallback %s, prior %x", i, way,
                         d->presence.conditions, fallback_reason_name(d->presence.fallback),
                         d->presence.from_prior);
            if (cases[i].conditions == COLD_START) {
                assert_int_equal(d->presence.status, POSTERIORS_COLD_START);
                assert_int_equal(d->presence.missing | d->presence.invalid, 0);
                assert_int_equal(d->eligible, ALL);
                assert_int_equal(d->reasons, 1u << REASON_POLICY);
            }
            run_done(&run);
        }
        plan_free(plan);
    }
}

static void test_stale(void **state)
{
    (void)state;
    static const struct {
        const char *posteriors, *as_of;
        int64_t age_max_us;
        enum on_stale on_stale;
        uint32_t conditions;
        enum fallback_reason fallback;
    } cases[] = {
        {"{" FULL "}", AS_OF_OLD, AGE_MAX_US, ON_STALE_USE, STALE, FALLBACK_NONE},
        {"{" FULL "}", AS_OF_OLD, AGE_MAX_US, ON_STALE_FALLBACK, STALE, FALLBACK_STALE},
        {"{" FULL "}", AS_OF_LIMIT, AGE_MAX_US, ON_STALE_FALLBACK, COMPLETE, FALLBACK_NONE},
        {"{" FULL "}", AS_OF_LATER, AGE_MAX_US, ON_STALE_FALLBACK, COMPLETE, FALLBACK_NONE},
        {"{" FULL "}", NULL, AGE_MAX_US, ON_STALE_FALLBACK, COMPLETE, FALLBACK_NONE},
        {"{" FULL "}", "1970-01-01T00:00:00Z", 0, ON_STALE_FALLBACK, COMPLETE, FALLBACK_NONE},
        {"{" FULL "}", "0000-01-01T00:00:00Z", 1, ON_STALE_FALLBACK, STALE, FALLBACK_STALE},
        {"{" OK_NONE "," OK_1 "}", AS_OF_OLD, AGE_MAX_US, ON_STALE_FALLBACK, PARTIAL | STALE,
         FALLBACK_STALE},
        /* One valid entry is enough to be old; without one, nothing is. */
        {"{" OK_1 ",'none':1,'pod_2':1,'pod_3':1}", AS_OF_OLD, AGE_MAX_US, ON_STALE_USE,
         INVALID | STALE, FALLBACK_INVALID},
        {"{'none':1,'pod_1':1,'pod_2':1,'pod_3':1}", AS_OF_OLD, AGE_MAX_US, ON_STALE_FALLBACK,
         INVALID, FALLBACK_INVALID},
        {"null", AS_OF_OLD, AGE_MAX_US, ON_STALE_FALLBACK, ABSENT, FALLBACK_ABSENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan *plan = fixture_bare();
        set_learned(&plan->policies[BAYESIAN], ON_PARTIAL_EXCLUDE, ALL);
        plan->policies[BAYESIAN].max_posterior_age_us = cases[i].age_max_us;
        plan->policies[BAYESIAN].on_stale = cases[i].on_stale;
        fixture_finish(plan);
        char text[2048];
        struct run run;
        const struct decision *d = run_decide(
            &run, plan, request_text(text, "bayes", cases[i].posteriors, cases[i].as_of));
        if (d->presence.conditions != cases[i].conditions ||
            d->presence.fallback != cases[i].fallback)
            fail_msg("case %zu: conditions %x, fallback %s", i, d->presence.conditions,
                     fallback_reason_name(d->presence.fallback));
        run_done(&run);
        plan_free(plan);
    }
}

static void test_stale_is_judged_by_the_request_s_time(void **state)
{
    (void)state;
    struct plan *plan = fixture_bare();
    set_learned(&plan->policies[BAYESIAN], ON_PARTIAL_EXCLUDE, ALL);
    fixture_finish(plan);
    struct run run;
    const struct decision *d =
        run_decide(&run, plan,
                   "{'variant':'bayes','time':'2020-01-01T01:00:00Z',"
                   "'posteriors_as_of':'2020-01-01T00:00:00Z','posteriors':{" FULL "}}");
    assert_int_equal(d->presence.status, POSTERIORS_COMPLETE);
    run_done(&run);
    d = run_decide(&run, plan,
                   "{'variant':'bayes','time':'2020-01-01T01:00:00.000001Z',"
                   "'posteriors_as_of':'2020-01-01T00:00:00Z','posteriors':{" FULL "}}");
    assert_int_equal(d->presence.status, POSTERIORS_STALE);
    run_done(&run);
    plan_free(plan);
}

static void test_only_the_used_actions_are_judged(void **state)
{
    (void)state;
    static const struct {
        const char *posteriors;
        uint32_t conditions;
        action_set missing, invalid, unused, usable;
        enum fallback_reason fallback;
    } cases[] = {
        {"{" FULL "}", COMPLETE, 0, 0, P2, N | P1 | P3, FALLBACK_NONE},
        {"{" OK_NONE "," OK_1 "," OK_3 "}", COMPLETE, 0, 0, 0, N | P1 | P3, FALLBACK_NONE},
        {"{" OK_NONE "," OK_1 "," OK_3 ",'pod_2':7}", COMPLETE, 0, 0, P2, N | P1 | P3,
         FALLBACK_NONE},
        {"{" OK_NONE "," OK_1 "," OK_3 ",'pod_2':{'alpha':-1,'beta':1e999}}", COMPLETE, 0, 0, P2,
         N | P1 | P3, FALLBACK_NONE},
        {"{" OK_NONE "," OK_1 "," OK_3 ",'pod_2':{'mean':1,'variance':1}}", COMPLETE, 0, 0, P2,
         N | P1 | P3, FALLBACK_NONE},
        {"{" OK_2 "}", ABSENT, N | P1 | P3, 0, P2, 0, FALLBACK_ABSENT},
        {"{" OK_2 ",'x':1}", ABSENT | UNKNOWN, N | P1 | P3, 0, P2, 0, FALLBACK_ABSENT},
        {"{" OK_NONE "," OK_1 "," OK_2 "}", PARTIAL, P3, 0, P2, N | P1, FALLBACK_NONE},
        {"[]", INVALID, 0, N | P1 | P3, 0, 0, FALLBACK_INVALID},
        /* An unused action sets no family, even if it stands first. */
        {"{'pod_2':{'mean':0,'variance':1}," OK_NONE "," OK_1 "," OK_3 "}", COMPLETE, 0, 0, P2,
         N | P1 | P3, FALLBACK_NONE},
    };
    struct plan *plan = fixture_bare();
    set_learned(&plan->policies[BAYESIAN], ON_PARTIAL_EXCLUDE, N | P1 | P3);
    fixture_finish(plan);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        struct run run;
        const struct decision *d =
            run_decide(&run, plan, request_text(text, "bayes", cases[i].posteriors, NULL));
        const struct presence *p = &d->presence;
        if (p->conditions != cases[i].conditions || p->missing != cases[i].missing ||
            p->invalid != cases[i].invalid || p->unused != cases[i].unused ||
            p->fallback != cases[i].fallback ||
            (p->fallback == FALLBACK_NONE && d->eligible != cases[i].usable))
            fail_msg("case %zu: conditions %x, missing %x, invalid %x, unused %x, eligible %x", i,
                     p->conditions, p->missing, p->invalid, p->unused, d->eligible);
        run_done(&run);
    }
    plan_free(plan);
}

static void test_a_prior_of_another_family_is_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *posteriors;
        action_set eligible, from_prior;
        enum fallback_reason fallback;
        bool told;
    } cases[] = {
        {"{" FULL "}", ALL, 0, FALLBACK_NONE, false},
        {"{" OK_NONE "," OK_1 "," OK_2 "}", N | P1 | P2, 0, FALLBACK_NONE, true},
        {"{" OK_NONE "," OK_1 "," OK_2 ",'pod_3':7}", N | P1 | P2, 0, FALLBACK_NONE, true},
        {"{" REST "}", ALL, 0, FALLBACK_PRIOR_FAMILY, true},
        {"{'none':{'mean':0,'variance':1},'pod_1':{'mean':1,'variance':1}}", ALL, P2 | P3,
         FALLBACK_NONE, false},
        {"{}", ALL, 0, FALLBACK_ABSENT, false},
    };
    struct plan *plan = fixture_bare();
    set_learned(&plan->policies[BAYESIAN], ON_PARTIAL_PRIOR, ALL);
    for (int i = 0; i < ACTIONS_MAX; i++) plan->policies[BAYESIAN].prior[i] = prior_normal;
    fixture_finish(plan);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        struct run run;
        const struct decision *d =
            run_decide(&run, plan, request_text(text, "bayes", cases[i].posteriors, NULL));
        if (d->presence.fallback != cases[i].fallback || d->eligible != cases[i].eligible ||
            d->presence.from_prior != cases[i].from_prior ||
            (d->reasons >> REASON_PRIOR_FAMILY & 1) != cases[i].told)
            fail_msg("case %zu: fallback %s, eligible %x, prior %x, reasons %x", i,
                     fallback_reason_name(d->presence.fallback), d->eligible,
                     d->presence.from_prior, d->reasons);
        run_done(&run);
    }
    plan_free(plan);
}

/* The set that presence is judged against is the plan's: a mask makes nothing unneeded. */
static void test_a_mask_does_not_excuse_what_is_missing(void **state)
{
    (void)state;
    struct plan *plan = fixture_bare();
    fixture_cap(plan, GUARDRAIL_ADS_PER_HOUR, NULL, 2);
    fixture_finish(plan);
    struct run run;
    const struct decision *d = run_decide(&run, plan,
                                          "{'variant':'bayes','session':{'ads_last_hour':0},"
                                          "'posteriors':{" OK_NONE "," OK_1 "," OK_2 "}}");
    assert_int_equal(d->presence.status, POSTERIORS_PARTIAL);
    assert_int_equal(d->presence.missing, P3);
    assert_int_equal(d->eligible, N | P1 | P2);
    /* The cap takes nothing that was still there. */
    assert_int_equal(d->masked, 0);
    run_done(&run);
    plan_free(plan);
}

/* Two pods of as many ads as the one that is missing: only heavier ones go with it. */
static void test_exclude_keeps_pods_as_light_as_the_missing_one(void **state)
{
    (void)state;
    struct plan *plan = fixture_bare();
    plan->actions.actions[POD_2].ads = 1;
    fixture_finish(plan);
    static const struct {
        const char *posteriors;
        action_set eligible;
    } cases[] = {{"{" REST "}", N | P2},
                 {"{" OK_NONE "," OK_1 "," OK_3 "}", N | P1},
                 {"{" OK_NONE "," OK_1 "," OK_2 "}", N | P1 | P2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        struct run run;
        const struct decision *d =
            run_decide(&run, plan, request_text(text, "bayes", cases[i].posteriors, NULL));
        assert_int_equal(d->presence.fallback, FALLBACK_NONE);
        assert_int_equal(d->eligible, cases[i].eligible);
        run_done(&run);
    }
    plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_for_policies_that_read_posteriors),
        cmocka_unit_test(test_rows_for_policies_that_read_nothing),
        cmocka_unit_test(test_cold_start_is_for_the_empty_object_alone),
        cmocka_unit_test(test_stale),
        cmocka_unit_test(test_stale_is_judged_by_the_request_s_time),
        cmocka_unit_test(test_only_the_used_actions_are_judged),
        cmocka_unit_test(test_a_prior_of_another_family_is_left_out),
        cmocka_unit_test(test_a_mask_does_not_excuse_what_is_missing),
        cmocka_unit_test(test_exclude_keeps_pods_as_light_as_the_missing_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
