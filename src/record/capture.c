/* The values: adding up, and whole files. Lines are written and read in capture_line.c. */
#include "record/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const char *capture_stage_name(enum capture_stage stage)
{
    static const char *const names[CAPTURE_STAGE_COUNT] = {
        [CAPTURE_CONNECT] = "connect", [CAPTURE_SEND] = "send",       [CAPTURE_RECEIVE] = "receive",
        [CAPTURE_STATUS] = "status",   [CAPTURE_TIMEOUT] = "timeout",
    };
    return names[stage];
}

void capture_interval_init(struct capture_interval *i, uint32_t target)
{
    *i = (struct capture_interval){.target = target};
    hist_init(&i->latency);
}

/* An interval of no length has no place in time yet. */
static void hull_add(struct capture_interval *into, const struct capture_interval *from)
{
    if (from->length_us == 0) return;
    if (into->length_us == 0) {
        into->start_us = from->start_us;
        into->length_us = from->length_us;
        return;
    }
    int64_t into_end = into->start_us + (int64_t)into->length_us;
    int64_t from_end = from->start_us + (int64_t)from->length_us;
    if (from->start_us < into->start_us) into->start_us = from->start_us;
    if (from_end > into_end) into_end = from_end;
    into->length_us = (uint64_t)(into_end - into->start_us);
}

static int64_t known_add(int64_t a, int64_t b)
{
    return a == MACHINE_UNKNOWN || b == MACHINE_UNKNOWN ? MACHINE_UNKNOWN : a + b;
}

void capture_interval_add(struct capture_interval *into, const struct capture_interval *from)
{
    INVARIANT(into->target == from->target);
    hull_add(into, from);
    into->active_us += from->active_us;
    into->due += from->due;
    into->sent += from->sent;
    for (int s = 0; s < CAPTURE_STAGE_COUNT; s++) into->errors[s] += from->errors[s];
    into->late += from->late;
    into->late_free += from->late_free;
    into->taken_late += from->taken_late;
    into->queued += from->queued;
    into->unsent += from->unsent;
    into->steal_us = known_add(into->steal_us, from->steal_us);
    into->throttled_us = known_add(into->throttled_us, from->throttled_us);
    hist_add(&into->latency, &from->latency);
}

uint64_t capture_interval_failed(const struct capture_interval *i)
{
    uint64_t failed = i->unsent;
    for (int s = CAPTURE_SEND; s < CAPTURE_STAGE_COUNT; s++) failed += i->errors[s];
    return failed;
}

void capture_total(const struct capture *c, uint32_t target, struct capture_interval *out)
{
    capture_interval_init(out, target);
    for (size_t i = 0; i < c->count; i++)
        if (c->intervals[i].target == target) capture_interval_add(out, &c->intervals[i]);
}

void capture_total_all(const struct capture *c, struct capture_interval *out)
{
    bool turns = strcmp(c->header.spread, "alternate") == 0;
    capture_interval_init(out, 0);
    for (size_t i = 0; i < c->count; i++) {
        struct capture_interval one = c->intervals[i];
        if (one.target != 0) {
            one.steal_us = one.throttled_us = 0;
            if (!turns) one.active_us = 0;
        }
        one.target = 0;
        capture_interval_add(out, &one);
    }
}

/* ---- files ---- */

static enum err_code interval_append(struct capture *c, size_t *cap, struct span line,
                                     struct err *e)
{
    if (c->count == CAPTURE_INTERVALS_MAX)
        return err_set(e, ERR_LIMIT, "a capture has at most %d intervals", CAPTURE_INTERVALS_MAX);
    if (c->count == *cap) {
        *cap = *cap ? 2 * *cap : 64;
        c->intervals = realloc(c->intervals, *cap * sizeof *c->intervals);
        INVARIANT(c->intervals != NULL);
    }
    struct capture_interval *interval = &c->intervals[c->count];
    enum err_code code = capture_read_interval(line, interval, e);
    if (code) return code;
    if (interval->target >= c->header.targets)
        return err_set(e, ERR_FIELD_RANGE, "target %u is not in the header", interval->target);
    c->count++;
    return ERR_OK;
}

static enum err_code file_read(FILE *file, struct capture *c, struct err *e)
{
    char *line = NULL;
    size_t line_cap = 0, cap = 0;
    uint32_t number = 0;
    enum err_code code = ERR_OK;
    ssize_t len;
    while (!code && (len = getline(&line, &line_cap, file)) > 0 && line[len - 1] == '\n') {
        struct span text = {line, (size_t)len - 1};
        number++;
        code = number == 1 ? capture_read_header(text, &c->header, e)
                           : interval_append(c, &cap, text, e);
        if (code && e) e->line = number;
    }
    if (!code && ferror(file)) code = err_set_sys(e, ERR_SYSTEM, errno, "reading");
    if (!code && number == 0) code = err_set(e, ERR_JSON_SYNTAX, "no header line");
    free(line);
    return code;
}

enum err_code capture_open(const char *path, struct capture *out, struct err *e)
{
    FILE *file = fopen(path, "re");
    if (!file) return err_set_sys(e, ERR_SYSTEM, errno, "%s", path);
    struct capture c = {.intervals = NULL};
    enum err_code code = file_read(file, &c, e);
    fclose(file);
    if (code) {
        capture_done(&c);
        return code;
    }
    *out = c;
    return ERR_OK;
}

void capture_done(struct capture *c)
{
    free(c->intervals);
    c->intervals = NULL;
    c->count = 0;
}
