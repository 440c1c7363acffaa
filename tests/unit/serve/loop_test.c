/* A loop that is turned by hand: whose turn it is, how long that lasts, and what is kept. */
#include "loop_hand.h"

#include "base/clock.h"

static uint64_t now_ns = 1000000000000;
static uint64_t step_ns; /* by so much the clock goes on whenever it is read */

static _Thread_local bool by_hand; /* the log's writer has the true clock */

uint64_t __real_clock_mono_ns(void);
uint64_t __wrap_clock_mono_ns(void);
uint64_t __wrap_clock_mono_ns(void)
{
    return by_hand ? now_ns += step_ns : __real_clock_mono_ns();
}

static bool interrupted; /* the next wait ends so, as after SIGSTOP and SIGCONT */

int __real_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
    if (!interrupted) return __real_epoll_wait(fd, events, max, timeout_ms);
    interrupted = false;
    errno = EINTR;
    return -1;
}

static void later(int ms)
{
    now_ns += (uint64_t)ms * 1000000;
}

static int decisions(void **state)
{
    (void)state;
    step_ns = 0;
    return hand_setup(false, 1 << 22, true);
}

static int operations(void **state)
{
    (void)state;
    step_ns = 0;
    return hand_setup(true, 1 << 22, true);
}

static char text[1 << 20];

static void no_pool(void)
{
    pool_done(&hand->loop.pool);
    pool_init(&hand->loop.pool, 0);
}

/* ---- turns ---- */

/* It let others wait for as many answers as fit 128 KiB of requests. */
static void a_client_that_pipelines_lets_others_in(void **state)
{
    (void)state;
    uint32_t many = hand_connect(), one = hand_connect();
    hand_turn();
    hand_ask(many, 0, 1200);
    hand_turn();
    assert_int_equal(hand->answers, CONN_ANSWERS_MAX);
    hand_ask(one, 5000, 1);
    long before = hand->answers;
    int turns = 0;
    while (hand_read(one, text, sizeof text) == 0 && turns++ < 100) hand_turn();
    assert_non_null(strstr(text, "005000"));
    if (hand->answers - before > 65) fail_msg("%ld other answers", hand->answers - before - 1);
}

/* What waits in the loop is nobody's to tell: it comes without a further event, and in order. */
static void all_that_was_asked_is_answered_in_order(void **state)
{
    (void)state;
    enum { CLIENTS = 5, ASKED = 700 };
    int answered[CLIENTS] = {0};
    for (int i = 0; i < CLIENTS; i++) hand_connect();
    hand_turn();
    for (int i = 0; i < CLIENTS; i++) hand_ask((uint32_t)i, 0, ASKED);
    int all = 0;
    for (int turns = 0; all < CLIENTS * ASKED && turns < 1000; turns++) {
        loop_turn(&hand->loop); /* not woken: it must not wait while there is something to do */
        for (int i = 0; i < CLIENTS; i++) {
            char *at = text;
            assert_true(hand_read((uint32_t)i, text, sizeof text) >= 0);
            while ((at = strstr(at, "\r\n\r\n"))) {
                assert_int_equal(atoi(at + 4), answered[i]++);
                at += 4;
                all++;
            }
        }
    }
    assert_int_equal(all, CLIENTS * ASKED);
    for (int i = 0; i < CLIENTS; i++) assert_int_equal(hand->conns[i].deadline.kind, DEADLINE_IDLE);
    assert_int_equal(hand->loop.deadlines.counts[DEADLINE_QUEUED], 0);
}

/* An hour of them if it must be: nobody waits for all of them, and nobody is passed over. */
static void turns_end_by_the_clock(void **state)
{
    (void)state;
    enum { CLIENTS = 100 };
    for (int i = 0; i < CLIENTS; i++) hand_connect();
    hand_turn();
    for (int i = 0; i < CLIENTS; i++) hand_ask((uint32_t)i, 0, 2);
    step_ns = 9 * 1000000;
    int served_before = 0;
    for (int turn = 0; turn < 40 && hand->answers < 2 * CLIENTS; turn++) {
        long before = hand->answers;
        hand_turn();
        assert_in_range(hand->answers - before, 1, 8);
        int served = 0;
        for (int i = 0; i < CLIENTS; i++) served += recv(hand->clients[i], text, 1, MSG_PEEK) == 1;
        assert_true(served > served_before || served == CLIENTS);
        served_before = served;
    }
    for (int turn = 0; turn < 100; turn++) hand_turn();
    assert_int_equal(hand->answers, 2 * CLIENTS);
}

