#include "signal/outbox.h"

#include "support.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

static struct outbox box;
static int ends[2];

/* A pipe, or a pair of sockets; both waiting, as what is inherited mostly is. */
static int open_ends(int (*make)(int[2]))
{
    memset(&box, 0, sizeof box);
    outbox_init(&box);
    assert_int_equal(make(ends), 0);
    sink_use(&box.sink, ends[1]);
    return 0;
}

static int socket_make(int fds[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
}
static int pipe_open(void **state)
{
    return (void)state, open_ends(pipe);
}
static int socket_open(void **state)
{
    return (void)state, open_ends(socket_make);
}

static int ends_close(void **state)
{
    (void)state;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

/* A line of `bytes` bytes that says its number. False: no room. */
static bool add(int number, size_t bytes)
{
    char *room = outbox_room(&box);
    if (!room) return false;
    memset(room, '.', bytes);
    int n = snprintf(room, bytes, "%d", number);
    room[n] = '.';
    room[bytes - 1] = '\n';
    outbox_add(&box, SITE_UNKNOWN_VARIANT, bytes);
    return true;
}

static uint64_t written(void)
{
    return box.written[SITE_UNKNOWN_VARIANT];
}
static uint64_t dropped(void)
{
    return box.dropped[SITE_UNKNOWN_VARIANT];
}

static void drain(void)
{
    char buffer[8192];
    ssize_t n;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    do n = read(ends[0], buffer, sizeof buffer);
    while (n > 0);
    fcntl(ends[0], F_SETFL, 0);
}

/* The reader stops: nothing waits, nothing is lost; it goes on: every line comes, whole, in order.
 */
static void a_stopped_reader_is_waited_for(void **state)
{
    (void)state;
    int made = 0, read_lines = 0, stalls = 0;
    char text[8192];
    size_t have = 0;
    while (read_lines < 3000) {
        while (made < 3000 && add(made, 40 + (size_t)made * 7 % 900)) made++;
        if (outbox_flush(&box) == SINK_BUSY) stalls++;
        for (int k = 0; k < 3 && read_lines < made; k++) {
            ssize_t n = read(ends[0], text + have, sizeof text - have);
            assert_true(n > 0);
            have += (size_t)n;
            char *line = text, *end;
            while ((end = memchr(line, '\n', have - (size_t)(line - text)))) {
                *end = 0; /* for atoi */
                assert_int_equal(atoi(line), read_lines);
                assert_int_equal(end + 1 - line, 40 + read_lines * 7 % 900);
                read_lines++;
                line = end + 1;
            }
            have -= (size_t)(line - text);
            memmove(text, line, have);
            outbox_flush(&box);
        }
    }
    assert_true(stalls > 0);
    assert_int_equal(written(), 3000);
    assert_int_equal(dropped(), 0);
    assert_int_equal(box.count, 0);
}

/* Somebody else's O_NONBLOCK on the shared description; ours never sets or clears it. */
static void a_nonblocking_description_is_waited_for(void **state)
{
    (void)state;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    int made = 0;
    while (add(made, 4000)) {
        made++;
        outbox_flush(&box);
    }
    uint64_t before = written();
    assert_int_equal(outbox_flush(&box), SINK_BUSY);
    assert_int_equal(written(), before);
    assert_int_equal(dropped(), 0);
    assert_int_equal(fcntl(ends[1], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    drain();
    outbox_flush(&box);
    assert_true(written() > before);
}

static void no_write_on_a_pipe_is_longer_than_it_takes_whole(void **state)
{
    (void)state;
    for (int i = 0; i < 9; i++) assert_true(add(i, 900));
    fcntl(ends[1], F_SETFL, O_DIRECT); /* a pipe of packets: a read returns one write */
    assert_int_equal(outbox_flush(&box), SINK_OK);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    char text[65536];
    int lines = 0, writes = 0;
    for (ssize_t n; (n = read(ends[0], text, sizeof text)) > 0; writes++) {
        assert_true(n <= PIPE_BUF);
        assert_int_equal(n % 900, 0);
        assert_int_equal(text[n - 1], '\n');
        lines += (int)(n / 900);
    }
    assert_int_equal(lines, 9);
    assert_int_equal(writes, 3); /* as many lines as one takes: 4, 4 and 1 */
}

/* Lines that fill it to the byte: what the sink has taken makes room for others, at the front. */
static void a_full_box_has_room_again(void **state)
{
    (void)state;
    enum { BYTES = 4000 };
    fcntl(ends[1], F_SETPIPE_SZ, 16384);
    int added = 0, got = 0;
    static char text[1 << 20];
    size_t len = 0;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    for (int round = 0; round < 200; round++) {
        while (add(added, BYTES)) added++;
        assert_null(outbox_room(&box));
        assert_int_equal(outbox_flush(&box), SINK_BUSY);
        assert_true(add(added++, BYTES));
        for (ssize_t n; (n = read(ends[0], text + len, sizeof text - len)) > 0;) len += (size_t)n;
        for (size_t at = 0; at + BYTES <= len; at += BYTES)
            assert_int_equal(atoi(text + at), got++);
        size_t whole = len / BYTES * BYTES;
        memmove(text, text + whole, len - whole);
        len -= whole;
    }
    assert_true(got > 300);
    assert_true(written() >= (uint64_t)got);
    assert_int_equal(dropped(), 0);
}

static void a_reader_that_is_gone_is_counted(void **state)
{
    (void)state;
    assert_true(add(0, 100));
    assert_int_equal(outbox_flush(&box), SINK_OK);
    close(ends[0]);
    ends[0] = -1;
    for (int i = 1; i <= 5; i++) assert_true(add(i, 100));
    assert_int_equal(outbox_flush(&box), SINK_GONE);
    assert_int_equal(written(), 1);
    assert_int_equal(dropped(), 5);
    assert_int_equal(box.lost[LOSS_SINK_GONE], 5);
    assert_int_equal(sink_ready(&box.sink), SINK_GONE);
}

static void a_full_device_is_counted(void **state)
{
    (void)state;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(full >= 0);
    sink_use(&box.sink, full);
    for (int i = 0; i < 3; i++) assert_true(add(i, 100));
    assert_int_equal(outbox_flush(&box), SINK_FULL);
    assert_int_equal(box.lost[LOSS_DISK_FULL], 3);
    sink_use(&box.sink, ends[1]); /* space again: a line that was not begun owes no newline */
    assert_true(add(7, 10));
    assert_int_equal(outbox_flush(&box), SINK_OK);
    char text[64];
    assert_int_equal(read(ends[0], text, sizeof text), 10);
}

static void a_closed_descriptor_is_a_sink_that_is_gone(void **state)
{
    (void)state;
    int fd = dup(ends[1]);
    sink_use(&box.sink, fd);
    close(fd);
    assert_true(add(0, 100));
    assert_int_equal(outbox_flush(&box), SINK_GONE);
    assert_int_equal(dropped(), 1);
}

/* The file may grow to 1,000 bytes: the third line of 400 is cut, and lost. Then there is space
 * again, and the next line begins on a line of its own. */
static void after_a_cut_line_comes_a_newline(void **state)
{
    (void)state;
    char path[] = "/tmp/signals-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    sink_use(&box.sink, fd);
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){1000, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 4; i++) assert_true(add(i, 400));
    enum sink_result result = outbox_flush(&box);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(result, SINK_FULL);
    assert_int_equal(written(), 2);
    assert_int_equal(box.lost[LOSS_DISK_FULL], 2);
    assert_true(add(4, 400));
    assert_int_equal(outbox_flush(&box), SINK_OK);
    assert_int_equal(written(), 3);
    char *text = file_text(path);
    assert_int_equal(strlen(text), 1000 + 1 + 400);
    assert_int_equal(text[1000], '\n');
    assert_int_equal(atoi(text + 1001), 4);
    free(text);
    close(fd);
    unlink(path);
}

/* What a file holds, how our line is then written into it. */
static void a_file_that_ends_in_half_a_line_gets_a_newline(void **state)
{
    (void)state;
    static const struct {
        const char *holds;
        int flags;
        const char *then;
    } cases[] = {
        {"", O_APPEND, "0........\n"},
        {"whole\n", O_APPEND, "whole\n0........\n"},
        {"half", O_APPEND, "half\n0........\n"},
        {"half", 0, "0........\n"}, /* written over, from its start */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[] = "/tmp/signals-test-XXXXXX";
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, cases[i].holds, strlen(cases[i].holds)), strlen(cases[i].holds));
        close(fd);
        fd = open(path, O_WRONLY | O_CLOEXEC | cases[i].flags);
        sink_use(&box.sink, fd);
        assert_true(add(0, 10));
        assert_int_equal(outbox_flush(&box), SINK_OK);
        char *text = file_text(path);
        assert_string_equal(text, cases[i].then);
        free(text);
        close(fd);
        unlink(path);
    }
}

/* Opened by its path, as after a rotation that moved nothing. */
static void the_same_file_opened_anew_still_ends_in_half_a_line(void **state)
{
    (void)state;
    char path[] = "/tmp/signals-test-XXXXXX";
    close(mkstemp(path));
    struct settings_log log = {.sink = LOG_FILE, .file = span_of(path)};
    struct err e;
    assert_int_equal(sink_open(&box.sink, &log, &e), ERR_OK);
    for (int i = 0; i < 2; i++) {
        assert_true(add(i, 10));
        assert_int_equal(outbox_flush(&box), SINK_OK);
        FILE *other = fopen(path, "ae"); /* what a full disk leaves */
        fputs("half", other);
        fclose(other);
        assert_true(outbox_reopen(&box));
    }
    assert_true(add(2, 10));
    assert_int_equal(outbox_flush(&box), SINK_OK);
    char *text = file_text(path);
    assert_string_equal(text, "0........\nhalf\n1........\nhalf\n2........\n");
    free(text);
    sink_close(&box.sink);
    unlink(path);
}

/* A pipe is what it was, whoever opens it: half a line in it is still there. Another is empty. */
static void half_a_line_in_a_fifo_is_remembered(void **state)
{
    (void)state;
    char dir[] = "/tmp/signals-test-XXXXXX", path[64], text[64] = "";
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/fifo", dir);
    for (int same = 0; same < 2; same++) {
        assert_int_equal(mkfifo(path, 0600), 0);
        int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        struct settings_log log = {.sink = LOG_FILE, .file = span_of(path)};
        struct err e;
        assert_int_equal(sink_open(&box.sink, &log, &e), ERR_OK);
        box.sink.mid_line = true; /* no pipe takes half a line, but another device does */
        if (!same) {
            close(reader);
            unlink(path);
            assert_int_equal(mkfifo(path, 0600), 0);
            reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        }
        assert_true(outbox_reopen(&box));
        assert_true(add(0, 10));
        assert_int_equal(outbox_flush(&box), SINK_OK);
        ssize_t n = read(reader, text, sizeof text - 1);
        text[n > 0 ? n : 0] = '\0';
        assert_string_equal(text, same ? "\n0........\n" : "0........\n");
        sink_close(&box.sink);
        close(reader);
        unlink(path);
    }
    rmdir(dir);
}

static void the_box_has_an_end(void **state)
{
    (void)state;
    int made = 0, most = OUTBOX_LINES - OUTBOX_OWN_LINES;
    while (add(made, 12)) made++;
    assert_int_equal(made, most);
    outbox_lose_all(&box, LOSS_SHUTDOWN);
    assert_int_equal(box.lost[LOSS_SHUTDOWN], most);
    assert_int_equal(dropped(), most);
    for (made = 0; add(made, LINE_BYTES_MAX);) made++;
    assert_int_equal(made, OUTBOX_RECORD_BYTES / LINE_BYTES_MAX);
}

static int own_lines_added(void)
{
    int n = 0;
    for (char *room; (room = outbox_own_room(&box)); n++) {
        memset(room, '-', LINE_BYTES_MAX - 1);
        room[LINE_BYTES_MAX - 1] = '\n';
        outbox_add(&box, SITE_LOG_SUPPRESSED, LINE_BYTES_MAX);
    }
    return n;
}

/* Whatever records there are, in number or in bytes, and however the reader takes them out. */
static void records_leave_room_for_the_scribes_own_lines(void **state)
{
    (void)state;
    static const size_t sizes[] = {12, 300, LINE_BYTES_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int made = 0, k = 0; k < 40; k++) {
            while (add(made, sizes[i])) made++;
            outbox_flush(&box);
            drain();
        }
        for (int made = 0; add(made, sizes[i]);) made++;
        assert_true(own_lines_added() >= OUTBOX_OWN_LINES);
        assert_null(outbox_room(&box));
        outbox_lose_all(&box, LOSS_SHUTDOWN);
    }
}

