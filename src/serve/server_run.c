/* The control thread: signals, and the way from the first one that stops the server to its end. */
#include "serve/server_state.h"

#include "base/clock.h"

#include <signal.h>
#include <sys/signalfd.h>

enum {
    CONTROL_TURN_MS = 20, /* while something is to be waited for */
    CLOSE_MS_MAX = 5000,  /* for whom the kernel has taken, where a port has no place */
    END_GRACE_MS = 1000,  /* for what has begun, where a signal cut it short */
    MS_NS = 1000000,
};

/* ---- signals ---- */

static sigset_t stop_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

static sigset_t handled_signals(void)
{
    sigset_t set = stop_signals();
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    return set;
}

void server_signals_block(void)
{
    sigset_t set = handled_signals();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

const char *server_stop_asked(void)
{
    sigset_t set;
    if (sigpending(&set) < 0) return NULL;
    if (sigismember(&set, SIGTERM)) return "SIGTERM";
    return sigismember(&set, SIGINT) ? "SIGINT" : NULL;
}

int server_stop_fd(void)
{
    sigset_t set = stop_signals();
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- stages ---- */

static void workers_phase_set(struct server *s, enum loop_phase phase)
{
    for (int i = 0; i < s->worker_count; i++) loop_phase_set(s->threads[i].loop, phase);
}

/* Those of both ports. */
static void loops_phase_set(struct server *s, enum loop_phase phase)
{
    workers_phase_set(s, phase);
    loop_phase_set(s->admin_thread.loop, phase);
}

static void drain_begin(struct server *s, bool at_once)
{
    int64_t drain_ms = at_once ? 0 : reload_hold(&s->reload).settings->server.drain_ms;
    if (!at_once) reload_release(&s->reload);
    s->stage = SERVER_DRAINING;
    s->until_ns = clock_mono_ns() + (uint64_t)drain_ms * MS_NS;
    atomic_store(&s->ready, false);
    signal_server_draining(s->writer, span_of(s->stop_reason), drain_ms);
    loops_phase_set(s, LOOP_DRAINING);
}

/* The operations port has its turn in server_close: it may be waiting for a reload. */
static void abandon(struct server *s)
{
    s->stage = SERVER_ABANDONED;
    acceptor_close(&s->acceptor);
    workers_phase_set(s, LOOP_ABANDON);
}

/* The ports close. On connections that are idle for long nothing is on its way: they make room for
 * those that wait at a port. */
static void close_begin(struct server *s)
{
    s->stage = SERVER_CLOSING;
    s->until_ns = UINT64_MAX;
    atomic_store(&s->ready, false);
    loops_phase_set(s, LOOP_CLOSING);
    acceptor_finish(&s->acceptor, s->hurries ? END_GRACE_MS : CLOSE_MS_MAX);
}

/* What has begun is finished: within a second where somebody is in a hurry, else within the limits
 * that every request has. */
static void end_begin(struct server *s)
{
    s->stage = SERVER_ENDING;
    s->until_ns = s->hurries ? clock_mono_ns() + (uint64_t)END_GRACE_MS * MS_NS : UINT64_MAX;
    loops_phase_set(s, LOOP_ENDING);
}

static void hurry(struct server *s)
{
    s->hurries = true;
    if (s->stage == SERVER_ENDING)
        end_begin(s);
    else
        close_begin(s);
}

static void stop_signal(struct server *s, const char *reason, bool at_once)
{
    switch (s->stage) {
    case SERVER_SERVING:
        s->stop_reason = reason;
        drain_begin(s, at_once);
        if (at_once) hurry(s);
        break;
    case SERVER_DRAINING:
    case SERVER_CLOSING:
    case SERVER_ENDING:
        if (s->hurries)
            abandon(s);
        else
            hurry(s);
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

/* Once the workers have ended, a reload that the operations port waits for is given up: its caller
 * is told so, and that port ends too. */
static bool all_ended(struct server *s)
{
    if (!workers_ended(s)) return false;
    reload_stop(&s->reload);
    return atomic_load(&s->admin_thread.loop->ended) && acceptor_ended(&s->acceptor);
}

static bool is_over(const struct server *s, enum server_stage stage)
{
    return s->stage == stage && clock_mono_ns() >= s->until_ns;
}

/* What comes next, if it is time for it. */
static void stage_go_on(struct server *s)
{
    if (is_over(s, SERVER_DRAINING)) close_begin(s);
    if (s->stage == SERVER_CLOSING && acceptor_finished(&s->acceptor)) end_begin(s);
    if (is_over(s, SERVER_ENDING)) abandon(s);
    if (s->stage == SERVER_ENDING && all_ended(s)) s->stage = SERVER_ENDED;
    if (s->stage == SERVER_ABANDONED && workers_ended(s)) s->stage = SERVER_ENDED;
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
        stage_go_on(s);
    }
}
