/* The acceptor's thread at a real port. The loops behind it are the test's: it takes what they are
 * given, says what they would say, and gives back what they would have closed. */
#include "serve/acceptor.h"

#include "base/clock.h"
#include "serve/listen.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { LOOPS_MAX = 3, SLOTS = 2000, SLOT_FIRST = 7, CLIENTS_MAX = 200, LONG_MS = 20000 };

struct fixture {
    struct acceptor acceptor;
    _Atomic uint64_t turned_ns;
    struct signals *signals;
    struct loop *loops[LOOPS_MAX];
    uint32_t given[LOOPS_MAX]; /* connections, ever */
    struct conn *conns;
    struct sockaddr_storage address;
    int clients[CLIENTS_MAX];
    int client_count;
    char text[1 << 18];
};

static struct fixture *f;

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Until it is so; fails after twenty seconds. */
#define WAIT(condition)                                                                     \
    do {                                                                                    \
        for (uint64_t end_ns = clock_mono_ns() + LONG_MS * 1000000ull; !(condition); nap()) \
            if (clock_mono_ns() > end_ns) fail_msg("never: %s", #condition);                \
    } while (0)

static int setup(void **state)
{
    (void)state;
    f = aligned_alloc(64, (sizeof *f + 63) & ~(size_t)63);
    if (!f) return -1;
    memset(f, 0, sizeof *f);
    f->conns = calloc(SLOT_FIRST + SLOTS, sizeof *f->conns);
    for (int i = 0; i < LOOPS_MAX; i++) {
        struct loop *l = aligned_alloc(_Alignof(struct loop), sizeof *l);
        if (!l) return -1;
        memset(l, 0, sizeof *l);
        l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (!handoff_init(&l->arrived, SLOTS) || !handoff_init(&l->freed, SLOTS)) return -1;
        f->loops[i] = l;
    }
    const struct settings_log log = {.sink = LOG_FILE, .file = SPAN("/dev/null")};
    struct err e;
    acceptor_init(&f->acceptor);
    return signals_open(&(struct signals_config){.writers = 1, .log = &log}, &f->signals, &e);
}

static int teardown(void **state)
{
    (void)state;
    acceptor_close(&f->acceptor);
    acceptor_close(&f->acceptor);
    for (int i = 0; i < f->client_count; i++) close(f->clients[i]);
    for (int i = SLOT_FIRST; i < SLOT_FIRST + SLOTS; i++)
        if (f->conns[i].fd > 0) close(f->conns[i].fd);
    for (int i = 0; i < LOOPS_MAX; i++) {
        close(f->loops[i]->wake_fd);
        handoff_done(&f->loops[i]->arrived);
        handoff_done(&f->loops[i]->freed);
        free(f->loops[i]);
    }
    signals_close(f->signals, clock_mono_ns());
    free(f->conns);
    free(f);
    return 0;
}

/* With one door; the listening socket is in it. */
static void start(struct door_config config, int refused_max)
{
    char bound[ADDRESS_TEXT_MAX];
    socklen_t len = sizeof f->address;
    struct err e;
    assert_int_equal(listen_open(SPAN("127.0.0.1:0"), &config.listen_fd, bound, &e), ERR_OK);
    assert_int_equal(getsockname(config.listen_fd, (struct sockaddr *)&f->address, &len), 0);
    config.loops = f->loops;
    config.slot_first = SLOT_FIRST;
    if (!config.loop_count) config.loop_count = 1;
    if (!config.open_max) config.open_max = config.slot_count;
    assert_int_equal(acceptor_open(&f->acceptor, &config, 1, f->conns, refused_max,
                                   signals_writer(f->signals, 0), &f->turned_ns, &e),
                     ERR_OK);
    assert_int_equal(acceptor_start(&f->acceptor, &e), ERR_OK);
}

/* Begins to connect, from 127.0.0.`host`. */
static int connect_from(int host)
{
    assert_true(f->client_count < CLIENTS_MAX);
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)host - 1)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&own, sizeof own), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&f->address, sizeof f->address), 0);
    f->clients[f->client_count++] = fd;
    return fd;
}

