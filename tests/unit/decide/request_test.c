/* What is read and what is refused: the request's own fields, and where a fault is told. */
#include "plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct plan *plan;

/* ---- refusals ---- */

static const struct {
    const char *json;
    enum err_code code;
    const char *pointer; /* of the request's own fields; "": told by offset */
} refused[] = {
    /* not a request */
    {"", ERR_JSON_SYNTAX, ""},
    {" ", ERR_JSON_SYNTAX, ""},
    {"null", ERR_FIELD_TYPE, ""},
    {"[]", ERR_FIELD_TYPE, ""},
    {"[{}]", ERR_FIELD_TYPE, ""},
    {"7", ERR_FIELD_TYPE, ""},
    {"'x'", ERR_FIELD_TYPE, ""},
    {"true", ERR_FIELD_TYPE, ""},
    {"{", ERR_JSON_SYNTAX, ""},
    {"}", ERR_JSON_SYNTAX, ""},
    {"{}{}", ERR_JSON_SYNTAX, ""},
    {"{} x", ERR_JSON_SYNTAX, ""},
    {"{'a':1,}", ERR_JSON_SYNTAX, ""},
    {"{a:1}", ERR_JSON_SYNTAX, ""},
    {"{'a' 1}", ERR_JSON_SYNTAX, ""},
    {"{'a':}", ERR_JSON_SYNTAX, ""},
    {"{'a':NaN}", ERR_JSON_SYNTAX, ""},
    {"\xef\xbb\xbf{}", ERR_JSON_SYNTAX, ""},

    /* ids */
    {"{'request_id':7}", ERR_FIELD_TYPE, "/request_id"},
    {"{'request_id':true}", ERR_FIELD_TYPE, "/request_id"},
    {"{'request_id':{}}", ERR_FIELD_TYPE, "/request_id"},
    {"{'request_id':['r']}", ERR_FIELD_TYPE, "/request_id"},
    {"{'segment_id':7}", ERR_FIELD_TYPE, "/segment_id"},
    {"{'unit_id':7}", ERR_FIELD_TYPE, "/unit_id"},
    {"{'session_id':7.5}", ERR_FIELD_TYPE, "/session_id"},
    {"{'variant':false}", ERR_FIELD_TYPE, "/variant"},
    {"{'variant':[]}", ERR_FIELD_TYPE, "/variant"},

    /* times */
    {"{'time':7}", ERR_FIELD_TYPE, "/time"},
    {"{'time':{}}", ERR_FIELD_TYPE, "/time"},
    {"{'time':'yesterday'}", ERR_FIELD_RANGE, "/time"},
    {"{'time':''}", ERR_FIELD_RANGE, "/time"},
    {"{'time':'2026-11-30'}", ERR_FIELD_RANGE, "/time"},
    {"{'time':'2026-02-30T00:00:00Z'}", ERR_FIELD_RANGE, "/time"},
    {"{'posteriors_as_of':true}", ERR_FIELD_TYPE, "/posteriors_as_of"},
    {"{'posteriors_as_of':'soon'}", ERR_FIELD_RANGE, "/posteriors_as_of"},

    /* objects */
    {"{'session':7}", ERR_FIELD_TYPE, "/session"},
    {"{'session':[]}", ERR_FIELD_TYPE, "/session"},
    {"{'session':'{}'}", ERR_FIELD_TYPE, "/session"},
    {"{'last':7}", ERR_FIELD_TYPE, "/last"},
    {"{'last':[]}", ERR_FIELD_TYPE, "/last"},
    {"{'last':'{}'}", ERR_FIELD_TYPE, "/last"},
    {"{'last':false}", ERR_FIELD_TYPE, "/last"},

    /* the rest */
    {"{'explain':1}", ERR_FIELD_TYPE, "/explain"},
    {"{'explain':'true'}", ERR_FIELD_TYPE, "/explain"},
    {"{'tmax_ms':'5'}", ERR_FIELD_TYPE, "/tmax_ms"},
    {"{'tmax_ms':-5}", ERR_FIELD_RANGE, "/tmax_ms"},
    {"{'tmax_ms':1e999}", ERR_FIELD_RANGE, "/tmax_ms"},
    {"{'opportunities':[]}", ERR_UNSUPPORTED, "/opportunities"},
    {"{'opportunities':{}}", ERR_UNSUPPORTED, "/opportunities"},

    /* what stands twice, after unescaping, wherever a value is read */
    {"{'request_id':'a','request_id':'a'}", ERR_JSON_DUPLICATE_KEY, ""},
    {"{'request_id':null,'request_id':null}", ERR_JSON_DUPLICATE_KEY, ""},
    {"{'unit_id':'a','\\u0075nit_id':'b'}", ERR_JSON_DUPLICATE_KEY, ""},
    {"{'session':{},'session':{}}", ERR_JSON_DUPLICATE_KEY, ""},
    {"{'posteriors':{},'variant':'x','posteriors':null}", ERR_JSON_DUPLICATE_KEY, ""},
    {"{'session':{'car':true,'car':false}}", ERR_JSON_DUPLICATE_KEY, ""},
    {"{'session':{'car':true,'\\u0063ar':true}}", ERR_JSON_DUPLICATE_KEY, ""},
    {"{'session':{'genre':null,'genre':null}}", ERR_JSON_DUPLICATE_KEY, ""},
    {"{'posteriors':{'none':{},'none':{}}}", ERR_JSON_DUPLICATE_KEY, ""},
    {"{'posteriors':{'none':null,'pod_1':1,'n\\u006fne':null}}", ERR_JSON_DUPLICATE_KEY, ""},
    {"{'posteriors':{'none':{'alpha':1,'alpha':1}}}", ERR_JSON_DUPLICATE_KEY, ""},
    {"{'posteriors':{'none':{'alpha':'x','\\u0061lpha':1}}}", ERR_JSON_DUPLICATE_KEY, ""},
    {"{'last':{'seconds_ago':1,'seconds_ago':1}}", ERR_JSON_DUPLICATE_KEY, ""},
    {"{'last':{'cooldown_s':[],'cooldown_s':1}}", ERR_JSON_DUPLICATE_KEY, ""},

    /* what is skipped is checked all the same */
    {"{'x':[1,]}", ERR_JSON_SYNTAX, ""},
    {"{'x':{'y':01}}", ERR_JSON_SYNTAX, ""},
    {"{'x':'\\ud800'}", ERR_JSON_SYNTAX, ""},
    {"{'x':'\\x'}", ERR_JSON_SYNTAX, ""},
    {"{'x':'\xff'}", ERR_JSON_SYNTAX, ""},
    {"{'x':'\x01'}", ERR_JSON_SYNTAX, ""},
    {"{'x':tru}", ERR_JSON_SYNTAX, ""},
    {"{'session':{'x':nul}}", ERR_JSON_SYNTAX, ""},
    {"{'session':{'car':[1 2]}}", ERR_JSON_SYNTAX, ""},
    {"{'posteriors':{'x':{'y':'\t'}}}", ERR_JSON_SYNTAX, ""},
    {"{'posteriors':{'none':{'x':+1}}}", ERR_JSON_SYNTAX, ""},
    {"{'posteriors':[1e]}", ERR_JSON_SYNTAX, ""},
    {"{'last':{'x':.5}}", ERR_JSON_SYNTAX, ""},
    {"{'session':{'elapsed_s':0x10}}", ERR_JSON_SYNTAX, ""},
    {"{'session':{'tier':'\\udc00\\ud800'}}", ERR_JSON_SYNTAX, ""},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct run run;
        enum err_code code = run_read(&run, plan, refused[i].json);
        if (code != refused[i].code || run.e.code != code ||
            strcmp(run.e.pointer, refused[i].pointer))
            fail_msg("%s: %s at <%s>", refused[i].json, err_name(code), run.e.pointer);
        if (!run.e.text[0] || run.e.text[strlen(run.e.text) - 1] == '.')
            fail_msg("%s: <%s>", refused[i].json, run.e.text);
        assert_true(run.e.offset <= strlen(refused[i].json));
        run_done(&run);

        /* And where nobody wants to know why. */
        struct request request;
        char scratch[256], json[256];
        snprintf(json, sizeof json, "%s", refused[i].json);
        for (char *at = json; *at; at++)
            if (*at == '\'') *at = '"';
        assert_int_equal(request_read(plan, span_of(json), scratch, &request, NULL), code);
    }
}

