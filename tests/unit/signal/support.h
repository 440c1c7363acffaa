/* What the tests of this room share: a plan, decisions on it, and signals that log into a file. */
#ifndef INTERLUDE_TESTS_SIGNAL_SUPPORT_H
#define INTERLUDE_TESTS_SIGNAL_SUPPORT_H

#include "base/clock.h"
#include "plan/plan_load.h"
#include "signal/signals.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PLAN_HEAD "version: "
#define PLAN_BODY                                                                           \
    "\n"                                                                                    \
    "salt: s\n"                                                                             \
    "actions:\n"                                                                            \
    "  - {name: none, ads: 0, cooldown: 60s}\n"                                             \
    "  - {name: pod_1, ads: 1, max_duration: 30s, cooldown: 6m}\n"                          \
    "  - {name: pod_2, ads: 2, max_duration: 60s, cooldown: 12m}\n"                         \
    "  - {name: pod_3, ads: 3, max_duration: 90s, cooldown: 20m}\n"                         \
    "segments: [new, core]\n"                                                               \
    "policies:\n"                                                                           \
    "  rules: {kind: fixed, rules: [{when: 'tracks_played >= 3', action: pod_1}, {action: " \
    "none}]}\n"                                                                             \
    "  bayes: {kind: thompson, actions: [none, pod_1, pod_2], on_partial: exclude,\n"       \
    "          fallback: rules, max_posterior_age: 1h}\n"                                   \
    "variants:\n"                                                                           \
    "  control: {policy: rules}\n"                                                          \
    "  learned: {policy: bayes}\n"                                                          \
    "experiments:\n"                                                                        \
    "  - {name: adload, salt: a, slice: 50%, split: {control: 50%, learned: 50%}}\n"        \
    "default_variant: control\n"                                                            \
    "guardrails:\n"                                                                         \
    "  ad_free: \"has(tier) && tier == 'premium'\"\n"                                       \
    "  grace_period: 3m\n"                                                                  \
    "  cooldown: true\n"

static inline struct plan *plan_of(const char *version)
{
    char yaml[4096];
    int len = snprintf(yaml, sizeof yaml, "%s%s%s", PLAN_HEAD, version, PLAN_BODY);
    struct plan_errors errors = {0};
    struct plan *plan = plan_load((struct span){yaml, (size_t)len}, NULL, &errors);
    if (!plan) fail_msg("%u: %s", errors.errors[0].line, errors.errors[0].text);
    return plan;
}

/* Decides a body, and tells it. */
static inline void tell(struct signal_writer *writer, const struct signal_cells *cells,
                        const struct plan *plan, const char *body)
{
    char scratch[4096];
    struct request request;
    struct decision decision;
    struct err e;
    int64_t now_us = clock_wall_us();
    assert_int_equal(request_read(plan, span_of(body), scratch, &request, &e), ERR_OK);
    decide(plan, &request, request.time_us == REQUEST_TIME_NONE ? now_us : request.time_us, NULL,
           &decision);
    signal_decision(writer, cells, plan, &request, &decision, now_us);
}

/* Decides a body, and tells it as a drill. */
static inline void drill(struct signal_writer *writer, const struct plan *plan, const char *body)
{
    char scratch[4096];
    struct request request;
    struct decision decision;
    struct err e;
    int64_t now_us = clock_wall_us();
    assert_int_equal(request_read(plan, span_of(body), scratch, &request, &e), ERR_OK);
    decide(plan, &request, request.time_us == REQUEST_TIME_NONE ? now_us : request.time_us, NULL,
           &decision);
    signal_drill(writer, plan, &request, &decision, now_us);
}

struct bench {
    char dir[64], path[96];
    struct settings_log log;
    struct signals *signals;
};

static inline void bench_prepare(struct bench *b)
{
    snprintf(b->dir, sizeof b->dir, "/tmp/signals-test-XXXXXX");
    assert_non_null(mkdtemp(b->dir));
    snprintf(b->path, sizeof b->path, "%s/log", b->dir);
    b->log = (struct settings_log){.level = LOG_INFO,
                                   .sink = LOG_FILE,
                                   .file = span_of(b->path),
                                   .budget = {__builtin_inf(), __builtin_inf()}};
    b->signals = NULL;
}

static inline void bench_open(struct bench *b, int writers, int64_t report_interval_ms)
{
    struct signals_config config = {.writers = writers,
                                    .log = &b->log,
                                    .program = SPAN("1.2.3"),
                                    .commit = SPAN("abc"),
                                    .report_interval_ms = report_interval_ms};
    struct err e;
    assert_int_equal(signals_open(&config, &b->signals, &e), ERR_OK);
}

