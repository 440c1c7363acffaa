#include "serve/plan_file.h"

#include "base/clock.h"
#include "plan/plan_load.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CAP = PLAN_BYTES_MAX + 1 };

struct reading {
    const char *path;
    int fd, cancel_fd, limit_ms;
    uint64_t until_ns;
    bool fifo;
    char *memory;
    size_t len;
};

static enum err_code fail_sys(const struct reading *r, int error, struct err *e)
{
    return err_set_sys(e, ERR_PLAN_INVALID, error, "%s cannot be read", r->path);
}

static enum err_code fail_late(const struct reading *r, struct err *e)
{
    return err_set(e, ERR_PLAN_INVALID, "%s cannot be read: %s within %d ms", r->path,
                   r->len ? "it did not end" : "nobody wrote to it", r->limit_ms);
}

static enum err_code fail_stopping(const struct reading *r, struct err *e)
{
    return err_set(e, ERR_PLAN_INVALID, "%s was not read to its end: the server is stopping",
                   r->path);
}

bool plan_file_is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *plan_file_name(const char *path)
{
    return path ? path : "built-in";
}

/* ---- stdin ---- */

/* Its descriptor is shared with whoever gave it to us, so it stays as it is: each read is made once
 * there is something to be read. */
static enum err_code stdin_run(struct reading *r, struct err *e)
{
    while (r->len < CAP) {
        struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                {.fd = r->cancel_fd, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0) {
            if (errno == EINTR) continue;
            return fail_sys(r, errno, e);
        }
        if (fds[1].revents) return fail_stopping(r, e);
        ssize_t n = read(STDIN_FILENO, r->memory + r->len, CAP - r->len);
        if (n == 0) break;
        if (n > 0)
            r->len += (size_t)n;
        else if (errno != EAGAIN && errno != EINTR)
            return fail_sys(r, errno, e);
    }
    return ERR_OK;
}

/* ---- what stands at a path ---- */

/* Waits for more. *over: every writer has gone, and there is no more. */
static enum err_code reading_wait(const struct reading *r, bool *over, struct err *e)
{
    uint64_t now_ns = clock_mono_ns();
    if (now_ns >= r->until_ns) return fail_late(r, e);
    struct pollfd fds[2] = {{.fd = r->fd, .events = POLLIN},
                            {.fd = r->cancel_fd, .events = POLLIN}};
    int n = poll(fds, 2, (int)((r->until_ns - now_ns) / 1000000) + 1);
    if (n < 0 && errno != EINTR) return fail_sys(r, errno, e);
    if (n > 0 && fds[1].revents) return fail_stopping(r, e);
    *over = n > 0 && fds[0].revents && !(fds[0].revents & POLLIN);
    return ERR_OK;
}

/* A FIFO that nobody has opened to write yet reads as one that has ended: only after something has
 * come, or once poll tells of a hang-up, that is its end. */
static enum err_code reading_run(struct reading *r, struct err *e)
{
    bool over = false;
    while (r->len < CAP) {
        ssize_t n = read(r->fd, r->memory + r->len, CAP - r->len);
        if (n > 0) {
            r->len += (size_t)n;
            if (clock_mono_ns() >= r->until_ns) return fail_late(r, e);
            continue;
        }
        if (n == 0 && (over || r->len || !r->fifo)) break;
        if (n < 0 && errno != EAGAIN && errno != EINTR) return fail_sys(r, errno, e);
        enum err_code code = reading_wait(r, &over, e);
        if (code) return code;
    }
    return ERR_OK;
}

/* ---- a file that is being written ---- */

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Whether the file was at rest while it was read, and PLAN_FILE_REST_MS before: what changes later
 * may be the rest of it. The kernel sets the time of change at every write, whoever sets the other
 * times; one that the clock here does not agree with tells nothing. */
static bool at_rest(const struct stat *before, const struct stat *after, int64_t now_us)
{
    int64_t changed_us = (int64_t)after->st_ctim.tv_sec * 1000000 + after->st_ctim.tv_nsec / 1000;
    int64_t age_us = now_us - changed_us, rest_us = PLAN_FILE_REST_MS * 1000;
    return before->st_size == after->st_size && same_time(before->st_mtim, after->st_mtim) &&
           same_time(before->st_ctim, after->st_ctim) && (age_us >= rest_us || age_us <= -rest_us);
}

/* What stands at the path now. *rest: it is no file, or one at rest. */
static enum err_code reading_once(struct reading *r, bool *rest, struct err *e)
{
    struct stat before = {0}, after;
    r->len = 0;
    r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (r->fd < 0) return fail_sys(r, errno, e);
    if (fstat(r->fd, &before) < 0) before = (struct stat){0};
    r->fifo = S_ISFIFO(before.st_mode);
    enum err_code code = reading_run(r, e);
    *rest = !S_ISREG(before.st_mode) || fstat(r->fd, &after) < 0 ||
            at_rest(&before, &after, clock_wall_us());
    close(r->fd);
    return code;
}

/* Gives the writer PLAN_FILE_REST_MS. */
static enum err_code reading_rest(const struct reading *r, struct err *e)
{
    struct pollfd cancel = {.fd = r->cancel_fd, .events = POLLIN};
    uint64_t now_ns = clock_mono_ns(), until_ns = now_ns + PLAN_FILE_REST_MS * 1000000ull;
    if (until_ns > r->until_ns)
        return err_set(e, ERR_PLAN_INVALID,
                       "%s is still being written: it changed again and again for %d ms", r->path,
                       r->limit_ms);
    for (; now_ns < until_ns; now_ns = clock_mono_ns())
        if (poll(&cancel, 1, (int)((until_ns - now_ns) / 1000000) + 1) > 0)
            return fail_stopping(r, e);
    return ERR_OK;
}

static enum err_code reading_settle(struct reading *r, struct err *e)
{
    for (;;) {
        bool rest = false;
        enum err_code code = reading_once(r, &rest, e);
        if (code || rest) return code;
        if ((code = reading_rest(r, e))) return code;
    }
}

enum err_code plan_file_read(const char *path, int limit_ms, int cancel_fd, struct plan_file *out,
                             struct err *e)
{
    struct reading r = {.path = path,
                        .cancel_fd = cancel_fd,
                        .limit_ms = limit_ms,
                        .until_ns = clock_mono_ns() + (uint64_t)limit_ms * 1000000,
                        .memory = malloc(CAP)};
    if (!r.memory) return err_set(e, ERR_NO_MEMORY, "there is not enough memory to read %s", path);
    bool is_stdin = plan_file_is_stdin(path);
    if (is_stdin) r.path = "stdin";
    enum err_code code = is_stdin ? stdin_run(&r, e) : reading_settle(&r, e);
    if (code)
        free(r.memory);
    else
        *out = (struct plan_file){r.memory, r.len};
    return code;
}
