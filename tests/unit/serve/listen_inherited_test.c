/* What LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES say. Each row runs in a child of its own, which
 * has the descriptors from 3 on; what a server makes of them is in tests/flow/inherit_flow.py. */
#include "serve/listen_inherited.h"

#include "serve/listen.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum pid { MINE, ANOTHERS, NONE, NONSENSE };

static const struct row {
    enum pid pid;
    const char *fds, *names; /* NULL: not set */
    int decide, admin;
    const char *told; /* NULL: no error */
} rows[] = {
    {MINE, NULL, NULL, 0, 0, NULL},
    {MINE, "0", NULL, 0, 0, NULL},
    {MINE, "1", NULL, 3, 0, NULL},
    {MINE, "2", NULL, 3, 4, NULL},
    {MINE, "2", "", 3, 4, NULL},
    {MINE, "2", "decide:admin", 3, 4, NULL},
    {MINE, "2", "admin:decide", 4, 3, NULL},
    {MINE, "1", "admin", 0, 3, NULL},
    {ANOTHERS, "2", "decide:admin", 0, 0, NULL},
    {ANOTHERS, "x", "x", 0, 0, NULL},
    {NONE, "2", "decide:admin", 0, 0, NULL},
    {NONSENSE, "1", NULL, 0, 0, "LISTEN_PID is `1x`"},
    {MINE, "3", NULL, 0, 0, "LISTEN_FDS is `3`"},
    {MINE, "-1", NULL, 0, 0, "LISTEN_FDS is `-1`"},
    {MINE, "", NULL, 0, 0, "LISTEN_FDS is ``"},
    {MINE, " 1", NULL, 0, 0, "LISTEN_FDS is ` 1`"},
    {MINE, "1 ", NULL, 0, 0, "LISTEN_FDS is `1 `"},
    {MINE, "99999999999999999999", NULL, 0, 0, "LISTEN_FDS is `99999999999999999999`"},
    {MINE, "2", "decide", 0, 0, "LISTEN_FDNAMES has 1 names, and LISTEN_FDS says 2"},
    {MINE, "1", "decide:", 0, 0, "LISTEN_FDNAMES has 2 names, and LISTEN_FDS says 1"},
    {MINE, "2", "decide:", 0, 0, "`` is not known"},
    {MINE, "2", "decide:decide", 0, 0, "two sockets named `decide`"},
    {MINE, "1", "deci", 0, 0, "`deci` is not known"},
};

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* Says on stdout what differs, and ends the child. */
static _Noreturn void child(const struct row *row)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)(row->pid == MINE ? getpid() : getppid()));
    set("LISTEN_PID", row->pid == NONE ? NULL : row->pid == NONSENSE ? "1x" : pid);
    set("LISTEN_FDS", row->fds);
    set("LISTEN_FDNAMES", row->names);
    struct listen_inherited got = {-7, -7};
    struct err e = {0};
    enum err_code code = listen_inherit(&got, &e);
    if (row->told) {
        if (code != ERR_USAGE || !strstr(e.text, row->told)) printf("# told: %s\n", e.text);
        if (code != ERR_USAGE || !strstr(e.text, row->told)) exit(1);
        if (got.decide != -7 || got.admin != -7) exit(2);
    } else {
        if (code != ERR_OK) printf("# told: %s\n", e.text);
        if (code != ERR_OK || got.decide != row->decide || got.admin != row->admin) exit(3);
        if (got.decide && !(fcntl(got.decide, F_GETFD) & FD_CLOEXEC)) exit(4);
        if (got.admin && !(fcntl(got.admin, F_GETFD) & FD_CLOEXEC)) exit(4);
    }
    exit(getenv("LISTEN_PID") || getenv("LISTEN_FDS") || getenv("LISTEN_FDNAMES") ? 5 : 0);
}

static void the_variables(void **state)
{
    (void)state;
    char bound[ADDRESS_TEXT_MAX];
    struct err e;
    int a, b;
    assert_int_equal(listen_open(SPAN("127.0.0.1:0"), &a, bound, &e), ERR_OK);
    assert_int_equal(listen_open(SPAN("127.0.0.1:0"), &b, bound, &e), ERR_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fflush(stdout);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            int high_a = fcntl(a, F_DUPFD, 100), high_b = fcntl(b, F_DUPFD, 101);
            if (dup2(high_a, 3) != 3 || dup2(high_b, 4) != 4) _exit(99);
            child(&rows[i]);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status) fail_msg("row %zu: %#x", i, (unsigned)status);
    }
    close(a);
    close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_variables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
