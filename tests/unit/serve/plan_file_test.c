/* A plan's text out of files, and out of what only looks like one. */
#include "serve/plan_file.h"

#include "base/clock.h"
#include "plan/plan_load.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { LONG_MS = 20000, SHORT_MS = 60 };

static char path[64];

static void sleep_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static int fresh(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/interlude-plan-%d", (int)getpid());
    unlink(path);
    return 0;
}

static int done(void **state)
{
    (void)state;
    return unlink(path) == 0 || rmdir(path) == 0 || errno == ENOENT ? 0 : -1;
}

static void reads(const char *expected)
{
    struct plan_file file;
    struct err e;
    if (plan_file_read(path, LONG_MS, -1, &file, &e)) fail_msg("%s", e.text);
    assert_int_equal(file.len, strlen(expected));
    assert_memory_equal(file.memory, expected, file.len);
    free(file.memory);
}

static void refuses(int limit_ms, int cancel_fd, const char *says)
{
    struct plan_file file;
    struct err e;
    uint64_t begun_ns = clock_mono_ns();
    assert_int_equal(plan_file_read(path, limit_ms, cancel_fd, &file, &e), ERR_PLAN_INVALID);
    assert_true(clock_mono_ns() - begun_ns < LONG_MS / 2 * 1000000ull);
    assert_non_null(strstr(e.text, path));
    if (!strstr(e.text, says)) fail_msg("%s", e.text);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void files(void **state)
{
    (void)state;
    refuses(LONG_MS, -1, "No such file");
    write_file("");
    reads("");
    write_file("version: 1\n");
    reads("version: 1\n");
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    refuses(LONG_MS, -1, "Is a directory");
}

static void no_more_than_a_plan_may_have(void **state)
{
    (void)state;
    assert_int_equal(symlink("/dev/zero", path), 0);
    struct plan_file file;
    struct err e;
    assert_int_equal(plan_file_read(path, LONG_MS, -1, &file, &e), ERR_OK);
    assert_int_equal(file.len, PLAN_BYTES_MAX + 1);
    free(file.memory);
}

static void a_fifo_without_a_writer_ends_at_the_limit(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    refuses(SHORT_MS, -1, "nobody wrote to it within 60 ms");
}

static void a_writer_that_stops_halfway_ends_at_the_limit(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(write(fd, "version", 7), 7);
    refuses(SHORT_MS, -1, "it did not end within 60 ms");
    close(fd);
}

static _Atomic int pause_us;

/* Until nobody reads any more. */
static void *write_endlessly(void *bytes)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    static const char text[4096] = "#";
    while (write(fd, text, *(size_t *)bytes) > 0)
        if (pause_us) usleep((useconds_t)pause_us);
    close(fd);
    return NULL;
}

/* A writer that never ends: whether it comes to what a plan may have, or to the limit of time. */
static void a_writer_without_an_end(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    struct plan_file file;
    struct err e;
    pthread_t thread;
    size_t bytes = 4096;
    assert_int_equal(pthread_create(&thread, NULL, write_endlessly, &bytes), 0);
    assert_int_equal(plan_file_read(path, LONG_MS, -1, &file, &e), ERR_OK);
    pthread_join(thread, NULL);
    assert_int_equal(file.len, PLAN_BYTES_MAX + 1);
    free(file.memory);

    bytes = 1;
    pause_us = 1000;
    assert_int_equal(pthread_create(&thread, NULL, write_endlessly, &bytes), 0);
    refuses(SHORT_MS, -1, "within 60 ms");
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* where it comes only now */
    close(fd);
    pthread_join(thread, NULL);
    pause_us = 0;
}

static void who_stops_the_server_does_not_wait(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    int stop_fd = eventfd(1, EFD_CLOEXEC);
    refuses(LONG_MS, stop_fd, "the server is stopping");
    close(stop_fd);
}

static void *write_in_parts(void *text)
{
    sleep_ms(30);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    for (const char *at = text; fd >= 0 && *at; at++) {
        if (write(fd, at, 1) != 1) break;
        sleep_ms(2);
    }
    close(fd);
    return NULL;
}

