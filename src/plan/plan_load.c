#include "plan/key.h"

#include <stdlib.h>

/* ---- timezone_offset ---- */

static bool two_digits(const char *text, int64_t *value)
{
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') return false;
    *value = (text[0] - '0') * 10 + (text[1] - '0');
    return true;
}

/* "+02:00", or 0. No zone on earth is beyond 14 hours. */
static void read_timezone(struct load *l, const struct yaml_tree *node, const struct key *key,
                          void *into)
{
    static const char what[] = "0, or an offset from UTC from -14:00 to +14:00, as \"+02:00\"";
    struct span text;
    if (!load_text(l, node, what, &text) || span_is(text, "0")) return;
    int64_t hours, minutes;
    bool ok = text.len == 6 && (text.data[0] == '+' || text.data[0] == '-') &&
              text.data[3] == ':' && two_digits(text.data + 1, &hours) &&
              two_digits(text.data + 4, &minutes) && minutes < 60 && hours * 60 + minutes <= 840;
    if (!ok) {
        load_error(l, node->place, "expected %s, found `%s`", what, load_show(text).text);
        return;
    }
    int64_t seconds = (hours * 60 + minutes) * 60;
    *(int64_t *)key_field(into, key) = text.data[0] == '-' ? -seconds : seconds;
}

static void print_timezone(struct print *p, const struct key *key, const void *from)
{
    int64_t seconds = *(const int64_t *)key_value(from, key);
    int64_t minutes = (seconds < 0 ? -seconds : seconds) / 60;
    buf_format(p->b, "\"%c%02d:%02d\"", seconds < 0 ? '-' : '+', (int)(minutes / 60),
               (int)(minutes % 60));
}

static void schema_timezone(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"anyOf\":[{\"const\":0},{\"const\":\"0\"},"
               "{\"type\":\"string\",\"pattern\":\"^[+-][0-9]{2}:[0-9]{2}$\"}]}");
}

static const struct key_kind kind_timezone = {read_timezone, print_timezone, schema_timezone,
                                              "`\"+02:00\"`"};

/* ---- the plan ---- */

/* In the order in which sections refer to each other, which is also the one in which they are
 * printed; not that of the file. */
static const struct key plan_rows[] = {
    {"version", KEY_NAME(plan, version), .part = KEY_NAMES,
     .help = "stands in every answer and metric. Left out, it is the first 12 digits of the "
             "fingerprint. Give each plan its own: other contents under a version that was served "
             "already are served, with the warning `version_reused`"},
    {"salt", KEY_SALT(plan, salt), .required = true,
     .help = "feeds every random draw. Another salt is another sequence of draws"},
    {"actions", .kind = &kind_actions, .table = &action_keys, .min = 2, .max = ACTIONS_MAX,
     .required = true, .help = "the [actions](#actions), in order"},
    {"segments", .kind = &kind_segments, .max = PLAN_SEGMENTS_MAX,
     .help = "the segments that metrics keep apart; every other `segment_id` counts as "
             "`other`, none as `unset` (both names are reserved)"},
    {"attributes", .kind = &kind_attributes, .max = ATTRIBUTES_MAX - ATTRIBUTE_BUILT_IN_COUNT,
     .help = "what callers send about a session beside the built-in attributes: name to "
             "`bool`, `int`, `double` or `string`"},
    {"policies", .kind = &kind_policies, .table = &policy_keys, .min = 1, .max = PLAN_POLICIES_MAX,
     .required = true, .help = "the [policies](#policiesname), by name"},
    {"variants", .kind = &kind_variants, .table = &variant_keys, .min = 1, .max = PLAN_VARIANTS_MAX,
     .required = true, .help = "the [variants](#variantsname), by name"},
    {"default_variant", .kind = &kind_variant, .offset = KEY_FIELD(int, plan, default_variant),
     .required = true, .help = "decides for whoever is in no experiment"},
    {"experiments", .kind = &kind_experiments, .table = &experiment_keys,
     .max = PLAN_EXPERIMENTS_MAX,
     .help = "the [experiments](#experiments), the first that holds a listener decides"},
    {"timezone_offset", .kind = &kind_timezone,
     .offset = KEY_FIELD(int64_t, plan, timezone_offset_s), .initial = "0",
     .help = "from UTC, for `hour` and `weekday` in conditions"},
    {"guardrails", .kind = &kind_guardrails, .table = &guardrail_keys,
     .help = "the [guardrails](#guardrails)"},
    {"server", .kind = &kind_server, .offset = offsetof(struct settings, server),
     .table = &server_keys, .part = KEY_SETTING, .help = "[listening and limits](#server)"},
    {"log", .kind = &kind_log, .offset = offsetof(struct settings, log), .table = &log_keys,
     .part = KEY_SETTING, .help = "the [log](#log)"},
    {"holdout", NULL, .help = "listeners kept out of every experiment"},
    {"cooldown_from", NULL, .help = "cooldowns counted from the start of a break"},
    {"safe_action", NULL, .help = "the action when nothing else can be had"},
};
const struct key_table plan_keys = KEY_TABLE("", plan_rows);