/* How long a request took is told from when it was seen: its wait for a turn is part of that, be it
 * read already or not. */
static void waiting_for_a_turn_takes_time(void **state)
{
    (void)state;
    uint32_t many = hand_connect(), other = hand_connect();
    hand_turn();
    hand_ask(many, 0, 40);
    hand_turn();
    assert_int_equal(hand->longest_ns, 0);
    later(30);
    hand_turn();
    assert_int_equal(hand->answers, 40);
    assert_int_equal(hand->longest_ns, 30 * 1000000);

    hand->longest_ns = 0;
    hand_ask(many, 0, 1);
    hand_ask(other, 0, 1);
    step_ns = 25 * 1000000; /* after one, the turn is over */
    hand_turn();
    assert_int_equal(hand->answers, 41);
    step_ns = 0;
    later(30);
    hand_turn();
    assert_int_equal(hand->answers, 42);
    assert_in_range(hand->longest_ns, 30 * 1000000, 140 * 1000000);

    hand->longest_ns = 0;
    hand_ask(many, 0, 1); /* and what comes next is new */
    hand_turn();
    assert_int_equal(hand->longest_ns, 0);
}

/* 200 connections that ask for 20 scrapes each and read none: `healthz` waited for all of them. */
static void health_is_told_beside_scrapes_that_nobody_reads(void **state)
{
    (void)state;
    enum { CLIENTS = 200, SCRAPES = 20 };
    for (int i = 0; i < CLIENTS; i++) hand_connect();
    hand_turn();
    for (int i = 0; i < CLIENTS; i++)
        for (int s = 0; s < SCRAPES; s++)
            hand_send((uint32_t)i, HAND_GET("/metrics"), strlen(HAND_GET("/metrics")));
    for (int round = 0; round < 20; round++) {
        uint32_t prober = hand_connect();
        hand_send(prober, HAND_GET("/healthz"), strlen(HAND_GET("/healthz")));
        long before = hand->answers;
        hand->urgent_at = -1;
        for (int turn = 0; turn < 10 && hand->urgent_at < 0; turn++) hand_turn();
        assert_true(hand->urgent_at >= 0);
        if (hand->urgent_at - before > 64)
            fail_msg("%ld other answers first", hand->urgent_at - before);
        assert_true(hand_read(prober, text, sizeof text) > 0);
    }
}

/* And with a crowd that does read, nobody starves. */
static void every_scrape_of_a_crowd_is_answered(void **state)
{
    (void)state;
    enum { CLIENTS = 60, SCRAPES = 7 };
    static size_t got[CLIENTS];
    memset(got, 0, sizeof got);
    for (int i = 0; i < CLIENTS; i++) hand_connect();
    hand_turn();
    for (int i = 0; i < CLIENTS; i++)
        for (int s = 0; s < SCRAPES; s++)
            hand_send((uint32_t)i, HAND_GET("/metrics"), strlen(HAND_GET("/metrics")));
    size_t all = 0;
    for (int turn = 0; all < CLIENTS && turn < 5000; turn++) {
        hand_turn();
        all = 0;
        for (int i = 0; i < CLIENTS; i++) {
            ssize_t n;
            while ((n = recv(hand->clients[i], text, sizeof text, 0)) > 0) got[i] += (size_t)n;
            all += got[i] > SCRAPES * HAND_TEXT_BYTES;
        }
    }
    for (int i = 0; i < CLIENTS; i++)
        assert_in_range(got[i], SCRAPES * HAND_TEXT_BYTES + 1, SCRAPES * (HAND_TEXT_BYTES + 300));
    assert_int_equal(hand->answers, CLIENTS * SCRAPES);
}

/* ---- texts ---- */

