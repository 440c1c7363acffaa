/* The story's switches: what each makes of a decision, without a server around it. */
#include "serve/story.h"

#include "base/clock.h"
#include "plan/plan_load.h"
#include "serve/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PLAN                                                                                   \
    "version: t-1\n"                                                                           \
    "salt: s\n"                                                                                \
    "actions:\n"                                                                               \
    "  - {name: none, ads: 0, cooldown: 60s}\n"                                                \
    "  - {name: pod_1, ads: 1, max_duration: 30s, cooldown: 6m}\n"                             \
    "  - {name: pod_2, ads: 2, max_duration: 60s, cooldown: 12m}\n"                            \
    "segments: [core]\n"                                                                       \
    "policies:\n"                                                                              \
    "  rules: {kind: fixed, rules: [{action: pod_1}]}\n"                                       \
    "  learned: {kind: thompson, fallback: rules}\n"                                           \
    "  some: {kind: thompson, fallback: rules, actions: [none, pod_1]}\n"                      \
    "  cold: {kind: thompson, fallback: rules, on_empty: cold_start, prior: {alpha: 1, beta: " \
    "1}}\n"                                                                                    \
    "variants:\n"                                                                              \
    "  control: {policy: rules}\n"                                                             \
    "  learned: {policy: learned}\n"                                                           \
    "  some: {policy: some}\n"                                                                 \
    "  cold: {policy: cold}\n"                                                                 \
    "default_variant: control\n"                                                               \
    "guardrails: {ad_free: \"has(tier) && tier == 'premium'\"}\n"                              \
    "log: {budget: {rate: unlimited}}\n"

#define FOR(variant) "{\"request_id\":\"r\",\"segment_id\":\"core\",\"variant\":\"" variant "\""
#define SENT(entries) ",\"posteriors\":{" entries "}}"
#define BETA(action) "\"" action "\":{\"alpha\":1,\"beta\":1}"

enum { NONE = 1, POD_1 = 2, POD_2 = 4, ALL = 7, BODIES_MAX = 512 * 1024 };

static struct plan *plan_of(const char *yaml)
{
    struct plan_errors *errors = calloc(1, sizeof *errors);
    assert_non_null(errors);
    struct plan *plan = plan_load(span_of(yaml), NULL, errors);
    if (!plan) fail_msg("%u: %s", errors->errors[0].line, errors->errors[0].text);
    free(errors);
    return plan;
}

/* ---- the guard ---- */

static void the_guard_asks_nobody(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        enum posteriors_status before, after;
        action_set missing;
    } rows[] = {
        {FOR("control") "}", POSTERIORS_BY_DESIGN, POSTERIORS_ABSENT, ALL},
        {FOR("control") ",\"posteriors\":null}", POSTERIORS_BY_DESIGN, POSTERIORS_ABSENT, ALL},
        {FOR("control") ",\"posteriors\":7}", POSTERIORS_UNSOLICITED, POSTERIORS_ABSENT, ALL},
        {FOR("control") SENT(""), POSTERIORS_BY_DESIGN, POSTERIORS_ABSENT, ALL},
        {FOR("control") SENT(BETA("pod_1")), POSTERIORS_UNSOLICITED, POSTERIORS_PARTIAL,
         NONE | POD_2},
        {FOR("control") SENT("\"none\":{},\"pod_1\":null," BETA("pod_2")), POSTERIORS_UNSOLICITED,
         POSTERIORS_PARTIAL, NONE | POD_1},
        {FOR("control") SENT(BETA("none") "," BETA("pod_1") "," BETA("pod_2")),
         POSTERIORS_UNSOLICITED, POSTERIORS_UNSOLICITED, 0},
        {FOR("learned") "}", POSTERIORS_ABSENT, POSTERIORS_ABSENT, ALL},
        {FOR("learned") SENT(BETA("none") "," BETA("pod_1")), POSTERIORS_PARTIAL,
         POSTERIORS_PARTIAL, POD_2},
        {FOR("learned") SENT(BETA("none") "," BETA("pod_1") "," BETA("pod_2")), POSTERIORS_COMPLETE,
         POSTERIORS_COMPLETE, 0},
        {FOR("learned") ",\"posteriors\":7}", POSTERIORS_INVALID, POSTERIORS_INVALID, 0},
        {FOR("learned") SENT(BETA("none") ",\"pod_1\":5"), POSTERIORS_INVALID, POSTERIORS_INVALID,
         POD_2},
        {FOR("learned") SENT(BETA("none") "," BETA("pod_9")), POSTERIORS_UNKNOWN_ACTION,
         POSTERIORS_UNKNOWN_ACTION, POD_1 | POD_2},
        {FOR("some") SENT(BETA("none") "," BETA("pod_1")), POSTERIORS_COMPLETE, POSTERIORS_PARTIAL,
         POD_2},
        {FOR("some") SENT(BETA("pod_2")), POSTERIORS_ABSENT, POSTERIORS_PARTIAL, NONE | POD_1},
        {FOR("cold") SENT(""), POSTERIORS_COLD_START, POSTERIORS_ABSENT, ALL},
        {FOR("learned") ",\"session\":{\"tier\":\"premium\"}}", POSTERIORS_BY_DESIGN,
         POSTERIORS_ABSENT, ALL},
    };
    struct plan *plan = plan_of(PLAN);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char scratch[1024];
        struct request request;
        struct decision before;
        struct err e;
        if (request_read(plan, span_of(rows[i].body), scratch, &request, &e))
            fail_msg("%s: %s", rows[i].body, e.text);
        decide(plan, &request, 0, NULL, &before);
        struct decision after = before;
        story_guard(plan, &request, &after);
        if (before.presence.status != rows[i].before || after.presence.status != rows[i].after ||
            (rows[i].missing && after.presence.missing != rows[i].missing))
            fail_msg("%s: %s, then %s, missing %x", rows[i].body,
                     posteriors_status_name(before.presence.status),
                     posteriors_status_name(after.presence.status), after.presence.missing);
        bool one = (after.presence.conditions >> POSTERIORS_PARTIAL & 1) ^
                   (after.presence.conditions >> POSTERIORS_ABSENT & 1);
        assert_int_equal(one, rows[i].missing != 0);
        /* What was decided stays decided. */
        assert_int_equal(after.action, before.action);
        assert_int_equal(after.reasons, before.reasons);
        assert_int_equal(after.presence.fallback, before.presence.fallback);
        if (!rows[i].missing) assert_memory_equal(&after, &before, sizeof after);
    }
    plan_free(plan);
}

