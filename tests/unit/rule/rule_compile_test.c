#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "session.h"

static struct arena scratch; /* of rule_compile */

#define OUTSIDE " not part of Interlude's conditions"
#define NOT_YET " is not supported yet"
#define NO_PATTERNS "there are no patterns: compare whole values with `==` or `in`"
#define A_LIST "a list is written in `[]`, as in `tier in ['a', 'b']`"
#define ON_ITS_RIGHT " on its right, as in `x in [1, 2]`"

static const struct {
    const char *condition;
    size_t offset;
    const char *text;
} bad[] = {
    {"", 0, "expected a condition, found the end"},
    {"  ", 2, "expected a condition, found the end"},
    {"vip &&", 6, "expected a value, found the end"},
    {"vip && && car", 7, "expected a value, found `&&`"},
    {"vip car", 4, "expected an operator or the end, found `car`"},
    {"vip and car", 4, "expected an operator (and is written `&&`), found `and`"},
    {"vip or car", 4, "expected an operator (or is written `||`), found `or`"},
    {"vip AND car", 4, "expected an operator (and is written `&&`), found `AND`"},
    {"(vip Or car)", 5, "expected an operator (or is written `||`), found `Or`"},
    {"tier in ['a' or 'b']", 13, "expected an operator (or is written `||`), found `or`"},
    {"has(tier and car)", 9, "expected an operator (and is written `&&`), found `and`"},
    {"vip xor car", 4, "expected an operator (xor is written `!=`), found `xor`"},
    {"tier not in ['a']", 5,
     "expected an operator (`x not in [...]` is written `!(x in [...])`), found `not`"},
    {"tier IN ['a']", 5, "expected an operator (in is written in small letters), found `IN`"},
    {"car is null", 4,
     "expected an operator (`x is null` is written `!has(x)`, `x is y` as `x == y`), found `is`"},
    {"level BETWEEN 1 AND 5", 6,
     "expected an operator (`x between 1 and 5` is written `x >= 1 && x <= 5`), found `BETWEEN`"},
    {"tier like 'a%'", 5, "expected an operator (" NO_PATTERNS "), found `like`"},
    {"tier matches 'a'", 5, "expected an operator (" NO_PATTERNS "), found `matches`"},
    {"level eq 1", 6, "expected an operator (eq is written `==`), found `eq`"},
    {"level gte 1", 6, "expected an operator (gte is written `>=`), found `gte`"},
    {"not vip", 0, "`not` is written `!`, as in `!car` or `!(x == 1)`"},
    {"vip && NOT car", 7, "`NOT` is written `!`, as in `!car` or `!(x == 1)`"},
    {"not (vip)", 0, "`not` is written `!`, as in `!car` or `!(x == 1)`"},
    {"not true", 0, "`not` is written `!`, as in `!car` or `!(x == 1)`"},
    {"not !vip", 0, "`not` is written `!`, as in `!car` or `!(x == 1)`"},
    {"not", 0, "unknown attribute `not` (a string is written in quotes)"},
    {"not == 1", 0, "unknown attribute `not` (a string is written in quotes)"},
    {"(vip", 4, "expected an operator or `)`, found the end"},
    {"(vip car", 5, "expected an operator or `)`, found `car`"},
    /* What is long is told in part: names by 40 bytes, calls by 64. */
    {"vip aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 4,
     "expected an operator or the end, found `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`"},
    {"vip aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaax", 4,
     "expected an operator or the end, found `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`"},
    {"level == 1234567890123456789012345678901234567890", 9,
     "`1234567890123456789012345678901234567890` is out of an int's range, which is 64 bits"},
    {"level == 12345678901234567890123456789012345678901", 9,
     "`1234567890123456789012345678901234567890` is out of an int's range, which is 64 bits"},
    {"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb(1)", 0,
     "`bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb()` is not part of "
     "Interlude's conditions"},
    {"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbz(1)", 0,
     "`bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb()` is not part of "
     "Interlude's conditions"},
    {"vip)", 3, "expected an operator or the end, found `)`"},
    {"()", 1, "expected a value, found `)`"},
    {"vip && (car ||)", 14, "expected a value, found `)`"},
    {"!", 1, "expected a value, found the end"},
    {"level.x = 1", 8, "`=` is not an operator; did you mean `==`?"},
    {"= 1", 0, "`=` is not an operator; did you mean `==`?"},
    {"level = 1", 6, "`=` is not an operator; did you mean `==`?"},
    {"vip & car", 4, "`&` is not an operator; did you mean `&&`?"},
    {"vip | car", 4, "`|` is not an operator; did you mean `||`?"},
    {"level <> 1", 6, "`<>` is not an operator; did you mean `!=`?"},
    {"level === 1", 6, "`===` is not an operator; did you mean `==`?"},
    {"level !== 1", 6, "`!==` is not an operator; did you mean `!=`?"},
    {"level => 1", 6, "`=>` is not an operator; did you mean `>=`?"},
    {"level =< 1", 6, "`=<` is not an operator; did you mean `<=`?"},
    {"tier =~ 'a'", 5, NO_PATTERNS},
    {"tier !~ 'a'", 5, NO_PATTERNS},
    {"level \xe2\x89\xa5 1", 6, "this sign is written `>=`"},
    {"level \xe2\x89\xa4 1", 6, "this sign is written `<=`"},
    {"level \xe2\x89\xa0 1", 6, "this sign is written `!=`"},
    {"tier == \xe2\x80\x98"
     "a\xe2\x80\x99",
     8, "a curly quote: a string stands in straight ones, ' or \""},
    {"tier == \xe2\x80\x9c"
     "a\xe2\x80\x9d",
     8, "a curly quote: a string stands in straight ones, ' or \""},
    {"vip\xc2\xa0&& car", 3, "a space that is not the plain one, U+0020"},
    {"vip ; car", 4, "`;` has no meaning here"},
    {"vip # car", 4, "`#` has no meaning here"},
    {"vip @", 4, "`@` has no meaning here"},
    {"\xff", 0, "the byte 0xff has no meaning outside a string"},
    {"'\xff'", 1, "the string is not valid UTF-8"},
    {"'\xf4\x90\x80\x80'", 1, "the string is not valid UTF-8"},
    {"'\xed\xa0\x80'", 1, "the string is not valid UTF-8"},
    {"'\xc1\xbf'", 1, "the string is not valid UTF-8"},
    {"'\xe0\x9f\xbf'", 1, "the string is not valid UTF-8"},
    {"'\xf0\x8f\xbf\xbf'", 1, "the string is not valid UTF-8"},
    {"'abc", 0, "a string begins here and does not end"},
    {"'ab\nc'", 0, "a string begins here and does not end on its line"},
    {"'''abc'", 0, "a string begins here and does not end"},
    {"\"abc'", 0, "a string begins here and does not end"},
    {"'\\q'", 1, "`\\q` is not an escape; a backslash is written `\\\\`"},
    {"'\\", 1, "an escape must follow the `\\`"},
    {"'\\x1'", 1,
     "`\\x` is no character here: expected \\xHH, \\uHHHH, \\UHHHHHHHH or \\OOO of a Unicode "
     "character"},
    {"'\\U00110000'", 1,
     "`\\U` is no character here: expected \\xHH, \\uHHHH, \\UHHHHHHHH or \\OOO of a Unicode "
     "character"},
    {"'\\uD800'", 1,
     "`\\u` is no character here: expected \\xHH, \\uHHHH, \\UHHHHHHHH or \\OOO of a Unicode "
     "character"},
    {"'\\uD800\\u0041'", 1,
     "`\\u` is no character here: expected \\xHH, \\uHHHH, \\UHHHHHHHH or \\OOO of a Unicode "
     "character"},
    {"'\\uDC00'", 1,
     "`\\u` is no character here: expected \\xHH, \\uHHHH, \\UHHHHHHHH or \\OOO of a Unicode "
     "character"},
    {"'\\U00110000'", 1,
     "`\\U` is no character here: expected \\xHH, \\uHHHH, \\UHHHHHHHH or \\OOO of a Unicode "
     "character"},
    {"'\\400'", 1, "`\\4` is not an escape; a backslash is written `\\\\`"},
    {"'\\38'", 1,
     "`\\3` is no character here: expected \\xHH, \\uHHHH, \\UHHHHHHHH or \\OOO of a Unicode "
     "character"},
    {"tier == 'a' 'b'", 12, "expected an operator or the end, found a string"},
    {"1.", 1, "a digit must follow the point of a number"},
    {"level == 1.", 10, "a digit must follow the point of a number"},
    {"level == 1.x", 10, "a digit must follow the point of a number"},
    {"level == 0x", 9, "a hexadecimal digit must follow `0x`"},
    {"level == 0xg", 9, "a hexadecimal digit must follow `0x`"},
    {"level == 12ab", 11, "`a` can't follow the number `12`"},
    {"level == 1e", 10, "a digit must follow the exponent's `e`"},
    {"level == 1e+", 10, "a digit must follow the exponent's `e`"},
    {"level == 1e999 ", 9, "`1e999` is out of a double's range"},
    {"score > 1e400", 8, "`1e400` is out of a double's range"},
    {"score > -1e400", 9, "`1e400` is out of a double's range"},
    {"level == 9223372036854775808", 9,
     "`9223372036854775808` is out of an int's range, which is 64 bits"},
    {"level == -9223372036854775809", 10,
     "`9223372036854775809` is out of an int's range, which is 64 bits"},
    {"level == 99999999999999999999999999", 9,
     "`99999999999999999999999999` is out of an int's range, which is 64 bits"},
    {"level == 0x8000000000000000", 9,
     "`0x8000000000000000` is out of an int's range, which is 64 bits"},
    {"level == -0x8000000000000001", 10,
     "`0x8000000000000001` is out of an int's range, which is 64 bits"},
    {"--9223372036854775808 == 1", 2,
     "`9223372036854775808` is out of an int's range, which is 64 bits"},
    {"level == 1u", 9, "a uint like `1u` is" OUTSIDE},
    {"level == 0x1fU", 9, "a uint like `0x1fU` is" OUTSIDE},
    {"tier == b'a'", 8, "bytes like b'...' are" OUTSIDE},
    {"tier == rb\"a\"", 8, "bytes like b'...' are" OUTSIDE},
    {"tier == null", 8,
     "there is no `null` here: that `tier` was not sent is written `!has(tier)`"},
    {"session.tier != NULL", 16,
     "there is no `NULL` here: that `tier` was sent is written `has(tier)`"},
    {"None == car", 0, "there is no `None` here: that `car` was not sent is written `!has(car)`"},
    {"tires == null", 9,
     "there is no `null` here: that `tires` was not sent is written `!has(tires)`"},
    {"tier < null", 7, "there is no `null` here: `!has(x)` holds where `x` was not sent"},
    {"tier in [null]", 9, "there is no `null` here: `!has(x)` holds where `x` was not sent"},
    {"nil", 0, "there is no `nil` here: `!has(x)` holds where `x` was not sent"},
    {"undefined == 1", 0, "there is no `undefined` here: `!has(x)` holds where `x` was not sent"},
    {"null.x", 0, "`null` has no fields; an attribute is read as `x` or `session.x`"},
    {"null()", 0, "`null()` is" OUTSIDE},
    {"{'a': 1}", 0, "a map in `{}` is" OUTSIDE},
    {"vip{a: 1}", 3, "a message in `{}` is" OUTSIDE},
    {"tier[0] == 'a'", 4, "an index in `[]` is" OUTSIDE},
    {".tier == 'a'", 0, "a name that begins with a point is" OUTSIDE},
    {"for", 0, "expected a value (the word is reserved in CEL), found `for`"},
    {"vip.x", 0, "`vip` has no fields; an attribute is read as `x` or `session.x`"},
    {"session.tier.x", 12, "a field such as `.x` here is" OUTSIDE},
    {"(vip && car).x", 12, "a field such as `.x` here is" OUTSIDE},
    {"vip.true", 4, "expected a name after the point, found `true`"},
    {"vip.", 4, "expected a name after the point, found the end"},
    {"session.", 8, "expected a name after the point, found the end"},
    {"session", 0, "`session` is no value; read an attribute of it, as in `session.elapsed_s`"},
    {"session.session", 8, "unknown attribute `session` (a string is written in quotes)"},
    {"sesion.tier == 'a'", 0, "unknown name `sesion`; did you mean `session`?"},
    {"params", 0, "`params`" NOT_YET},
    {"params.limit > 3", 0, "`params`" NOT_YET},
    {"params.limit.x", 12, "a field such as `.x` here is" OUTSIDE},
    {"elapsed > 3", 0, "unknown attribute `elapsed`; did you mean `elapsed_s`?"},
    {"session.elapsed > 3", 8, "unknown attribute `elapsed`; did you mean `elapsed_s`?"},
    {"elapsed_s", 0, "`elapsed_s` is an int; a condition must be a bool"},
    {"1", 0, "`1` is an int; a condition must be a bool"},
    {"'a'", 0, "`'a'` is a string; a condition must be a bool"},
    {"1.5", 0, "`1.5` is a double; a condition must be a bool"},
    {"True", 0, "unknown attribute `True`; did you mean `true`?"},
    {"car == yes", 7, "unknown attribute `yes`; did you mean `true`?"},
    {"car == Off", 7, "unknown attribute `Off`; did you mean `false`?"},
    {"segment == 'core'", 0, "unknown attribute `segment`; did you mean `segment_id`?"},
    {"session.segment == 'core'", 8,
     "unknown attribute `segment`; did you mean `segment_id`, written bare?"},
    {"tracks > 3", 0, "unknown attribute `tracks`; did you mean `tracks_played`?"},
    {"breaks > 3", 0, "unknown attribute `breaks`; did you mean `breaks_in_session`?"},
    {"ads > 3", 0, "unknown attribute `ads` (a string is written in quotes)"}, /* two begin so */
    {"free", 0, "unknown attribute `free` (a string is written in quotes)"},
    {"tier == free", 8, "unknown attribute `free` (a string is written in quotes)"},
    {"hours > 3", 0, "unknown attribute `hours`; did you mean `hour`?"},
    {"session.hour > 3", 0, "`hour` is not in the session; write it bare"},
    {"session.hou > 3", 8, "unknown attribute `hou` (a string is written in quotes)"},
    {"session.segment_id == 'x'", 0, "`segment_id` is not in the session; write it bare"},
    {"zzzzzzzz", 0, "unknown attribute `zzzzzzzz` (a string is written in quotes)"},
    {"tier == 3", 0, "`tier` is a string; it can't be compared with an int"},
    {"3 == tier", 0, "`3` is an int; it can't be compared with a string"},
    {"tier < 1.5", 0, "`tier` is a string; it can't be compared with a double"},
    {"vip == 1", 0, "`vip` is a bool; it can't be compared with an int"},
    {"vip == 'true'", 0, "`vip` is a bool; it can't be compared with a string"},
    {"tier == vip", 0, "`tier` is a string; it can't be compared with a bool"},
    {"level > true", 0, "`level` is an int; it can't be compared with a bool"},
    {"(vip && car) == 3", 0, "`(vip && car)` is a bool; it can't be compared with an int"},
    {"level && vip", 0, "`level` is an int; `&&` needs bools on both sides"},
    {"vip && level", 7, "`level` is an int; `&&` needs bools on both sides"},
    {"vip || 'a'", 7, "`'a'` is a string; `||` needs bools on both sides"},
    {"!level", 0, "`level` is an int; `!` needs a bool"},
    {"!!tier", 0, "`tier` is a string; `!` needs a bool"},
    {"!'a'", 0, "`'a'` is a string; `!` needs a bool"},
    {"1 < level < 3", 0,
     "`1 < level` is a bool; it can't be compared with an int; join two comparisons with `&&`"},
    {"(1) < (level) < (3)", 0,
     "`(1) < (level)` is a bool; it can't be compared with an int; join two comparisons with `&&`"},
    {"level == level == level", 0,
     "`level == level` is a bool; it can't be compared with an int; join two comparisons with "
     "`&&`"},
    {"vip == car == tier in ['a']", 0,
     "`vip == car` is a bool; it can't be compared with a string; join two comparisons with `&&`"},
    {"(1 < level) < 3", 0, "`(1 < level)` is a bool; it can't be compared with an int"},
    {"level in 3", 9, "`3` is an int; `in` needs a list" ON_ITS_RIGHT},
    {"level in tier", 9, "`tier` is a string; `in` needs a list" ON_ITS_RIGHT},
    {"level in level", 9, "`level` is an int; `in` needs a list" ON_ITS_RIGHT},
    {"tier in ('a')", 8, "`('a')` is a string; `in` needs a list" ON_ITS_RIGHT},
    {"tier in ('a', 'b')", 8, A_LIST},
    {"vip && (level in (1, 2))", 17, A_LIST},
    {"level in {1, 2}", 9, A_LIST},
    {"tier in 'a', 'b'", 11, A_LIST},
    {"tier in [('a', 'b')]", 9, A_LIST},
    {"[1] == [1]", 0, "a list may stand only on the right of `in`"},
    {"[1]", 0, "a list may stand only on the right of `in`"},
    {"level == [1]", 9, "a list may stand only on the right of `in`"},
    {"tier in ['a', 3]", 14, "`3` is an int; it can't be equal to `tier`, which is a string"},
    {"tier in [3]", 9, "`3` is an int; it can't be equal to `tier`, which is a string"},
    {"level in ['a']", 10, "`'a'` is a string; it can't be equal to `level`, which is an int"},
    {"level in [1, true]", 13, "`true` is a bool; it can't be equal to `level`, which is an int"},
    {"vip in [1]", 8, "`1` is an int; it can't be equal to `vip`, which is a bool"},
    {"tier in [genre]", 9, "anything but a literal in a list" NOT_YET},
    {"tier in [fre]", 9, "unknown attribute `fre` (a string is written in quotes)"},
    {"level in [1 + 2]", 12, "`+`" NOT_YET},
    {"level in [[1]]", 10, "a list may stand only on the right of `in`"},
    {"tier in ['a'", 12, "expected `,` or `]`, found the end"},
    {"tier in ['a',", 13, "expected a value, found the end"},
    {"tier in ['a',,]", 13, "expected a value, found `,`"},
    {"has(tier,)", 9, "expected a value, found `)`"},
    {"tier in [,]", 9, "expected a value, found `,`"},
    {"tier in", 7, "expected a value, found the end"},
    {"in", 0, "expected a value, found `in`"},
    {"level + 1 > 2", 6, "`+`" NOT_YET},
    {"level - 1 > 2", 6, "`-`" NOT_YET},
    {"level -1 > 2", 6, "`-`" NOT_YET},
    {"level * 2 > 2", 6, "`*`" NOT_YET},
    {"level / 2 > 2", 6, "`/`" NOT_YET},
    {"level % 2 == 0", 6, "`%`" NOT_YET},
    {"level + tier > 2", 6, "`+`" NOT_YET},
    {"-level < 0", 0, "`-` before anything but a plain number" NOT_YET},
    {"-(5) < 0", 0, "`-` before anything but a plain number" NOT_YET},
    {"-true", 0, "`true` is a bool; `-` needs a number"},
    {"-'a' == 'b'", 0, "`'a'` is a string; `-` needs a number"},
    {"!-level", 1, "expected a value, found `-`"},
    {"vip ? car : true", 4, "`?:`" NOT_YET},
    {"vip ? car", 9, "expected `:` and the other value of `?:`, found the end"},
    {"vip ? car : ", 12, "expected a value, found the end"},
    {"elapsd + 1 > 2", 0, "unknown attribute `elapsd` (a string is written in quotes)"},
    {"size(tier) > 3", 0, "`size()`" NOT_YET},
    {"tier.size() > 3", 5, "`size()`" NOT_YET},
    {"tier.startsWith('a')", 5, "`startsWith()`" NOT_YET},
    {"tier.endsWith('a')", 5, "`endsWith()`" NOT_YET},
    {"tier.contains('a')", 5, "`contains()`" NOT_YET},
    {"session.tier.startsWith('a')", 13, "`startsWith()`" NOT_YET},
    {"startsWith(tier, 'a')", 0, "`startsWith()`" NOT_YET},
    {"tier.startWith('a')", 5, "unknown function `startWith()`; did you mean `startsWith()`?"},
    {"siz(tier) > 2", 0, "`siz()` is" OUTSIDE},
    {"hass(tier)", 0, "unknown function `hass()`; did you mean `has()`?"},
    {"max(level, 2)", 0, "`max()` is" OUTSIDE},
    {"int(score) > 2", 0, "`int()` is" OUTSIDE},
    {"tier.matches('a')", 5, "`matches()` is" OUTSIDE},
    {"timestamp('x') > 1", 0, "`timestamp()` is" OUTSIDE},
    {"[1, 2].all(x, x > 0)", 7, "`all()` is" OUTSIDE},
    {"[1,2].exists(x, x > 0)", 6, "`exists()` is" OUTSIDE},
    {"type(level)", 0, "`type()` is" OUTSIDE},
    {"has(1)", 4, "has() takes one attribute, as in has(tier)"},
    {"has()", 0, "has() takes one attribute, as in has(tier)"},
    {"has(tier, vip)", 4, "has() takes one attribute, as in has(tier)"},
    {"has(tier", 8, "expected `,` or `)`, found the end"},
    {"has(has(tier))", 4, "has() takes one attribute, as in has(tier)"},
    {"has(tiers)", 4, "unknown attribute `tiers`; did you mean `tier`?"},
    {"has(session.tiers)", 12, "unknown attribute `tiers`; did you mean `tier`?"},
    /* Of `last`, not the session: no condition reads it. */
    {"last > 3", 0, "unknown attribute `last` (a string is written in quotes)"},
    {"last.cooldown_s > 3", 0, "`last` has no fields; an attribute is read as `x` or `session.x`"},
    {"has(session.last)", 12, "unknown attribute `last` (a string is written in quotes)"},
    {"has(session)", 4,
     "`session` is no value; read an attribute of it, as in `session.elapsed_s`"},
    {"has(params.x)", 4, "`params`" NOT_YET},
    {"has(session.hour)", 4, "`hour` is not in the session; write it bare"},
    {"has tier", 0, "has() takes one attribute, as in has(tier)"},
    {"has", 0, "has() takes one attribute, as in has(tier)"},
    {"exists(tier)", 0, "unknown function `exists()`; did you mean `has()`?"},
    {"len(tier) > 2", 0, "unknown function `len()`; did you mean `size()`?"},
    {"tier.has()", 5, "`has()` is" OUTSIDE},
    {"session.vip(", 12, "expected a value, found the end"},
    {"elapsed_s >= 1200 && tracks_plaid >= 6", 21,
     "unknown attribute `tracks_plaid`; did you mean `tracks_played`?"},
    {"`tier`", 0, "a backquote has no meaning here"},
};