/* A slow reader needs no memory of its own: there is none here. */
static void a_scrape_that_waits_for_its_reader_needs_no_memory(void **state)
{
    (void)state;
    enum { CLIENTS = 100 };
    no_pool();
    for (int i = 0; i < CLIENTS; i++) hand_connect();
    hand_turn();
    for (int i = 0; i < CLIENTS; i++)
        hand_send((uint32_t)i, HAND_GET("/metrics") HAND_GET("/metrics"),
                  2 * strlen(HAND_GET("/metrics")));
    for (int turn = 0; turn < 10; turn++) hand_turn();
    assert_int_equal(hand->texts.all[0].holds, CLIENTS);
    assert_int_equal(hand->loop.pool.bytes, 0);
    static size_t got[CLIENTS];
    memset(got, 0, sizeof got);
    for (int turn = 0; turn < 200; turn++) {
        for (int i = 0; i < CLIENTS; i++) {
            ssize_t n;
            while ((n = recv(hand->clients[i], text, sizeof text, 0)) > 0) got[i] += (size_t)n;
        }
        hand_turn();
    }
    for (int i = 0; i < CLIENTS; i++) assert_true(got[i] > 2 * HAND_TEXT_BYTES);
}

/* With every text held, the readers of the oldest are cut off; the others get theirs whole. */
static void the_slowest_readers_are_cut_off(void **state)
{
    (void)state;
    enum { CLIENTS = TEXTS_MAX + 2 };
    for (int i = 0; i < CLIENTS; i++) hand_connect();
    hand_turn();
    for (int i = 0; i < CLIENTS; i++) {
        hand_send((uint32_t)i, HAND_GET("/metrics"), strlen(HAND_GET("/metrics")));
        hand_turn();
        later(TEXT_SHARED_MS);
    }
    assert_int_equal(hand->cut, 2);
    for (int i = 0; i < CLIENTS; i++) {
        size_t got = 0;
        ssize_t n;
        for (int turn = 0; turn < 50; turn++) {
            while ((n = recv(hand->clients[i], text, sizeof text, 0)) > 0) got += (size_t)n;
            hand_turn();
        }
        bool whole = got > HAND_TEXT_BYTES;
        assert_int_equal(whole, i >= 2);
        assert_int_equal(hand->conns[i].state, whole ? CONN_READING : CONN_CLOSED);
    }
}

/* ---- buffers ---- */

static void two_pieces(int slot, size_t bytes)
{
    snprintf(text, sizeof text,
             "POST /v1/decide HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", bytes);
    hand_send((uint32_t)slot, text, strlen(text));
    hand_turn();
    memset(text, ' ', bytes);
    hand_send((uint32_t)slot, text, bytes / 2);
    hand_turn();
    if (hand->conns[slot].state == CONN_READING) hand_send((uint32_t)slot, text, bytes - bytes / 2);
    hand_turn();
}

/* With a pool that has nothing. The small one got 503 connections_max. */
static void requests_in_pieces_without_a_pool(void **state)
{
    (void)state;
    static const struct {
        size_t bytes;
        const char *says;
    } rows[] = {
        {10, "HTTP/1.1 200 OK"},
        {494, "HTTP/1.1 200 OK"},
        {3900, "HTTP/1.1 200 OK"},
        {9000, "\"code\":\"buffers_max\""},
        {60000, "\"code\":\"buffers_max\""},
    };
    no_pool();
    for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
        hand_connect();
        hand_turn();
        two_pieces(i, rows[i].bytes);
        assert_true(hand_read((uint32_t)i, text, sizeof text) > 0);
        if (!strstr(text, rows[i].says)) fail_msg("%zu: %s", rows[i].bytes, text);
        if (rows[i].bytes > RESERVE_BYTES) assert_non_null(strstr(text, "Retry-After: 1\r\n"));
        assert_null(hand->conns[i].in.data);
    }
}

/* A line, a count by its reason, and the status. */
static void the_lack_of_a_buffer_is_told(void **state)
{
    (void)state;
    char path[] = "/tmp/interlude-loop-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    const struct settings_log log = {
        .level = LOG_INFO, .sink = LOG_FILE, .file = span_of(path), .budget = {10, 100}};
    struct signals *signals;
    struct err e;
    assert_int_equal(
        signals_open(&(struct signals_config){.writers = 1, .log = &log}, &signals, &e), ERR_OK);
    hand->service.writer = hand->service.http = signals_writer(signals, 0);
    no_pool();
    hand_connect();
    hand_turn();
    two_pieces(0, 9000);
    static char metrics[1 << 18];
    struct buf b = buf_of(metrics, sizeof metrics - 1);
    signals_render_metrics(signals, METRICS_PROMETHEUS, &b);
    metrics[b.len] = '\0';
    assert_non_null(
        strstr(metrics, "\ninterlude_connections_refused_total{reason=\"buffers_max\"} 1\n"));
    assert_non_null(strstr(metrics, "\ninterlude_http_requests_total{code=\"503\"} 1\n"));
    signals_close(signals, __real_clock_mono_ns() + (uint64_t)10 * 1000000000);
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    assert_non_null(strstr(text, "\"level\":\"warning\",\"event\":\"buffers_max_reached\""));
    assert_non_null(strstr(text, "\"connections\":1"));
    close(fd);
    unlink(path);
}

