/* Runs against servers that are written here to misbehave, in a thread of their own on a free port.
 * Only what a busy machine cannot change is asserted: a stall makes latencies at least as long as
 * it lasted; nothing says how much longer. */
#include "lab/load_run.h"

#include "base/clock.h"
#include "lab/load_meter.h"
#include "lab/load_used.h"
#include "lab/pairs_run.h"
#include "lab/summary.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000ull

enum { CONNS_MAX = 128 };

struct server;

/* Answers the request `head` (whole, its body included) of connection `fd`; false: close it. */
typedef bool answer(struct server *s, int fd, const char *head);

struct server {
    answer *answer;
    bool stalls; /* for 100 ms in each second, 500 ms after its beginning */
    atomic_bool stop;
    int listener, port;
    pthread_t thread;
    uint64_t start_ns;
    atomic_int requests, opened;
    struct pollfd fds[CONNS_MAX];
    char in[CONNS_MAX][4096];
    size_t len[CONNS_MAX];
    nfds_t count;
};

static void server_stall(struct server *s)
{
    uint64_t at = (clock_mono_ns() - s->start_ns) % (1000 * MS);
    if (!s->stalls || at < 500 * MS || at >= 600 * MS) return;
    struct timespec left = {0, (long)(600 * MS - at)};
    nanosleep(&left, NULL);
}

/* One request, if it is whole; how many bytes it had, 0 if it is not, -1 to close. */
static ssize_t server_request(struct server *s, size_t i)
{
    s->in[i][s->len[i]] = 0;
    const char *end = strstr(s->in[i], "\r\n\r\n"), *field = strstr(s->in[i], "Content-Length: ");
    if (!end || !field) return 0;
    size_t size = (size_t)(end - s->in[i]) + 4 + (size_t)atoi(field + 16);
    if (s->len[i] < size) return 0;
    s->requests++;
    return s->answer(s, s->fds[i].fd, s->in[i]) ? (ssize_t)size : -1;
}

static bool server_read(struct server *s, size_t i)
{
    ssize_t n = read(s->fds[i].fd, s->in[i] + s->len[i], sizeof s->in[i] - 1 - s->len[i]);
    if (n <= 0) return false;
    s->len[i] += (size_t)n;
    ssize_t size = server_request(s, i);
    if (size < 0) return false;
    s->len[i] -= (size_t)size;
    memmove(s->in[i], s->in[i] + size, s->len[i]);
    return true;
}

static void *server_main(void *argument)
{
    struct server *s = argument;
    while (!s->stop) {
        if (poll(s->fds, s->count, 5) < 0) break;
        server_stall(s);
        for (nfds_t i = s->count; i-- > 1;) {
            if (!s->fds[i].revents || server_read(s, i)) continue;
            close(s->fds[i].fd);
            s->count--;
            s->fds[i] = s->fds[s->count];
            s->len[i] = s->len[s->count];
            memcpy(s->in[i], s->in[s->count], sizeof s->in[i]);
        }
        if (s->fds[0].revents && s->count < CONNS_MAX) {
            s->fds[s->count] = (struct pollfd){accept(s->listener, NULL, NULL), POLLIN, 0};
            s->len[s->count] = 0;
            s->opened++;
            s->count++;
        }
    }
    for (nfds_t i = 0; i < s->count; i++) close(s->fds[i].fd);
    return NULL;
}

static struct server *server_start(answer *a, bool stalls)
{
    struct server *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->answer = a;
    s->stalls = stalls;
    s->start_ns = clock_mono_ns();
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(s->listener, 256), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&address, &len), 0);
    s->port = ntohs(address.sin_port);
    s->fds[0] = (struct pollfd){s->listener, POLLIN, 0};
    s->count = 1;
    assert_int_equal(pthread_create(&s->thread, NULL, server_main, s), 0);
    return s;
}

static void server_stop(struct server *s)
{
    s->stop = true;
    pthread_join(s->thread, NULL);
    free(s);
}

