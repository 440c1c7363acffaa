/* The synchronous log takes what would fire from where it fires: signal_decision is given a writer
 * of the story's own, which counts in the worker's cells, but whose ring the same thread empties
 * again before the request goes on. So whatever is ever added to what a decision tells is written
 * synchronously too, and nothing of the signals needs to know. */
#include "serve/story.h"

#include "plan/plan_load.h"
#include "serve/server.h"
#include "serve/worker.h"
#include "signal/line.h"
#include "signal/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PEN_RING_BYTES = 512 * 1024 };

/* What one worker writes its lines with. */
struct pen {
    struct signal_writer writer;
    _Alignas(64) char ring[PEN_RING_BYTES];
    char line[LINE_BYTES_MAX];
};

/* Constant while a server runs, but for the pens: each is its worker's, made when first needed. */
static struct {
    struct story_config config;
    int fd;
    bool fd_opened;
    struct pen *pens[SERVER_WORKERS_MAX];
} story;

enum err_code story_open(const struct story_config *config, struct err *e)
{
    story.config = *config;
    /* A file that may grow no more loses the line, as in the product, whose scribe takes no signal
     * at all; here a worker writes. */
    if (config->log_synchronous) signal(SIGXFSZ, SIG_IGN);
    story.fd = config->log->sink == LOG_STDERR ? STDERR_FILENO : STDOUT_FILENO;
    story.fd_opened = config->log_synchronous && config->log->sink == LOG_FILE;
    if (!story.fd_opened) return ERR_OK;
    const char *path = config->log->file.data;
    story.fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
    story.fd_opened = story.fd >= 0;
    if (story.fd_opened) return ERR_OK;
    return err_set_sys(e, ERR_SYSTEM, errno, "cannot open the log file %s for writing", path);
}

void story_close(void)
{
    if (story.fd_opened) close(story.fd);
    story.fd_opened = false;
    for (int i = 0; i < SERVER_WORKERS_MAX; i++) {
        free(story.pens[i]);
        story.pens[i] = NULL;
    }
}

/* ---- guard unconditional ---- */

static action_set without_posterior(const struct plan *plan, const struct request *request)
{
    action_set all = (action_set)((1u << plan->actions.count) - 1);
    if (request->posteriors_sent != POSTERIORS_SENT_OBJECT) return all;
    action_set missing = 0;
    for (int i = 0; i < plan->actions.count; i++)
        if (request->entries[i].state == ENTRY_MISSING) missing |= action_bit(i);
    return missing;
}

void story_guard(const struct plan *plan, const struct request *request, struct decision *decision)
{
    struct presence *p = &decision->presence;
    action_set missing = without_posterior(plan, request) & (action_set)~p->invalid;
    if (!missing) return;
    bool all = action_count(missing) == plan->actions.count;
    p->missing = missing;
    p->conditions &= ~(1u << POSTERIORS_ABSENT | 1u << POSTERIORS_PARTIAL);
    p->conditions |= 1u << (all ? POSTERIORS_ABSENT : POSTERIORS_PARTIAL);
    /* Statuses stand from harmless to grave. */
    p->status = (enum posteriors_status)(31 - __builtin_clz(p->conditions));
}

/* ---- log synchronous ---- */

static struct pen *pen_of(struct worker *w)
{
    struct pen **pen = &story.pens[w->reader];
    if (*pen) return *pen;
    /* Neither a budget nor the level holds up what is written at once: here no site is closed. */
    static const struct signal_shared all_open;
    const struct signal_writer *own = w->request.writer;
    *pen = aligned_alloc(_Alignof(struct pen), sizeof **pen);
    INVARIANT(*pen != NULL);
    writer_init(&(*pen)->writer, (*pen)->ring, PEN_RING_BYTES, own->cells, own->cells_max,
                &all_open);
    return *pen;
}

/* Until all of it is taken, however long that takes. Where nobody reads, or the disk is full, the
 * rest of the line is lost, and nobody is told. */
static void line_write(const char *line, size_t len)
{
    while (len > 0) {
        ssize_t taken = write(story.fd, line, len);
        if (taken > 0) {
            line += taken;
            len -= (size_t)taken;
        } else if (taken < 0 && errno == EAGAIN) {
            /* Somebody who shares the description wants it so; the story's service waited. */
            struct pollfd p = {.fd = story.fd, .events = POLLOUT};
            poll(&p, 1, -1);
        } else if (taken == 0 || errno != EINTR) {
            return;
        }
    }
}

static void pen_write(struct pen *pen)
{
    size_t n;
    for (const struct record *r; (r = ring_peek(&pen->writer.ring, &n));) {
        size_t len = line_render(pen->line, r);
        writer_release(&pen->writer, r);
        line_write(pen->line, len);
    }
}

/* ---- config per-request ---- */

/* As many bytes as it had when it was opened, in memory that the caller frees; NULL if they cannot
 * be read. */
static char *file_read(const char *path, size_t *len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *memory = NULL;
    *len = 0;
    if (fd >= 0 && fstat(fd, &st) == 0) memory = malloc((size_t)st.st_size + 1);
    while (memory && *len < (size_t)st.st_size) {
        ssize_t n = read(fd, memory + *len, (size_t)st.st_size - *len);
        if (n <= 0) break;
        *len += (size_t)n;
    }
    if (fd >= 0) close(fd);
    return memory;
}

/* A file that cannot be read, or holds no plan, changes nothing: the plan served decides anyway. */
static void plan_read_in_vain(void)
{
    struct span text = plan_demo_text();
    char *memory = NULL;
    if (story.config.plan_path) {
        memory = file_read(story.config.plan_path, &text.len);
        if (!memory) return;
        text.data = memory;
    }
    struct plan_errors *errors = calloc(1, sizeof *errors);
    INVARIANT(errors != NULL);
    plan_free(plan_load(text, NULL, errors));
    free(errors);
    free(memory);
}

/* ---- an answer ---- */

static void decision_tell(struct worker *w)
{
    const struct request_context *c = &w->request;
    struct decision told = c->decision;
    if (story.config.guard_unconditional) story_guard(c->plan, &c->request, &told);
    struct pen *pen = story.config.log_synchronous ? pen_of(w) : NULL;
    signal_decision(pen ? &pen->writer : c->writer, c->cells, c->plan, &c->request, &told,
                    c->wall_us);
    if (pen) pen_write(pen);
}

void story_answer(struct service *service, struct exchange *x)
{
    struct worker *w = (struct worker *)service;
    if (worker_answer_other(w, x)) return;
    x->head.fields = NULL;
    w->request.wall_us = x->wall_us;
    w->request.probe = x->probe;
    if (story.config.config_per_request) plan_read_in_vain();
    struct request_outcome outcome = request_answer(&w->request, x->body, &x->head, x->out);
    if (outcome.variant >= 0) decision_tell(w);
    x->status = outcome.status;
    x->variant = outcome.variant;
}
