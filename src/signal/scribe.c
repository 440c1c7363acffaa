#include "signal/scribe.h"

#include "base/clock.h"
#include "signal/emit.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
    BUSY_WAIT_MS = 10,
    IDLE_WAIT_MS = 80,
    STOP_WAIT_MS = 2,
    /* In one turn, so that writers as fast as the scribe do not keep it. */
    RECORDS_PER_TURN_MAX = 8192,
    CLOCK_SET_BACK_US = 1000000, /* a record so far ahead of the clock is not a new one */
    /* How long scribe_stop waits beyond the deadline for a scribe that is not blocked. */
    STOP_GRACE_MS = 100,
};

static double load_double(const _Atomic uint64_t *bits)
{
    uint64_t word = cell_load(bits);
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static void store_double(_Atomic uint64_t *bits, double value)
{
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    atomic_store_explicit(bits, word, memory_order_relaxed);
}

/* For what should not wait for the next turn: never for a record. */
static void wake(struct scribe *s)
{
    if (s->wake_fd < 0) return; /* it does not run yet */
    int saved = errno;
    uint64_t one = 1;
    ssize_t ignored = write(s->wake_fd, &one, sizeof one);
    (void)ignored;
    errno = saved;
}

void scribe_configure(struct scribe *s, const struct settings_log *log)
{
    for (int site = 0; site < SITE_COUNT; site++) {
        struct log_budget budget = log->sites[site].own ? log->sites[site].budget : log->budget;
        /* Without a rate nothing is at once either; without a limit, everything. */
        double burst = budget.rate > 0 ? budget.burst : 0;
        store_double(&s->rate[site], budget.rate);
        store_double(&s->burst[site], isinf(budget.rate) ? budget.rate : burst);
    }
    atomic_store_explicit(&s->level, (int)log->level, memory_order_relaxed);
    wake(s);
}

void scribe_reopen(struct scribe *s)
{
    atomic_store_explicit(&s->reopening, true, memory_order_release);
    wake(s);
}

uint64_t scribe_suppressed(const struct scribe *s, int site)
{
    uint64_t n = atomic_load_explicit(&s->suppressed[site], memory_order_acquire);
    for (int i = 0; i < s->writer_count; i++)
        n += atomic_load_explicit(&s->writers[i].suppressed[site], memory_order_acquire);
    return n;
}

uint64_t scribe_dropped(const struct scribe *s, int site)
{
    uint64_t n = atomic_load_explicit(&s->outbox.dropped[site], memory_order_acquire);
    for (int i = 0; i < s->writer_count; i++)
        n += atomic_load_explicit(&s->writers[i].dropped[site], memory_order_acquire);
    return n;
}

/* ---- budgets ---- */

static bool below_level(const struct scribe *s, int site)
{
    return (int)signal_sites[site].level < atomic_load_explicit(&s->level, memory_order_relaxed);
}

static void site_hide(struct scribe *s, int site)
{
    if (!s->hidden[site]) s->suppressed_shown[site] = scribe_suppressed(s, site);
    s->hidden[site] = true;
}

static void site_show(struct scribe *s, int site)
{
    if (s->hidden[site]) s->silent[site] += scribe_suppressed(s, site) - s->suppressed_shown[site];
    s->hidden[site] = false;
}

/* What a budget suppressed, and not the level. */
static uint64_t over_budget(const struct scribe *s, int site)
{
    uint64_t n = s->hidden[site] ? s->suppressed_shown[site] : scribe_suppressed(s, site);
    return n - s->silent[site];
}

/* Fills every bucket, and opens or closes its site. */
static void buckets_fill(struct scribe *s, uint64_t now_ns)
{
    for (int site = 0; site < SITE_SCRIBE_FIRST; site++) {
        struct bucket *b = &s->buckets[site];
        double rate = load_double(&s->rate[site]), burst = load_double(&s->burst[site]);
        double elapsed_s = (double)(now_ns - b->filled_ns) / 1e9;
        /* A burst below 1 would never let a line through, whatever the rate. */
        double most = rate > 0 && burst < 1 ? 1 : burst;
        b->tokens = elapsed_s > 0 ? b->tokens + rate * elapsed_s : b->tokens;
        if (!(b->tokens < most)) b->tokens = most;
        b->filled_ns = now_ns;
        /* Hidden before it is closed and shown after it is open: what its writers suppress by
         * themselves because of the level falls in between. */
        bool hide = below_level(s, site), closed = b->tokens < 1 || hide;
        if (hide) site_hide(s, site);
        _Atomic bool *flag = &s->shared->closed[site];
        if (atomic_load_explicit(flag, memory_order_relaxed) != closed)
            atomic_store_explicit(flag, closed, memory_order_relaxed);
        if (!hide) site_show(s, site);
    }
}

static void buckets_init(struct scribe *s, uint64_t now_ns)
{
    for (int site = 0; site < SITE_SCRIBE_FIRST; site++)
        s->buckets[site] = (struct bucket){load_double(&s->burst[site]), now_ns};
    buckets_fill(s, now_ns);
}

/* ---- from the outbox to the sink ---- */

/* Writes, and keeps the books of the two lines that must not be forgotten: one that was lost is
 * told again. */
static void flush(struct scribe *s)
{
    struct outbox *o = &s->outbox;
    uint64_t suppressed = cell_load(&o->written[SITE_LOG_SUPPRESSED]);
    uint64_t suppressed_ended = outbox_ended(o, SITE_LOG_SUPPRESSED);
    uint64_t lost = cell_load(&o->written[SITE_LOG_LOST]);
    uint64_t lost_ended = outbox_ended(o, SITE_LOG_LOST);
    /* An empty outbox has nothing to try a failed sink with. */
    if (o->count)
        s->sink_state = outbox_flush(o);
    else if (s->sink_state == SINK_BUSY || s->sink_state == SINK_GONE)
        s->sink_state = sink_ready(&o->sink);
    if (cell_load(&o->written[SITE_LOG_SUPPRESSED]) != suppressed) {
        memcpy(s->told_suppressed, s->telling_suppressed, sizeof s->told_suppressed);
        memcpy(s->told_dropped, s->telling_dropped, sizeof s->told_dropped);
    }
    if (cell_load(&o->written[SITE_LOG_LOST]) != lost)
        memcpy(s->told_lost, s->telling_lost, sizeof s->told_lost);
    /* There is never more than one of them in the outbox. */
    if (outbox_ended(o, SITE_LOG_SUPPRESSED) != suppressed_ended) s->suppressed_underway = false;
    if (outbox_ended(o, SITE_LOG_LOST) != lost_ended) s->lost_underway = false;
}

/* ---- from the rings to the outbox ---- */

/* Of a drill's record that flag is the first field. */
static bool record_is_drill(const struct record *record)
{
    struct record_field field;
    size_t at = 0;
    return record_field_next(record, &at, &field) && field.id == FIELD_drill;
}

/* False: the outbox is full, and the sink takes nothing now. */
static bool record_take(struct scribe *s, struct signal_writer *w, const struct record *record)
{
    int site = record->site;
    struct bucket *b = &s->buckets[site];
    bool drill = record_is_drill(record);
    if (b->tokens < 1 || s->hidden[site]) {
        writer_release(w, record);
        cell_add_release(&s->suppressed[site], 1);
        if (drill) cell_add_release(&s->drills_suppressed[site], 1);
        return true;
    }
    char *room = outbox_room(&s->outbox);
    if (!room) {
        flush(s);
        room = outbox_room(&s->outbox);
        if (!room) return false;
    }
    b->tokens -= 1;
    size_t bytes = line_render(room, record);
    if (drill)
        outbox_add_drill(&s->outbox, (enum signal_site)site, bytes);
    else
        outbox_add(&s->outbox, (enum signal_site)site, bytes);
    writer_release(w, record);
    return true;
}

/* A writer, and the oldest record in its ring. */
struct head {
    struct signal_writer *writer;
    const struct record *record;
};

static bool head_find(struct head *h)
{
    size_t n;
    h->record = ring_peek(&h->writer->ring, &n);
    return h->record != NULL;
}

/* Of `count`, at least one. */
static struct head *head_oldest(struct head *heads, int count)
{
    struct head *oldest = heads;
    for (struct head *h = heads + 1; h < heads + count; h++)
        if (h->record->wall_us < oldest->record->wall_us) oldest = h;
    return oldest;
}

/* A record was told after this turn began to look. What led to it may be in a ring that has been
 * looked at before: it waits for the next turn. Where the clock was set back, that would be long.
 */
static bool is_too_new(const struct record *record, int64_t begun_us)
{
    return record->wall_us > begun_us && record->wall_us - begun_us < CLOCK_SET_BACK_US;
}

/* In the order of their times, whoever told them. Returns whether anything was taken. */
static bool rings_read(struct scribe *s)
{
    int64_t begun_us = clock_wall_us();
    struct head heads[SIGNALS_WRITERS_MAX];
    int count = 0;
    bool any = false;
    for (int i = 0; i < s->writer_count; i++) {
        heads[count].writer = &s->writers[i];
        if (head_find(&heads[count])) count++;
    }
    for (int taken = 0; count && taken < RECORDS_PER_TURN_MAX; taken++) {
        struct head *oldest = head_oldest(heads, count);
        if (is_too_new(oldest->record, begun_us)) break;
        if (!record_take(s, oldest->writer, oldest->record)) break;
        any = true;
        if (!head_find(oldest)) *oldest = heads[--count];
    }
    return any;
}

/* ---- the scribe's own lines ---- */

static void own_add(struct scribe *s, char *room, const struct record *record)
{
    cell_add(&s->fired[record->site], 1);
    outbox_add(&s->outbox, (enum signal_site)record->site, line_render(room, record));
}

static bool report_gather(struct scribe *s, uint64_t suppressed[], uint64_t dropped[])
{
    bool any = false;
    for (int site = 0; site < SITE_COUNT; site++) {
        bool own = site >= SITE_SCRIBE_FIRST;
        s->telling_suppressed[site] = own ? 0 : over_budget(s, site);
        s->telling_dropped[site] = own ? 0 : scribe_dropped(s, site);
        suppressed[site] = s->telling_suppressed[site] - s->told_suppressed[site];
        dropped[site] = s->telling_dropped[site] - s->told_dropped[site];
        any |= suppressed[site] || dropped[site];
    }
    return any;
}

static void report_suppressed(struct scribe *s)
{
    char *room = outbox_own_room(&s->outbox);
    if (!s->report_owed || s->suppressed_underway || !room) return;
    s->report_owed = false;
    uint64_t suppressed[SITE_COUNT], dropped[SITE_COUNT];
    if (!report_gather(s, suppressed, dropped)) return;
    struct record r;
    record_log_suppressed(&r, clock_wall_us(), field_suppressed(suppressed),
                          field_dropped(dropped));
    own_add(s, room, &r);
    s->suppressed_underway = true;
}

/* Returns whether there was anything. */
static bool report_lost(struct scribe *s)
{
    char *room = outbox_own_room(&s->outbox);
    if (s->lost_underway || !room) return false;
    for (int i = 0; i < LOSS_COUNT; i++) s->telling_lost[i] = cell_load(&s->outbox.lost[i]);
    uint64_t gone = s->telling_lost[LOSS_SINK_GONE] - s->told_lost[LOSS_SINK_GONE];
    uint64_t full = s->telling_lost[LOSS_DISK_FULL] - s->told_lost[LOSS_DISK_FULL];
    if (gone + full == 0) return false;
    struct record r;
    record_log_lost(&r, clock_wall_us(), field_sink_gone((int64_t)gone),
                    field_disk_full((int64_t)full));
    own_add(s, room, &r);
    s->lost_underway = true;
    return true;
}

/* Under its site's budget like any worker's record, but without the way through a ring. */
static void report_constant(struct scribe *s)
{
    const struct watch *w = &s->watch;
    for (char *room; s->constant_untold && (room = outbox_own_room(&s->outbox));) {
        int site = __builtin_ctz(s->constant_untold);
        s->constant_untold &= s->constant_untold - 1;
        struct bucket *b = &s->buckets[SITE_SIGNAL_CONSTANT];
        if (b->tokens < 1 || s->hidden[SITE_SIGNAL_CONSTANT]) {
            cell_add(&s->fired[SITE_SIGNAL_CONSTANT], 1);
            cell_add_release(&s->suppressed[SITE_SIGNAL_CONSTANT], 1);
            continue;
        }
        b->tokens -= 1;
        struct record r;
        record_signal_constant(&r, clock_wall_us(), field_signal(signal_site_names()[site]),
                               field_fired((int64_t)w->sites[site].fired),
                               field_opportunities((int64_t)w->sites[site].opportunities),
                               field_window_ms((int64_t)(w->window_ns / 1000000)));
        own_add(s, room, &r);
    }
}

/* It has fired from now on, wherever it waits. An older one that still waits for room is given up
 * for it: what is open now is what matters. */
static void reopen(struct scribe *s)
{
    const char *path = s->outbox.sink.path;
    if (!path) return;
    struct err e = {0};
    if (!outbox_reopen(&s->outbox)) err_set_sys(&e, ERR_SYSTEM, errno, "the old file is kept");
    cell_add(&s->fired[SITE_LOG_REOPENED], 1);
    if (s->reopened_untold) outbox_lose(&s->outbox, SITE_LOG_REOPENED, LOSS_RING_FULL);
    record_log_reopened(&s->reopened, clock_wall_us(), field_path(span_of(path)),
                        field_message(span_of(e.text)));
    s->reopened_untold = true;
}

static void report_reopened(struct scribe *s)
{
    char *room = outbox_own_room(&s->outbox);
    if (!s->reopened_untold || !room) return;
    outbox_add(&s->outbox, SITE_LOG_REOPENED, line_render(room, &s->reopened));
    s->reopened_untold = false;
}

static void report_overflow(struct scribe *s)
{
    uint64_t refused = atomic_load_explicit(&s->series_refused, memory_order_acquire);
    char *room;
    if (refused == s->told_refused || !(room = outbox_own_room(&s->outbox))) return;
    struct record r;
    record_metric_overflow(&r, clock_wall_us(),
                           field_label_sets((int64_t)(refused - s->told_refused)),
                           field_series((int64_t)cell_load(&s->series)),
                           field_series_max((int64_t)cell_load(&s->series_max)));
    own_add(s, room, &r);
    s->told_refused = refused;
}

/* ---- the loop ---- */

static bool turn(struct scribe *s)
{
    uint64_t now_ns = clock_mono_ns();
    atomic_store_explicit(&s->turned_ns, now_ns, memory_order_relaxed);
    if (atomic_exchange_explicit(&s->reopening, false, memory_order_acquire)) reopen(s);
    buckets_fill(s, now_ns);
    bool any = rings_read(s);
    report_reopened(s);
    if (now_ns >= s->report_due_ns) {
        s->report_due_ns = now_ns + s->report_interval_ns;
        cell_add_release(&s->intervals, 1);
        s->report_owed = true;
    }
    report_suppressed(s);
    report_overflow(s);
    uint32_t turned = 0;
    if (now_ns >= s->watch.look_due_ns && s->look(s->look_of, now_ns, &turned))
        s->constant_untold |= turned;
    report_constant(s);
    flush(s);
    /* A sink that is busy is one that takes lines, if slowly. */
    bool takes = s->sink_state == SINK_OK || s->sink_state == SINK_BUSY;
    if (takes && report_lost(s)) flush(s);
    return any;
}

static void turn_wait(struct scribe *s, int timeout_ms)
{
    struct pollfd p[2] = {{.fd = s->wake_fd, .events = POLLIN},
                          {.fd = s->outbox.sink.fd, .events = POLLOUT}};
    bool sink_too = s->sink_state == SINK_BUSY && s->outbox.count && s->outbox.sink.fd >= 0;
    if (poll(p, sink_too ? 2 : 1, timeout_ms) > 0 && p[0].revents) {
        uint64_t ignored;
        ssize_t n = read(s->wake_fd, &ignored, sizeof ignored);
        (void)n;
    }
}

static bool rings_empty(struct scribe *s)
{
    for (int i = 0; i < s->writer_count; i++)
        if (ring_used(&s->writers[i].ring)) return false;
    return true;
}

/* What is left at the deadline is lost, and counted. */
static void shut(struct scribe *s)
{
    for (int i = 0; i < s->writer_count; i++) {
        struct signal_writer *w = &s->writers[i];
        const struct record *record;
        size_t n;
        while ((record = ring_peek(&w->ring, &n))) {
            enum signal_site site = (enum signal_site)record->site;
            writer_release(w, record);
            outbox_lose(&s->outbox, site, LOSS_SHUTDOWN);
        }
    }
    outbox_lose_all(&s->outbox, LOSS_SHUTDOWN);
    if (s->reopened_untold) outbox_lose(&s->outbox, SITE_LOG_REOPENED, LOSS_SHUTDOWN);
}

static void *scribe_run(void *arg)
{
    struct scribe *s = arg;
    while (!atomic_load_explicit(&s->stopping, memory_order_acquire)) {
        bool any = turn(s);
        turn_wait(s, any ? BUSY_WAIT_MS : IDLE_WAIT_MS);
    }
    s->report_due_ns = 0; /* the last report comes now */
    uint64_t deadline_ns = cell_load(&s->deadline_ns);
    do {
        turn(s);
        if (rings_empty(s) && s->outbox.count == 0 && !s->report_owed) break;
        turn_wait(s, STOP_WAIT_MS);
    } while (clock_mono_ns() < deadline_ns);
    shut(s);
    pthread_mutex_lock(&s->lock);
    s->done = true;
    pthread_cond_signal(&s->done_changed);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

enum err_code scribe_start(struct scribe *s, struct err *e)
{
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->wake_fd < 0) return err_set_sys(e, ERR_SYSTEM, errno, "cannot start the log's thread");
    uint64_t now_ns = clock_mono_ns();
    atomic_store(&s->turned_ns, now_ns);
    s->report_due_ns = now_ns + s->report_interval_ns;
    buckets_init(s, now_ns);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&s->done_changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&s->lock, NULL);

    /* No signal is ever handled on this thread, so none interrupts a write. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&s->thread, NULL, scribe_run, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) {
        pthread_setname_np(s->thread, "scribe");
        return ERR_OK;
    }
    close(s->wake_fd);
    return err_set_thread(e, error, "of the log");
}

bool scribe_stop(struct scribe *s, uint64_t deadline_ns)
{
    atomic_store_explicit(&s->deadline_ns, deadline_ns, memory_order_relaxed);
    atomic_store_explicit(&s->stopping, true, memory_order_release);
    wake(s);
    uint64_t now_ns = clock_mono_ns();
    uint64_t until = (deadline_ns > now_ns ? deadline_ns : now_ns) + STOP_GRACE_MS * 1000000ull;
    struct timespec at = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
    pthread_mutex_lock(&s->lock);
    int error = 0;
    while (!s->done && error == 0) error = pthread_cond_timedwait(&s->done_changed, &s->lock, &at);
    bool done = s->done;
    pthread_mutex_unlock(&s->lock);
    if (!done) {
        pthread_detach(s->thread);
        return false;
    }
    pthread_join(s->thread, NULL);
    close(s->wake_fd);
    pthread_cond_destroy(&s->done_changed);
    pthread_mutex_destroy(&s->lock);
    return true;
}
