/* How it stays quick and small at once:
 *
 * - After an error the reader stands at the end of the text. Every function needs a byte to go on,
 *   so each fails there by itself, and none has to ask whether something went wrong before.
 * - A string is checked to its end first, 8 plain bytes at a time. Only one that had escapes is
 *   then written out, by a loop that has nothing left to check. What is skipped goes through the
 *   same check, so skipping and reading cannot disagree on what is JSON.
 * - The place in the nesting is a depth, and whether the container has had a member: one that
 * another has just ended in has. Skipping adds a bit a level (object or array), so nothing here
 * recurses. */
#include "wire/json_read.h"

#include "wire/json_text.h"

_Static_assert(JSON_DEPTH_MAX < 64, "skipping has a bit a level");

const uint8_t json_type_by_byte[256] = {
    ['"'] = JSON_STRING, ['{'] = JSON_OBJECT, ['['] = JSON_ARRAY,  ['t'] = JSON_BOOL,
    ['f'] = JSON_BOOL,   ['n'] = JSON_NULL,   ['-'] = JSON_NUMBER, ['0'] = JSON_NUMBER,
    ['1'] = JSON_NUMBER, ['2'] = JSON_NUMBER, ['3'] = JSON_NUMBER, ['4'] = JSON_NUMBER,
    ['5'] = JSON_NUMBER, ['6'] = JSON_NUMBER, ['7'] = JSON_NUMBER, ['8'] = JSON_NUMBER,
    ['9'] = JSON_NUMBER,
};

void json_reader_init(struct json_reader *r, struct span text, char *scratch, size_t scratch_size)
{
    INVARIANT(scratch_size >= text.len);
    const char *begin = text.len ? text.data : "";
    *r = (struct json_reader){
        .at = begin,
        .end = begin + text.len,
        .begin = begin,
        .scratch = scratch,
        .scratch_end = scratch_size ? scratch + scratch_size : scratch,
    };
}

static __attribute__((cold, noinline)) bool fail_at(struct json_reader *r, enum err_code code,
                                                    const char *at, const char *text)
{
    if (r->error == ERR_OK) {
        r->error = code;
        r->error_at = at;
        r->error_text = text;
    }
    r->at = r->end;
    return false;
}

static inline bool fail_syntax(struct json_reader *r, const char *at, const char *text)
{
    return fail_at(r, ERR_JSON_SYNTAX, at, text);
}

void json_fail(struct json_reader *r, enum err_code code, const char *text)
{
    fail_at(r, code, r->at, text);
}

size_t json_error_offset(const struct json_reader *r)
{
    return r->error ? (size_t)(r->error_at - r->begin) : 0;
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Longer runs: the line break and indentation between two members. */
static __attribute__((noinline)) const char *long_space_end(const char *at, const char *end)
{
    while (at < end && is_space(*at)) at = json_blank_end(at + 1, end);
    return at;
}

/* By far the most often there is no white space, and then one blank. */
static inline const char *space_end(const char *at, const char *end)
{
    if (at < end && (unsigned char)*at > ' ') return at;
    if (end - at >= 2 && *at == ' ' && (unsigned char)at[1] > ' ') return at + 1;
    return long_space_end(at, end);
}

enum json_type json_peek_far(struct json_reader *r)
{
    r->at = space_end(r->at, r->end);
    enum json_type type = r->at < r->end ? json_type_by_byte[(unsigned char)*r->at] : JSON_ERROR;
    if (type == JSON_ERROR) fail_syntax(r, r->at, "a value was expected");
    return type;
}

/* ---- null, true, false, numbers ---- */

static inline bool take_word(struct json_reader *r, const char *word, size_t len)
{
    if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0) return false;
    r->at += len;
    return true;
}

bool json_null(struct json_reader *r)
{
    r->at = space_end(r->at, r->end);
    return take_word(r, "null", 4) || fail_syntax(r, r->at, "null was expected");
}

bool json_bool(struct json_reader *r, bool *out)
{
    r->at = space_end(r->at, r->end);
    bool value = take_word(r, "true", 4);
    if (!value && !take_word(r, "false", 5))
        return fail_syntax(r, r->at, "true or false was expected");
    *out = value;
    return true;
}

static const char number_expected[] = "a number was expected";

bool json_number(struct json_reader *r, struct decimal *out)
{
    r->at = space_end(r->at, r->end);
    size_t len = decimal_read((struct span){r->at, (size_t)(r->end - r->at)}, out);
    if (len == 0) return fail_syntax(r, r->at, number_expected);
    r->at += len;
    return true;
}

static bool skip_number(struct json_reader *r)
{
    size_t len = decimal_length((struct span){r->at, (size_t)(r->end - r->at)});
    if (len == 0) return fail_syntax(r, r->at, number_expected);
    r->at += len;
    return true;
}

