#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "session.h"

static struct arena scratch; /* of rule_compile */

#define F RULE_FALSE
#define T RULE_TRUE
#define E RULE_ERROR

#define DEMO "tracks_played >= 6 && elapsed_s >= 1200"

static const struct {
    const char *condition, *session;
    enum rule_result expected;
} cases[] = {
    /* the demonstration plan's */
    {DEMO, "tracks_played=6 elapsed_s=1200", T},
    {DEMO, "tracks_played=5 elapsed_s=1200", F},
    {DEMO, "tracks_played=6 elapsed_s=1199", F},
    {DEMO, "tracks_played=5", F},
    {DEMO, "elapsed_s=1199", F},
    {DEMO, "tracks_played=6", E},
    {DEMO, "", E},
    {"has(tier) && tier == 'premium'", "tier=premium", T},
    {"has(tier) && tier == 'premium'", "tier=free", F},
    {"has(tier) && tier == 'premium'", "", F},

    /* literals */
    {"true", "", T},
    {"false", "", F},
    {"1 == 1", "", T},
    {"007 == 7", "", T},
    {"0x1F == 31", "", T},
    {"-0x1f == -31", "", T},
    {"- 5 == -5", "", T},
    {"--5 == 5", "", T},
    {"---5 < 0", "", T},
    {"9223372036854775807 > -9223372036854775808", "", T},
    {"0x7fffffffffffffff == 9223372036854775807", "", T},
    {"1.5 == 15e-1", "", T},
    {".5 == 0.5", "", T},
    {"-.5 < 0.0", "", T},
    {"00.25 == .25", "", T},
    {"1e3 == 1000", "", T},
    {"1E+3 == 1000.0", "", T},
    {"-0.0 == 0", "", T},
    {"'a' == \"a\"", "", T},
    {"1 == 1//x\n&&2 == 2", "", T},
    {"1 == 1//x\r&&2 == 2", "", T},
    {"//a\n//b\n1 == 1//", "", T},
    {"1 == 1 // && 1 == 2", "", T},
    {"\t\f\r\n1\f==\t1\f", "", T},
    {"'' == \"\"", "", T},
    {"'\\n\\t\\\\\\'' == \"\\x0a\\u0009\\134\\U00000027\"", "", T},
    {"'\\a\\b\\f\\r\\v\\?\\`\\\"' == '\\007\\010\\014\\015\\013\\077\\140\\042'", "", T},
    {"'\\xe9' == '\xc3\xa9'", "", T}, /* an escape is a code point, not a byte */
    {"'\\XFF' == '\\377'", "", T},
    {"'\\u20ac' == '\xe2\x82\xac'", "", T},
    /* the first and the last of each length */
    {"'\x7f' == '\\u007f'", "", T},
    {"'\xc2\x80' == '\\u0080'", "", T},
    {"'\xdf\xbf' == '\\u07ff'", "", T},
    {"'\xe0\xa0\x80' == '\\u0800'", "", T},
    {"'\xef\xbf\xbf' == '\\uffff'", "", T},
    {"'\xf0\x90\x80\x80' == '\\U00010000'", "", T},
    {"'\xf4\x8f\xbf\xbf' == '\\U0010ffff'", "", T},
    {"'\\uD83D\\uDE00' == '\\U0001F600'", "", T},
    {"'\\U0010ffff' == '\xf4\x8f\xbf\xbf'", "", T},
    {"r'\\n' == '\\\\n'", "", T},
    {"R\"\\\" == '\\\\'", "", T},
    {"'''a'b\n''' == 'a\\'b\\n'", "", T},
    {"r\"\"\"a\"\\\"\"\" == 'a\"\\\\'", "", T},
    {"\"\"\"\"\"\" == ''", "", T},
    {"'''a''b'c''' == \"a''b'c\"", "", T},
    {"'''a'''==\"\"\"a\"\"\"&&'a'=='a'", "", T},

    /* white space and comments */
    {"\t true\n&&\r\n\ftrue ", "", T},
    {"true // until here\n && false", "", F},
    {"true // || false", "", T},
    {"'// no comment' == '// no comment'", "", T},

    /* names */
    {"session.tier == 'free'", "tier=free", T},
    {"session . tier == 'free'", "tier=free", T},
    {"(session.vip)", "vip=true", T},
    {"segment_id == 'core' && variant != 'bayes'", "segment_id=core variant=control", T},
    {"hour >= 22 || hour < 6", "hour=23", T},
    {"weekday in [0, 6]", "weekday=6", T},
    {"weekday in [0, 6]", "weekday=5", F},
    {"session.genre == genre", "genre=jazz", T},

    /* relations of ints, at the edges */
    {"level < 3", "level=2", T},
    {"level < 3", "level=3", F},
    {"level <= 3", "level=3", T},
    {"level <= 3", "level=4", F},
    {"level > 3", "level=4", T},
    {"level > 3", "level=3", F},
    {"level >= 3", "level=3", T},
    {"level >= 3", "level=2", F},
    {"level == 3", "level=3", T},
    {"level == 3", "level=4", F},
    {"level != 3", "level=4", T},
    {"level != 3", "level=3", F},
    {"3 < level", "level=4", T},
    {"3 < level", "level=3", F},
    {"3 >= level", "level=3", T},
    {"3 >= level", "level=4", F},
    {"3 == level", "level=3", T},
    {"3 != level", "level=3", F},
    {"level < tracks_played", "level=-1 tracks_played=0", T},
    {"level < tracks_played", "level=0 tracks_played=0", F},
    {"level == -9223372036854775808", "level=-9223372036854775808", T},
    {"level < 3", "", E},
    {"3 < level", "", E},
    {"level == level", "", E},
    {"level == tracks_played", "level=1", E},
    {"level == tracks_played", "tracks_played=1", E},

    /* doubles, and ints against doubles: exact */
    {"score < 0.5", "score=0.25", T},
    {"score < 0.5", "score=0.5", F},
    {"score >= 1", "score=1", T},
    {"score == 0", "score=-0.0", T},
    {"1 > score", "score=0.5", T},
    {"level < 2.5", "level=2", T},
    {"level < 2.5", "level=3", F},
    {"level > -2.5", "level=-2", T},
    {"level > -2.5", "level=-3", F},
    {"level == 2.0", "level=2", T},
    {"level == 2.5", "level=2", F},
    {"level != 2.5", "level=2", T},
    {"2.5 > level", "level=2", T},
    {"2.5 > level", "level=3", F},
    {"level < 1e300", "level=9223372036854775807", T},
    {"level > -1e300", "level=-9223372036854775808", T},
    {"level < 9223372036854775808.0", "level=9223372036854775807", T},
    {"level == -9223372036854775808.0", "level=-9223372036854775808", T},
    {"level == 9007199254740992.0", "level=9007199254740993", F},
    {"level > 9007199254740992.0", "level=9007199254740993", T},
    {"score == 9007199254740993", "score=9007199254740992", F},
    {"score < 9007199254740993", "score=9007199254740992", T},
    {"score < 9223372036854775807", "score=9223372036854775808", F},
    {"level < score", "level=1 score=1.5", T},
    {"score < level", "level=1 score=1.5", F},
    {"score > level", "level=1 score=1.5", T},
    {"score == level", "level=2 score=2", T},
    {"score >= level", "level=2", E},
    {"score >= level", "score=2", E},
    {"1 == 1.0", "", T},
    {"1.5 > 1", "", T},

    /* strings: by code point */
    {"tier == 'free'", "tier=free", T},
    {"tier == 'free'", "tier=fre", F},
    {"tier == 'free'", "tier=frex", F},
    {"tier != 'free'", "tier=Free", T},
    {"tier == ''", "tier=", T},
    {"tier < 'b'", "tier=a", T},
    {"tier < 'b'", "tier=az", T},
    {"tier < 'b'", "tier=b", F},
    {"tier < 'ba'", "tier=b", T},
    {"tier >= 'b'", "tier=ba", T},
    {"'b' > tier", "tier=a", T},
    {"'' < tier", "tier=a", T},
    {"'\\uffff' < '\\U00010000'", "", T}, /* UTF-16 would say otherwise */
    {"'z' < '\\u00e9'", "", T},
    {"'a\\x00b' > 'a'", "", T},
    {"tier < genre", "tier=a genre=b", T},
    {"tier == genre", "tier=a genre=a", T},
    {"tier == 'free'", "", E},
    {"tier < 'free'", "", E},

    /* bools */
    {"vip", "vip=true", T},
    {"vip", "vip=false", F},
    {"vip", "", E},
    {"!vip", "vip=true", F},
    {"!vip", "", E},
    {"!!vip", "vip=true", T},
    {"!!!vip", "vip=true", F},
    {"false < true", "", T},
    {"true <= false", "", F},
    {"vip == true", "vip=true", T},
    {"vip != car", "vip=true car=false", T},
    {"vip < car", "vip=false car=true", T},
    {"vip == car", "vip=true", E},
    {"vip == car", "car=true", E},
    {"!vip == false", "vip=true", T}, /* (!vip) == false */
    {"(level > 3) == vip", "level=4 vip=true", T},
    {"(level > 3) == vip", "vip=true", E},
    {"(level > 3) == (score > 0.5)", "level=1 score=0.1", T},
    {"(vip && car) == (vip || car)", "vip=true car=true", T},
    {"(vip && car) == (vip || car)", "vip=true car=false", F},
    {"(vip && car) == false", "vip=false", T},
    {"(vip && car) == (level == 1 || level == 2)", "vip=true car=true level=2", T},
    {"(vip && car) == (level == 1 || level == 2)", "vip=true car=true", E},

    /* in */
    {"tier in ['free', 'basic']", "tier=free", T},
    {"tier in ['free', 'basic']", "tier=basic", T},
    {"tier in ['free', 'basic']", "tier=bas", F},
    {"tier in ['free', 'basic']", "", E},
    {"tier in ['free', 'basic',]", "tier=basic", T}, /* as CEL's grammar has it */
    {"tier in ['free' , ]", "tier=basic", F},
    {"level in [1,]", "level=1", T},
    /* left-associative: (a == b) == c */
    {"false == false == false", "", F},
    {"false == (false == false)", "", F},
    {"true == false == false", "", T},
    {"true == (false == true)", "", F},
    {"vip != car != true", "vip=false car=false", T},
    {"1 < level == true", "level=2", T},
    {"level in [1, 2] == vip", "level=2 vip=false", F},
    {"level == 1 == vip == car", "level=2 vip=false car=true", T},
    {"level == 1 == vip == car", "level=2 vip=false car=false", F},
    {"level == 1 == vip == car", "level=2 car=false", E},
    {"1 < 2 < true in [false,]", "", T},
    {"tier in []", "tier=free", F},
    {"tier in []", "", E},
    {"!(tier in ['free'])", "tier=basic", T},
    {"level in [1, -2, 0x10]", "level=-2", T},
    {"level in [1, -2, 0x10]", "level=16", T},
    {"level in [1, -2, 0x10]", "level=2", F},
    {"level in [1.5, 2.0, 1e300]", "level=2", T},
    {"level in [1.5, 2.0, 1e300]", "level=1", F},
    {"level in [1.5]", "level=1", F},
    {"level in [1.5]", "", E},
    {"score in [1, 2.5]", "score=1", T},
    {"score in [1, 2.5]", "score=2.5", T},
    {"score in [9007199254740993]", "score=9007199254740992", F},
    {"vip in [true]", "vip=true", T},
    {"vip in [true]", "vip=false", F},
    {"vip in [false, true]", "vip=false", T},
    {"(level > 3) in [true]", "level=4", T},
    {"(level > 3) in [true]", "", E},
    {"1 in [1, 2] && 'a' in ['b', 'a']", "", T},

    /* precedence */
    {"true || false && false", "", T},
    {"(true || false) && false", "", F},
    {"false && false || true", "", T},
    {"!false && false", "", F},
    {"!(false && false)", "", T},
    {"1 < 2 && 2 < 3 || false", "", T},
    {"((((true))))", "", T},

    /* errors, absorbed on either side or not */
    {"vip && false", "", F},
    {"false && vip", "", F},
    {"vip && true", "", E},
    {"true && vip", "", E},
    {"vip || true", "", T},
    {"true || vip", "", T},
    {"vip || false", "", E},
    {"false || vip", "", E},
    {"vip && car && false", "", F},
    {"vip && true && car", "car=true", E},
    {"true && vip && true", "", E},
    {"vip || car || true", "", T},
    {"vip || car || true", "car=false", T},
    {"false || vip || false", "", E},
    {"false && vip && car", "", F},
    {"true || vip || car", "", T},
    {"vip && car || true", "", T},
    {"(vip || car) && false", "", F},
    {"!(vip && false)", "", T},
    {"!(vip || true)", "", F},
    {"(vip && car) || (level > 1 && false)", "", E},
    {"(vip && car) || (level > 1 || true)", "", T},
    {"vip && (car && (background && false))", "", F},
    {"(vip && true) == true", "", E}, /* a relation absorbs nothing */
    {"tier == 'x' && has(tier)", "", F},
    {"tier != 'x' || !has(tier)", "", T},

    /* has() */
    {"has(tier)", "tier=free", T},
    {"has(tier)", "tier=", T},
    {"has(tier)", "", F},
    {"has(session.tier)", "tier=free", T},
    {"has(level)", "level=0", T},
    {"!has(level)", "", T},
    {"has(segment_id)", "", F},
    {"has(vip) == has(car)", "", T},

    /* invalid is not known, and not absent either */
    {"vip", "vip=?", E},
    /* What was sent and is no value of its type is not nothing. */
    {"has(vip)", "vip=?", E},
    {"!has(vip)", "vip=?", E},
    {"has(tier) && tier == 'premium'", "tier=?", E},
    {"!has(tier) || tier == 'premium'", "tier=?", E},
    {"has(tier) && car", "tier=? car=false", F},
    {"has(tier) || car", "tier=? car=true", T},
    {"has(tier) || car", "tier=? car=false", E},
    {"has(tier) == has(tier)", "tier=?", E},
    {"tier == 'free'", "tier=?", E},
    {"tier in ['free']", "tier=?", E},
    {"level < 3", "level=?", E},
    {"has(level) && level < 3", "level=?", E},

    /* child_directed reads as false where it is absent or invalid */
    {"child_directed", "", F},
    {"!child_directed", "", T},
    {"child_directed", "child_directed=true", T},
    {"child_directed", "child_directed=false", F},
    {"child_directed", "child_directed=?", F},
    {"session.child_directed == false", "", T},
    {"child_directed in [true]", "", F},
    {"child_directed == vip", "vip=false", T},
    {"has(child_directed)", "", F},
    {"has(child_directed)", "child_directed=false", T},
    {"has(child_directed)", "child_directed=?", E},
    {"child_directed", "child_directed=?", F},
};