static int connect_one(void)
{
    return connect_from(1);
}

/* As a loop does it: takes what it is given, and tells how many of its connections are silent. */
static bool take(int loop, uint32_t *slot)
{
    struct loop *l = f->loops[loop];
    if (!handoff_take(&l->arrived, slot)) return false;
    atomic_store(&l->arrived_seen, atomic_load(&l->arrived.taken));
    f->given[loop]++;
    return true;
}

static void give_back(int loop, uint32_t slot)
{
    close(f->conns[slot].fd);
    f->conns[slot].fd = 0;
    handoff_put(&f->loops[loop]->freed, slot);
}

/* The next connection of this loop. */
static uint32_t arrives_at(int loop)
{
    uint32_t slot = 0;
    WAIT(take(loop, &slot));
    assert_in_range(slot, SLOT_FIRST, SLOT_FIRST + SLOTS - 1);
    assert_int_equal(f->conns[slot].slot, slot);
    return slot;
}

static int arrives_anywhere(uint32_t *slot)
{
    int loop = 0;
    WAIT(take(loop, slot) || (loop = (loop + 1) % LOOPS_MAX) < 0);
    return loop;
}

/* What the client is told until the end of its connection. */
static const char *told(int client)
{
    size_t len = 0;
    struct pollfd p = {client, POLLIN, 0};
    for (ssize_t n = 1; n > 0; len += n > 0 ? (size_t)n : 0) {
        assert_int_equal(poll(&p, 1, LONG_MS), 1);
        n = recv(client, f->text + len, sizeof f->text - 1 - len, 0);
    }
    f->text[len] = '\0';
    return f->text;
}

static void ask(int client)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_int_equal(send(client, request, sizeof request - 1, MSG_NOSIGNAL), sizeof request - 1);
}

static void was_refused(int client, const char *code)
{
    const char *text = told(client);
    assert_memory_equal(text, "HTTP/1.1 503 ", 13);
    assert_non_null(strstr(text, "\r\nConnection: close\r\n"));
    assert_non_null(strstr(text, "\r\nRetry-After: 1\r\n"));
    assert_non_null(strstr(text, "\r\nDate: "));
    if (!strstr(text, code)) fail_msg("no %s in %s", code, text);
}

static void is_refused(int client, const char *code)
{
    ask(client);
    was_refused(client, code);
}

/* Of a counter with labels, as in its line. */
static long counted(const char *sample)
{
    static char text[1 << 18];
    struct buf b = buf_of(text, sizeof text - 1);
    signals_render_metrics(f->signals, METRICS_PROMETHEUS, &b);
    text[b.len] = '\0';
    const char *at = strstr(text, sample);
    assert_non_null(at);
    return strtol(at + strlen(sample), NULL, 10);
}

static uint64_t fired(enum signal_site site)
{
    struct signal_account all[SITE_COUNT];
    signals_account(f->signals, all);
    return all[site].fired;
}

static int descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    int n = 0;
    for (const struct dirent *d; (d = readdir(dir));) n += d->d_name[0] != '.';
    closedir(dir);
    return n - 1;
}

/* ---- handing over ---- */