/* ---- strings ---- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The UTF-16 unit that "\uXXXX" at `at` stands for, or -1 if that is not what is there. */
static int32_t escaped_unit(const char *at, const char *end)
{
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return -1;
    int32_t unit = 0;
    for (int i = 2; i < 6; i++) {
        int digit = hex_value(at[i]);
        if (digit < 0) return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static bool is_high_surrogate(int32_t unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}
static bool is_low_surrogate(int32_t unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* The length of the escape at `at`, both halves of a surrogate pair together; 0 if it is wrong. */
static size_t escape_length(const char *at, const char *end)
{
    if (end - at < 2) return 0;
    if (at[1] != 'u') return at[1] != 0 && strchr("\"\\/bfnrt", at[1]) ? 2 : 0;
    int32_t unit = escaped_unit(at, end);
    if (unit < 0 || is_low_surrogate(unit)) return 0;
    if (!is_high_surrogate(unit)) return 6;
    return is_low_surrogate(escaped_unit(at + 6, end)) ? 12 : 0;
}

/* From behind the opening quote to the closing one; NULL if it fails. */
static __attribute__((noinline)) const char *string_end(struct json_reader *r, const char *at,
                                                        bool *escaped)
{
    const char *end = r->end;
    *escaped = false;
    for (;;) {
        at = json_plain_end(at, end);
        if (at == end) break;
        unsigned char c = (unsigned char)*at;
        if (c == '"') return at;
        size_t len;
        if (c == '\\') {
            *escaped = true;
            len = escape_length(at, end);
            if (len == 0) return fail_syntax(r, at, "not a JSON escape"), NULL;
        } else if (c < 0x20) {
            return fail_syntax(r, at, "a control character must be escaped"), NULL;
        } else {
            len = json_utf8_length(at, end);
            if (len == 0) return fail_syntax(r, at, "not UTF-8"), NULL;
        }
        at += len;
    }
    return fail_syntax(r, end, "the string has no closing quote"), NULL;
}

static char *put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *to++ = (char)(0xe0 | c >> 12);
        } else {
            *to++ = (char)(0xf0 | c >> 18);
            *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    }
    *to++ = (char)(0x80 | (c & 0x3f));
    return to;
}

/* Writes out one escape, which has been checked; moves *at behind it. */
static char *put_escape(char *to, const char **at, const char *end)
{
    const char *from = *at;
    *at += 2;
    switch (from[1]) {
    case 'b':
        *to++ = '\b';
        return to;
    case 'f':
        *to++ = '\f';
        return to;
    case 'n':
        *to++ = '\n';
        return to;
    case 'r':
        *to++ = '\r';
        return to;
    case 't':
        *to++ = '\t';
        return to;
    case 'u':
        break;
    default:
        *to++ = from[1];
        return to;
    }
    uint32_t c = (uint32_t)escaped_unit(from, end);
    *at = from + 6;
    if (is_high_surrogate((int32_t)c)) {
        c = 0x10000 + ((c - 0xd800) << 10) + ((uint32_t)escaped_unit(from + 6, end) - 0xdc00);
        *at = from + 12;
    }
    return put_utf8(to, c);
}

/* [at, end) has been checked. What is written is never longer than what was read, and nothing is
 * read twice: that is why a scratch of the text's size is enough. */
static __attribute__((noinline)) struct span string_unescape(struct json_reader *r, const char *at,
                                                             const char *end)
{
    INVARIANT(end - at <= r->scratch_end - r->scratch);
    char *begin = r->scratch, *to = begin;
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        size_t run = (size_t)((escape ? escape : end) - at);
        memcpy(to, at, run);
        to += run;
        at += run;
        if (escape) to = put_escape(to, &at, end);
    }
    r->scratch = to;
    return (struct span){begin, (size_t)(to - begin)};
}

/* The closing quote of a string that begins at `at`, if that is the first of the next bytes that is
 * not plain: true of most strings. NULL: they need a closer look. */
static inline const char *short_string_end(const char *at, const char *end)
{
#if defined(__SSE2__)
    if (end - at < 16) return NULL;
    uint32_t found = json_plain_not16(at);
    if (!found) {
        if (end - at < 32) return NULL;
        found = json_plain_not16(at + 16) << 16;
    }
    if (found && at[__builtin_ctz(found)] == '"') return at + __builtin_ctz(found);
#else
    (void)at, (void)end;
#endif
    return NULL;
}

/* The string whose opening quote is at `at`. `out` NULL: it is checked only. */
static inline bool take_string(struct json_reader *r, const char *at, struct span *out)
{
    bool escaped = false;
    const char *begin = at + 1, *end = short_string_end(begin, r->end);
    if (!end) end = string_end(r, begin, &escaped);
    if (!end) return false;
    r->at = end + 1;
    if (!out) return true;
    *out = escaped ? string_unescape(r, begin, end) : (struct span){begin, (size_t)(end - begin)};
    return true;
}

