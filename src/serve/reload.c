#include "serve/reload.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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
    *r = (struct reload){.live = live,
                         .signals = signals,
                         .path = path ? strdup(path) : NULL,
                         .started = first->server,
                         .started_listen = copy_of(first->server.listen),
                         .started_admin = copy_of(first->server.admin),
                         .started_file = copy_of(first->log.file),
                         .started_sink = first->log.sink};
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
    const struct plan_served *served = plan_live_current(r->live);
    if (served) served_free(r, served);
    free(r->path);
    free(r->started_listen);
    free(r->started_admin);
    free(r->started_file);
    pthread_mutex_destroy(&r->lock);
}

/* ---- one reload ----------------------------------------------------------------------------- */

static void fail_with(struct reload_outcome *out, enum err_code code, const char *text)
{
    out->code = code;
    out->errors.count = 1;
    out->errors.more = 0;
    err_set(&out->errors.errors[0], code, "%s", text);
}

/* The whole file, in memory that the caller frees; NULL, and told, if it cannot be had. One byte
 * more than a plan may have is read, so that the loader sees that it is too long. */
static char *file_read(const char *path, size_t *len, struct reload_outcome *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *memory = fd < 0 ? NULL : malloc(PLAN_BYTES_MAX + 1);
    ssize_t n = memory ? 1 : -1;
    *len = 0;
    while (n > 0 && *len < PLAN_BYTES_MAX + 1) {
        n = read(fd, memory + *len, PLAN_BYTES_MAX + 1 - *len);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            *len += (size_t)n;
    }
    if (n < 0) {
        out->code = ERR_PLAN_INVALID;
        out->errors.count = 1;
        err_set_sys(&out->errors.errors[0], ERR_PLAN_INVALID, errno, "%s cannot be read", path);
        free(memory);
        memory = NULL;
    }
    if (fd >= 0) close(fd);
    return memory;
}

static struct plan *plan_read(struct reload *r, struct reload_outcome *out)
{
    const struct plan_options options = {signal_site_names(), SITE_COUNT};
    struct span text = plan_demo_text();
    char *memory = NULL;
    if (r->path) {
        memory = file_read(r->path, &text.len, out);
        if (!memory) return NULL;
        text.data = memory;
    }
    struct plan *plan = plan_load(text, &options, &out->errors);
    free(memory);
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
    pthread_mutex_lock(&r->lock);
    struct plan *plan = plan_read(r, out);
    if (plan) plan_take(r, plan, out);
    const struct plan *served = plan_live_current(r->live)->plan;
    memcpy(out->version, served->version.data, served->version.len);
    memcpy(out->fingerprint, served->fingerprint, sizeof out->fingerprint);
    outcome_tell(r, writer, out, served);
    pthread_mutex_unlock(&r->lock);
}