/* What it did not read of small answers is kept, and sent, with its place given back. */
static void the_rest_of_an_answer_without_a_pool(void **state)
{
    (void)state;
    no_pool();
    uint32_t slot = hand_connect();
    int bytes = 4096;
    setsockopt(hand->conns[slot].fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    hand_turn();
    int asked = 0;
    while (hand->conns[slot].state == CONN_READING && asked < 1000) {
        hand_ask(slot, asked++, 1);
        hand_turn();
    }
    assert_int_equal(hand->conns[slot].state, CONN_SENDING);
    int answered = 0;
    for (int turn = 0; answered < asked && turn < 1000; turn++) {
        assert_true(hand_read(slot, text, sizeof text) >= 0);
        answered += hand_count(text, "\r\n\r\n");
        hand_turn();
    }
    assert_int_equal(answered, asked);
    assert_null(hand->conns[slot].out.data);
}

/* Where what is left for the next turn has no place, it is served in this one. */
static void pipelined_requests_without_a_pool(void **state)
{
    (void)state;
    no_pool();
    uint32_t slot = hand_connect();
    hand_turn();
    hand_ask(slot, 0, 1000);
    int answered = 0;
    for (int turn = 0; answered < 1000 && turn < 1000; turn++) {
        hand_turn();
        assert_true(hand_read(slot, text, sizeof text) >= 0);
        answered += hand_count(text, "HTTP/1.1 200 OK");
    }
    assert_int_equal(answered, 1000);
}

static void memory_that_was_needed_goes_back(void **state)
{
    (void)state;
    enum { CLIENTS = 40 };
    for (int i = 0; i < CLIENTS; i++) hand_connect();
    hand_turn();
    memset(text, ' ', 60000);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        char head[128];
        hand_send(i, head,
                  (size_t)snprintf(head, sizeof head,
                                   "POST /v1/decide HTTP/1.1\r\nHost: a\r\n"
                                   "Content-Length: 60000\r\n\r\n"));
        hand_send(i, text, 50000);
        hand_turn();
    }
    size_t held = hand->loop.pool.bytes;
    assert_true(held >= CLIENTS * 50000);
    for (uint32_t i = 0; i < CLIENTS; i++) hand_send(i, text, 10000);
    for (int turn = 0; turn < 10; turn++) hand_turn();
    assert_int_equal(hand->answers, CLIENTS);
    for (int i = 0; i < 3; i++) {
        later(LOOP_POOL_AGE_MS);
        hand_turn();
    }
    assert_true(hand->loop.pool.bytes < held / 5);
}