static bool say(int fd, const char *text)
{
    return write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

#define FINE "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static bool answer_fine(struct server *s, int fd, const char *head)
{
    (void)s, (void)head;
    return say(fd, FINE);
}

static bool answer_in_pieces(struct server *s, int fd, const char *head)
{
    (void)s, (void)head;
    return say(fd, "HTTP/1.1 200 OK\r\nTransfer-Enc") && say(fd, "oding: chunked\r\n\r\n2\r") &&
           say(fd, "\nok\r\n0\r\n") && say(fd, "\r\n");
}

static bool answer_and_close(struct server *s, int fd, const char *head)
{
    (void)s, (void)head;
    say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    return false;
}

static bool answer_to_the_end(struct server *s, int fd, const char *head)
{
    (void)s, (void)head;
    say(fd, "HTTP/1.1 200 OK\r\n\r\nok");
    return false;
}

/* And says nothing of it: the end of the connection comes with the answer, or just after. */
static bool answer_and_leave(struct server *s, int fd, const char *head)
{
    (void)s, (void)head;
    say(fd, FINE);
    return false;
}

static bool answer_busy(struct server *s, int fd, const char *head)
{
    (void)head;
    return say(fd, s->requests % 4
                       ? FINE
                       : "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
}

static bool answer_nonsense(struct server *s, int fd, const char *head)
{
    (void)head;
    return say(fd, s->requests % 4 ? FINE : "what?\r\n\r\n");
}

static bool answer_by_closing(struct server *s, int fd, const char *head)
{
    (void)head;
    return s->requests % 4 ? say(fd, FINE) : false;
}

/* A reset says that bytes were unread, whether that is true or not. */
static bool answer_by_reset(struct server *s, int fd, const char *head)
{
    (void)s, (void)head;
    struct linger at_once = {1, 0};
    return setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) > 0; /* false: close */
}

static bool answer_never(struct server *s, int fd, const char *head)
{
    (void)s, (void)fd, (void)head;
    return true;
}

/* ---- runs ---- */

static struct load_result result;

struct setting {
    struct load_target targets[2];
    struct load_bodies bodies;
    struct load_options o;
};

static void setting_init(struct setting *t, const struct server *a, const struct server *b,
                         double rate, uint64_t duration_ms)
{
    struct err e;
    const struct server *servers[] = {a, b};
    *t = (struct setting){.o = {.shape = {.rate = rate, .duration_ns = duration_ms * MS, .seed = 1},
                                .targets = t->targets,
                                .target_count = b ? 2 : 1,
                                .connections = 16,
                                .timeout_ns = 20000 * MS,
                                .spin_ns = 0,
                                .interval_ns = 100 * MS,
                                .bodies = &t->bodies}};
    for (uint32_t i = 0; i < t->o.target_count; i++) {
        char url[64];
        snprintf(url, sizeof url, "http://127.0.0.1:%d", servers[i]->port);
        assert_int_equal(load_target_parse(url, "/v1/decide", &t->targets[i], &e), ERR_OK);
    }
    assert_int_equal(load_bodies_compile(span_of(load_bodies_built_in("none")), &t->bodies, &e), 0);
}

static void setting_run(struct setting *t)
{
    struct err e;
    if (load_run(&t->o, &result, &e)) fail_msg("%s", e.text);
    for (uint32_t i = 0; i < t->o.target_count; i++) {
        struct capture_interval *total = &result.total[i];
        uint64_t all = total->latency.count + capture_interval_failed(total);
        uint64_t statuses = 0;
        for (int status = 0; status <= LOAD_STATUS_MAX; status++)
            statuses += result.statuses[i][status];
        assert_int_equal(result.statuses[i][200], total->latency.count);
        assert_int_equal(statuses, total->latency.count + total->errors[CAPTURE_STATUS]);
        assert_int_equal(total->due, all);
        assert_int_equal(total->sent, all - total->unsent);
    }
    load_bodies_done(&t->bodies);
}

/* A tenth of all requests are due while the server stalls, and wait from 0 to 100 ms, evenly. So of
 * all, 5 % wait 50 ms or more, and 1 % wait 90 ms or more. */
static void a_stall_is_seen_as_arithmetic_says(void **state)
{
    (void)state;
    struct server *s = server_start(answer_fine, true);
    struct setting t;
    setting_init(&t, s, NULL, 1000, 1000);
    setting_run(&t);
    server_stop(s);
    const struct capture_interval *total = &result.total[0];
    assert_int_equal(total->due, 1000);
    assert_int_equal(capture_interval_failed(total), 0);
    static const struct {
        double q, at_least_ms;
    } rows[] = {{0.95, 45}, {0.97, 65}, {0.99, 85}, {0.995, 90}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t ns;
        assert_true(summary_quantile(total, rows[i].q, &ns));
        if ((double)ns < rows[i].at_least_ms * 1e6)
            fail_msg("%g: %g ms", rows[i].q, (double)ns / 1e6);
    }
    /* 100 are due in a stall, and 16 connections take 16 of them. */
    assert_true(total->queued >= 60);
    assert_true(total->late >= 60);
}

static void answers_of_every_form(void **state)
{
    (void)state;
    static answer *const forms[] = {answer_fine, answer_in_pieces, answer_and_close,
                                    answer_to_the_end, answer_and_leave};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct server *s = server_start(forms[i], false);
        struct setting t;
        setting_init(&t, s, NULL, 500, 200);
        setting_run(&t);
        const struct capture_interval *total = &result.total[0];
        if (total->latency.count != 100) fail_msg("form %zu: %d", i, (int)total->latency.count);
        assert_int_equal(s->requests, 100);
        assert_int_equal(total->errors[CAPTURE_CONNECT], 0);
        assert_true(s->opened >= (i < 2 ? 16 : 100));
        server_stop(s);
    }
}

