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
    _Atomic uint64_t scribe_ns;
    struct signals *signals;
    struct loop *workers[WORKERS];
    _Atomic bool ready;
    char memory[256 * 1024];
};

static struct fixture *f;

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
    f->watcher = loop_made();
    for (int i = 0; i < WORKERS; i++) f->workers[i] = loop_made();
    watch_threads();
    admin_init(&f->admin, &(struct admin_config){.signals = f->signals,
                                                 .workers = f->workers,
                                                 .worker_count = WORKERS,
                                                 .threads = &f->stall,
                                                 .ready = &f->ready});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < WORKERS; i++) free(f->workers[i]);
    free(f->watcher);
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

/* The status; the answer is in f->memory, NUL-terminated. */
static int ask(enum route_id id, bool head_only, size_t cap)
{
    struct http_reader reader;
    http_reader_init(&reader);
    struct buf out = buf_of(f->memory, cap);
    struct exchange x = {.route = route_of(id),
                         .reader = &reader,
                         .bytes = "",
                         .fd = -1,
                         .head = {.fields = f->admin.service.fields},
                         .head_only = head_only,
                         .out = &out,
                         .variant = -1};
    f->admin.service.answer(&f->admin.service, &x);
    assert_false(out.full);
    assert_int_equal(x.variant, -1);
    f->memory[out.len] = '\0';
    return x.status;
}

static void a_worker_that_is_stuck(void **state)
{
    (void)state;
    static const struct {
        int age_s, status;
        const char *says;
    } rows[] = {
        {0, 200, "\r\n\r\nok\n"},
        {4, 200, "\r\n\r\nok\n"},
        {5, 503, "the thread worker-1 has not turned for 5 s\n"},
        {60, 503, "the thread worker-1 has not turned for 60 s\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        atomic_store(&f->workers[1]->turned_ns,
                     clock_mono_ns() - (uint64_t)rows[i].age_s * SECOND_NS);
        assert_int_equal(ask(ROUTE_HEALTHZ, false, sizeof f->memory - 1), rows[i].status);
        if (!strstr(f->memory, rows[i].says)) fail_msg("%s", f->memory);
    }
}

static uint64_t ago_ns(int ms)
{
    return clock_mono_ns() - (uint64_t)ms * 1000000;
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
        {6000, 0, 200},     {6000, 4900, 200},  {60000, 4900, 200}, {60000, 5000, 503},
        {60000, 5100, 503}, {5000, 60000, 503}, {4900, 60000, 200}, {6000, -1, 503},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        atomic_store(&f->workers[0]->turned_ns, ago_ns(rows[i].turned_ms));
        atomic_store(&f->workers[1]->turned_ns, ago_ns(0));
        atomic_store(&f->watcher->returned_ns,
                     rows[i].returned_ms < 0 ? 0 : ago_ns(rows[i].returned_ms));
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
    assert_int_equal(ask(ROUTE_METRICS, false, 1024), 500);
    assert_memory_equal(f->memory, "HTTP/1.1 500 ", 13);
    assert_non_null(strstr(f->memory, "\"code\":\"internal\""));
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
        cmocka_unit_test_setup_teardown(a_worker_that_has_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(every_answer_is_for_this_time_and_as_it_says, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(readiness, setup, teardown),
        cmocka_unit_test_setup_teardown(head_tells_the_length, setup, teardown),
        cmocka_unit_test_setup_teardown(an_answer_without_room, setup, teardown),
        cmocka_unit_test_setup_teardown(metrics_are_told_of_the_loops, setup, teardown),
        cmocka_unit_test_setup_teardown(lag_is_of_the_last_seconds, setup, teardown),
        cmocka_unit_test_setup_teardown(lag_is_of_a_turn_under_way, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