static void the_loop_with_the_fewest_gets_it(void **state)
{
    (void)state;
    start((struct door_config){.loop_count = 3, .slot_count = 9, .counted = true}, 4);
    acceptor_accept(&f->acceptor);
    uint32_t slots[7], seen = 0;
    int loops[7];
    for (int i = 0; i < 7; i++) {
        connect_one();
        loops[i] = arrives_anywhere(&slots[i]);
        assert_false(seen >> (slots[i] - SLOT_FIRST) & 1);
        seen |= 1u << (slots[i] - SLOT_FIRST);
        uint32_t most = 0, least = 9;
        for (int k = 0; k < LOOPS_MAX; k++) {
            if (f->given[k] > most) most = f->given[k];
            if (f->given[k] < least) least = f->given[k];
        }
        assert_true(most - least <= 1);
    }
    assert_int_equal(seen, 0x7f); /* the lowest first */
    int fd = f->conns[slots[0]].fd, on = 0;
    socklen_t len = sizeof on;
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
    assert_true(on);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    /* The one that has closed its own gets the next ones. */
    int emptied = loops[0], gone = 0;
    for (int i = 0; i < 7; i++)
        if (loops[i] == emptied) give_back(emptied, slots[i]), gone++;
    for (; gone; gone--) {
        connect_one();
        uint32_t slot;
        assert_int_equal(arrives_anywhere(&slot), emptied);
        uint64_t wakes;
        assert_int_equal(read(f->loops[emptied]->wake_fd, &wakes, sizeof wakes), sizeof wakes);
    }
    WAIT(counted("\ninterlude_connections_accepted_total ") == f->client_count);
    assert_true(atomic_load(&f->turned_ns) > 0);
}

static void nothing_is_accepted_before_it_may(void **state)
{
    (void)state;
    start((struct door_config){.slot_count = 4}, 4);
    for (int i = 0; i < 3; i++) connect_one();
    nap();
    assert_int_equal(atomic_load(&f->loops[0]->arrived.put), 0);
    acceptor_accept(&f->acceptor);
    for (int i = 0; i < 3; i++) arrives_at(0);
    assert_int_equal(counted("\ninterlude_connections_accepted_total "), 0); /* not counted */
}

/* ---- full ---- */

/* Each is told, and gone a second later, whether its client goes or not; and few at a time are
 * kept meanwhile. */
static void the_refused_are_told_and_closed(void **state)
{
    (void)state;
    enum { PLACES = 2, REFUSED = 40, KEPT = 4 };
    start((struct door_config){.slot_count = PLACES, .counted = true}, KEPT);
    acceptor_accept(&f->acceptor);
    for (int i = 0; i < PLACES; i++) {
        connect_one();
        arrives_at(0);
    }
    int before = descriptors();
    for (int i = 1; i <= REFUSED; i++) {
        is_refused(connect_one(), "\"code\":\"connections_max\"");
        assert_non_null(strstr(f->text, "this port has 2 connections"));
        assert_true(descriptors() - before - i <= KEPT);
    }
    WAIT(descriptors() - before == REFUSED); /* the clients' own, which are open still */
    assert_int_equal(fired(SITE_CONNECTIONS_MAX_REACHED), REFUSED);
    assert_int_equal(counted("\ninterlude_http_requests_total{code=\"503\"} "), REFUSED);
    assert_int_equal(counted("\ninterlude_connections_refused_total{reason=\"connections_max\"} "),
                     REFUSED);
}

/* ---- silent ones give way ---- */

/* Those of the loop that has most of them are asked, one or a 64th of the places. */
static void a_silent_one_gives_way(void **state)
{
    (void)state;
    static const struct {
        uint32_t slot_count, asked;
    } rows[] = {{2, 1}, {127, 1}, {128, 2}, {1023, 15}, {1024, 16}, {1999, 16}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (i) assert_int_equal(setup(NULL), 0);
        start(
            (struct door_config){.loop_count = 2, .slot_count = rows[i].slot_count, .open_max = 2},
            4);
        acceptor_accept(&f->acceptor);
        uint32_t slots[2];
        for (int k = 0; k < 2; k++) {
            connect_one();
            assert_true(arrives_anywhere(&slots[k]) < 2);
        }
        atomic_store(&f->loops[0]->silent_seen, 20u);
        atomic_store(&f->loops[1]->silent_seen, 21u);
        connect_one();
        WAIT(atomic_load(&f->loops[1]->asked));
        assert_int_equal(atomic_load(&f->loops[1]->asked), rows[i].asked);
        assert_int_equal(atomic_load(&f->loops[0]->asked), 0);
        atomic_store(&f->loops[1]->silent_seen, 0u);
        atomic_store(&f->loops[0]->silent_seen, 0u);
        give_back(1, slots[1]);
        atomic_store(&f->loops[1]->asked, 0u);
        uint32_t slot;
        arrives_anywhere(&slot);
        assert_int_equal(fired(SITE_ACCEPT_PAUSED), 0);
        if (i + 1 < sizeof rows / sizeof rows[0]) teardown(NULL);
    }
}

