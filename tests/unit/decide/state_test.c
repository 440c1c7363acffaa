/* Session state: what is unknown, what is nonsense, and who would have read it. */
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define KNOWN                                                                \
    "'elapsed_s':1830,'tracks_played':9,'seconds_since_last_break_end':915," \
    "'breaks_in_session':1,'ads_last_hour':2,'ad_seconds_last_hour':55"
/* What the guardrails of the demonstration plan read; the promoted rules read tracks_played too. */
#define KNOWN_GUARDS                                                         \
    "'elapsed_s':1830,'seconds_since_last_break_end':915,'ads_last_hour':2," \
    "'ad_seconds_last_hour':55"

static const struct {
    const char *what, *variant, *session; /* session NULL: no field */
    enum state_status status;
    const char *unknown, *invalid;
} rows[] = {
    {"all that is read", "control", "{" KNOWN "}", STATE_COMPLETE, "", ""},
    {"more than is read", "control", "{" KNOWN ",'car':'x','tenure_days':-1,'genre':7,'x':[]}",
     STATE_COMPLETE, "", ""},
    {"no session", "control", NULL, STATE_PARTIAL,
     "elapsed_s tracks_played seconds_since_last_break_end ads_last_hour ad_seconds_last_hour", ""},
    {"session null", "control", "null", STATE_PARTIAL,
     "elapsed_s tracks_played seconds_since_last_break_end ads_last_hour ad_seconds_last_hour", ""},
    {"session {}", "control", "{}", STATE_PARTIAL,
     "elapsed_s tracks_played seconds_since_last_break_end ads_last_hour ad_seconds_last_hour", ""},
    {"one null", "control", "{" KNOWN_GUARDS ",'tracks_played':null}", STATE_PARTIAL,
     "tracks_played", ""},

    /* whose rules are read: the policy's asked and its fallback's, and no other's */
    {"uniform reads no rule", "random", "{" KNOWN_GUARDS "}", STATE_COMPLETE, "", ""},
    {"fixed reads its own", "control", "{" KNOWN_GUARDS "}", STATE_PARTIAL, "tracks_played", ""},
    {"thompson reads its fallback's", "bayes", "{" KNOWN_GUARDS "}", STATE_PARTIAL, "tracks_played",
     ""},
    {"greedy reads its fallback's", "greedy", "{" KNOWN_GUARDS "}", STATE_PARTIAL, "tracks_played",
     ""},
    {"nonsense that uniform does not read", "random", "{" KNOWN_GUARDS ",'tracks_played':-1}",
     STATE_COMPLETE, "", ""},
    {"nonsense that the fallback would read", "bayes", "{" KNOWN_GUARDS ",'tracks_played':-1}",
     STATE_INVALID, "", "tracks_played"},

    /* nobody asked: only ad_free's own attributes are read */
    {"ad-free, all absent but the tier", "control", "{'tier':'premium'}", STATE_COMPLETE, "", ""},
    {"ad-free, nonsense elsewhere", "control", "{'tier':'premium','elapsed_s':-1}", STATE_COMPLETE,
     "", ""},

    /* guarded by has(): absent is by design, nonsense is not */
    {"tier absent", "control", "{" KNOWN "}", STATE_COMPLETE, "", ""},
    {"tier null", "control", "{" KNOWN ",'tier':null}", STATE_COMPLETE, "", ""},
    {"tier of a wrong type", "control", "{" KNOWN ",'tier':5}", STATE_INVALID, "", "tier"},

    /* before the first break there is no last one */
    {"no break yet", "random",
     "{'elapsed_s':300,'breaks_in_session':0,'ads_last_hour':0,'ad_seconds_last_hour':0}",
     STATE_COMPLETE, "", ""},
    {"no break yet, gap null", "random",
     "{'elapsed_s':300,'breaks_in_session':0,'seconds_since_last_break_end':null,"
     "'ads_last_hour':0,'ad_seconds_last_hour':0}",
     STATE_COMPLETE, "", ""},
    {"no break yet, gap nonsense", "random",
     "{'elapsed_s':300,'breaks_in_session':0,'seconds_since_last_break_end':-5,"
     "'ads_last_hour':0,'ad_seconds_last_hour':0}",
     STATE_INVALID, "", "seconds_since_last_break_end"},
    {"a break, and no gap", "random",
     "{'elapsed_s':300,'breaks_in_session':1,'ads_last_hour':0,'ad_seconds_last_hour':0}",
     STATE_PARTIAL, "seconds_since_last_break_end", ""},
    {"no count of breaks, but a gap", "random", "{" KNOWN_GUARDS "}", STATE_COMPLETE, "", ""},
    {"breaks are nonsense", "random", "{" KNOWN_GUARDS ",'breaks_in_session':0.5}", STATE_INVALID,
     "", "breaks_in_session"},
    {"breaks are nonsense and no gap", "random",
     "{'elapsed_s':300,'breaks_in_session':'0','ads_last_hour':0,'ad_seconds_last_hour':0}",
     STATE_INVALID, "seconds_since_last_break_end", "breaks_in_session"},

    /* both: invalid is the graver, and each slot is in one list */
    {"some unknown, some invalid", "control", "{'elapsed_s':'1','ads_last_hour':2.5}",
     STATE_INVALID, "tracks_played seconds_since_last_break_end ad_seconds_last_hour",
     "elapsed_s ads_last_hour"},
};