static void test_bad_conditions(void **state)
{
    (void)state;
    struct attribute_schema schema;
    session_schema(&schema);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct arena arena;
        arena_init(&arena, NULL);
        const struct rule *const untouched = (const struct rule *)&arena, *rule = untouched;
        struct err e = {0};
        if (!rule_compile(&arena, &scratch, &schema, span_of(bad[i].condition), &rule, &e))
            fail_msg("%s: compiled", bad[i].condition);
        if (e.code != ERR_RULE || e.offset != bad[i].offset || strcmp(e.text, bad[i].text))
            fail_msg("%s: got %zu: %s\nexpected %zu: %s", bad[i].condition, e.offset, e.text,
                     bad[i].offset, bad[i].text);
        assert_ptr_equal(rule, untouched);
        arena_done(&arena);
    }
}

static const struct {
    const char *condition, *reads, *needs;
} reading[] = {
    {"true", "", ""},
    {"tier == 'x'", "tier", "tier"},
    {"session.tier == 'x'", "tier", "tier"},
    {"level < tracks_played", "level tracks_played", "level tracks_played"},
    {"tier in ['x']", "tier", "tier"},
    {"vip", "vip", "vip"},
    {"!vip", "vip", "vip"},
    {"hour > 3 || segment_id == 'new'", "hour segment_id", "hour segment_id"},
    {"tracks_played >= 6 && elapsed_s >= 1200", "tracks_played elapsed_s",
     "tracks_played elapsed_s"},

    /* has() asks, and needs nothing */
    {"has(tier)", "tier", ""},
    {"!has(tier)", "tier", ""},
    {"has(tier) == true", "tier", ""},

    /* guards of && */
    {"has(tier) && tier == 'x'", "tier", ""},
    {"tier == 'x' && has(tier)", "tier", ""},
    {"has(session.tier) && tier == 'x'", "tier", ""},
    {"has(tier) && vip && tier == 'x'", "tier vip", "vip"},
    {"has(tier) && has(vip) && (tier == 'x' || vip)", "tier vip", ""},
    {"has(tier) && !(tier == 'x')", "tier", ""},
    {"has(tier) && (tier == 'x') == vip", "tier vip", "vip"},
    {"!!has(tier) && tier == 'x'", "tier", ""},
    {"!(!has(tier) || vip) && tier == 'x'", "tier vip", "vip"},
    {"(has(tier) && has(vip)) && vip", "tier vip", ""},
    {"(has(tier) || has(vip)) && vip", "tier vip", "vip"},
    {"(has(tier) && vip || has(tier) && car) && tier == 'x'", "tier vip car", "vip car"},
    {"(has(tier) == true) && tier == 'x'", "tier", "tier"}, /* not seen through */
    {"!has(tier) && tier == 'x'", "tier", "tier"},
    {"has(vip) && tier == 'x'", "tier vip", "tier"},

    /* guards of || */
    {"!has(tier) || tier == 'x'", "tier", ""},
    {"tier == 'x' || !has(tier)", "tier", ""},
    {"!has(tier) || vip || tier == 'x'", "tier vip", "vip"},
    {"!(has(tier) && has(vip)) || vip", "tier vip", ""},
    {"!(has(tier) || has(vip)) || vip", "tier vip", "vip"},
    {"has(tier) || tier == 'x'", "tier", "tier"},
    {"(!has(tier) && vip) || tier == 'x'", "tier vip", "tier vip"},
    {"(!has(tier) && !has(tier)) || tier == 'x'", "tier", ""},

    /* a guard holds where it stands */
    {"(has(tier) && tier == 'x') || tier == 'y'", "tier", "tier"},
    {"has(tier) && tier == 'x' || vip", "tier vip", "vip"},
    {"(has(tier) && vip) == (tier == 'x')", "tier vip", "tier vip"},

    /* absent, it reads as false */
    {"child_directed", "child_directed", ""},
    {"child_directed == vip", "child_directed vip", "vip"},
    {"has(child_directed)", "child_directed", ""},
};