/* Asked again and again, and nobody goes: 503; and the next one is told so at once, for a while. */
static void who_waits_in_vain_is_refused(void **state)
{
    (void)state;
    start((struct door_config){.slot_count = 1, .counted = true}, 4);
    acceptor_accept(&f->acceptor);
    connect_one();
    arrives_at(0);
    struct loop *l = f->loops[0];
    atomic_store(&l->silent_seen, 1u);
    uint64_t begun_ns = clock_mono_ns(), waited_ns = begun_ns;
    int client = connect_one(), asks = 0;
    struct pollfd p = {client, POLLIN, 0};
    ask(client);
    for (uint64_t ns; ns = clock_mono_ns(), poll(&p, 1, 0) == 0; nap()) {
        waited_ns = ns; /* and longer */
        asks += atomic_exchange(&l->asked, 0u) > 0;
        assert_true(clock_mono_ns() - begun_ns < LONG_MS * 1000000ull);
    }
    assert_true(clock_mono_ns() - begun_ns >= ACCEPTOR_HELD_MS * 1000000ull);
    if (clock_mono_ns() - begun_ns < ACCEPTOR_HELD_MS_MAX * 1000000ull)
        assert_true(asks >= ACCEPTOR_HELD_ASKS - 1); /* the last may be under way */
    was_refused(client, "\"code\":\"connections_max\"");
    atomic_store(&l->asked, 0u);
    is_refused(connect_one(), "\"code\":\"connections_max\"");
    if (clock_mono_ns() - waited_ns < ACCEPTOR_VAIN_MS * 1000000ull)
        assert_int_equal(atomic_load(&l->asked), 0);
    begun_ns = clock_mono_ns();
    atomic_store(&l->asked, 0u);
    /* Later it is tried again. */
    WAIT(clock_mono_ns() - begun_ns > 2 * ACCEPTOR_VAIN_MS * 1000000ull);
    connect_one();
    WAIT(atomic_load(&l->asked) == 1);
    assert_int_equal(fired(SITE_CONNECTIONS_MAX_REACHED), 2);
}

/* A loop that has not come to what it was given may yet have a silent one. */
static void a_loop_that_is_late_is_waited_for(void **state)
{
    (void)state;
    start((struct door_config){.slot_count = 1, .counted = true}, 4);
    acceptor_accept(&f->acceptor);
    connect_one();
    WAIT(atomic_load(&f->loops[0]->arrived.put) == 1);
    int client = connect_one();
    struct pollfd p = {client, POLLIN, 0};
    assert_int_equal(poll(&p, 1, 20), 0);
    arrives_at(0); /* and none is silent */
    is_refused(client, "\"code\":\"connections_max\"");
}

