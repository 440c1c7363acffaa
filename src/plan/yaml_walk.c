/* Undoing what YAML does to a scalar.
 *
 * Folding, indentation and line continuation change white space only: the characters that are none
 * stand in the file in the same order and number as in the decoded text, once escapes and doubled
 * quotes are taken as the one character that they are. So the n-th such character of the decoded
 * text is the n-th in the file, in every style, without knowing the rules of folding. */
#include "plan/yaml_walk.h"

#include "plan/yaml_pairs.h"

struct yaml_walk yaml_walk_start(struct span text)
{
    return (struct yaml_walk){text, 0, {1, 1, 0}};
}

size_t yaml_walk_break(const struct yaml_walk *w)
{
    const unsigned char *p = (const unsigned char *)w->text.data + w->at;
    size_t left = w->text.len - w->at;
    if (!left) return 0;
    if (p[0] == '\r') return left > 1 && p[1] == '\n' ? 2 : 1;
    if (p[0] == '\n') return 1;
    if (left > 1 && p[0] == 0xc2 && p[1] == 0x85) return 2;
    if (left > 2 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9)) return 3;
    return 0;
}

static size_t character_bytes(const struct yaml_walk *w)
{
    unsigned char lead = (unsigned char)w->text.data[w->at];
    size_t bytes = lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 1;
    if (bytes > w->text.len - w->at) return 1;
    for (size_t i = 1; i < bytes; i++)
        if (((unsigned char)w->text.data[w->at + i] & 0xc0) != 0x80) return 1;
    return bytes;
}

void yaml_walk_step(struct yaml_walk *w)
{
    if (yaml_walk_ended(w)) return;
    size_t line_break = yaml_walk_break(w);
    if (line_break) {
        w->place.index += line_break == 2 && w->text.data[w->at] == '\r' ? 2 : 1;
        w->place.line++;
        w->place.column = 1;
        w->at += line_break;
        return;
    }
    w->at += character_bytes(w);
    w->place.index++;
    w->place.column++;
}

struct yaml_place yaml_walk_to_byte(struct span text, size_t byte)
{
    struct yaml_walk w = yaml_walk_start(text), before = w;
    while (w.at <= byte && !yaml_walk_ended(&w)) {
        before = w;
        yaml_walk_step(&w);
    }
    return w.at <= byte ? w.place : before.place;
}

struct yaml_walk yaml_walk_to(struct span text, struct yaml_place place)
{
    struct yaml_walk w = yaml_walk_start(text);
    while (!yaml_walk_ended(&w) && w.place.index < place.index) yaml_walk_step(&w);
    return w;
}

char yaml_walk_cut_by(struct span text, struct yaml_place place)
{
    struct yaml_walk w = yaml_walk_to(text, place);
    size_t from = w.at;
    while (yaml_walk_byte(&w) == ' ' || yaml_walk_byte(&w) == '\t') yaml_walk_step(&w);
    char c = yaml_walk_byte(&w);
    return c == ',' || (c == '#' && w.at > from) ? c : '\0';
}

static bool is_white(const struct yaml_walk *w)
{
    char c = yaml_walk_byte(w);
    return c == ' ' || c == '\t' || yaml_walk_break(w) != 0;
}

/* How many characters after the backslash of a double-quoted escape belong to it. */
static int escape_length(char code)
{
    return code == 'x' ? 3 : code == 'u' ? 5 : code == 'U' ? 9 : 1;
}

/* An escape that stands for white space, or for nothing (a continued line). */
static bool escape_is_white(struct yaml_walk after_backslash)
{
    char c = yaml_walk_byte(&after_backslash);
    if (yaml_walk_break(&after_backslash)) return true;
    return c == ' ' || c == 't' || c == '\t' || c == 'n' || c == 'r' || c == 'N' || c == 'L' ||
           c == 'P';
}

/* Over one character of the decoded text as the file spells it. True if it is no white space. */
static bool step_spelled(struct yaml_walk *w, enum yaml_tree_style style)
{
    if (style == TREE_DOUBLE && yaml_walk_byte(w) == '\\') {
        uint32_t code;
        if (yaml_pair_here(w->text, w->at, &code)) { /* one character */
            for (int n = 0; n < 12; n++) yaml_walk_step(w);
            return true;
        }
        yaml_walk_step(w);
        bool white = escape_is_white(*w);
        for (int n = escape_length(yaml_walk_byte(w)); n > 0; n--) yaml_walk_step(w);
        return !white;
    }
    bool white = is_white(w);
    bool quote = style == TREE_SINGLE && yaml_walk_byte(w) == '\'';
    yaml_walk_step(w);
    if (quote && yaml_walk_byte(w) == '\'') yaml_walk_step(w);
    return !white;
}

/* To where the scalar's characters begin: after the quote, or after a block's first line. */
static struct yaml_walk enter_scalar(struct span text, const struct yaml_tree *scalar)
{
    struct yaml_walk w = yaml_walk_start(text);
    while (w.place.index < scalar->place.index && !yaml_walk_ended(&w)) yaml_walk_step(&w);
    if (scalar->style == TREE_SINGLE || scalar->style == TREE_DOUBLE) yaml_walk_step(&w);
    if (scalar->style == TREE_BLOCK) {
        while (!yaml_walk_ended(&w) && !yaml_walk_break(&w)) yaml_walk_step(&w);
        yaml_walk_step(&w);
    }
    return w;
}

struct yaml_place yaml_tree_locate(struct span text, const struct yaml_tree *scalar, size_t offset)
{
    struct yaml_walk decoded = yaml_walk_start(scalar->text);
    size_t solid = 0, white = 0; /* characters before `offset`; white ones since the last other */
    while (decoded.at < offset && !yaml_walk_ended(&decoded)) {
        if (is_white(&decoded))
            white++;
        else
            solid++, white = 0;
        yaml_walk_step(&decoded);
    }
    bool at_solid = !yaml_walk_ended(&decoded) && !is_white(&decoded);

    struct yaml_walk w = enter_scalar(text, scalar);
    while (solid && !yaml_walk_ended(&w)) solid -= step_spelled(&w, scalar->style);
    if (at_solid) {
        /* On to the character itself, over whatever white space the file has before it. */
        for (struct yaml_walk next = w; !yaml_walk_ended(&next); w = next)
            if (step_spelled(&next, scalar->style)) break;
        return w.place;
    }
    for (; white && !yaml_walk_ended(&w) && is_white(&w) && !yaml_walk_break(&w); white--)
        yaml_walk_step(&w);
    return w.place;
}
