#include "plan/key.h"
#include "plan/units.h"

static const struct key action_rows[] = {
    {"name", KEY_NAME(action, name), .required = true, .help = ""},
    {"ads", KEY_INT(action, ads), .max = ADS_MAX, .required = true, .help = "ads in the pod"},
    {"max_duration", KEY_DURATION(action, max_duration_ms), .min = UNIT_SECOND_MS,
     .max = UNIT_HOUR_MS,
     .help =
         "of the whole pod, in whole seconds; only where there are ads. Guardrails that measure "
         "seconds need it for every pod"},
    {"cooldown", KEY_DURATION(action, cooldown_ms), .max = 7 * UNIT_DAY_MS, .required = true,
     .help = "how long until the next decision: after the break if ads played, after the decision "
             "if none did. What is left of `grace_period`, `min_gap` and the last `cooldown` "
             "lengthens it"},
};
const struct key_table action_keys = KEY_TABLE("actions", action_rows);

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
    keys_read(l, node, &action_keys, &action);
    check_action(l, node, &action);
    if (keys_have(node, &action_keys, SPAN("max_duration")) && !action.max_duration_ms)
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

static void read_actions(struct load *l, const struct yaml_tree *node, const struct key *key,
                         void *into)
{
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
    load_count(l, node, key, "actions");
    if (without + unread == 0 || without > 1)
        load_error(l, node->place, "expected exactly one action with `ads: 0`, found %d", without);
    if (without != 1 || unread || (int)node->count != table->count) l->unread |= UNREAD_ADS;
    action_table_finish(table);
}

static void print_actions(struct print *p, const struct key *key, const void *from)
{
    const struct action_table *table = &p->plan->actions;
    buf_char(p->b, '\n');
    for (int i = 0; i < table->count; i++) keys_print_item(p, &action_keys, &table->actions[i], 2);
}

const struct key_kind kind_actions = {read_actions, print_actions,    key_schema_list,
                                      "list,",      key_bound_number, .block = true};