static const char *request_text(char text[1024], const char *variant, const char *session)
{
    snprintf(text, 1024, "{'variant':'%s'%s%s}", variant, session ? ",'session':" : "",
             session ? session : "");
    return text;
}

static void test_rows(void **state)
{
    (void)state;
    struct plan *plan = fixture_finish(fixture_plan());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024], unknown[512], invalid[512];
        struct run run;
        const struct decision *d =
            run_decide(&run, plan, request_text(text, rows[i].variant, rows[i].session));
        slots_text(plan, d->state.unknown, unknown);
        slots_text(plan, d->state.invalid, invalid);
        if (d->state.status != rows[i].status || strcmp(unknown, rows[i].unknown) ||
            strcmp(invalid, rows[i].invalid))
            fail_msg("%s: %s, unknown <%s>, invalid <%s>", rows[i].what,
                     state_status_name(d->state.status), unknown, invalid);
        run_done(&run);
    }
    plan_free(plan);
}

/* ---- values ---- */

enum { VALUE_UNKNOWN = -1, VALUE_INVALID = -2 };

static const struct {
    const char *json;
    int64_t seconds, used, count; /* what it is for each kind of int; VALUE_INVALID: no value */
} numbers[] = {
    {"0", 0, 0, 0},
    {"-0", 0, 0, 0},
    {"7", 7, 7, 7},
    {"7.0", 7, 7, 7},
    {"7e0", 7, 7, 7},
    {"70e-1", 7, 7, 7},
    {"7.9", 7, 8, VALUE_INVALID},
    {"7.999999999", 7, 8, VALUE_INVALID},
    {"0.5", 0, 1, VALUE_INVALID},
    {"1e-999", 0, 0, VALUE_INVALID},
    {"210.9", 210, 211, VALUE_INVALID},
    {"210.0", 210, 210, 210},
    {"9007199254740992.5", 9007199254740992, 9007199254740992, VALUE_INVALID},
    {"-1", VALUE_INVALID, VALUE_INVALID, VALUE_INVALID},
    {"-0.5", VALUE_INVALID, VALUE_INVALID, VALUE_INVALID},
    {"-1e-5", VALUE_INVALID, VALUE_INVALID, VALUE_INVALID},
    {"-1e999", VALUE_INVALID, VALUE_INVALID, VALUE_INVALID},
    {"1e999", VALUE_INVALID, VALUE_INVALID, VALUE_INVALID},
    {"9007199254740993", 9007199254740993, 9007199254740993, 9007199254740993},
    {"9223372036854775807", INT64_MAX, INT64_MAX, INT64_MAX},
    {"null", VALUE_UNKNOWN, VALUE_UNKNOWN, VALUE_UNKNOWN},
    {"'7'", VALUE_INVALID, VALUE_INVALID, VALUE_INVALID},
    {"true", VALUE_INVALID, VALUE_INVALID, VALUE_INVALID},
    {"[7]", VALUE_INVALID, VALUE_INVALID, VALUE_INVALID},
    {"{}", VALUE_INVALID, VALUE_INVALID, VALUE_INVALID},
};

