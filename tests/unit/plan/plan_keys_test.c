/* Each key of a plan, one at a time: another value is another plan, or other settings; and a value
 * is printed, read again, and the same. A key without a row here fails the test. */
#include "plan_files.h"

#include "decide/guardrail.h"
#include "plan/key.h"

#define ACTIONS                                       \
    "actions: [{name: none, ads: 0, cooldown: 60s}, " \
    "{name: pod, ads: 1, max_duration: 30s, cooldown: 6m}"
#define RULES "rules: [{action: pod}]"
#define LEARNED "t: {kind: thompson, fallback: f, prior: {alpha: 1, beta: 1}"

/* A plan in which everything has its place; each row replaces one text in it. */
static const char base[] = "version: v1\n"
                           "salt: s\n" ACTIONS "]\n"
                           "segments: [a]\n"
                           "attributes: {genre: string}\n"
                           "policies:\n"
                           "  f: {kind: fixed, " RULES "}\n"
                           "  u: {kind: uniform}\n"
                           "  " LEARNED ", max_posterior_age: 1h}\n"
                           "variants: {one: {policy: f}, two: {policy: t}}\n"
                           "default_variant: one\n"
                           "experiments: [{name: e, salt: es, split: {one: 50%, two: 50%}}]\n"
                           "guardrails: {ads_per_day: [{max: 9}]}\n"
                           "server: {hosts: []}\n"
                           "log: {budget: {rate: 5, burst: 50}, sink: {file: /a}}\n"
                           "...\n";

static const struct row {
    const char *where, *key, *from, *to;
} rows[] = {
    {"", "version", "version: v1", "version: v2"},
    {"", "salt", "salt: s\n", "salt: t\n"},
    {"", "actions", "cooldown: 6m}]", "cooldown: 6m}, {name: more, ads: 2, cooldown: 6m}]"},
    {"", "segments", "[a]", "[b]"},
    {"", "attributes", "genre: string", "genre: int"},
    {"", "policies", "  u: {kind", "  w: {kind"},
    {"", "variants", "two: {policy: t}}", "two: {policy: t}, three: {policy: f}}"},
    {"", "default_variant", "default_variant: one", "default_variant: two"},
    {"", "experiments", "[{name: e, salt: es, split: {one: 50%, two: 50%}}]", "[]"},
    {"", "timezone_offset", "segments:", "timezone_offset: \"+01:00\"\nsegments:"},
    {"", "guardrails", "guardrails: {ads_per_day: [{max: 9}]}\n", ""},
    {"", "server", "server: {hosts: []}", "server: {drain: 1s}"},
    {"", "log", "/a}", "/a}, level: error"},
    {"actions", "name", "name: none", "name: nothing"},
    {"actions", "ads", "ads: 1", "ads: 2"},
    {"actions", "max_duration", "max_duration: 30s, ", ""},
    {"actions", "cooldown", "cooldown: 6m", "cooldown: 361s"},
    {"policies.NAME", "kind", "kind: thompson", "kind: greedy"},
    {"policies.NAME", "actions", "cooldown: 6m}]",
     "cooldown: 6m}, {name: more, ads: 2, cooldown: 6m}]"},
    {"policies.NAME", "rules", RULES, "rules: [{when: car, action: pod}]"},
    {"policies.NAME", "explore_per", NULL, NULL}, /* it has one value only */
    {"policies.NAME", "on_partial", LEARNED, LEARNED ", on_partial: prior"},
    {"policies.NAME", "on_empty", LEARNED, LEARNED ", on_empty: cold_start"},
    {"policies.NAME", "on_stale", LEARNED, LEARNED ", on_stale: fallback"},
    {"policies.NAME", "max_posterior_age", "max_posterior_age: 1h", "max_posterior_age: 3600001ms"},
    {"policies.NAME", "fallback", "fallback: f", "fallback: u"},
    {"policies.NAME", "floor", LEARNED, LEARNED ", floor: 5e-324"},
    {"policies.NAME", "floor_toward", LEARNED, LEARNED ", floor_toward: fallback"},
    {"policies.NAME", "z", LEARNED ", max_posterior_age: 1h}",
     "t: {kind: ucb, fallback: f, prior: {alpha: 1, beta: 1}, z: 2, max_posterior_age: 1h}"},
    {"policies.NAME", "prior", "alpha: 1, beta: 1", "alpha: 1, beta: 1.0000000000000002"},
    {"policies.NAME", "value", LEARNED, LEARNED ", value: {pod: {offset: 1}}"},
    {"policies.NAME.rules", "when", "[{action: pod}]", "[{when: has(car), action: pod}]"},
    {"policies.NAME.rules", "action", "[{action: pod}]", "[{action: none}]"},
    {"policies.NAME.rules", "cooldown", "[{action: pod}]", "[{action: pod, cooldown: 0s}]"},
    {"policies.NAME.value", "offset", LEARNED, LEARNED ", value: {pod: {offset: -1}}"},
    {"policies.NAME.value", "weight", LEARNED, LEARNED ", value: {none: {weight: 0}}"},
    {"variants.NAME", "policy", "one: {policy: f}", "one: {policy: u}"},
    {"experiments", "name", "name: e", "name: f"},
    {"experiments", "salt", "salt: es", "salt: et"},
    {"experiments", "slice", "name: e,", "name: e, slice: 99.9999%,"},
    {"experiments", "split", "two: 50%}", "two: 51%}"},
    {"guardrails", "on_unknown", "[{max: 9}]", "[{max: 9}], on_unknown: permissive"},
    {"guardrails.CAP", "when", "[{max: 9}]", "[{when: car, max: 9}]"},
    {"guardrails.CAP", "max", "[{max: 9}]", "[{max: 10}]"},
    {"server", "listen", "hosts: []", "listen: 127.0.0.1:1"},
    {"server", "admin", "hosts: []", "admin: 127.0.0.1:1"},
    {"server", "hosts", "hosts: []", "hosts: [a]"},
    {"server", "workers", "hosts: []", "workers: 1"},
    {"server", "connections_max", "hosts: []", "connections_max: 1"},
    {"server", "per_address_max", "hosts: []", "per_address_max: 1"},
    {"server", "drain", "hosts: []", "drain: 0s"},
    {"server", "head_timeout", "hosts: []", "head_timeout: 1ms"},
    {"server", "body_timeout", "hosts: []", "body_timeout: 1ms"},
    {"server", "answer_timeout", "hosts: []", "answer_timeout: 1ms"},
    {"server", "idle_timeout", "hosts: []", "idle_timeout: 1ms"},
    {"server", "data", NULL, NULL},
    {"server", "watch", NULL, NULL},
    {"log", "level", "log: {", "log: {level: debug, "},
    {"log", "sink", "sink: {file: /a}", "sink: stderr"},
    {"log", "budget", "budget: {rate: 5, burst: 50}, ", ""},
    {"log", "sites", "log: {", "log: {sites: {session_invalid: {rate: 5}}, "},
    {"log.sink", "file", "file: /a", "file: /b"},
    {"log.budget", "rate", "rate: 5,", "rate: unlimited,"},
    {"log.budget", "burst", "burst: 50", "burst: 51"},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* The plan has a cap; a further guardrail is put behind it, or the cap has another value. */
static const struct row *row_of_guardrail(const char *key)
{
    static const char *const values[] = {[GUARDRAIL_CONDITION] = "car",
                                         [GUARDRAIL_DURATION] = "0s",
                                         [GUARDRAIL_SWITCH] = "true",
                                         [GUARDRAIL_CAP] = "3"};
    static char to[128];
    static struct row row = {"guardrails", NULL, "[{max: 9}]", to};
    for (int g = 0; g < GUARDRAIL_COUNT; g++) {
        if (strcmp(guardrail_table[g].word.data, key) != 0) continue;
        const char *value = values[guardrail_table[g].shape];
        if (g == GUARDRAIL_ADS_PER_DAY)
            snprintf(to, sizeof to, "%s", value);
        else
            snprintf(to, sizeof to, "[{max: 9}], %s: %s", key, value);
        row.key = key;
        return &row;
    }
    return NULL;
}

static const struct row *row_of(const char *where, const char *key)
{
    for (size_t i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].where, where) && !strcmp(rows[i].key, key)) return &rows[i];
    return strcmp(where, "guardrails") == 0 ? row_of_guardrail(key) : NULL;
}

