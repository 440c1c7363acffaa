/* Guardrails, each alone and some together: what is masked, what is told, and how long to wait.
 *
 * The uniform policy is asked, which uses every action and reads nothing: so what is eligible is
 * what the guardrails left. */
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The guardrails that a row's plan names. */
/* Of the plans here, each guardrail with one value: as bits, for those that a row's plan names. */
enum {
    AD_FREE = 1 << GUARDRAIL_AD_FREE,    /* tier == 'premium' */
    GRACE = 1 << GUARDRAIL_GRACE_PERIOD, /* 180 s */
    GAP = 1 << GUARDRAIL_MIN_GAP,        /* 300 s */
    COOLDOWN = 1 << GUARDRAIL_COOLDOWN,
    HOUR = 1 << GUARDRAIL_ADS_PER_HOUR,             /* 6 ads */
    SECONDS = 1 << GUARDRAIL_AD_SECONDS_PER_HOUR,   /* 120 s */
    DAY = 1 << GUARDRAIL_ADS_PER_DAY,               /* 10 ads */
    BREAKS = 1 << GUARDRAIL_MAX_BREAKS_PER_SESSION, /* 4 breaks */
    REMAINING = 1 << GUARDRAIL_CONTENT_REMAINING,
    BOUNDARY = 1 << GUARDRAIL_CONTENT_BOUNDARY,
    EVERY = (1 << GUARDRAIL_COUNT) - 1,
};

/* Milliseconds, or what a cap allows. */
static const int64_t values[GUARDRAIL_COUNT] = {
    [GUARDRAIL_GRACE_PERIOD] = 180000, [GUARDRAIL_MIN_GAP] = 300000,
    [GUARDRAIL_ADS_PER_HOUR] = 6,      [GUARDRAIL_AD_SECONDS_PER_HOUR] = 120,
    [GUARDRAIL_ADS_PER_DAY] = 10,      [GUARDRAIL_MAX_BREAKS_PER_SESSION] = 4,
};

static struct plan *plan_of(uint32_t named, uint32_t permissive)
{
    struct plan *plan = fixture_bare();
    for (int code = 0; code < GUARDRAIL_COUNT; code++) {
        if (!(named >> code & 1)) continue;
        struct plan_guardrail *g = fixture_guardrail(plan, (enum guardrail_code)code);
        g->permissive = permissive >> code & 1;
        g->ms = values[code];
        if (g->row->shape == GUARDRAIL_CONDITION) g->when = fixture_rule(plan, "tier == 'premium'");
        if (g->row->shape == GUARDRAIL_CAP)
            fixture_cap(plan, (enum guardrail_code)code, NULL, values[code]);
    }
    return fixture_finish(plan);
}

#define KNOWN                                                                \
    "'elapsed_s':1830,'seconds_since_last_break_end':915,'ads_last_hour':0," \
    "'ad_seconds_last_hour':0,'ads_today':0,'content_remaining_s':600,"      \
    "'at_content_boundary':true,'breaks_in_session':1,'tier':'free'"

