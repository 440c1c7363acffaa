/* The operations service without its loop: what it says where something is wrong. */
#include "serve/admin.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { WORKERS = 2, SECOND_NS = 1000000000 };

struct fixture {
    struct admin admin;
    struct stall stall;
    struct loop *watcher;
    int turn_ms; /* so long ago its turn began */
    _Atomic uint64_t scribe_ns;
    struct signals *signals;
    struct loop *workers[WORKERS];
    _Atomic bool ready;
    char memory[256 * 1024];
};

static struct fixture *f;

/* The clock stands still in a test, and is put on by hand: so no busy machine decides it. */
static _Atomic uint64_t stands_ns;

uint64_t __real_clock_mono_ns(void);
uint64_t __wrap_clock_mono_ns(void);

uint64_t __wrap_clock_mono_ns(void)
{
    uint64_t ns = atomic_load(&stands_ns);
    return ns ? ns : __real_clock_mono_ns();
}

static uint64_t told_ns(const void *ns)
{
    return atomic_load((const _Atomic uint64_t *)ns);
}

static struct loop *loop_made(void)
{
    struct loop *l = aligned_alloc(_Alignof(struct loop), sizeof *l);
    assert_non_null(l);
    *l = (struct loop){0};
    atomic_store(&l->turned_ns, clock_mono_ns());
    return l;
}

/* The workers, which a restart would mend, and the scribe. */
static void watch_threads(void)
{
    static const char *const names[WORKERS] = {"worker-0", "worker-1"};
    stall_init(&f->stall, f->signals, f->watcher);
    for (int i = 0; i < WORKERS; i++) stall_add_loop(&f->stall, names[i], f->workers[i]);
    atomic_store(&f->scribe_ns, clock_mono_ns());
    stall_add(&f->stall,
              &(struct stall_thread){"scribe", told_ns, &f->scribe_ns, STALL_LIMIT_MS, false});
}

static int setup(void **state)
{
    (void)state;
    f = calloc(1, sizeof *f);
    if (!f) return -1;
    const struct settings_log log = {.sink = LOG_FILE, .file = SPAN("/dev/null")};
    struct err e;
    if (signals_open(&(struct signals_config){.writers = 1, .log = &log}, &f->signals, &e))
        return -1;
    atomic_store(&stands_ns, __real_clock_mono_ns());
    f->watcher = loop_made();
    for (int i = 0; i < WORKERS; i++) f->workers[i] = loop_made();
    watch_threads();
    const struct admin_config config = {.signals = f->signals,
                                        .writer = signals_writer(f->signals, 0),
                                        .workers = f->workers,
                                        .worker_count = WORKERS,
                                        .threads = &f->stall,
                                        .ready = &f->ready};
    return admin_init(&f->admin, &config, &e) == ERR_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < WORKERS; i++) free(f->workers[i]);
    free(f->watcher);
    admin_done(&f->admin);
    atomic_store(&stands_ns, 0);
    signals_close(f->signals, clock_mono_ns());
    free(f);
    return 0;
}

static const struct route *route_of(enum route_id id)
{
    for (int i = 0; i < route_operations.count; i++)
        if (route_operations.routes[i].id == id) return &route_operations.routes[i];
    fail();
    return NULL;
}

/* The status; the answer is in f->memory, NUL-terminated, and with it the text behind it. */
static uint64_t ago_ns(int ms)
{
    return clock_mono_ns() - (uint64_t)ms * 1000000;
}

static int ask(enum route_id id, bool head_only, size_t cap)
{
    atomic_store(&f->watcher->turned_ns, ago_ns(f->turn_ms));
    struct http_reader reader;
    http_reader_init(&reader);
    reader.host = (struct http_range){0, 9};
    static const struct settings settings;
    static const struct plan_served served = {.settings = &settings};
    f->admin.served = &served;
    struct buf out = buf_of(f->memory, cap);
    struct exchange x = {.route = route_of(id),
                         .reader = &reader,
                         .bytes = "localhost",
                         .fd = -1,
                         .head = {.fields = f->admin.service.fields},
                         .head_only = head_only,
                         .out = &out,
                         .variant = -1};
    f->admin.service.answer(&f->admin.service, &x);
    assert_false(out.full);
    assert_int_equal(x.variant, -1);
    if (x.text.text) {
        assert_true(out.len + x.text.text->len < sizeof f->memory);
        buf_put(&out, x.text.text->data, x.text.text->len);
        assert_false(out.full);
        text_release(&x.text);
    }
    f->memory[out.len] = '\0';
    return x.status;
}