/* The cells of a plan that is served with this log. */
static inline struct signal_cells *adopt(struct signals *signals, const struct plan *plan,
                                         const struct settings_log *log)
{
    struct signal_cells *cells = signals_cells(signals, plan);
    assert_non_null(cells);
    signals_adopt(signals, plan, log);
    return cells;
}

/* Room for whatever can be told; the caller frees its data. */
static inline struct buf room(void)
{
    char *memory = malloc(SIGNALS_METRICS_BYTES_MAX + 1);
    assert_non_null(memory);
    return buf_of(memory, SIGNALS_METRICS_BYTES_MAX + 1);
}

static inline uint64_t in_ms(int64_t ms)
{
    return clock_mono_ns() + (uint64_t)ms * 1000000;
}

/* Closes what is open, and takes the directory away. */
static inline void bench_done(struct bench *b)
{
    if (b->signals) assert_int_equal(signals_close(b->signals, in_ms(20000)), 0);
    unlink(b->path);
    assert_int_equal(rmdir(b->dir), 0);
}

/* The file's text, NUL-terminated; the caller frees it. */
static inline char *file_text(const char *path)
{
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    size_t cap = 1 << 24;
    char *text = malloc(cap);
    assert_non_null(text);
    size_t n = fread(text, 1, cap - 1, f);
    assert_true(n < cap - 1); /* or the file is longer than what is looked at */
    text[n] = '\0';
    fclose(f);
    return text;
}

static inline int count_of(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text += strlen(what)) n++;
    return n;
}

static inline void sleep_ms(long ms)
{
    usleep((useconds_t)(ms * 1000));
}

/* Waits until the file holds `what` at least `n` times; fails after twenty seconds. */
static inline void file_wait(const char *path, const char *what, int n)
{
    for (int i = 0; i < 2000; i++) {
        char *text = access(path, F_OK) == 0 ? file_text(path) : NULL;
        int got = text ? count_of(text, what) : 0;
        free(text);
        if (got >= n) return;
        sleep_ms(10);
    }
    fail_msg("%s: no %s", path, what);
}

/* Until the scribe, which may be held up at any place, has turned `n` times from begin to end. */
static inline void turns_wait(const struct signals *signals, int n)
{
    uint64_t turned_ns = signals_scribe_turned_ns(signals), end_ns = in_ms(20000);
    for (int turns = 0; turns <= n; sleep_ms(2)) { /* the first may have begun before */
        if (clock_mono_ns() > end_ns) fail_msg("the scribe turned %d times", turns);
        if (signals_scribe_turned_ns(signals) == turned_ns) continue;
        turned_ns = signals_scribe_turned_ns(signals);
        turns++;
    }
}

/* Until nothing of the site is queued. */
static inline struct signal_account site_wait(struct signals *signals, enum signal_site site)
{
    struct signal_account all[SITE_COUNT];
    for (uint64_t end_ns = in_ms(20000);; sleep_ms(2)) {
        signals_account(signals, all);
        if (all[site].queued == 0) return all[site];
        if (clock_mono_ns() > end_ns)
            fail_msg("%s: a record is queued for ever", signal_sites[site].name);
    }
}

/* At the latest within twenty seconds. */
static inline void site_holds(struct signals *signals, enum signal_site site, uint64_t fired,
                              uint64_t written, uint64_t dropped, uint64_t suppressed,
                              uint64_t outranked, uint64_t queued)
{
    struct signal_account all[SITE_COUNT], *a = &all[site];
    for (uint64_t end_ns = in_ms(20000);; sleep_ms(2)) {
        signals_account(signals, all);
        if (a->fired == fired && a->outcomes[OUTCOME_WRITTEN] == written &&
            a->outcomes[OUTCOME_DROPPED] == dropped &&
            a->outcomes[OUTCOME_SUPPRESSED] == suppressed &&
            a->outcomes[OUTCOME_OUTRANKED] == outranked && a->queued == queued)
            return;
        if (clock_mono_ns() > end_ns) break;
    }
    fail_msg("%s: fired %d = written %d + dropped %d + suppressed %d + outranked %d + queued %d",
             signal_sites[site].name, (int)a->fired, (int)a->outcomes[OUTCOME_WRITTEN],
             (int)a->outcomes[OUTCOME_DROPPED], (int)a->outcomes[OUTCOME_SUPPRESSED],
             (int)a->outcomes[OUTCOME_OUTRANKED], (int)a->queued);
}

#endif