static void test_reads_and_needs(void **state)
{
    (void)state;
    struct attribute_schema schema;
    session_schema(&schema);
    for (size_t i = 0; i < sizeof reading / sizeof *reading; i++) {
        struct arena arena;
        arena_init(&arena, NULL);
        const struct rule *rule;
        struct err e = {0};
        if (rule_compile(&arena, &scratch, &schema, span_of(reading[i].condition), &rule, &e))
            fail_msg("%s: %s", reading[i].condition, e.text);
        uint64_t reads = session_slots(&schema, reading[i].reads);
        uint64_t needs = session_slots(&schema, reading[i].needs);
        if (rule_reads(rule) != reads || rule_needs(rule) != needs)
            fail_msg("%s: reads %#llx, not %#llx; needs %#llx, not %#llx", reading[i].condition,
                     (unsigned long long)rule_reads(rule), (unsigned long long)reads,
                     (unsigned long long)rule_needs(rule), (unsigned long long)needs);
        arena_done(&arena);
    }
}

/* ---- limits ---- */

#define DEEP "nested more than 32 deep"
#define STEPS "the condition takes more than 512 steps (comparisons, operators and list items)"
#define LONG "the condition is longer than 4096 bytes"

static const struct {
    const char *prefix, *before, *middle, *after;
    int most; /* repetitions of before and after that are accepted */
    enum rule_result expected;
    size_t offset; /* of the error with one more */
    const char *text;
} limits[] = {
    {"", "(", "vip", ")", 32, RULE_TRUE, 33, DEEP},
    {"", "!(", "vip", ")", 32, RULE_TRUE, 66, DEEP},
    /* every register that a level can hold */
    {"", "false || true && true == (", "vip", ")", 32, RULE_TRUE, 858, DEEP},
    {"", "false || true && (", "true == vip", ") == true", 32, RULE_TRUE, 594, DEEP},
    {"", "!", "vip", "", 4093, RULE_FALSE, 4096, LONG},
    {"", " ", "vip", "", 4093, RULE_TRUE, 4096, LONG},
    {"'", "a", "' != ''", "", 4088, RULE_TRUE, 4096, LONG},
    {"", "vip && ", "vip", "", 254, RULE_TRUE, 0, STEPS},
    {"", "!vip || ", "vip", "", 169, RULE_TRUE, 0, STEPS},
    {"", "level == 7 && ", "vip", "", 254, RULE_TRUE, 0, STEPS},
    {"level in [", "1,", "7]", "", 508, RULE_TRUE, 0, STEPS},
    {"level in [", "1,", "7]", " && vip", 169, RULE_TRUE, 1539, STEPS},
    {"", "", "vip", " == vip", 33, RULE_TRUE, 235, "more than 32 comparisons of comparisons"},
    /* items that can't be equal cost nothing */
    {"level in [", "1.5,", "7]", "", 1021, RULE_TRUE, 4096, LONG},
};

