#include "serve/acceptor.h"

#include "serve/listen.h"

#include "base/clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* What an event is about: a door's number, the wake-up, or the place of a refused connection. */
enum { EVENT_WAKE = ACCEPTOR_DOORS_MAX, EVENT_REFUSED };

static int watch(const struct acceptor *a, int op, int fd, uint32_t events, uint64_t what)
{
    struct epoll_event event = {.events = events, .data.u64 = what};
    return epoll_ctl(a->epoll_fd, op, fd, &event);
}

/* ---- connections that are told that there are too many ---- */

static void refuse_full(struct acceptor *a, const struct door *door, int fd)
{
    struct err e;
    err_set(&e, ERR_CONNECTIONS_MAX, "this port has %u connections, and may not have more",
            door->config.slot_count);
    if (door->config.counted)
        signal_connections_max_reached(a->writer, (int)door->config.slot_count);
    refusals_add(&a->refusals, fd, &e, door->config.counted, clock_mono_ns());
}

static void refuse_address(struct acceptor *a, const struct door *door, int fd)
{
    struct err e;
    char peer[ADDRESS_TEXT_MAX];
    listen_peer_write(fd, peer);
    err_set(&e, ERR_PER_ADDRESS_MAX,
            "this address has %u connections to this port, and may not have more",
            door->config.per_address_max);
    if (door->config.counted)
        signal_per_address_max_reached(a->writer, span_of(peer), (int)door->config.per_address_max);
    refusals_add(&a->refusals, fd, &e, door->config.counted, clock_mono_ns());
}

/* ---- accepting ---- */

static void take_freed(struct door *door)
{
    for (int i = 0; i < door->config.loop_count; i++) {
        uint32_t slot;
        while (handoff_take(&door->config.loops[i]->freed, &slot)) {
            door->free[door->free_count++] = slot;
            door->open[i]--;
            per_address_give(&door->addresses, slot - door->config.slot_first);
        }
    }
}

static uint32_t door_open_count(const struct door *door)
{
    return door->config.slot_count - door->free_count;
}

static bool door_full(struct door *door)
{
    if (door_open_count(door) < door->config.open_max) return false;
    take_freed(door);
    return door_open_count(door) >= door->config.open_max;
}

static int fewest(struct door *door)
{
    int count = door->config.loop_count, best = (int)(door->next++ % (unsigned)count);
    for (int i = 0; i < count; i++)
        if (door->open[i] < door->open[best]) best = i;
    return best;
}

/* From here on the connection is the loop's, which watches it and closes it: nobody else touches
 * its descriptor any more. */
static void hand_over(struct acceptor *a, struct door *door, int fd, address_key key)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    int which = fewest(door);
    struct loop *loop = door->config.loops[which];
    uint32_t slot = door->free[--door->free_count];
    per_address_take(&door->addresses, slot - door->config.slot_first, key);
    a->conns[slot].fd = fd;
    a->conns[slot].slot = slot;
    door->open[which]++;
    handoff_put(&loop->arrived, slot);
    loop_wake(loop);
    if (door->config.counted) signal_count(a->writer, COUNTER_CONNECTIONS_ACCEPTED);
}

/* A door that is closed (listen_fd -1) stays so. */
static void door_listen(struct acceptor *a, const struct door *door, bool listens)
{
    if (door->config.listen_fd < 0) return;
    watch(a, EPOLL_CTL_MOD, door->config.listen_fd, listens ? EPOLLIN : 0,
          (uint64_t)(door - a->doors));
}

/* Taken out of the epoll first: that watches what a descriptor stands for, and where the socket is
 * shared with others, this is not gone when our descriptor is. */
static void door_close(struct acceptor *a, struct door *door)
{
    if (door->config.listen_fd < 0) return;
    epoll_ctl(a->epoll_fd, EPOLL_CTL_DEL, door->config.listen_fd, NULL);
    close(door->config.listen_fd);
    door->config.listen_fd = -1;
}

/* Somebody is at the door. Nobody is at one that is closed. */
static bool door_has_more(const struct door *door)
{
    struct pollfd at_the_door = {.fd = door->config.listen_fd, .events = POLLIN};
    return poll(&at_the_door, 1, 0) > 0;
}

static void door_wait(struct acceptor *a, struct door *door)
{
    door->waits = true;
    door_listen(a, door, false);
}

static void door_go_on(struct acceptor *a, struct door *door)
{
    door->waits = false;
    if (!a->paused_until_ns) door_listen(a, door, true);
}

/* A door with fewer places than slots lets a further one wait instead of refusing it. */
static bool door_may_refuse(const struct door *door)
{
    return door->config.open_max == door->config.slot_count;
}

/* ---- somebody who waits for a silent connection to give way ---- */