/* ---- a worker whose answers are the story's ---- */

struct fixture {
    char directory[32], log[64], plan_file[64];
    struct plan *plan;
    struct settings_log log_settings;
    struct signals *signals;
    struct plan_served served;
    struct plan_live live;
    struct worker worker;
    _Atomic bool ready;
    char answer[8192];
};

static struct fixture *f;

static void text_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int setup(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    f = aligned_alloc(64, (sizeof *f + 63) & ~(size_t)63);
    if (!f) return -1;
    memset(f, 0, sizeof *f);
    strcpy(f->directory, "/tmp/story-test-XXXXXX");
    if (!mkdtemp(f->directory)) return -1;
    snprintf(f->log, sizeof f->log, "%s/log", f->directory);
    snprintf(f->plan_file, sizeof f->plan_file, "%s/plan.yaml", f->directory);
    text_write(f->plan_file, PLAN);
    f->plan = plan_of(PLAN);
    f->log_settings = (struct settings_log){.level = LOG_INFO,
                                            .sink = LOG_FILE,
                                            .file = span_of(f->log),
                                            .budget = {__builtin_inf(), 100}};
    struct err e;
    if (signals_open(
            &(struct signals_config){.writers = 1, .log = &f->log_settings, .all_posteriors = true},
            &f->signals, &e))
        return -1;
    f->served = (struct plan_served){f->plan, signals_cells(f->signals, f->plan), 1};
    if (!f->served.cells) return -1;
    signals_adopt(f->signals, f->plan, &f->log_settings);
    plan_live_init(&f->live, &f->served, 1);
    worker_init(&f->worker, &f->live, 0, signals_writer(f->signals, 0), &f->ready);
    return 0;
}

static void scribe_finish(void)
{
    signals_close(f->signals, clock_mono_ns() + 1000000000);
    f->signals = NULL;
}

static int teardown(void **state)
{
    (void)state;
    story_close();
    if (f->signals) scribe_finish();
    free(f->served.cells);
    plan_free(f->plan);
    unlink(f->log);
    unlink(f->plan_file);
    rmdir(f->directory);
    free(f);
    return 0;
}

static void story(struct story_config config)
{
    struct err e;
    config.log = &f->log_settings;
    assert_int_equal(story_open(&config, &e), ERR_OK);
}

/* The answer's status; the answer is in f->answer. */
static int ask(const char *body)
{
    struct buf out = buf_of(f->answer, sizeof f->answer - 1);
    const struct http_reader reader = {.method = HTTP_POST};
    struct exchange x = {
        .reader = &reader, .body = span_of(body), .fd = -1, .out = &out, .variant = -1};
    struct service *service = &f->worker.service;
    service->turn_begin(service);
    story_answer(service, &x);
    service->turn_end(service);
    f->answer[out.len] = '\0';
    assert_int_equal(x.variant >= 0, x.status == 200);
    return x.status;
}

