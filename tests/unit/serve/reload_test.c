/* A reload: what it takes, what it refuses, and what it leaves as it was. */
#include "serve/reload.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define HEAD                                                                                      \
    "salt: s\nactions: [{name: none, ads: 0, cooldown: 1m}, {name: pod, ads: 1, cooldown: 2m}]\n" \
    "policies: {rules: {kind: fixed, rules: [{action: none}]}}\n"                                 \
    "variants: {control: {policy: rules}}\ndefault_variant: control\n"
#define GUARDED HEAD "guardrails: {cooldown: true}\n"

struct fixture {
    char path[64];
    struct signals *signals;
    struct plan_live live;
    struct reload reload;
    struct reload_outcome outcome;
};

static struct fixture *f;

static void sleep_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static void file_write(const char *text)
{
    char fresh[80];
    snprintf(fresh, sizeof fresh, "%s.new", f->path);
    FILE *file = fopen(fresh, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(rename(fresh, f->path), 0);
}

/* Serves the text as that of `path`. */
static void serve_from(const char *path, const char *text)
{
    struct plan_errors *errors = calloc(1, sizeof *errors);
    assert_non_null(errors);
    struct settings *settings;
    struct plan *plan = plan_load_file(span_of(text), &settings, errors);
    if (!plan) fail_msg("%u: %s", errors->errors[0].line, errors->errors[0].text);
    free(errors);
    assert_true(reload_init(&f->reload, &f->live, f->signals, path, plan, settings, 1));
}

/* Serves the text as a file's. */
static void serve(const char *text)
{
    file_write(text);
    serve_from(f->path, text);
}

static int setup(void **state)
{
    (void)state;
    f = aligned_alloc(64, (sizeof *f + 63) & ~(size_t)63);
    if (!f) return -1;
    memset(f, 0, sizeof *f);
    snprintf(f->path, sizeof f->path, "/tmp/interlude-reload-%d", (int)getpid());
    const struct settings_log log = {.sink = LOG_FILE, .file = SPAN("/dev/null")};
    struct err e;
    return signals_open(&(struct signals_config){.writers = 1, .log = &log}, &f->signals, &e);
}

static int teardown(void **state)
{
    (void)state;
    reload_done(&f->reload);
    signals_close(f->signals, clock_mono_ns());
    unlink(f->path);
    free(f);
    return 0;
}

static enum err_code run(void)
{
    reload_run(&f->reload, RELOAD_POST, "", signals_writer(f->signals, 0), &f->outcome);
    return f->outcome.code;
}

static enum err_code reload(const char *text)
{
    file_write(text);
    return run();
}

/* The label of a sample of the metric; "" if there is none. */
static const char *fingerprint_in(const char *metric)
{
    static char label[64];
    struct buf b = buf_of(malloc(SIGNALS_METRICS_BYTES_MAX + 1), SIGNALS_METRICS_BYTES_MAX + 1);
    assert_non_null(b.data);
    signals_render_metrics(f->signals, METRICS_PROMETHEUS, &b);
    buf_char(&b, '\0');
    char head[64];
    snprintf(head, sizeof head, "\n%s{", metric);
    const char *at = strstr(b.data, head);
    *label = '\0';
    if (at) sscanf(strstr(at, "fingerprint=\"") + 13, "%63[^\"]", label);
    free(b.data);
    return label;
}

static void what_is_taken_away_needs_the_mark(void **state)
{
    (void)state;
    serve(GUARDED);
    assert_int_equal(reload(HEAD), ERR_PLAN_TAKES_AWAY);
    assert_int_equal(f->outcome.weaker.count, 1);
    assert_string_equal(f->outcome.weaker.texts[0], "guardrails.cooldown is gone");
    assert_int_equal(f->outcome.errors.count, 1);
    assert_string_equal(f->outcome.fingerprint, f->outcome.fingerprint_before);
    assert_false(f->outcome.changed);
    assert_int_equal(reload(HEAD "...\n"), ERR_OK);
    assert_int_equal(f->outcome.weaker.count, 1);
    assert_string_not_equal(f->outcome.fingerprint, f->outcome.fingerprint_before);
    assert_int_equal(reload(GUARDED), ERR_OK); /* it only adds */
    assert_int_equal(f->outcome.weaker.count, 0);
}

/* ---- every prefix of the demonstration plan, by real reloads ---- */

static struct span piece;

/* What is written into a FIFO is read at once, however fresh. */
static void *piece_write(void *argument)
{
    (void)argument;
    FILE *fifo = fopen(f->path, "we");
    if (!fifo) return NULL;
    fwrite(piece.data, 1, piece.len, fifo);
    fclose(fifo);
    return &piece;
}

static enum err_code reload_piece(struct span text)
{
    piece = text;
    pthread_t writer;
    void *written;
    assert_int_equal(pthread_create(&writer, NULL, piece_write, NULL), 0);
    enum err_code code = run();
    pthread_join(writer, &written);
    assert_non_null(written);
    return code;
}

/* The demonstration plan under another version, cut anywhere: three guardrails were gone, and then
 * the whole file was refused for its version. */
static void no_prefix_is_served_and_the_whole_is_taken(void **state)
{
    (void)state;
    char whole[8192];
    int len = snprintf(whole, sizeof whole, "%s", plan_demo_text().data);
    char *version = strstr(whole, "demo-1");
    assert_true(len < (int)sizeof whole && version);
    serve(whole);
    char served[13];
    strcpy(served, fingerprint_in("interlude_plan_info"));
    memcpy(version, "demo-2", 6);
    unlink(f->path);
    assert_int_equal(mkfifo(f->path, 0600), 0);
    int refused = 0, halves = 0;
    for (int cut = 1; cut < len; cut++) {
        enum err_code code = reload_piece((struct span){whole, (size_t)cut});
        refused += code != ERR_OK;
        halves += code == ERR_PLAN_TAKES_AWAY;
        assert_string_equal(f->outcome.fingerprint, served);
        if (code == ERR_OK) assert_int_equal(f->outcome.weaker.count, 0);
    }
    assert_true(refused > len / 2 && halves > 0);
    assert_int_equal(reload_piece((struct span){whole, (size_t)len}), ERR_OK);
    assert_string_equal(f->outcome.version, "demo-2");
    assert_string_equal(f->outcome.fingerprint, served);
}

static double metric(const char *name)
{
    struct buf b = buf_of(malloc(SIGNALS_METRICS_BYTES_MAX + 1), SIGNALS_METRICS_BYTES_MAX + 1);
    assert_non_null(b.data);
    signals_render_metrics(f->signals, METRICS_PROMETHEUS, &b);
    buf_char(&b, '\0');
    char head[80];
    snprintf(head, sizeof head, "\n%s ", name);
    const char *at = strstr(b.data, head);
    assert_non_null(at);
    double value = strtod(at + strlen(head), NULL);
    free(b.data);
    return value;
}

/* What alerts look at: it was always 1. */
static void whether_the_last_one_succeeded(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool succeeds;
    } rows[] = {{"nonsense\n", false}, {GUARDED, true},      {HEAD, false},
                {HEAD, false},         {HEAD "...\n", true}, {HEAD "...\n", true}};
    static const char *const name = "interlude_config_last_reload_successful";
    static const char *const time = "interlude_config_last_reload_success_timestamp_seconds";
    double since_s = (double)clock_wall_us() / 1e6 - 0.001;
    serve(GUARDED);
    assert_true(metric(name) == 1);
    double last_s = metric(time);
    assert_true(last_s >= since_s && last_s <= (double)clock_wall_us() / 1e6 + 0.001);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        usleep(2000);
        assert_int_equal(reload(rows[i].text) == ERR_OK, rows[i].succeeds);
        assert_true(metric(name) == rows[i].succeeds);
        double now_s = metric(time);
        assert_int_equal(now_s > last_s, rows[i].succeeds);
        if (!rows[i].succeeds) assert_true(now_s == last_s);
        last_s = now_s;
    }
}