static const struct {
    uint32_t named, permissive;
    const char *session; /* and more fields of the request behind it */
    action_set eligible;
    const char *reasons, *unenforced;
} rows[] = {
    /* what the plan does not name is not looked at */
    {0, 0, "{}", ALL, "policy", ""},
    {0, 0, "{'elapsed_s':0,'seconds_since_last_break_end':0,'ads_last_hour':99,'tier':'premium'}",
     ALL, "policy", ""},

    {GRACE, 0, "{'elapsed_s':0}", N, "policy grace_period", ""},
    {GRACE, 0, "{'elapsed_s':179}", N, "policy grace_period", ""},
    {GRACE, 0, "{'elapsed_s':179.999}", N, "policy grace_period", ""},
    {GRACE, 0, "{'elapsed_s':180}", ALL, "policy", ""},
    {GRACE, 0, "{'elapsed_s':9223372036854775807}", ALL, "policy", ""},
    {GRACE, 0, "{}", N, "policy grace_period", ""},
    {GRACE, 0, "{'elapsed_s':null}", N, "policy grace_period", ""},
    {GRACE, 0, "{'elapsed_s':'999'}", N, "policy grace_period", ""},
    {GRACE, 0, "{'elapsed_s':-1}", N, "policy grace_period", ""},
    {GRACE, 0, "{'elapsed_s':1e999}", N, "policy grace_period", ""},
    {GRACE, GRACE, "{}", ALL, "policy", "grace_period"},
    {GRACE, GRACE, "{'elapsed_s':-1}", ALL, "policy", "grace_period"},
    {GRACE, GRACE, "{'elapsed_s':179}", N, "policy grace_period", ""},
    {GRACE, EVERY & ~GRACE, "{}", N, "policy grace_period", ""},

    {GAP, 0, "{'seconds_since_last_break_end':0}", N, "policy min_gap", ""},
    {GAP, 0, "{'seconds_since_last_break_end':299.9}", N, "policy min_gap", ""},
    {GAP, 0, "{'seconds_since_last_break_end':300}", ALL, "policy", ""},
    {GAP, 0, "{'seconds_since_last_break_end':301,'breaks_in_session':5}", ALL, "policy", ""},
    {GAP, 0, "{}", N, "policy min_gap", ""},
    {GAP, 0, "{'breaks_in_session':0}", ALL, "policy", ""},
    {GAP, 0, "{'breaks_in_session':0,'seconds_since_last_break_end':null}", ALL, "policy", ""},
    {GAP, 0, "{'breaks_in_session':1}", N, "policy min_gap", ""},
    {GAP, 0, "{'breaks_in_session':-1}", N, "policy min_gap", ""},
    {GAP, 0, "{'breaks_in_session':false}", N, "policy min_gap", ""},
    /* A gap that is told counts, whatever is said of breaks. */
    {GAP, 0, "{'breaks_in_session':0,'seconds_since_last_break_end':10}", N, "policy min_gap", ""},
    {GAP, GAP, "{}", ALL, "policy", "min_gap"},
    {GAP, GAP, "{'breaks_in_session':0}", ALL, "policy", ""},
    {GAP, GAP, "{'seconds_since_last_break_end':299}", N, "policy min_gap", ""},

    {COOLDOWN, 0, "{}", ALL, "policy", ""},
    {COOLDOWN, 0, "{},'last':null", ALL, "policy", ""},
    {COOLDOWN, 0, "{},'last':{}", ALL, "policy", ""},
    /* Sent in part, or with nonsense in it: the answer before this one may well say no. */
    {COOLDOWN, 0, "{},'last':{'seconds_ago':5}", N, "policy cooldown", ""},
    {COOLDOWN, 0, "{},'last':{'cooldown_s':5}", N, "policy cooldown", ""},
    {COOLDOWN, 0, "{},'last':{'cooldown_s':0}", N, "policy cooldown", ""},
    {COOLDOWN, 0, "{},'last':{'ads_delivered':2}", N, "policy cooldown", ""},
    {COOLDOWN, 0, "{},'last':{'second_ago':900,'cooldown_s':60}", N, "policy cooldown", ""},
    {COOLDOWN, 0, "{},'last':{'seconds_ago':900,'cooldown_s':null}", N, "policy cooldown", ""},
    {COOLDOWN, 0, "{},'last':{'seconds_ago':null,'cooldown_s':null}", N, "policy cooldown", ""},
    {COOLDOWN, 0, "{},'last':{'seconds_ago':-1,'cooldown_s':60}", N, "policy cooldown", ""},
    {COOLDOWN, 0, "{},'last':{'seconds_ago':900,'cooldown_s':-60}", N, "policy cooldown", ""},
    {COOLDOWN, 0, "{},'last':{'seconds_ago':'900','cooldown_s':60}", N, "policy cooldown", ""},
    {COOLDOWN, 0, "{},'last':{'seconds_ago':1e999,'cooldown_s':60}", N, "policy cooldown", ""},
    {COOLDOWN, 0, "{},'last':{'seconds_ago':1000000000.1,'cooldown_s':60}", N, "policy cooldown",
     ""},
    {COOLDOWN, 0, "{},'last':{'seconds_ago':1e9,'cooldown_s':60}", ALL, "policy", ""},
    {COOLDOWN, COOLDOWN, "{},'last':{'seconds_ago':5}", ALL, "policy", "cooldown"},
    {COOLDOWN, COOLDOWN, "{},'last':{'seconds_ago':-1,'cooldown_s':60}", ALL, "policy", "cooldown"},
    {COOLDOWN, COOLDOWN, "{},'last':{'seconds_ago':59,'cooldown_s':60}", N, "policy cooldown", ""},
    {COOLDOWN, COOLDOWN, "{},'last':{}", ALL, "policy", ""},
    {COOLDOWN, EVERY & ~COOLDOWN, "{},'last':{'seconds_ago':5}", N, "policy cooldown", ""},
    {0, 0, "{},'last':{'seconds_ago':-5}", ALL, "policy", ""},
    {COOLDOWN, 0, "{},'last':{'seconds_ago':59,'cooldown_s':60}", N, "policy cooldown", ""},
    {COOLDOWN, 0, "{},'last':{'seconds_ago':59.9,'cooldown_s':60}", N, "policy cooldown", ""},
    {COOLDOWN, 0, "{},'last':{'seconds_ago':60,'cooldown_s':60}", ALL, "policy", ""},
    {COOLDOWN, 0, "{},'last':{'seconds_ago':61,'cooldown_s':60}", ALL, "policy", ""},
    {COOLDOWN, 0, "{},'last':{'seconds_ago':0,'cooldown_s':0}", ALL, "policy", ""},
    {0, 0, "{},'last':{'seconds_ago':0,'cooldown_s':60}", ALL, "policy", ""},

    /* caps: a pod counts whole */
    {HOUR, 0, "{'ads_last_hour':0}", ALL, "policy", ""},
    {HOUR, 0, "{'ads_last_hour':3}", ALL, "policy", ""},
    {HOUR, 0, "{'ads_last_hour':4}", N | P1 | P2, "policy ads_per_hour", ""},
    {HOUR, 0, "{'ads_last_hour':5}", N | P1, "policy ads_per_hour", ""},
    {HOUR, 0, "{'ads_last_hour':6}", N, "policy ads_per_hour", ""},
    {HOUR, 0, "{'ads_last_hour':9223372036854775807}", N, "policy ads_per_hour", ""},
    {HOUR, 0, "{}", N, "policy ads_per_hour", ""},
    {HOUR, 0, "{'ads_last_hour':0.5}", N, "policy ads_per_hour", ""},
    {HOUR, HOUR, "{}", ALL, "policy", "ads_per_hour"},
    {HOUR, HOUR, "{'ads_last_hour':4}", N | P1 | P2, "policy ads_per_hour", ""},

    {SECONDS, 0, "{'ad_seconds_last_hour':30}", ALL, "policy", ""},
    /* What is used up is rounded up. */
    {SECONDS, 0, "{'ad_seconds_last_hour':29.5}", ALL, "policy", ""},
    {SECONDS, 0, "{'ad_seconds_last_hour':30.5}", N | P1 | P2, "policy ad_seconds_per_hour", ""},
    {SECONDS, 0, "{'ad_seconds_last_hour':90.001}", N, "policy ad_seconds_per_hour", ""},
    {SECONDS, 0, "{'ad_seconds_last_hour':-0.5}", N, "policy ad_seconds_per_hour", ""},
    {SECONDS, 0, "{'ad_seconds_last_hour':31}", N | P1 | P2, "policy ad_seconds_per_hour", ""},
    {SECONDS, 0, "{'ad_seconds_last_hour':60}", N | P1 | P2, "policy ad_seconds_per_hour", ""},
    {SECONDS, 0, "{'ad_seconds_last_hour':61}", N | P1, "policy ad_seconds_per_hour", ""},
    {SECONDS, 0, "{'ad_seconds_last_hour':90}", N | P1, "policy ad_seconds_per_hour", ""},
    {SECONDS, 0, "{'ad_seconds_last_hour':91}", N, "policy ad_seconds_per_hour", ""},
    {SECONDS, 0, "{'ad_seconds_last_hour':1000}", N, "policy ad_seconds_per_hour", ""},
    {SECONDS, 0, "{}", N, "policy ad_seconds_per_hour", ""},
    {SECONDS, SECONDS, "{}", ALL, "policy", "ad_seconds_per_hour"},

    {DAY, 0, "{'ads_today':7}", ALL, "policy", ""},
    {DAY, 0, "{'ads_today':9}", N | P1, "policy ads_per_day", ""},
    {DAY, 0, "{'ads_today':10}", N, "policy ads_per_day", ""},
    {DAY, 0, "{}", N, "policy ads_per_day", ""},
    {DAY, DAY, "{'ads_today':true}", ALL, "policy", "ads_per_day"},

    {REMAINING, 0, "{'content_remaining_s':90}", ALL, "policy", ""},
    {REMAINING, 0, "{'content_remaining_s':89.9}", N | P1 | P2, "policy content_remaining", ""},
    {REMAINING, 0, "{'content_remaining_s':60}", N | P1 | P2, "policy content_remaining", ""},
    {REMAINING, 0, "{'content_remaining_s':30}", N | P1, "policy content_remaining", ""},
    {REMAINING, 0, "{'content_remaining_s':29}", N, "policy content_remaining", ""},
    {REMAINING, 0, "{'content_remaining_s':0}", N, "policy content_remaining", ""},
    {REMAINING, 0, "{}", N, "policy content_remaining", ""},
    {REMAINING, REMAINING, "{}", ALL, "policy", "content_remaining"},

    {BOUNDARY, 0, "{'at_content_boundary':true}", ALL, "policy", ""},
    {BOUNDARY, 0, "{'at_content_boundary':false}", N, "policy content_boundary", ""},
    {BOUNDARY, 0, "{'at_content_boundary':1}", N, "policy content_boundary", ""},
    {BOUNDARY, 0, "{}", N, "policy content_boundary", ""},
    {BOUNDARY, BOUNDARY, "{}", ALL, "policy", "content_boundary"},
    {BOUNDARY, BOUNDARY, "{'at_content_boundary':false}", N, "policy content_boundary", ""},

    {AD_FREE, 0, "{'tier':'premium'}", N, "ad_free", ""},
    {AD_FREE, 0, "{'tier':'free'}", ALL, "policy", ""},
    {AD_FREE, 0, "{}", N, "ad_free", ""},
    {AD_FREE, 0, "{'tier':7}", N, "ad_free", ""},
    {AD_FREE, AD_FREE, "{}", ALL, "policy", "ad_free"},
    {AD_FREE, AD_FREE, "{'tier':['premium']}", ALL, "policy", "ad_free"},
    {AD_FREE, AD_FREE, "{'tier':'free'}", ALL, "policy", ""},
    {AD_FREE, AD_FREE, "{'tier':'premium'}", N, "ad_free", ""},
    {BREAKS, 0, "{'breaks_in_session':3}", ALL, "policy", ""},
    {BREAKS, 0, "{'breaks_in_session':4}", N, "policy max_breaks_per_session", ""},
    {BREAKS, 0, "{'breaks_in_session':5}", N, "policy max_breaks_per_session", ""},
    {BREAKS, 0, "{'breaks_in_session':3.5}", N, "policy max_breaks_per_session", ""},
    {BREAKS, 0, "{}", N, "policy max_breaks_per_session", ""},
    {BREAKS, BREAKS, "{}", ALL, "policy", "max_breaks_per_session"},
    {BREAKS, BREAKS, "{'breaks_in_session':4}", N, "policy max_breaks_per_session", ""},

    /* Where nobody is asked, no other guardrail is evaluated. */
    {EVERY, 0, "{'tier':'premium'}", N, "ad_free", ""},
    {EVERY, EVERY, "{'tier':'premium'}", N, "ad_free", ""},

    /* together: each one that takes something is told */
    {EVERY, 0, "{" KNOWN "}", ALL, "policy", ""},
    {EVERY, EVERY, "{}", ALL, "policy",
     "ad_free grace_period min_gap ads_per_hour ad_seconds_per_hour ads_per_day "
     "max_breaks_per_session content_remaining content_boundary"},
    {EVERY & ~AD_FREE, 0, "{}", N,
     "policy grace_period min_gap ads_per_hour ad_seconds_per_hour ads_per_day "
     "max_breaks_per_session content_remaining content_boundary",
     ""},
    {HOUR | SECONDS, 0, "{'ads_last_hour':4,'ad_seconds_last_hour':61}", N | P1,
     "policy ads_per_hour ad_seconds_per_hour", ""},
    {HOUR | SECONDS, 0, "{'ads_last_hour':5,'ad_seconds_last_hour':31}", N | P1,
     "policy ads_per_hour ad_seconds_per_hour", ""},
    {GRACE | DAY, DAY, "{'elapsed_s':1}", N, "policy grace_period", "ads_per_day"},
};