/* The plan that decided is told with an answer, however late that is taken. */
static void an_answer_that_waits_is_of_its_own_plan(void **state)
{
    (void)state;
    uint32_t slot = hand_connect();
    int bytes = 4096;
    setsockopt(hand->conns[slot].fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    hand_turn();
    hand->service.plan_tag = 7;
    int asked = 0;
    while (hand->conns[slot].state == CONN_READING && asked < 1000) {
        hand_ask(slot, asked++, 1);
        hand_turn();
    }
    assert_int_equal(hand->conns[slot].state, CONN_SENDING);
    hand->service.plan_tag = 8;
    hand->plan_told = 0;
    for (int turn = 0; hand->conns[slot].state == CONN_SENDING && turn < 1000; turn++) {
        assert_true(hand_read(slot, text, sizeof text) >= 0);
        hand_turn();
    }
    assert_int_equal(hand->plan_told, 7);
}

/* The longest turn of each second is told, for ten of them; not the last one. */
static void the_longest_turn_is_the_lag(void **state)
{
    (void)state;
    static const int turns_ms[] = {3, 50, 7};
    uint32_t slot = hand_connect();
    hand_turn();
    later(60000);
    now_ns = now_ns / 1000000000 * 1000000000;
    uint64_t begun_ns = now_ns, longest_ns = 0;
    for (size_t i = 0; i < sizeof turns_ms / sizeof turns_ms[0]; i++) {
        hand_ask(slot, 0, 1);
        step_ns = (uint64_t)turns_ms[i] * 1000000;
        hand_turn();
        step_ns = 0;
        later(1);
        assert_true(hand_read(slot, text, sizeof text) > 0);
        uint64_t lag_ns = loop_lag_ns(&hand->loop, now_ns);
        if (i == 0) assert_in_range(lag_ns, 3000000, 30000000);
        if (i == 1) longest_ns = lag_ns;
        if (i >= 1) assert_in_range(lag_ns, 50000000, 500000000);
        assert_true(now_ns - begun_ns < 1000000000);
    }
    assert_int_equal(loop_lag_ns(&hand->loop, now_ns), longest_ns);
    hand_turn();
    for (int second = 1; second <= LOOP_LAG_SECONDS; second++) {
        later(1000);
        hand_turn();
        assert_int_equal(loop_lag_ns(&hand->loop, now_ns), longest_ns);
    }
    later(1000);
    hand_turn();
    assert_true(loop_lag_ns(&hand->loop, now_ns) < longest_ns);
}

/* ---- the end of a connection ---- */

static const char last_request[] =
    "POST /v1/decide HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 6\r\n\r\n000000";

static uint32_t linger_begin(void)
{
    uint32_t slot = hand_connect();
    hand_turn();
    hand_send(slot, last_request, sizeof last_request - 1);
    hand_turn();
    assert_int_equal(hand->conns[slot].state, CONN_LINGERING);
    assert_true(hand_read(slot, text, sizeof text) > 0);
    assert_non_null(strstr(text, "Connection: close\r\n"));
    return slot;
}

/* What still comes is thrown away, up to a limit. */
static void lingering_has_a_limit_of_bytes(void **state)
{
    (void)state;
    uint32_t slot = linger_begin();
    size_t sent = 0;
    memset(text, 'x', sizeof text);
    while (sent < CONN_LINGER_BYTES_MAX) {
        size_t left = CONN_LINGER_BYTES_MAX - sent;
        ssize_t n = send(hand->clients[slot], text, left < 60000 ? left : 60000, MSG_NOSIGNAL);
        if (n > 0) sent += (size_t)n;
        hand_turn();
        assert_int_equal(hand->conns[slot].state, CONN_LINGERING);
    }
    for (int turn = 0; turn < 100; turn++) hand_turn();
    assert_int_equal(hand->conns[slot].state, CONN_LINGERING);
    assert_int_equal(hand->conns[slot].linger_left, 0);
    hand_send(slot, "x", 1);
    hand_turn();
    assert_int_equal(hand->conns[slot].state, CONN_CLOSED);
}

static void lingering_has_a_limit_of_time(void **state)
{
    (void)state;
    uint32_t slot = linger_begin();
    later(4999);
    hand_send(slot, "x", 1);
    hand_turn();
    assert_int_equal(hand->conns[slot].state, CONN_LINGERING);
    later(1);
    hand_turn();
    hand_turn();
    assert_int_equal(hand->conns[slot].state, CONN_CLOSED);
}

static void lingering_ends_with_the_peer(void **state)
{
    (void)state;
    uint32_t slot = linger_begin();
    shutdown(hand->clients[slot], SHUT_WR);
    hand_turn();
    assert_int_equal(hand->conns[slot].state, CONN_CLOSED);
    /* Who has ended his side before needs no lingering. */
    slot = hand_connect();
    hand_turn();
    hand_send(slot, last_request, sizeof last_request - 1);
    shutdown(hand->clients[slot], SHUT_WR);
    hand_turn();
    hand_turn();
    assert_int_equal(hand->conns[slot].state, CONN_CLOSED);
    assert_true(hand_read(slot, text, sizeof text) > 0);
}

/* A fault is told with a body, but to one who asked by HEAD and is known to have. */
static void giving_up_on_a_head_has_no_body(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *what;
        bool body;
    } rows[] = {
        {"HEAD /readyz HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", "body", false},
        {"GET /readyz HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", "body", true},
        {"HEAD /readyz HTTP/1.1\r\nHost: a\r\nContent-Le", "head", true},
        {"G", "head", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t slot = hand_connect();
        hand_turn();
        hand_send(slot, rows[i].bytes, strlen(rows[i].bytes));
        hand_turn();
        later(5000);
        hand_turn();
        assert_int_equal(hand->conns[slot].state, CONN_LINGERING);
        assert_true(hand_read(slot, text, sizeof text) > 0);
        assert_memory_equal(text, "HTTP/1.1 408 ", 13);
        assert_non_null(strstr(text, "\r\nConnection: close\r\n"));
        assert_null(strstr(text, "Retry-After"));
        const char *body = strstr(text, "\r\n\r\n");
        assert_non_null(body);
        assert_int_equal(strlen(body + 4) > 0, rows[i].body);
        char says[64];
        snprintf(says, sizeof says, "the %s of the request did not arrive within 5000 ms",
                 rows[i].what);
        if (rows[i].body) assert_non_null(strstr(body, says));
        close(hand->clients[slot]);
        hand->clients[slot] = -1;
    }
}

/* ---- deadlines ---- */

/* Somebody whose head comes byte by byte, beside one who always has his turn: the limit is for the
 * whole head, however often its bytes had to wait. */
static void no_limit_begins_anew_by_waiting_for_a_turn(void **state)
{
    (void)state;
    uint32_t busy = hand_connect(), slow = hand_connect();
    hand_turn();
    hand_send(slow, "G", 1);
    hand_turn();
    int asked = 0, ms = 0;
    for (; ms < 7000 && hand->conns[slow].state == CONN_READING; ms += 100) {
        hand_ask(busy, asked++ % 1000, 100);
        hand_turn();
        hand_send(slow, "E", 1);
        later(100);
        hand_turn();
        hand_turn();
        hand_turn();
        assert_true(hand_read(busy, text, sizeof text) >= 0);
    }
    assert_int_equal(hand->conns[slow].state, CONN_LINGERING);
    assert_in_range(ms, 4900, 5400);
    assert_true(hand_read(slow, text, sizeof text) > 0);
    assert_non_null(strstr(text, "\"code\":\"timeout\""));
}

/* A request that waits for its turn is not late: it has come. */
static void what_waits_for_its_turn_does_not_expire(void **state)
{
    (void)state;
    uint32_t many = hand_connect();
    hand_turn();
    hand_ask(many, 0, 200);
    hand_turn();
    assert_int_equal(hand->conns[many].deadline.kind, DEADLINE_QUEUED);
    later(3600 * 1000);
    for (int turn = 0; turn < 20; turn++) hand_turn();
    assert_int_equal(hand->answers, 200);
    assert_int_equal(hand->conns[many].state, CONN_READING);
}

/* All that was sent while nobody looked is there, more of it than a turn sees: it was told 408. The
 * last one has not sent the rest. */
static void what_came_in_time_is_not_late(void **state)
{
    (void)state;
    enum { COUNT = LOOP_EVENTS_MAX + 100, HALF = 20 };
    char whole[200];
    snprintf(whole, sizeof whole, HAND_DECIDE, 7);
    for (int i = 0; i <= COUNT; i++) {
        hand_connect();
        hand_turn();
        if (i % 3 != 0 || i == COUNT) hand_send((uint32_t)i, whole, HALF);
        hand_turn();
    }
    later(3600 * 1000);
    for (int i = 0; i < COUNT; i++) {
        size_t from = i % 3 != 0 ? HALF : 0;
        hand_send((uint32_t)i, whole + from, strlen(whole) - from);
    }
    for (int turn = 0; turn < 20; turn++) hand_turn();
    for (int i = 0; i < COUNT; i++) {
        assert_true(hand_read((uint32_t)i, text, sizeof text) > 0);
        assert_int_equal(hand_count(text, " 200 OK"), 1);
    }
    assert_int_equal(hand->answers, COUNT);
    assert_true(hand_read(COUNT, text, sizeof text) > 0);
    assert_non_null(strstr(text, "\"code\":\"timeout\""));
}

/* More connections than may stay, and a request has come on all but the last ones: whoever asked is
 * answered before he has to make room. */
static void what_came_is_answered_before_room_is_made(void **state)
{
    (void)state;
    enum { COUNT = 40, KEPT = 30 };
    hand->loop.kept_max = KEPT;
    for (int i = 0; i < COUNT; i++) {
        uint32_t slot = hand_connect();
        if (i + 1 == KEPT) hand_turn();
        hand_send(slot, HAND_GET("/healthz"), strlen(HAND_GET("/healthz")));
    }
    interrupted = true;
    hand_turn();
    for (int turn = 0; turn < 20; turn++) hand_turn();
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(hand_read(i, text, sizeof text) > 0);
        assert_int_equal(hand_count(text, " 200 OK"), 1);
    }
    int closed = 0;
    for (uint32_t i = 0; i < COUNT; i++) closed += hand_read(i, text, sizeof text) < 0;
    assert_int_equal(closed, COUNT - KEPT);
}

