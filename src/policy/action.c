#include "policy/action.h"

#include "base/hash.h"

int action_find(const struct action_table *table, struct span name)
{
    for (int i = 0; i < table->count; i++)
        if (span_equal(table->actions[i].name, name)) return i;
    return -1;
}

void action_table_finish(struct action_table *table)
{
    table->with_ads = 0;
    for (int i = 0; i < table->count; i++) {
        struct action *action = &table->actions[i];
        action->digest = hash_parts((struct span[]){SPAN("action"), action->name}, 2).lo;
        if (action->ads == 0)
            table->no_ads = i;
        else
            table->with_ads |= action_bit(i);

        int place = i; /* insertion sort: stable, so equals stay in plan order */
        while (place > 0 && table->actions[table->by_ads[place - 1]].ads > table->actions[i].ads) {
            table->by_ads[place] = table->by_ads[place - 1];
            place--;
        }
        table->by_ads[place] = (uint8_t)i;
    }
}

action_set action_heavier(const struct action_table *table, int ads)
{
    action_set heavier = 0;
    for (int i = 0; i < table->count; i++)
        if (table->actions[i].ads > ads) heavier |= action_bit(i);
    return heavier;
}

int action_at(const struct action_table *table, action_set set, int place)
{
    int last = table->no_ads;
    for (int i = 0; i < table->count; i++) {
        int action = table->by_ads[i];
        if (!action_in(set, action)) continue;
        last = action;
        if (place-- == 0) break;
    }
    return last;
}

int action_at_most(const struct action_table *table, action_set set, int ads)
{
    int best = table->no_ads;
    for (int i = 0; i < table->count; i++)
        if (action_in(set, i) && table->actions[i].ads <= ads &&
            table->actions[i].ads > table->actions[best].ads)
            best = i;
    return best;
}