/* Each guardrail by itself: it takes something away, it takes nothing, and both ways to be unknown.
 */
static void test_each_has_its_rows(void **state)
{
    (void)state;
    for (int code = 0; code < GUARDRAIL_COUNT; code++) {
        const char *word = guardrail_table[code].word.data;
        int takes = 0, lets = 0, unenforced = 0;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            if (rows[i].named != 1u << code) continue;
            takes += strstr(rows[i].reasons, word) != NULL;
            lets += rows[i].eligible == ALL && !rows[i].permissive;
            unenforced += strstr(rows[i].unenforced, word) != NULL;
        }
        if (takes < 2 || !lets || !unenforced) fail_msg("%s lacks rows here", word);
    }
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan *plan = plan_of(rows[i].named, rows[i].permissive);
        char text[1024], reasons[512], unenforced[512];
        snprintf(text, sizeof text, "{'variant':'random','session':%s}", rows[i].session);
        struct run run;
        const struct decision *d = run_decide(&run, plan, text);
        reasons_text(d->reasons, reasons);
        reasons_text(d->unenforced, unenforced);
        if (d->eligible != rows[i].eligible || strcmp(reasons, rows[i].reasons) ||
            strcmp(unenforced, rows[i].unenforced))
            fail_msg("row %zu, %s: eligible %x, reasons <%s>, unenforced <%s>", i, rows[i].session,
                     d->eligible, reasons, unenforced);
        assert_true(action_in(d->eligible, d->action));
        assert_int_equal(d->masked, d->reasons & ~(1u << REASON_POLICY));
        run_done(&run);
        plan_free(plan);
    }
}

