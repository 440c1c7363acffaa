/* Answers, byte for byte; and that whatever came in, what goes out is JSON and fits. */
#include "plan_fixture.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* DESIGN's example. */
#define EXAMPLE_IDS "'request_id':'r-123','segment_id':'core','unit_id':'u-9f2','session_id':'s-1'"
#define EXAMPLE_SESSION                                                                 \
    "'session':{'elapsed_s':1830,'tracks_played':9,'seconds_since_last_break_end':915," \
    "'breaks_in_session':1,'ads_last_hour':2,'ad_seconds_last_hour':55,'tier':'free'}"
#define EXAMPLE_POSTERIORS                                                        \
    "'posteriors':{'none':{'alpha':20,'beta':80},'pod_1':{'alpha':25,'beta':75}," \
    "'pod_2':{'alpha':30,'beta':70},'pod_3':{'alpha':22,'beta':78}}"
#define HEAD_1 "{'request_id':'r-123','decided_at':'2026-11-30T08:00:00.123Z','variant':"
#define HEAD_2 ",'version':'demo-1','fingerprint':'9f31c2a07be4'"

static const struct {
    const char *request, *reply;
} rows[] = {
    {"{" EXAMPLE_IDS ",'variant':'bayes'," EXAMPLE_SESSION "," EXAMPLE_POSTERIORS "}",
     HEAD_1 "'bayes','assignment':'caller','policy':'bayesian'" HEAD_2
            ",'segment_id':'core','action':'pod_2','ads':2,'max_duration_s':60,'cooldown_s':720,"
            "'posteriors':'complete','state':'complete','reasons':['policy']}"},
    /* without posteriors the fallback decides */
    {"{" EXAMPLE_IDS ",'variant':'bayes'," EXAMPLE_SESSION "}",
     HEAD_1 "'bayes','assignment':'caller','policy':'promoted'" HEAD_2
            ",'segment_id':'core','action':'pod_2','ads':2,'max_duration_s':60,'cooldown_s':720,"
            "'posteriors':'absent','state':'complete','reasons':['rule','fallback']}"},
    /* u-9f2 is outside the slice; the segment is echoed as it was sent */
    {"{'request_id':'r-123','segment_id':'Core \\u00e9','unit_id':'u-9f2'," EXAMPLE_SESSION
     "," EXAMPLE_POSTERIORS "}",
     HEAD_1 "'control','assignment':'default','policy':'promoted'" HEAD_2
            ",'segment_id':'Core \xc3\xa9','action':'pod_2','ads':2,'max_duration_s':60,"
            "'cooldown_s':720,'posteriors':'unsolicited','state':'complete','reasons':['rule']}"},
    {"{'request_id':'r-123','unit_id':'u-6'," EXAMPLE_SESSION "}",
     HEAD_1 "'bayes','assignment':'experiment','experiment':'adload','policy':'promoted'" HEAD_2
            ",'action':'pod_2','ads':2,'max_duration_s':60,'cooldown_s':720,"
            "'posteriors':'absent','state':'complete','reasons':['rule','fallback']}"},
    /* nothing is known: no ad, and every guardrail that would take one says so */
    {"{'request_id':'r-123'}",
     HEAD_1 "'control','assignment':'no_unit','policy':'promoted'" HEAD_2
            ",'action':'none','ads':0,'cooldown_s':60,'posteriors':'by_design','state':'partial',"
            "'reasons':['rule','no_unit','grace_period','min_gap','ads_per_hour',"
            "'ad_seconds_per_hour']}"},
    {"{'request_id':'r-123','variant':'n\\u0022o','session':{'tier':'premium'},'posteriors':{}}",
     HEAD_1 "'unknown','requested_variant':'n\\\"o','assignment':'unknown_variant',"
            "'policy':'promoted'" HEAD_2
            ",'action':'none','ads':0,'cooldown_s':60,'posteriors':'by_design','state':'complete',"
            "'reasons':['unknown_variant','ad_free']}"},
    /* a rule's action that is masked, and how long to wait */
    {"{'request_id':'r-123','variant':'control','session':{'elapsed_s':1830,'tracks_played':9,"
     "'seconds_since_last_break_end':915,'ads_last_hour':5,'ad_seconds_last_hour':-1}}",
     HEAD_1 "'control','assignment':'caller','policy':'promoted'" HEAD_2
            ",'action':'none','wanted':'pod_2','ads':0,'cooldown_s':60,'posteriors':'by_design',"
            "'state':'invalid','reasons':['rule','ads_per_hour','ad_seconds_per_hour']}"},
    {"{'request_id':'r-123','variant':'control','session':{'elapsed_s':50,'tracks_played':4,"
     "'seconds_since_last_break_end':915,'ads_last_hour':0,'ad_seconds_last_hour':0}}",
     HEAD_1 "'control','assignment':'caller','policy':'promoted'" HEAD_2
            ",'action':'none','wanted':'pod_1','ads':0,'cooldown_s':130,'posteriors':'by_design',"
            "'state':'complete','reasons':['rule','grace_period']}"},
    /* the request's time is told as the decision's */
    {"{'request_id':'','time':'2026-11-30T09:00:00.9999+01:00','variant':'control',"
     "'session':{'tier':'premium'}}",
     "{'request_id':'','decided_at':'2026-11-30T08:00:00.999Z','variant':'control',"
     "'assignment':'caller','policy':'promoted'" HEAD_2
     ",'action':'none','ads':0,'cooldown_s':60,'posteriors':'by_design','state':'complete',"
     "'reasons':['ad_free']}"},
};

