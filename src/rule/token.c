#include "rule/token.h"

#include "base/decimal.h"
#include "rule/habits.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

bool rule_fail(struct err *e, size_t at, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    err_set(e, ERR_RULE, "%s", text);
    if (e) e->offset = at;
    return false;
}

/* ASCII only, whatever the locale says. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_printable(char c)
{
    return c > ' ' && c <= '~';
}

static int hex_value(char c)
{
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The byte `ahead` of the place, or NUL past the end (a NUL in the text is no token, so nothing
 * mistakes one for the other). */
static char peek(const struct lexer *l, size_t ahead)
{
    return l->at + ahead < l->text.len ? l->text.data[l->at + ahead] : '\0';
}

static void skip_blank(struct lexer *l)
{
    for (;; l->at++) {
        char c = peek(l, 0);
        if (c == '/' && peek(l, 1) == '/') {
            while (l->at < l->text.len && peek(l, 0) != '\n' && peek(l, 0) != '\r') l->at++;
            c = peek(l, 0);
        }
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f') return;
    }
}

/* ---- numbers ---- */

static int clipped(size_t len)
{
    return len > 40 ? 40 : (int)len;
}

static bool read_hex(struct lexer *l, struct token *t)
{
    l->at += 2;
    bool fits = true;
    uint64_t value = 0;
    uint32_t first = l->at;
    for (int digit; (digit = hex_value(peek(l, 0))) >= 0; l->at++) {
        fits = fits && value >> 60 == 0;
        value = value << 4 | (unsigned)digit;
    }
    if (l->at == first) return rule_fail(l->e, t->at, "a hexadecimal digit must follow `0x`");
    t->kind = TOKEN_INT;
    t->magnitude = fits ? value : UINT64_MAX;
    return true;
}

/* CEL allows zeros in front, and nothing before the point; base/decimal.h reads JSON's numbers,
 * which have exactly one digit 0 there. */
static bool read_double(struct lexer *l, struct token *t)
{
    uint32_t from = t->at;
    while (from + 1 < l->at && l->text.data[from] == '0' && is_digit(l->text.data[from + 1]))
        from++;
    bool bare_point = l->text.data[from] == '.';
    size_t len = l->at - from + bare_point;
    char *digits = arena_alloc(l->scratch, len);
    digits[0] = '0';
    memcpy(digits + bare_point, l->text.data + from, l->at - from);

    struct decimal value;
    INVARIANT(decimal_read((struct span){digits, len}, &value) == len);
    if (!isfinite(value.value))
        return rule_fail(l->e, t->at, "`%.*s` is out of a double's range", clipped(l->at - t->at),
                         l->text.data + t->at);
    t->kind = TOKEN_DOUBLE;
    t->d = value.value;
    return true;
}

static bool read_decimal(struct lexer *l, struct token *t)
{
    bool fits = true;
    uint64_t value = 0;
    for (; is_digit(peek(l, 0)); l->at++) {
        uint64_t next;
        fits = fits && !__builtin_mul_overflow(value, 10, &next) &&
               !__builtin_add_overflow(next, (uint64_t)(peek(l, 0) - '0'), &next);
        if (fits) value = next;
    }
    bool whole = true;
    if (peek(l, 0) == '.') {
        if (!is_digit(peek(l, 1)))
            return rule_fail(l->e, l->at, "a digit must follow the point of a number");
        whole = false;
        l->at++;
        while (is_digit(peek(l, 0))) l->at++;
    }
    if (peek(l, 0) == 'e' || peek(l, 0) == 'E') {
        size_t sign = peek(l, 1) == '+' || peek(l, 1) == '-';
        if (!is_digit(peek(l, 1 + sign)))
            return rule_fail(l->e, l->at, "a digit must follow the exponent's `%c`", peek(l, 0));
        whole = false;
        l->at += 1 + sign;
        while (is_digit(peek(l, 0))) l->at++;
    }
    if (!whole) return read_double(l, t);
    t->kind = TOKEN_INT;
    t->magnitude = fits ? value : UINT64_MAX;
    return true;
}

static bool read_number(struct lexer *l, struct token *t)
{
    bool hex = peek(l, 0) == '0' && peek(l, 1) == 'x';
    if (!(hex ? read_hex(l, t) : read_decimal(l, t))) return false;
    int len = clipped(l->at - t->at);
    const char *digits = l->text.data + t->at;
    char after = peek(l, 0);
    if (t->kind == TOKEN_INT && (after == 'u' || after == 'U'))
        return rule_fail(l->e, t->at, "a uint like `%.*s%c` is not part of Interlude's conditions",
                         len, digits, after);
    if (is_letter(after) || is_digit(after))
        return rule_fail(l->e, l->at, "`%c` can't follow the number `%.*s`", after, len, digits);
    if (t->kind == TOKEN_INT && t->magnitude > (uint64_t)1 << 63)
        return rule_fail(l->e, t->at, "`%.*s` is out of an int's range, which is 64 bits", len,
                         digits);
    return true;
}

/* ---- strings ---- */

