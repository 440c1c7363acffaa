#include "signal/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BATCH_BYTES = 64 * 1024 };

/* Whether what the file holds before the place of the next write ends without a newline. Ours is a
 * descriptor that cannot read, so the file is opened once more; where it may not be read, one empty
 * line too many does less harm than two lines in one. */
static bool file_mid_line(int fd, const struct stat *st)
{
    int flags = fcntl(fd, F_GETFL);
    off_t end = flags >= 0 && flags & O_APPEND ? st->st_size : lseek(fd, 0, SEEK_CUR);
    if (end <= 0) return false;
    char path[32], last;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int reader = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t n = reader < 0 ? -1 : pread(reader, &last, 1, end - 1);
    if (reader >= 0) close(reader);
    return n < 0 || (n == 1 && last != '\n');
}

void sink_use(struct sink *s, int fd)
{
    *s = (struct sink){.fd = fd, .batch_max = PIPE_BUF};
    struct stat st;
    if (fstat(fd, &st) != 0) return;
    s->is_socket = S_ISSOCK(st.st_mode);
    if (!S_ISREG(st.st_mode)) return;
    s->batch_max = FILE_BATCH_BYTES;
    s->mid_line = file_mid_line(fd, &st);
}

/* O_NONBLOCK is for a FIFO, whose open would wait for a reader; the description is our own. */
static int path_open(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
}

/* After path_open: a FIFO that nobody reads yet, and not a socket, which fails in the same way. */
static bool fifo_waits(const char *path)
{
    int error = errno;
    struct stat st;
    bool waits = error == ENXIO && stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
    errno = error;
    return waits;
}

/* Both lead to one FIFO or device, which holds what was written last, whoever opens it. */
static bool same_stream(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && !S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

static void path_use(struct sink *s, int fd)
{
    char *path = s->path;
    bool mid_line = s->mid_line && s->fd >= 0 && same_stream(s->fd, fd);
    if (s->fd >= 0) close(s->fd);
    sink_use(s, fd);
    s->path = path;
    s->mid_line |= mid_line;
}

enum err_code sink_open(struct sink *s, const struct settings_log *log, struct err *e)
{
    if (log->sink != LOG_FILE) {
        sink_use(s, log->sink == LOG_STDERR ? STDERR_FILENO : STDOUT_FILENO);
        return ERR_OK;
    }
    int fd = path_open(log->file.data);
    if (fd < 0 && !fifo_waits(log->file.data))
        return err_set_sys(e, ERR_SYSTEM, errno,
                           "cannot open the log file %s for writing; name another, or make it "
                           "writable",
                           log->file.data);
    char *path = strdup(log->file.data);
    if (!path) {
        if (fd >= 0) close(fd);
        return err_set(e, ERR_NO_MEMORY, "there is not enough memory for the log file's name");
    }
    *s = (struct sink){.fd = -1, .path = path, .batch_max = PIPE_BUF};
    if (fd >= 0) path_use(s, fd);
    return ERR_OK;
}

void sink_close(struct sink *s)
{
    if (s->path && s->fd >= 0) close(s->fd);
    free(s->path);
    *s = (struct sink){.fd = -1};
}

bool sink_reopen(struct sink *s)
{
    if (!s->path) return true;
    int fd = path_open(s->path);
    if (fd < 0 && !fifo_waits(s->path)) return false;
    if (fd >= 0) {
        path_use(s, fd);
        return true;
    }
    if (s->fd >= 0) close(s->fd);
    *s = (struct sink){.fd = -1, .path = s->path, .batch_max = PIPE_BUF};
    return true;
}

enum sink_result sink_ready(struct sink *s)
{
    if (s->fd < 0 && (!sink_reopen(s) || s->fd < 0)) return SINK_BUSY;
    struct pollfd p = {.fd = s->fd, .events = POLLOUT};
    int n = poll(&p, 1, 0);
    if (n < 0) return SINK_BUSY;
    if (p.revents & (POLLERR | POLLHUP | POLLNVAL)) return SINK_GONE;
    return p.revents & POLLOUT ? SINK_OK : SINK_BUSY;
}

static enum sink_result failed(int errno_value)
{
    switch (errno_value) {
    case EAGAIN:
        return SINK_BUSY;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return SINK_FULL;
    case EPIPE:
        return SINK_GONE;
    default:
        return SINK_FAILED;
    }
}

enum sink_result sink_write(struct sink *s, const void *data, size_t n, size_t *done)
{
    ssize_t taken;
    do
        taken = s->is_socket ? send(s->fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL)
                             : write(s->fd, data, n);
    while (taken < 0 && errno == EINTR);
    if (taken < 0) return failed(errno);
    if (taken == 0) return SINK_BUSY;
    *done = (size_t)taken;
    return SINK_OK;
}