/* How often `what` stands in the log. */
static int log_count(const char *what)
{
    char *text = calloc(1, BODIES_MAX);
    FILE *file = fopen(f->log, "r");
    assert_non_null(text);
    assert_non_null(file);
    assert_true(fread(text, 1, BODIES_MAX - 1, file) < BODIES_MAX - 1);
    fclose(file);
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) n++;
    free(text);
    return n;
}

/* The sum of the samples of a metric's name. */
static double metric(const char *name)
{
    struct buf b = buf_of(malloc(SIGNALS_METRICS_BYTES_MAX + 1), SIGNALS_METRICS_BYTES_MAX + 1);
    assert_non_null(b.data);
    signals_render_metrics(f->signals, METRICS_PROMETHEUS, &b);
    buf_char(&b, '\0');
    double sum = 0;
    for (const char *at = b.data; (at = strstr(at, name)); at++)
        if (at[-1] == '\n') sum += strtod(strstr(at, "} ") + 2, NULL);
    free(b.data);
    return sum;
}

enum { REQUESTS = 5 };

static void what_each_switch_tells(void **state)
{
    (void)state;
    static const struct {
        bool unconditional, synchronous;
        const char *body, *line;
        int lines, missing;
    } rows[] = {
        {false, false, FOR("control") "}", "\"event\"", 0, 0},
        {false, true, FOR("control") "}", "\"event\"", 0, 0},
        {true, false, FOR("control") "}", "\"posteriors_absent\"", 1, 3},
        {true, true, FOR("control") "}", "\"posteriors_absent\"", 1, 3},
        {true, true, FOR("control") "}", "\"missing_actions\":[\"none\",\"pod_1\",\"pod_2\"]", 1,
         3},
        {true, true, FOR("control") SENT(BETA("none")), "\"posteriors_partial\"", 1, 2},
        {false, true, FOR("learned") "}", "\"posteriors_absent\"", 1, 3},
        {false, false, FOR("learned") "}", "\"posteriors_absent\"", 1, 3},
        {true, true, FOR("learned") "}", "\"event\"", 1, 3},
        {false, true, FOR("nobody") "}", "\"unknown_variant\"", 1, 0},
        {true, true, FOR("nobody") "}", "\"event\"", 2, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(setup(NULL), 0);
        story((struct story_config){.guard_unconditional = rows[i].unconditional,
                                    .log_synchronous = rows[i].synchronous});
        for (int k = 0; k < REQUESTS; k++) {
            assert_int_equal(ask(rows[i].body), 200);
            /* It was there before the answer was. */
            if (rows[i].synchronous)
                assert_int_equal(log_count(rows[i].line), (k + 1) * rows[i].lines);
        }
        double missing = metric("interlude_missing_posteriors_total");
        if (missing != REQUESTS * rows[i].missing) fail_msg("row %zu: %g missing", i, missing);
        assert_true(metric("interlude_decisions_total") == REQUESTS);
        struct signal_account accounts[SITE_COUNT];
        signals_account(f->signals, accounts);
        uint64_t fired = 0;
        for (int site = 0; site < SITE_SCRIBE_FIRST; site++) fired += accounts[site].fired;
        assert_int_equal(fired, rows[i].synchronous ? 0 : REQUESTS * rows[i].lines);
        scribe_finish();
        assert_int_equal(log_count(rows[i].line), REQUESTS * rows[i].lines);
        teardown(NULL);
    }
}

/* The answer's own words are the product's, whatever the switches. */
static void answers_are_the_same(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        FOR("control") ",\"time\":\"2026-11-30T08:00:00Z\"}",
        FOR("learned") ",\"time\":\"2026-11-30T08:00:00Z\"" SENT(BETA("none") "," BETA("pod_1")),
        "{",
        FOR("control") ",\"unit_id\":1}",
    };
    struct service *service = &f->worker.service;
    story((struct story_config){true, true, true, f->plan_file, NULL});
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char products[sizeof f->answer];
        struct buf out = buf_of(products, sizeof products - 1);
        const struct http_reader reader = {.method = HTTP_POST};
        struct exchange x = {.reader = &reader, .body = span_of(bodies[i]), .fd = -1, .out = &out};
        service->turn_begin(service);
        service->answer(service, &x);
        service->turn_end(service);
        products[out.len] = '\0';
        assert_int_equal(ask(bodies[i]), x.status);
        assert_string_equal(f->answer, products);
    }
}

/* ---- a log that is not a file ---- */

enum { LINES = 300 };

static void *slow_reader(void *argument)
{
    const struct timespec while_ns = {.tv_nsec = 2000000};
    int fd = *(int *)argument;
    char *text = malloc(BODIES_MAX);
    size_t len = 0;
    for (ssize_t n; text && (n = read(fd, text + len, 1000)) > 0; len += (size_t)n)
        if (len < 100000) nanosleep(&while_ns, NULL);
    if (text) text[len] = '\0';
    return text;
}

