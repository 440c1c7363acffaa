/* What callers send: the segments that metrics keep apart, and the attributes of a session. */
#include "plan/key.h"

/* ---- segments ---- */

static void read_segments(struct load *l, const struct yaml_tree *node, const struct key *key,
                          void *into)
{
    struct plan *plan = l->plan;
    if (!load_is_list(l, node, "a list of segment names")) return;
    load_count(l, node, key, "segments");
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        struct span name;
        if (!load_name(l, child, &name)) continue;
        if (span_is(name, SEGMENT_OTHER_NAME) || span_is(name, SEGMENT_UNSET_NAME))
            load_error(
                l, child->place,
                "`%s` is reserved: it is what a segment outside the list, or none, is called",
                load_show(name).text);
        else if (plan_segment_find(plan, name) >= 0)
            load_error(l, child->place, "the segment `%s` stands twice", load_show(name).text);
        else if (plan->segment_count < PLAN_SEGMENTS_MAX)
            plan->segments[plan->segment_count++] = arena_copy(&plan->arena, name);
    }
}

static void print_segments(struct print *p, const struct key *key, const void *from)
{
    bool first = true;
    buf_char(p->b, '[');
    for (int i = 0; i < p->plan->segment_count; i++) {
        print_comma(p->b, &first);
        print_text(p->b, p->plan->segments[i]);
    }
    buf_char(p->b, ']');
}

const struct key_kind kind_segments = {read_segments, print_segments, key_schema_list,
                                       "list of names,", key_bound_number};

/* ---- attributes ---- */

static const char *const type_words[] = {"bool", "int", "double", "string", NULL};
_Static_assert(ATTRIBUTE_BOOL == 0 && ATTRIBUTE_STRING == 3, "the order of type_words");

/* Words that a condition gives another meaning to. */
static bool is_reserved(struct span name)
{
    static const char *const words[] = {
        "true", "false",    "null",  "in",     "as",   "break",   "const",   "continue",  "else",
        "for",  "function", "if",    "import", "let",  "loop",    "package", "namespace", "return",
        "var",  "void",     "while", "has",    "size", "session", "params",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (span_is(name, words[i])) return true;
    return false;
}

static bool is_identifier(struct span name)
{
    if (!name.len || name.len > NAME_BYTES_MAX) return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9')) return false;
    }
    return true;
}

static void load_attribute(struct load *l, const struct yaml_tree *node)
{
    struct attribute_schema *schema = &l->plan->schema;
    struct span name = node->key->text;
    int type = load_word(l, node, type_words);
    if (!is_identifier(name))
        load_error(
            l, node->key->place,
            "expected an attribute's name (a letter or _, then letters, digits, _), found `%s`",
            load_show(name).text);
    else if (is_reserved(name))
        load_error(l, node->key->place, "`%s` means something else in a condition",
                   load_show(name).text);
    else if (attribute_schema_find(schema, name) >= 0)
        load_error(l, node->key->place, "`%s` is built in: it needs no declaration",
                   load_show(name).text);
    else if (schema->count < ATTRIBUTES_MAX)
        schema->attributes[schema->count++] = (struct attribute){
            arena_copy(&l->plan->arena, name),
            type < 0 ? ATTRIBUTE_STRING : (enum attribute_type)type, ATTRIBUTE_DECLARED};
}

static void read_attributes(struct load *l, const struct yaml_tree *node, const struct key *key,
                            void *into)
{
    int told = load_errors_told(l);
    l->unread |= UNREAD_ATTRIBUTES;
    if (!load_is_mapping(l, node, "a mapping from attribute to type")) return;
    for (const struct yaml_tree *child = node->first; child; child = child->next)
        load_attribute(l, child);
    load_count(l, node, key, "attributes");
    if (load_errors_told(l) == told && !load_is_damaged(node))
        l->unread &= ~(uint32_t)UNREAD_ATTRIBUTES;
}

static void print_attributes(struct print *p, const struct key *key, const void *from)
{
    bool first = true;
    buf_char(p->b, '{');
    for (uint32_t i = 0; i < p->plan->schema.count; i++) {
        const struct attribute *a = &p->plan->schema.attributes[i];
        if (a->source != ATTRIBUTE_DECLARED) continue;
        print_comma(p->b, &first);
        print_text(p->b, a->name);
        buf_lit(p->b, ": ");
        print_word(p->b, type_words[a->type]);
    }
    buf_char(p->b, '}');
}

static void schema_attributes(struct buf *b, const struct key *key)
{
    const struct key type = {.words = type_words};
    buf_format(b,
               "{\"type\":\"object\",\"maxProperties\":%d,"
               "\"propertyNames\":{\"pattern\":\"^[A-Za-z_][A-Za-z0-9_]{0,63}$\"},"
               "\"additionalProperties\":",
               ATTRIBUTES_MAX - ATTRIBUTE_BUILT_IN_COUNT);
    kind_word.schema(b, &type);
    buf_char(b, '}');
}

const struct key_kind kind_attributes = {read_attributes, print_attributes, schema_attributes,
                                         "mapping,", key_bound_number};
