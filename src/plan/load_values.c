#include "plan/load.h"

#include "base/decimal.h"
#include "base/nearest.h"
#include "base/printed.h"
#include "plan/yaml_walk.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { SALT_BYTES_MAX = 128, KEYS_MAX = 40, SHOWN_BYTES_MAX = 64, FIXED_BYTES_MAX = 12 };

/* ---- telling errors ---- */

static bool stands_before(const struct err *a, const struct err *b)
{
    return a->line != b->line ? a->line < b->line : a->column < b->column;
}

/* Sections are not read in the order of the file, so each error is put in its place, and of too
 * many the last ones are given up. */
void plan_errors_add(struct plan_errors *errors, struct yaml_place place, const char *text)
{
    struct err e;
    err_set(&e, ERR_PLAN_INVALID, "%s", text);
    e.line = place.line;
    e.column = place.column;
    e.offset = place.index;

    int at = errors->count;
    while (at > 0 && stands_before(&e, &errors->errors[at - 1])) at--;
    if (errors->count == PLAN_ERRORS_MAX)
        errors->more++;
    else
        errors->count++;
    if (at == PLAN_ERRORS_MAX) return;
    memmove(&errors->errors[at + 1], &errors->errors[at],
            (size_t)(errors->count - 1 - at) * sizeof e);
    errors->errors[at] = e;
}

static void add_formatted(struct plan_errors *to, struct yaml_place place, const char *format,
                          va_list args)
{
    char text[sizeof to->errors[0].text];
    vsnprintf(text, sizeof text, format, args);
    plan_errors_add(to, place, text);
}

void load_error(struct load *l, struct yaml_place place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_formatted(l->errors, place, format, args);
    va_end(args);
}

void load_warning(struct load *l, struct yaml_place place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_formatted(l->warnings, place, format, args);
    va_end(args);
}

int load_errors_told(const struct load *l)
{
    return l->errors->count + l->errors->more;
}

struct shown load_show(struct span text)
{
    struct shown s;
    size_t from = 0, used = 0;
    while (from < text.len && used < SHOWN_BYTES_MAX) {
        uint32_t code;
        size_t control = printed_control(text.data + from, text.data + text.len, &code);
        s.text[used++] = control ? '?' : text.data[from];
        from += control ? control : 1;
    }
    if (from < text.len) {
        /* Not in the middle of a character. */
        for (; used > 0 && ((unsigned char)text.data[from] & 0xc0) == 0x80; from--) used--;
        memcpy(s.text + used, "...", 3);
        used += 3;
    }
    s.text[used] = '\0';
    return s;
}

struct shown load_nearest(struct span wanted, const struct span *names, size_t count)
{
    struct shown s = {""};
    struct span near = nearest_name(wanted, names, count);
    if (near.len && near.len <= sizeof s.text - sizeof "; nearest: ``")
        snprintf(s.text, sizeof s.text, "; nearest: `%.*s`", (int)near.len, near.data);
    return s;
}

/* What stands there, for "expected ..., found ...". */
static struct shown found(const struct yaml_tree *node)
{
    if (node->kind == TREE_MAPPING) return load_show(SPAN("a mapping"));
    if (node->kind == TREE_SEQUENCE) return load_show(SPAN("a list"));
    if (yaml_tree_is_null(node)) return load_show(SPAN("nothing"));
    const char *quote = node->style == TREE_PLAIN ? "`" : "\"";
    struct shown s;
    snprintf(s.text, sizeof s.text, "%s%.69s%s", quote, load_show(node->text).text, quote);
    return s;
}

static bool expected(struct load *l, const struct yaml_tree *node, const char *what)
{
    if (node->kind != TREE_UNUSABLE)
        load_error(l, node->place, "expected %s, found %s", what, found(node).text);
    return false;
}

/* ---- mappings and lists ---- */

bool load_is_mapping(struct load *l, const struct yaml_tree *node, const char *what)
{
    return node->kind == TREE_MAPPING || expected(l, node, what);
}

bool load_is_list(struct load *l, const struct yaml_tree *node, const char *what)
{
    return node->kind == TREE_SEQUENCE || expected(l, node, what);
}

struct key_names {
    size_t count;
    struct span names[KEYS_MAX];
};

