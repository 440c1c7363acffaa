#include "table/signal_table.h"

const char *const log_level_names[LOG_LEVEL_COUNT + 1] = {
    [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARNING] = "warning", [LOG_ERROR] = "error"};

const struct signal_site_row signal_sites[SITE_COUNT] = {
#define NAME(field) " " #field
#define ROW(suffix, name, level, expected, budget, fields, help, opportunity)                      \
    [SITE_##suffix] = {#name, LOG_##level, EXPECTED_##expected, BUDGET_##budget, &fields(NAME)[1], \
                       help,  opportunity},
    SIGNAL_SITES(ROW)
#undef ROW
#undef NAME
};

#define LAST(suffix, name, level, expected, budget, ...)                                         \
    _Static_assert(((int)SITE_##suffix < SITE_SCRIBE_FIRST) == (BUDGET_##budget == BUDGET_PLAN), \
                   "sites without a budget stand last");
SIGNAL_SITES(LAST)
#undef LAST

const struct signal_metric_row signal_metrics[METRIC_COUNT] = {
#define ROW(suffix, name, type, labels, help, moves, expected) \
    [METRIC_##suffix] = {name, METRIC_##type, labels, help, moves, EXPECTED_##expected},
    SIGNAL_METRICS(ROW)
#undef ROW
};

const struct signal_field_row signal_fields[FIELD_COUNT] = {
#define ROW(name, kind) [FIELD_##name] = {#name, FIELD_KIND_##kind},
    SIGNAL_FIELDS(ROW)
#undef ROW
};

const char *signal_outcome_name(enum signal_outcome outcome)
{
#define NAME(suffix, name) [OUTCOME_##suffix] = name,
    static const char *const names[] = {SIGNAL_OUTCOMES(NAME)};
#undef NAME
    return names[outcome];
}

const char *signal_loss_name(enum signal_loss loss)
{
#define NAME(suffix, name) [LOSS_##suffix] = name,
    static const char *const names[] = {SIGNAL_LOSSES(NAME)};
#undef NAME
    return names[loss];
}

const char *signal_state_name(enum signal_state state)
{
#define NAME(suffix, name) [SIGNAL_STATE_##suffix] = name,
    static const char *const names[] = {SIGNAL_STATES(NAME)};
#undef NAME
    return names[state];
}

const char *signal_expected_name(enum signal_expected expected)
{
    static const char *const names[] = {[EXPECTED_NEVER] = "never",
                                        [EXPECTED_RARE] = "rare",
                                        [EXPECTED_PER_REQUEST] = "per_request",
                                        [EXPECTED_ALWAYS] = "always"};
    return names[expected];
}

const char *signal_budget_name(enum signal_budget budget)
{
    return budget == BUDGET_PLAN ? "plan" : "none";
}

const struct span *signal_site_names(void)
{
#define NAME(suffix, name, ...) [SITE_##suffix] = {#name, sizeof #name - 1},
    static const struct span names[SITE_COUNT] = {SIGNAL_SITES(NAME)};
#undef NAME
    return names;
}