const struct key_table *const key_tables[] = {
    &plan_keys,   &action_keys,  &policy_keys,     &rule_keys,      &rule_action_keys,
    &value_keys,  &variant_keys, &experiment_keys, &guardrail_keys, &cap_keys,
    &server_keys, &log_keys,     &sink_keys,       &budget_keys,    NULL,
};

/* ---- printing and identity ---- */

/* `from` is what the rows of that part are about. */
static void print_part(struct buf *b, const struct plan *plan, const void *from, enum key_part part)
{
    struct print p = {.b = b, .plan = plan};
    keys_print_block(&p, &plan_keys, from, 0, part);
}

void plan_print_decides(struct buf *b, const struct plan *plan)
{
    print_part(b, plan, plan, KEY_DECIDES);
}

void settings_print(struct buf *b, const struct settings *settings)
{
    print_part(b, NULL, settings, KEY_SETTING);
}

void plan_print(struct buf *b, const struct plan *plan)
{
    print_part(b, plan, plan, KEY_NAMES);
    plan_print_decides(b, plan);
}

static void set_fingerprint(struct plan *plan)
{
    struct buf b = buf_of(plan->fingerprint, sizeof plan->fingerprint);
    for (int i = 0; i < 6; i++) buf_hex(&b, plan->identity.lo >> (8 * i), 2);
    buf_char(&b, '\0');
}

/* Identities, fingerprint, and version where there is none. */
static void identify(struct load *l, const struct yaml_tree *root)
{
    static const struct hash128 no_key;
    struct plan *plan = l->plan;
    char *memory = arena_alloc(&l->scratch, PLAN_BYTES_MAX);

    struct buf b = buf_of(memory, PLAN_BYTES_MAX);
    plan_print_decides(&b, plan);
    plan->identity = hash_sip128(no_key, buf_text(&b));
    set_fingerprint(plan);
    if (!plan->version.len) plan->version = span_of(plan->fingerprint);

    b = buf_of(memory, PLAN_BYTES_MAX);
    settings_print(&b, l->settings);
    l->settings->identity = hash_sip128(no_key, buf_text(&b));

    plan_print(&b, plan);
    if (b.full)
        load_error(l, root->place, "the plan, with its defaults written out, is over 1 MiB");
}

void plan_schema(struct buf *b)
{
    buf_lit(b, "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
               "\"title\":\"Interlude plan\",\"allOf\":[");
    key_schema_section(b, &(struct key){.table = &plan_keys});
    buf_lit(b, "]}\n");
}

/* ---- loading ---- */

/* Everything at its default. */
static void init_all(struct load *l)
{
    plan_init(l->plan);
    keys_init(l, &plan_keys, l->plan);
    keys_init(l, &server_keys, &l->settings->server);
    keys_init(l, &log_keys, &l->settings->log);
}