/* ---- caps that are lists ---- */

struct item {
    const char *when; /* NULL: always; "": no more items */
    int64_t max;
};

static const struct {
    struct item items[3];
    const char *session;
    action_set eligible, permissive; /* the latter where on_unknown says so */
} lists[] = {
    {{{NULL, 6}, {NULL, 4}, {NULL, 5}}, "{'ads_last_hour':2}", N | P1 | P2, N | P1 | P2},
    {{{"car", 2}, {NULL, 6}}, "{'ads_last_hour':0,'car':true}", N | P1 | P2, N | P1 | P2},
    {{{"car", 2}, {NULL, 6}}, "{'ads_last_hour':0,'car':false}", ALL, ALL},
    {{{NULL, 1}, {"car", 6}}, "{'ads_last_hour':0,'car':true}", N | P1, N | P1},
    /* An error counts as true; as false where the guardrail is permissive. */
    {{{"car", 2}, {NULL, 6}}, "{'ads_last_hour':0}", N | P1 | P2, ALL},
    {{{"car", 2}, {NULL, 6}}, "{'ads_last_hour':5}", N, N | P1},
    {{{"car", 2}, {NULL, 6}}, "{'ads_last_hour':0,'car':'yes'}", N | P1 | P2, ALL},
    {{{"has(car) && car", 2}, {NULL, 6}}, "{'ads_last_hour':0}", ALL, ALL},
    {{{"has(car) && car", 2}, {NULL, 6}}, "{'ads_last_hour':0,'car':1}", N | P1 | P2, ALL},
    {{{"!has(car)", 2}, {NULL, 6}}, "{'ads_last_hour':0,'car':1}", N | P1 | P2, ALL},
    {{{"tenure_days > 1", 1}}, "{'ads_last_hour':0}", N | P1, ALL},
    /* None holds: no cap, and so nothing that could be unknown. */
    {{{"car", 2}}, "{'car':false}", ALL, ALL},
    {{{"car", 2}}, "{'car':false,'ads_last_hour':99}", ALL, ALL},
    {{{"car", 2}}, "{'car':true}", N, ALL},
    {{{"car", 0}}, "{'car':true,'ads_last_hour':0}", N, N},
    {{{"variant == 'random'", 1}, {NULL, 6}}, "{'ads_last_hour':0}", N | P1, N | P1},
    {{{"variant == 'control'", 1}, {NULL, 6}}, "{'ads_last_hour':0}", ALL, ALL},
};