/* ---- giving way ---- */

static void the_longest_silent_give_way(void **state)
{
    (void)state;
    uint32_t first = hand_connect();
    hand_turn();
    later(1);
    uint32_t used = hand_connect();
    hand_ask(used, 0, 1);
    hand_turn();
    hand_turn();
    later(1);
    uint32_t begun = hand_connect(), third = hand_connect();
    hand_send(begun, "POST", 4);
    hand_turn();
    hand_turn();
    assert_int_equal(loop_silent(&hand->loop), 3);

    loop_ask(&hand->loop, 1); /* too early: they may be about to ask */
    hand_turn();
    assert_int_equal(loop_silent(&hand->loop), 3);

    later(CONN_SILENT_MS);
    loop_ask(&hand->loop, 2);
    hand_turn();
    assert_int_equal(hand->conns[first].state, CONN_CLOSED);
    assert_int_equal(hand->conns[used].state, CONN_CLOSED);
    assert_int_equal(hand->conns[third].state, CONN_READING);
    assert_int_equal(loop_silent(&hand->loop), 1);

    loop_ask(&hand->loop, 10);
    hand_turn();
    assert_int_equal(hand->conns[third].state, CONN_CLOSED);
    assert_int_equal(hand->conns[begun].state, CONN_READING);
    assert_int_equal(loop_silent(&hand->loop), 0);
    assert_int_equal(atomic_load(&hand->loop.asked), 0);
}