/* Other contents under a version that was served already; the same ones are no fault. */
static void a_version_that_is_used_again(void **state)
{
    (void)state;
    static const struct {
        const char *version, *more;
        bool reused;
    } rows[] = {
        {"a", "segments: [x]\n", false}, {"b", "segments: [x]\n", false},
        {"a", "segments: [x]\n", false}, {"a", "segments: [x, y]\n", true},
        {"b", "segments: [x]\n", false}, {"a", "segments: [x, y]\n", false},
        {"a", "segments: [x]\n", true},
    };
    serve("version: first\n" HEAD);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text, "version: %s\n" HEAD "%s...\n", rows[i].version, rows[i].more);
        assert_int_equal(reload(text), ERR_OK);
        assert_true(f->outcome.changed);
        if (f->outcome.version_reused != rows[i].reused) fail_msg("row %zu", i);
        assert_string_equal(f->outcome.version, rows[i].version);
    }
}

static void settings_are_those_of_the_file(void **state)
{
    (void)state;
    serve(HEAD);
    assert_int_equal(reload_hold(&f->reload).settings->server.drain_ms, 10000);
    reload_release(&f->reload);
    assert_int_equal(reload(HEAD "server: {drain: 3s, workers: 2, idle_timeout: 1s}\n"), ERR_OK);
    assert_true(f->outcome.changed);
    assert_string_equal(f->outcome.fingerprint, f->outcome.fingerprint_before);
    assert_int_equal(reload_hold(&f->reload).settings->server.drain_ms, 3000);
    reload_release(&f->reload);
    assert_int_equal(run(), ERR_OK);
    assert_false(f->outcome.changed);
    assert_int_equal(reload("nonsense\n"), ERR_PLAN_INVALID);
    assert_int_equal(reload_hold(&f->reload).settings->server.drain_ms, 3000);
    reload_release(&f->reload);
}