static struct plan *plan_of_list(const struct item items[3], bool permissive)
{
    struct plan *plan = fixture_bare();
    for (int j = 0; j < 3; j++) {
        if (!items[j].when && !items[j].max) continue;
        fixture_cap(plan, GUARDRAIL_ADS_PER_HOUR,
                    items[j].when ? fixture_rule(plan, items[j].when) : NULL, items[j].max);
    }
    fixture_permissive(plan, permissive ? REASON_BIT(REASON_ADS_PER_HOUR) : 0);
    return fixture_finish(plan);
}

static void test_of_a_list_the_strictest_that_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * sizeof lists / sizeof *lists; i++) {
        bool permissive = i % 2;
        struct plan *plan = plan_of_list(lists[i / 2].items, permissive);
        char text[512];
        snprintf(text, sizeof text, "{'variant':'random','session':%s}", lists[i / 2].session);
        struct run run;
        const struct decision *d = run_decide(&run, plan, text);
        if (d->eligible != (permissive ? lists[i / 2].permissive : lists[i / 2].eligible))
            fail_msg("list %zu%s: %x", i / 2, permissive ? ", permissive" : "", d->eligible);
        /* What is unknown is told wherever it makes a difference. */
        if (lists[i / 2].permissive != lists[i / 2].eligible)
            assert_int_equal(permissive ? d->unenforced : d->assumed, 1u << REASON_ADS_PER_HOUR);
        assert_int_equal(permissive ? d->assumed : d->unenforced, 0);
        run_done(&run);
        plan_free(plan);
    }
}

