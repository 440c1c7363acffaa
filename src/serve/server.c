#include "serve/server.h"

#include "base/clock.h"
#include "serve/acceptor.h"
#include "serve/admin.h"
#include "serve/cpus.h"
#include "serve/descriptors.h"
#include "serve/listen.h"
#include "serve/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    WORKER_POOLS_BYTES_MAX = 256 * 1024 * 1024, /* of all workers together */
    CONTROL_TURN_MS = 20,                       /* while something is to be waited for */
    END_GRACE_MS = 1000, /* for what has begun, where a signal cut it short */
    LOG_CLOSE_MS = 1000,
    MS_NS = 1000000,
};

/* Threads that tell something: the workers, and these. */
enum { WRITER_CONTROL, WRITER_ACCEPTOR, WRITER_ADMIN, WRITER_RELOAD, WRITERS_BESIDE };

enum server_stage {
    SERVER_SERVING,
    SERVER_DRAINING,
    SERVER_ENDING,
    SERVER_ABANDONED,
    SERVER_ENDED
};

struct loop_thread {
    struct loop *loop; /* NULL: not opened */
    pthread_t thread;
    bool started;
};

struct server {
    struct signals *signals;
    struct signal_writer *writer;
    struct plan_live live;
    struct reload reload;
    bool reloadable; /* `reload` is open */

    struct conn *conns;
    size_t conns_bytes;
    uint64_t descriptors_max; /* the limit of open files, and its parts for connections */
    struct descriptors descriptors;
    int listen_fd, admin_fd; /* until the acceptor has them */
    char listen[ADDRESS_TEXT_MAX], admin_listen[ADDRESS_TEXT_MAX];
    bool exposed; /* the operations port listens beyond loopback */
    struct acceptor acceptor;

    int worker_count;
    struct worker *workers;
    struct loop_thread threads[SERVER_WORKERS_MAX];
    struct loop *worker_loops[SERVER_WORKERS_MAX];
    struct admin *admin;
    struct loop_thread admin_thread;

    _Atomic bool ready;
    _Atomic uint64_t acceptor_turned_ns;
    struct stall stall; /* of all of these */
    enum server_stage stage;
    uint64_t until_ns; /* of the stage */
    const char *stop_reason;
};

/* ---- start ---- */

static sigset_t handled_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    return set;
}

/* As many descriptors as the connections need, or as the system lets us have, shared out. What is
 * still to be opened: an epoll and a wake-up for each loop, the acceptor and the reload thread. */
static void descriptors_get(struct server *s, int connections_max)
{
    const struct descriptors wanted = {(uint32_t)connections_max, ADMIN_CONNECTIONS_MAX,
                                       ACCEPTOR_REFUSED_MAX};
    uint64_t held = descriptors_held() + 2 * ((uint64_t)s->worker_count + 3);
    s->descriptors_max = descriptors_raise(held, &wanted);
    s->descriptors = descriptors_share(s->descriptors_max, held, &wanted);
}

static void *loop_thread_run(void *argument)
{
    loop_run(argument);
    return NULL;
}

static enum err_code loop_thread_open(struct loop_thread *t, const struct loop_config *config,
                                      struct err *e)
{
    struct loop *loop = aligned_alloc(_Alignof(struct loop), sizeof *loop);
    if (!loop) return err_set(e, ERR_NO_MEMORY, "there is not enough memory for the threads");
    enum err_code code = loop_open(loop, config, e);
    if (code)
        free(loop);
    else
        t->loop = loop;
    return code;
}

static enum err_code loop_thread_start(struct loop_thread *t, const char *name, struct err *e)
{
    int error = pthread_create(&t->thread, NULL, loop_thread_run, t->loop);
    if (error) return err_set_sys(e, ERR_SYSTEM, error, "cannot start the thread %s", name);
    t->started = true;
    pthread_setname_np(t->thread, name);
    return ERR_OK;
}

static enum err_code signals_start(struct server *s, const struct server_config *config,
                                   struct err *e)
{
    const struct signals_config signals = {.writers = s->worker_count + WRITERS_BESIDE,
                                           .log = &config->settings->log,
                                           .program = config->program,
                                           .commit = config->commit,
                                           .all_posteriors = config->answer != NULL};
    enum err_code code = signals_open(&signals, &s->signals, e);
    if (code) return code;
    s->writer = signals_writer(s->signals, s->worker_count + WRITER_CONTROL);
    signals_gauge_set(s->signals, GAUGE_WORKERS, s->worker_count);
    signal_server_started(s->writer, config->program, config->commit, config->plan, getpid());
    return ERR_OK;
}