static void a_worker_that_is_stuck(void **state)
{
    (void)state;
    static const struct {
        int age_ms, status;
        const char *says;
    } rows[] = {
        {0, 200, "\r\n\r\nok\n"},
        {4999, 200, "\r\n\r\nok\n"},
        {5000, 503, "the thread worker-1 has not turned for 5 s\n"},
        {60999, 503, "the thread worker-1 has not turned for 60 s\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        atomic_store(&f->workers[1]->turned_ns, ago_ns(rows[i].age_ms));
        assert_int_equal(ask(ROUTE_HEALTHZ, false, sizeof f->memory - 1), rows[i].status);
        if (!strstr(f->memory, rows[i].says)) fail_msg("%s", f->memory);
    }
}

static int health(void)
{
    return ask(ROUTE_HEALTHZ, false, sizeof f->memory - 1);
}

/* Decisions go on, and a restart would mend nothing: a log that hung turned every replica red. */
static void a_log_that_hangs(void **state)
{
    (void)state;
    atomic_store(&f->scribe_ns, ago_ns(60000));
    assert_int_equal(health(), 200);
    assert_int_equal(ask(ROUTE_METRICS, false, sizeof f->memory - 1), 200);
    assert_non_null(strstr(f->memory, "\ninterlude_thread_stalled{thread=\"worker-1\"} 0\n"
                                      "interlude_thread_stalled{thread=\"scribe\"} 1\n"));
    atomic_store(&f->scribe_ns, ago_ns(0));
    atomic_fetch_add(&stands_ns, (TEXT_SHARED_MS + 1) * 1000000);
    assert_int_equal(ask(ROUTE_METRICS, false, sizeof f->memory - 1), 200);
    assert_non_null(strstr(f->memory, "\ninterlude_thread_stalled{thread=\"scribe\"} 0\n"));
}

/* Whoever is looked at first after the process stood still was accused of it. */
static void the_whole_process_stood_still(void **state)
{
    (void)state;
    static const struct {
        int turned_ms, returned_ms; /* ago; -1: the watcher never stood still */
        int status;
    } rows[] = {
        {6000, 0, 200},     {6000, 4999, 200},  {60000, 4999, 200}, {60000, 5000, 503},
        {60000, 5001, 503}, {5000, 60000, 503}, {4999, 60000, 200}, {6000, -1, 503},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        atomic_store(&f->workers[0]->turned_ns, ago_ns(rows[i].turned_ms));
        atomic_store(&f->workers[1]->turned_ns, ago_ns(0));
        atomic_store(&f->watcher->returned_ns,
                     rows[i].returned_ms < 0 ? 0 : ago_ns(rows[i].returned_ms));
        if (health() != rows[i].status) fail_msg("row %zu: %s", i, f->memory);
    }
}

/* And the watcher was in the middle of a turn. */
static void the_whole_process_stood_still_within_a_turn(void **state)
{
    (void)state;
    static const struct {
        int turned_ms, turn_ms; /* ago: the worker's, the watcher's */
        int status;
    } rows[] = {{6100, 6000, 200}, {9000, 6000, 200}, {11000, 6000, 503}, {5000, 6000, 200}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        atomic_store(&f->workers[0]->turned_ns, ago_ns(rows[i].turned_ms));
        f->turn_ms = rows[i].turn_ms;
        if (health() != rows[i].status) fail_msg("row %zu: %s", i, f->memory);
    }
}

/* While others still finish what has begun. */
static void a_worker_that_has_ended(void **state)
{
    (void)state;
    atomic_store(&f->workers[0]->turned_ns, ago_ns(60000));
    atomic_store(&f->workers[0]->ended, true);
    assert_int_equal(health(), 200);
}

static void every_answer_is_for_this_time_and_as_it_says(void **state)
{
    (void)state;
    static const enum route_id ids[] = {ROUTE_HEALTHZ, ROUTE_READYZ, ROUTE_METRICS};
    assert_string_equal(f->admin.service.fields,
                        "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n");
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        ask(ids[i], false, sizeof f->memory - 1);
        assert_non_null(strstr(f->memory, f->admin.service.fields));
    }
}