static void failures_are_counted_where_they_happen(void **state)
{
    (void)state;
    static const struct {
        answer *answer;
        enum capture_stage stage;
    } rows[] = {{answer_busy, CAPTURE_STATUS},
                {answer_nonsense, CAPTURE_RECEIVE},
                {answer_by_closing, CAPTURE_RECEIVE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct server *s = server_start(rows[i].answer, false);
        struct setting t;
        setting_init(&t, s, NULL, 500, 200);
        setting_run(&t);
        server_stop(s);
        const struct capture_interval *total = &result.total[0];
        if (total->errors[rows[i].stage] != 25 || total->latency.count != 75)
            fail_msg("row %zu: %d errors, %d answers", i, (int)total->errors[rows[i].stage],
                     (int)total->latency.count);
    }
}

/* Every connection times out; what they could not take is unsent, and nothing is lost. */
static void a_server_that_never_answers(void **state)
{
    (void)state;
    struct server *s = server_start(answer_never, false);
    struct setting t;
    setting_init(&t, s, NULL, 1000, 200);
    t.o.timeout_ns = 3000 * MS;
    t.o.connections = 4;
    setting_run(&t);
    server_stop(s);
    const struct capture_interval *total = &result.total[0];
    assert_int_equal(total->due, 200);
    assert_int_equal(total->latency.count, 0);
    assert_true(total->errors[CAPTURE_TIMEOUT] >= 4);
    assert_int_equal(total->errors[CAPTURE_TIMEOUT] + total->unsent, 200);
    assert_true(total->unsent > 100);
    assert_int_equal(total->queued, 196);
}

/* One connection, and always somebody waiting for it: each is used again at once. */
static void a_server_that_leaves_without_a_word(void **state)
{
    (void)state;
    struct server *s = server_start(answer_and_leave, false);
    struct setting t;
    setting_init(&t, s, NULL, 10000, 100);
    t.o.connections = 1;
    t.o.timeout_ns = 20000 * MS;
    setting_run(&t);
    const struct capture_interval *total = &result.total[0];
    assert_int_equal(total->due, 1000);
    assert_int_equal(capture_interval_failed(total), total->unsent);
    assert_int_equal(total->latency.count, s->requests);
    server_stop(s);
}

/* A request goes out once more, and not again: what resets everything has failed everything. */
static void a_server_that_resets_everything(void **state)
{
    (void)state;
    struct server *s = server_start(answer_by_reset, false);
    struct setting t;
    setting_init(&t, s, NULL, 500, 200);
    setting_run(&t);
    assert_int_equal(result.total[0].errors[CAPTURE_RECEIVE], 100);
    assert_int_equal(s->requests, 200);
    assert_int_equal(result.reconnects, 100);
    server_stop(s);
}

/* Requests wait for the server, and not for this generator, which took them up in time. */
static void waiting_for_the_server_is_not_the_generators(void **state)
{
    (void)state;
    struct server *s = server_start(answer_never, false);
    struct setting t;
    setting_init(&t, s, NULL, 1000, 100);
    t.o.timeout_ns = 5000 * MS;
    t.o.connections = 1;
    uint64_t begun_ns = clock_mono_ns();
    setting_run(&t);
    uint64_t took_ns = clock_mono_ns() - begun_ns;
    server_stop(s);
    assert_int_equal(result.total[0].unsent, 99);
    assert_int_equal(result.taken_after.count, 100);
    assert_true(result.taken_after.max < 4500 * MS);
    /* And the wait at the end, of nearly 5 s, is none of the schedule. */
    assert_true(result.wall_ns > 0 && result.wall_ns + 1000 * MS < took_ns);
}

static void sleep_once(void *context, const struct capture_interval *interval)
{
    bool *slept = context;
    struct timespec nap = {0, 400 * MS};
    (void)interval;
    if (!*slept) nanosleep(&nap, NULL);
    *slept = true;
}

/* However few connections there are: all that was due in the stall was taken up late. */
static void a_stall_of_the_generator_is_its_own(void **state)
{
    (void)state;
    static const uint32_t connections[] = {1, 16, 128};
    for (size_t i = 0; i < sizeof connections / sizeof *connections; i++) {
        struct server *s = server_start(answer_fine, false);
        struct setting t;
        bool slept = false;
        setting_init(&t, s, NULL, 400, 800);
        t.o.connections = connections[i] < CONNS_MAX ? connections[i] : CONNS_MAX - 1;
        t.o.context = &slept;
        t.o.interval = sleep_once;
        setting_run(&t);
        server_stop(s);
        assert_int_equal(result.taken_after.count, 320);
        assert_true(result.total[0].taken_late >= 155);
        /* Those that found a connection free were late by the generator alone. */
        const struct capture_interval *total = &result.total[0];
        assert_true(total->late_free >= 1 && total->late_free <= total->late);
        assert_true(total->late_free + total->queued <= total->due);
        assert_true(result.taken_after.max >= 390 * MS);
        assert_true(summary_generator_of(&result).late);
    }
}

static void nobody_is_there(void **state)
{
    (void)state;
    struct server *s = server_start(answer_fine, false);
    struct setting t;
    setting_init(&t, s, NULL, 1000, 200);
    server_stop(s);
    struct err e;
    assert_int_equal(load_run(&t.o, &result, &e), ERR_SYSTEM);
    assert_non_null(strstr(e.text, "refused"));
    load_bodies_done(&t.bodies);
}

/* By the thread's own time, which does not pass while it waits: the 2 s from the end of the grace
 * to the timeout took a whole core once. */
static void waiting_does_not_spin(void **state)
{
    (void)state;
    struct server *s = server_start(answer_never, false);
    struct setting t;
    setting_init(&t, s, NULL, 10, 200);
    t.o.timeout_ns = 3200 * MS;
    struct load_used before, after;
    load_used_read(&before);
    setting_run(&t);
    load_used_read(&after);
    server_stop(s);
    assert_int_equal(result.total[0].errors[CAPTURE_TIMEOUT], 2);
    assert_true(after.cpu_ns - before.cpu_ns < 800 * MS);
}

struct order {
    int opened, began, intervals;
    int64_t started_us, first_us;
    enum err_code refuse;
};

static enum err_code order_opened(void *context, struct err *e)
{
    struct order *order = context;
    order->opened++;
    return order->refuse ? err_set(e, order->refuse, "no") : ERR_OK;
}

static void order_began(void *context, int64_t started_us)
{
    struct order *order = context;
    assert_int_equal(order->opened, 1);
    assert_int_equal(order->intervals, 0);
    order->began++;
    order->started_us = started_us;
}

static void order_interval(void *context, const struct capture_interval *interval)
{
    struct order *order = context;
    assert_int_equal(order->began, 1);
    if (order->intervals++ == 0) order->first_us = interval->start_us;
}

static void the_hooks_come_in_order(void **state)
{
    (void)state;
    struct server *s = server_start(answer_fine, false);
    struct setting t;
    struct order order = {.opened = 0};
    setting_init(&t, s, NULL, 1000, 50);
    t.o.context = &order;
    t.o.opened = order_opened;
    t.o.began = order_began;
    t.o.interval = order_interval;
    struct setting refused;
    setting_run(&t);
    assert_true(order.intervals > 0);
    assert_int_equal(order.started_us, order.first_us);
    assert_int_equal(order.started_us, result.started_us);

    struct err e;
    order = (struct order){.refuse = ERR_LIMIT};
    setting_init(&refused, s, NULL, 1000, 50);
    refused.o.context = &order;
    refused.o.opened = order_opened;
    refused.o.began = order_began;
    int requests = s->requests;
    assert_int_equal(load_run(&refused.o, &result, &e), ERR_LIMIT);
    assert_int_equal(order.began, 0);
    assert_int_equal(s->requests, requests);
    load_bodies_done(&refused.bodies);
    server_stop(s);
}

/* ---- several targets, intervals, stopping ---- */

struct sums {
    struct capture_interval of[2];
    int intervals;
};

static void interval_sum(void *context, const struct capture_interval *interval)
{
    struct sums *sums = context;
    capture_interval_add(&sums->of[interval->target], interval);
    sums->intervals++;
}

static void two_targets(enum load_spread spread, uint64_t active_us)
{
    struct server *a = server_start(answer_fine, false), *b = server_start(answer_fine, false);
    struct setting t;
    struct sums sums = {.intervals = 0};
    capture_interval_init(&sums.of[0], 0);
    capture_interval_init(&sums.of[1], 1);
    setting_init(&t, a, b, 1000, 400);
    t.o.spread = spread;
    t.o.turn_ns = 50 * MS;
    t.o.context = &sums;
    t.o.interval = interval_sum;
    setting_run(&t);
    assert_int_equal(a->requests, 200);
    assert_int_equal(b->requests, 200);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(result.total[i].due, 200);
        /* Each interval rounds down to a microsecond. */
        assert_true(result.total[i].active_us <= active_us);
        assert_true(result.total[i].active_us + 10 >= active_us);
        assert_memory_equal(&sums.of[i].latency, &result.total[i].latency, sizeof(struct hist));
        assert_int_equal(sums.of[i].sent, 200);
    }
    assert_true(sums.intervals >= 2 && sums.intervals <= 8 && sums.intervals % 2 == 0);
    server_stop(a);
    server_stop(b);
}

