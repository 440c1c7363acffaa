#include "serve/reload.h"

#include "base/clock.h"
#include "serve/plan_file.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define AT_START_BIT(code, name) AT_START_##code,
enum at_start { RELOAD_AT_START(AT_START_BIT) AT_START_COUNT };
#undef AT_START_BIT

const char *reload_not_applied_name(int i)
{
#define AT_START_NAME(code, name) name,
    static const char *const names[] = {RELOAD_AT_START(AT_START_NAME)};
#undef AT_START_NAME
    return i >= 0 && i < AT_START_COUNT ? names[i] : NULL;
}

static char *copy_of(struct span text)
{
    return strndup(text.data ? text.data : "", text.len);
}

static void hash_of_version(const struct plan *plan, struct reload_version *out)
{
    out->version = hash_sip128((struct hash128){0, 0}, plan->version);
    out->contents = plan->contents;
}

static bool hash_equal(struct hash128 a, struct hash128 b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

static void version_remember(struct reload *r, const struct plan *plan)
{
    struct reload_version seen;
    hash_of_version(plan, &seen);
    uint32_t known =
        r->version_count < RELOAD_VERSIONS_MAX ? r->version_count : RELOAD_VERSIONS_MAX;
    for (uint32_t i = 0; i < known; i++)
        if (hash_equal(r->versions[i].version, seen.version)) return;
    r->versions[r->version_count++ % RELOAD_VERSIONS_MAX] = seen;
}

/* Other contents were served under this version. */
static bool version_is_reused(const struct reload *r, const struct plan *plan)
{
    if (span_is(plan->version, plan->fingerprint)) return false;
    struct reload_version seen;
    hash_of_version(plan, &seen);
    uint32_t known =
        r->version_count < RELOAD_VERSIONS_MAX ? r->version_count : RELOAD_VERSIONS_MAX;
    for (uint32_t i = 0; i < known; i++)
        if (hash_equal(r->versions[i].version, seen.version))
            return !hash_equal(r->versions[i].contents, seen.contents);
    return false;
}

static struct plan_served *served_new(struct reload *r, struct plan *plan)
{
    struct plan_served *served = malloc(sizeof *served);
    INVARIANT(served != NULL);
    *served = (struct plan_served){plan, signals_adopt(r->signals, plan), ++r->serial};
    return served;
}

static void served_free(struct reload *r, const struct plan_served *served)
{
    signals_release(r->signals, served->cells);
    plan_free(served->plan);
    free((void *)(uintptr_t)served);
}

bool reload_init(struct reload *r, struct plan_live *live, struct signals *signals,
                 const char *path, struct plan *first, int readers)
{
    *r = (struct reload){.asked_fd = -1,
                         .stop_fd = -1,
                         .live = live,
                         .signals = signals,
                         .path = path ? strdup(path) : NULL,
                         .started = first->server,
                         .started_listen = copy_of(first->server.listen),
                         .started_admin = copy_of(first->server.admin),
                         .started_file = copy_of(first->log.file),
                         .started_sink = first->log.sink};
    pthread_mutex_init(&r->running, NULL);
    pthread_mutex_init(&r->lock, NULL);
    if ((path && !r->path) || !r->started_listen || !r->started_admin || !r->started_file)
        return false;
    version_remember(r, first);
    plan_live_init(live, served_new(r, first), readers);
    signals_gauge_set(signals, GAUGE_RELOAD_SUCCESSFUL, 1);
    signals_gauge_set(signals, GAUGE_RELOAD_TIMESTAMP_SECONDS, (double)clock_wall_us() / 1e6);
    return true;
}

const struct plan *reload_hold(struct reload *r)
{
    pthread_mutex_lock(&r->lock);
    return plan_live_current(r->live)->plan;
}

void reload_release(struct reload *r)
{
    pthread_mutex_unlock(&r->lock);
}

void reload_done(struct reload *r)
{
    reload_stop(r);
    const struct plan_served *served = plan_live_current(r->live);
    if (served) served_free(r, served);
    if (r->asked_fd >= 0) close(r->asked_fd);
    if (r->stop_fd >= 0) close(r->stop_fd);
    free(r->path);
    free(r->started_listen);
    free(r->started_admin);
    free(r->started_file);
    pthread_mutex_destroy(&r->running);
    pthread_mutex_destroy(&r->lock);
}

/* ---- one reload ---- */

static void fail_with(struct reload_outcome *out, enum err_code code, const char *text)
{
    out->code = code;
    out->errors.count = 1;
    out->errors.more = 0;
    err_set(&out->errors.errors[0], code, "%s", text);
}

static struct plan *plan_read(struct reload *r, struct reload_outcome *out)
{
    const struct plan_options options = {signal_site_names(), SITE_COUNT};
    struct span text = plan_demo_text();
    struct plan_file file = {0};
    if (r->path) {
        out->code =
            plan_file_read(r->path, RELOAD_READ_MS, r->stop_fd, &file, &out->errors.errors[0]);
        if (out->code) {
            out->errors.count = 1;
            return NULL;
        }
        text = (struct span){file.memory, file.len};
    }
    struct plan *plan = plan_load(text, &options, &out->errors);
    free(file.memory);
    if (!plan) out->code = ERR_PLAN_INVALID;
    return plan;
}

static uint32_t not_applied(const struct reload *r, const struct plan *plan)
{
    const struct plan_server *a = &r->started, *b = &plan->server;
    uint32_t bits = 0;
    bits |= (uint32_t)!span_is(b->listen, r->started_listen) << AT_START_LISTEN;
    bits |= (uint32_t)!span_is(b->admin, r->started_admin) << AT_START_ADMIN;
    bits |= (uint32_t)(a->workers != b->workers) << AT_START_WORKERS;
    bits |= (uint32_t)(a->connections_max != b->connections_max) << AT_START_CONNECTIONS_MAX;
    bits |= (uint32_t)(a->head_timeout_ms != b->head_timeout_ms ||
                       a->body_timeout_ms != b->body_timeout_ms ||
                       a->answer_timeout_ms != b->answer_timeout_ms ||
                       a->idle_timeout_ms != b->idle_timeout_ms)
            << AT_START_TIMEOUTS;
    bits |=
        (uint32_t)(plan->log.sink != r->started_sink || !span_is(plan->log.file, r->started_file))
        << AT_START_SINK;
    return bits;
}

/* Takes the plan over. */
static void plan_take(struct reload *r, struct plan *plan, struct reload_outcome *out)
{
    const struct plan *served = plan_live_current(r->live)->plan;
    out->changed = !span_equal(plan->version, served->version) ||
                   !hash_equal(plan->contents, served->contents);
    out->not_applied = not_applied(r, plan);
    if (version_is_reused(r, plan)) {
        fail_with(out, ERR_VERSION_REUSED,
                  "this version was served with other contents: give the changed plan a new one");
        plan_free(plan);
    } else if (!out->changed) {
        plan_free(plan);
    } else {
        version_remember(r, plan);
        served_free(r, plan_live_publish(r->live, served_new(r, plan)));
    }
}

static void outcome_tell(struct reload *r, struct signal_writer *writer,
                         const struct reload_outcome *out, const struct plan *served)
{
    signals_gauge_set(r->signals, GAUGE_RELOAD_SUCCESSFUL, out->code == ERR_OK);
    if (out->code) {
        signal_plan_refused(writer, served, &out->errors.errors[0],
                            out->errors.count + out->errors.more);
        return;
    }
    char memory[RELOAD_NOT_APPLIED_BYTES];
    struct buf message = buf_of(memory, sizeof memory);
    for (int i = 0; i < AT_START_COUNT; i++) {
        if (!(out->not_applied >> i & 1)) continue;
        buf_span(&message, message.len ? SPAN(", ") : SPAN("applied at the next start only: "));
        buf_span(&message, span_of(reload_not_applied_name(i)));
    }
    signals_gauge_set(r->signals, GAUGE_RELOAD_TIMESTAMP_SECONDS, (double)clock_wall_us() / 1e6);
    signal_plan_reloaded(writer, served, buf_text(&message));
}

void reload_run(struct reload *r, struct signal_writer *writer, struct reload_outcome *out)
{
    *out = (struct reload_outcome){0};
    pthread_mutex_lock(&r->running);
    struct plan *plan = plan_read(r, out);
    pthread_mutex_lock(&r->lock);
    if (plan) plan_take(r, plan, out);
    const struct plan *served = plan_live_current(r->live)->plan;
    memcpy(out->version, served->version.data, served->version.len);
    memcpy(out->fingerprint, served->fingerprint, sizeof out->fingerprint);
    outcome_tell(r, writer, out, served);
    pthread_mutex_unlock(&r->lock);
    pthread_mutex_unlock(&r->running);
}

/* ---- the thread ---- */

static void event_put(int fd)
{
    uint64_t one = 1;
    /* Can only fail where the counter is full: then it is seen already. */
    ssize_t written = write(fd, &one, sizeof one);
    (void)written;
}

static void *reload_thread_run(void *argument)
{
    struct reload *r = argument;
    struct reload_outcome *outcome = malloc(sizeof *outcome);
    INVARIANT(outcome != NULL);
    for (;;) {
        struct pollfd fds[2] = {{.fd = r->stop_fd, .events = POLLIN},
                                {.fd = r->asked_fd, .events = POLLIN}};
        uint64_t count;
        if (poll(fds, 2, -1) < 0) continue;
        if (fds[0].revents) break;
        if (read(r->asked_fd, &count, sizeof count) > 0) reload_run(r, r->writer, outcome);
    }
    free(outcome);
    return NULL;
}

enum err_code reload_start(struct reload *r, struct signal_writer *writer, struct err *e)
{
    r->writer = writer;
    int asked_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int error = errno;
    if (asked_fd >= 0 && stop_fd >= 0) {
        r->asked_fd = asked_fd;
        r->stop_fd = stop_fd;
        error = pthread_create(&r->thread, NULL, reload_thread_run, r);
        if (!error) {
            r->threaded = true;
            pthread_setname_np(r->thread, "reload");
            return ERR_OK;
        }
        r->asked_fd = r->stop_fd = -1;
    }
    if (asked_fd >= 0) close(asked_fd);
    if (stop_fd >= 0) close(stop_fd);
    return err_set_sys(e, ERR_SYSTEM, error, "cannot start the thread reload");
}

void reload_ask(struct reload *r)
{
    event_put(r->asked_fd);
}

void reload_stop(struct reload *r)
{
    if (!r->threaded) return;
    event_put(r->stop_fd);
    pthread_join(r->thread, NULL);
    r->threaded = false;
}