static void timeouts_of(const struct settings_server *server, uint64_t ns[DEADLINE_COUNT])
{
    ns[DEADLINE_IDLE] = (uint64_t)server->idle_timeout_ms * MS_NS;
    ns[DEADLINE_HEAD] = (uint64_t)server->head_timeout_ms * MS_NS;
    ns[DEADLINE_BODY] = (uint64_t)server->body_timeout_ms * MS_NS;
    ns[DEADLINE_ANSWER] = (uint64_t)server->answer_timeout_ms * MS_NS;
    ns[DEADLINE_LINGER] = (uint64_t)CONN_LINGER_MS * MS_NS;
}

/* Of so many connections to the operations port, an eighth, but at least one, is kept free. */
static uint32_t operations_kept(uint32_t connections)
{
    return connections - (connections < 16 ? 1 : connections / 8);
}

/* The loops, with what they serve; none turns yet. */
static enum err_code loops_open(struct server *s, const struct server_config *server, struct err *e)
{
    const struct settings_server *settings = &server->settings->server;
    uint32_t connections = (uint32_t)settings->connections_max;
    s->conns_bytes = (connections + ADMIN_CONNECTIONS_MAX) * sizeof(struct conn);
    s->conns = mmap(NULL, s->conns_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->conns == MAP_FAILED) s->conns = NULL;
    s->workers = calloc((size_t)s->worker_count, sizeof s->workers[0]);
    s->admin = calloc(1, sizeof *s->admin);
    if (!s->conns || !s->workers || !s->admin)
        return err_set(e, ERR_NO_MEMORY, "there is not enough memory for %u connections",
                       connections);

    struct loop_config config = {.conns = s->conns,
                                 .conn_count = connections,
                                 .pool_bytes_max =
                                     (size_t)(WORKER_POOLS_BYTES_MAX / s->worker_count)};
    timeouts_of(settings, config.timeout_ns);
    for (int i = 0; i < s->worker_count; i++) {
        worker_init(&s->workers[i], &s->live, i, signals_writer(s->signals, i), &s->ready);
        if (server->answer) s->workers[i].service.answer = server->answer;
        config.service = &s->workers[i].service;
        enum err_code code = loop_thread_open(&s->threads[i], &config, e);
        if (code) return code;
        s->worker_loops[i] = s->threads[i].loop;
    }

    admin_init(s->admin, &(struct admin_config){
                             .live = &s->live,
                             .reader = s->worker_count,
                             .reload = &s->reload,
                             .signals = s->signals,
                             .writer = signals_writer(s->signals, s->worker_count + WRITER_ADMIN),
                             .workers = s->worker_loops,
                             .worker_count = s->worker_count,
                             .threads = &s->stall,
                             .ready = &s->ready,
                         });
    config.service = &s->admin->service;
    config.conn_count = ADMIN_CONNECTIONS_MAX;
    config.pool_bytes_max = ADMIN_POOL_BYTES_MAX;
    config.kept_max = operations_kept(s->descriptors.operations);
    return loop_thread_open(&s->admin_thread, &config, e);
}

static enum err_code doors_open(struct server *s, int connections_max, struct err *e)
{
    uint32_t connections = (uint32_t)connections_max;
    const struct door_config doors[] = {
        {.listen_fd = s->listen_fd,
         .loops = s->worker_loops,
         .loop_count = s->worker_count,
         .slot_count = connections,
         .open_max = s->descriptors.decisions,
         .counted = true},
        {.listen_fd = s->admin_fd,
         .loops = &s->admin_thread.loop,
         .loop_count = 1,
         .slot_first = connections,
         .slot_count = ADMIN_CONNECTIONS_MAX,
         .open_max = s->descriptors.operations,
         .makes_room = true},
    };
    enum err_code code = acceptor_open(
        &s->acceptor, doors, 2, s->conns, (int)s->descriptors.refused,
        signals_writer(s->signals, s->worker_count + WRITER_ACCEPTOR), &s->acceptor_turned_ns, e);
    if (!code) s->listen_fd = s->admin_fd = -1;
    return code;
}

static uint64_t worker_turned_ns(const void *loop)
{
    return loop_turned_ns(loop);
}

static uint64_t acceptor_turned_ns(const void *turned_ns)
{
    return atomic_load_explicit((const _Atomic uint64_t *)turned_ns, memory_order_relaxed);
}

static uint64_t scribe_turned_ns(const void *signals)
{
    return signals_scribe_turned_ns(signals);
}

static uint64_t reload_thread_turned_ns(const void *reload)
{
    return reload_turned_ns(reload);
}

static void worker_name(char name[SIGNALS_THREAD_NAME_BYTES_MAX + 1], int i)
{
    snprintf(name, SIGNALS_THREAD_NAME_BYTES_MAX + 1, "worker-%d", i);
}

/* The operations loop watches the others. Nobody watches itself, nor the thread that only waits for
 * signals. */