static atomic_int interruptions;

static void interrupted(int number)
{
    (void)number;
    interruptions++;
}

static void *write_one(void *done)
{
    *(enum sink_result *)done = sink_write(&box.sink, "late\n", 5, &(size_t){0});
    return NULL;
}

/* A write that waits, and that signals interrupt (without SA_RESTART), is taken up again. */
static void an_interrupted_write_goes_on(void **state)
{
    (void)state;
    const struct sigaction action = {.sa_handler = interrupted};
    struct sigaction before;
    assert_int_equal(sigaction(SIGUSR2, &action, &before), 0);
    int full = 0;
    assert_int_equal(fcntl(ends[1], F_SETFL, O_WRONLY | O_NONBLOCK), 0);
    while (write(ends[1], "x", 1) == 1) full++;
    assert_int_equal(fcntl(ends[1], F_SETFL, O_WRONLY), 0);

    enum sink_result result = SINK_GONE;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_one, &result), 0);
    for (int i = 1; i <= 3; i++) {
        sleep_ms(20);
        assert_int_equal(pthread_kill(thread, SIGUSR2), 0);
        for (int ms = 0; interruptions < i && ms < 20000; ms++) sleep_ms(1);
        assert_int_equal(interruptions, i);
    }
    char *taken = malloc((size_t)full);
    for (ssize_t n, got = 0; got < full; got += n) {
        n = read(ends[0], taken, (size_t)(full - got));
        assert_true(n > 0);
    }
    free(taken);
    pthread_join(thread, NULL);
    assert_int_equal(result, SINK_OK);
    char text[8];
    assert_int_equal(read(ends[0], text, sizeof text), 5);
    assert_memory_equal(text, "late\n", 5);
    sigaction(SIGUSR2, &before, NULL);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