static void repeat(char *out, size_t i, int n)
{
    char *at = stpcpy(out, limits[i].prefix);
    for (int k = 0; k < n; k++) at = stpcpy(at, limits[i].before);
    at = stpcpy(at, limits[i].middle);
    for (int k = 0; k < n; k++) at = stpcpy(at, limits[i].after);
}

static enum err_code run(const char *text, enum rule_result *result, struct err *e)
{
    struct attribute_schema schema;
    session_schema(&schema);
    struct attributes values;
    session_values(&schema, "vip=true level=7", &values);
    struct arena arena;
    arena_init(&arena, NULL);
    const struct rule *rule;
    enum err_code code = rule_compile(&arena, &scratch, &schema, span_of(text), &rule, e);
    if (code == ERR_OK) *result = rule_eval(rule, &values);
    arena_done(&arena);
    return code;
}

static void test_limits(void **state)
{
    (void)state;
    char text[8192];
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        enum rule_result result;
        struct err e = {0};
        repeat(text, i, limits[i].most);
        if (run(text, &result, &e)) fail_msg("row %zu: %zu: %s", i, e.offset, e.text);
        if (result != limits[i].expected) fail_msg("row %zu: got %d", i, result);
        repeat(text, i, limits[i].most + 1);
        if (!run(text, &result, &e)) fail_msg("row %zu: one more was accepted", i);
        if (e.code != ERR_RULE || e.offset != limits[i].offset || strcmp(e.text, limits[i].text))
            fail_msg("row %zu: got %zu: %s", i, e.offset, e.text);
    }
}

