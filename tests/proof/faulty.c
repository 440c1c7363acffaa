/* request_serve as it is, behind one fault: what the proof must not let pass. FAULT_... says which;
 * without one nothing is wrong, so that a proof that cries at everything is found out, too.
 *
 * Built with the program's own flags and linked in the place of request_serve.o. */
#define request_serve request_serve_sound
#include "serve/request_serve.c"
#undef request_serve

#include "base/arena.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct request_outcome request_serve(struct request_context *x, struct span body,
                                     struct http_head *head, struct buf *out);

static inline void fault(size_t body_bytes)
{
#if defined FAULT_PRINTF
    printf("a body of %zu bytes\n", body_bytes);
#elif defined FAULT_STDERR
    if (write(2, "a request\n", 10) < 0) abort();
#elif defined FAULT_SEND /* where stderr is a socket, a log line */
    if (send(2, "a request\n", 10, MSG_DONTWAIT | MSG_NOSIGNAL) > 10) abort();
#elif defined FAULT_MALLOC
    void *volatile copy = malloc(body_bytes + 1);
    free(copy);
#elif defined FAULT_MUTEX
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
#elif defined FAULT_SLEEP
    const struct timespec nap = {.tv_nsec = 1000};
    nanosleep(&nap, NULL);
#elif defined FAULT_ARENA  /* a function that is in the program, but not for requests */
    struct arena arena;
    arena_init(&arena, NULL);
    memset(arena_alloc(&arena, 64), 0, 64);
    arena_done(&arena);
#elif defined FAULT_FORMAT /* through a symbol that is allowed */
    struct err e;
    err_set(&e, ERR_INTERNAL, "%.*f", 20000, (double)body_bytes);
#elif defined FAULT_ASM    /* without any symbol */
    long result;
#if defined __x86_64__
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_getppid) : "rcx", "r11", "memory");
#elif defined __aarch64__
    register long number __asm__("x8") = SYS_getppid;
    register long x0 __asm__("x0");
    __asm__ volatile("svc 0" : "=r"(x0) : "r"(number) : "memory");
    result = x0;
#endif
    (void)result;
#endif
    (void)body_bytes;
}

struct request_outcome request_serve(struct request_context *x, struct span body,
                                     struct http_head *head, struct buf *out)
{
    fault(body.len);
    return request_serve_sound(x, body, head, out);
}