#define ON_PIPE(test) cmocka_unit_test_setup_teardown(test, pipe_open, ends_close)
#define ON_SOCKET(test)                                      \
    {                                                        \
#test "_socket", test, socket_open, ends_close, NULL \
    }
    const struct CMUnitTest tests[] = {
        ON_PIPE(a_stopped_reader_is_waited_for),
        ON_SOCKET(a_stopped_reader_is_waited_for),
        ON_PIPE(a_nonblocking_description_is_waited_for),
        ON_SOCKET(a_nonblocking_description_is_waited_for),
        ON_PIPE(no_write_on_a_pipe_is_longer_than_it_takes_whole),
        ON_PIPE(a_full_box_has_room_again),
        ON_PIPE(a_reader_that_is_gone_is_counted),
        ON_SOCKET(a_reader_that_is_gone_is_counted),
        ON_PIPE(a_full_device_is_counted),
        ON_PIPE(a_closed_descriptor_is_a_sink_that_is_gone),
        ON_PIPE(after_a_cut_line_comes_a_newline),
        ON_PIPE(a_file_that_ends_in_half_a_line_gets_a_newline),
        ON_PIPE(the_same_file_opened_anew_still_ends_in_half_a_line),
        ON_PIPE(half_a_line_in_a_fifo_is_remembered),
        ON_PIPE(an_interrupted_write_goes_on),
        ON_PIPE(the_box_has_an_end),
        ON_PIPE(records_leave_room_for_the_scribes_own_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