/* Descriptors are short: nobody is refused, and that somebody waits is told once. */
static void fewer_places_than_slots_let_wait(void **state)
{
    (void)state;
    start((struct door_config){.slot_count = 5, .open_max = 2, .counted = true}, 4);
    acceptor_accept(&f->acceptor);
    uint32_t slots[2];
    for (int i = 0; i < 2; i++) {
        connect_one();
        slots[i] = arrives_at(0);
    }
    for (int pause = 1; pause <= 2; pause++) {
        int client = connect_one();
        WAIT(fired(SITE_ACCEPT_PAUSED) == (uint64_t)pause);
        struct pollfd p = {client, POLLIN, 0};
        assert_int_equal(poll(&p, 1, 3 * ACCEPTOR_TURN_MS), 0);
        assert_int_equal(fired(SITE_ACCEPT_PAUSED), pause);
        give_back(0, slots[0]);
        slots[0] = arrives_at(0);
    }
    assert_int_equal(counted("\ninterlude_accept_paused_total{reason=\"descriptors\"} "), 2);
    assert_int_equal(fired(SITE_CONNECTIONS_MAX_REACHED), 0);
}

/* The operations port: its loop is woken, makes room, and then the next one is accepted. */
static void a_loop_that_makes_room_is_woken(void **state)
{
    (void)state;
    start((struct door_config){.slot_count = 2, .makes_room = true}, 4);
    acceptor_accept(&f->acceptor);
    uint32_t slots[2];
    uint64_t wakes;
    for (int i = 0; i < 2; i++) {
        connect_one();
        slots[i] = arrives_at(0);
    }
    WAIT(read(f->loops[0]->wake_fd, &wakes, sizeof wakes) == sizeof wakes);
    while (read(f->loops[0]->wake_fd, &wakes, sizeof wakes) > 0) continue;
    connect_one();
    WAIT(read(f->loops[0]->wake_fd, &wakes, sizeof wakes) == sizeof wakes);
    assert_int_equal(atomic_load(&f->loops[0]->arrived.put), 2);
    give_back(0, slots[1]);
    assert_int_equal(arrives_at(0), slots[1]);
}

/* ---- limits of an address ---- */

static void an_address_has_so_many(void **state)
{
    (void)state;
    start((struct door_config){.slot_count = 9, .per_address_max = 2, .counted = true}, 4);
    acceptor_accept(&f->acceptor);
    uint32_t slots[2];
    for (int i = 0; i < 2; i++) {
        connect_from(1);
        slots[i] = arrives_at(0);
    }
    is_refused(connect_from(1), "\"code\":\"per_address_max\"");
    assert_non_null(strstr(f->text, "this address has 2 connections"));
    assert_int_equal(fired(SITE_PER_ADDRESS_MAX_REACHED), 1);
    connect_from(2);
    arrives_at(0);
    give_back(0, slots[0]);
    connect_from(1);
    arrives_at(0);
    is_refused(connect_from(1), "\"code\":\"per_address_max\"");
    assert_int_equal(fired(SITE_CONNECTIONS_MAX_REACHED), 0);
}

/* ---- what the system has not ---- */

/* Accepting pauses, and that is told once for each pause. */
static void without_descriptors_it_pauses(void **state)
{
    (void)state;
    start((struct door_config){.slot_count = 9, .counted = true}, 4);
    acceptor_accept(&f->acceptor);
    connect_one();
    arrives_at(0);
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3;
    for (int pause = 1; pause <= 2; pause++) {
        int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        f->clients[f->client_count++] = client;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        assert_int_equal(connect(client, (const struct sockaddr *)&f->address, sizeof f->address),
                         0);
        WAIT(fired(SITE_ACCEPT_PAUSED) == (uint64_t)pause);
        uint64_t end_ns = clock_mono_ns() + 3 * ACCEPTOR_PAUSE_MS * 1000000ull;
        while (clock_mono_ns() < end_ns) nap();
        assert_int_equal(fired(SITE_ACCEPT_PAUSED), pause);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        arrives_at(0);
    }
    assert_int_equal(counted("\ninterlude_accept_paused_total{reason=\"descriptors\"} "), 2);
    assert_int_equal(counted("\ninterlude_accept_paused_total{reason=\"memory\"} "), 0);
}

/* ---- the end ---- */

static bool port_is_closed(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool closed = connect(fd, (const struct sockaddr *)&f->address, sizeof f->address) < 0 &&
                  errno == ECONNREFUSED;
    close(fd);
    return closed;
}