/* A writer that comes late, and one that writes nothing at all. */
static void fifos(void **state)
{
    (void)state;
    static char parts[] = "version: 1\n", nothing[] = "";
    assert_int_equal(mkfifo(path, 0600), 0);
    char *const texts[] = {parts, nothing};
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, write_in_parts, texts[i]), 0);
        reads(texts[i]);
        pthread_join(thread, NULL);
    }
}

static void *close_later(void *fd)
{
    sleep_ms(30);
    close(*(int *)fd);
    return NULL;
}

/* What a shell's <(command) is: the pipe's writer is there still, or has gone before. */
static void process_substitution(void **state)
{
    (void)state;
    for (int gone = 0; gone < 2; gone++) {
        int ends[2];
        char link[64];
        pthread_t thread;
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(write(ends[1], "version: 1\n", 11), 11);
        snprintf(link, sizeof link, "/dev/fd/%d", ends[0]);
        unlink(path);
        assert_int_equal(symlink(link, path), 0);
        assert_int_equal(pthread_create(&thread, NULL, close_later, &ends[1]), 0);
        if (gone) pthread_join(thread, NULL);
        reads("version: 1\n");
        if (!gone) pthread_join(thread, NULL);
        close(ends[0]);
    }
}

/* ---- stdin ---- */

/* Puts `fd` in the place of stdin; the real one comes back by stdin_restore. */
static int stdin_replace(int fd)
{
    int real = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    assert_true(dup2(fd, STDIN_FILENO) == STDIN_FILENO);
    return real;
}

static void stdin_restore(int real)
{
    if (real < 0) {
        close(STDIN_FILENO);
        return;
    }
    dup2(real, STDIN_FILENO);
    close(real);
}

static int ends[2];

static void *write_late(void *argument)
{
    (void)argument;
    for (const char *c = "version: 1\n"; *c; c++) {
        sleep_ms(SHORT_MS / 5);
        if (write(ends[1], c, 1) != 1) return NULL;
    }
    close(ends[1]);
    return &ends;
}

/* However late it comes: there is no limit but its end. Nor is a flag of it changed. */
static void stdin_is_read_to_its_end(void **state)
{
    (void)state;
    struct plan_file file;
    struct err e;
    pthread_t thread;
    void *whole = NULL;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    int flags = fcntl(ends[0], F_GETFL), real = stdin_replace(ends[0]);
    assert_int_equal(pthread_create(&thread, NULL, write_late, NULL), 0);
    enum err_code code = plan_file_read("-", SHORT_MS / 5, -1, &file, &e);
    pthread_join(thread, &whole);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFL), flags);
    stdin_restore(real);
    close(ends[0]);
    if (code) fail_msg("%s", e.text);
    assert_non_null(whole);
    assert_int_equal(file.len, strlen("version: 1\n"));
    assert_memory_equal(file.memory, "version: 1\n", file.len);
    free(file.memory);
}

static void who_stops_the_server_does_not_wait_for_stdin(void **state)
{
    (void)state;
    struct plan_file file;
    struct err e;
    int stop = eventfd(1, EFD_CLOEXEC);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    int real = stdin_replace(ends[0]);
    enum err_code code = plan_file_read("-", LONG_MS, stop, &file, &e);
    stdin_restore(real);
    assert_int_equal(code, ERR_PLAN_INVALID);
    assert_string_equal(e.text, "stdin was not read to its end: the server is stopping");
    close(ends[0]);
    close(ends[1]);
    close(stop);
}

static void what_it_is_called(void **state)
{
    (void)state;
    assert_string_equal(plan_file_name(NULL), "built-in");
    assert_string_equal(plan_file_name("-"), "-");
    assert_string_equal(plan_file_name("/etc/plan.yaml"), "/etc/plan.yaml");
    assert_true(plan_file_is_stdin("-"));
    assert_false(plan_file_is_stdin("./-"));
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, done)
    const struct CMUnitTest tests[] = {
        TEST(files),
        TEST(no_more_than_a_plan_may_have),
        TEST(a_fifo_without_a_writer_ends_at_the_limit),
        TEST(a_writer_that_stops_halfway_ends_at_the_limit),
        TEST(a_writer_without_an_end),
        TEST(who_stops_the_server_does_not_wait),
        TEST(fifos),
        TEST(process_substitution),
        TEST(stdin_is_read_to_its_end),
        TEST(who_stops_the_server_does_not_wait_for_stdin),
        TEST(what_it_is_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
