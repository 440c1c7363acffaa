#include "plan/yaml_pairs.h"

#include "plan/yaml_walk.h"

#include <stdio.h>

enum {
    HALF_BYTES = 6, /* \uXXXX */
    PAIR_BYTES = 2 * HALF_BYTES,
    MARKER_FIRST = 0xe000, /* private use: no plan needs them */
    MARKER_COUNT = 0xf900 - MARKER_FIRST,
    MARKER_BYTES = 3,
};

/* ---- finding ---- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Four hexadecimal digits, or -1. */
static int32_t four_digits(const char *text)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(text[i]);
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* The half at these HALF_BYTES, if it is one of the range's 1024; or -1. */
static int32_t half(const char *text, int32_t range)
{
    int32_t value = text[0] == '\\' && text[1] == 'u' ? four_digits(text + 2) : -1;
    return value >= range && value < range + 0x400 ? value - range : -1;
}

bool yaml_pair_here(struct span text, size_t at, uint32_t *code)
{
    if (text.len < PAIR_BYTES || at > text.len - PAIR_BYTES) return false;
    int32_t high = half(text.data + at, 0xd800), low = half(text.data + at + HALF_BYTES, 0xdc00);
    if (high < 0 || low < 0) return false;
    *code = 0x10000 + ((uint32_t)high << 10 | (uint32_t)low);
    return true;
}

/* Behind an odd number of backslashes, the one here is escaped itself. */
static bool is_escaped(struct span text, size_t at)
{
    size_t before = 0;
    while (before < at && text.data[at - 1 - before] == '\\') before++;
    return before % 2 == 1;
}

/* A code point of private use that the text has neither as it is nor as digits; 0: there is none.
 */
static uint32_t marker_find(struct span text)
{
    bool taken[MARKER_COUNT] = {false};
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char *p = (const unsigned char *)text.data + i;
        int32_t code = text.len - i >= 4 ? four_digits((const char *)p) : -1;
        if (text.len - i >= MARKER_BYTES && p[0] >> 4 == 0xe)
            code = (p[0] & 0x0f) << 12 | (p[1] & 0x3f) << 6 | (p[2] & 0x3f);
        if (code >= MARKER_FIRST && code < MARKER_FIRST + MARKER_COUNT)
            taken[code - MARKER_FIRST] = true;
    }
    for (uint32_t i = 0; i < MARKER_COUNT; i++)
        if (!taken[i]) return MARKER_FIRST + i;
    return 0;
}

static size_t pairs_count(struct span text)
{
    size_t count = 0;
    uint32_t code;
    for (size_t at = 0; at < text.len; at++)
        if (text.data[at] == '\\' && yaml_pair_here(text, at, &code) && !is_escaped(text, at))
            count++;
    return count;
}

static void spell_marker(const struct yaml_pairs *p, char spelled[PAIR_BYTES + 1])
{
    snprintf(spelled, PAIR_BYTES + 1, "\\u%04x\\u%04x", p->marker, p->marker);
}

void yaml_pairs_find(struct arena *arena, struct span text, struct yaml_pairs *out)
{
    *out = (struct yaml_pairs){.original = text, .text = text};
    size_t count = pairs_count(text);
    if (!count || !(out->marker = marker_find(text))) return;
    out->pairs = arena_alloc(arena, count * sizeof *out->pairs);
    char *changed = arena_alloc(arena, text.len), spelled[PAIR_BYTES + 1];
    memcpy(changed, text.data, text.len);
    spell_marker(out, spelled);
    for (struct yaml_walk w = yaml_walk_start(text); !yaml_walk_ended(&w); yaml_walk_step(&w)) {
        uint32_t code;
        if (yaml_walk_byte(&w) != '\\' || !yaml_pair_here(text, w.at, &code) ||
            is_escaped(text, w.at))
            continue;
        out->pairs[out->count++] = (struct yaml_pair){w.place, w.at, code};
        memcpy(changed + w.at, spelled, PAIR_BYTES);
    }
    out->text.data = changed;
}

/* ---- putting right ---- */

static size_t put_code(char *out, uint32_t code)
{
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* The next pair of the scalar, or NULL. A block's first line is no part of its text. */
static const struct yaml_pair *next_pair(struct yaml_pairs *p, const struct yaml_tree *scalar,
                                         size_t end)
{
    while (p->next < p->count) {
        const struct yaml_pair *pair = &p->pairs[p->next];
        if (pair->place.index >= end) return NULL;
        p->next++;
        bool header = scalar->style == TREE_BLOCK && pair->place.line == scalar->place.line;
        if (pair->place.index >= scalar->place.index && !header) return pair;
    }
    return NULL;
}

struct span yaml_pairs_restore(struct yaml_pairs *p, struct arena *arena,
                               const struct yaml_tree *scalar, size_t end)
{
    const struct yaml_pair *pair = next_pair(p, scalar, end);
    if (!pair) return scalar->text;
    /* In double quotes a pair became two characters; elsewhere it stands as it was spelled. */
    char wanted[PAIR_BYTES + 1];
    size_t bytes = PAIR_BYTES;
    spell_marker(p, wanted);
    if (scalar->style == TREE_DOUBLE) {
        bytes = 2 * MARKER_BYTES;
        for (size_t i = 0; i < bytes; i += MARKER_BYTES) {
            wanted[i] = (char)(0xe0 | p->marker >> 12);
            wanted[i + 1] = (char)(0x80 | (p->marker >> 6 & 0x3f));
            wanted[i + 2] = (char)(0x80 | (p->marker & 0x3f));
        }
    }
    struct span text = scalar->text;
    char *out = arena_alloc(arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len;) {
        if (!pair || text.len - i < bytes || memcmp(text.data + i, wanted, bytes) != 0) {
            out[len++] = text.data[i++];
            continue;
        }
        if (scalar->style == TREE_DOUBLE) {
            len += put_code(out + len, pair->code);
        } else {
            memcpy(out + len, p->original.data + pair->at, PAIR_BYTES);
            len += PAIR_BYTES;
        }
        i += bytes;
        pair = next_pair(p, scalar, end);
    }
    out[len] = '\0';
    return (struct span){out, len};
}
