#include "plan/key.h"

#include "base/nearest.h"

enum { KEYS_MAX = 40, VALUE_BYTES_MAX = 8192 };

/* ---- reading ---- */

struct key_names {
    size_t count;
    struct span names[KEYS_MAX];
};

static struct key_names names_of(const struct key_table *table)
{
    struct key_names n = {.count = table->count};
    INVARIANT(table->count <= KEYS_MAX);
    for (size_t i = 0; i < table->count; i++) n.names[i] = span_of(table->keys[i].name);
    return n;
}

/* The key's place in the table, or the count of it. */
static size_t place_of(const struct key_names *n, struct span key)
{
    size_t i = 0;
    while (i < n->count && !span_equal(n->names[i], key)) i++;
    return i;
}

bool keys_have(const struct yaml_tree *mapping, const struct key_table *table, struct span key)
{
    if (mapping->lossy || yaml_tree_find(mapping, key)) return true;
    struct key_names n = names_of(table);
    for (const struct yaml_tree *node = mapping->first; node; node = node->next)
        if (place_of(&n, node->key->text) == n.count &&
            span_equal(nearest_name(node->key->text, n.names, n.count), key))
            return true;
    return false;
}

static void check_names(struct load *l, const struct yaml_tree *mapping,
                        const struct key_table *table)
{
    struct key_names n = names_of(table);
    for (const struct yaml_tree *node = mapping->first; node; node = node->next) {
        struct span name = node->key->text;
        size_t i = place_of(&n, name);
        if (i == n.count)
            load_error(l, node->key->place, "unknown key `%s`%s%s%s", load_show(name).text,
                       *table->where ? " in " : "", table->where,
                       load_nearest(name, n.names, n.count).text);
        else if (!table->keys[i].kind)
            load_error(l, node->key->place, "`%s` is not supported yet", table->keys[i].name);
    }
}

void keys_read(struct load *l, const struct yaml_tree *mapping, const struct key_table *table,
               void *into)
{
    check_names(l, mapping, table);
    for (size_t i = 0; i < table->count; i++) {
        const struct key *key = &table->keys[i];
        const struct yaml_tree *node = yaml_tree_find(mapping, span_of(key->name));
        if (node && key->kind)
            key->kind->read(l, node, key, into);
        else if (!node && key->required && !keys_have(mapping, table, span_of(key->name)))
            load_error(l, mapping->place, "`%s` is missing%s%s", key->name,
                       *table->where ? " in " : "", table->where);
    }
}

/* By the same reader, as if the text stood in the file. */
static void key_init(struct load *l, const struct key *key, void *into)
{
    const struct yaml_faults faults = load_faults(l);
    const struct yaml_tree scalar = {.kind = TREE_SCALAR, .text = span_of(key->initial)};
    const struct yaml_tree *node = &scalar;
    if (key->initial[0] == '{') node = yaml_tree_read(&l->scratch, span_of(key->initial), &faults);
    key->kind->read(l, node, key, into);
}

void keys_init(struct load *l, const struct key_table *table, void *into)
{
    int errors = l->errors->count;
    for (size_t i = 0; i < table->count; i++)
        if (table->keys[i].initial) key_init(l, &table->keys[i], into);
    INVARIANT(l->errors->count == errors);
}

/* ---- printing ---- */

static bool is_printed(const struct print *p, const struct key *key, const void *from)
{
    return key->kind && (!key->traits || key->traits & p->traits) &&
           (!key->kind->is_set || key->kind->is_set(key, from));
}

void keys_print_flow(struct print *p, const struct key_table *table, const void *from)
{
    bool first = true;
    buf_char(p->b, '{');
    for (size_t i = 0; i < table->count; i++) {
        const struct key *key = &table->keys[i];
        if (!is_printed(p, key, from)) continue;
        print_comma(p->b, &first);
        print_word(p->b, key->name);
        buf_lit(p->b, ": ");
        key->kind->print(p, key, from);
    }
    buf_char(p->b, '}');
}

void keys_print_block(struct print *p, const struct key_table *table, const void *from, int indent,
                      enum key_part part)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct key *key = &table->keys[i];
        if (key->part != part || !is_printed(p, key, from)) continue;
        for (int s = 0; s < indent; s++) buf_char(p->b, ' ');
        print_word(p->b, key->name);
        print_word(p->b, key->kind->block ? ":" : ": ");
        key->kind->print(p, key, from);
        if (!key->kind->block) buf_char(p->b, '\n');
    }
}

void keys_print_item(struct print *p, const struct key_table *table, const void *from, int indent)
{
    for (int s = 0; s < indent; s++) buf_char(p->b, ' ');
    buf_lit(p->b, "- ");
    keys_print_flow(p, table, from);
    buf_char(p->b, '\n');
}

void key_print_section(struct print *p, const struct key *key, const void *from)
{
    buf_char(p->b, '\n');
    keys_print_block(p, key->table, key_value(from, key), 2, KEY_DECIDES);
}

static struct span value_print(char *memory, const struct key *key, const struct print *p,
                               const void *from)
{
    struct buf b = buf_of(memory, VALUE_BYTES_MAX);
    struct print print = *p;
    print.b = &b;
    if (is_printed(&print, key, from)) key->kind->print(&print, key, from);
    return buf_text(&b);
}

bool key_differs(const struct key *key, const struct print *p, const void *a, const void *b)
{
    char x[VALUE_BYTES_MAX], y[VALUE_BYTES_MAX];
    return !span_equal(value_print(x, key, p, a), value_print(y, key, p, b));
}

bool key_is_initial(const struct key *key, const struct print *p, const void *from)
{
    char memory[VALUE_BYTES_MAX];
    struct span value = value_print(memory, key, p, from);
    return key->initial ? span_is(value, key->initial) : value.len == 0;
}

/* ---- the schema ---- */

void key_schema_section(struct buf *b, const struct key *of)
{
    const struct key_table *table = of->table;
    bool first = true;
    buf_lit(b, "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{");
    for (size_t i = 0; i < table->count; i++) {
        if (!table->keys[i].kind) continue;
        buf_format(b, "%s\"%s\":", first ? "" : ",", table->keys[i].name);
        table->keys[i].kind->schema(b, &table->keys[i]);
        first = false;
    }
    buf_lit(b, "},\"required\":[");
    first = true;
    for (size_t i = 0; i < table->count; i++) {
        if (!table->keys[i].required) continue;
        buf_format(b, "%s\"%s\"", first ? "" : ",", table->keys[i].name);
        first = false;
    }
    buf_lit(b, "]}");
}

void key_schema_list(struct buf *b, const struct key *key)
{
    buf_format(b, "{\"type\":\"array\",\"minItems\":%d,\"maxItems\":%d,\"items\":", (int)key->min,
               (int)key->max);
    if (key->table)
        key_schema_section(b, key);
    else
        key_schema_name(b, key);
    buf_char(b, '}');
}

void key_schema_by_name(struct buf *b, const struct key *key)
{
    buf_format(b,
               "{\"type\":\"object\",\"minProperties\":%d,\"maxProperties\":%d,"
               "\"propertyNames\":{\"pattern\":\"^[A-Za-z0-9_.:-]{1,64}$\"},"
               "\"additionalProperties\":",
               (int)key->min, (int)key->max);
    key_schema_section(b, key);
    buf_char(b, '}');
}