static void test_offsets_stand_at_the_fault(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        size_t from, to;
    } rows[] = {
        {"{'x':[1,]}", 8, 8}, {"{'x':1} y", 8, 8}, {"{'request_id':'a','request_id':'a'}", 18, 31},
        {"{'x':tru}", 5, 8},  {"{'x':1", 6, 6},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct run run;
        assert_int_not_equal(run_read(&run, plan, rows[i].json), ERR_OK);
        if (run.e.offset < rows[i].from || run.e.offset > rows[i].to)
            fail_msg("%s: %zu", rows[i].json, run.e.offset);
        run_done(&run);
    }
}

/* ---- limits ---- */

static void test_ids_have_longest_lengths(void **state)
{
    (void)state;
    static const struct {
        const char *field;
        int bytes_max;
    } rows[] = {{"request_id", 128},
                {"unit_id", 256},
                {"session_id", 256},
                {"segment_id", 64},
                {"variant", 64}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int over = 0; over < 2; over++)
            for (int escaped = 0; escaped < 2; escaped++) {
                char text[2048];
                int len = snprintf(text, sizeof text, "{'%s':'", rows[i].field);
                /* Bytes are counted after unescaping: \u00e9 is two of them. */
                for (int n = over ? -1 : 0; n < rows[i].bytes_max;) {
                    len +=
                        snprintf(text + len, sizeof text - (size_t)len, "%s",
                                 escaped && n >= 0 && n + 2 <= rows[i].bytes_max ? "\\u00e9" : "x");
                    n += escaped && n >= 0 && n + 2 <= rows[i].bytes_max ? 2 : 1;
                }
                snprintf(text + len, sizeof text - (size_t)len, "'}");
                struct run run;
                enum err_code code = run_read(&run, plan, text);
                if (code != (over ? ERR_FIELD_RANGE : ERR_OK)) fail_msg("%s: %d", text, code);
                if (over) {
                    assert_string_equal(run.e.pointer + 1, rows[i].field);
                    char bytes[16];
                    snprintf(bytes, sizeof bytes, "%d", rows[i].bytes_max);
                    assert_non_null(strstr(run.e.text, bytes));
                }
                run_done(&run);
            }
}

