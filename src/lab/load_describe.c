#include "lab/load_describe.h"

#include "lab/metrics_text.h"

#include <stdio.h>
#include <stdlib.h>

static void label_copy(const char *metrics, const char *name, const char *label, char *to)
{
    struct span text = span_of(metrics), value;
    struct metrics_sample sample;
    while (metrics_next(&text, name, &sample)) {
        if (sample.value == 0 || !metrics_label(&sample, label, &value)) continue;
        snprintf(to, CAPTURE_TEXT_MAX, "%.*s", (int)value.len, value.data);
        return;
    }
}

static enum err_code target_describe(const struct load_target *admin, struct capture_target *out,
                                     struct err *e)
{
    char *metrics = NULL;
    enum err_code code = load_target_fetch(admin, &metrics, e);
    if (code) return code;
    label_copy(metrics, "interlude_build_info", "version", out->build_version);
    label_copy(metrics, "interlude_build_info", "commit", out->commit);
    label_copy(metrics, "interlude_plan_info", "version", out->plan_version);
    label_copy(metrics, "interlude_plan_info", "fingerprint", out->fingerprint);
    free(metrics);
    return ERR_OK;
}

/* A capture that is too long to be read should not be begun. */
static enum err_code intervals_check(const struct load_options *o, struct err *e)
{
    uint64_t duration_ns = o->shape.duration_ns;
    uint64_t intervals = duration_ns / o->interval_ns + (duration_ns % o->interval_ns != 0);
    if (intervals <= CAPTURE_INTERVALS_MAX / o->target_count) return ERR_OK;
    return err_set(e, ERR_USAGE,
                   "a capture holds at most %d intervals of all targets: this makes %llu of each; "
                   "take a longer --interval or a shorter --duration",
                   CAPTURE_INTERVALS_MAX, (unsigned long long)intervals);
}

enum err_code load_describe(const struct load_options *o, const char *bodies,
                            const struct load_target *admins, uint32_t admin_count,
                            struct capture_header *out, struct err *e)
{
    const struct load_shape *s = &o->shape;
    enum err_code code = intervals_check(o, e);
    if (code) return code;
    bool flat = s->curve == LOAD_FLAT;
    struct capture_header h = {
        .rate = flat ? s->rate : 0,
        .peak = flat ? 0 : s->peak,
        .trough = flat ? 0 : s->trough,
        .cycle_us = flat ? 0 : s->cycle_ns / 1000,
        .duration_us = s->duration_ns / 1000,
        .turn_us = o->spread == LOAD_ALTERNATE ? o->turn_ns / 1000 : 0,
        .seed = s->seed,
        .connections = o->connections,
        .targets = o->target_count,
    };
    snprintf(h.shape, sizeof h.shape, "%s", flat ? "flat" : "diurnal");
    snprintf(h.arrivals, sizeof h.arrivals, "%s",
             s->arrivals == LOAD_CONSTANT ? "constant" : "poisson");
    snprintf(h.spread, sizeof h.spread, "%s",
             o->spread == LOAD_ALTERNATE ? "alternate" : "interleave");
    snprintf(h.bodies, sizeof h.bodies, "%s", bodies);
    machine_read(&h.machine);
    for (uint32_t t = 0; t < o->target_count; t++) {
        snprintf(h.target[t].url, sizeof h.target[t].url, "%s", o->targets[t].url);
        code = t < admin_count ? target_describe(&admins[t], &h.target[t], e) : ERR_OK;
        if (code) return code;
    }
    *out = h;
    return ERR_OK;
}