static struct plan *plan;

static struct buf reply_of(struct run *run, char *memory, size_t cap)
{
    struct buf b = buf_of(memory, cap);
    reply_write(&b, plan, &run->request, &run->decision, run->now_us);
    return b;
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[REPLY_BYTES_MAX], expected[REPLY_BYTES_MAX];
        struct run run;
        run_decide(&run, plan, rows[i].request);
        struct buf b = reply_of(&run, text, sizeof text);
        snprintf(expected, sizeof expected, "%s", rows[i].reply);
        for (char *at = expected; *at; at++)
            if (*at == '\'') *at = '"';
        if (b.full || !span_is(buf_text(&b), expected))
            fail_msg("row %zu:\n%.*s\n%s", i, (int)b.len, text, expected);
        run_done(&run);
    }
}

static void assert_string_of(const json_t *object, const char *key, struct span expected)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_string(value));
    assert_int_equal(json_string_length(value), expected.len);
    assert_memory_equal(json_string_value(value), expected.data, expected.len);
}

static const char *const awkward[] = {
    "\\u0000",        "\\u0001\\u001f", "\\u007f", "\\u0022\\u005c/", "\\b\\f\\n\\r\\t",
    "\\u2028\\u2029", "\\ud83d\\ude00", "\\uffff", "</script>",       "\xc3\xa9\xf0\x9f\x98\x80",
};

/* What the caller sent comes back as the same characters, to a reader that is not ours. */
static void test_ids_come_back_as_they_were(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof awkward / sizeof *awkward; i++) {
        char json[512], text[REPLY_BYTES_MAX];
        snprintf(json, sizeof json, "{'request_id':'%s','segment_id':'%s','variant':'%s'}",
                 awkward[i], awkward[i], awkward[i]);
        struct run run;
        run_decide(&run, plan, json);
        struct buf b = reply_of(&run, text, sizeof text);
        json_error_t error;
        json_t *reply = json_loadb(text, b.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
        if (!reply) fail_msg("%.*s: %s", (int)b.len, text, error.text);
        assert_string_of(reply, "request_id", run.request.request_id);
        assert_string_of(reply, "segment_id", run.request.segment_id);
        assert_string_of(reply, "requested_variant", run.request.variant_name);
        assert_string_of(reply, "variant", SPAN("unknown"));
        json_decref(reply);
        run_done(&run);
    }
}