static struct key_names names_of_keys(const struct key_table *table)
{
    struct key_names n = {.count = table->count};
    INVARIANT(table->count <= KEYS_MAX);
    for (size_t i = 0; i < table->count; i++) n.names[i] = span_of(table->keys[i].name);
    return n;
}

/* The key's place in the table, or the count of it. */
static size_t place_in_table(const struct key_names *n, struct span key)
{
    size_t i = 0;
    while (i < n->count && !span_equal(n->names[i], key)) i++;
    return i;
}

bool load_is_damaged(const struct yaml_tree *mapping)
{
    const struct yaml_tree *child = mapping->first;
    while (child && child->kind != TREE_UNUSABLE && !child->lossy) child = child->next;
    return mapping->lossy || child;
}

bool load_has(const struct yaml_tree *mapping, const struct key_table *table, struct span key)
{
    if (mapping->lossy || yaml_tree_find(mapping, key)) return true;
    struct key_names n = names_of_keys(table);
    for (const struct yaml_tree *node = mapping->first; node; node = node->next)
        if (place_in_table(&n, node->key->text) == n.count &&
            span_equal(nearest_name(node->key->text, n.names, n.count), key))
            return true;
    return false;
}

static void check_key_names(struct load *l, const struct yaml_tree *mapping,
                            const struct key_table *table)
{
    struct key_names n = names_of_keys(table);
    for (const struct yaml_tree *node = mapping->first; node; node = node->next) {
        struct span name = node->key->text;
        size_t i = place_in_table(&n, name);
        if (i == n.count)
            load_error(l, node->key->place, "unknown key `%s`%s%s%s", load_show(name).text,
                       *table->where ? " in " : "", table->where,
                       load_nearest(name, n.names, n.count).text);
        else if (!table->keys[i].read)
            load_error(l, node->key->place, "`%s` is not supported yet", table->keys[i].name);
    }
}

void load_keys(struct load *l, const struct yaml_tree *mapping, const struct key_table *table,
               void *into)
{
    check_key_names(l, mapping, table);
    for (size_t i = 0; i < table->count; i++) {
        const struct key *key = &table->keys[i];
        const struct yaml_tree *node = yaml_tree_find(mapping, span_of(key->name));
        if (node && key->read)
            key->read(l, node, key, into);
        else if (!node && key->required && !load_has(mapping, table, span_of(key->name)))
            load_error(l, mapping->place, "`%s` is missing%s%s", key->name,
                       *table->where ? " in " : "", table->where);
    }
}

/* ---- text ---- */

bool load_text(struct load *l, const struct yaml_tree *node, const char *what, struct span *out)
{
    if (node->kind != TREE_SCALAR || yaml_tree_is_null(node)) return expected(l, node, what);
    *out = node->text;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !is_digit(c) && (c == '\0' || !strchr("_.:-", c))) return false;
    }
    return text.len > 0 && text.len <= NAME_BYTES_MAX;
}

bool load_name(struct load *l, const struct yaml_tree *node, struct span *out)
{
    static const char what[] = "a name (1 to 64 of A-Z a-z 0-9 _ . : -)";
    struct span text;
    if (!load_text(l, node, what, &text)) return false;
    if (!is_name(text)) return expected(l, node, what);
    *out = text;
    return true;
}

void load_key_name(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    struct span text;
    if (load_name(l, node, &text))
        *(struct span *)load_field(into, key) = arena_copy(&l->plan->arena, text);
}

void load_key_salt(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    static const char what[] = "a salt (a text of 1 to 128 bytes without control characters)";
    struct span text;
    if (!load_text(l, node, what, &text)) return;
    bool ok = text.len > 0 && text.len <= SALT_BYTES_MAX;
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f) ok = false;
    if (!ok)
        expected(l, node, what);
    else
        *(struct span *)load_field(into, key) = arena_copy(&l->plan->arena, text);
}

void load_key_word(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    char what[160] = "one of";
    struct span names[KEYS_MAX];
    size_t count = 0, used = strlen(what);
    for (; key->words[count]; count++) {
        names[count] = span_of(key->words[count]);
        used += (size_t)snprintf(what + used, sizeof what - used, " %s", key->words[count]);
        INVARIANT(used < sizeof what);
    }
    struct span text;
    if (!load_text(l, node, what, &text)) return;
    for (size_t i = 0; i < count; i++) {
        if (!span_equal(text, names[i])) continue;
        *(int *)load_field(into, key) = (int)i;
        return;
    }
    load_error(l, node->place, "expected %s, found %s%s", what, found(node).text,
               load_nearest(text, names, count).text);
}

