/* The section `guardrails`: one key for each row of the table of guardrails, and `on_unknown`. */
#include "plan/key.h"

#include "decide/guardrail.h"
#include "plan/units.h"

/* ---- caps ---- */

struct cap_item {
    const struct rule *when;
    int64_t max;
};

enum { CAP_MAX = 1000000 };

static const struct key cap_rows[] = {
    {"when", KEY_CONDITION(cap_item, when),
     .help =
         "left out, the cap always holds; one that can't be evaluated holds too, unless the cap "
         "is `permissive`"},
    {"max", KEY_COUNT(cap_item, max), .max = CAP_MAX, .required = true, .help = ""},
};
const struct key_table cap_keys = KEY_TABLE("guardrails.CAP", cap_rows);

static void cap_add(struct plan_cap *cap, const struct cap_item *item)
{
    cap->items[cap->count].when = item->when;
    cap->items[cap->count].max = item->max;
    cap->count++;
}

static void read_cap(struct load *l, const struct yaml_tree *node, const struct key *key,
                     void *into)
{
    struct plan_cap *cap = key_field(into, key);
    if (node->kind == TREE_MAPPING) {
        load_error(l, node->place,
                   "expected a number, or a list of {when, max}, found a mapping: put it into [ ]");
        return;
    }
    if (node->kind != TREE_SEQUENCE) {
        struct cap_item item = {NULL, 0};
        kind_count.read(l, node, &cap_rows[1], &item);
        cap_add(cap, &item);
        return;
    }
    if (!load_count(l, node, key, "caps")) return;
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        struct cap_item item = {NULL, 0};
        if (!load_is_mapping(l, child, "a cap, {when, max}")) continue;
        keys_read(l, child, &cap_keys, &item);
        cap_add(cap, &item);
    }
}

static void print_cap(struct print *p, const struct key *key, const void *from)
{
    const struct plan_cap *cap = key_value(from, key);
    buf_char(p->b, '\n');
    for (int i = 0; i < cap->count; i++) {
        const struct cap_item item = {cap->items[i].when, cap->items[i].max};
        keys_print_item(p, &cap_keys, &item, 4);
    }
}

static bool cap_is_set(const struct key *key, const void *from)
{
    return ((const struct plan_cap *)key_value(from, key))->count > 0;
}

static void schema_cap(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"anyOf\":[");
    kind_count.schema(b, &cap_rows[1]);
    buf_char(b, ',');
    key_schema_list(b, key);
    buf_lit(b, "]}");
}

static const struct key_kind kind_cap = {
    read_cap, print_cap, schema_cap, "[cap](#guardrailscap)", .is_set = cap_is_set, .block = true};

/* ---- the section, as it is read and printed ---- */

/* One of each guardrail; what is not set is not in the plan. */
struct section {
    struct {
        bool on; /* a switch */
        struct plan_guardrail g;
    } all[GUARDRAIL_COUNT];
};

static void section_init(struct section *section)
{
    *section = (struct section){0};
    for (int i = 0; i < GUARDRAIL_COUNT; i++) section->all[i].g.ms = -1;
}

/* ---- on_unknown ---- */

static const char *const on_unknown_words[] = {"conservative", "permissive", NULL};

static void read_on_unknown_of(struct load *l, const struct yaml_tree *node, struct section *into)
{
    struct span names[GUARDRAIL_COUNT];
    for (int i = 0; i < GUARDRAIL_COUNT; i++) names[i] = guardrail_table[i].word;
    int code = 0;
    while (code < GUARDRAIL_COUNT && !span_equal(names[code], node->key->text)) code++;
    int word = load_word(l, node, on_unknown_words);
    if (code == GUARDRAIL_COUNT)
        load_error(l, node->key->place, "there is no guardrail `%s`%s",
                   load_show(node->key->text).text,
                   load_nearest(node->key->text, names, GUARDRAIL_COUNT).text);
    else if (!keys_have(l->guardrails, &guardrail_keys, node->key->text))
        load_error(l, node->key->place, "the plan does not have the guardrail `%s`",
                   node->key->text.data);
    else
        into->all[code].g.permissive = word == 1;
}

static void read_on_unknown(struct load *l, const struct yaml_tree *node, const struct key *key,
                            void *into)
{
    struct section *section = into;
    if (node->kind == TREE_SCALAR) {
        int word = load_word(l, node, on_unknown_words);
        for (int i = 0; i < GUARDRAIL_COUNT; i++) section->all[i].g.permissive = word == 1;
        return;
    }
    if (!load_is_mapping(l, node, "conservative, permissive, or a mapping from guardrail to one"))
        return;
    for (const struct yaml_tree *child = node->first; child; child = child->next)
        read_on_unknown_of(l, child, section);
}