static void edit(char *out, size_t size, const struct row *row)
{
    const char *at = strstr(base, row->from);
    if (!at) fail_msg("%s.%s: `%s` does not stand in the plan", row->where, row->key, row->from);
    snprintf(out, size, "%.*s%s%s", (int)(at - base), base, row->to, at + strlen(row->from));
}

/* Of the settings, or of what decides; the version is in neither. */
static bool differs(const struct plan *a, const struct settings *x, const struct plan *b,
                    const struct settings *y)
{
    return memcmp(&a->identity, &b->identity, sizeof a->identity) != 0 ||
           memcmp(&x->identity, &y->identity, sizeof x->identity) != 0 ||
           !span_equal(a->version, b->version);
}

static void check_row(const struct row *row)
{
    static char text[8192], printed[PLAN_BYTES_MAX];
    struct settings *settings[3];
    edit(text, sizeof text, row);
    struct plan *was = load_both(span_of(base), &settings[0], "base");
    struct plan *is = load_both(span_of(text), &settings[1], row->key);
    if (!differs(was, settings[0], is, settings[1]))
        fail_msg("%s.%s: %s: the same plan", row->where, row->key, row->to);
    struct buf b = buf_of(printed, sizeof printed);
    plan_print(&b, is);
    settings_print(&b, settings[1]);
    struct plan *again = load_both(buf_text(&b), &settings[2], row->key);
    if (differs(is, settings[1], again, settings[2]))
        fail_msg("%s.%s: %s: another plan when it is printed", row->where, row->key, row->to);
    plan_free(was);
    plan_free(is);
    plan_free(again);
    for (int i = 0; i < 3; i++) settings_free(settings[i]);
}

static void test_each_key(void **state)
{
    size_t keys = 0;
    for (const struct key_table *const *t = key_tables; *t; t++)
        for (size_t i = 0; i < (*t)->count; i++) {
            if (!(*t)->keys[i].kind) continue;
            const struct row *row = row_of((*t)->where, (*t)->keys[i].name);
            if (!row) fail_msg("`%s` of `%s` has no row here", (*t)->keys[i].name, (*t)->where);
            keys++;
            if (row->from) check_row(row);
        }
    assert_int_equal(keys, ROWS + GUARDRAIL_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_key)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
