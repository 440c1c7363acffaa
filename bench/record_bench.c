/* record_bench: what a log record and four counters cost the request path.
 *
 *   record_bench count WHICH N   calls signal_decision() N times; for callgrind
 *   record_bench time            nanoseconds, warm and cold, of the decision without an anomaly, of
 * the one with (a record, and four missing posteriors), and their difference
 *
 * WHICH: complete, or absent. The scribe writes to /dev/null and runs as it does in the server; the
 * ring is given time to empty between the samples, which are not long enough to fill it. */
#include "base/clock.h"
#include "plan/plan_load.h"
#include "signal/signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 64, BATCHES = 800, COLD_SAMPLES = 400, COLD_BYTES = 64 * 1024 * 1024 };

static const char *const bodies[] = {
    "{\"request_id\": \"r-123\", \"segment_id\": \"core\", \"variant\": \"bayes\",\n"
    " \"session\": {\"elapsed_s\": 1830, \"tracks_played\": 9, \"seconds_since_last_break_end\": "
    "915,"
    " \"ads_last_hour\": 2, \"ad_seconds_last_hour\": 55},\n"
    " \"posteriors\": {\"none\": {\"alpha\": 20, \"beta\": 80}, \"pod_1\": {\"alpha\": 25, "
    "\"beta\": 75},\n"
    " \"pod_2\": {\"alpha\": 30, \"beta\": 70}, \"pod_3\": {\"alpha\": 22, \"beta\": 78}}}",
    "{\"request_id\": \"r-123\", \"segment_id\": \"core\", \"variant\": \"bayes\",\n"
    " \"session\": {\"elapsed_s\": 1830, \"tracks_played\": 9, \"seconds_since_last_break_end\": "
    "915,"
    " \"ads_last_hour\": 2, \"ad_seconds_last_hour\": 55}}",
};

struct bench {
    struct plan *plan;
    struct signals *signals;
    struct signal_writer *writer;
    struct signal_cells *cells;
    struct request request[2];
    struct decision decision[2];
    char scratch[2][4096];
};

static bool bench_open(struct bench *b)
{
    struct plan_errors errors = {0};
    b->plan = plan_load(plan_demo_text(), NULL, &errors);
    if (!b->plan) return false;
    struct settings_log log = {.level = LOG_INFO,
                               .sink = LOG_FILE,
                               .file = SPAN("/dev/null"),
                               .budget = {__builtin_inf(), __builtin_inf()}};
    struct err e;
    if (signals_open(&(struct signals_config){.writers = 1, .log = &log}, &b->signals, &e))
        return false;
    b->writer = signals_writer(b->signals, 0);
    b->cells = signals_cells(b->signals, b->plan);
    if (!b->cells) return false;
    signals_adopt(b->signals, b->plan, &log);
    for (int i = 0; i < 2; i++) {
        if (request_read(b->plan, span_of(bodies[i]), b->scratch[i], &b->request[i], &e))
            return false;
        decide(b->plan, &b->request[i], 0, NULL, &b->decision[i]);
    }
    return true;
}

static void tell(struct bench *b, int which)
{
    signal_decision(b->writer, b->cells, b->plan, &b->request[which], &b->decision[which], 0);
}

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static double warm_ns(struct bench *b, int which)
{
    static double ns[BATCHES];
    for (int i = 0; i < BATCHES; i++) {
        if (i % 8 == 0) nap_ms(40);
        for (int k = 0; k < 8; k++) tell(b, which); /* warm again after the nap */
        uint64_t begun = clock_mono_ns();
        for (int k = 0; k < BATCH; k++) tell(b, which);
        ns[i] = (double)(clock_mono_ns() - begun) / BATCH;
    }
    return median(ns, BATCHES);
}

/* The caches are emptied before each call; the clock's own cost is taken off. */
static double cold_ns(struct bench *b, int which, volatile char *junk)
{
    static double ns[COLD_SAMPLES], empty[COLD_SAMPLES];
    for (int i = 0; i < COLD_SAMPLES; i++) {
        for (size_t at = 0; at < COLD_BYTES; at += 64) junk[at]++;
        clock_mono_ns();
        uint64_t begun = clock_mono_ns();
        tell(b, which);
        uint64_t ended = clock_mono_ns();
        ns[i] = (double)(ended - begun);
        empty[i] = (double)(clock_mono_ns() - ended);
    }
    return median(ns, COLD_SAMPLES) - median(empty, COLD_SAMPLES);
}

int main(int argc, char **argv)
{
    static struct bench b;
    bool count = argc == 4 && !strcmp(argv[1], "count");
    if (!count && !(argc == 2 && !strcmp(argv[1], "time"))) {
        fprintf(stderr, "usage: record_bench count complete|absent N | record_bench time\n");
        return 2;
    }
    if (!bench_open(&b)) return 2;
    if (count) {
        int which = !strcmp(argv[2], "absent");
        for (int i = 0; i < atoi(argv[3]); i++) {
            tell(&b, which);
            if (i % 512 == 511) nap_ms(100);
        }
    } else {
        char *junk = calloc(1, COLD_BYTES);
        if (!junk) return 2;
        double warm[2], cold[2];
        for (int i = 0; i < 2; i++) warm[i] = warm_ns(&b, i), cold[i] = cold_ns(&b, i, junk);
        printf("{\"warm_ns\": [%.1f, %.1f], \"cold_ns\": [%.0f, %.0f]}\n", warm[0], warm[1],
               cold[0], cold[1]);
        free(junk);
    }
    struct signal_account accounts[SITE_COUNT];
    nap_ms(300);
    signals_account(b.signals, accounts);
    const struct signal_account *a = &accounts[SITE_POSTERIORS_ABSENT];
    if (a->fired != a->outcomes[OUTCOME_WRITTEN]) {
        fprintf(stderr, "record_bench: of %llu records %llu were written\n",
                (unsigned long long)a->fired, (unsigned long long)a->outcomes[OUTCOME_WRITTEN]);
        return 1;
    }
    signals_release(b.signals, b.cells);
    signals_close(b.signals, clock_mono_ns() + 1000000000);
    plan_free(b.plan);
    return 0;
}
