#include "lab/profile.h"

#include "lab/metrics_text.h"

enum { BAR_WIDTH = 40 };

static int stage_find(const struct profile *p, struct span name)
{
    for (int i = 0; i < p->count; i++)
        if (span_is(name, p->stages[i].name)) return i;
    return -1;
}

bool profile_read(struct span metrics, struct profile *out)
{
    *out = (struct profile){0};
    struct metrics_sample sample;
    struct span name, text = metrics;
    while (metrics_next(&text, "interlude_stage_seconds_total", &sample)) {
        if (!metrics_label(&sample, "stage", &name) || name.len > PROFILE_NAME_MAX ||
            out->count == PROFILE_STAGES_MAX)
            continue;
        memcpy(out->stages[out->count].name, name.data, name.len);
        out->stages[out->count++].seconds = sample.value;
    }
    text = metrics;
    while (metrics_next(&text, "interlude_stage_samples_total", &sample)) {
        int stage = metrics_label(&sample, "stage", &name) ? stage_find(out, name) : -1;
        if (stage >= 0) out->stages[stage].samples = sample.value;
    }
    return out->count > 0;
}

bool profile_between(const struct profile *before, const struct profile *after, struct profile *out)
{
    if (before->count != after->count) return false;
    struct profile between = *after;
    for (int i = 0; i < after->count; i++) {
        if (strcmp(before->stages[i].name, after->stages[i].name) != 0) return false;
        between.stages[i].seconds -= before->stages[i].seconds;
        between.stages[i].samples -= before->stages[i].samples;
        if (between.stages[i].seconds < 0 || between.stages[i].samples < 0) return false;
    }
    *out = between;
    return true;
}

bool profile_sampled(const struct profile *p)
{
    for (int i = 0; i < p->count; i++)
        if (p->stages[i].samples > 0) return true;
    return false;
}

static double stage_us(const struct profile *p, int stage)
{
    double samples = p->stages[stage].samples;
    return samples > 0 ? p->stages[stage].seconds / samples * 1e6 : 0;
}

void profile_print(struct buf *b, const struct profile *p)
{
    double sum_us = 0, most = 0;
    for (int i = 0; i < p->count; i++) {
        sum_us += stage_us(p, i);
        if (p->stages[i].samples > most) most = p->stages[i].samples;
    }
    buf_format(b, "%-10s %6s %9s\n", "stage", "share", "us");
    for (int i = 0; i < p->count; i++) {
        double us = stage_us(p, i), share = sum_us > 0 ? us / sum_us : 0;
        buf_format(b, "%-10s %5.1f%% %9.3f  ", p->stages[i].name, share * 100, us);
        for (int bar = 0; bar < (int)(share * BAR_WIDTH + 0.5); bar++) buf_char(b, '#');
        buf_char(b, '\n');
    }
    buf_format(b, "%-10s %6s %9.3f  mean of %.0f sampled requests\n", "sum", "", sum_us, most);
}
