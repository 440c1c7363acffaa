#include "signal/signals.h"

#include "base/clock.h"
#include "signal/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    RING_BYTES = 512 * 1024,
    REPORT_INTERVAL_MS = 10000,
    WINDOW_MS = 5 * 60 * 1000,
    QUIET_MS = 60 * 60 * 1000,
    PAGE = 4096,
};

static size_t pages(size_t bytes)
{
    return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static enum err_code no_memory(int writers, struct err *e)
{
    return err_set(e, ERR_NO_MEMORY, "there is not enough memory for the signals of %d threads",
                   writers);
}

/* One mapping for all writers, touched as it is used: a cell or a ring that nobody needs takes no
 * memory. */
static enum err_code writers_map(struct signals *s, uint32_t cells_max, struct err *e)
{
    size_t writers = pages((size_t)s->writer_count * sizeof *s->writers);
    size_t cells = pages(cells_max * sizeof(uint64_t));
    s->mapping_bytes = writers + (size_t)s->writer_count * (cells + s->ring_bytes);
    s->mapping = mmap(NULL, s->mapping_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->mapping == MAP_FAILED) return no_memory(s->writer_count, e);
    s->writers = s->mapping;
    char *at = (char *)s->mapping + writers;
    for (int i = 0; i < s->writer_count; i++, at += cells + s->ring_bytes)
        writer_init(&s->writers[i], at + cells, s->ring_bytes, (_Atomic uint64_t *)(void *)at,
                    cells_max, &s->shared);
    return ERR_OK;
}

static void copy_name(char to[NAME_BYTES_MAX + 1], struct span name)
{
    size_t len = name.len < NAME_BYTES_MAX ? name.len : NAME_BYTES_MAX;
    if (len) memcpy(to, name.data, len);
    to[len] = '\0';
}

static void signals_free(struct signals *s)
{
    sink_close(&s->scribe.outbox.sink);
    if (s->mapping_bytes) munmap(s->mapping, s->mapping_bytes);
    series_done(&s->series);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static uint64_t ms_or(int64_t ms, int64_t otherwise_ms)
{
    return (uint64_t)(ms ? ms : otherwise_ms) * 1000000;
}

/* A scrape may hold the lock for milliseconds: then another turn will do. */
static bool scribe_look(void *of, uint64_t now_ns, uint32_t *turned)
{
    struct signals *s = of;
    if (pthread_mutex_trylock(&s->lock) != 0) return false;
    struct signal_account accounts[SITE_COUNT];
    account_take(s, accounts);
    *turned = watch_take(&s->scribe.watch, accounts, now_ns);
    pthread_mutex_unlock(&s->lock);
    return true;
}

enum err_code signals_open(const struct signals_config *config, struct signals **out, struct err *e)
{
    INVARIANT(config->writers >= 1 && config->writers <= SIGNALS_WRITERS_MAX);
    struct signals *s = aligned_alloc(64, sizeof *s);
    if (!s) return no_memory(config->writers, e);
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    s->started_us = clock_wall_us();
    s->process_start_s = process_start_s();
    s->writer_count = config->writers;
    s->all_posteriors = config->all_posteriors;
    s->ring_bytes = config->ring_bytes ? config->ring_bytes : RING_BYTES;
    copy_name(s->program, config->program);
    copy_name(s->commit, config->commit);
    outbox_init(&s->scribe.outbox);
    s->scribe.outbox.sink.fd = -1;
    s->scribe.wake_fd = -1;
    uint32_t cells_max = config->cells_max ? config->cells_max : SIGNALS_CELLS_MAX;
    INVARIANT(cells_max > CELL_FIXED_COUNT);

    enum err_code code = writers_map(s, cells_max, e);
    if (code != ERR_OK) {
        s->mapping_bytes = 0;
        goto failed;
    }
    if (!series_init(&s->series, s->writers, s->writer_count, cells_max)) {
        code = no_memory(s->writer_count, e);
        goto failed;
    }
    code = sink_open(&s->scribe.outbox.sink, config->log, e);
    if (code != ERR_OK) goto failed;
    s->scribe.writers = s->writers;
    s->scribe.writer_count = s->writer_count;
    s->scribe.shared = &s->shared;
    s->scribe.report_interval_ns = ms_or(config->report_interval_ms, REPORT_INTERVAL_MS);
    s->scribe.look = scribe_look;
    s->scribe.look_of = s;
    watch_init(&s->scribe.watch, ms_or(config->window_ms, WINDOW_MS),
               ms_or(config->quiet_ms, QUIET_MS), clock_mono_ns());
    scribe_configure(&s->scribe, config->log);
    code = scribe_start(&s->scribe, e);
    if (code != ERR_OK) goto failed;
    *out = s;
    return ERR_OK;

failed:
    signals_free(s);
    return code;
}

int64_t signals_started_us(const struct signals *signals)
{
    return signals->started_us;
}

/* What a scribe that is blocked in `write` still uses: it is freed by the end of the process. Held
 * here, so that a leak checker does not depend on whether it finds it on that thread's stack. */
static struct signals *volatile left_to_the_scribe;

uint64_t signals_close(struct signals *signals, uint64_t deadline_ns)
{
    if (!signals) return 0;
    bool stopped = scribe_stop(&signals->scribe, deadline_ns);
    struct signal_account accounts[SITE_COUNT];
    signals_account(signals, accounts);
    uint64_t left = cell_load(&signals->scribe.outbox.lost[LOSS_SHUTDOWN]);
    for (int site = 0; site < SITE_COUNT; site++) left += accounts[site].queued;
    if (stopped)
        signals_free(signals);
    else
        left_to_the_scribe = signals;
    return left;
}

struct signal_writer *signals_writer(struct signals *signals, int index)
{
    INVARIANT(index >= 0 && index < signals->writer_count);
    return &signals->writers[index];
}

struct signal_cells *signals_cells(struct signals *signals, const struct plan *plan)
{
    pthread_mutex_lock(&signals->lock);
    struct signal_cells *cells = cells_make(&signals->series, plan, signals->all_posteriors);
    pthread_mutex_unlock(&signals->lock);
    return cells;
}

void signals_adopt(struct signals *signals, const struct plan *plan, const struct settings_log *log)
{
    pthread_mutex_lock(&signals->lock);
    copy_name(signals->version, plan->version);
    memcpy(signals->fingerprint, plan->fingerprint, sizeof signals->fingerprint);
    scribe_configure(&signals->scribe, log);
    atomic_store_explicit(&signals->scribe.series, series_cells(&signals->series),
                          memory_order_relaxed);
    atomic_store_explicit(&signals->scribe.series_max, signals->series.cells_max - CELL_FIXED_COUNT,
                          memory_order_relaxed);
    atomic_store_explicit(&signals->scribe.series_refused, signals->series.refused,
                          memory_order_release);
    pthread_mutex_unlock(&signals->lock);
}

void signals_plan_file_set(struct signals *signals, const char *fingerprint)
{
    size_t len = strlen(fingerprint);
    INVARIANT(len < sizeof signals->file_fingerprint);
    pthread_mutex_lock(&signals->lock);
    memcpy(signals->file_fingerprint, fingerprint, len + 1);
    pthread_mutex_unlock(&signals->lock);
}

void signals_release(struct signals *signals, struct signal_cells *cells)
{
    if (!cells) return;
    pthread_mutex_lock(&signals->lock);
    series_version_retire(&signals->series, cells->version);
    pthread_mutex_unlock(&signals->lock);
    free(cells);
}

void signals_reopen(struct signals *signals)
{
    scribe_reopen(&signals->scribe);
}

uint64_t signals_scribe_turned_ns(const struct signals *signals)
{
    return cell_load(&signals->scribe.turned_ns);
}

const char *signals_thread_add(struct signals *signals, const char *name)
{
    size_t len = strlen(name);
    INVARIANT(signals->thread_count < SIGNALS_THREADS_MAX && len <= SIGNALS_THREAD_NAME_BYTES_MAX);
    return memcpy(signals->thread_names[signals->thread_count++], name, len + 1);
}

void signals_thread_set(struct signals *signals, int thread, bool stalled)
{
    INVARIANT(thread >= 0 && thread < signals->thread_count);
    atomic_store_explicit(&signals->stalled[thread], stalled, memory_order_relaxed);
}

void signals_gauge_set(struct signals *signals, enum signal_gauge gauge, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    atomic_store_explicit(&signals->gauges[gauge], bits, memory_order_relaxed);
}

double signals_gauge_get(const struct signals *signals, enum signal_gauge gauge)
{
    uint64_t bits = cell_load(&signals->gauges[gauge]);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool signals_standard_descriptors(void)
{
    for (;;) {
        int fd = open("/dev/null", O_RDWR);
        if (fd < 0) return false;
        if (fd <= STDERR_FILENO) continue; /* it was closed, and is not any more */
        close(fd);
        return true;
    }
}
