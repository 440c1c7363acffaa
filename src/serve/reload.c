#include "serve/reload.h"

#include "base/clock.h"
#include "serve/plan_file.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

const char *reload_trigger_name(enum reload_trigger trigger)
{
#define TRIGGER_NAME(code, name) [RELOAD_##code] = name,
    static const char *const names[] = {RELOAD_TRIGGERS(TRIGGER_NAME)};
#undef TRIGGER_NAME
    return names[trigger];
}

static bool hash_equal(struct hash128 a, struct hash128 b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* ---- versions ---- */

/* NULL: it was never served, or so long ago that it is forgotten. */
static struct reload_version *version_find(struct reload *r, struct hash128 version)
{
    uint32_t known =
        r->version_count < RELOAD_VERSIONS_MAX ? r->version_count : RELOAD_VERSIONS_MAX;
    for (uint32_t i = 0; i < known; i++)
        if (hash_equal(r->versions[i].version, version)) return &r->versions[i];
    return NULL;
}

/* Returns whether the version was served with other contents before. A plan without a version is
 * called by its fingerprint, and so cannot lie. */
static bool version_serve(struct reload *r, const struct plan *plan)
{
    struct hash128 version = hash_sip128((struct hash128){0, 0}, plan->version);
    struct reload_version *seen = version_find(r, version);
    bool reused = seen && !hash_equal(seen->identity, plan->identity);
    if (!seen) seen = &r->versions[r->version_count++ % RELOAD_VERSIONS_MAX];
    *seen = (struct reload_version){version, plan->identity};
    return reused;
}

/* ---- what is served ---- */

/* NULL: there is no memory. */
static struct plan_served *served_new(struct reload *r, struct plan *plan,
                                      const struct settings *settings)
{
    struct plan_served *served = malloc(sizeof *served);
    struct signal_cells *cells = served ? signals_cells(r->signals, plan) : NULL;
    if (!cells) {
        free(served);
        return NULL;
    }
    *served = (struct plan_served){plan, cells, ++r->serial, settings};
    return served;
}

static void served_free(struct reload *r, const struct plan_served *served)
{
    signals_release(r->signals, served->cells);
    plan_free(served->plan);
    free((void *)(uintptr_t)served);
}

static void settings_take(struct reload *r, struct settings *settings)
{
    if (r->settings != r->started) settings_free(r->settings);
    r->settings = settings;
}

/* There is a file that can be read again. */
static bool has_file(const struct reload *r)
{
    return r->path && !plan_file_is_stdin(r->path);
}

/* The file and the plan that is served agree. */
static void note_loaded(struct reload *r, const struct plan *plan)
{
    signals_gauge_set(r->signals, GAUGE_RELOAD_SUCCESSFUL, 1);
    signals_gauge_set(r->signals, GAUGE_RELOAD_TIMESTAMP_SECONDS, (double)clock_wall_us() / 1e6);
    signals_plan_file_set(r->signals, has_file(r) ? plan->fingerprint : "");
}

bool reload_init(struct reload *r, struct plan_live *live, struct signals *signals,
                 const char *path, struct plan *first, struct settings *settings, int readers)
{
    *r = (struct reload){.asked_fd = -1,
                         .stop_fd = -1,
                         .live = live,
                         .signals = signals,
                         .look_ms = RELOAD_LOOK_MS,
                         .path = path ? strdup(path) : NULL,
                         .started = settings,
                         .settings = settings};
    struct plan_served *served = path && !r->path ? NULL : served_new(r, first, settings);
    if (!served) {
        free(r->path);
        return false;
    }
    pthread_mutex_init(&r->running, NULL);
    pthread_mutex_init(&r->lock, NULL);
    version_serve(r, first);
    plan_live_init(live, served, readers);
    signals_adopt(signals, first, &settings->log);
    note_loaded(r, first);
    return true;
}

struct reload_held reload_hold(struct reload *r)
{
    pthread_mutex_lock(&r->lock);
    return (struct reload_held){plan_live_current(r->live)->plan, r->settings};
}

void reload_release(struct reload *r)
{
    pthread_mutex_unlock(&r->lock);
}

const char *reload_file(const struct reload *r)
{
    return plan_file_name(r->path);
}

void reload_done(struct reload *r)
{
    reload_stop(r);
    served_free(r, plan_live_current(r->live));
    settings_take(r, r->started);
    settings_free(r->started);
    if (r->asked_fd >= 0) close(r->asked_fd);
    if (r->stop_fd >= 0) close(r->stop_fd);
    free(r->path);
    pthread_mutex_destroy(&r->running);
    pthread_mutex_destroy(&r->lock);
}

/* ---- one reload ---- */

/* What a file says. */
struct reload_read {
    struct plan *plan; /* NULL: refused, and the outcome says why */
    struct settings *settings;
    enum plan_end end;
};

static void read_done(struct reload_read *read)
{
    plan_free(read->plan);
    settings_free(read->settings);
    *read = (struct reload_read){0};
}

static void no_memory(struct reload_outcome *out)
{
    out->code = ERR_NO_MEMORY;
    out->errors.count = 1;
    out->errors.more = 0;
    err_set(&out->errors.errors[0], ERR_NO_MEMORY, "there is not enough memory to serve the plan");
}

/* stdin was read to its end at the start. */
static enum err_code file_read_again(const struct reload *r, struct plan_file *out, struct err *e)
{
    if (has_file(r)) return plan_file_read(r->path, RELOAD_READ_MS, r->stop_fd, out, e);
    return err_set(e, ERR_PLAN_INVALID,
                   "the plan came from stdin, which can be read only once: to reload, write it to "
                   "a file and start with `--config FILE`");
}

/* Into *read, which is the caller's to undo; out->code says whether that holds a plan. */
static void plan_read(struct reload *r, struct reload_read *read, struct reload_outcome *out)
{
    *read = (struct reload_read){.end = PLAN_END_MARKED};
    struct span text = plan_demo_text();
    struct plan_file file = {0};
    if (r->path) {
        out->code = file_read_again(r, &file, &out->errors.errors[0]);
        if (out->code) {
            out->errors.count = 1;
            return;
        }
        text = (struct span){file.memory, file.len};
        read->end = plan_end_of(text);
    }
    read->plan = plan_load_file(text, &read->settings, &out->errors);
    if (!read->plan) out->code = out->errors.errors[0].code;
    free(file.memory);
}

/* A file that may be half of one, and has less in it. */
static bool takes_away(const struct plan *served, const struct reload_read *read,
                       struct reload_outcome *out)
{
    plan_weaker_find(served, read->plan, &out->weaker);
    if (!out->weaker.count || read->end == PLAN_END_MARKED) return false;
    out->code = ERR_PLAN_TAKES_AWAY;
    out->errors.count = out->weaker.count;
    out->errors.more = out->weaker.more;
    for (int i = 0; i < out->weaker.count; i++)
        err_set(&out->errors.errors[i], ERR_PLAN_TAKES_AWAY,
                "%s; if that is meant, end the file with the line `...`", out->weaker.texts[i]);
    return true;
}

/* Takes over what was read. */
static void plan_take(struct reload *r, struct reload_read *read, struct reload_outcome *out)
{
    const struct plan *served = plan_live_current(r->live)->plan;
    struct plan *plan = read->plan;
    struct settings *settings = read->settings;
    if (takes_away(served, read, out)) return;
    settings_not_applied(r->started, settings, &out->not_applied);
    bool decides = !hash_equal(plan->identity, served->identity);
    out->changed = decides || !span_equal(plan->version, served->version) ||
                   !hash_equal(settings->identity, r->settings->identity);
    if (!out->changed) return;
    struct plan_served *next = served_new(r, plan, settings);
    if (!next) {
        no_memory(out);
        return;
    }
    if (decides) out->units_moved_ppm = plan_units_moved_ppm(served, plan);
    out->version_reused = version_serve(r, plan);
    *read = (struct reload_read){0};
    const struct plan_served *before = plan_live_publish(r->live, next);
    settings_take(r, settings);
    signals_adopt(r->signals, plan, &settings->log);
    served_free(r, before);
}

/* What the file says and only a start applies, in words. */
static void not_applied_write(struct buf *b, const struct settings_names *not_applied)
{
    for (int i = 0; i < not_applied->count; i++) {
        buf_span(b, i ? SPAN(", ") : SPAN("applied at the next start only: "));
        buf_span(b, span_of(not_applied->names[i]));
    }
}

static void outcome_tell(struct reload *r, const char *peer, struct signal_writer *writer,
                         const struct reload_outcome *out, const struct plan *served)
{
    char memory[RELOAD_NOT_APPLIED_BYTES];
    struct buf message = buf_of(memory, sizeof memory);
    not_applied_write(&message, &out->not_applied);
    const struct signal_reload told = {.trigger = span_of(reload_trigger_name(out->trigger)),
                                       .peer = span_of(peer),
                                       .file = span_of(reload_file(r)),
                                       .fingerprint_before = span_of(out->fingerprint_before),
                                       .weaker = &out->weaker,
                                       .units_moved_ppm = out->units_moved_ppm,
                                       .message = buf_text(&message)};
    if (out->code) {
        signals_gauge_set(r->signals, GAUGE_RELOAD_SUCCESSFUL, 0);
        if (has_file(r)) signals_plan_file_set(r->signals, SIGNALS_PLAN_FILE_INVALID);
        signal_plan_refused(writer, served, &told, &out->errors.errors[0],
                            out->errors.count + out->errors.more);
        return;
    }
    note_loaded(r, served);
    signal_plan_reloaded(writer, served, &told);
    if (out->version_reused) signal_version_reused(writer, served);
}

static void fingerprint_copy(char to[13], const struct plan *plan)
{
    memcpy(to, plan->fingerprint, sizeof plan->fingerprint);
}

void reload_run(struct reload *r, enum reload_trigger trigger, const char *peer,
                struct signal_writer *writer, struct reload_outcome *out)
{
    *out = (struct reload_outcome){.trigger = trigger};
    struct reload_read read;
    pthread_mutex_lock(&r->running);
    plan_read(r, &read, out);
    pthread_mutex_lock(&r->lock);
    fingerprint_copy(out->fingerprint_before, plan_live_current(r->live)->plan);
    if (read.plan) plan_take(r, &read, out);
    const struct plan *served = plan_live_current(r->live)->plan;
    memcpy(out->version, served->version.data, served->version.len);
    fingerprint_copy(out->fingerprint, served);
    outcome_tell(r, peer, writer, out, served);
    pthread_mutex_unlock(&r->lock);
    read_done(&read);
    pthread_mutex_unlock(&r->running);
}

/* ---- a look at the file ---- */

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* What a reload would find, told by interlude_plan_file_info. What was looked at already, while the
 * same plan was served, is not read again; without memory nothing is said anew. */
static void file_look(struct reload *r)
{
    struct stat st = {0};
    if (!has_file(r) || (stat(r->path, &st) == 0 && !S_ISREG(st.st_mode))) return;
    if (pthread_mutex_trylock(&r->running) != 0) return; /* a reload is: it tells */
    const struct plan_served *served = plan_live_current(r->live);
    if (!same_file(&st, &r->looked) || r->looked_serial != served->serial) {
        struct reload_outcome *out = &r->mine;
        struct reload_read read;
        *out = (struct reload_outcome){0};
        plan_read(r, &read, out);
        if (read.plan) takes_away(served->plan, &read, out);
        if (out->code != ERR_NO_MEMORY) {
            signals_plan_file_set(r->signals,
                                  out->code ? SIGNALS_PLAN_FILE_INVALID : read.plan->fingerprint);
            r->looked = st;
            r->looked_serial = served->serial;
        }
        read_done(&read);
    }
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
    atomic_store_explicit(&r->turned_ns, clock_mono_ns(), memory_order_relaxed);
    for (;;) {
        struct pollfd fds[2] = {{.fd = r->stop_fd, .events = POLLIN},
                                {.fd = r->asked_fd, .events = POLLIN}};
        uint64_t count;
        int n = poll(fds, 2, r->look_ms);
        atomic_store_explicit(&r->turned_ns, clock_mono_ns(), memory_order_relaxed);
        if (n == 0) file_look(r);
        if (n <= 0) continue;
        if (fds[0].revents) break;
        if (read(r->asked_fd, &count, sizeof count) > 0)
            reload_run(r, RELOAD_SIGNAL, "", r->writer, &r->mine);
    }
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
    return err_set_thread(e, error, "reload");
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
    atomic_store_explicit(&r->turned_ns, 0, memory_order_relaxed);
    r->threaded = false;
}

uint64_t reload_turned_ns(const struct reload *r)
{
    return atomic_load_explicit(&r->turned_ns, memory_order_relaxed);
}
