#include "plan/load.h"

#include <stdio.h>

#define DAY_MS ((int64_t)24 * 3600 * 1000)

/* ---- actions ---- */

static const struct key action_keys[] = {
    {"name", load_key_name, offsetof(struct action, name), .required = true},
    {"ads", load_key_int, offsetof(struct action, ads), 0, ADS_MAX, .required = true},
    {"max_duration", load_key_duration, offsetof(struct action, max_duration_ms), 1000,
     DAY_MS / 24},
    {"cooldown", load_key_duration, offsetof(struct action, cooldown_ms), 0, 7 * DAY_MS,
     .required = true},
};
const struct key_table load_action_keys = KEY_TABLE("actions", action_keys);

static void check_action(struct load *l, const struct yaml_tree *node, const struct action *action)
{
    const struct yaml_tree *duration = yaml_tree_find(node, SPAN("max_duration"));
    if (!duration) return;
    if (action->ads == 0)
        load_error(l, duration->key->place, "an action without ads has no `max_duration`");
    else if (action->max_duration_ms % 1000 != 0)
        load_error(l, duration->place, "expected whole seconds");
}

/* Takes the action in if it has a name of its own. Returns its ads, or -1. */
static int load_action(struct load *l, const struct yaml_tree *node)
{
    struct action_table *table = &l->plan->actions;
    /* Until it is read, neither with ads nor without: an unreadable count makes one error, not two.
     */
    struct action action = {.ads = -1};
    if (!load_is_mapping(l, node, "an action, {name, ads, max_duration, cooldown}")) {
        l->unread |= UNREAD_ACTIONS;
        return -1;
    }
    load_keys(l, node, &load_action_keys, &action);
    check_action(l, node, &action);
    if (load_has(node, &load_action_keys, SPAN("max_duration")) && !action.max_duration_ms)
        l->unread |= UNREAD_DURATIONS;
    if (!action.name.len)
        load_note_bad_name(l, yaml_tree_find(node, SPAN("name")), UNREAD_ACTIONS);
    else if (action_find(table, action.name) >= 0)
        load_error(l, yaml_tree_find(node, SPAN("name"))->place,
                   "two actions are named `%s`: each needs a name of its own",
                   load_show(action.name).text);
    else if (table->count < ACTIONS_MAX)
        table->actions[table->count++] = action;
    return action.ads;
}

void load_actions(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    (void)key, (void)into;
    if (!load_is_list(l, node, "a list of actions")) return;
    struct action_table *table = &l->plan->actions;
    int without = 0, unread = 0;
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        int ads = load_action(l, child);
        without += ads == 0;
        unread += ads < 0;
    }
    for (int i = 0; i < table->count; i++)
        if (table->actions[i].ads < 0) table->actions[i].ads = 0;
    if (node->lossy || node->count > ACTIONS_MAX) l->unread |= UNREAD_ACTIONS;
    if (node->count < 2 || node->count > ACTIONS_MAX)
        load_error(l, node->place, "expected 2 to %d actions, found %u", ACTIONS_MAX, node->count);
    if (without + unread == 0 || without > 1)
        load_error(l, node->place, "expected exactly one action with `ads: 0`, found %d", without);
    if (without != 1 || unread || (int)node->count != table->count) l->unread |= UNREAD_ADS;
    action_table_finish(table);
}

/* ---- segments ---- */

void load_segments(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    (void)key, (void)into;
    struct plan *plan = l->plan;
    if (!load_is_list(l, node, "a list of segment names")) return;
    if (node->count > PLAN_SEGMENTS_MAX)
        load_error(l, node->place, "expected at most %d segments, found %u", PLAN_SEGMENTS_MAX,
                   node->count);
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

/* ---- attributes ---- */

static const char *const type_words[] = {"bool", "int", "double", "string", NULL};
_Static_assert(ATTRIBUTE_BOOL == 0 && ATTRIBUTE_STRING == 3, "the order of type_words");

static const struct key attribute_type_key = {.name = "", .words = type_words};

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
    int type = -1;
    load_key_word(l, node, &attribute_type_key, &type);
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

void load_attributes(struct load *l, const struct yaml_tree *node, const struct key *key,
                     void *into)
{
    (void)key, (void)into;
    int told = load_errors_told(l);
    l->unread |= UNREAD_ATTRIBUTES;
    if (!load_is_mapping(l, node, "a mapping from attribute to type")) return;
    for (const struct yaml_tree *child = node->first; child; child = child->next)
        load_attribute(l, child);
    if (node->count > ATTRIBUTES_MAX - ATTRIBUTE_BUILT_IN_COUNT)
        load_error(l, node->place, "expected at most %d attributes, found %u",
                   ATTRIBUTES_MAX - ATTRIBUTE_BUILT_IN_COUNT, node->count);
    if (load_errors_told(l) == told && !load_is_damaged(node))
        l->unread &= ~(uint32_t)UNREAD_ATTRIBUTES;
}
