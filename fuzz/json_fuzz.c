/* json_read against jansson, a JSON reader known to be strict: the same verdict on any bytes, and
 * the same values, walked side by side. Besides: skipping a text gives the same verdict, at the
 * same offset, as reading it; and what json_write makes of each string and number reads back the
 * same.
 *
 * The two may differ only here:
 * - a number beyond the doubles, or an integer beyond int64_t: jansson refuses the text, json_read
 *   gives infinity, or a double that is not `integral`;
 * - a key that holds U+0000: jansson refuses it;
 * - nesting deeper than 32: json_read refuses it;
 * - a NUL right after a number or a word: jansson 2.14 loses it (it puts the byte back into a
 * buffer that a 0 ends), json_read refuses it;
 * - a key that stands twice: json_read leaves it to its caller, so the walk looks for it. */

/* The names that both have: jansson's get another here. Its functions of these names are not
 * called, and ours are hidden from it (-fvisibility=hidden). */
#define JSON_NULL ORACLE_NULL
#define JSON_STRING ORACLE_STRING
#define JSON_ARRAY ORACLE_ARRAY
#define JSON_OBJECT ORACLE_OBJECT
#define json_null oracle_null
#define json_string oracle_string
#include <jansson.h>
#undef JSON_NULL
#undef JSON_STRING
#undef JSON_ARRAY
#undef JSON_OBJECT
#undef json_null
#undef json_string

#include "base/err.h"
#include "wire/json_read.h"
#include "wire/json_write.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_BYTES_MAX = 64 * 1024 };

struct walk {
    struct json_reader r;
    bool beyond_oracle; /* a number or a key that jansson refuses */
    bool duplicate;
    struct span keys[TEXT_BYTES_MAX]; /* of all the objects that are open, a stack */
    size_t key_count;
};

static struct walk w;
static char scratch[TEXT_BYTES_MAX], written[6 * TEXT_BYTES_MAX + 2], rescratch[sizeof written];

