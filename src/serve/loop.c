#include "serve/loop.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void date_note(struct loop *l)
{
    int64_t second = l->wall_us > 0 ? l->wall_us / 1000000 : 0;
    if (second == l->date_s) return;
    l->date_s = second;
    http_date_write(l->date, second);
}

/* Pipelined answers go out together: as many as, with what is kept beside them, fit the largest
 * buffer that a pool keeps, so that holding them back for a peer that does not read takes one of
 * those and no fresh memory. A single answer may be longer. What is not touched costs nothing. */
static size_t loop_out_bytes(size_t answer_bytes_max)
{
    size_t held = POOL_BYTES_KEPT_MAX - LOOP_ANSWERED_MAX * sizeof(struct conn_answered) - 8;
    return answer_bytes_max > held ? answer_bytes_max : held;
}

enum err_code loop_open(struct loop *l, const struct loop_config *config, struct err *e)
{
    *l = (struct loop){.service = config->service,
                       .conns = config->conns,
                       .reserve = config->reserve,
                       .kept_max = config->kept_max,
                       .epoll_fd = epoll_create1(EPOLL_CLOEXEC),
                       .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    atomic_init(&l->turned_ns, clock_mono_ns());
    l->wall_us = clock_wall_us();
    l->date_s = -1;
    date_note(l);
    pool_init(&l->pool, config->pool_bytes_max);
    pool_warm(&l->pool);
    deadlines_init(&l->deadlines, config->timeout_ns);
    size_t out_bytes = loop_out_bytes(config->service->answer_bytes_max);
    l->in = malloc(LOOP_IN_BYTES);
    l->out = buf_of(malloc(out_bytes), out_bytes);
    bool room = handoff_init(&l->arrived, config->conn_count);
    room = handoff_init(&l->freed, config->conn_count) && room;

    /* At the edge: each write is told once, and never has to be read. */
    struct epoll_event wake = {.events = EPOLLIN | EPOLLET};
    enum err_code code = ERR_OK;
    if (!room || !l->in || !l->out.data)
        code = err_set(e, ERR_NO_MEMORY, "there is not enough memory for the connections");
    else if (l->epoll_fd < 0 || l->wake_fd < 0 ||
             epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->wake_fd, &wake) < 0)
        code = err_set_sys(e, ERR_SYSTEM, errno, "cannot make an epoll");
    if (code) loop_close(l);
    return code;
}

void loop_close(struct loop *l)
{
    uint32_t slot;
    while (l->arrived.items && handoff_take(&l->arrived, &slot)) conn_open(l, &l->conns[slot]);
    for (int kind = 0; kind < DEADLINE_COUNT; kind++) {
        struct deadline *first;
        while ((first = deadline_find_first(&l->deadlines, (enum deadline_kind)kind)))
            conn_close(l, (struct conn *)(void *)first);
    }
    pool_done(&l->pool);
    handoff_done(&l->arrived);
    handoff_done(&l->freed);
    free(l->in);
    free(l->out.data);
    if (l->epoll_fd >= 0) close(l->epoll_fd);
    if (l->wake_fd >= 0) close(l->wake_fd);
}

void loop_wake(struct loop *l)
{
    uint64_t one = 1;
    /* Can only fail where the counter is full: then the loop is woken already. */
    ssize_t written = write(l->wake_fd, &one, sizeof one);
    (void)written;
}

void loop_phase_set(struct loop *l, enum loop_phase phase)
{
    atomic_store(&l->phase, (int)phase);
    loop_wake(l);
}

void loop_ask(struct loop *l, uint32_t count)
{
    atomic_fetch_add(&l->asked, count);
    loop_wake(l);
}

uint32_t loop_silent(const struct loop *l)
{
    uint32_t asked = atomic_load(&l->asked);
    uint32_t silent = atomic_load_explicit(&l->silent_seen, memory_order_relaxed);
    return silent > asked ? silent - asked : 0;
}

bool loop_silent_is_known(const struct loop *l)
{
    uint32_t seen = atomic_load_explicit(&l->arrived_seen, memory_order_acquire);
    return seen == atomic_load_explicit(&l->arrived.put, memory_order_relaxed) &&
           atomic_load(&l->asked) == 0;
}

/* ---- lag ---- */

/* By the second in which the turn ended: a long one is news then. */
static void lag_note(struct loop *l)
{
    uint64_t second = l->last_ns / 1000000000u, turn_ns = l->last_ns - l->now_ns;
    int slot = (int)(second % (LOOP_LAG_SECONDS + 1));
    if (atomic_load_explicit(&l->lag[slot].second, memory_order_relaxed) != second) {
        atomic_store_explicit(&l->lag[slot].longest_ns, turn_ns, memory_order_relaxed);
        atomic_store_explicit(&l->lag[slot].second, second, memory_order_relaxed);
    } else if (atomic_load_explicit(&l->lag[slot].longest_ns, memory_order_relaxed) < turn_ns) {
        atomic_store_explicit(&l->lag[slot].longest_ns, turn_ns, memory_order_relaxed);
    }
}