bool json_string(struct json_reader *r, struct span *out)
{
    r->at = space_end(r->at, r->end);
    if (r->at == r->end || *r->at != '"') return fail_syntax(r, r->at, "a string was expected");
    return take_string(r, r->at, out);
}

/* ---- objects and arrays ---- */

static inline bool container_begin(struct json_reader *r, char open, const char *expected)
{
    r->at = space_end(r->at, r->end);
    if (r->at == r->end || *r->at != open) return fail_syntax(r, r->at, expected);
    if (r->depth == JSON_DEPTH_MAX) return fail_at(r, ERR_JSON_DEPTH, r->at, "nested too deep");
    r->at++;
    r->depth++;
    r->fresh = true;
    return true;
}

/* The closing bracket is at `at`. */
static inline void container_end(struct json_reader *r, const char *at)
{
    r->at = at + 1;
    r->depth--;
    r->fresh = false;
}

/* Moves to where the next member begins. False at the end of the container, which is consumed, and
 * where it fails. */
static inline bool container_next(struct json_reader *r, char close, const char *expected)
{
    const char *at = space_end(r->at, r->end);
    if (at == r->end) return fail_syntax(r, at, expected);
    if (*at == close) {
        container_end(r, at);
        return false;
    }
    if (!r->fresh) {
        if (*at != ',') return fail_syntax(r, at, expected);
        at = space_end(at + 1, r->end);
    }
    r->fresh = false;
    r->at = at;
    return true;
}

/* The next key, where all is as a serializer writes it: a comma, at most one blank, a short key, a
 * colon. False, and nothing consumed, where something is not; what it is, the long way finds out.
 */
static inline bool plain_key(struct json_reader *r, struct span *key)
{
    const char *at = r->at, *end;
    if (r->end - at < 4) return false;
    if (!r->fresh && *at++ != ',') return false;
    if (*at == ' ') at++;
    if (*at++ != '"') return false;
    if (!(end = short_string_end(at, r->end)) || end + 1 == r->end || end[1] != ':') return false;
    r->fresh = false;
    *key = (struct span){at, (size_t)(end - at)};
    r->at = end + 2;
    return true;
}

/* `key` NULL: it is checked only. */
static __attribute__((noinline)) bool object_next(struct json_reader *r, struct span *key)
{
    if (!container_next(r, '}', "a comma or } was expected")) return false;
    if (r->at == r->end || *r->at != '"')
        return fail_syntax(r, r->at, "a key in double quotes was expected");
    if (!take_string(r, r->at, key)) return false;
    const char *at = space_end(r->at, r->end);
    if (at == r->end || *at != ':') return fail_syntax(r, at, "a colon was expected");
    r->at = at + 1;
    return true;
}

bool json_object_begin(struct json_reader *r)
{
    return container_begin(r, '{', "an object was expected");
}

bool json_object_next(struct json_reader *r, struct span *key)
{
    if (plain_key(r, key)) return true;
    if (r->at == r->end || *r->at != '}') return object_next(r, key);
    container_end(r, r->at);
    return false;
}

bool json_array_begin(struct json_reader *r)
{
    return container_begin(r, '[', "an array was expected");
}

bool json_array_next(struct json_reader *r)
{
    return container_next(r, ']', "a comma or ] was expected");
}

/* ---- skipping, and the end ---- */

static bool skip_scalar(struct json_reader *r, enum json_type type)
{
    bool ignored;
    switch (type) {
    case JSON_NULL:
        return json_null(r);
    case JSON_BOOL:
        return json_bool(r, &ignored);
    case JSON_NUMBER:
        return skip_number(r);
    case JSON_STRING:
        return take_string(r, r->at, NULL);
    default:
        return false;
    }
}

bool json_skip(struct json_reader *r)
{
    const uint32_t outside = r->depth;
    uint64_t objects = 0; /* bit d: the container at depth d is an object */
    do {
        if (r->depth > outside) {
            bool more = objects >> r->depth & 1 ? object_next(r, NULL) : json_array_next(r);
            if (r->error) return false;
            if (!more) continue;
        }
        enum json_type type = json_peek(r);
        if (type == JSON_OBJECT) {
            if (!json_object_begin(r)) return false;
            objects |= (uint64_t)1 << r->depth;
        } else if (type == JSON_ARRAY) {
            if (!json_array_begin(r)) return false;
            objects &= ~((uint64_t)1 << r->depth);
        } else if (!skip_scalar(r, type)) {
            return false;
        }
    } while (r->depth > outside);
    return true;
}

bool json_end(struct json_reader *r)
{
    if (r->error) return false;
    r->at = space_end(r->at, r->end);
    if (r->at < r->end) return fail_syntax(r, r->at, "nothing may follow the value");
    if (r->depth > 0) return fail_syntax(r, r->at, "an object or array is not closed");
    return true;
}