static void interleaved(void **state)
{
    (void)state;
    two_targets(LOAD_INTERLEAVE, 400000);
}

static void alternating(void **state)
{
    (void)state;
    two_targets(LOAD_ALTERNATE, 200000);
}

static void turns(void **state)
{
    (void)state;
    struct load_options o = {.spread = LOAD_ALTERNATE, .turn_ns = 10, .target_count = 3};
    static const struct {
        uint32_t target;
        uint64_t from, to, active;
    } rows[] = {{0, 0, 10, 10}, {1, 0, 10, 0},
                {1, 5, 15, 5},  {0, 25, 45, 10},
                {2, 25, 45, 5}, {2, 0, 300, 100},
                {0, 7, 7, 0},   {0, 31, 33, 2},
                {0, 9, 3, 0},   {1, 0, 3000000000000000000, 1000000000000000000}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(load_meter_active(&o, rows[i].target, rows[i].from, rows[i].to),
                         rows[i].active);
}

static atomic_int stop;

/* Once it has asked by each of its four connections, and a while later. */
static void *stop_soon(void *argument)
{
    const struct server *s = argument;
    struct timespec nap = {0, 5 * MS};
    for (int naps = 0; s->requests < 4 && naps < 4000; naps++) nanosleep(&nap, NULL);
    nap.tv_nsec = 400 * MS;
    nanosleep(&nap, NULL);
    stop = 1;
    return argument;
}

static void stop_set(void *context, const struct capture_interval *interval)
{
    (void)context, (void)interval;
    stop = 1;
}

/* Stopped, it waits a second for what is under way, and not for the timeout. */
static void a_stopped_run_does_not_wait_for_a_hung_server(void **state)
{
    (void)state;
    static const uint64_t durations_ms[] = {60000, 100}; /* in the schedule, and after its end */
    for (size_t i = 0; i < 2; i++) {
        struct server *s = server_start(answer_never, false);
        struct setting t;
        setting_init(&t, s, NULL, 500, durations_ms[i]);
        t.o.timeout_ns = 60000 * MS;
        t.o.connections = 4;
        t.o.stop = &stop;
        stop = 0;
        pthread_t stopper;
        assert_int_equal(pthread_create(&stopper, NULL, stop_soon, s), 0);
        uint64_t begin = clock_mono_ns();
        setting_run(&t);
        assert_true(clock_mono_ns() - begin < 30000 * MS);
        pthread_join(stopper, NULL);
        server_stop(s);
        assert_int_equal(result.total[0].errors[CAPTURE_TIMEOUT], 4);
        assert_int_equal(result.total[0].latency.count, 0);
    }
}

static void stopped_before_it_began(void **state)
{
    (void)state;
    struct server *s = server_start(answer_fine, false);
    struct setting t;
    struct err e;
    setting_init(&t, s, NULL, 500, 60000);
    t.o.stop = &stop;
    stop = 1;
    assert_int_equal(load_run(&t.o, &result, &e), ERR_UNSUPPORTED);
    server_stop(s);
    load_bodies_done(&t.bodies);
}

static void a_stopped_run_tells_what_it_has(void **state)
{
    (void)state;
    struct server *s = server_start(answer_fine, false);
    struct setting t;
    setting_init(&t, s, NULL, 500, 60000);
    t.o.stop = &stop;
    t.o.interval = stop_set;
    stop = 0;
    setting_run(&t);
    server_stop(s);
    assert_true(result.total[0].due > 0 && result.total[0].due < 30000 / 2);
    assert_int_equal(capture_interval_failed(&result.total[0]), 0);
}

static void pairs_of_runs(void **state)
{
    (void)state;
    struct server *a = server_start(answer_fine, false), *b = server_start(answer_fine, false);
    struct setting t;
    setting_init(&t, a, b, 1000, 20);
    double bar = 1000;
    struct pairs_options o = {
        .load = t.o, .pairs = 6, .metric = PAIRS_CPU, .has_pids = true, .bar = &bar};
    o.pids[0] = o.pids[1] = getpid();
    static struct pairs_result r;
    struct err e;
    if (pairs_run(&o, &r, &e)) fail_msg("%s", e.text);
    assert_int_equal(a->requests, 3 * 6 * 20);
    assert_int_equal(b->requests, 6 * 20);
    const struct pairs_interval *ab = &r.ab.interval;
    assert_true(ab->low > 0 && ab->low <= ab->median && ab->median <= ab->high);
    assert_int_equal(r.failed, 0);
    assert_int_equal(r.bar, PAIRS_MET);
    server_stop(a);
    server_stop(b);
    load_bodies_done(&t.bodies);
}

static void pairs_need_answers(void **state)
{
    (void)state;
    struct server *a = server_start(answer_busy, false), *b = server_start(answer_fine, false);
    struct setting t;
    setting_init(&t, a, b, 1000, 20);
    struct pairs_options o = {.load = t.o, .pairs = 6, .metric = PAIRS_P99};
    static struct pairs_result r;
    struct err e;
    if (pairs_run(&o, &r, &e)) fail_msg("%s", e.text);
    assert_int_equal(r.verdict, PAIRS_VOID);
    assert_int_equal(r.failed, 3 * 6 * 20 / 4);
    assert_int_equal(r.failed_runs, 3 * 6);
    server_stop(a);
    server_stop(b);
    load_bodies_done(&t.bodies);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stall_is_seen_as_arithmetic_says),
        cmocka_unit_test(answers_of_every_form),
        cmocka_unit_test(failures_are_counted_where_they_happen),
        cmocka_unit_test(a_server_that_never_answers),
        cmocka_unit_test(a_server_that_leaves_without_a_word),
        cmocka_unit_test(a_server_that_resets_everything),
        cmocka_unit_test(waiting_for_the_server_is_not_the_generators),
        cmocka_unit_test(a_stall_of_the_generator_is_its_own),
        cmocka_unit_test(waiting_does_not_spin),
        cmocka_unit_test(the_hooks_come_in_order),
        cmocka_unit_test(nobody_is_there),
        cmocka_unit_test(interleaved),
        cmocka_unit_test(alternating),
        cmocka_unit_test(turns),
        cmocka_unit_test(a_stopped_run_tells_what_it_has),
        cmocka_unit_test(a_stopped_run_does_not_wait_for_a_hung_server),
        cmocka_unit_test(stopped_before_it_began),
        cmocka_unit_test(pairs_of_runs),
        cmocka_unit_test(pairs_need_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
