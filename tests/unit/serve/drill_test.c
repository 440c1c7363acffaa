/* Made-up requests: what they fire at, and what is said where none can. */
#include "serve/drill.h"

#include "base/clock.h"
#include "plan/plan_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct drill *drill;
static struct signals *signals;

static int setup(void **state)
{
    (void)state;
    const struct settings_log log = {
        .sink = LOG_FILE, .file = SPAN("/dev/null"), .budget = {__builtin_inf(), 1}};
    struct err e;
    drill = calloc(1, sizeof *drill);
    if (!drill || signals_open(&(struct signals_config){.writers = 1, .log = &log}, &signals, &e))
        return -1;
    drill_init(drill);
    drill->request.writer = signals_writer(signals, 0);
    drill->request.wall_us = clock_wall_us();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    signals_close(signals, clock_mono_ns() + 1000000000);
    free(drill);
    return 0;
}

#define HEAD                                                                       \
    "version: t\nsalt: s\nactions:\n  - {name: none, ads: 0, cooldown: 60s}\n"     \
    "  - {name: drill-0, ads: 1, max_duration: 30s, cooldown: 6m}\nsegments: []\n" \
    "policies:\n"                                                                  \
    "  rules: {kind: fixed, rules: [{action: none}]}\n"                            \
    "  learned: {kind: thompson, fallback: rules, on_empty: cold_start, "          \
    "prior: {alpha: 1, beta: 1}}\n"                                                \
    "  dated: {kind: greedy, fallback: rules, max_posterior_age: 1h}\n"            \
    "default_variant: control\n"
#define SCORED "attributes: {score: double}\n"
#define CONTROL "variants:\n  control: {policy: rules}\n"
#define LEARNED CONTROL "  learned: {policy: learned}\n"
#define DATED LEARNED "  drill-1: {policy: dated}\n"

static struct plan *plan_of(const char *text)
{
    struct plan_errors errors = {0};
    struct plan *plan = plan_load(span_of(text), NULL, &errors);
    if (!plan) fail_msg("%u: %s", errors.errors[0].line, errors.errors[0].text);
    return plan;
}

static uint64_t fired(enum signal_site site)
{
    struct signal_account accounts[SITE_COUNT];
    signals_account(signals, accounts);
    return accounts[site].fired;
}

#define POSTERIORS                                                          \
    (1u << SITE_POSTERIORS_PARTIAL | 1u << SITE_POSTERIORS_ABSENT |         \
     1u << SITE_POSTERIORS_UNKNOWN_ACTION | 1u << SITE_POSTERIORS_INVALID | \
     1u << SITE_POSTERIORS_STALE)
#define GATE(name, condition)                                                                   \
    {                                                                                           \
        name, HEAD SCORED DATED "guardrails: {grace_period: 3m, ad_free: \"" condition "\"}\n", \
            1u << SITE_UNKNOWN_VARIANT | 1u << SITE_SESSION_INVALID | POSTERIORS, 0             \
    }