static void assert_int_slot(const struct plan *plan, int slot, const char *json, int64_t expected)
{
    char text[256];
    struct run run;
    snprintf(text, sizeof text, "{'session':{'%s':%s}}", plan->schema.attributes[slot].name.data,
             json);
    assert_int_equal(run_read(&run, plan, text), ERR_OK);
    const struct attributes *a = &run.request.attributes;
    int64_t found = attribute_known(a, slot) ? a->values[slot].i
                    : a->invalid >> slot & 1 ? VALUE_INVALID
                                             : VALUE_UNKNOWN;
    if (found != expected) fail_msg("%s: %lld", text, (long long)found);
    assert_int_equal(a->known & a->invalid, 0);
    assert_int_equal((a->known | a->invalid) & ~((uint64_t)1 << slot), 0);
    run_done(&run);
}

static void test_fractions_of_seconds_allow_less_and_of_counts_are_invalid(void **state)
{
    (void)state;
    static const int seconds[] = {ATTRIBUTE_SLOT_ELAPSED_S,
                                  ATTRIBUTE_SLOT_SECONDS_SINCE_LAST_BREAK_END,
                                  ATTRIBUTE_SLOT_CONTENT_REMAINING_S};
    static const int counts[] = {ATTRIBUTE_SLOT_TRACKS_PLAYED, ATTRIBUTE_SLOT_BREAKS_IN_SESSION,
                                 ATTRIBUTE_SLOT_ADS_LAST_HOUR, ATTRIBUTE_SLOT_ADS_TODAY,
                                 ATTRIBUTE_SLOT_TENURE_DAYS};
    struct plan *plan = fixture_finish(fixture_plan());
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        for (size_t j = 0; j < sizeof seconds / sizeof *seconds; j++)
            assert_int_slot(plan, seconds[j], numbers[i].json, numbers[i].seconds);
        assert_int_slot(plan, ATTRIBUTE_SLOT_AD_SECONDS_LAST_HOUR, numbers[i].json,
                        numbers[i].used);
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++)
            assert_int_slot(plan, counts[j], numbers[i].json, numbers[i].count);
    }
    plan_free(plan);
}

/* Every type a plan can declare, and the built-in flags and texts. */
static void test_other_types(void **state)
{
    (void)state;
    static const struct {
        const char *name, *json;
        int word; /* 1: a value, VALUE_UNKNOWN, VALUE_INVALID */
    } cases[] = {
        {"car", "true", 1},
        {"car", "false", 1},
        {"car", "null", VALUE_UNKNOWN},
        {"car", "0", VALUE_INVALID},
        {"car", "'true'", VALUE_INVALID},
        {"child_directed", "1", VALUE_INVALID},
        {"tier", "''", 1},
        {"tier", "'fr\\u0065e'", 1},
        {"tier", "null", VALUE_UNKNOWN},
        {"tier", "7", VALUE_INVALID},
        {"tier", "['free']", VALUE_INVALID},
        {"genre", "'jazz'", 1},
        {"genre", "true", VALUE_INVALID},
        {"d_bool", "true", 1},
        {"d_bool", "1", VALUE_INVALID},
        {"d_int", "-5", 1},
        {"d_int", "5.5", VALUE_INVALID},
        {"d_int", "1e999", VALUE_INVALID},
        {"d_int", "9223372036854775808", VALUE_INVALID},
        {"d_double", "-5.5", 1},
        {"d_double", "5", 1},
        {"d_double", "1e999", VALUE_INVALID},
        {"d_double", "'5'", VALUE_INVALID},
    };
    struct plan *plan = fixture_plan();
    struct attribute_schema *schema = &plan->schema;
    schema->attributes[schema->count++] =
        (struct attribute){SPAN("d_bool"), ATTRIBUTE_BOOL, ATTRIBUTE_DECLARED};
    schema->attributes[schema->count++] =
        (struct attribute){SPAN("d_int"), ATTRIBUTE_INT, ATTRIBUTE_DECLARED};
    schema->attributes[schema->count++] =
        (struct attribute){SPAN("d_double"), ATTRIBUTE_DOUBLE, ATTRIBUTE_DECLARED};
    fixture_finish(plan);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int slot = plan_attribute_find(plan, span_of(cases[i].name));
        assert_true(slot >= 0);
        char text[256];
        struct run run;
        snprintf(text, sizeof text, "{'session':{'%s':%s}}", cases[i].name, cases[i].json);
        assert_int_equal(run_read(&run, plan, text), ERR_OK);
        const struct attributes *a = &run.request.attributes;
        int word = attribute_known(a, slot) ? 1
                   : a->invalid >> slot & 1 ? VALUE_INVALID
                                            : VALUE_UNKNOWN;
        if (word != cases[i].word) fail_msg("%s: %d", text, word);
        run_done(&run);
    }
    plan_free(plan);
}

