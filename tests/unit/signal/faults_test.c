/* The log's writer, where writing fails in every way that the kernel has, at every place: to a
 * file, a pipe and a socket. Whatever happens, each line is written whole and once, and counted so,
 * or lost, and counted so; and what was cut off stands in no other line. */
#include "signal/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINES = 400, ROUNDS = 60 };

static const enum signal_site SITE = SITE_UNKNOWN_VARIANT;

enum kind { TO_FILE, TO_PIPE, TO_SOCKET, KINDS };

static uint32_t chance;
static int sink_fd = -1;
static bool faulty, harmless; /* harmless: only those that pass */

static uint32_t random_below(uint32_t n)
{
    chance = chance * 1664525u + 1013904223u;
    return (chance >> 8) % n;
}

/* -1: the call fails; else the bytes that it may take. */
static ssize_t allowed(size_t n)
{
    static const int errors[] = {EINTR,  EINTR, EAGAIN,     EAGAIN, EIO, ENOSPC,
                                 EDQUOT, EPIPE, ECONNRESET, EFBIG,  0,   0};
    if (!faulty || random_below(3)) return (ssize_t)n;
    int error = errors[random_below(sizeof errors / sizeof errors[0])];
    if (harmless && error != EINTR && error != EAGAIN) error = 0;
    if (!error) return 1 + (ssize_t)random_below((uint32_t)n); /* short */
    errno = error;
    return -1;
}

ssize_t __real_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n)
{
    ssize_t most = fd == sink_fd ? allowed(n) : (ssize_t)n;
    return most < 0 ? -1 : __real_write(fd, data, (size_t)most);
}

ssize_t __real_send(int fd, const void *data, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t n, int flags)
{
    ssize_t most = fd == sink_fd ? allowed(n) : (ssize_t)n;
    return most < 0 ? -1 : __real_send(fd, data, (size_t)most, flags);
}

ssize_t __real_recv(int fd, void *data, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t n, int flags)
{
    return __real_recv(fd, data, n, flags);
}

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    return __real_sendmsg(fd, message, flags);
}

struct stream {
    int read_fd, write_fd;
    size_t len;
    char bytes[LINES * 600];
};

static void stream_open(struct stream *s, enum kind kind)
{
    int ends[2];
    s->len = 0;
    if (kind == TO_FILE) {
        char path[] = "/tmp/interlude-faults-XXXXXX";
        s->write_fd = mkstemp(path);
        s->read_fd = open(path, O_RDONLY | O_CLOEXEC);
        unlink(path);
    } else if (kind == TO_PIPE) {
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        s->read_fd = ends[0];
        s->write_fd = ends[1];
        fcntl(s->read_fd, F_SETFL, O_NONBLOCK);
    } else {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        s->read_fd = ends[0];
        s->write_fd = ends[1];
        fcntl(s->read_fd, F_SETFL, O_NONBLOCK);
    }
    assert_true(s->read_fd >= 0 && s->write_fd >= 0);
}

static void stream_read(struct stream *s)
{
    ssize_t n;
    while ((n = read(s->read_fd, s->bytes + s->len, sizeof s->bytes - 1 - s->len)) > 0)
        s->len += (size_t)n;
    s->bytes[s->len] = '\0';
}

/* Lines of many lengths, each with its number at both ends. */
static size_t line_make(char *into, int number)
{
    size_t fill = random_below(400);
    int n = snprintf(into, LINE_BYTES_MAX, "<%d:", number);
    memset(into + n, 'x', fill);
    return (size_t)n + fill + (size_t)snprintf(into + (size_t)n + fill, 32, ":%d>\n", number);
}

/* How many whole lines there are; each stands alone, and in order. */
static uint64_t whole_lines(const struct stream *s)
{
    uint64_t whole = 0;
    int last = -1;
    for (const char *at = s->bytes; *at;) {
        const char *end = strchr(at, '\n');
        size_t len = end ? (size_t)(end - at) : strlen(at);
        int first = -1, second = -2;
        const char *tail = memchr(at, ':', len);
        if (tail && at[0] == '<') first = atoi(at + 1);
        const char *behind = len > 2 && at[len - 1] == '>' ? at + len - 1 : NULL;
        while (behind && behind > at && *behind != ':') behind--;
        if (behind) second = atoi(behind + 1);
        if (end && first >= 0 && first == second) {
            /* Two lines in one would have another beginning in the middle. */
            assert_null(memchr(at + 1, '<', len - 1));
            assert_true(first > last);
            last = first;
            whole++;
        }
        at += len + (end != NULL);
    }
    return whole;
}

static void each_line_is_whole_or_counted_as_lost(void **state)
{
    enum kind kind = (enum kind)(uintptr_t)*state;
    static struct stream s;
    static struct outbox o;
    for (int round = 0; round < ROUNDS; round++) {
        chance = (uint32_t)(round * 7919 + (int)kind);
        stream_open(&s, kind);
        memset(&o, 0, sizeof o);
        outbox_init(&o);
        sink_use(&o.sink, s.write_fd);
        sink_fd = s.write_fd;
        faulty = true;
        for (int line = 0; line < LINES; line++) {
            char *room = outbox_room(&o);
            if (room) {
                outbox_add(&o, SITE, line_make(room, line));
            } else {
                outbox_lose(&o, SITE, LOSS_RING_FULL);
            }
            if (random_below(4) == 0) {
                enum sink_result result = outbox_flush(&o);
                (void)result;
            }
            stream_read(&s);
        }
        faulty = false;
        for (int i = 0; i < 100 && outbox_flush(&o) != SINK_OK; i++) stream_read(&s);
        stream_read(&s);
        uint64_t written = atomic_load(&o.written[SITE]), dropped = atomic_load(&o.dropped[SITE]);
        assert_int_equal(written + dropped, LINES);
        assert_int_equal(o.count, 0);
        /* A line that was cut off just before its newline looks whole, and is told as lost. */
        assert_in_range(whole_lines(&s), written, written + 3);
        assert_true(written > 0 && dropped > 0);
        sink_fd = -1;
        close(s.read_fd);
        close(s.write_fd);
    }
}

/* EINTR and EAGAIN, and what was taken in part, lose nothing. */
static void faults_that_pass_lose_nothing(void **state)
{
    (void)state;
    static struct stream s;
    static struct outbox o;
    for (int kind = 0; kind < KINDS; kind++) {
        stream_open(&s, (enum kind)kind);
        memset(&o, 0, sizeof o);
        outbox_init(&o);
        sink_use(&o.sink, s.write_fd);
        sink_fd = s.write_fd;
        faulty = harmless = true;
        for (int line = 0; line < LINES; line++) {
            char *room = outbox_room(&o);
            assert_non_null(room);
            outbox_add(&o, SITE, line_make(room, line));
            while (outbox_flush(&o) == SINK_BUSY) stream_read(&s);
            stream_read(&s);
        }
        assert_int_equal(atomic_load(&o.written[SITE]), LINES);
        assert_int_equal(whole_lines(&s), LINES);
        faulty = harmless = false;
        sink_fd = -1;
        close(s.read_fd);
        close(s.write_fd);
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(each_line_is_whole_or_counted_as_lost, (void *)TO_FILE),
        cmocka_unit_test_prestate(each_line_is_whole_or_counted_as_lost, (void *)TO_PIPE),
        cmocka_unit_test_prestate(each_line_is_whole_or_counted_as_lost, (void *)TO_SOCKET),
        cmocka_unit_test(faults_that_pass_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