/* They are pinned with it, so that a loop that serves it needs no lock to read them: GET /v1/plan
 * waited for one that a reload held while it waited for the loop. */
static void settings_come_with_the_plan(void **state)
{
    (void)state;
    serve(HEAD);
    assert_int_equal(plan_live_enter(&f->live, 0)->settings->server.host_count, 0);
    plan_live_leave(&f->live, 0);
    assert_int_equal(reload(HEAD "server: {hosts: [a, b]}\n"), ERR_OK);
    const struct settings *settings = plan_live_enter(&f->live, 0)->settings;
    assert_int_equal(settings->server.host_count, 2);
    plan_live_leave(&f->live, 0);
    assert_ptr_equal(reload_hold(&f->reload).settings, settings);
    reload_release(&f->reload);
}

static void its_thread_says_that_it_turns(void **state)
{
    (void)state;
    serve(HEAD);
    assert_int_equal(reload_turned_ns(&f->reload), 0);
    f->reload.look_ms = 5;
    struct err e;
    assert_int_equal(reload_start(&f->reload, signals_writer(f->signals, 0), &e), ERR_OK);
    for (int turns = 0, ms = 0; turns < 3; ms += 5, sleep_ms(5)) {
        static uint64_t seen_ns;
        uint64_t turned_ns = reload_turned_ns(&f->reload);
        turns += turned_ns > seen_ns;
        seen_ns = turned_ns;
        assert_true(ms < 20000);
    }
    reload_stop(&f->reload);
    assert_int_equal(reload_turned_ns(&f->reload), 0);
}

/* One row for each setting that a start applies. */
static void not_applied_is_told_of_each_setting(void **state)
{
    (void)state;
    static const struct {
        const char *settings, *name; /* NULL: a reload applies it */
    } rows[] = {
        {"server: {listen: 127.0.0.1:1}", "server.listen"},
        {"server: {admin: 127.0.0.1:1}", "server.admin"},
        {"server: {workers: 2}", "server.workers"},
        {"server: {connections_max: 9}", "server.connections_max"},
        {"server: {per_address_max: 9}", "server.per_address_max"},
        {"server: {head_timeout: 1s}", "server.head_timeout"},
        {"server: {body_timeout: 1s}", "server.body_timeout"},
        {"server: {answer_timeout: 1s}", "server.answer_timeout"},
        {"server: {idle_timeout: 1s}", "server.idle_timeout"},
        {"server: {drain: 1s}", NULL},
        {"server: {hosts: [a]}", NULL},
        {"log: {sink: stderr}", "log.sink"},
        {"log: {sink: {file: /nowhere}}", "log.sink"},
        {"log: {level: error}", NULL},
        {"log: {budget: {rate: 1}}", NULL},
        {"log: {sites: {plan_refused: {rate: 1}}}", NULL},
    };
    serve(HEAD);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s\n", HEAD, rows[i].settings);
        assert_int_equal(reload(text), ERR_OK);
        assert_true(f->outcome.changed);
        const struct settings_names *told = &f->outcome.not_applied;
        assert_int_equal(told->count, rows[i].name != NULL);
        if (rows[i].name) assert_string_equal(told->names[0], rows[i].name);
    }
}