void load_key_bool(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    bool plain = node->kind == TREE_SCALAR && node->style == TREE_PLAIN;
    if (plain && span_is(node->text, "true"))
        *(bool *)load_field(into, key) = true;
    else if (plain && span_is(node->text, "false"))
        *(bool *)load_field(into, key) = false;
    else
        expected(l, node, "true or false");
}

/* ---- numbers ---- */

static bool read_decimal(const struct yaml_tree *node, struct decimal *out)
{
    return node->kind == TREE_SCALAR && node->style == TREE_PLAIN && node->text.len &&
           decimal_read(node->text, out) == node->text.len;
}

bool load_number(struct load *l, const struct yaml_tree *node, double *out)
{
    struct decimal d;
    if (!read_decimal(node, &d) || !isfinite(d.value)) return expected(l, node, "a finite number");
    *out =
        d.value == 0 ? 0 : d.value; /* one zero: -0 would be another plan that decides the same */
    return true;
}

static bool read_integer(struct load *l, const struct yaml_tree *node, const struct key *key,
                         int64_t *out)
{
    struct decimal d;
    if (read_decimal(node, &d) && d.integral && d.integer >= key->min && d.integer <= key->max) {
        *out = d.integer;
        return true;
    }
    char what[80];
    snprintf(what, sizeof what, "a whole number from %lld to %lld", (long long)key->min,
             (long long)key->max);
    return expected(l, node, what);
}

void load_key_int(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    int64_t value;
    if (read_integer(l, node, key, &value)) *(int *)load_field(into, key) = (int)value;
}

void load_key_count(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    read_integer(l, node, key, load_field(into, key));
}

void load_key_double(struct load *l, const struct yaml_tree *node, const struct key *key,
                     void *into)
{
    double value;
    if (!load_number(l, node, &value)) return;
    if (value >= (double)key->min && value <= (double)key->max)
        *(double *)load_field(into, key) = value;
    else
        load_error(l, node->place, "expected a number from %lld to %lld, found %s",
                   (long long)key->min, (long long)key->max, found(node).text);
}

/* Reads digits, and a fraction of at most `decimals` (0 to 6) digits, off the front: the value
 * times ten to the power `decimals`. A text this short cannot overflow it. */
static bool take_fixed(struct span *text, int decimals, int64_t *value)
{
    const char *p = text->data, *end = p + text->len;
    bool ok = text->len > 0 && text->len <= FIXED_BYTES_MAX && is_digit(*p);
    *value = 0;
    for (; ok && p < end && is_digit(*p); p++) *value = *value * 10 + (*p - '0');
    if (ok && p < end && *p == '.') {
        p++;
        ok = p < end && is_digit(*p);
        for (; p < end && is_digit(*p) && decimals > 0; p++, decimals--)
            *value = *value * 10 + (*p - '0');
    }
    for (; ok && decimals > 0; decimals--) *value *= 10;
    *text = (struct span){p, (size_t)(end - p)};
    return ok;
}

bool load_share(struct load *l, const struct yaml_tree *node, uint32_t *ppm)
{
    static const char what[] = "a percentage from 0% to 100%, with at most 4 decimals";
    struct span text;
    int64_t value;
    if (!load_text(l, node, what, &text)) return false;
    if (!take_fixed(&text, 4, &value) || !span_is(text, "%") || value > PPM)
        return expected(l, node, what);
    *ppm = (uint32_t)value;
    return true;
}

void load_key_share(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    load_share(l, node, load_field(into, key));
}

static const struct {
    const char *name;
    int64_t ms;
} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
enum { UNITS = sizeof units / sizeof *units };

/* The largest unit that gives a whole number. */
static const char *duration_text(char text[32], int64_t ms)
{
    size_t unit = UNITS - 1;
    while (unit > 0 && ms % units[unit].ms != 0) unit--;
    if (ms == 0) unit = 1;
    snprintf(text, 32, "%lld%s", (long long)(ms / units[unit].ms), units[unit].name);
    return text;
}

