#include "plan/yaml_tree.h"

#include "base/err.h"
#include "plan/yaml_pairs.h"
#include "plan/yaml_trap.h"
#include "plan/yaml_walk.h"

#include <stdio.h>
#include <yaml.h>

struct builder {
    struct arena *arena;
    struct span text;
    struct yaml_place end; /* of the text */
    yaml_parser_t parser;
    yaml_event_t event; /* the one that is being read; all zero: none */
    const struct yaml_faults *faults;
    struct yaml_place last; /* of the last fault */
    struct yaml_pairs pairs;
};

/* libyaml behaves as if a text without a final line break had one: what it finds missing at the end
 * it finds in a line that is not there. */
static struct yaml_place place_of(const struct builder *b, yaml_mark_t mark)
{
    struct yaml_place place = {(uint32_t)mark.line + 1, (uint32_t)mark.column + 1, mark.index};
    return place.line > b->end.line ? b->end : place;
}

static void fault(struct builder *b, struct yaml_place place, const char *text)
{
    b->last = place;
    b->faults->add(b->faults->owner, place, text);
}

/* libyaml tells where the bytes are wrong in bytes, and where the grammar is in lines. */
static void fault_of_parser(struct builder *b)
{
    const yaml_parser_t *p = &b->parser;
    /* Within a tag, libyaml fails for lack of memory without a word. */
    if (p->error == YAML_MEMORY_ERROR || p->error == YAML_NO_ERROR) arena_no_memory(b->arena);
    char text[200];
    if (p->error == YAML_READER_ERROR) {
        snprintf(text, sizeof text, "not UTF-8 text: %s", p->problem);
        fault(b, yaml_walk_to_byte(b->text, p->problem_offset), text);
        return;
    }
    struct yaml_place place = place_of(b, p->problem_mark), from = place_of(b, p->context_mark);
    if (p->problem && strstr(p->problem, "invalid Unicode character escape code")) {
        /* libyaml stands behind the backslash and its letter. */
        place.column -= 2;
        place.index -= 2;
        fault(b, place,
              "not valid YAML: no character: half of one needs its other half beside it, as in "
              "\\ud83d\\ude00");
        return;
    }
    struct yaml_trap trap;
    if (yaml_trap_find(b->text, place, &trap)) {
        snprintf(text, sizeof text, "not valid YAML: %s", trap.text);
        /* An alias that was told, and what could not follow it, are one fault. */
        if (!b->last.line || b->last.index != trap.place.index) fault(b, trap.place, text);
        return;
    }
    bool colon = p->problem && strstr(p->problem, "mapping values are not allowed");
    char since[64] = "";
    /* What is not closed is missed far from where it begins. */
    if (p->context && from.line < place.line)
        snprintf(since, sizeof since, " (it begins at line %u, column %u)", from.line, from.column);
    snprintf(text, sizeof text, "not valid YAML: %s%s%s%s%s", p->context ? p->context : "", since,
             p->context ? ", " : "", p->problem ? p->problem : "unreadable",
             colon ? ": quote a text that holds `: `" : "");
    fault(b, place, text);
}

/* NULL: the text cannot be read on. The event lives until the next one is asked for. */
static const yaml_event_t *next_event(struct builder *b)
{
    yaml_event_delete(&b->event);
    if (yaml_parser_parse(&b->parser, &b->event)) return &b->event;
    fault_of_parser(b);
    return NULL;
}

static struct yaml_tree *node_new(struct builder *b, enum yaml_tree_kind kind, yaml_mark_t mark)
{
    struct yaml_tree *node = arena_alloc(b->arena, sizeof *node);
    node->kind = kind;
    node->place = place_of(b, mark);
    return node;
}