static void test_depth(void **state)
{
    (void)state;
    static const char *const fields[] = {"x", "posteriors", "session"};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        for (int depth = 30; depth <= 34; depth++) {
            /* The request is one level; a session is an object, so its value begins one deeper. */
            bool session = !strcmp(fields[f], "session");
            int arrays = depth - 1 - session;
            char text[256];
            int len = snprintf(text, sizeof text, "{'%s':%s", fields[f], session ? "{'car':" : "");
            memset(text + len, '[', (size_t)arrays);
            memset(text + len + arrays, ']', (size_t)arrays);
            snprintf(text + len + 2 * arrays, sizeof text - (size_t)(len + 2 * arrays), "%s}",
                     session ? "}" : "");
            struct run run;
            enum err_code code = run_read(&run, plan, text);
            if (code != (depth <= 32 ? ERR_OK : ERR_JSON_DEPTH)) fail_msg("%s: %d", text, code);
            run_done(&run);
        }
}

static void test_a_long_body_is_read(void **state)
{
    (void)state;
    static char text[REQUEST_BYTES_MAX + 1];
    int len = snprintf(text, sizeof text, "{\"x\":\"");
    memset(text + len, 'x', sizeof text - 1 - (size_t)len);
    memcpy(text + sizeof text - 1 - 20, "\",\"request_id\":\"r\"} ", 20);
    struct run run;
    assert_int_equal(run_read_span(&run, plan, (struct span){text, REQUEST_BYTES_MAX}), ERR_OK);
    assert_true(span_is(run.request.request_id, "r"));
    run_done(&run);
}

/* ---- what is read ---- */

static void test_an_empty_request(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "{}",
        " { } \r\n\t",
        "{'request_id':null,'unit_id':null,'session_id':null,'segment_id':null,'variant':null,"
        "'time':null,'posteriors_as_of':null,'session':null,'posteriors':null,'last':null,"
        "'explain':null,'tmax_ms':null}",
        "{'request_id':'','unit_id':'','session_id':'','segment_id':'','variant':''}",
        "{'session':{},'explain':false,'tmax_ms':0}",
        "{'x':1,'Request_id':7,'request_id ':7,'':[],'session_':7,'é':{'é':null}}",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct run run;
        if (run_read(&run, plan, rows[i])) fail_msg("%s: %s", rows[i], run.e.text);
        const struct request *r = &run.request;
        assert_int_equal(r->request_id.len + r->unit_id.len + r->session_id.len +
                             r->segment_id.len + r->variant_name.len,
                         0);
        assert_int_equal(r->segment, 5); /* unset */
        assert_int_equal(r->variant, REQUEST_VARIANT_NONE);
        assert_true(r->time_us == REQUEST_TIME_NONE && r->as_of_us == REQUEST_TIME_NONE);
        assert_false(r->last_sent);
        assert_false(r->explain);
        assert_int_equal(r->attributes.known | r->attributes.invalid, 0);
        assert_int_equal(r->posteriors_sent, POSTERIORS_SENT_NOTHING);
        assert_int_equal(r->unknown_actions, 0);
        run_done(&run);
    }
}

