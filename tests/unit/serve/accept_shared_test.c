/* A listening socket that somebody else made, and that waits in accept. */
#include "serve/accept_shared.h"

#include "serve/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct accept_shared shared;
static int listener;
static struct sockaddr_in address;

static int fresh(void **state)
{
    (void)state;
    socklen_t len = sizeof address;
    address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, len) < 0 || listen(listener, 16) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &len) < 0)
        return -1;
    return accept_shared_open(&shared);
}

static int done(void **state)
{
    (void)state;
    accept_shared_close(&shared);
    return close(listener);
}

static void accepts_none(void)
{
    errno = 0;
    assert_int_equal(accept_shared(&shared, listener), -1);
    assert_int_equal(errno, EAGAIN);
}

static int caller(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* It did not return: the one that poll told of was taken by another process. */
static void nobody_is_there(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) accepts_none();
}

static void takes_who_is_there(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        int theirs = caller(), ours = accept_shared(&shared, listener);
        assert_true(ours >= 0);
        assert_true(fcntl(ours, F_GETFL) & O_NONBLOCK);
        assert_true(fcntl(ours, F_GETFD) & FD_CLOEXEC);
        close(ours);
        close(theirs);
        accepts_none();
    }
}

static void the_socket_stays_as_it_was(void **state)
{
    (void)state;
    int flags = fcntl(listener, F_GETFL);
    assert_false(flags & O_NONBLOCK);
    accepts_none();
    assert_int_equal(fcntl(listener, F_GETFL), flags);
    /* Where its holder wants it not to wait, it does not. */
    assert_int_equal(fcntl(listener, F_SETFL, flags | O_NONBLOCK), 0);
    accepts_none();
    assert_int_equal(fcntl(listener, F_GETFL), flags | O_NONBLOCK);
}

static void other_errors_are_told(void **state)
{
    (void)state;
    assert_int_equal(accept_shared(&shared, -1), -1);
    assert_int_equal(errno, EBADF);
    shutdown(listener, SHUT_RDWR);
    assert_int_equal(accept_shared(&shared, listener), -1);
    assert_int_equal(errno, EINVAL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, done)
    const struct CMUnitTest tests[] = {
        TEST(nobody_is_there),
        TEST(takes_who_is_there),
        TEST(the_socket_stays_as_it_was),
        TEST(other_errors_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