/* The backlog at the close is served: whoever has connected. */
static void who_has_connected_is_served_at_the_end(void **state)
{
    (void)state;
    start((struct door_config){.slot_count = 150, .counted = true}, 4);
    for (int i = 0; i < 100; i++) connect_one();
    acceptor_accept(&f->acceptor);
    acceptor_finish(&f->acceptor, LONG_MS);
    for (int i = 0; i < 100; i++) arrives_at(0);
    WAIT(acceptor_finished(&f->acceptor));
    WAIT(acceptor_ended(&f->acceptor));
    assert_true(port_is_closed());
    assert_int_equal(atomic_load(&f->turned_ns), 0);
}

/* And somebody who waits for a place gets one, if there is one in time. */
static void who_waits_for_a_place_is_served_at_the_end(void **state)
{
    (void)state;
    start((struct door_config){.slot_count = 5, .open_max = 1}, 4);
    acceptor_accept(&f->acceptor);
    connect_one();
    uint32_t slot = arrives_at(0);
    for (int i = 0; i < 3; i++) connect_one();
    WAIT(fired(SITE_ACCEPT_PAUSED) == 1); /* it is told that somebody waits */
    acceptor_finish(&f->acceptor, LONG_MS);
    for (int i = 0; i < 3; i++) {
        uint64_t end_ns = clock_mono_ns() + 2 * ACCEPTOR_SETTLE_MS * 1000000ull;
        while (clock_mono_ns() < end_ns) nap();
        assert_false(acceptor_finished(&f->acceptor));
        give_back(0, slot);
        slot = arrives_at(0);
    }
    WAIT(acceptor_finished(&f->acceptor));
}

static void there_is_an_end_of_waiting_for_a_place(void **state)
{
    (void)state;
    start((struct door_config){.slot_count = 5, .open_max = 1}, 4);
    acceptor_accept(&f->acceptor);
    connect_one();
    arrives_at(0);
    int held = connect_one();
    WAIT(fired(SITE_ACCEPT_PAUSED) == 1); /* it is told that somebody waits */
    acceptor_finish(&f->acceptor, 3600000);
    acceptor_finish(&f->acceptor, 60);
    acceptor_finish(&f->acceptor, 3600000); /* the earliest holds */
    WAIT(acceptor_finished(&f->acceptor));
    told(held); /* it ends */
    assert_int_equal(f->acceptor.doors[0].held_fd, -1);
}

/* It has finished, and yet those who were refused are let go. */
static void the_refused_have_their_time_at_the_end(void **state)
{
    (void)state;
    start((struct door_config){.slot_count = 1}, 4);
    acceptor_accept(&f->acceptor);
    connect_one();
    arrives_at(0);
    int before = descriptors();
    is_refused(connect_one(), "connections_max");
    acceptor_finish(&f->acceptor, LONG_MS);
    WAIT(acceptor_finished(&f->acceptor));
    WAIT(acceptor_ended(&f->acceptor));
    assert_int_equal(f->acceptor.refusals.count, 0);
    assert_int_equal(descriptors() - before, 1 - 1); /* one client more, and no listener */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_loop_with_the_fewest_gets_it),
        TEST(nothing_is_accepted_before_it_may),
        TEST(the_refused_are_told_and_closed),
        TEST(a_silent_one_gives_way),
        TEST(who_waits_in_vain_is_refused),
        TEST(a_loop_that_is_late_is_waited_for),
        TEST(fewer_places_than_slots_let_wait),
        TEST(a_loop_that_makes_room_is_woken),
        TEST(an_address_has_so_many),
        TEST(without_descriptors_it_pauses),
        TEST(who_has_connected_is_served_at_the_end),
        TEST(who_waits_for_a_place_is_served_at_the_end),
        TEST(there_is_an_end_of_waiting_for_a_place),
        TEST(the_refused_have_their_time_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