/* Writes a code point as UTF-8 and returns its length; 0 for a surrogate or beyond U+10FFFF. */
static size_t utf8_put(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c >= 0xd800 && c < 0xe000) return 0;
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    if (c > 0x10ffff) return 0;
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* The length of the well-formed UTF-8 sequence at the place, or 0: what decodes and encodes again
 * to the same bytes. */
static size_t utf8_length(const struct lexer *l)
{
    unsigned char lead = (unsigned char)peek(l, 0);
    size_t len = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (l->text.len - l->at < len) return 0;
    uint32_t c = len == 1 ? lead : lead & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) c = c << 6 | ((unsigned char)peek(l, i) & 0x3f);
    char again[4];
    return utf8_put(again, c) == len && memcmp(again, l->text.data + l->at, len) == 0 ? len : 0;
}

/* `count` digits of base 2^bits at `ahead`, or -1. */
static int64_t escape_digits(const struct lexer *l, size_t ahead, int count, int bits)
{
    int64_t value = 0;
    for (int i = 0; i < count; i++) {
        int digit = hex_value(peek(l, ahead + (size_t)i));
        if (digit < 0 || digit >> bits) return -1;
        value = value << bits | digit;
    }
    return value;
}

/* Characters that may come in two halves: \uD83D\uDE00. */
static int64_t escape_utf16(const struct lexer *l, size_t *len)
{
    int64_t high = escape_digits(l, 2, 4, 4);
    if (high >> 10 != 0xd800 >> 10 || peek(l, 6) != '\\' || peek(l, 7) != 'u') return high;
    int64_t low = escape_digits(l, 8, 4, 4);
    if (low >> 10 != 0xdc00 >> 10) return high;
    *len = 12;
    return 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
}

/* Reads one escape, from its backslash, to *out. Returns the bytes written, 0 if it is none. */
static size_t read_escape(struct lexer *l, char *out)
{
    static const char letters[] = "abfnrtv\\?\"'`", meant[] = "\a\b\f\n\r\t\v\\?\"'`";
    char c = peek(l, 1);
    const char *letter = c ? strchr(letters, c) : NULL;
    size_t len = 2;
    int64_t point;
    if (letter) {
        point = meant[letter - letters];
    } else if (c == 'x' || c == 'X') {
        point = escape_digits(l, 2, 2, 4);
        len = 4;
    } else if (c == 'u') {
        len = 6;
        point = escape_utf16(l, &len);
    } else if (c == 'U') {
        point = escape_digits(l, 2, 8, 4);
        len = 10;
    } else {
        point = c >= '0' && c <= '3' ? escape_digits(l, 1, 3, 3) : -1;
        len = 4;
    }
    if (point < 0 || point > 0x10ffff) return 0;
    size_t written = utf8_put(out, (uint32_t)point);
    if (written) l->at += (uint32_t)len;
    return written;
}

static bool fail_escape(const struct lexer *l)
{
    char c = peek(l, 1);
    if (!is_printable(c)) return rule_fail(l->e, l->at, "an escape must follow the `\\`");
    if (strchr("xXuU0123", c))
        return rule_fail(l->e, l->at,
                         "`\\%c` is no character here: expected \\xHH, \\uHHHH, \\UHHHHHHHH or "
                         "\\OOO of a Unicode character",
                         c);
    return rule_fail(l->e, l->at, "`\\%c` is not an escape; a backslash is written `\\\\`", c);
}

/* From the opening quote; `raw` strings have no escapes. */
static bool read_string(struct lexer *l, struct token *t, bool raw)
{
    char quote = peek(l, 0);
    bool triple = peek(l, 1) == quote && peek(l, 2) == quote;
    l->at += triple ? 3 : 1;
    char *out = l->strings;
    size_t len = 0;
    for (;;) {
        char c = peek(l, 0);
        if (l->at >= l->text.len || (!triple && (c == '\n' || c == '\r')))
            return rule_fail(l->e, t->at, "a string begins here and does not end%s",
                             triple || l->at >= l->text.len ? "" : " on its line");
        if (c == quote && (!triple || (peek(l, 1) == quote && peek(l, 2) == quote))) break;
        size_t n;
        if (c == '\\' && !raw) {
            n = read_escape(l, out + len);
            if (!n) return fail_escape(l);
        } else {
            n = utf8_length(l);
            if (!n) return rule_fail(l->e, l->at, "the string is not valid UTF-8");
            memcpy(out + len, l->text.data + l->at, n);
            l->at += (uint32_t)n;
        }
        len += n;
    }
    l->at += triple ? 3 : 1;
    l->strings += len;
    t->kind = TOKEN_STRING;
    t->s = (struct span){out, len};
    return true;
}

/* How many letters of a string's prefix (r, b, both) stand here, in front of a quote. */
static size_t string_prefix(const struct lexer *l, bool *raw, bool *bytes)
{
    size_t n = 0;
    *raw = *bytes = false;
    for (; n < 2; n++) {
        char c = peek(l, n) | 0x20;
        if (c == 'r')
            *raw = true;
        else if (c == 'b')
            *bytes = true;
        else
            break;
    }
    return peek(l, n) == '"' || peek(l, n) == '\'' ? n : 0;
}