static void test_strings_have_a_longest_length(void **state)
{
    (void)state;
    struct plan *plan = fixture_finish(fixture_plan());
    for (int len = 255; len <= 257; len++) {
        char text[512];
        struct run run;
        snprintf(text, sizeof text, "{'session':{'tier':'%0*d'}}", len, 0);
        assert_int_equal(run_read(&run, plan, text), ERR_OK);
        assert_int_equal(attribute_known(&run.request.attributes, ATTRIBUTE_SLOT_TIER), len <= 256);
        assert_int_equal(run.request.attributes.invalid >> ATTRIBUTE_SLOT_TIER & 1, len > 256);
        run_done(&run);
    }
    plan_free(plan);
}

/* What conditions read beside the session comes from elsewhere: a session cannot say it. */
static void test_a_session_cannot_set_the_context(void **state)
{
    (void)state;
    static const char *const names[] = {"segment_id", "variant",          "hour",
                                        "weekday",    "last.seconds_ago", "last.cooldown_s"};
    struct plan *plan = fixture_finish(fixture_plan());
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(plan_attribute_find(plan, span_of(names[i])), -1);
        char text[256];
        struct run run;
        snprintf(text, sizeof text, "{'session':{'%s':'x'}}", names[i]);
        assert_int_equal(run_read(&run, plan, text), ERR_OK);
        assert_int_equal(run.request.attributes.known | run.request.attributes.invalid, 0);
        run_done(&run);
    }
    plan_free(plan);
}