static void test_every_field(void **state)
{
    (void)state;
    struct run run;
    assert_int_equal(
        run_read(&run, plan,
                 "{'explain':true,'last':{'seconds_ago':1.5,'x':[{}],'cooldown_s':60,"
                 "'ads_delivered':2},'tmax_ms':20,'posteriors':{'pod_1':{'beta':75,'alpha':25.5}},"
                 "'posteriors_as_of':'2026-11-30T07:00:00Z','time':'2026-11-30T08:00:00.123Z',"
                 "'session':{'elapsed_s':1830.7,'tier':'f\\u0072ee','at_content_boundary':true,"
                 "'genre':'j\\u00e4zz'},'variant':'bayes','segment_id':'core','session_id':'s-1',"
                 "'unit_id':'u-\\u002f','request_id':'r-\\u0022\\n'}"),
        ERR_OK);
    const struct request *r = &run.request;
    const struct attributes *a = &r->attributes;
    assert_true(span_is(r->request_id, "r-\"\n"));
    assert_true(span_is(r->unit_id, "u-/"));
    assert_true(span_is(r->session_id, "s-1"));
    assert_true(span_is(r->segment_id, "core"));
    assert_int_equal(r->segment, 2);
    assert_true(span_is(r->variant_name, "bayes"));
    assert_int_equal(r->variant, V_BAYES);
    assert_true(r->time_us == FIXTURE_NOW_US);
    assert_true(r->as_of_us == FIXTURE_NOW_US - INT64_C(3600123000));
    assert_true(r->explain);
    assert_true(r->last_sent);
    assert_true(a->values[ATTRIBUTE_SLOT_LAST_SECONDS_AGO].d == 1.5);
    assert_true(a->values[ATTRIBUTE_SLOT_LAST_COOLDOWN_S].d == 60);
    assert_int_equal(a->values[ATTRIBUTE_SLOT_ELAPSED_S].i, 1830);
    assert_true(span_is(a->values[ATTRIBUTE_SLOT_TIER].s, "free"));
    assert_true(a->values[ATTRIBUTE_SLOT_AT_CONTENT_BOUNDARY].b);
    assert_true(span_is(a->values[ATTRIBUTE_BUILT_IN_COUNT].s, "j\xc3\xa4zz"));
    assert_int_equal(__builtin_popcountll(a->known), 6);
    assert_int_equal(a->invalid, 0);
    assert_int_equal(r->posteriors_sent, POSTERIORS_SENT_OBJECT);
    assert_int_equal(r->entries[POD_1].state, ENTRY_VALID);
    assert_int_equal(r->entries[POD_1].posterior.family, FAMILY_BETA);
    assert_true(r->entries[POD_1].posterior.p[0] == 25.5);
    assert_true(r->entries[POD_1].posterior.p[1] == 75);
    assert_int_equal(r->entries[NONE].state, ENTRY_MISSING);
    assert_int_equal(r->entries[POD_3].state, ENTRY_MISSING);
    run_done(&run);
}

static void test_segments_and_variants(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int segment, variant;
    } rows[] = {
        {"{'segment_id':'new','variant':'control'}", 0, V_CONTROL},
        {"{'segment_id':'heavy','variant':'random'}", 3, V_RANDOM},
        {"{'segment_id':'Heavy','variant':'random '}", 4, REQUEST_VARIANT_UNKNOWN},
        /* Labels of ours are no segments of the plan. */
        {"{'segment_id':'other','variant':'unknown'}", 4, REQUEST_VARIANT_UNKNOWN},
        {"{'segment_id':'unset'}", 4, REQUEST_VARIANT_NONE},
        {"{'segment_id':' '}", 4, REQUEST_VARIANT_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct run run;
        assert_int_equal(run_read(&run, plan, rows[i].json), ERR_OK);
        assert_int_equal(run.request.segment, rows[i].segment);
        assert_int_equal(run.request.variant, rows[i].variant);
        run_done(&run);
    }
}