static bool read_duration(struct span text, int64_t *ms)
{
    int64_t thousandths;
    if (!take_fixed(&text, 3, &thousandths)) return false;
    for (size_t i = 0; i < UNITS; i++) {
        if (!span_is(text, units[i].name)) continue;
        __int128 exact = (__int128)thousandths * units[i].ms;
        *ms = (int64_t)(exact / 1000);
        return exact % 1000 == 0 && exact / 1000 <= INT64_MAX;
    }
    return false;
}

void load_key_duration(struct load *l, const struct yaml_tree *node, const struct key *key,
                       void *into)
{
    char what[128], low[32], high[32];
    snprintf(what, sizeof what, "a duration with a unit (ms s m h d) from %s to %s",
             duration_text(low, key->min), duration_text(high, key->max));
    struct span text;
    int64_t ms;
    if (!load_text(l, node, what, &text)) return;
    if (!read_duration(text, &ms) || ms < key->min || ms > key->max)
        expected(l, node, what);
    else
        *(int64_t *)load_field(into, key) = ms;
}

/* ---- references and conditions ---- */

void load_note_bad_name(struct load *l, const struct yaml_tree *node, enum load_part part)
{
    enum { MAX = sizeof l->bad_names / sizeof *l->bad_names };
    if (node && node->kind == TREE_SCALAR && !yaml_tree_is_null(node) && l->bad_name_count < MAX)
        l->bad_names[l->bad_name_count++] = node->text;
    else
        l->unread |= part;
}

static int name_of_list(struct load *l, const struct yaml_tree *node, const char *what,
                        const struct span *names, int count, enum load_part part)
{
    struct span name;
    if (!load_name(l, node, &name)) return -1;
    for (int i = 0; i < count; i++)
        if (span_equal(names[i], name)) return i;
    if (l->unread & part || nearest_name(name, l->bad_names, l->bad_name_count).len) return -1;
    if (count) /* an empty list has its own error */
        load_error(l, node->place, "the plan has no %s `%s`%s", what, load_show(name).text,
                   load_nearest(name, names, (size_t)count).text);
    return -1;
}

int load_action_name(struct load *l, const struct yaml_tree *node)
{
    struct span names[ACTIONS_MAX];
    for (int i = 0; i < l->plan->actions.count; i++) names[i] = l->plan->actions.actions[i].name;
    return name_of_list(l, node, "action", names, l->plan->actions.count, UNREAD_ACTIONS);
}

int load_variant_name(struct load *l, const struct yaml_tree *node)
{
    struct span names[PLAN_VARIANTS_MAX];
    for (int i = 0; i < l->plan->variant_count; i++) names[i] = l->plan->variants[i].name;
    return name_of_list(l, node, "variant", names, l->plan->variant_count, UNREAD_VARIANTS);
}

int load_policy_name(struct load *l, const struct yaml_tree *node)
{
    struct span names[PLAN_POLICIES_MAX];
    for (int i = 0; i < l->plan->policy_count; i++) names[i] = l->plan->policies[i].name;
    return name_of_list(l, node, "policy", names, l->plan->policy_count, UNREAD_POLICIES);
}

void load_condition(struct load *l, const struct yaml_tree *node, const struct rule **out)
{
    struct span text;
    struct err e;
    if (node->kind == TREE_MAPPING || node->kind == TREE_SEQUENCE) {
        load_error(l, node->place,
                   "expected a condition, found %s: quote one that begins with `{` or `[`",
                   found(node).text);
        return;
    }
    if (!load_text(l, node, "a condition", &text)) return;
    if (rule_compile(&l->plan->arena, &l->rule_scratch, &l->plan->schema, text, out, &e) == ERR_OK)
        return;
    /* What an attribute is may not be known; what is no condition is none, whatever it is. */
    if (l->unread & UNREAD_ATTRIBUTES && rule_parses(&l->rule_scratch, text)) return;
    struct yaml_place place = yaml_tree_locate(l->text, node, e.offset);
    bool may_be_cut = e.offset == text.len && node->style == TREE_PLAIN;
    char cut = may_be_cut ? yaml_walk_cut_by(l->text, place) : '\0';
    load_error(l, place, "%s%s", e.text,
               cut == '#'   ? ": ` #` begins a comment, so quote a condition that holds it"
               : cut == ',' ? ": a comma ends a text between brackets, so quote a condition that "
                              "holds one"
                            : "");
}

void load_key_condition(struct load *l, const struct yaml_tree *node, const struct key *key,
                        void *into)
{
    load_condition(l, node, load_field(into, key));
}