static void stall_watch(struct server *s)
{
    const struct stall_thread beside[] = {
        {"acceptor", acceptor_turned_ns, &s->acceptor_turned_ns, STALL_LIMIT_MS, .restart = true},
        {"scribe", scribe_turned_ns, s->signals, STALL_LIMIT_MS},
        {"reload", reload_thread_turned_ns, &s->reload, RELOAD_STALL_MS},
    };
    stall_init(&s->stall, s->admin_thread.loop);
    for (int i = 0; i < s->worker_count; i++) {
        char name[SIGNALS_THREAD_NAME_BYTES_MAX + 1];
        worker_name(name, i);
        stall_add(&s->stall,
                  &(struct stall_thread){signals_thread_add(s->signals, name), worker_turned_ns,
                                         s->threads[i].loop, STALL_LIMIT_MS, .restart = true});
    }
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        signals_thread_add(s->signals, beside[i].name);
        stall_add(&s->stall, &beside[i]);
    }
}

static enum err_code threads_start(struct server *s, struct err *e)
{
    for (int i = 0; i < s->worker_count; i++) {
        char name[SIGNALS_THREAD_NAME_BYTES_MAX + 1];
        worker_name(name, i);
        enum err_code code = loop_thread_start(&s->threads[i], name, e);
        if (code) return code;
    }
    enum err_code code = loop_thread_start(&s->admin_thread, "operations", e);
    return code ? code : acceptor_start(&s->acceptor, e);
}

static int workers_wanted(const struct server_config *config)
{
    int workers = config->workers ? config->workers : config->settings->server.workers;
    return workers ? workers : cpus_allowed();
}

static enum err_code server_start(struct server *s, const struct server_config *config,
                                  struct err *e)
{
    const struct settings_server *settings = &config->settings->server;
    int connections_max = settings->connections_max;
    struct span listen = config->listen ? span_of(config->listen) : settings->listen;
    struct span admin = config->admin ? span_of(config->admin) : settings->admin;
    enum err_code code;
    s->worker_count = workers_wanted(config);
    if (s->worker_count > SERVER_WORKERS_MAX)
        return err_set(e, ERR_USAGE, "%d workers: at most %d can be had", s->worker_count,
                       SERVER_WORKERS_MAX);
    if ((code = listen_open(listen, &s->listen_fd, s->listen, e))) return code;
    if ((code = listen_open(admin, &s->admin_fd, s->admin_listen, e))) return code;
    s->exposed = !listen_is_local(s->admin_fd);
    if ((code = signals_start(s, config, e))) return code;
    s->reloadable = reload_init(&s->reload, &s->live, s->signals, config->plan_path, config->plan,
                                config->settings, s->worker_count + 1);
    if (!s->reloadable)
        return err_set(e, ERR_NO_MEMORY, "there is not enough memory to serve the plan");
    descriptors_get(s, connections_max);
    signals_gauge_set(s->signals, GAUGE_CONNECTIONS_MAX, s->descriptors.decisions);
    if ((code = loops_open(s, config, e))) return code;
    if ((code = doors_open(s, connections_max, e))) return code;
    stall_watch(s);
    atomic_store(&s->ready, true);
    if ((code = reload_start(&s->reload,
                             signals_writer(s->signals, s->worker_count + WRITER_RELOAD), e)))
        return code;
    if ((code = threads_start(s, e))) return code;
    /* From here on a reload can free the plan that was given. */
    signal_server_ready(s->writer, reload_hold(&s->reload).plan, span_of(s->listen),
                        span_of(s->admin_listen), s->worker_count);
    reload_release(&s->reload);
    if (s->exposed) signal_operations_exposed(s->writer, span_of(s->admin_listen));
    if ((int)s->descriptors.decisions < connections_max)
        signal_descriptors_short(s->writer, (int)s->descriptors.decisions, connections_max,
                                 (int64_t)s->descriptors_max);
    return ERR_OK;
}

struct server *server_open(const struct server_config *config, struct err *e)
{
    sigset_t set = handled_signals();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);

    struct server *s = aligned_alloc(_Alignof(struct server), sizeof *s);
    if (!s) {
        err_set(e, ERR_NO_MEMORY, "there is not enough memory to start");
        plan_free(config->plan);
        settings_free(config->settings);
        return NULL;
    }
    *s = (struct server){.listen_fd = -1, .admin_fd = -1, .stop_reason = "error"};
    acceptor_init(&s->acceptor);
    if (server_start(s, config, e) == ERR_OK) return s;
    if (!s->reloadable) {
        plan_free(config->plan);
        settings_free(config->settings);
    }
    server_close(s);
    return NULL;
}

const char *server_listen(const struct server *s)
{
    return s->listen;
}
const char *server_admin(const struct server *s)
{
    return s->admin_listen;
}
bool server_exposed(const struct server *s)
{
    return s->exposed;
}
int server_workers(const struct server *s)
{
    return s->worker_count;
}

