/* accept_shared: accepting from a listening socket that is shared with other processes, without
 * ever waiting there.
 *
 * Whether accept waits is a flag (O_NONBLOCK) of what all holders of such a socket share. It is not
 * ours to set: another holder may count on waiting, or on not waiting, and may set it back at any
 * time. That poll says somebody is there does not help either: another process may take him first,
 * and then accept waits for the next one, which may be for ever. So while accept runs, a timer
 * interrupts it by a signal to this one thread, again and again until it has returned: there is no
 * moment at which the signal could come too early to count.
 *
 * Threads: open, accept and close on one thread, the one that accepts. It uses SIGRTMIN, for the
 * whole process; no other part may. Ownership: the caller's struct. */
#ifndef INTERLUDE_SERVE_ACCEPT_SHARED_H
#define INTERLUDE_SERVE_ACCEPT_SHARED_H

#include <time.h>

enum { ACCEPT_SHARED_WAIT_MS = 2 };

struct accept_shared {
    timer_t timer;
};

/* 0, or what the system says against it (an errno): it has no more timers. */
int accept_shared_open(struct accept_shared *s);
void accept_shared_close(struct accept_shared *s);

/* As accept4 with SOCK_NONBLOCK | SOCK_CLOEXEC on a socket that does not wait: -1 and EAGAIN where
 * nobody is there, which it may take some ACCEPT_SHARED_WAIT_MS to find out. */
int accept_shared(struct accept_shared *s, int listen_fd);

#endif