/* The context is never told as missing, and reads as what it is. */
static void test_context(void **state)
{
    (void)state;
    static const struct {
        const char *when, *request;
        int64_t zone_s;
        bool holds;
    } cases[] = {
        {"variant == 'control'", "{}", 0, true},
        {"variant == 'random'", "{'variant':'control'}", 0, false},
        {"segment_id == 'core'", "{'segment_id':'core'}", 0, true},
        {"segment_id == 'core'", "{'segment_id':'new'}", 0, false},
        {"segment_id == 'core'", "{}", 0, false},
        {"has(segment_id)", "{}", 0, false},
        {"hour == 8", "{}", 0, true},
        {"weekday == 1", "{}", 0, true},
        {"hour == 8 && weekday == 1", "{}", 0, true},
        {"hour == 8 && tracks_played == 3 && variant == 'control' && segment_id == 'core'",
         "{'segment_id':'core','session':{'tracks_played':3}}", 0, true},
        {"hour == 7 && weekday == 1", "{}", -3600, true},
        {"hour == 23 && weekday == 0", "{'time':'2026-11-30T00:00:00Z'}", -3600, true},
        {"hour == 0 && weekday == 2", "{'time':'2026-11-30T23:59:59.999Z'}", 1, true},
        {"hour == 23 && weekday == 3", "{'time':'1969-12-31T23:59:59.999999Z'}", 0, true},
        {"hour == 0 && weekday == 4", "{'time':'1970-01-01T00:00:00Z'}", 0, true},
        {"hour == 12 && weekday == 6", "{'time':'1900-09-01T14:30:00+02:00'}", 0, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan *plan = fixture_bare();
        struct policy_rule rules[] = {{fixture_rule(plan, cases[i].when), POD_3, -1}};
        plan->policies[PROMOTED].rules = rules;
        plan->policies[PROMOTED].rule_count = 1;
        plan->timezone_offset_s = cases[i].zone_s;
        fixture_finish(plan);
        struct run run;
        const struct decision *d = run_decide(&run, plan, cases[i].request);
        if ((d->action == POD_3) != cases[i].holds) fail_msg("%s", cases[i].when);
        assert_int_equal(d->state.status, STATE_COMPLETE);
        run_done(&run);
        plan_free(plan);
    }
}

/* `last` is judged as the session is, where the cooldown guardrail reads it; never an error. */
static const struct {
    const char *last;
    enum state_status status;
    const char *unknown, *invalid;
} lasts[] = {
    {"null", STATE_COMPLETE, "", ""},
    {"{}", STATE_COMPLETE, "", ""},
    {"{'seconds_ago':5,'cooldown_s':60}", STATE_COMPLETE, "", ""},
    {"{'seconds_ago':0,'cooldown_s':0,'ads_delivered':-7}", STATE_COMPLETE, "", ""},
    {"{'seconds_ago':-0.0,'cooldown_s':1e9,'ads_delivered':'two','x':[{}]}", STATE_COMPLETE, "",
     ""},
    {"{'seconds_ago':5}", STATE_PARTIAL, "last.cooldown_s", ""},
    {"{'cooldown_s':5,'seconds_ago':null}", STATE_PARTIAL, "last.seconds_ago", ""},
    {"{'ads_delivered':2}", STATE_PARTIAL, "last.seconds_ago last.cooldown_s", ""},
    {"{'seconds_ago':null}", STATE_PARTIAL, "last.seconds_ago last.cooldown_s", ""},
    {"{'x':1}", STATE_PARTIAL, "last.seconds_ago last.cooldown_s", ""},
    {"{'seconds_ago':-1,'cooldown_s':60}", STATE_INVALID, "", "last.seconds_ago"},
    {"{'seconds_ago':-1e-9,'cooldown_s':60}", STATE_INVALID, "", "last.seconds_ago"},
    {"{'seconds_ago':-1}", STATE_INVALID, "last.cooldown_s", "last.seconds_ago"},
    {"{'seconds_ago':'5','cooldown_s':[60]}", STATE_INVALID, "",
     "last.seconds_ago last.cooldown_s"},
    {"{'seconds_ago':1e999,'cooldown_s':true}", STATE_INVALID, "",
     "last.seconds_ago last.cooldown_s"},
    {"{'seconds_ago':1,'cooldown_s':1000000000.5}", STATE_INVALID, "", "last.cooldown_s"},
};

static void test_last(void **state)
{
    (void)state;
    struct plan *plans[] = {fixture_bare(), fixture_bare()};
    fixture_guardrail(plans[1], GUARDRAIL_COOLDOWN);
    for (int p = 0; p < 2; p++) fixture_finish(plans[p]);
    for (size_t i = 0; i < 2 * sizeof lasts / sizeof *lasts; i++) {
        const bool read = i % 2;
        const char *last = lasts[i / 2].last;
        char text[512], unknown[512], invalid[512];
        struct run run;
        snprintf(text, sizeof text, "{'variant':'random','last':%s}", last);
        const struct decision *d = run_decide(&run, plans[read], text);
        slots_text(plans[read], d->state.unknown, unknown);
        slots_text(plans[read], d->state.invalid, invalid);
        if (d->state.status != (read ? lasts[i / 2].status : STATE_COMPLETE) ||
            strcmp(unknown, read ? lasts[i / 2].unknown : "") ||
            strcmp(invalid, read ? lasts[i / 2].invalid : ""))
            fail_msg("%s, %s: %s, unknown <%s>, invalid <%s>", last, read ? "read" : "not read",
                     state_status_name(d->state.status), unknown, invalid);
        run_done(&run);
    }
    for (int p = 0; p < 2; p++) plan_free(plans[p]);
}

/* Where nobody is asked, no guardrail but ad_free is looked at. */
static void test_last_of_an_ad_free_listener(void **state)
{
    (void)state;
    struct plan *plan = fixture_plan();
    fixture_guardrail(plan, GUARDRAIL_COOLDOWN);
    fixture_finish(plan);
    struct run run;
    const struct decision *d =
        run_decide(&run, plan, "{'session':{'tier':'premium'},'last':{'seconds_ago':-1}}");
    assert_null(d->asked);
    assert_int_equal(d->state.status, STATE_COMPLETE);
    assert_int_equal(d->masked, 1u << REASON_AD_FREE);
    run_done(&run);
    plan_free(plan);
}

/* The demonstration plan's `has(tier) && tier == 'premium'`: no tier is no premium listener, but
 * one that cannot be read may be. */
static void test_a_tier_of_the_wrong_type_is_ad_free(void **state)
{
    (void)state;
    static const struct {
        const char *tier;
        bool ad_free;
    } tiers[] = {{"'free'", false}, {"null", false}, {"'premium'", true}, {"['premium']", true},
                 {"7", true},       {"true", true},  {"{}", true}};
    struct plan *plan = fixture_finish(fixture_plan());
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++) {
        char text[512];
        struct run run;
        snprintf(text, sizeof text, "{'variant':'control','session':{" KNOWN ",'tier':%s}}",
                 tiers[i].tier);
        const struct decision *d = run_decide(&run, plan, text);
        if ((d->asked == NULL) != tiers[i].ad_free) fail_msg("%s", text);
        assert_int_equal(d->state.status, i > 2 ? STATE_INVALID : STATE_COMPLETE);
        assert_int_equal(d->assumed, i > 2 ? 1u << REASON_AD_FREE : 0);
        run_done(&run);
    }
    plan_free(plan);
}