/* Which of a request's sites can be drilled under which plan. */
static const struct {
    const char *name, *plan;
    uint32_t sites;
    uint32_t unproved; /* a request might fire them, and no drill does */
} rows[] = {
    {"rules alone", HEAD CONTROL, 1u << SITE_UNKNOWN_VARIANT},
    {"rules that read", HEAD CONTROL "guardrails: {grace_period: 3m}\n",
     1u << SITE_UNKNOWN_VARIANT | 1u << SITE_SESSION_INVALID},
    {"nothing but the last answer is read", HEAD CONTROL "guardrails: {cooldown: true}\n",
     1u << SITE_UNKNOWN_VARIANT | 1u << SITE_SESSION_INVALID},
    {"what no session says",
     HEAD CONTROL "guardrails: {ad_free: \"hour == 3 || weekday == 2 || segment_id == 'x'\"}\n",
     1u << SITE_UNKNOWN_VARIANT},
    {"learned", HEAD LEARNED,
     1u << SITE_UNKNOWN_VARIANT | 1u << SITE_POSTERIORS_PARTIAL | 1u << SITE_POSTERIORS_ABSENT |
         1u << SITE_POSTERIORS_UNKNOWN_ACTION | 1u << SITE_POSTERIORS_INVALID},
    {"learned, with an age", HEAD DATED,
     1u << SITE_UNKNOWN_VARIANT | 1u << SITE_POSTERIORS_PARTIAL | 1u << SITE_POSTERIORS_ABSENT |
         1u << SITE_POSTERIORS_UNKNOWN_ACTION | 1u << SITE_POSTERIORS_INVALID |
         1u << SITE_POSTERIORS_STALE},
    /* An unknown tier is ad-free, and then nobody is asked. */
    {"a gate to be let through", HEAD DATED "guardrails: {ad_free: \"tier != 'free'\"}\n",
     1u << SITE_UNKNOWN_VARIANT | 1u << SITE_SESSION_INVALID | 1u << SITE_POSTERIORS_PARTIAL |
         1u << SITE_POSTERIORS_ABSENT | 1u << SITE_POSTERIORS_UNKNOWN_ACTION |
         1u << SITE_POSTERIORS_INVALID | 1u << SITE_POSTERIORS_STALE},
    {"a gate that stops all", HEAD DATED "guardrails: {ad_free: \"true\"}\n",
     1u << SITE_UNKNOWN_VARIANT, 0},
    GATE("a literal that only the plan knows", "tier != 'gold'"),
    GATE("the same, where absent is let through", "has(tier) && tier != 'gold'"),
    GATE("one of several", "!(tier in ['gold', 'drill'])"),
    GATE("a number between two", "tenure_days <= 30 || tenure_days >= 33"),
    GATE("a double between two", "!has(score) || score < 0.25 || score > 0.26"),
    GATE("several at once", "tier != 'gold' || consent != 'no' || !car || tenure_days < 400"),
    GATE("a segment", "segment_id != 'core'"),
    GATE("no segment", "has(segment_id)"),
    GATE("an hour", "hour != 4"),
    GATE("a weekday and an hour", "weekday != 0 || hour < 22"),
    GATE("a variant", "variant != 'drill-1'"),
    GATE("one against another", "ads_today <= ads_last_hour"),
    GATE("more attributes than can be counted through",
         "tier != 'a' || consent != 'b' || position != 'c' || !car || !background || "
         "tenure_days < 5 || elapsed_s < 6 || tracks_played < 7 || ads_today < 8"),
    {"a gate whose condition is never false",
     HEAD DATED "guardrails: {ad_free: \"tier == 'a' || tier != 'a'\"}\n",
     1u << SITE_UNKNOWN_VARIANT | 1u << SITE_SESSION_INVALID, POSTERIORS},
};

static void each_site_fires_where_it_can(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct plan *plan = plan_of(rows[i].plan);
        drill->request.plan = plan;
        for (int site = 0; site <= SITE_UNKNOWN_VARIANT; site++) {
            char asked[64];
            snprintf(asked, sizeof asked, "{\"signal\":\"%s\"}", signal_sites[site].name);
            uint64_t before = fired((enum signal_site)site);
            struct drill_outcome outcome;
            struct err e;
            bool can = drill_run(drill, span_of(asked), &outcome, &e) == ERR_OK;
            if (can != (rows[i].sites >> site & 1))
                fail_msg("%s: %s", rows[i].name, signal_sites[site].name);
            assert_int_equal(fired((enum signal_site)site) - before, can);
            if (!can) {
                bool unproved = rows[i].unproved >> site & 1;
                if (e.code != (unproved ? ERR_NOT_FIRED : ERR_CANNOT_FIRE))
                    fail_msg("%s: %s: %s", rows[i].name, signal_sites[site].name, e.text);
                assert_non_null(strstr(e.text, "under this plan"));
                continue;
            }
            assert_int_equal(outcome.site, site);
            assert_int_equal(outcome.request.data[0], '{');
            assert_int_equal(outcome.request.data[outcome.request.len - 1], '}');
            assert_memory_equal(outcome.answer.data, "{\"request_id\":\"", 15);
            assert_int_equal(outcome.answer.data[outcome.answer.len - 1], '}');
        }
        plan_free(plan);
    }
}