/* Standard output is a socket that takes little and doesn't wait: lines come whole all the same. */
static void a_sink_that_takes_little(void **state)
{
    (void)state;
    int pair[2], small = 4608, kept = dup(STDOUT_FILENO);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    fcntl(pair[1], F_SETFL, O_NONBLOCK);
    f->log_settings.sink = LOG_STDOUT;
    story((struct story_config){.guard_unconditional = true, .log_synchronous = true});
    pthread_t reader;
    pthread_create(&reader, NULL, slow_reader, &pair[0]);
    fflush(stdout);
    dup2(pair[1], STDOUT_FILENO);
    close(pair[1]);
    int answered = 0;
    for (int i = 0; i < LINES; i++) answered += ask(FOR("control") "}") == 200;
    dup2(kept, STDOUT_FILENO);
    close(kept);
    void *text = NULL;
    pthread_join(reader, &text);
    close(pair[0]);
    assert_non_null(text);
    assert_int_equal(answered, LINES);
    int lines = 0;
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save), lines++)
        if (line[0] != '{' || line[strlen(line) - 1] != '}') fail_msg("%d: %s", lines, line);
    assert_int_equal(lines, LINES);
    free(text);
}

/* Nobody reads any more, or there is no space: the line is lost, and nothing else is. */
static void a_sink_that_fails(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++) {
        int ends[2] = {-1, -1}, kept = dup(STDOUT_FILENO);
        if (full)
            ends[1] = open("/dev/full", O_WRONLY);
        else
            assert_int_equal(pipe(ends), 0);
        if (!full) close(ends[0]);
        f->log_settings.sink = LOG_STDOUT;
        story((struct story_config){.guard_unconditional = true, .log_synchronous = true});
        fflush(stdout);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[1]);
        int status = ask(FOR("control") "}");
        dup2(kept, STDOUT_FILENO);
        close(kept);
        assert_int_equal(status, 200);
    }
}

static void a_log_that_cannot_be_opened(void **state)
{
    (void)state;
    const struct settings_log log = {.sink = LOG_FILE, .file = SPAN("/nowhere/log")};
    struct err e;
    struct story_config config = {.log_synchronous = true, .log = &log};
    assert_int_equal(story_open(&config, &e), ERR_SYSTEM);
    assert_non_null(strstr(e.text, "/nowhere/log"));
    config.log_synchronous = false;
    assert_int_equal(story_open(&config, &e), ERR_OK);
}

/* ---- the configuration ---- */

static int opened(int watch)
{
    char events[4096];
    ssize_t n = read(watch, events, sizeof events);
    int count = 0;
    for (ssize_t at = 0; at < n; count++) {
        struct inotify_event event;
        memcpy(&event, events + at, sizeof event);
        at += (ssize_t)(sizeof event + event.len);
    }
    return count;
}

static void the_plan_is_opened_in_each_request(void **state)
{
    (void)state;
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    /* With the closing, so that no two events in a row are equal: equals are told once. */
    if (watch < 0 || inotify_add_watch(watch, f->plan_file, IN_OPEN | IN_CLOSE_NOWRITE) < 0) {
        print_message("skipped: this system watches no files (inotify)\n");
        skip();
    }
    for (int per_request = 0; per_request < 2; per_request++) {
        story((struct story_config){.guard_unconditional = true,
                                    .config_per_request = per_request,
                                    .plan_path = f->plan_file});
        for (int i = 0; i < REQUESTS; i++) assert_int_equal(ask(FOR("control") "}"), 200);
        assert_int_equal(opened(watch), per_request ? 2 * REQUESTS : 0);
    }
    close(watch);
}

/* It is read in vain: what it says now decides nothing. */
static void the_plan_that_is_served_decides(void **state)
{
    (void)state;
    static const char *const texts[] = {"version: t-2\n", "nonsense: [", "", NULL};
    story((struct story_config){.config_per_request = true, .plan_path = f->plan_file});
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i])
            text_write(f->plan_file, texts[i]);
        else
            unlink(f->plan_file);
        assert_int_equal(ask(FOR("control") "}"), 200);
        assert_non_null(strstr(f->answer, "\"version\":\"t-1\""));
    }
    story((struct story_config){.config_per_request = true});
    assert_int_equal(ask(FOR("control") "}"), 200);
    assert_non_null(strstr(f->answer, "\"version\":\"t-1\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_guard_asks_nobody),
        cmocka_unit_test(what_each_switch_tells),
        cmocka_unit_test_setup_teardown(answers_are_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(a_sink_that_takes_little, setup, teardown),
        cmocka_unit_test_setup_teardown(a_sink_that_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(a_log_that_cannot_be_opened, setup, teardown),
        cmocka_unit_test_setup_teardown(the_plan_is_opened_in_each_request, setup, teardown),
        cmocka_unit_test_setup_teardown(the_plan_that_is_served_decides, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