static void readiness(void **state)
{
    (void)state;
    assert_int_equal(ask(ROUTE_READYZ, false, sizeof f->memory - 1), 503);
    atomic_store(&f->ready, true);
    assert_int_equal(ask(ROUTE_READYZ, false, sizeof f->memory - 1), 200);
}

static void head_tells_the_length(void **state)
{
    (void)state;
    assert_int_equal(ask(ROUTE_HEALTHZ, true, sizeof f->memory - 1), 200);
    size_t len = strlen(f->memory);
    assert_memory_equal(f->memory + len - 5, "3\r\n\r\n", 5);
}

static void an_answer_without_room(void **state)
{
    (void)state;
    assert_int_equal(ask(ROUTE_SIGNALS, false, 1024), 500);
    assert_memory_equal(f->memory, "HTTP/1.1 500 ", 13);
    assert_non_null(strstr(f->memory, "\"code\":\"internal\""));
}

/* A head, and the text that it refers to. */
static struct exchange scrape(bool openmetrics, bool head_only)
{
    static struct http_reader reader;
    static struct buf out;
    http_reader_init(&reader);
    reader.accept_openmetrics = openmetrics;
    out = buf_of(f->memory, sizeof f->memory - 1);
    struct exchange x = {.route = route_of(ROUTE_METRICS),
                         .reader = &reader,
                         .bytes = "",
                         .fd = -1,
                         .head_only = head_only,
                         .out = &out,
                         .variant = -1};
    f->admin.service.answer(&f->admin.service, &x);
    f->memory[out.len] = '\0';
    return x;
}

static void scrapes_of_a_moment_share_a_text(void **state)
{
    (void)state;
    static const struct {
        int later_ms;
        bool shared;
    } rows[] = {{0, true}, {TEXT_SHARED_MS - 1, true}, {TEXT_SHARED_MS, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        atomic_fetch_add(&stands_ns, SECOND_NS);
        struct exchange a = scrape(false, false);
        atomic_fetch_add(&stands_ns, (uint64_t)rows[i].later_ms * 1000000);
        struct exchange b = scrape(false, false), c = scrape(true, false);
        bool shared = a.text.text == b.text.text && a.text.serial == b.text.serial;
        assert_int_equal(shared, rows[i].shared);
        assert_ptr_not_equal(a.text.text, c.text.text);
        assert_memory_equal(c.text.text->data + c.text.text->len - 6, "# EOF\n", 6);
        text_release(&a.text);
        text_release(&b.text);
        text_release(&c.text);
    }
}

static void a_head_tells_the_length_of_the_text(void **state)
{
    (void)state;
    struct exchange x = scrape(false, false);
    const char *length = strstr(f->memory, "Content-Length:");
    assert_non_null(length);
    assert_int_equal(strtoul(length + 15, NULL, 10), x.text.text->len);
    text_release(&x.text);
    x = scrape(false, true);
    assert_null(x.text.text);
    assert_int_equal(x.status, 200);
}

/* Each holds what it was given; when all are held, the oldest goes, and that is counted. */
static void slow_readers_hold_every_text(void **state)
{
    (void)state;
    struct exchange held[TEXTS_MAX];
    for (int i = 0; i < TEXTS_MAX; i++) {
        for (struct text *t = f->admin.metrics.all; t < f->admin.metrics.all + TEXTS_MAX; t++)
            t->since_ns = 0; /* long ago */
        held[i] = scrape(false, false);
    }
    for (int i = 0; i < TEXTS_MAX; i++) assert_true(text_is_valid(&held[i].text));
    for (struct text *t = f->admin.metrics.all; t < f->admin.metrics.all + TEXTS_MAX; t++)
        t->since_ns = 0;
    struct exchange further = scrape(false, false);
    assert_true(text_is_valid(&further.text));
    assert_false(text_is_valid(&held[0].text));
    assert_non_null(strstr(further.text.text->data, "\ninterlude_scrapes_cut_total 1\n"));
    for (int i = 1; i < TEXTS_MAX; i++) assert_true(text_is_valid(&held[i].text));
    for (int i = 0; i < TEXTS_MAX; i++) text_release(&held[i].text);
    text_release(&further.text);
    for (struct text *t = f->admin.metrics.all; t < f->admin.metrics.all + TEXTS_MAX; t++)
        assert_int_equal(t->holds, 0);
}

static void metrics_are_told_of_the_loops(void **state)
{
    (void)state;
    uint64_t second = clock_mono_ns() / SECOND_NS;
    for (int i = 0; i < WORKERS; i++) {
        atomic_store(&f->workers[i]->open_seen, 3u);
        atomic_store(&f->workers[i]->lag[0].second, second);
        atomic_store(&f->workers[i]->lag[0].longest_ns, 250000000u + (unsigned)i * 250000000u);
    }
    assert_int_equal(ask(ROUTE_METRICS, false, sizeof f->memory - 1), 200);
    assert_non_null(strstr(f->memory, "\ninterlude_connections 6\n"));
    assert_non_null(strstr(f->memory, "\ninterlude_loop_lag_seconds 0.5\n"));
}

static void lag_is_of_the_last_seconds(void **state)
{
    (void)state;
    struct loop *l = f->workers[0];
    static const struct {
        uint64_t second, lag_ns;
    } rows[] = {{100, 7}, {109, 7}, {110, 7}, {111, 5}, {112, 5}, {115, 5}, {116, 0}, {5000, 0}};
    atomic_store(&l->lag[1].second, 100u);
    atomic_store(&l->lag[1].longest_ns, 7u);
    atomic_store(&l->lag[6].second, 105u);
    atomic_store(&l->lag[6].longest_ns, 5u);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        atomic_store(&l->turned_ns, rows[i].second * SECOND_NS);
        assert_int_equal(loop_lag_ns(l, rows[i].second * SECOND_NS), rows[i].lag_ns);
    }
}