static void what_is_wrong_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *asked;
        enum err_code code;
        const char *text, *pointer;
    } wrong[] = {
        {"{\"signal\":\"server_started\"}", ERR_CANNOT_FIRE, "its opportunity is a start",
         "/signal"},
        {"{\"signal\":\"log_suppressed\"}", ERR_CANNOT_FIRE, "no request can fire", "/signal"},
        {"{\"signal\":\"posteriors_partail\"}", ERR_FIELD_RANGE,
         "did you mean `posteriors_partial`", "/signal"},
        {"{\"signal\":\"gremlin\"}", ERR_FIELD_RANGE, "/v1/signals", "/signal"},
        {"{\"signal\":\"\"}", ERR_FIELD_RANGE, "must name one", "/signal"},
        {"{}", ERR_FIELD_RANGE, "must name one", "/signal"},
        {"{\"x\":[1,{}]}", ERR_FIELD_RANGE, "must name one", "/signal"},
        {"{\"signal\":null}", ERR_FIELD_TYPE, "string", "/signal"},
        {"[]", ERR_FIELD_TYPE, "object", ""},
        {"\"unknown_variant\"", ERR_FIELD_TYPE, "object", ""},
        {"", ERR_JSON_SYNTAX, "", ""},
        {"{\"signal\":\"unknown_variant\"", ERR_JSON_SYNTAX, "", ""},
        {"{\"signal\":\"unknown_variant\"}}", ERR_JSON_SYNTAX, "", ""},
        {"{\"signal\":\"unknown_variant\",\"signal\":\"unknown_variant\"}", ERR_JSON_DUPLICATE_KEY,
         "twice", ""},
        {"{\"signal\":\"unknown_variant\",\"request\":{}}", ERR_NOT_FIRED,
         "the request that was given does not fire `unknown_variant`", "/request"},
        {"{\"request\":7,\"signal\":\"unknown_variant\"}", ERR_FIELD_TYPE, "object", "/request"},
        {"{\"request\":{\"session\":7},\"signal\":\"session_invalid\"}", ERR_FIELD_TYPE, "",
         "/request/session"},
        {"{\"request\":{},\"request\":{},\"signal\":\"unknown_variant\"}", ERR_JSON_DUPLICATE_KEY,
         "twice", ""},
    };
    struct plan *plan = plan_of(HEAD DATED);
    drill->request.plan = plan;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct drill_outcome outcome;
        struct err e;
        if (drill_run(drill, span_of(wrong[i].asked), &outcome, &e) != wrong[i].code)
            fail_msg("%s", wrong[i].asked);
        if (!strstr(e.text, wrong[i].text)) fail_msg("%s: %s", wrong[i].asked, e.text);
        assert_string_equal(e.pointer, wrong[i].pointer);
    }
    struct drill_outcome outcome;
    struct err e;
    assert_int_equal(
        drill_run(drill, SPAN("{\"x\":1,\"signal\":\"unknown\\u005fvariant\"}"), &outcome, &e),
        ERR_OK);
    assert_int_equal(fired(SITE_UNKNOWN_VARIANT), 1);
    struct span given =
        SPAN("{ \"signal\" : \"unknown_variant\", \"request\" : {\"variant\":\"x\"} }");
    assert_int_equal(drill_run(drill, given, &outcome, &e), ERR_OK);
    assert_true(span_is(outcome.request, "{\"variant\":\"x\"}"));
    assert_int_equal(fired(SITE_UNKNOWN_VARIANT), 2);
    plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_site_fires_where_it_can, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_told, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
