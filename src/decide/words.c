#include "decide/words.h"

#include "decide/probe.h"

#define WORD_ROW(code, text) [code] = text,

const char *stage_name(enum request_stage stage)
{
    static const char *const names[] = {STAGES(WORD_ROW)};
    return names[stage];
}

const char *assignment_name(enum assignment assignment)
{
    static const char *const names[] = {ASSIGNMENTS(WORD_ROW)};
    return names[assignment];
}

const char *posteriors_status_name(enum posteriors_status status)
{
    static const char *const names[] = {POSTERIORS_STATUSES(WORD_ROW)};
    return names[status];
}

const char *state_status_name(enum state_status status)
{
    static const char *const names[] = {STATE_STATUSES(WORD_ROW)};
    return names[status];
}

const char *reason_name(enum reason reason)
{
    static const char *const names[] = {REASONS(WORD_ROW)};
    return names[reason];
}

const char *fallback_reason_name(enum fallback_reason reason)
{
    static const char *const names[] = {FALLBACK_REASONS(WORD_ROW)};
    return names[reason];
}