static void print_on_unknown(struct print *p, const struct key *key, const void *from)
{
    const struct section *section = from;
    bool first = true;
    buf_char(p->b, '{');
    for (int i = 0; i < GUARDRAIL_COUNT; i++) {
        if (!section->all[i].g.permissive) continue;
        print_comma(p->b, &first);
        buf_span(p->b, guardrail_table[i].word);
        buf_lit(p->b, ": permissive");
    }
    buf_char(p->b, '}');
}

static void schema_on_unknown(struct buf *b, const struct key *key)
{
    const struct key word = {.words = on_unknown_words};
    buf_lit(b, "{\"anyOf\":[");
    kind_word.schema(b, &word);
    buf_lit(b, ",{\"type\":\"object\",\"additionalProperties\":");
    kind_word.schema(b, &word);
    buf_lit(b, "}]}");
}

static const struct key_kind kind_on_unknown = {read_on_unknown, print_on_unknown,
                                                schema_on_unknown, "word or mapping"};

/* ---- the keys ---- */

#define FIELD(code, member) .offset = offsetof(struct section, all[GUARDRAIL_##code].member)
#define CONDITION(code) .kind = &kind_condition, FIELD(code, g.when)
#define DURATION(code) .kind = &kind_duration, FIELD(code, g.ms), .max = 30 * UNIT_DAY_MS
#define SWITCH(code) .kind = &kind_bool, FIELD(code, on)
#define CAP(code) \
    .kind = &kind_cap, FIELD(code, g.cap), .min = 1, .max = PLAN_CAP_ITEMS_MAX, .table = &cap_keys

/* In the order of enum guardrail_code; what is no row of the table stands after them. */
static const struct key guardrail_rows[] = {
#define ROW(code, word, shape, unit, needed, read, functions, text, why) \
    {word, shape(code), .help = (text)},
    GUARDRAILS(ROW)
#undef ROW
        {"on_unknown", .kind = &kind_on_unknown, .initial = "conservative",
         .help =
             "what to do where something that the guardrail reads is unknown (absent, `null` or "
             "invalid), and where a condition of it can't be evaluated: `conservative`, as if the "
             "limit were reached and the condition true; `permissive`, as if the guardrail, or the "
             "cap with that condition, were not there. For all, or by name. `explain` tells where "
             "either was done"},
    {"kill", NULL, .help = "switches ads or learned policies off"},
    {"restricted", NULL, .help = "a variant for child-directed sessions"},
    {"custom", NULL, .help = "guardrails of your own"},
};
const struct key_table guardrail_keys = KEY_TABLE("guardrails", guardrail_rows);

static bool guardrail_is_set(const struct section *section, int code)
{
    const struct key *key = &guardrail_rows[code];
    return key->kind->is_set ? key->kind->is_set(key, section) : section->all[code].on;
}

/* What is measured in seconds needs to know how long a pod is. */
static void check_durations(struct load *l, struct yaml_place place, struct span guardrail)
{
    const struct action_table *table = &l->plan->actions;
    if (l->unread & UNREAD_DURATIONS) return;
    for (int i = 0; i < table->count; i++) {
        if (!action_in(table->with_ads, i) || table->actions[i].max_duration_ms) continue;
        load_error(l, place, "`%s` needs the `max_duration` of every pod, and `%s` has none",
                   guardrail.data, load_show(table->actions[i].name).text);
        return;
    }
}

static void read_guardrails(struct load *l, const struct yaml_tree *node, const struct key *key,
                            void *into)
{
    struct section section;
    if (!load_is_mapping(l, node, "a mapping of guardrails")) return;
    section_init(&section);
    l->guardrails = node;
    keys_read(l, node, &guardrail_keys, &section);
    for (int i = 0; i < GUARDRAIL_COUNT; i++) {
        if (!guardrail_is_set(&section, i)) continue;
        section.all[i].g.row = &guardrail_table[i];
        *plan_guardrail_add(l->plan, (enum guardrail_code)i) = section.all[i].g;
        if (guardrail_table[i].unit == GUARDRAIL_SECONDS)
            check_durations(l, yaml_tree_find(node, guardrail_table[i].word)->place,
                            guardrail_table[i].word);
    }
}

static void print_guardrails(struct print *p, const struct key *key, const void *from)
{
    struct section section;
    section_init(&section);
    for (int i = 0; i < p->plan->guardrail_count; i++) {
        const struct plan_guardrail *g = &p->plan->guardrails[i];
        ptrdiff_t code = g->row - guardrail_table;
        section.all[code].on = true;
        section.all[code].g = *g;
        if (g->row->shape != GUARDRAIL_DURATION) section.all[code].g.ms = -1;
    }
    buf_char(p->b, '\n');
    keys_print_block(p, &guardrail_keys, &section, 2, KEY_DECIDES);
}

const struct key_kind kind_guardrails = {read_guardrails, print_guardrails, key_schema_section,
                                         "mapping", .block = true};
