/* How a server starts, and stops in the reverse order. What it does between is server_run.c's. */
#include "serve/server_state.h"

#include "base/clock.h"
#include "serve/cpus.h"
#include "serve/listen.h"
#include "serve/plan_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    WORKER_POOLS_BYTES_MAX = 256 * 1024 * 1024, /* of all workers together */
    LOG_CLOSE_MS = 1000,
    MS_NS = 1000000,
};

/* Threads that tell something: the workers, and these. */
enum { WRITER_CONTROL, WRITER_ACCEPTOR, WRITER_ADMIN, WRITER_RELOAD, WRITERS_BESIDE };

/* ---- start ---- */

/* As many descriptors as the connections need, or as the system lets us have, shared out. What is
 * still to be opened: an epoll and a wake-up for each loop, the acceptor and the reload thread. */
static void descriptors_get(struct server *s, int connections_max)
{
    const struct descriptors wanted = {(uint32_t)connections_max, ADMIN_CONNECTIONS_MAX,
                                       REFUSALS_MAX};
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
    if (error) return err_set_thread(e, error, name);
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
    signal_server_started(s->writer, config->program, config->commit, config->plan,
                          span_of(plan_file_name(config->plan_path)), getpid());
    return ERR_OK;
}

static void timeouts_of(const struct settings_server *server, uint64_t ns[DEADLINE_COUNT])
{
    ns[DEADLINE_FRESH] = (uint64_t)server->idle_timeout_ms * MS_NS;
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
    bool reserved = reserve_init(&s->reserve, connections + ADMIN_CONNECTIONS_MAX);
    if (!s->conns || !s->workers || !s->admin || !reserved)
        return err_set(e, ERR_NO_MEMORY, "there is not enough memory for %u connections",
                       connections);

    struct loop_config config = {.conns = s->conns,
                                 .conn_count = connections,
                                 .reserve = &s->reserve,
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

    const struct admin_config admin = {
        .live = &s->live,
        .reader = s->worker_count,
        .reload = &s->reload,
        .signals = s->signals,
        .writer = signals_writer(s->signals, s->worker_count + WRITER_ADMIN),
        .workers = s->worker_loops,
        .worker_count = s->worker_count,
        .threads = &s->stall,
        .ready = &s->ready,
    };
    enum err_code code = admin_init(s->admin, &admin, e);
    if (code) return code;
    config.service = &s->admin->service;
    config.conn_count = ADMIN_CONNECTIONS_MAX;
    config.pool_bytes_max = ADMIN_POOL_BYTES_MAX;
    config.kept_max = operations_kept(s->descriptors.operations);
    return loop_thread_open(&s->admin_thread, &config, e);
}

static enum err_code doors_open(struct server *s, const struct settings_server *settings,
                                const struct listen_inherited *inherited, struct err *e)
{
    uint32_t connections = (uint32_t)settings->connections_max;
    const struct door_config doors[] = {
        {.listen_fd = s->listen_fd,
         .inherited = inherited->decide != 0,
         .loops = s->worker_loops,
         .loop_count = s->worker_count,
         .slot_count = connections,
         .open_max = s->descriptors.decisions,
         .counted = true,
         .per_address_max = (uint32_t)settings->per_address_max},
        {.listen_fd = s->admin_fd,
         .inherited = inherited->admin != 0,
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

enum { WORKER_NAME_BYTES = 24 }; /* for any int */

static void worker_name(char name[WORKER_NAME_BYTES], int i)
{
    snprintf(name, WORKER_NAME_BYTES, "worker-%d", i);
}

/* The operations loop watches the others. */
static void threads_watch(struct server *s)
{
    stall_init(&s->stall, s->signals, s->admin_thread.loop);
    for (int i = 0; i < s->worker_count; i++) {
        char name[WORKER_NAME_BYTES];
        worker_name(name, i);
        stall_add_loop(&s->stall, name, s->threads[i].loop);
    }
    stall_add_others(&s->stall, &s->acceptor_turned_ns, &s->reload);
}

static enum err_code threads_start(struct server *s, struct err *e)
{
    for (int i = 0; i < s->worker_count; i++) {
        char name[WORKER_NAME_BYTES];
        worker_name(name, i);
        enum err_code code = loop_thread_start(&s->threads[i], name, e);
        if (code) return code;
    }
    enum err_code code = loop_thread_start(&s->admin_thread, "operations", e);
    return code ? code : acceptor_start(&s->acceptor, e);
}

/* Where a socket was inherited, that is the port; else one that listens at `where`. */
static enum err_code port_open(struct span where, int *fd, char bound[ADDRESS_TEXT_MAX],
                               struct err *e)
{
    if (*fd < 0) return listen_open(where, fd, bound, e);
    listen_address_write(*fd, bound);
    return ERR_OK;
}

/* Each port has its own work, so that one can be open to callers and the other is not. */
static enum err_code ports_open(struct server *s, struct span listen, struct span admin,
                                struct err *e)
{
    enum err_code code = port_open(listen, &s->listen_fd, s->listen, e);
    if (code) return code;
    if (s->admin_fd < 0 && listen_overlaps(admin, s->listen_fd))
        return err_set(
            e, ERR_USAGE,
            "%.*s is asked for twice: decisions listen at %s, and operations need a port "
            "of their own; give `--admin`, or `server: {admin}` in the plan, another",
            (int)admin.len, admin.data, s->listen);
    return port_open(admin, &s->admin_fd, s->admin_listen, e);
}

/* Nobody has been told that it is ready: there is nothing to drain. */
static bool stop_before_ready(struct server *s)
{
    const char *asked = server_stop_asked();
    if (!asked) return false;
    s->stop_reason = asked;
    s->stage = SERVER_ENDED;
    return true;
}

static int workers_wanted(const struct server_config *config)
{
    int workers = config->workers ? config->workers : config->settings->server.workers;
    return workers ? workers : cpus_allowed("");
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
    if ((code = ports_open(s, listen, admin, e))) return code;
    s->exposed = !listen_is_local(s->admin_fd);
    if ((code = signals_start(s, config, e))) return code;
    s->reloadable = reload_init(&s->reload, &s->live, s->signals, config->plan_path, config->plan,
                                config->settings, s->worker_count + 1);
    if (!s->reloadable)
        return err_set(e, ERR_NO_MEMORY, "there is not enough memory to serve the plan");
    descriptors_get(s, connections_max);
    signals_gauge_set(s->signals, GAUGE_CONNECTIONS_MAX, s->descriptors.decisions);
    if ((code = loops_open(s, config, e))) return code;
    if ((code = doors_open(s, settings, &config->inherited, e))) return code;
    threads_watch(s);
    if (stop_before_ready(s)) return ERR_OK;
    atomic_store(&s->ready, true);
    if ((code = reload_start(&s->reload,
                             signals_writer(s->signals, s->worker_count + WRITER_RELOAD), e)))
        return code;
    if ((code = threads_start(s, e))) return code;
    /* Nobody was accepted yet: it is told before anything that a caller can bring about. From
     * acceptor_accept on a reload can free the plan that was given: held, it is read before that in
     * every thread's eyes. */
    signal_server_ready(s->writer, reload_hold(&s->reload).plan, span_of(s->listen),
                        span_of(s->admin_listen), s->worker_count);
    reload_release(&s->reload);
    if (s->exposed) signal_operations_exposed(s->writer, span_of(s->admin_listen));
    if ((int)s->descriptors.decisions < connections_max)
        signal_descriptors_short(s->writer, (int)s->descriptors.decisions, connections_max,
                                 (int64_t)s->descriptors_max);
    acceptor_accept(&s->acceptor);
    return ERR_OK;
}

struct server *server_open(const struct server_config *config, struct err *e)
{
    const struct listen_inherited *inherited = &config->inherited;
    server_signals_block();
    struct server *s = aligned_alloc(_Alignof(struct server), sizeof *s);
    if (!s) {
        err_set(e, ERR_NO_MEMORY, "there is not enough memory to start");
        plan_free(config->plan);
        settings_free(config->settings);
        return NULL;
    }
    *s = (struct server){.listen_fd = inherited->decide ? inherited->decide : -1,
                         .admin_fd = inherited->admin ? inherited->admin : -1,
                         .stop_reason = "error"};
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
bool server_serves(const struct server *s)
{
    return s->stage != SERVER_ENDED;
}

/* ---- stop: start's order, backwards ---- */

static void loop_thread_join(struct loop_thread *t)
{
    if (!t->started) return;
    if (!atomic_load(&t->loop->ended)) loop_phase_set(t->loop, LOOP_ABANDON);
    pthread_join(t->thread, NULL);
    t->started = false;
}

static void loop_thread_free(struct loop_thread *t)
{
    if (!t->loop) return;
    loop_close(t->loop);
    free(t->loop);
    *t = (struct loop_thread){0};
}

uint64_t server_close(struct server *s)
{
    if (!s) return 0;
    acceptor_close(&s->acceptor);
    int workers = s->worker_count < SERVER_WORKERS_MAX ? s->worker_count : SERVER_WORKERS_MAX;
    for (int i = 0; i < workers; i++) loop_thread_join(&s->threads[i]);
    if (s->reloadable) reload_stop(&s->reload); /* operations may be waiting for one, too */
    loop_thread_join(&s->admin_thread);
    /* Not before: it looks at the workers' loops when it is asked for health or metrics. */
    for (int i = 0; i < workers; i++) loop_thread_free(&s->threads[i]);
    loop_thread_free(&s->admin_thread);
    if (s->reloadable) reload_done(&s->reload);
    if (s->writer) signal_server_stopped(s->writer, span_of(s->stop_reason));
    uint64_t left = signals_close(s->signals, clock_mono_ns() + (uint64_t)LOG_CLOSE_MS * MS_NS);
    if (s->listen_fd >= 0) close(s->listen_fd);
    if (s->admin_fd >= 0) close(s->admin_fd);
    if (s->conns) munmap(s->conns, s->conns_bytes);
    reserve_done(&s->reserve);
    if (s->admin) admin_done(s->admin);
    free(s->workers);
    free(s->admin);
    free(s);
    return left;
}