/* The fault is told where the limit was reached, not at the end. */
static void test_steps_are_told_where_they_run_out(void **state)
{
    (void)state;
    char text[8192], *at = text;
    for (int i = 0; i < 400; i++) at = stpcpy(at, "vip && ");
    stpcpy(at, "vip");
    enum rule_result result;
    struct err e;
    assert_int_equal(run(text, &result, &e), ERR_RULE);
    assert_string_equal(e.text, STEPS);
    assert_int_equal(e.offset, 256 * strlen("vip && "));
}

static void test_selections_in_a_row(void **state)
{
    (void)state;
    char text[1024], *at = stpcpy(text, "tier");
    for (int i = 0; i < 32; i++) at = stpcpy(at, ".size()");
    enum rule_result result;
    struct err e;
    assert_int_equal(run(text, &result, &e), ERR_RULE);
    assert_string_equal(e.text, "`size()` is not supported yet");
    stpcpy(at, ".size()");
    assert_int_equal(run(text, &result, &e), ERR_RULE);
    assert_string_equal(e.text, "more than 32 selections in a row");
    assert_int_equal(e.offset, at - text);
}

/* Names as long as the text allows neither overflow a message nor lose its end. */
static void test_long_names(void **state)
{
    (void)state;
    static const char *const shapes[] = {"%s",      "session.%s", "%s.x",      "%s()",
                                         "tier.%s", "vip %s",     "tier.%s()", "has(%s)"};
    char name[3001];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char text[4096];
        struct buf b = buf_of(text, sizeof text);
        buf_format(&b, shapes[i], name);
        buf_char(&b, '\0');
        enum rule_result result;
        struct err e;
        assert_int_equal(run(text, &result, &e), ERR_RULE);
        assert_true(strlen(e.text) < 160);
    }
}

