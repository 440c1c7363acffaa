/* The ordinary kinds of values: how each is read, printed, and described. */
#include "plan/key.h"

#include "base/decimal.h"
#include "plan/units.h"
#include "wire/json_write.h"

#include <math.h>
#include <stdio.h>

enum { SALT_BYTES_MAX = 128 };

/* Whatever YAML makes of it: a plan takes it for a text, unless it is nothing. */
#define SCHEMA_TEXT "\"type\":[\"string\",\"number\",\"boolean\"]"

void key_bound_number(struct buf *b, int64_t value)
{
    buf_i64(b, value);
}

void key_bound_duration(struct buf *b, int64_t value)
{
    duration_write(b, value, true);
}

static void schema_range(struct buf *b, const struct key *key)
{
    buf_lit(b, ",\"minimum\":");
    buf_i64(b, key->min);
    buf_lit(b, ",\"maximum\":");
    buf_i64(b, key->max);
    buf_char(b, '}');
}

/* ---- texts ---- */

static void read_name(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    struct span text;
    if (load_name(l, node, &text))
        *(struct span *)key_field(into, key) = arena_copy(&l->plan->arena, text);
}

static void print_name(struct print *p, const struct key *key, const void *from)
{
    print_text(p->b, *(const struct span *)key_value(from, key));
}

static bool text_is_set(const struct key *key, const void *from)
{
    return ((const struct span *)key_value(from, key))->len > 0;
}

void key_schema_name(struct buf *b, const struct key *key)
{
    buf_lit(b, "{" SCHEMA_TEXT ",\"pattern\":\"^[A-Za-z0-9_.:-]{1,64}$\"}");
}

const struct key_kind kind_name = {read_name, print_name, key_schema_name, "name",
                                   .is_set = text_is_set};

static void read_salt(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    static const char what[] = "a salt (a text of 1 to 128 bytes without control characters)";
    struct span text;
    if (!load_text(l, node, what, &text)) return;
    bool ok = text.len > 0 && text.len <= SALT_BYTES_MAX;
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f) ok = false;
    if (!ok)
        load_expected(l, node, what);
    else
        *(struct span *)key_field(into, key) = arena_copy(&l->plan->arena, text);
}

static void schema_salt(struct buf *b, const struct key *key)
{
    buf_lit(b, "{" SCHEMA_TEXT ",\"minLength\":1,\"maxLength\":128}");
}

const struct key_kind kind_salt = {read_salt, print_name, schema_salt, "text of 1 to 128 bytes",
                                   .is_set = text_is_set};

static void read_word(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    int word = load_word(l, node, key->words);
    if (word >= 0) *(int *)key_field(into, key) = word;
}

static void print_enum(struct print *p, const struct key *key, const void *from)
{
    print_word(p->b, key->words[*(const int *)key_value(from, key)]);
}

static void schema_word(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"enum\":[");
    for (int i = 0; key->words[i]; i++) {
        if (i) buf_char(b, ',');
        json_write_string(b, span_of(key->words[i]));
    }
    buf_lit(b, "]}");
}

const struct key_kind kind_word = {read_word, print_enum, schema_word, ""};

/* ---- switches ---- */

static void read_bool(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    bool plain = node->kind == TREE_SCALAR && node->style == TREE_PLAIN;
    if (plain && span_is(node->text, "true"))
        *(bool *)key_field(into, key) = true;
    else if (plain && span_is(node->text, "false"))
        *(bool *)key_field(into, key) = false;
    else
        load_expected(l, node, "true or false");
}

static void print_bool(struct print *p, const struct key *key, const void *from)
{
    print_word(p->b, *(const bool *)key_value(from, key) ? "true" : "false");
}

static void schema_bool(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"type\":\"boolean\"}");
}

const struct key_kind kind_bool = {read_bool, print_bool, schema_bool, "switch"};

/* ---- numbers ---- */

static bool read_integer(struct load *l, const struct yaml_tree *node, const struct key *key,
                         int64_t *out)
{
    struct decimal d;
    if (node->kind == TREE_SCALAR && node->style == TREE_PLAIN && node->text.len &&
        decimal_read(node->text, &d) == node->text.len && d.integral && d.integer >= key->min &&
        d.integer <= key->max) {
        *out = d.integer;
        return true;
    }
    char what[80];
    snprintf(what, sizeof what, "a whole number from %lld to %lld", (long long)key->min,
             (long long)key->max);
    return load_expected(l, node, what);
}

static void schema_integer(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"type\":\"integer\"");
    schema_range(b, key);
}

static void read_int(struct load *l, const struct yaml_tree *node, const struct key *key,
                     void *into)
{
    int64_t value = 0;
    if (read_integer(l, node, key, &value)) *(int *)key_field(into, key) = (int)value;
}