/* Asks the loop with the most that are silent; false: there is none. */
static bool door_ask(struct door *door)
{
    struct loop *most = NULL;
    uint32_t silent_most = 0;
    for (int i = 0; i < door->config.loop_count; i++) {
        struct loop *loop = door->config.loops[i];
        if (!loop_silent_is_known(loop)) return true; /* it has not come to it yet */
        uint32_t silent = loop_silent(loop);
        if (silent > silent_most) {
            most = loop;
            silent_most = silent;
        }
    }
    if (!most) return false;
    uint32_t count = door->config.slot_count / 64;
    if (count > ACCEPTOR_ASKED_MAX) count = ACCEPTOR_ASKED_MAX;
    loop_ask(most, count ? count : 1);
    door->held_asks++;
    return true;
}

static void held_tell(struct acceptor *a, struct door *door)
{
    if (door->held_told) return;
    door->held_told = true;
    signal_accept_paused(a->writer, COUNTER_ACCEPT_PAUSED_DESCRIPTORS, (int)door_open_count(door));
}

/* Takes over `fd`, for which there is no place now. */
static void held_begin(struct acceptor *a, struct door *door, int fd, address_key key)
{
    uint64_t now_ns = clock_mono_ns();
    door->held_asks = door->held_turns = 0;
    bool asked = now_ns >= door->vain_until_ns && door_ask(door);
    if (!asked && door_may_refuse(door)) {
        refuse_full(a, door, fd);
        return;
    }
    door->held_fd = fd;
    door->held_key = key;
    door->held_since_ns = now_ns;
    door->held_told = false;
    if (!asked) held_tell(a, door);
    door_wait(a, door);
}

/* It has waited in vain. */
static bool held_is_late(const struct door *door, uint64_t now_ns)
{
    uint64_t ms = (now_ns - door->held_since_ns) / 1000000;
    return (ms >= ACCEPTOR_HELD_MS && door->held_asks >= ACCEPTOR_HELD_ASKS) ||
           (ms >= ACCEPTOR_HELD_MS_MAX && door->held_turns >= ACCEPTOR_HELD_ASKS);
}

static void held_go_on(struct acceptor *a, struct door *door)
{
    door->held_turns++;
    if (!door_full(door)) {
        hand_over(a, door, door->held_fd, door->held_key);
    } else {
        uint64_t now_ns = clock_mono_ns();
        bool late = held_is_late(door, now_ns);
        if (door_ask(door) && !late) return;
        if (!door_may_refuse(door)) {
            held_tell(a, door);
            return;
        }
        if (late) door->vain_until_ns = now_ns + ACCEPTOR_VAIN_MS * 1000000ull;
        refuse_full(a, door, door->held_fd);
    }
    door->held_fd = -1;
    door_go_on(a, door);
}

static void held_close(struct door *door)
{
    if (door->held_fd >= 0) close(door->held_fd);
    door->held_fd = -1;
}

static void doors_go_on(struct acceptor *a)
{
    for (int d = 0; d < a->door_count; d++) {
        struct door *door = &a->doors[d];
        if (door->held_fd >= 0)
            held_go_on(a, door);
        else if (door->waits && !door_full(door))
            door_go_on(a, door);
    }
}

/* ---- accepting, as far as the system allows ---- */

static void pause_accepting(struct acceptor *a, int error)
{
    uint32_t open = 0;
    for (int d = 0; d < a->door_count; d++) {
        if (a->doors[d].config.counted) open += door_open_count(&a->doors[d]);
        door_listen(a, &a->doors[d], false);
    }
    a->paused_until_ns = clock_mono_ns() + ACCEPTOR_PAUSE_MS * 1000000ull;
    if (a->pause_told) return;
    a->pause_told = true;
    signal_accept_paused(a->writer,
                         error == EMFILE || error == ENFILE ? COUNTER_ACCEPT_PAUSED_DESCRIPTORS
                                                            : COUNTER_ACCEPT_PAUSED_MEMORY,
                         (int)open);
}

static void resume_accepting(struct acceptor *a)
{
    a->paused_until_ns = 0;
    for (int d = 0; d < a->door_count; d++)
        if (!a->doors[d].waits) door_listen(a, &a->doors[d], true);
}

/* The next connection, or -1 and errno. */
static int door_take(struct acceptor *a, const struct door *door)
{
    int fd = door->config.listen_fd;
    if (!door->config.inherited) return accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (door_has_more(door)) return accept_shared(&a->accept_shared, fd);
    errno = EAGAIN;
    return -1;
}

/* Somebody got in: gives him a place, or tells him why he gets none, or lets him wait for one. */
static void door_admit(struct acceptor *a, struct door *door, int fd)
{
    address_key key = 0;
    if (door->config.per_address_max) {
        struct sockaddr_storage peer = {0};
        socklen_t len = sizeof peer;
        if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0) key = address_key_of(&peer);
        take_freed(door);
        if (per_address_count(&door->addresses, key) >= door->config.per_address_max) {
            refuse_address(a, door, fd);
            return;
        }
    }
    if (door_full(door))
        held_begin(a, door, fd, key);
    else
        hand_over(a, door, fd, key);
}

