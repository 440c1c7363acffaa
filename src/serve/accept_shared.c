#include "serve/accept_shared.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

/* The C library's name for it came later than the kernel's. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* That it is handled is enough: a system call that waits then returns. */
static void interrupt(int number)
{
    (void)number;
}

int accept_shared_open(struct accept_shared *s)
{
    struct sigaction action = {.sa_handler = interrupt}; /* without SA_RESTART */
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGRTMIN, &action, NULL) < 0) return errno;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    int error = pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    if (error) return error;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
    event.sigev_notify_thread_id = gettid();
    return timer_create(CLOCK_MONOTONIC, &event, &s->timer) < 0 ? errno : 0;
}

void accept_shared_close(struct accept_shared *s)
{
    timer_delete(s->timer);
}

int accept_shared(struct accept_shared *s, int listen_fd)
{
    const struct timespec turn = {.tv_nsec = ACCEPT_SHARED_WAIT_MS * 1000000};
    const struct itimerspec on = {.it_value = turn, .it_interval = turn}, off = {0};
    if (timer_settime(s->timer, 0, &on, NULL) < 0) return -1;
    int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    int error = errno;
    timer_settime(s->timer, 0, &off, NULL);
    errno = error == EINTR ? EAGAIN : error;
    return fd;
}
