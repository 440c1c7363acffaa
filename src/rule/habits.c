#include "rule/habits.h"

static bool same_letters(struct span word, const char *lower)
{
    size_t len = strlen(lower);
    if (word.len != len) return false;
    for (size_t i = 0; i < len; i++) {
        char c = word.data[i];
        if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
        if (c != lower[i]) return false;
    }
    return true;
}

#define NO_PATTERNS "there are no patterns: compare whole values with `==` or `in`"

const char *habit_operator(struct span word)
{
    static const struct {
        const char *word, *hint;
    } words[] = {
        {"and", "and is written `&&`"},
        {"or", "or is written `||`"},
        {"xor", "xor is written `!=`"},
        {"not", "`x not in [...]` is written `!(x in [...])`"},
        {"in", "in is written in small letters"},
        {"is", "`x is null` is written `!has(x)`, `x is y` as `x == y`"},
        {"isnt", "`x isnt y` is written `x != y`"},
        {"between", "`x between 1 and 5` is written `x >= 1 && x <= 5`"},
        {"like", NO_PATTERNS},
        {"ilike", NO_PATTERNS},
        {"rlike", NO_PATTERNS},
        {"regexp", NO_PATTERNS},
        {"matches", NO_PATTERNS},
        {"eq", "eq is written `==`"},
        {"equals", "equals is written `==`"},
        {"ne", "ne is written `!=`"},
        {"neq", "neq is written `!=`"},
        {"lt", "lt is written `<`"},
        {"le", "le is written `<=`"},
        {"lte", "lte is written `<=`"},
        {"gt", "gt is written `>`"},
        {"ge", "ge is written `>=`"},
        {"gte", "gte is written `>=`"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (same_letters(word, words[i].word)) return words[i].hint;
    return NULL;
}

bool habit_is_not(struct span word)
{
    return same_letters(word, "not");
}

bool habit_is_null(struct span name)
{
    return same_letters(name, "null") || same_letters(name, "none") || same_letters(name, "nil") ||
           same_letters(name, "undefined");
}

static bool is_any(struct span name, const char *const *words)
{
    for (; *words; words++)
        if (same_letters(name, *words)) return true;
    return false;
}

struct span habit_bool(struct span name)
{
    static const char *const yes[] = {"true", "yes", "on", NULL};
    static const char *const no[] = {"false", "no", "off", NULL};
    return is_any(name, yes) ? SPAN("true") : is_any(name, no) ? SPAN("false") : SPAN("");
}

struct span habit_function(struct span name)
{
    static const char *const asks[] = {"exists", "defined", "isset", "is_set", "present", NULL};
    static const char *const counts[] = {"len", "length", "strlen", NULL};
    return is_any(name, asks) ? SPAN("has") : is_any(name, counts) ? SPAN("size") : SPAN("");
}

static const char curly[] = "a curly quote: a string stands in straight ones, ' or \"";
static const char space[] = "a space that is not the plain one, U+0020";
static const char pattern[] = NO_PATTERNS;

const struct habit_sign *habit_sign_find(struct span text)
{
    static const struct habit_sign signs[] = {
        {SPAN("==="), "==", NULL},
        {SPAN("!=="), "!=", NULL},
        {SPAN("<>"), "!=", NULL},
        {SPAN("=<"), "<=", NULL},
        {SPAN("=>"), ">=", NULL},
        {SPAN("=~"), NULL, pattern},
        {SPAN("!~"), NULL, pattern},
        {SPAN("\xe2\x89\xa4"), "<=", NULL},
        {SPAN("\xe2\x89\xa5"), ">=", NULL},
        {SPAN("\xe2\x89\xa0"), "!=", NULL},
        {SPAN("\xc2\xa0"), NULL, space},
        {SPAN("\xe2\x80\x98"), NULL, curly},
        {SPAN("\xe2\x80\x99"), NULL, curly},
        {SPAN("\xe2\x80\x9a"), NULL, curly},
        {SPAN("\xe2\x80\x9c"), NULL, curly},
        {SPAN("\xe2\x80\x9d"), NULL, curly},
        {SPAN("\xe2\x80\x9e"), NULL, curly},
    };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        struct span sign = signs[i].text;
        if (text.len >= sign.len && memcmp(text.data, sign.data, sign.len) == 0) return &signs[i];
    }
    return NULL;
}