/* At most `count` connections. Returns false when there are no more now. */
static bool door_accept(struct acceptor *a, struct door *door, int count)
{
    take_freed(door);
    while (count-- > 0) {
        if (door->held_fd >= 0) return false;
        if (door->config.makes_room && door_full(door)) {
            if (!door->waits && door_has_more(door)) {
                door_wait(a, door);
                loop_wake(door->config.loops[0]);
            }
            return false;
        }
        int fd = door_take(a, door);
        if (fd < 0) {
            int error = errno;
            if (error == EAGAIN || error == EWOULDBLOCK) return false;
            if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
                pause_accepting(a, error);
                return false;
            }
            if (door->config.inherited && error == EINVAL) {
                door_close(a, door); /* its holder has shut it down: nobody gets in any more */
                return false;
            }
            continue; /* that connection's own fault: it has gone again */
        }
        a->pause_told = false;
        door_admit(a, door, fd);
    }
    return true;
}

static bool finishes(const struct acceptor *a)
{
    return atomic_load(&a->finish_by_ns) != UINT64_MAX;
}

static int turn_wait_ms(const struct acceptor *a)
{
    if (finishes(a)) return ACCEPTOR_FINISH_TURN_MS;
    int wait_ms = a->refusals.count || a->paused_until_ns ? ACCEPTOR_TURN_MS : ACCEPTOR_IDLE_MS;
    for (int d = 0; d < a->door_count; d++) {
        const struct door *door = &a->doors[d];
        if (!door->waits) continue;
        if (door->config.makes_room || !door->held_told) return ACCEPTOR_ROOM_MS;
        wait_ms = ACCEPTOR_TURN_MS;
    }
    return wait_ms;
}

static void acceptor_turn(struct acceptor *a)
{
    struct epoll_event events[16];
    int n = epoll_wait(a->epoll_fd, events, 16, turn_wait_ms(a));
    atomic_store_explicit(a->turned_ns, clock_mono_ns(), memory_order_relaxed);
    for (int i = 0; i < n; i++) {
        uint64_t what = events[i].data.u64;
        if (what < EVENT_WAKE && !a->paused_until_ns)
            door_accept(a, &a->doors[what], ACCEPTOR_BATCH);
        else if (what >= EVENT_REFUSED)
            refusals_event(&a->refusals, (int)(what - EVENT_REFUSED), clock_mono_ns());
    }
    uint64_t now_ns = clock_mono_ns();
    refusals_expire(&a->refusals, now_ns);
    if (a->paused_until_ns && a->paused_until_ns <= now_ns) resume_accepting(a);
    doors_go_on(a);
}

/* ---- the end ---- */

static bool doors_have_more(const struct acceptor *a)
{
    for (int d = 0; d < a->door_count; d++)
        if (a->doors[d].held_fd >= 0 || door_has_more(&a->doors[d])) return true;
    return false;
}

/* Who has connected before a port closes is served. Closing it at once would reset whoever the
 * kernel has taken in the meantime, and there would always be somebody. So nobody new is taken any
 * more; whose handshake has begun gets the time to end it; and then the queue is emptied. Where the
 * system does not know how to ignore somebody, what comes in the last moment is lost. */
static void doors_finish(struct acceptor *a)
{
    for (int d = 0; d < a->door_count; d++) {
        if (a->doors[d].config.inherited)
            door_close(a, &a->doors[d]);
        else
            listen_ignore_new(a->doors[d].config.listen_fd);
    }
    uint64_t settled_ns = clock_mono_ns() + ACCEPTOR_SETTLE_MS * 1000000ull, now_ns;
    do {
        acceptor_turn(a);
        now_ns = clock_mono_ns();
        /* One that is full or paused has more, and gets the time that there is for it. */
        if (now_ns >= settled_ns && !doors_have_more(a)) break;
    } while (!atomic_load(&a->stop) && now_ns < atomic_load(&a->finish_by_ns));
    for (int d = 0; d < a->door_count; d++) {
        door_close(a, &a->doors[d]);
        held_close(&a->doors[d]);
    }
}

static void *acceptor_run(void *argument)
{
    struct acceptor *a = argument;
    a->begin_error = a->shared ? accept_shared_open(&a->accept_shared) : 0;
    bool begins = a->begin_error == 0;
    sem_post(&a->begun);
    if (!begins) return NULL;
    while (!atomic_load(&a->stop) && !finishes(a)) acceptor_turn(a);
    if (!atomic_load(&a->stop)) doors_finish(a);
    atomic_store(&a->finished, true);
    while (!atomic_load(&a->stop) && a->refusals.count) acceptor_turn(a);
    if (a->shared) accept_shared_close(&a->accept_shared);
    atomic_store_explicit(a->turned_ns, 0, memory_order_relaxed);
    atomic_store(&a->ended, true);
    return NULL;
}