/* The longest ids there can be, of bytes that take the most room. */
static void test_the_longest_answer_fits(void **state)
{
    (void)state;
    static const struct {
        const char *field;
        int count;
    } ids[] = {{"request_id", 128}, {"segment_id", 64}, {"variant", 64}, {"unit_id", 256}};
    for (int explain = 0; explain < 2; explain++) {
        char json[8192];
        size_t len = (size_t)snprintf(json, sizeof json, "{'explain':%s,'posteriors':{'x':1}",
                                      explain ? "true" : "false");
        for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
            len += (size_t)snprintf(json + len, sizeof json - len, ",'%s':'", ids[i].field);
            for (int n = 0; n < ids[i].count; n++)
                len += (size_t)snprintf(json + len, sizeof json - len, "\\u0001");
            len += (size_t)snprintf(json + len, sizeof json - len, "'");
        }
        snprintf(json + len, sizeof json - len, "}");
        static char text[REPLY_EXPLAIN_BYTES_MAX];
        struct run run;
        run_decide(&run, plan, json);
        struct buf b =
            reply_of(&run, text, explain ? REPLY_EXPLAIN_BYTES_MAX : (size_t)REPLY_BYTES_MAX);
        assert_false(b.full);
        assert_true(b.len > 6 * 256);
        json_t *reply = json_loadb(text, b.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        assert_non_null(reply);
        json_decref(reply);
        run_done(&run);
    }
}

/* The account of a decision: the answer stays what it was, and the words are the plan's. */
static void test_explain_adds_and_changes_nothing(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        EXAMPLE_IDS ",'variant':'bayes'," EXAMPLE_SESSION "," EXAMPLE_POSTERIORS,
        "'request_id':'r','unit_id':'u-6'",
        "'request_id':'r','variant':'bayes'," EXAMPLE_SESSION ",'posteriors':{'x':1,'pod_1':7}",
        "'request_id':'r','variant':'bayes','session':{'tier':'premium'}," EXAMPLE_POSTERIORS,
        "'request_id':'r','variant':'x','session':{'elapsed_s':-1}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        static char text[REPLY_EXPLAIN_BYTES_MAX];
        json_t *replies[2];
        for (int explain = 0; explain < 2; explain++) {
            char json[2048];
            snprintf(json, sizeof json, "{%s%s}", bodies[i], explain ? ",'explain':true" : "");
            struct run run;
            run_decide(&run, plan, json);
            struct buf b = reply_of(&run, text, sizeof text);
            assert_false(b.full);
            replies[explain] = json_loadb(text, b.len, JSON_REJECT_DUPLICATES, NULL);
            assert_non_null(replies[explain]);
            run_done(&run);
        }
        const char *key;
        json_t *value;
        json_object_foreach(replies[0], key, value)
            assert_true(json_equal(value, json_object_get(replies[1], key)));
        assert_null(json_object_get(replies[0], "eligible"));
        const json_t *eligible = json_object_get(replies[1], "eligible");
        assert_true(json_is_array(eligible) && json_array_size(eligible) >= 1);
        assert_string_equal(json_string_value(json_array_get(eligible, 0)), "none");
        assert_true(json_is_string(json_object_get(replies[1], "exploration_key")));
        assert_true(json_is_array(json_object_get(replies[1], "considered")));
        json_decref(replies[0]);
        json_decref(replies[1]);
    }
}

/* A buffer of every size: the answer, or `full`, and never a byte behind its end. */
static void test_a_buffer_too_small_is_told(void **state)
{
    (void)state;
    struct run run;
    run_decide(&run, plan, rows[0].request);
    size_t len = strlen(rows[0].reply);
    for (size_t cap = 0; cap <= len; cap++) {
        char *memory = (char *)malloc(cap ? cap : 1);
        assert_non_null(memory);
        struct buf b = reply_of(&run, memory, cap);
        assert_int_equal(b.full, cap < len);
        assert_true(b.len <= cap);
        free(memory);
    }
    run_done(&run);
}

/* ---- what the account says of what is unknown ---- */

#define GATE_ASKED "{'step':'gate','asked':true}"
#define GATE_OF(asked, because)                                                            \
    "{'step':'gate','asked':" asked ",'guardrail':'ad_free','when':'has(tier) && tier == " \
    "\\u0027premium\\u0027','because':'" because "'}"
#define GUARDRAIL(name, what) "{'guardrail':'" name "','what':'" what "'}"