static void test_cases(void **state)
{
    (void)state;
    static const char *const words[] = {"false", "true", "error"};
    struct attribute_schema schema;
    session_schema(&schema);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        arena_init(&arena, NULL);
        struct attributes values;
        session_values(&schema, cases[i].session, &values);
        const struct rule *rule;
        struct err e = {0};
        struct span text = span_of(cases[i].condition);
        if (rule_compile(&arena, &scratch, &schema, text, &rule, &e))
            fail_msg("%s: %zu: %s", cases[i].condition, e.offset, e.text);
        assert_true(span_equal(rule_text(rule), text));
        enum rule_result got = rule_eval(rule, &values);
        if (got != cases[i].expected)
            fail_msg("%s with %s: got %s, expected %s", cases[i].condition, cases[i].session,
                     words[got], words[cases[i].expected]);
        arena_done(&arena);
    }
}

/* The program keeps nothing of the text or the schema. */
static void test_text_and_schema_may_go(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, NULL);
    struct attribute_schema schema;
    session_schema(&schema);
    struct attributes values;
    session_values(&schema, "tier=free genre=jazz", &values);
    char text[] = "tier == 'free' && genre in ['pop', 'jazz'] && genre > tier";
    const struct rule *rule;
    assert_int_equal(rule_compile(&arena, &scratch, &schema, span_of(text), &rule, NULL), ERR_OK);
    memset(text, '#', sizeof text);
    memset(&schema, 0xff, sizeof schema);
    assert_int_equal(rule_eval(rule, &values), RULE_TRUE);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_text_and_schema_may_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