/* ---- cooldown ---- */

static const struct {
    uint32_t named;
    int64_t own_ms;
    bool ads;
    const char *session;
    int64_t cooldown_s;
} cooldowns[] = {
    {0, 60000, false, "{'elapsed_s':0,'seconds_since_last_break_end':0}", 60},
    {0, 60001, false, "{}", 61},
    {0, 59001, true, "{}", 60},
    {0, 0, false, "{}", 0},
    {0, 1, false, "{}", 1},
    {GRACE, 60000, false, "{'elapsed_s':0}", 180},
    {GRACE, 60000, false, "{'elapsed_s':100}", 80},
    {GRACE, 60000, false, "{'elapsed_s':100.9}", 80},
    {GRACE, 60000, false, "{'elapsed_s':120}", 60},
    {GRACE, 60000, false, "{'elapsed_s':121}", 60},
    {GRACE, 60000, false, "{'elapsed_s':9223372036854775807}", 60},
    {GRACE, 60000, false, "{}", 60},
    {GRACE, 60000, false, "{'elapsed_s':-1}", 60},
    {GAP, 60000, false, "{'seconds_since_last_break_end':0}", 300},
    {GAP, 60000, false, "{'seconds_since_last_break_end':290}", 60},
    {GAP, 60000, false, "{'seconds_since_last_break_end':200.5}", 100},
    {GAP, 60000, false, "{}", 60},
    {GAP, 60000, false, "{'breaks_in_session':0}", 60},
    /* After a pod the next gap begins at its end. */
    {GAP, 60000, true, "{'seconds_since_last_break_end':915}", 300},
    {GAP, 60000, true, "{'breaks_in_session':0}", 300},
    {GAP, 360000, true, "{'seconds_since_last_break_end':915}", 360},
    {COOLDOWN, 60000, false, "{},'last':{'seconds_ago':10,'cooldown_s':100}", 90},
    {COOLDOWN, 60000, false, "{},'last':{'seconds_ago':10.5,'cooldown_s':100}", 90},
    {COOLDOWN, 60000, false, "{},'last':{'seconds_ago':9.5,'cooldown_s':100}", 91},
    {COOLDOWN, 60000, false, "{},'last':{'seconds_ago':100,'cooldown_s':100}", 60},
    {COOLDOWN, 60000, false, "{},'last':{'seconds_ago':0,'cooldown_s':1000000000}", 1000000000},
    /* Nothing is added where it is not known. */
    {COOLDOWN, 60000, false, "{},'last':{'cooldown_s':100}", 60},
    {COOLDOWN, 60000, false, "{},'last':{'seconds_ago':-1,'cooldown_s':100}", 60},
    {COOLDOWN, 60000, false, "{},'last':{'seconds_ago':0,'cooldown_s':1e10}", 60},
    {0, 60000, false, "{},'last':{'seconds_ago':0,'cooldown_s':100}", 60},
    {GRACE | GAP | COOLDOWN, 60000, false,
     "{'elapsed_s':10,'seconds_since_last_break_end':5},'last':{'seconds_ago':0,'cooldown_s':250}",
     295},
    {GRACE | GAP | COOLDOWN, 60000, false,
     "{'elapsed_s':10,'seconds_since_last_break_end':205},'last':{'seconds_ago':0,'cooldown_s':99}",
     170},
    /* Other guardrails don't lengthen it. */
    {HOUR | SECONDS | DAY | REMAINING | BOUNDARY, 60000, false, "{'content_remaining_s':500}", 60},
};

