/* json_read: a pull reader of strict JSON (RFC 8259) over bytes that are all there.
 *
 * The caller walks the text in its own order and asks for what it expects; nothing is built. What
 * the caller does not want, it skips: skipped values are checked for syntax all the same.
 * Refused: trailing commas, bad escapes, lone surrogates, bad UTF-8 (overlong, surrogates, above
 * U+10FFFF), a byte order mark, NaN and Infinity, control characters in strings, nesting deeper
 * than JSON_DEPTH_MAX, anything after the value.
 *
 * Errors stick: after the first one every function returns false (or JSON_ERROR), and `error` and
 * `error_at` tell which and where. So a caller may check once, at the end.
 *
 * Nothing allocates. Threads: a reader belongs to one. Ownership: spans that come out point into
 * the text, or, where a string has escapes, into `scratch`; they live as long as those do. */
#ifndef INTERLUDE_WIRE_JSON_READ_H
#define INTERLUDE_WIRE_JSON_READ_H

#include "base/decimal.h"
#include "base/err.h"
#include "base/span.h"

#include <stdint.h>

enum { JSON_DEPTH_MAX = 32 };

enum json_type {
    JSON_ERROR,
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

struct json_reader {
    const char *at, *end, *begin;
    char *scratch; /* where the next unescaped string goes */
    char *scratch_end;
    enum err_code error;    /* ERR_OK, ERR_JSON_SYNTAX, ERR_JSON_DEPTH or what json_fail set */
    const char *error_at;   /* into the text */
    const char *error_text; /* what was expected there; static */
    uint32_t depth;
    bool fresh; /* the container that the reader stands in has had no member yet */
};

/* `scratch` must be at least as large as the text: then it cannot run out. */
void json_reader_init(struct json_reader *r, struct span text, char *scratch, size_t scratch_size);

/* The type of the value that comes next; consumes white space only. JSON_ERROR if none does. */
static inline enum json_type json_peek(struct json_reader *r);

/* Each consumes one value of that type, or fails with ERR_JSON_SYNTAX if the text has another type
 * there: peek first where the type is the sender's choice. */
bool json_null(struct json_reader *r);
bool json_bool(struct json_reader *r, bool *out);
bool json_string(struct json_reader *r, struct span *out);

bool json_number(struct json_reader *r, struct decimal *out);

/* An object: json_object_begin, then json_object_next until it returns false; for each member read
 * or skip exactly one value. An array alike. json_object_next unescapes the key. Duplicate keys are
 * the caller's to find: it knows which it reads (json_fail with ERR_JSON_DUPLICATE_KEY). */
bool json_object_begin(struct json_reader *r);
bool json_object_next(struct json_reader *r, struct span *key);
bool json_array_begin(struct json_reader *r);
bool json_array_next(struct json_reader *r);

/* Consumes one value of any type, checking it wholly. Skipped keys and strings use no scratch. */
bool json_skip(struct json_reader *r);

/* True if nothing failed and only white space is left. */
bool json_end(struct json_reader *r);

/* Puts an error of the caller's own at the place where the reader stands. The first one stays. */
void json_fail(struct json_reader *r, enum err_code code, const char *text);

/* json_peek's: the type that a value has which begins with that byte, and the way where the next
 * byte does not tell it. */
extern const uint8_t json_type_by_byte[256];
enum json_type json_peek_far(struct json_reader *r);

static inline enum json_type json_peek(struct json_reader *r)
{
    if (r->end - r->at >= 2) {
        if (*r->at == ' ') r->at++;
        enum json_type type = (enum json_type)json_type_by_byte[(unsigned char)*r->at];
        if (type != JSON_ERROR) return type;
    }
    return json_peek_far(r);
}

/* The byte offset of the error in the text. */
size_t json_error_offset(const struct json_reader *r);

#endif