/* Of a turn that has not ended yet: a loop with nothing to do turns every LOOP_TURN_MS, so one
 * whose last turn began twice as long ago is in it still. */
static uint64_t turn_under_way_ns(const struct loop *l, uint64_t now_ns)
{
    const uint64_t healthy_ns = 2 * LOOP_TURN_MS * 1000000ull;
    uint64_t turned_ns = atomic_load_explicit(&l->turned_ns, memory_order_relaxed);
    return now_ns > turned_ns + healthy_ns && !atomic_load(&l->ended) ? now_ns - turned_ns : 0;
}

uint64_t loop_lag_ns(const struct loop *l, uint64_t now_ns)
{
    uint64_t longest = turn_under_way_ns(l, now_ns), second = now_ns / 1000000000u;
    for (int i = 0; i <= LOOP_LAG_SECONDS; i++) {
        uint64_t then = atomic_load_explicit(&l->lag[i].second, memory_order_relaxed);
        uint64_t ns = atomic_load_explicit(&l->lag[i].longest_ns, memory_order_relaxed);
        if (then + LOOP_LAG_SECONDS >= second && ns > longest) longest = ns;
    }
    return longest;
}

uint64_t loop_turned_ns(const struct loop *l)
{
    return atomic_load(&l->ended) ? 0 : atomic_load_explicit(&l->turned_ns, memory_order_relaxed);
}

/* ---- a turn ---- */

static void turn_note(struct loop *l)
{
    uint64_t before_ns = atomic_load_explicit(&l->turned_ns, memory_order_relaxed);
    if (l->now_ns > before_ns + LOOP_GAP_MS * 1000000ull)
        atomic_store_explicit(&l->returned_ns, l->now_ns, memory_order_relaxed);
    atomic_store_explicit(&l->turned_ns, l->now_ns, memory_order_relaxed);
}

static int turn_wait_ms(const struct loop *l)
{
    uint64_t next_ns = deadline_next_ns(&l->deadlines), now_ns = l->last_ns;
    uint64_t ms_max = l->phase_seen < LOOP_CLOSING ? LOOP_TURN_MS : LOOP_TURN_ENDING_MS;
    if (next_ns <= now_ns || l->deadlines.counts[DEADLINE_QUEUED]) return 0;
    /* Rounded up: to wake before it is due would be to turn for nothing. */
    uint64_t ms = (next_ns - now_ns + 999999) / 1000000;
    return (int)(ms < ms_max ? ms : ms_max);
}

static void take_arrived(struct loop *l)
{
    uint32_t slot;
    while (handoff_take(&l->arrived, &slot)) conn_open(l, &l->conns[slot]);
}

static void give_back_closed(struct loop *l)
{
    while (l->closed) {
        struct conn *c = l->closed;
        l->closed = c->next_closed;
        handoff_put(&l->freed, c->slot);
    }
}

static void make_room(struct loop *l)
{
    while (l->kept_max && l->open > l->kept_max) {
        struct deadline *oldest = deadline_find_oldest(&l->deadlines);
        INVARIANT(oldest != NULL);
        conn_close(l, (struct conn *)(void *)oldest);
    }
}

/* A request that has come has been seen in this turn: so what is still silent may go. */
static void give_way(struct loop *l)
{
    if (!atomic_load_explicit(&l->asked, memory_order_relaxed)) return;
    struct deadline *silent;
    for (uint32_t n = atomic_load(&l->asked); n > 0; n--) {
        silent = deadline_find_silent(&l->deadlines);
        if (silent &&
            deadline_armed_ns(&l->deadlines, silent) + CONN_SILENT_MS * 1000000ull <= l->now_ns)
            conn_close(l, (struct conn *)(void *)silent);
        atomic_fetch_sub(&l->asked, 1);
    }
}

static void close_all(struct loop *l, enum deadline_kind kind)
{
    struct deadline *first;
    while ((first = deadline_find_first(&l->deadlines, kind)))
        conn_close(l, (struct conn *)(void *)first);
}

/* Those that had been idle for `quiet_ms` at `before_ns`, before this turn's wait: what came in
 * time has been seen in this turn, however late the turn is. */
static void close_quiet(struct loop *l, enum deadline_kind kind, uint64_t quiet_ms,
                        uint64_t before_ns)
{
    struct deadline *first;
    while ((first = deadline_find_first(&l->deadlines, kind)) &&
           deadline_armed_ns(&l->deadlines, first) + quiet_ms * 1000000 <= before_ns)
        conn_close(l, (struct conn *)(void *)first);
}