/* What has come in the same turn in which it was to give way is served. */
static void who_asks_does_not_give_way(void **state)
{
    (void)state;
    uint32_t slot = hand_connect();
    hand_turn();
    later(60000);
    hand_ask(slot, 7, 1);
    loop_ask(&hand->loop, 1);
    loop_turn(&hand->loop);
    assert_int_equal(hand->answers, 1);
    assert_int_equal(hand->conns[slot].state, CONN_READING);
}

int main(void)
{
    by_hand = true;
#define DECISIONS(test) cmocka_unit_test_setup_teardown(test, decisions, hand_teardown)
#define OPERATIONS(test) cmocka_unit_test_setup_teardown(test, operations, hand_teardown)
    const struct CMUnitTest tests[] = {
        DECISIONS(a_client_that_pipelines_lets_others_in),
        DECISIONS(all_that_was_asked_is_answered_in_order),
        DECISIONS(turns_end_by_the_clock),
        DECISIONS(waiting_for_a_turn_takes_time),
        OPERATIONS(health_is_told_beside_scrapes_that_nobody_reads),
        OPERATIONS(every_scrape_of_a_crowd_is_answered),
        OPERATIONS(a_scrape_that_waits_for_its_reader_needs_no_memory),
        OPERATIONS(the_slowest_readers_are_cut_off),
        DECISIONS(requests_in_pieces_without_a_pool),
        DECISIONS(the_lack_of_a_buffer_is_told),
        DECISIONS(the_rest_of_an_answer_without_a_pool),
        DECISIONS(pipelined_requests_without_a_pool),
        DECISIONS(memory_that_was_needed_goes_back),
        DECISIONS(an_answer_that_waits_is_of_its_own_plan),
        DECISIONS(the_longest_turn_is_the_lag),
        DECISIONS(lingering_has_a_limit_of_bytes),
        DECISIONS(lingering_has_a_limit_of_time),
        DECISIONS(lingering_ends_with_the_peer),
        DECISIONS(giving_up_on_a_head_has_no_body),
        DECISIONS(no_limit_begins_anew_by_waiting_for_a_turn),
        DECISIONS(what_waits_for_its_turn_does_not_expire),
        DECISIONS(what_came_in_time_is_not_late),
        OPERATIONS(what_came_is_answered_before_room_is_made),
        DECISIONS(the_longest_silent_give_way),
        DECISIONS(who_asks_does_not_give_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