/* ---- run ---- */

static void workers_phase_set(struct server *s, enum loop_phase phase)
{
    for (int i = 0; i < s->worker_count; i++) loop_phase_set(s->threads[i].loop, phase);
}

static void drain_begin(struct server *s, bool at_once)
{
    int64_t drain_ms = at_once ? 0 : reload_hold(&s->reload).settings->server.drain_ms;
    if (!at_once) reload_release(&s->reload);
    s->stage = SERVER_DRAINING;
    s->until_ns = clock_mono_ns() + (uint64_t)drain_ms * MS_NS;
    atomic_store(&s->ready, false);
    signal_server_draining(s->writer, span_of(s->stop_reason), drain_ms);
    workers_phase_set(s, LOOP_DRAINING);
}

static void abandon(struct server *s)
{
    s->stage = SERVER_ABANDONED;
    workers_phase_set(s, LOOP_ABANDON);
}

/* The ports close, and the workers finish what has begun: within `grace_ms` where somebody is in a
 * hurry; 0: within the limits that every request has. */
static void end_begin(struct server *s, int64_t grace_ms)
{
    s->stage = SERVER_ENDING;
    s->until_ns = grace_ms ? clock_mono_ns() + (uint64_t)grace_ms * MS_NS : UINT64_MAX;
    atomic_store(&s->ready, false);
    acceptor_close(&s->acceptor);
    workers_phase_set(s, LOOP_ENDING);
}

static void stop_signal(struct server *s, const char *reason, bool at_once)
{
    switch (s->stage) {
    case SERVER_SERVING:
        s->stop_reason = reason;
        drain_begin(s, at_once);
        if (at_once) end_begin(s, END_GRACE_MS);
        break;
    case SERVER_DRAINING:
        end_begin(s, END_GRACE_MS);
        break;
    case SERVER_ENDING:
        abandon(s);
        break;
    case SERVER_ABANDONED:
    case SERVER_ENDED:
        break;
    }
}

/* 0: none came within the time that may be waited for. */
static int signal_wait(const struct server *s)
{
    sigset_t set = handled_signals();
    const struct timespec turn = {.tv_nsec = CONTROL_TURN_MS * MS_NS};
    int got =
        s->stage == SERVER_SERVING ? sigwaitinfo(&set, NULL) : sigtimedwait(&set, NULL, &turn);
    return got > 0 ? got : 0;
}

static bool workers_ended(const struct server *s)
{
    for (int i = 0; i < s->worker_count; i++)
        if (!atomic_load(&s->threads[i].loop->ended)) return false;
    return true;
}

void server_run(struct server *s)
{
    while (s->stage != SERVER_ENDED) {
        switch (signal_wait(s)) {
        case SIGTERM:
            stop_signal(s, "SIGTERM", false);
            break;
        case SIGINT:
            stop_signal(s, "SIGINT", true);
            break;
        case SIGHUP:
            reload_ask(&s->reload);
            break;
        case SIGUSR1:
            signals_reopen(s->signals);
            break;
        }
        bool over = clock_mono_ns() >= s->until_ns;
        if (s->stage == SERVER_DRAINING && over)
            end_begin(s, 0);
        else if (s->stage == SERVER_ENDING && over)
            abandon(s);
        if (s->stage >= SERVER_ENDING && workers_ended(s)) s->stage = SERVER_ENDED;
    }
}

/* ---- stop: start's order, backwards ---- */

static void loop_thread_close(struct loop_thread *t)
{
    if (!t->loop) return;
    if (t->started) {
        if (!atomic_load(&t->loop->ended)) loop_phase_set(t->loop, LOOP_ABANDON);
        pthread_join(t->thread, NULL);
    }
    loop_close(t->loop);
    free(t->loop);
    *t = (struct loop_thread){0};
}

uint64_t server_close(struct server *s)
{
    if (!s) return 0;
    acceptor_close(&s->acceptor);
    for (int i = 0; i < s->worker_count && i < SERVER_WORKERS_MAX; i++)
        loop_thread_close(&s->threads[i]);
    if (s->reloadable) reload_stop(&s->reload); /* operations may be waiting for one, too */
    loop_thread_close(&s->admin_thread);
    if (s->reloadable) reload_done(&s->reload);
    if (s->writer) signal_server_stopped(s->writer, span_of(s->stop_reason));
    uint64_t left = signals_close(s->signals, clock_mono_ns() + (uint64_t)LOG_CLOSE_MS * MS_NS);
    if (s->listen_fd >= 0) close(s->listen_fd);
    if (s->admin_fd >= 0) close(s->admin_fd);
    if (s->conns) munmap(s->conns, s->conns_bytes);
    free(s->workers);
    free(s->admin);
    free(s);
    return left;
}
