#include "decide/words.h"

#include "decide/probe.h"

#define WORD_ROW(code, text) [code] = {text, sizeof(text) - 1},

/* NAME_word(code), and the same as NAME_name(code), a string. */
#define WORDS(name, list)                                    \
    struct span name##_word(enum name code)                  \
    {                                                        \
        static const struct span words[] = {list(WORD_ROW)}; \
        return words[code];                                  \
    }                                                        \
    const char *name##_name(enum name code)                  \
    {                                                        \
        return name##_word(code).data;                       \
    }

WORDS(assignment, ASSIGNMENTS)
WORDS(posteriors_status, POSTERIORS_STATUSES)
WORDS(state_status, STATE_STATUSES)
#define GUARDRAIL_ROW(code, text, ...) WORD_ROW(REASON_##code, text)
#define ALL_REASONS(X) REASONS(X) GUARDRAILS(GUARDRAIL_ROW)
WORDS(reason, ALL_REASONS)
WORDS(fallback_reason, FALLBACK_REASONS)

const char *stage_name(enum request_stage stage)
{
    static const struct span names[] = {STAGES(WORD_ROW)};
    return names[stage].data;
}
