/* Loaded before the C library: a thread whose name stands in the file $STUCK_FILE, each name on a
 * line of its own, does not return from write() or epoll_wait() as long as it stands there. So a
 * disk or a mount hangs, and a loop. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static int is_stuck(void)
{
    char name[16], line[32];
    int stuck = 0;
    FILE *file = fopen(getenv("STUCK_FILE"), "re");
    if (!file) return 0;
    pthread_getname_np(pthread_self(), name, sizeof name);
    while (!stuck && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        stuck = strcmp(line, name) == 0;
    }
    fclose(file);
    return stuck;
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    while (is_stuck()) usleep(5000);
    return real(fd, bytes, n);
}

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
    static int (*real)(int, struct epoll_event *, int, int);
    if (!real) real = (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
    int n = real(fd, events, max, timeout_ms);
    while (is_stuck()) usleep(5000);
    return n;
}