static void test_a_nul_is_no_end(void **state)
{
    (void)state;
    struct attribute_schema schema;
    session_schema(&schema);
    struct arena arena;
    arena_init(&arena, NULL);
    const struct rule *rule;
    struct err e;
    assert_int_equal(rule_compile(&arena, &scratch, &schema, (struct span){"vip\0", 4}, &rule, &e),
                     ERR_RULE);
    assert_int_equal(e.offset, 3);
    assert_string_equal(e.text, "the byte 0x00 has no meaning outside a string");
    arena_done(&arena);
}

/* Declared attributes of the same names as the words of paths win where they stand alone. */
static void test_declared_session(void **state)
{
    (void)state;
    struct attribute_schema schema;
    session_schema(&schema);
    schema.attributes[schema.count++] =
        (struct attribute){SPAN("session"), ATTRIBUTE_BOOL, ATTRIBUTE_DECLARED};
    struct attributes values;
    session_values(&schema, "session=true vip=true", &values);
    struct arena arena;
    arena_init(&arena, NULL);
    const struct rule *rule;
    struct span text = SPAN("session && session.session && session.vip");
    assert_int_equal(rule_compile(&arena, &scratch, &schema, text, &rule, NULL), ERR_OK);
    assert_int_equal(rule_eval(rule, &values), RULE_TRUE);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_conditions),
        cmocka_unit_test(test_reads_and_needs),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_steps_are_told_where_they_run_out),
        cmocka_unit_test(test_selections_in_a_row),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_a_nul_is_no_end),
        cmocka_unit_test(test_declared_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