static void print_int(struct print *p, const struct key *key, const void *from)
{
    buf_i64(p->b, *(const int *)key_value(from, key));
}

const struct key_kind kind_int = {read_int, print_int, schema_integer, "", key_bound_number};

static void read_count(struct load *l, const struct yaml_tree *node, const struct key *key,
                       void *into)
{
    read_integer(l, node, key, key_field(into, key));
}

static void print_count(struct print *p, const struct key *key, const void *from)
{
    buf_i64(p->b, *(const int64_t *)key_value(from, key));
}

const struct key_kind kind_count = {read_count, print_count, schema_integer, "", key_bound_number};

/* A share where a number is wanted: says what that number is; else false. */
static bool is_share(const struct yaml_tree *node, char as_number[40])
{
    struct span s = node->text;
    struct decimal d;
    if (node->kind != TREE_SCALAR || s.len < 2 || s.data[s.len - 1] != '%') return false;
    bool clear = s.len <= 8 && decimal_read(s, &d) == s.len - 1 && d.value >= 0 && d.value <= 100;
    snprintf(as_number, 40, "%.*s is %.9g", clear ? (int)s.len : 2, clear ? s.data : "2%",
             clear ? d.value / 100 : 0.02);
    return true;
}

static void read_double(struct load *l, const struct yaml_tree *node, const struct key *key,
                        void *into)
{
    double value = NAN;
    char what[120], as_number[40];
    bool share = is_share(node, as_number);
    snprintf(what, sizeof what,
             share ? "a number from %lld to %lld (%s)" : "a number from %lld to %lld",
             (long long)key->min, (long long)key->max, as_number);
    if (!share && !load_number(l, node, &value)) return;
    if (value >= (double)key->min && value <= (double)key->max)
        *(double *)key_field(into, key) = value;
    else
        load_expected(l, node, what);
}

static void print_double(struct print *p, const struct key *key, const void *from)
{
    print_number(p->b, *(const double *)key_value(from, key));
}

static void schema_double(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"type\":\"number\"");
    schema_range(b, key);
}

const struct key_kind kind_double = {read_double, print_double, schema_double, "number",
                                     key_bound_number};

/* ---- durations and shares ---- */

static void read_duration(struct load *l, const struct yaml_tree *node, const struct key *key,
                          void *into)
{
    char what[128];
    struct buf b = buf_of(what, sizeof what);
    buf_lit(&b, "a duration with a unit (ms s m h d) from ");
    key_bound_duration(&b, key->min);
    buf_lit(&b, " to ");
    key_bound_duration(&b, key->max);
    buf_char(&b, '\0');
    struct span text;
    int64_t ms;
    if (!load_text(l, node, what, &text)) return;
    if (!duration_read(text, &ms) || ms < key->min || ms > key->max)
        load_expected(l, node, what);
    else
        *(int64_t *)key_field(into, key) = ms;
}

static void print_time(struct print *p, const struct key *key, const void *from)
{
    duration_write(p->b, *(const int64_t *)key_value(from, key), false);
}

static bool time_is_set(const struct key *key, const void *from)
{
    return *(const int64_t *)key_value(from, key) >= key->min;
}

void key_schema_duration(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"type\":\"string\",\"pattern\":\"^[0-9]+([.][0-9]+)?(ms|s|m|h|d)$\"}");
}

const struct key_kind kind_duration = {read_duration, print_time,         key_schema_duration,
                                       "duration",    key_bound_duration, .is_set = time_is_set};

static void read_share(struct load *l, const struct yaml_tree *node, const struct key *key,
                       void *into)
{
    load_share(l, node, key_field(into, key));
}

static void print_percentage(struct print *p, const struct key *key, const void *from)
{
    share_write(p->b, *(const uint32_t *)key_value(from, key));
}

static void schema_share(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"type\":\"string\",\"pattern\":\"^[0-9]+([.][0-9]+)?%$\"}");
}

const struct key_kind kind_share = {read_share, print_percentage, schema_share, "share"};

/* ---- conditions ---- */

static void read_condition(struct load *l, const struct yaml_tree *node, const struct key *key,
                           void *into)
{
    load_condition(l, node, key_field(into, key));
}

static void print_condition(struct print *p, const struct key *key, const void *from)
{
    print_quoted(p->b, rule_text(*(const struct rule *const *)key_value(from, key)));
}

static bool condition_is_set(const struct key *key, const void *from)
{
    return *(const struct rule *const *)key_value(from, key) != NULL;
}

static void schema_condition(struct buf *b, const struct key *key)
{
    buf_lit(b, "{" SCHEMA_TEXT "}");
}

const struct key_kind kind_condition = {read_condition, print_condition, schema_condition,
                                        "condition", .is_set = condition_is_set};