/* False: there is one. A text that begins with one's sign is seldom meant to be one. */
static bool refuse_decoration(struct builder *b, const yaml_event_t *event, const void *anchor,
                              const void *tag)
{
    struct yaml_place place = place_of(b, event->start_mark);
    if (anchor)
        fault(b, place, "anchors are not allowed in a plan: quote a text that begins with `&`");
    if (tag) fault(b, place, "tags are not allowed in a plan: quote a text that begins with `!`");
    return !anchor && !tag;
}

static enum yaml_tree_style style_of(yaml_scalar_style_t style)
{
    switch (style) {
    case YAML_SINGLE_QUOTED_SCALAR_STYLE:
        return TREE_SINGLE;
    case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
        return TREE_DOUBLE;
    case YAML_LITERAL_SCALAR_STYLE:
    case YAML_FOLDED_SCALAR_STYLE:
        return TREE_BLOCK;
    default:
        return TREE_PLAIN;
    }
}

static struct yaml_tree *build_scalar(struct builder *b, const yaml_event_t *event)
{
    struct yaml_tree *node = node_new(b, TREE_SCALAR, event->start_mark);
    node->style = style_of(event->data.scalar.style);
    struct span text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    node->text = arena_copy(b->arena, text);
    if (b->pairs.count)
        node->text = yaml_pairs_restore(&b->pairs, b->arena, node, event->end_mark.index);
    if (!refuse_decoration(b, event, event->data.scalar.anchor, event->data.scalar.tag))
        node->kind = TREE_UNUSABLE;
    return node;
}

static struct yaml_tree *build(struct builder *b, const yaml_event_t *event, int depth);

/* Whether the key can be kept. Of one that stands twice, the first is; both may have been meant. */
static bool check_key(struct builder *b, struct yaml_tree *mapping, const struct yaml_tree *key)
{
    mapping->lossy = mapping->lossy || key->kind != TREE_SCALAR;
    if (key->kind == TREE_UNUSABLE) return false;
    if (key->kind != TREE_SCALAR) {
        fault(b, key->place, "a key must be a name, not a mapping or a list");
        return false;
    }
    struct yaml_tree *before = mapping->first;
    while (before && !span_equal(before->key->text, key->text)) before = before->next;
    if (!before) return true;
    before->lossy = true;
    char text[120];
    snprintf(text, sizeof text, "this key already stands in line %u: a key may stand once",
             before->key->place.line);
    fault(b, key->place, text);
    return false;
}

/* Where a mapping's child belongs: the byte order of the keys. */
static struct yaml_tree **place_of_key(struct yaml_tree *mapping, struct span key)
{
    struct yaml_tree **at = &mapping->first;
    while (*at && span_compare((*at)->key->text, key) < 0) at = &(*at)->next;
    return at;
}

/* The rest of a mapping or sequence whose start was read. False: the text cannot be read on. */
static bool build_children(struct builder *b, struct yaml_tree *parent, int depth)
{
    struct yaml_tree **end = &parent->first;
    const struct yaml_tree *key = NULL;
    for (;;) {
        const yaml_event_t *event = next_event(b);
        if (!event) return false;
        if (event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT)
            return true;
        struct yaml_tree *child = build(b, event, depth);
        if (!child) return false;

        if (parent->kind == TREE_MAPPING && !key) {
            key = child;
            continue;
        }
        bool keep = parent->kind == TREE_SEQUENCE || check_key(b, parent, key);
        child->key = key;
        key = NULL;
        if (!keep) continue;
        if (parent->count == YAML_TREE_ENTRIES_MAX) {
            fault(b, child->place, "more than 1024 entries in one mapping or list");
            return false;
        }
        parent->count++;
        if (child->key) end = place_of_key(parent, child->key->text);
        child->next = *end;
        *end = child;
        end = &child->next;
    }
}