/* ---- life ---- */

void acceptor_init(struct acceptor *a)
{
    *a = (struct acceptor){.epoll_fd = -1, .wake_fd = -1, .finish_by_ns = UINT64_MAX};
    refusals_init(&a->refusals);
    for (int d = 0; d < ACCEPTOR_DOORS_MAX; d++) a->doors[d].held_fd = -1;
}

static bool door_open(struct acceptor *a, int d, const struct door_config *config)
{
    struct door *door = &a->doors[d];
    *door = (struct door){.config = *config, .held_fd = -1};
    door->free = calloc(config->slot_count, sizeof door->free[0]);
    door->open = calloc((size_t)config->loop_count, sizeof door->open[0]);
    bool counts = per_address_init(&door->addresses, config->slot_count, config->per_address_max);
    if (!door->free || !door->open || !counts) return false;
    /* The lowest on top: slots that were never used stay untouched memory. */
    for (uint32_t i = 0; i < config->slot_count; i++)
        door->free[i] = config->slot_first + config->slot_count - 1 - i;
    door->free_count = config->slot_count;
    a->shared |= config->inherited;
    return watch(a, EPOLL_CTL_ADD, config->listen_fd, 0, (uint64_t)d) == 0;
}

enum err_code acceptor_open(struct acceptor *a, const struct door_config *doors, int door_count,
                            struct conn *conns, int refused_max, struct signal_writer *writer,
                            _Atomic uint64_t *turned_ns, struct err *e)
{
    acceptor_init(a);
    a->writer = writer;
    a->conns = conns;
    a->turned_ns = turned_ns;
    a->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    a->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    bool opened = a->epoll_fd >= 0 && a->wake_fd >= 0 &&
                  watch(a, EPOLL_CTL_ADD, a->wake_fd, EPOLLIN | EPOLLET, EVENT_WAKE) == 0 &&
                  refusals_open(&a->refusals, refused_max, a->epoll_fd, EVENT_REFUSED, writer);
    for (int d = 0; opened && d < door_count; d++) opened = door_open(a, d, &doors[d]);
    if (opened) {
        a->door_count = door_count;
        return ERR_OK;
    }
    enum err_code code = err_set_sys(e, ERR_SYSTEM, errno, "cannot prepare to accept connections");
    acceptor_close(a);
    return code;
}

static enum err_code start_failed(int error, struct err *e)
{
    return err_set_thread(e, error, "acceptor");
}

enum err_code acceptor_start(struct acceptor *a, struct err *e)
{
    sem_init(&a->begun, 0, 0);
    int error = pthread_create(&a->thread, NULL, acceptor_run, a);
    if (error) return start_failed(error, e);
    a->started = true;
    pthread_setname_np(a->thread, "acceptor");
    while (sem_wait(&a->begun) < 0) continue; /* a signal came in between */
    return a->begin_error ? start_failed(a->begin_error, e) : ERR_OK;
}

void acceptor_accept(struct acceptor *a)
{
    for (int d = 0; d < a->door_count; d++) door_listen(a, &a->doors[d], true);
}

static void acceptor_wake(struct acceptor *a)
{
    uint64_t one = 1;
    ssize_t written = write(a->wake_fd, &one, sizeof one);
    (void)written;
}

void acceptor_finish(struct acceptor *a, int64_t limit_ms)
{
    uint64_t by_ns = clock_mono_ns() + (uint64_t)limit_ms * 1000000;
    if (by_ns < atomic_load(&a->finish_by_ns)) atomic_store(&a->finish_by_ns, by_ns);
    acceptor_wake(a);
}

bool acceptor_finished(const struct acceptor *a)
{
    return atomic_load(&a->finished);
}

bool acceptor_ended(const struct acceptor *a)
{
    return atomic_load(&a->ended);
}

void acceptor_close(struct acceptor *a)
{
    if (a->started) {
        atomic_store(&a->stop, true);
        acceptor_wake(a);
        pthread_join(a->thread, NULL);
        sem_destroy(&a->begun);
    }
    refusals_close(&a->refusals);
    for (int d = 0; d < ACCEPTOR_DOORS_MAX; d++) {
        if (d < a->door_count) door_close(a, &a->doors[d]);
        held_close(&a->doors[d]);
        per_address_done(&a->doors[d].addresses);
        free(a->doors[d].free);
        free(a->doors[d].open);
    }
    if (a->epoll_fd >= 0) close(a->epoll_fd);
    if (a->wake_fd >= 0) close(a->wake_fd);
    acceptor_init(a);
}