static void test_families(void **state)
{
    (void)state;
    static const struct {
        const char *entry;
        enum posterior_family family;
        double p[4];
    } rows[] = {
        {"{'alpha':1,'beta':2}", FAMILY_BETA, {1, 2}},
        {"{'beta':2,'alpha':1}", FAMILY_BETA, {1, 2}},
        {"{'alpha':5e-324,'beta':1.7976931348623157e308}",
         FAMILY_BETA,
         {5e-324, 1.7976931348623157e308}},
        {"{'mean':-1.5,'variance':2}", FAMILY_NORMAL, {-1.5, 2}},
        {"{'mean':0,'variance':2}", FAMILY_NORMAL, {0, 2}},
        {"{'beta':4,'alpha':3,'lambda':2,'mu':-1}", FAMILY_NIG, {-1, 2, 3, 4}},
        {"{'rate':2,'shape':1}", FAMILY_GAMMA, {1, 2}},
        {"{'r\\u0061te':2,'shape':1}", FAMILY_GAMMA, {1, 2}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        struct run run;
        snprintf(text, sizeof text, "{'posteriors':{'pod_2':%s}}", rows[i].entry);
        assert_int_equal(run_read(&run, plan, text), ERR_OK);
        const struct posterior_entry *entry = &run.request.entries[POD_2];
        if (entry->state != ENTRY_VALID || entry->posterior.family != rows[i].family)
            fail_msg("%s: %d", rows[i].entry, entry->state);
        for (int j = 0; j < (rows[i].family == FAMILY_NIG ? 4 : 2); j++)
            assert_true(entry->posterior.p[j] == rows[i].p[j]);
        run_done(&run);
    }
}

static void test_unknown_actions_are_kept_by_name(void **state)
{
    (void)state;
    /* 63 bytes, then a character of two: cut before it, so that the name stays text. */
    char text[512], cut[80];
    memset(cut, 'a', 63);
    cut[63] = 0;
    snprintf(text, sizeof text,
             "{'posteriors':{'x\\u0022':1,'%s\xc3\xa9zzz':{},'%s4':null,'%s45':[],'fifth':1}}", cut,
             cut, cut);
    struct run run;
    assert_int_equal(run_read(&run, plan, text), ERR_OK);
    const struct request *r = &run.request;
    assert_int_equal(r->unknown_actions, 5);
    assert_true(span_is(r->unknown_names[0], "x\""));
    assert_int_equal(r->unknown_names[1].len, 63);
    assert_int_equal(r->unknown_names[2].len, 64);
    assert_int_equal(r->unknown_names[3].len, 64);
    assert_true(r->unknown_names_cut);
    run_done(&run);
}

static void test_unknown_names_that_were_cut_are_noted(void **state)
{
    (void)state;
    char longest[128], longer[128];
    snprintf(longest, sizeof longest, "{'posteriors':{'%064d':{}}}", 0);
    snprintf(longer, sizeof longer, "{'posteriors':{'%065d':{}}}", 0);
    const struct {
        const char *text;
        bool cut;
    } cases[] = {
        {"{'posteriors':{}}", false},
        {longest, false},
        {longer, true},
        {"{'posteriors':{'a':{},'b':{},'c':{},'d':{}}}", false},
        {"{'posteriors':{'a':{},'b':{},'c':{},'d':{},'e':{}}}", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run run;
        assert_int_equal(run_read(&run, plan, cases[i].text), ERR_OK);
        if (run.request.unknown_names_cut != cases[i].cut) fail_msg("%s", cases[i].text);
        run_done(&run);
    }
}

/* What stands behind a name of the longest length in the scratch memory is none of it. */
static void test_a_name_of_the_longest_length_is_whole(void **state)
{
    (void)state;
    char text[128], scratch[128];
    int len = snprintf(text, sizeof text, "{\"posteriors\":{\"\\u0061%063d\":{}}}", 0);
    memset(scratch, 0x80, sizeof scratch);
    struct request request;
    struct err e;
    assert_int_equal(request_read(plan, (struct span){text, (size_t)len}, scratch, &request, &e),
                     ERR_OK);
    assert_int_equal(request.unknown_actions, 1);
    assert_int_equal(request.unknown_names[0].len, 64);
}

/* A request is read into the memory of the one before it. */
static void test_nothing_is_left_of_the_request_before(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "{}",
        "{'request_id':'r','posteriors':{}}",
        "{'variant':'bayes','posteriors':{'none':{'alpha':1,'beta':2},'pod_1':{'alpha':2,'beta':1},"
        "'pod_2':7,'x':1},'session':{'elapsed_s':1830,'tier':'free','tracks_played':-1},'explain':"
        "true}",
        "{'variant':'bayes','posteriors':{'pod_1':{'alpha':2,'beta':1}}}",
        "{'variant':'bayes','posteriors':{'none':{'alpha':1,'beta':2}}}",
        "{'unit_id':'u-6','last':{'seconds_ago':1,'cooldown_s':-9},'time':'2026-11-30T08:00:00Z'}",
        "{'variant':'nosuch','segment_id':'core','posteriors':3,'tmax_ms':5}",
    };
    enum { BODIES = sizeof bodies / sizeof *bodies };
    static char first[REPLY_EXPLAIN_BYTES_MAX], second[REPLY_EXPLAIN_BYTES_MAX];
    for (int i = 0; i < BODIES; i++)
        for (int before = -1; before < BODIES; before++) {
            struct run run, other;
            run_decide(&run, plan, bodies[i]);
            struct buf a = buf_of(first, sizeof first), b = buf_of(second, sizeof second);
            run.request.explain = true;
            reply_write(&a, plan, &run.request, &run.decision, run.now_us);

            static struct request dirty;
            memset(&dirty, 0x5a, sizeof dirty);
            struct err e;
            struct span body = {run.body, strlen(bodies[i])};
            if (before >= 0) {
                assert_int_equal(run_read(&other, plan, bodies[before]), ERR_OK);
                dirty = other.request;
            }
            assert_int_equal(request_read(plan, body, run.scratch, &dirty, &e), ERR_OK);
            assert_int_equal(dirty.time_us, run.request.time_us);
            assert_int_equal(dirty.as_of_us, run.request.as_of_us);
            dirty.explain = true;
            struct decision decision;
            decide(plan, &dirty, run.now_us, NULL, &decision);
            reply_write(&b, plan, &dirty, &decision, run.now_us);
            if (a.len != b.len || memcmp(first, second, a.len))
                fail_msg("%s after %d:\n%.*s\n%.*s", bodies[i], before, (int)a.len, first,
                         (int)b.len, second);
            if (before >= 0) run_done(&other);
            run_done(&run);
        }
}

/* A body that is cut anywhere is refused, whatever was read before. */
static void test_every_cut_is_refused(void **state)
{
    (void)state;
    static const char whole[] =
        "{\"request_id\":\"r-\\u00e9\",\"variant\":\"bayes\",\"time\":\"2026-11-30T08:00:00Z\","
        "\"session\":{\"elapsed_s\":1830.5,\"tier\":\"free\",\"car\":true,\"x\":[{}]},"
        "\"last\":{\"seconds_ago\":1},\"explain\":true,\"tmax_ms\":1,"
        "\"posteriors\":{\"none\":{\"alpha\":20,\"beta\":80},\"pod_9\":{\"a\":null}}}";
    for (size_t len = 0; len < sizeof whole - 1; len++) {
        struct run run;
        enum err_code code = run_read_span(&run, plan, (struct span){whole, len});
        if (code != ERR_JSON_SYNTAX) fail_msg("%.*s: %s", (int)len, whole, err_name(code));
        run_done(&run);
    }
    struct run run;
    assert_int_equal(run_read_span(&run, plan, SPAN(whole)), ERR_OK);
    run_done(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_offsets_stand_at_the_fault),
        cmocka_unit_test(test_ids_have_longest_lengths),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_a_long_body_is_read),
        cmocka_unit_test(test_an_empty_request),
        cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_segments_and_variants),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_unknown_actions_are_kept_by_name),
        cmocka_unit_test(test_unknown_names_that_were_cut_are_noted),
        cmocka_unit_test(test_a_name_of_the_longest_length_is_whole),
        cmocka_unit_test(test_nothing_is_left_of_the_request_before),
        cmocka_unit_test(test_every_cut_is_refused),
    };
    plan = fixture_finish(fixture_plan());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
