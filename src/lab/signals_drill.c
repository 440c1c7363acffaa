#include "lab/signals_drill.h"

#include "wire/json_read.h"

const char *signals_drill_outcome(const struct signals_drills *before,
                                  const struct signals_drills *now)
{
    const struct {
        const char *name;
        uint64_t before, now;
    } outcomes[] = {
        {"written", before->written, now->written},
        {"suppressed", before->suppressed, now->suppressed},
        {"dropped", before->dropped, now->dropped},
        {"outranked", before->outranked, now->outranked},
    };
    const char *found = NULL;
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        if (outcomes[i].now < outcomes[i].before) return NULL;
        if (outcomes[i].now == outcomes[i].before) continue;
        if (found) return "not told: others drill it at the same time, with another outcome";
        found = outcomes[i].name;
    }
    return found;
}

void signals_refusal_read(struct span json, char *scratch, struct signals_refusal *out)
{
    struct json_reader r;
    struct signals_refusal refusal = {{"", 0}, {"", 0}};
    struct span key;
    *out = refusal;
    json_reader_init(&r, json, scratch, json.len);
    if (json_peek(&r) != JSON_OBJECT) return;
    json_object_begin(&r);
    while (json_object_next(&r, &key)) {
        struct span *text = span_is(key, "code")     ? &refusal.code
                            : span_is(key, "detail") ? &refusal.detail
                                                     : NULL;
        if (text && json_peek(&r) == JSON_STRING)
            json_string(&r, text);
        else
            json_skip(&r);
    }
    if (json_end(&r)) *out = refusal;
}