static struct yaml_tree *build_collection(struct builder *b, const yaml_event_t *event, int depth)
{
    bool mapping = event->type == YAML_MAPPING_START_EVENT;
    struct yaml_tree *node = node_new(b, mapping ? TREE_MAPPING : TREE_SEQUENCE, event->start_mark);
    if (mapping)
        refuse_decoration(b, event, event->data.mapping_start.anchor,
                          event->data.mapping_start.tag);
    else
        refuse_decoration(b, event, event->data.sequence_start.anchor,
                          event->data.sequence_start.tag);
    if (depth == YAML_TREE_DEPTH_MAX) {
        fault(b, node->place, "nested deeper than 32 levels");
        return NULL;
    }
    return build_children(b, node, depth + 1) ? node : NULL;
}

/* NULL: the text cannot be read on. */
static struct yaml_tree *build(struct builder *b, const yaml_event_t *event, int depth)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return build_scalar(b, event);
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        return build_collection(b, event, depth);
    default:
        INVARIANT(event->type == YAML_ALIAS_EVENT);
        fault(b, place_of(b, event->start_mark),
              "aliases are not allowed in a plan: write the value out, or quote a text that begins "
              "with "
              "`*`");
        return node_new(b, TREE_UNUSABLE, event->start_mark);
    }
}

/* The start of the next document's root. NULL: there is none, or the text cannot be read. */
static const yaml_event_t *enter_document(struct builder *b)
{
    for (;;) {
        const yaml_event_t *event = next_event(b);
        if (!event) return NULL;
        if (event->type == YAML_STREAM_END_EVENT) {
            fault(b, place_of(b, event->start_mark), "the plan is empty");
            return NULL;
        }
        if (event->type != YAML_STREAM_START_EVENT && event->type != YAML_DOCUMENT_START_EVENT)
            return event;
    }
}

static bool leave_document(struct builder *b)
{
    for (;;) {
        const yaml_event_t *event = next_event(b);
        if (!event) return false;
        if (event->type == YAML_STREAM_END_EVENT) return true;
        if (event->type != YAML_DOCUMENT_START_EVENT) continue;
        fault(b, place_of(b, event->start_mark), "a second document: a plan is one document");
        return false;
    }
}

static struct yaml_tree *read_document(struct builder *b)
{
    const yaml_event_t *event = enter_document(b);
    struct yaml_tree *root = event ? build(b, event, 0) : NULL;
    return root && leave_document(b) ? root : NULL;
}

static void builder_done(struct builder *b)
{
    yaml_event_delete(&b->event);
    yaml_parser_delete(&b->parser);
}

/* libyaml's memory is not the arena's: without memory, it is freed here on the way out. */
static struct yaml_tree *read_guarded(struct builder *b)
{
    jmp_buf here, *const outer = b->arena->no_memory;
    if (setjmp(here)) {
        b->arena->no_memory = outer;
        builder_done(b);
        arena_no_memory(b->arena);
    }
    b->arena->no_memory = &here;
    struct yaml_tree *root = read_document(b);
    b->arena->no_memory = outer;
    builder_done(b);
    return root;
}

struct yaml_tree *yaml_tree_read(struct arena *arena, struct span text,
                                 const struct yaml_faults *faults)
{
    struct builder b = {
        .arena = arena, .text = text, .end = yaml_walk_to_byte(text, text.len), .faults = faults};
    yaml_pairs_find(arena, text, &b.pairs);
    if (!yaml_parser_initialize(&b.parser)) arena_no_memory(arena);
    /* Said, not guessed from the first bytes: UTF-16 is refused as text that is not UTF-8. */
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)b.pairs.text.data,
                                 b.pairs.text.len);
    return read_guarded(&b);
}

const struct yaml_tree *yaml_tree_find(const struct yaml_tree *mapping, struct span key)
{
    for (const struct yaml_tree *child = mapping->first; child; child = child->next)
        if (span_equal(child->key->text, key)) return child;
    return NULL;
}

bool yaml_tree_is_null(const struct yaml_tree *node)
{
    return node->kind == TREE_SCALAR && node->style == TREE_PLAIN &&
           (node->text.len == 0 || span_is(node->text, "~") || span_is(node->text, "null"));
}