/* ---- serving ---- */

/* What has come. Whoever may not be answered in this turn, but may have something urgent to ask, is
 * read all the same. */
static void serve_events(struct loop *l, const struct epoll_event *events, int count)
{
    for (int i = 0; i < count; i++) {
        struct conn *c = events[i].data.ptr;
        if (!c) continue; /* woken */
        if (loop_is_over(l)) l->turn_left = 0;
        if (l->turn_left == 0 && c->state == CONN_READING && !l->service->urgent_routes)
            conn_put_off(l, c, events[i].events);
        else
            conn_event(l, c, events[i].events);
    }
}

/* Those that were in the queue when this began, each once, as far as the turn goes. */
static void serve_queue(struct loop *l)
{
    uint32_t count = l->deadlines.counts[DEADLINE_QUEUED];
    struct deadline *first;
    while (count-- > 0 && (first = deadline_find_first(&l->deadlines, DEADLINE_QUEUED))) {
        conn_resume(l, (struct conn *)(void *)first);
        if (l->turn_left == 0 || loop_is_over(l)) break;
    }
}

static void serve(struct loop *l, const struct epoll_event *events, int count)
{
    bool queue = l->deadlines.counts[DEADLINE_QUEUED] > 0;
    if (count <= 0 && !queue) return;
    uint32_t max = l->service->turn_answers_max;
    l->turn_left = queue ? 0 : max ? max : UINT32_MAX;
    l->service->turn_begin(l->service);
    serve_events(l, events, count);
    if (queue) {
        l->turn_left = max ? max : UINT32_MAX;
        serve_queue(l);
    }
    l->service->turn_end(l->service);
}

static void expire(struct loop *l)
{
    struct deadline *due = deadline_find_due(&l->deadlines, l->now_ns);
    if (!due) return;
    l->service->turn_begin(l->service);
    do conn_expire(l, (struct conn *)(void *)due);
    while ((due = deadline_find_due(&l->deadlines, l->now_ns)));
    l->service->turn_end(l->service);
}

static void age_pool(struct loop *l, bool idle)
{
    const uint64_t busy_ns = (uint64_t)(LOOP_POOL_AGE_BUSY_MS - LOOP_POOL_AGE_MS) * 1000000;
    if (!idle && l->now_ns < l->pool_age_ns + busy_ns) return;
    pool_age(&l->pool);
    l->pool_age_ns = l->now_ns + (uint64_t)LOOP_POOL_AGE_MS * 1000000;
}

bool loop_turn(struct loop *l)
{
    struct epoll_event events[LOOP_EVENTS_MAX];
    /* Read before the wait: what had come when the phase changed is still served. */
    l->phase_seen = (enum loop_phase)atomic_load(&l->phase);
    uint64_t before_ns = l->now_ns;
    int n = epoll_wait(l->epoll_fd, events, LOOP_EVENTS_MAX, turn_wait_ms(l));
    l->now_ns = l->last_ns = clock_mono_ns();
    l->wall_us = clock_wall_us();
    date_note(l);
    turn_note(l);
    take_arrived(l);
    serve(l, events, n);

    expire(l);
    /* Who seems to be silent is that only if what has come was seen: not where a signal, or the
     * process being stopped and going on, ended the wait. */
    if (n >= 0) make_room(l);
    bool all_seen = n >= 0 && n < LOOP_EVENTS_MAX;
    if (all_seen) give_way(l);
    if (l->phase_seen >= LOOP_CLOSING && all_seen) {
        close_quiet(l, DEADLINE_FRESH, CONN_FRESH_MS, before_ns);
        close_quiet(l, DEADLINE_IDLE, CONN_QUIET_MS, before_ns);
    }
    if (l->phase_seen == LOOP_ABANDON)
        for (int kind = 0; kind < DEADLINE_COUNT; kind++) close_all(l, (enum deadline_kind)kind);
    give_back_closed(l);
    atomic_store_explicit(&l->open_seen, l->open, memory_order_relaxed);
    atomic_store_explicit(&l->silent_seen, deadline_silent_count(&l->deadlines),
                          memory_order_relaxed);
    atomic_store_explicit(&l->arrived_seen,
                          atomic_load_explicit(&l->arrived.taken, memory_order_relaxed),
                          memory_order_release);
    lag_note(l);
    if (l->now_ns >= l->pool_age_ns) age_pool(l, l->last_ns == l->now_ns);
    return l->phase_seen < LOOP_ENDING || l->open > 0;
}

void loop_run(struct loop *l)
{
    while (loop_turn(l)) continue;
    atomic_store(&l->ended, true);
}