static const struct {
    const char *session; /* and more fields of the request behind it */
    uint32_t permissive;
    const char *gate, *guardrails; /* guardrails NULL: no such step */
} accounts[] = {
    {"{'ads_last_hour':0,'car':false}", 0, GATE_ASKED, ""},
    {"{'ads_last_hour':5,'car':false}", 0, GATE_ASKED, GUARDRAIL("ads_per_hour", "masked")},
    {"{}", 0, GATE_ASKED, GUARDRAIL("ads_per_hour", "masked: unknown")},
    {"{'ads_last_hour':0}", 0, GATE_ASKED, GUARDRAIL("ads_per_hour", "masked: unknown")},
    {"{}", 1u << REASON_ADS_PER_HOUR, GATE_ASKED,
     GUARDRAIL("ads_per_hour", "not enforced: unknown")},
    /* One item masks, another is not known to hold. */
    {"{'ads_last_hour':5}", 1u << REASON_ADS_PER_HOUR, GATE_ASKED,
     GUARDRAIL("ads_per_hour", "masked") "," GUARDRAIL("ads_per_hour", "not enforced: unknown")},
    {"{'ads_last_hour':0,'car':false},'last':{'seconds_ago':-3}", 0, GATE_ASKED,
     GUARDRAIL("cooldown", "masked: unknown")},
    {"{'ads_last_hour':0,'car':false},'last':{'seconds_ago':-3}", 1u << REASON_COOLDOWN, GATE_ASKED,
     GUARDRAIL("cooldown", "not enforced: unknown")},
    {"{'tier':'premium'}", 0, GATE_OF("false", "true"), NULL},
    {"{'tier':['premium']}", 0, GATE_OF("false", "unknown"), NULL},
    {"{'tier':['premium'],'ads_last_hour':0,'car':false}", 1u << REASON_AD_FREE,
     GATE_OF("true", "not enforced: unknown"), ""},
};

static json_t *json_of(const char *text)
{
    char json[1024];
    snprintf(json, sizeof json, "%s", text);
    for (char *at = json; *at; at++)
        if (*at == '\'') *at = '"';
    json_t *value = json_loads(json, 0, NULL);
    if (!value) fail_msg("%s", json);
    return value;
}

/* The step of that name in the account; NULL: there is none. */
static json_t *step_of(json_t *reply, const char *name)
{
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(reply, "considered"), i, step)
    {
        if (strcmp(json_string_value(json_object_get(step, "step")), name) == 0) return step;
    }
    return NULL;
}

static struct plan *plan_of_accounts(uint32_t permissive)
{
    struct plan *of = fixture_bare();
    fixture_ad_free(of, "has(tier) && tier == 'premium'");
    fixture_guardrail(of, GUARDRAIL_COOLDOWN);
    fixture_cap(of, GUARDRAIL_ADS_PER_HOUR, NULL, 6);
    fixture_cap(of, GUARDRAIL_ADS_PER_HOUR, fixture_rule(of, "car"), 2);
    fixture_permissive(of, permissive);
    return fixture_finish(of);
}

static void test_the_account_tells_what_was_unknown(void **state)
{
    (void)state;
    static char text[REPLY_EXPLAIN_BYTES_MAX];
    for (size_t i = 0; i < sizeof accounts / sizeof *accounts; i++) {
        struct plan *of = plan_of_accounts(accounts[i].permissive);
        char body[512], guardrails[512];
        struct run run;
        snprintf(body, sizeof body, "{'variant':'random','explain':true,'session':%s}",
                 accounts[i].session);
        run_decide(&run, of, body);
        struct buf b = buf_of(text, sizeof text);
        reply_write(&b, of, &run.request, &run.decision, run.now_us);
        json_t *reply = json_loadb(b.data, b.len, 0, NULL), *gate = json_of(accounts[i].gate);
        assert_non_null(reply);
        if (!json_equal(step_of(reply, "gate"), gate)) fail_msg("%s: %.*s", body, (int)b.len, text);
        json_decref(gate);
        json_t *mask = step_of(reply, "mask");
        assert_int_equal(mask != NULL, accounts[i].guardrails != NULL);
        if (mask) {
            snprintf(guardrails, sizeof guardrails, "[%s]", accounts[i].guardrails);
            json_t *expected = json_of(guardrails);
            if (!json_equal(json_object_get(mask, "guardrails"), expected))
                fail_msg("%s: %.*s", body, (int)b.len, text);
            json_decref(expected);
        }
        json_decref(reply);
        run_done(&run);
        plan_free(of);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_ids_come_back_as_they_were),
        cmocka_unit_test(test_the_longest_answer_fits),
        cmocka_unit_test(test_explain_adds_and_changes_nothing),
        cmocka_unit_test(test_the_account_tells_what_was_unknown),
        cmocka_unit_test(test_a_buffer_too_small_is_told),
    };
    plan = fixture_finish(fixture_plan());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
