#include "lab/target_cpu.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static double own_cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Uses 50 ms of processor time, says so, and waits to be ended. */
static void work(int told)
{
    while (own_cpu_s() < 0.05) continue;
    pid_t self = getpid();
    if (write(told, &self, sizeof self) != sizeof self) _exit(1);
    for (;;) pause();
}

/* A master that does nothing, a process below it, and below that the one that works; each ends with
 * the one above it. */
static pid_t family_start(int generations, pid_t *worker)
{
    int told[2];
    assert_int_equal(pipe(told), 0);
    pid_t master = fork();
    assert_true(master >= 0);
    if (master == 0) {
        for (int i = 0;; i++) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (i == generations) work(told[1]);
            if (fork() != 0)
                for (;;) pause();
        }
    }
    close(told[1]);
    assert_int_equal(read(told[0], worker, sizeof *worker), sizeof *worker);
    close(told[0]);
    return master;
}

static int descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static bool sleeps(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    const char *after = strrchr(text, ')');
    return after && after[1] == ' ' && after[2] == 'S';
}

/* While a process runs or waits for a core, what the kernel tells of its time may be a tick old, or
 * more where ticks are late: it is asked once the process sleeps. */
static void sleep_await(pid_t pid)
{
    time_t end = time(NULL) + 60;
    while (!sleeps(pid)) {
        assert_true(time(NULL) < end);
        usleep(1000);
    }
}

static void the_processes_below_count(void **state)
{
    (void)state;
    int before = descriptors();
    for (int generations = 0; generations <= 2; generations++) {
        pid_t worker;
        pid_t master = family_start(generations, &worker);
        double seconds = 0, of_worker = 0;
        struct err e;
        sleep_await(worker);
        assert_int_equal(target_cpu_of_pid(worker, &of_worker, &e), ERR_OK);
        assert_int_equal(target_cpu_of_pid(master, &seconds, &e), ERR_OK);
        kill(master, SIGKILL);
        waitpid(master, NULL, 0);
        assert_true(of_worker >= 0.05);
        assert_true(seconds >= of_worker);
    }
    assert_int_equal(descriptors(), before);
}

static void a_process_that_is_not_there(void **state)
{
    (void)state;
    pid_t gone = fork();
    assert_true(gone >= 0);
    if (gone == 0) _exit(0);
    waitpid(gone, NULL, 0);
    double seconds = 7;
    struct err e;
    assert_int_equal(target_cpu_of_pid(gone, &seconds, &e), ERR_SYSTEM);
    assert_true(seconds == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_processes_below_count),
        cmocka_unit_test(a_process_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