/* Without a reload, and without serving it. */
static void the_file_is_looked_at(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool invalid;
    } rows[] = {
        {GUARDED "attributes: {more: int}\n", false},
        {HEAD, true}, /* it takes something away */
        {HEAD "...\n", false},
        {"nonsense\n", true},
        {GUARDED "segments: [a]\n", false},
        {GUARDED "# half a line", true},
        {GUARDED, false},
    };
    serve(GUARDED);
    char served[64], seen[64];
    strcpy(served, fingerprint_in("interlude_plan_info"));
    assert_int_equal(strlen(served), 12);
    assert_string_equal(fingerprint_in("interlude_plan_file_info"), served);
    f->reload.look_ms = 20;
    struct err e;
    assert_int_equal(reload_start(&f->reload, signals_writer(f->signals, 0), &e), ERR_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        strcpy(seen, fingerprint_in("interlude_plan_file_info"));
        file_write(rows[i].text);
        for (int ms = 0; ms < 20000; ms += 20, sleep_ms(20))
            if (strcmp(fingerprint_in("interlude_plan_file_info"), seen) != 0) break;
        bool invalid = !strcmp(fingerprint_in("interlude_plan_file_info"), "invalid");
        assert_string_not_equal(fingerprint_in("interlude_plan_file_info"), seen);
        if (invalid != rows[i].invalid) fail_msg("%s", rows[i].text);
        assert_string_equal(fingerprint_in("interlude_plan_info"), served);
    }
    assert_string_equal(fingerprint_in("interlude_plan_file_info"), served);
    unlink(f->path);
    for (int ms = 0; ms < 20000 && strcmp(fingerprint_in("interlude_plan_file_info"), "invalid");
         ms += 20)
        sleep_ms(20);
    assert_string_equal(fingerprint_in("interlude_plan_file_info"), "invalid");
}

/* It was read to its end at the start. Nor is there a file to look at. */
static void stdin_is_not_read_again(void **state)
{
    (void)state;
    serve_from("-", HEAD "...\n");
    assert_string_equal(reload_file(&f->reload), "-");
    assert_int_equal(run(), ERR_PLAN_INVALID);
    assert_int_equal(f->outcome.errors.count, 1);
    assert_non_null(strstr(f->outcome.errors.errors[0].text, "stdin"));
    assert_non_null(strstr(f->outcome.errors.errors[0].text, "--config FILE"));
    assert_string_equal(f->outcome.fingerprint, f->outcome.fingerprint_before);
    assert_string_equal(fingerprint_in("interlude_plan_file_info"), "");

    struct err e;
    f->reload.look_ms = 1;
    assert_int_equal(reload_start(&f->reload, signals_writer(f->signals, 0), &e), ERR_OK);
    uint64_t turned_ns = 0;
    for (int ms = 0, turns = 0; turns < 4; ms++, sleep_ms(1)) {
        uint64_t now_ns = reload_turned_ns(&f->reload);
        turns += now_ns != turned_ns;
        turned_ns = now_ns;
        assert_true(ms < 20000);
    }
    assert_string_equal(fingerprint_in("interlude_plan_file_info"), "");
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(what_is_taken_away_needs_the_mark),
        FRESH(no_prefix_is_served_and_the_whole_is_taken),
        FRESH(whether_the_last_one_succeeded),
        FRESH(a_version_that_is_used_again),
        FRESH(settings_are_those_of_the_file),
        FRESH(settings_come_with_the_plan),
        FRESH(its_thread_says_that_it_turns),
        FRESH(not_applied_is_told_of_each_setting),
        FRESH(the_file_is_looked_at),
        FRESH(stdin_is_not_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
