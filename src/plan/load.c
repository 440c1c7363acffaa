#include "plan/key.h"

#include "base/decimal.h"
#include "base/nearest.h"
#include "base/printed.h"
#include "plan/units.h"
#include "plan/yaml_walk.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { SHOWN_BYTES_MAX = 64, WORDS_MAX = 16 };

/* ---- reporting errors ---- */

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

static void add_fault(void *owner, struct yaml_place place, const char *text)
{
    load_error(owner, place, "%s", text);
}

struct yaml_faults load_faults(struct load *l)
{
    return (struct yaml_faults){add_fault, l};
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

bool load_expected(struct load *l, const struct yaml_tree *node, const char *what)
{
    if (node->kind != TREE_UNUSABLE)
        load_error(l, node->place, "expected %s, found %s", what, found(node).text);
    return false;
}

/* ---- mappings and lists ---- */

bool load_is_mapping(struct load *l, const struct yaml_tree *node, const char *what)
{
    return node->kind == TREE_MAPPING || load_expected(l, node, what);
}

bool load_is_list(struct load *l, const struct yaml_tree *node, const char *what)
{
    return node->kind == TREE_SEQUENCE || load_expected(l, node, what);
}

bool load_is_damaged(const struct yaml_tree *mapping)
{
    const struct yaml_tree *child = mapping->first;
    while (child && child->kind != TREE_UNUSABLE && !child->lossy) child = child->next;
    return mapping->lossy || child;
}

bool load_count(struct load *l, const struct yaml_tree *node, const struct key *key,
                const char *of_what)
{
    bool enough = node->count >= key->min || node->lossy;
    if (enough && node->count <= key->max) return true;
    if (key->min)
        load_error(l, node->place, "expected %d to %d %s, found %u", (int)key->min, (int)key->max,
                   of_what, node->count);
    else
        load_error(l, node->place, "expected at most %d %s, found %u", (int)key->max, of_what,
                   node->count);
    return false;
}

/* ---- values ---- */

bool load_text(struct load *l, const struct yaml_tree *node, const char *what, struct span *out)
{
    if (node->kind != TREE_SCALAR || yaml_tree_is_null(node)) return load_expected(l, node, what);
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
    if (!is_name(text)) return load_expected(l, node, what);
    *out = text;
    return true;
}

/* "one of a b c". */
static void words_list(char *out, size_t size, const char *const *words)
{
    size_t used = (size_t)snprintf(out, size, "one of");
    for (; *words; words++) {
        used += (size_t)snprintf(out + used, size - used, " %s", *words);
        INVARIANT(used < size);
    }
}

int load_word(struct load *l, const struct yaml_tree *node, const char *const *words)
{
    char what[160];
    struct span names[WORDS_MAX], text;
    words_list(what, sizeof what, words);
    if (!load_text(l, node, what, &text)) return -1;
    size_t count = 0;
    for (; words[count]; count++) {
        INVARIANT(count < WORDS_MAX);
        names[count] = span_of(words[count]);
        if (span_equal(text, names[count])) return (int)count;
    }
    load_error(l, node->place, "expected %s, found %s%s", what, found(node).text,
               load_nearest(text, names, count).text);
    return -1;
}

static bool read_decimal(const struct yaml_tree *node, struct decimal *out)
{
    return node->kind == TREE_SCALAR && node->style == TREE_PLAIN && node->text.len &&
           decimal_read(node->text, out) == node->text.len;
}

bool load_number(struct load *l, const struct yaml_tree *node, double *out)
{
    struct decimal d;
    if (!read_decimal(node, &d) || !isfinite(d.value))
        return load_expected(l, node, "a finite number");
    *out =
        d.value == 0 ? 0 : d.value; /* one zero: -0 would be another plan that decides the same */
    return true;
}

bool load_share(struct load *l, const struct yaml_tree *node, uint32_t *ppm)
{
    static const char what[] = "a percentage from 0% to 100%, with at most 4 decimals";
    struct span text;
    if (!load_text(l, node, what, &text)) return false;
    return share_read(text, ppm) || load_expected(l, node, what);
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

/* What YAML may have cut off an unquoted condition. */
static const char *cut_hint(const struct load *l, const struct yaml_tree *node,
                            struct yaml_place place, bool at_end)
{
    char cut = at_end && node->style == TREE_PLAIN ? yaml_walk_cut_by(l->text, place) : '\0';
    return cut == '#'   ? ": ` #` begins a comment, so quote a condition that holds it"
           : cut == ',' ? ": a comma ends a text between brackets, so quote a condition that holds "
                          "one"
                        : "";
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
    load_error(l, place, "%s%s", e.text, cut_hint(l, node, place, e.offset == text.len));
}
