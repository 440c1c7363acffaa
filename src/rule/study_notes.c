/* The faults of a condition, in words. */
#include "rule/study.h"

#include "base/nearest.h"

#include <stdarg.h>
#include <stdio.h>

static struct rule_note *note_add(struct rule_notes *notes, uint32_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* NULL: it does not fit. */
static struct rule_note *note_add(struct rule_notes *notes, uint32_t at, const char *format, ...)
{
    if (notes->count == RULE_NOTES_MAX) return NULL;
    struct rule_note *note = &notes->notes[notes->count++];
    note->at = at;
    note->whole = false;
    va_list args;
    va_start(args, format);
    vsnprintf(note->text, sizeof note->text, format, args);
    va_end(args);
    return note;
}

/* The note says what becomes of all from `first` to `last`: is that the whole condition? */
static void note_mark_whole(const struct rule_study *study, const struct node *first,
                            const struct node *last, struct rule_note *note)
{
    if (note) note->whole = first->at == 0 && last->end == study->text.len;
}

enum { PIECE_BYTES_MAX = 64 };

/* A piece of the condition, to stand in a message. */
struct piece {
    char text[96];
};

static struct piece piece_of(struct span text, uint32_t at, uint32_t end)
{
    struct piece p = {"this"};
    if (end - at > PIECE_BYTES_MAX) return p;
    for (uint32_t i = at; i < end; i++)
        if (text.data[i] < ' ' || text.data[i] > '~') return p;
    snprintf(p.text, sizeof p.text, "`%.*s`", (int)(end - at), text.data + at);
    return p;
}

static struct piece piece_of_node(const struct rule_study *study, const struct node *n)
{
    return piece_of(study->text, n->at, n->end);
}

static const char *holds_in_words(enum rule_course course)
{
    return course == RULE_NEVER_HOLDS ? "never holds" : "always holds";
}

/* "`hour` is 0 to 23" between `before` and `after`; "" where nothing is known of the attribute. */
static struct piece range_in_words(const struct rule_study *study, int slot, const char *before,
                                   const char *after)
{
    struct piece p = {""};
    if (slot < 0) return p;
    const struct attribute *a = &study->context->schema->attributes[slot];
    const char *range = slot == ATTRIBUTE_SLOT_HOUR                                   ? "0 to 23"
                        : slot == ATTRIBUTE_SLOT_WEEKDAY                              ? "0 to 6"
                        : a->type == ATTRIBUTE_INT && a->source != ATTRIBUTE_DECLARED ? "0 or more"
                                                                                      : NULL;
    if (range)
        snprintf(p.text, sizeof p.text, "%s`%s` is %s%s", before, a->name.data, range, after);
    return p;
}

/* ---- names and numbers that an attribute never equals ---- */

/* What a comparison with one literal is: of no note, or one that was told. */
enum equality { EQUALITY_POSSIBLE, EQUALITY_TOLD, EQUALITY_NEVER };

static enum equality name_study(const struct rule_names *names, const struct node *literal,
                                struct rule_notes *notes)
{
    struct span name = literal->value.s;
    if (!names->count) return EQUALITY_POSSIBLE;
    for (int i = 0; i < names->count; i++)
        if (span_equal(names->names[i], name)) return EQUALITY_POSSIBLE;
    struct span near = nearest_name(name, names->names, (size_t)names->count);
    struct piece shown = piece_of(name, 0, (uint32_t)name.len);
    if (shown.text[0] != '`') shown = (struct piece){"of that name"};
    if (near.len)
        note_add(notes, literal->at, "the plan has no %s %s; nearest: `%.*s`", names->what,
                 shown.text, (int)near.len, near.data);
    else
        note_add(notes, literal->at, "the plan has no %s %s", names->what, shown.text);
    return names->closed ? EQUALITY_NEVER : EQUALITY_TOLD;
}

static enum equality number_study(const struct rule_study *study, int slot,
                                  const struct node *literal, struct rule_notes *notes)
{
    const struct attribute *a = &study->context->schema->attributes[slot];
    double d = literal->type == ATTRIBUTE_INT ? (double)literal->value.i : literal->value.d;
    if (literal->type == ATTRIBUTE_DOUBLE && d > -0x1p62 && d < 0x1p62 && (double)(int64_t)d != d) {
        note_add(notes, literal->at, "`%s` is a whole number: it never equals %s", a->name.data,
                 piece_of_node(study, literal).text);
        return EQUALITY_NEVER;
    }
    double max = slot == ATTRIBUTE_SLOT_HOUR ? 23 : slot == ATTRIBUTE_SLOT_WEEKDAY ? 6 : 0x1p64;
    if (a->source == ATTRIBUTE_DECLARED || (d >= 0 && d <= max)) return EQUALITY_POSSIBLE;
    note_add(notes, literal->at, "%s it never equals %s", range_in_words(study, slot, "", ":").text,
             piece_of_node(study, literal).text);
    return EQUALITY_NEVER;
}

static enum equality equality_study(const struct rule_study *study, const struct node *name,
                                    const struct node *literal, struct rule_notes *notes)
{
    if (name->kind != NODE_NAME || literal->kind != NODE_LITERAL) return EQUALITY_POSSIBLE;
    if (name->slot == ATTRIBUTE_SLOT_VARIANT)
        return name_study(&study->context->variants, literal, notes);
    if (name->slot == ATTRIBUTE_SLOT_SEGMENT_ID)
        return name_study(&study->context->segments, literal, notes);
    if (name->type == ATTRIBUTE_INT) return number_study(study, name->slot, literal, notes);
    return EQUALITY_POSSIBLE;
}

/* True: its fault is told, and *course is what follows from that. */
static bool relation_told(const struct rule_study *study, const struct node *n,
                          struct rule_notes *notes, enum rule_course *course)
{
    const struct node *left = n->operands, *right = left->next;
    bool same = right->joined_by == TOKEN_EQUAL, other = right->joined_by == TOKEN_NOT_EQUAL;
    bool told = false, possible = false;
    if (right->joined_by == TOKEN_IN) {
        for (const struct node *item = right->operands; item; item = item->next) {
            enum equality e = equality_study(study, left, item, notes);
            told = told || e != EQUALITY_POSSIBLE;
            possible = possible || e != EQUALITY_NEVER;
        }
    } else if (same || other) {
        enum equality e = equality_study(study, left, right, notes);
        if (e == EQUALITY_POSSIBLE) e = equality_study(study, right, left, notes);
        told = e != EQUALITY_POSSIBLE;
        possible = e != EQUALITY_NEVER;
    }
    *course = possible ? RULE_VARIES : other ? RULE_ALWAYS_HOLDS : RULE_NEVER_HOLDS;
    return told;
}

/* ---- what study.h promises ---- */

enum rule_course leaf_study(const struct rule_study *study, const struct part *leaf,
                            struct rule_notes *notes)
{
    enum rule_course course;
    const struct node *n = leaf->node;
    if (n->kind == NODE_RELATION && relation_told(study, n, notes, &course)) return course;
    int slot = slot_alone(leaf->rule);
    if (slot < -1) return RULE_VARIES;
    struct outcomes o = outcomes_find(study->context, leaf->rule, slot);
    course = outcomes_course(&o);
    if (course == RULE_VARIES) return course;
    struct rule_note *note =
        note_add(notes, n->at, "%s %s%s", piece_of_node(study, n).text, holds_in_words(course),
                 range_in_words(study, slot, ": ", "").text);
    note_mark_whole(study, n, n, note);
    return course;
}

void note_together(const struct rule_study *study, const struct part *first, int slot,
                   enum rule_course course, struct rule_notes *notes)
{
    const struct part *last = first;
    for (const struct part *of = first; of; of = of->next)
        if (slot_alone(of->rule) == slot) last = of;
    struct rule_note *note =
        note_add(notes, first->node->at, "%s %s: %s of `%s` meets it",
                 piece_of(study->text, first->node->at, last->node->end).text,
                 holds_in_words(course), course == RULE_NEVER_HOLDS ? "no value" : "every value",
                 study->context->schema->attributes[slot].name.data);
    note_mark_whole(study, first->node, last->node, note);
}

void note_whole(const struct rule_study *study, struct rule_notes *notes)
{
    if (study->root->course == RULE_VARIES) return;
    for (int i = 0; i < notes->count; i++) {
        struct rule_note *note = &notes->notes[i];
        size_t used = strlen(note->text);
        if (note->whole) continue;
        snprintf(note->text + used, sizeof note->text - used, "; so the condition %s",
                 holds_in_words(study->root->course));
    }
}