static bool bits_equal(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void check_string(struct span text)
{
    struct buf b = buf_of(written, sizeof written);
    json_write_string(&b, text);
    INVARIANT(!b.full);
    struct json_reader again;
    struct span value;
    json_reader_init(&again, buf_text(&b), rescratch, sizeof rescratch);
    INVARIANT(json_string(&again, &value) && json_end(&again));
    INVARIANT(span_equal(text, value));
}

static void check_double(double value)
{
    struct buf b = buf_of(written, sizeof written);
    json_write_double(&b, value);
    struct json_reader again;
    struct decimal number;
    json_reader_init(&again, buf_text(&b), rescratch, sizeof rescratch);
    if (!isfinite(value))
        INVARIANT(json_null(&again));
    else
        INVARIANT(json_number(&again, &number) && bits_equal(number.value, value));
    INVARIANT(json_end(&again));
}

static void walk_string(const json_t *oracle)
{
    struct span text;
    if (!json_string(&w.r, &text)) return;
    check_string(text);
    if (!oracle) return;
    INVARIANT(json_typeof(oracle) == ORACLE_STRING);
    INVARIANT(
        span_equal(text, (struct span){json_string_value(oracle), json_string_length(oracle)}));
}

static void walk_number(const json_t *oracle)
{
    const char *begin = w.r.at;
    struct decimal n;
    if (!json_number(&w.r, &n)) return;
    check_double(n.value);
    bool whole = true; /* written as an integer */
    for (const char *at = begin; at < w.r.at; at++)
        if (*at == '.' || *at == 'e' || *at == 'E') whole = false;
    if (n.integral) INVARIANT(n.value == (double)n.integer);
    if (isinf(n.value) || (whole && !n.integral)) w.beyond_oracle = true;
    if (!oracle) return;
    if (whole) {
        INVARIANT(json_is_integer(oracle) && n.integral);
        INVARIANT(json_integer_value(oracle) == n.integer);
    } else {
        INVARIANT(json_is_real(oracle) && bits_equal(json_real_value(oracle), n.value));
    }
}

static void walk_value(const json_t *oracle);

static void walk_array(const json_t *oracle)
{
    if (oracle) INVARIANT(json_typeof(oracle) == ORACLE_ARRAY);
    size_t count = 0;
    if (!json_array_begin(&w.r)) return;
    while (json_array_next(&w.r)) walk_value(oracle ? json_array_get(oracle, count++) : NULL);
    if (oracle && !w.r.error) INVARIANT(count == json_array_size(oracle));
}

static void walk_object(const json_t *oracle)
{
    if (oracle) INVARIANT(json_typeof(oracle) == ORACLE_OBJECT);
    size_t outer = w.key_count;
    struct span key;
    if (!json_object_begin(&w.r)) return;
    while (json_object_next(&w.r, &key)) {
        check_string(key);
        if (key.len && memchr(key.data, 0, key.len)) w.beyond_oracle = true;
        for (size_t i = outer; i < w.key_count; i++)
            if (span_equal(w.keys[i], key)) w.duplicate = true;
        w.keys[w.key_count++] = key;
        const json_t *member = oracle ? json_object_getn(oracle, key.data, key.len) : NULL;
        if (oracle) INVARIANT(member);
        walk_value(member);
    }
    if (oracle && !w.r.error) INVARIANT(w.key_count - outer == json_object_size(oracle));
    w.key_count = outer;
}

static void walk_value(const json_t *oracle)
{
    bool truth;
    switch (json_peek(&w.r)) {
    case JSON_NULL:
        if (json_null(&w.r) && oracle) INVARIANT(json_typeof(oracle) == ORACLE_NULL);
        break;
    case JSON_BOOL:
        if (json_bool(&w.r, &truth) && oracle)
            INVARIANT(json_is_boolean(oracle) && json_boolean_value(oracle) == truth);
        break;
    case JSON_NUMBER:
        walk_number(oracle);
        break;
    case JSON_STRING:
        walk_string(oracle);
        break;
    case JSON_ARRAY:
        walk_array(oracle);
        break;
    case JSON_OBJECT:
        walk_object(oracle);
        break;
    default:
        INVARIANT(w.r.error != ERR_OK);
    }
}

static void check_skip(struct span text, bool whole)
{
    struct json_reader r;
    static char untouched[TEXT_BYTES_MAX];
    json_reader_init(&r, text, untouched, sizeof untouched);
    bool skipped = json_skip(&r);
    INVARIANT((json_end(&r) && skipped) == whole);
    INVARIANT(r.error == w.r.error && json_error_offset(&r) == json_error_offset(&w.r));
    INVARIANT(r.scratch == untouched);
}

static bool nul_lost_by_oracle(struct span text)
{
    size_t at = json_error_offset(&w.r);
    if (at == 0 || at >= text.len || text.data[at] != 0) return false;
    char before = text.data[at - 1];
    return (before >= '0' && before <= '9') || (before >= 'a' && before <= 'z');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > TEXT_BYTES_MAX) return 0;
    struct span text = {(const char *)data, size};
    json_error_t ignored;
    json_t *oracle =
        json_loadb(size ? text.data : "", size,
                   JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &ignored);

    json_reader_init(&w.r, text, scratch, sizeof scratch);
    w.beyond_oracle = w.duplicate = false;
    w.key_count = 0;
    walk_value(oracle);
    bool whole = json_end(&w.r);
    if (whole)
        INVARIANT((oracle == NULL) == (w.beyond_oracle || w.duplicate));
    else if (w.r.error == ERR_JSON_SYNTAX)
        INVARIANT(!oracle || nul_lost_by_oracle(text));
    else
        INVARIANT(w.r.error == ERR_JSON_DEPTH);
    check_skip(text, whole);
    json_decref(oracle);
    return 0;
}