/* An idle loop turns every two seconds. */
static void lag_is_of_a_turn_under_way(void **state)
{
    (void)state;
    struct loop *l = f->workers[0];
    static const struct {
        uint64_t ago_ms, lag_ms;
    } rows[] = {{0, 0}, {2000, 0}, {4000, 0}, {4001, 4001}, {60000, 60000}};
    const uint64_t second_ns = SECOND_NS, turned_ns = 1000 * second_ns;
    atomic_store(&l->turned_ns, turned_ns);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(loop_lag_ns(l, turned_ns + rows[i].ago_ms * 1000000),
                         rows[i].lag_ms * 1000000);
    atomic_store(&l->ended, true);
    assert_int_equal(loop_lag_ns(l, turned_ns + 60 * second_ns), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_worker_that_is_stuck, setup, teardown),
        cmocka_unit_test_setup_teardown(a_log_that_hangs, setup, teardown),
        cmocka_unit_test_setup_teardown(the_whole_process_stood_still, setup, teardown),
        cmocka_unit_test_setup_teardown(the_whole_process_stood_still_within_a_turn, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_worker_that_has_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(every_answer_is_for_this_time_and_as_it_says, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(readiness, setup, teardown),
        cmocka_unit_test_setup_teardown(head_tells_the_length, setup, teardown),
        cmocka_unit_test_setup_teardown(an_answer_without_room, setup, teardown),
        cmocka_unit_test_setup_teardown(scrapes_of_a_moment_share_a_text, setup, teardown),
        cmocka_unit_test_setup_teardown(a_head_tells_the_length_of_the_text, setup, teardown),
        cmocka_unit_test_setup_teardown(slow_readers_hold_every_text, setup, teardown),
        cmocka_unit_test_setup_teardown(metrics_are_told_of_the_loops, setup, teardown),
        cmocka_unit_test_setup_teardown(lag_is_of_the_last_seconds, setup, teardown),
        cmocka_unit_test_setup_teardown(lag_is_of_a_turn_under_way, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