static void test_cooldown(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cooldowns / sizeof *cooldowns; i++) {
        struct plan *plan = plan_of(cooldowns[i].named, 0);
        char text[512];
        snprintf(text, sizeof text, "{'session':%s}", cooldowns[i].session);
        struct run run;
        assert_int_equal(run_read(&run, plan, text), ERR_OK);
        int64_t found =
            guardrail_cooldown_s(plan, &run.request, cooldowns[i].own_ms, cooldowns[i].ads);
        if (found != cooldowns[i].cooldown_s)
            fail_msg("row %zu, %s: %lld", i, cooldowns[i].session, (long long)found);
        run_done(&run);
        plan_free(plan);
    }
}

/* Periods that are no whole seconds end at the next one. */
static void test_broken_seconds_are_rounded_up(void **state)
{
    (void)state;
    static const struct {
        const char *session;
        action_set eligible;
        int64_t cooldown_s; /* of no ad, whose own is 1 s */
    } cases[] = {
        {"{'elapsed_s':1,'seconds_since_last_break_end':99}", N, 1},
        {"{'elapsed_s':0,'seconds_since_last_break_end':99}", N, 2},
        {"{'elapsed_s':2,'seconds_since_last_break_end':2}", N, 1},
        {"{'elapsed_s':2,'seconds_since_last_break_end':0}", N, 3},
        {"{'elapsed_s':2,'seconds_since_last_break_end':3}", ALL, 1},
    };
    struct plan *plan = fixture_bare();
    fixture_period(plan, GUARDRAIL_GRACE_PERIOD, 1500);
    fixture_period(plan, GUARDRAIL_MIN_GAP, 2001);
    plan->actions.actions[NONE].cooldown_ms = 1;
    fixture_finish(plan);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, "{'variant':'random','session':%s}", cases[i].session);
        struct run run;
        const struct decision *d = run_decide(&run, plan, text);
        if (d->eligible != cases[i].eligible ||
            guardrail_cooldown_s(plan, &run.request, 1, false) != cases[i].cooldown_s)
            fail_msg("%s: %x, %lld", cases[i].session, d->eligible, (long long)d->cooldown_s);
        run_done(&run);
    }
    plan_free(plan);
}

