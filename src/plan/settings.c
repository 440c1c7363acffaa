#include "plan/key.h"

#include <stdio.h>
#include <stdlib.h>

void settings_free(struct settings *settings)
{
    if (!settings) return;
    arena_done(&settings->arena);
    free(settings);
}

static void differences(const struct key_table *table, const void *a, const void *b,
                        struct settings_names *out)
{
    const struct print p = {.b = NULL};
    for (size_t i = 0; i < table->count; i++) {
        const struct key *key = &table->keys[i];
        if (!key->at_start || !key_differs(key, &p, a, b)) continue;
        INVARIANT(out->count < SETTINGS_NAMES_MAX);
        snprintf(out->names[out->count++], sizeof out->names[0], "%s.%s", table->where, key->name);
    }
}

void settings_not_applied(const struct settings *started, const struct settings *now,
                          struct settings_names *out)
{
    out->count = 0;
    differences(&server_keys, &started->server, &now->server, out);
    differences(&log_keys, &started->log, &now->log, out);
}