/* Too many series make a metrics store, and the bill for it, fall over: so it is an error here. */
static void check_series(struct load *l, const struct yaml_tree *root)
{
    enum { SERIES_MAX = 20000 };
    const char *largest;
    uint64_t series = plan_series_count(l->plan, &largest);
    if (series > SERIES_MAX)
        load_error(l, yaml_tree_find(root, SPAN("variants"))->key->place,
                   "the plan makes %llu metric series, most of them %s: at most %d are allowed",
                   (unsigned long long)series, largest, SERIES_MAX);
}

static void load_root(struct load *l)
{
    const struct yaml_faults faults = load_faults(l);
    const struct yaml_tree *root = yaml_tree_read(&l->scratch, l->text, &faults);
    if (!root || !load_is_mapping(l, root, "a mapping of the plan's keys")) return;
    if (!yaml_tree_find(root, SPAN("attributes")) &&
        keys_have(root, &plan_keys, SPAN("attributes")))
        l->unread |= UNREAD_ATTRIBUTES;
    keys_read(l, root, &plan_keys, l->plan);
    if (l->errors->count) return;
    plan_finish(l->plan);
    check_series(l, root);
    identify(l, root);
    if (l->warnings && !l->errors->count) plan_warn(l, root);
}

static void load_text_bounded(struct load *l)
{
    struct span bom = SPAN("\xef\xbb\xbf");
    if (l->text.len >= bom.len && memcmp(l->text.data, bom.data, bom.len) == 0)
        l->text = (struct span){l->text.data + bom.len, l->text.len - bom.len};
    if (l->text.len > PLAN_BYTES_MAX)
        load_error(l, (struct yaml_place){1, 1, 0}, "the plan is over 1 MiB");
    else
        load_root(l);
}

static void tell_no_memory(struct plan_errors *errors)
{
    errors->count = 1;
    errors->more = 0;
    err_set(&errors->errors[0], ERR_NO_MEMORY, "there is not enough memory to load the plan");
}

/* All that is built hangs in the arenas of *l, which its owner frees: so every lack of memory on
 * the way, libyaml's too, ends at this one place. */
static void load_guarded(struct load *l)
{
    jmp_buf no_memory;
    if (setjmp(no_memory)) {
        tell_no_memory(l->errors);
    } else {
        arena_init(&l->scratch, &no_memory);
        arena_init(&l->rule_scratch, &no_memory);
        arena_init(&l->rule_spare, &no_memory);
        l->plan->arena.no_memory = l->settings->arena.no_memory = &no_memory;
        init_all(l);
        load_text_bounded(l);
    }
    arena_done(&l->scratch);
    arena_done(&l->rule_scratch);
    arena_done(&l->rule_spare);
    /* Nothing is added to either any more. */
    l->plan->arena.no_memory = l->settings->arena.no_memory = NULL;
}

struct plan *plan_check(struct span yaml, struct settings **settings, struct plan_errors *errors,
                        struct plan_errors *warnings)
{
    errors->count = errors->more = 0;
    if (warnings) warnings->count = warnings->more = 0;
    struct load l = {.text = yaml.len ? yaml : SPAN(""),
                     .errors = errors,
                     .warnings = warnings,
                     .plan = calloc(1, sizeof *l.plan),
                     .settings = calloc(1, sizeof *l.settings)};
    if (l.plan && l.settings) {
        load_guarded(&l);
    } else {
        tell_no_memory(errors);
    }
    if (errors->count) {
        plan_free(l.plan);
        l.plan = NULL;
        if (warnings) warnings->count = warnings->more = 0;
    }
    if (l.plan && settings)
        *settings = l.settings;
    else
        settings_free(l.settings);
    return l.plan;
}

struct plan *plan_load(struct span yaml, struct settings **settings, struct plan_errors *errors)
{
    return plan_check(yaml, settings, errors, NULL);
}