/* What has() guards, and what it does not. */
static void test_guarded_attributes(void **state)
{
    (void)state;
    static const struct {
        const char *when, *session;
        enum state_status status;
    } cases[] = {
        {"has(car) && car", "{}", STATE_COMPLETE},
        {"!has(car) || car", "{}", STATE_COMPLETE},
        {"car", "{}", STATE_PARTIAL},
        {"car || has(car)", "{}", STATE_PARTIAL},
        {"has(car) && background", "{}", STATE_PARTIAL},
        {"child_directed", "{}", STATE_COMPLETE},
        {"child_directed", "{'child_directed':1}", STATE_INVALID},
        {"has(car) && car", "{'car':1}", STATE_INVALID},
        {"has(genre) && genre == 'jazz'", "{'genre':7}", STATE_INVALID},
        {"seconds_since_last_break_end > 5", "{'breaks_in_session':0}", STATE_COMPLETE},
        {"seconds_since_last_break_end > 5", "{'breaks_in_session':1}", STATE_PARTIAL},
        {"seconds_since_last_break_end > 5", "{}", STATE_PARTIAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan *plan = fixture_bare();
        struct policy_rule rules[] = {{fixture_rule(plan, cases[i].when), POD_3, -1}};
        plan->policies[PROMOTED].rules = rules;
        plan->policies[PROMOTED].rule_count = 1;
        fixture_finish(plan);
        char text[1024];
        struct run run;
        const struct decision *d =
            run_decide(&run, plan, request_text(text, "control", cases[i].session));
        if (d->state.status != cases[i].status)
            fail_msg("%s of %s: %s", cases[i].when, cases[i].session,
                     state_status_name(d->state.status));
        run_done(&run);
        plan_free(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_fractions_of_seconds_allow_less_and_of_counts_are_invalid),
        cmocka_unit_test(test_other_types),
        cmocka_unit_test(test_strings_have_a_longest_length),
        cmocka_unit_test(test_a_session_cannot_set_the_context),
        cmocka_unit_test(test_context),
        cmocka_unit_test(test_guarded_attributes),
        cmocka_unit_test(test_last),
        cmocka_unit_test(test_last_of_an_ad_free_listener),
        cmocka_unit_test(test_a_tier_of_the_wrong_type_is_ad_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