/* ---- rules against guardrails ---- */

static void test_a_rule_s_action_is_masked_to_the_next_lighter(void **state)
{
    (void)state;
    static const struct {
        const char *session;
        int action, wanted;
        int64_t cooldown_s;
        const char *reasons;
    } cases[] = {
        {"'ads_last_hour':0,'tracks_played':9", POD_2, POD_2, 720, "rule"},
        {"'ads_last_hour':4,'tracks_played':9", POD_2, POD_2, 720, "rule ads_per_hour"},
        {"'ads_last_hour':5,'tracks_played':9", POD_1, POD_2, 360, "rule ads_per_hour"},
        {"'ads_last_hour':6,'tracks_played':9", NONE, POD_2, 60, "rule ads_per_hour"},
        {"'ads_last_hour':0,'tracks_played':4", POD_1, POD_1, 300, "rule"},
        {"'ads_last_hour':6,'tracks_played':4", NONE, POD_1, 60, "rule ads_per_hour"},
        {"'ads_last_hour':0,'tracks_played':2", NONE, NONE, 60, "rule"},
        {"'ads_last_hour':0", NONE, NONE, 60, "rule"},
    };
    struct plan *plan = plan_of(HOUR, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512], reasons[512];
        snprintf(text, sizeof text, "{'variant':'control','session':{'elapsed_s':1200,%s}}",
                 cases[i].session);
        struct run run;
        const struct decision *d = run_decide(&run, plan, text);
        if (d->action != cases[i].action || d->wanted != cases[i].wanted ||
            d->cooldown_s != cases[i].cooldown_s ||
            strcmp(reasons_text(d->reasons, reasons), cases[i].reasons))
            fail_msg("%s: action %d, wanted %d, cooldown %lld, %s", cases[i].session, d->action,
                     d->wanted, (long long)d->cooldown_s, reasons);
        run_done(&run);
    }
    plan_free(plan);
}

/* In whatever order the actions stand, and whichever of them has no ads. */
static void test_no_ad_is_never_masked(void **state)
{
    (void)state;
    for (int none = 0; none < 4; none++) {
        struct plan *plan = plan_of(EVERY & ~AD_FREE, 0);
        struct action swapped = plan->actions.actions[none];
        plan->actions.actions[none] = plan->actions.actions[NONE];
        plan->actions.actions[NONE] = swapped;
        fixture_finish(plan);
        struct run run;
        const struct decision *d = run_decide(&run, plan, "{'variant':'random'}");
        assert_int_equal(d->eligible, 1 << none);
        assert_int_equal(d->action, none);
        assert_int_equal(d->ads, 0);
        run_done(&run);
        plan_free(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_each_has_its_rows),
        cmocka_unit_test(test_of_a_list_the_strictest_that_holds),
        cmocka_unit_test(test_cooldown),
        cmocka_unit_test(test_broken_seconds_are_rounded_up),
        cmocka_unit_test(test_a_rule_s_action_is_masked_to_the_next_lighter),
        cmocka_unit_test(test_no_ad_is_never_masked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
