#include "serve/plan_file.h"

#include "base/clock.h"
#include "plan/plan_load.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
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

/* Waits for more. *over: every writer has gone, and there is no more. */
static enum err_code reading_wait(const struct reading *r, bool *over, struct err *e)
{
    uint64_t now_ns = clock_mono_ns();
    if (now_ns >= r->until_ns) return fail_late(r, e);
    struct pollfd fds[2] = {{.fd = r->fd, .events = POLLIN},
                            {.fd = r->cancel_fd, .events = POLLIN}};
    int n = poll(fds, 2, (int)((r->until_ns - now_ns) / 1000000) + 1);
    if (n < 0 && errno != EINTR) return fail_sys(r, errno, e);
    if (n > 0 && fds[1].revents)
        return err_set(e, ERR_PLAN_INVALID, "%s was not read to its end: the server is stopping",
                       r->path);
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

enum err_code plan_file_read(const char *path, int limit_ms, int cancel_fd, struct plan_file *out,
                             struct err *e)
{
    struct reading r = {.path = path,
                        .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK),
                        .cancel_fd = cancel_fd,
                        .limit_ms = limit_ms,
                        .until_ns = clock_mono_ns() + (uint64_t)limit_ms * 1000000};
    if (r.fd < 0) return fail_sys(&r, errno, e);
    struct stat st;
    r.fifo = fstat(r.fd, &st) == 0 && S_ISFIFO(st.st_mode);
    r.memory = malloc(CAP);
    enum err_code code = r.memory ? reading_run(&r, e) : fail_sys(&r, ENOMEM, e);
    close(r.fd);
    if (code)
        free(r.memory);
    else
        *out = (struct plan_file){r.memory, r.len};
    return code;
}