/* ---- words and operators ---- */

static void read_word(struct lexer *l, struct token *t)
{
    static const char *const reserved[] = {
        "null",   "as",  "break", "const",   "continue",  "else",   "for", "function", "if",
        "import", "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};
    while (is_letter(peek(l, 0)) || is_digit(peek(l, 0))) l->at++;
    struct span word = {l->text.data + t->at, l->at - t->at};
    t->kind = TOKEN_NAME;
    if (span_is(word, "in")) t->kind = TOKEN_IN;
    t->b = span_is(word, "true");
    if (t->b || span_is(word, "false")) t->kind = TOKEN_BOOL;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (span_is(word, reserved[i])) t->kind = TOKEN_RESERVED;
}

static bool fail_sign(const struct lexer *l, const struct habit_sign *sign)
{
    if (!sign->meant) return rule_fail(l->e, l->at, "%s", sign->why);
    if ((unsigned char)sign->text.data[0] >= 0x80)
        return rule_fail(l->e, l->at, "this sign is written `%s`", sign->meant);
    return rule_fail(l->e, l->at, "`%s` is not an operator; did you mean `%s`?", sign->text.data,
                     sign->meant);
}

static bool read_operator(struct lexer *l, struct token *t)
{
    static const struct {
        char text[3];
        enum token_kind kind;
    } operators[] = {
        /* the longer first */
        {"||", TOKEN_OR},          {"&&", TOKEN_AND},          {"==", TOKEN_EQUAL},
        {"!=", TOKEN_NOT_EQUAL},   {"<=", TOKEN_LESS_EQUAL},   {">=", TOKEN_GREATER_EQUAL},
        {"<", TOKEN_LESS},         {">", TOKEN_GREATER},       {"!", TOKEN_NOT},
        {"+", TOKEN_PLUS},         {"-", TOKEN_MINUS},         {"*", TOKEN_STAR},
        {"/", TOKEN_SLASH},        {"%", TOKEN_PERCENT},       {"?", TOKEN_QUESTION},
        {":", TOKEN_COLON},        {"(", TOKEN_LEFT_PAREN},    {")", TOKEN_RIGHT_PAREN},
        {"[", TOKEN_LEFT_BRACKET}, {"]", TOKEN_RIGHT_BRACKET}, {"{", TOKEN_LEFT_BRACE},
        {"}", TOKEN_RIGHT_BRACE},  {".", TOKEN_DOT},           {",", TOKEN_COMMA},
    };
    const struct habit_sign *sign =
        habit_sign_find((struct span){l->text.data + l->at, l->text.len - l->at});
    if (sign) return fail_sign(l, sign);
    char c = peek(l, 0);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        const char *text = operators[i].text;
        if (text[0] != c || (text[1] && text[1] != peek(l, 1))) continue;
        t->kind = operators[i].kind;
        l->at += text[1] ? 2 : 1;
        return true;
    }
    if (c == '=' || c == '&' || c == '|')
        return rule_fail(l->e, t->at, "`%c` is not an operator; did you mean `%c%c`?", c, c, c);
    if (c == '`') return rule_fail(l->e, t->at, "a backquote has no meaning here");
    if (is_printable(c)) return rule_fail(l->e, t->at, "`%c` has no meaning here", c);
    return rule_fail(l->e, t->at, "the byte 0x%02x has no meaning outside a string",
                     (unsigned)(unsigned char)c);
}

void lexer_init(struct lexer *l, struct span text, struct arena *scratch, struct err *e)
{
    *l = (struct lexer){.text = text, .scratch = scratch, .e = e};
    /* No escape is shorter than what it stands for, so all strings fit where the text does. */
    l->strings = arena_alloc(scratch, text.len);
}

bool token_next(struct lexer *l, struct token *out)
{
    skip_blank(l);
    struct token t = {.kind = TOKEN_END, .at = l->at};
    char c = peek(l, 0);
    bool raw, bytes, ok = true;
    size_t prefix = string_prefix(l, &raw, &bytes);
    if (l->at >= l->text.len) {
        t.end = t.at;
        *out = t;
        return true;
    }
    if (prefix && bytes)
        return rule_fail(l->e, t.at, "bytes like b'...' are not part of Interlude's conditions");
    if (prefix || c == '"' || c == '\'') {
        l->at += (uint32_t)prefix;
        ok = read_string(l, &t, raw);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(l, 1)))) {
        ok = read_number(l, &t);
    } else if (is_letter(c)) {
        read_word(l, &t);
    } else {
        ok = read_operator(l, &t);
    }
    t.end = l->at;
    if (ok) *out = t;
    return ok;
}

struct token_words token_describe(struct span text, const struct token *t)
{
    struct token_words words;
    if (t->kind == TOKEN_END)
        snprintf(words.text, sizeof words.text, "the end");
    else if (t->kind == TOKEN_STRING)
        snprintf(words.text, sizeof words.text, "a string");
    else
        snprintf(words.text, sizeof words.text, "`%.*s`", clipped(t->end - t->at),
                 text.data + t->at);
    return words;
}
