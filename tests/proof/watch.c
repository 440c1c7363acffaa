/* watch: sees every system call that a worker makes.
 *
 *   WATCH_FILE=FILE [WATCH_CLOCK=1] LD_PRELOAD=watch.so interlude serve ...
 *
 * The program knows nothing of it. epoll_wait, recv, send and what a connection's life needs are
 * interposed, to be counted. When the test says so (`arm`, in the shared FILE), each thread named
 * worker* puts itself under a seccomp filter that lets those calls through. Any other is a *stray*:
 * the kernel stops the thread and tells a thread of ours, which notes the call and from where it
 * came, and lets it go on. (SECCOMP_RET_USER_NOTIF and not RET_TRAP: a handler that runs on the
 * worker would change what it does, could tell of nothing while signals are blocked, and would hide
 * the second fault behind the first.) The test judges; nothing here decides what is allowed when.
 *
 * A stray's *turn* is the number of waits that were entered before it, so that a test can tell what
 * a thread did in its last turn, while it ended, from what it did for requests.
 *
 * FILE is an array of 64-bit words in native order, as `struct watch_file` has them. A thread's
 * counts have one writer. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WORKERS_MAX = 16, STRAYS_MAX = 64, NAME_BYTES = 16 };

struct stray {
    uint64_t call, turn;
    uint64_t from; /* an address in the program, as its file has it; 0: not found */
};

struct watch_worker {
    uint64_t tid;
    _Atomic uint64_t waits, receives, sends, others; /* others: epoll_ctl, shutdown, close */
    _Atomic uint64_t switches;                       /* voluntary ones, outside epoll_wait */
    _Atomic uint64_t armed;                          /* errno + 2 where it could not be */
    _Atomic uint64_t stray_count;                    /* beyond STRAYS_MAX they are only counted */
    struct stray strays[STRAYS_MAX];
};

struct watch_file {
    _Atomic uint64_t arm, worker_count;
    struct watch_worker workers[WORKERS_MAX];
};

static struct watch_file *watched;
static bool clock_asks; /* the machine's clock can't be read in user space */
static char program_name[NAME_BYTES];
static uintptr_t program_at, text_begin, text_end;

/* initial-exec: the dynamic TLS of a library may allocate on first use. */
static __thread struct watch_worker *own __attribute__((tls_model("initial-exec")));
static __thread bool settled __attribute__((tls_model("initial-exec")));
static __thread struct rusage usage __attribute__((tls_model("initial-exec")));
/* What there were when epoll_wait returned, and 1; 0: it never did. */
static __thread uint64_t switches_seen __attribute__((tls_model("initial-exec")));

static int program_find(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    program_at = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
        text_begin = program_at + segment->p_vaddr;
        text_end = text_begin + segment->p_memsz;
    }
    return 1; /* the program itself is told of first */
}

__attribute__((constructor)) static void watch_open(void)
{
    const char *path = getenv("WATCH_FILE");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0 || ftruncate(fd, sizeof *watched)) return;
    void *shared = mmap(NULL, sizeof *watched, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (shared == MAP_FAILED) return;
    prctl(PR_GET_NAME, program_name);
    dl_iterate_phdr(program_find, NULL);
    const char *clock = getenv("WATCH_CLOCK");
    clock_asks = clock && *clock == '1';
    watched = shared;
}

/* ---- who is told of strays ---- */

/* Where in the program the stopped thread is, most likely: the first word on its stack that points
 * into the program's text. */
static uint64_t stray_from(uint64_t tid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%llu/syscall", (unsigned long long)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    char *last = got > 0 ? strrchr(text, ' ') : NULL;
    if (!last) return 0;
    *last = '\0';
    char *before = strrchr(text, ' ');
    if (!before) return 0;

    uintptr_t stack[1024], at = strtoull(before, NULL, 16);
    struct iovec to = {stack, sizeof stack}, from = {(void *)at, sizeof stack};
    ssize_t bytes = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    for (ssize_t i = 0; i < bytes / (ssize_t)sizeof *stack; i++)
        if (stack[i] >= text_begin && stack[i] < text_end) return stack[i] - program_at;
    return 0;
}

struct listener {
    struct watch_worker *worker;
    _Atomic int fd; /* -1: not yet; -2: there will be none */
};

static void stray_note(struct watch_worker *worker, uint64_t call)
{
    uint64_t at = atomic_load(&worker->stray_count);
    if (at < STRAYS_MAX)
        worker->strays[at] =
            (struct stray){call, atomic_load(&worker->waits), stray_from(worker->tid)};
    atomic_store(&worker->stray_count, at + 1);
}

static void *listener_run(void *argument)
{
    struct listener *l = argument;
    while (atomic_load(&l->fd) == -1) usleep(1000);
    struct pollfd wait = {atomic_load(&l->fd), POLLIN, 0};
    while (wait.fd >= 0 && poll(&wait, 1, -1) >= 0 && !(wait.revents & POLLHUP)) {
        struct seccomp_notif told = {0};
        if (ioctl(wait.fd, SECCOMP_IOCTL_NOTIF_RECV, &told) < 0) continue;
        stray_note(l->worker, (uint64_t)told.data.nr);
        struct seccomp_notif_resp answer = {.id = told.id,
                                            .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        ioctl(wait.fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
    if (wait.fd >= 0) syscall(SYS_close, wait.fd);
    free(l);
    return NULL;
}

/* All signals blocked: none may come to this thread that is meant for the program's. */
static struct listener *listener_start(void)
{
    struct listener *l = malloc(sizeof *l);
    if (!l) return NULL;
    l->worker = own;
    atomic_init(&l->fd, -1);
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&thread, NULL, listener_run, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error) {
        pthread_detach(thread);
        return l;
    }
    free(l);
    return NULL;
}

/* ---- the filter ---- */

#define LET_THROUGH(call)                                  \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void worker_arm(void)
{
    struct listener *l = listener_start();
    if (!l) {
        atomic_store(&own->armed, ENOMEM + 2);
        return;
    }
    /* getrusage, only where it writes to `usage`, is our own question. */
    uint32_t usage_low = (uint32_t)(uintptr_t)&usage;
    uint32_t usage_high = (uint32_t)((uint64_t)(uintptr_t)&usage >> 32);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_epoll_wait
        LET_THROUGH(epoll_wait),
#endif
        LET_THROUGH(epoll_pwait),
        LET_THROUGH(recvfrom),
        /* Not to stdin, stdout or stderr, which may be sockets. */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendto, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, STDERR_FILENO, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        LET_THROUGH(epoll_ctl),
        LET_THROUGH(shutdown),
        LET_THROUGH(close),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, clock_asks ? SECCOMP_RET_ALLOW : SECCOMP_RET_USER_NOTIF),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, usage_low, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1]) + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, usage_high, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    int fd = -1;
    if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                          &program);
    atomic_store(&own->armed, fd >= 0 ? 1 : (uint64_t)errno + 2);
    atomic_store(&l->fd, fd >= 0 ? fd : -2);
}

/* A thread has its name only a moment after it began: it may have waited once without. */
static void thread_settle(void)
{
    if (!watched || settled) return;
    char name[NAME_BYTES] = "";
    prctl(PR_GET_NAME, name);
    if (!strcmp(name, program_name)) return;
    settled = true;
    if (strncmp(name, "worker", 6)) return;
    uint64_t at = atomic_fetch_add(&watched->worker_count, 1);
    if (at >= WORKERS_MAX) return;
    watched->workers[at].tid = (uint64_t)syscall(SYS_gettid);
    own = &watched->workers[at];
}

static void count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* How often the thread has given up its core of its own will. */
static uint64_t switches_now(void)
{
    syscall(SYS_getrusage, RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_nvcsw;
}

/* ---- what is interposed ---- */

int epoll_wait(int fd, struct epoll_event *events, int events_max, int timeout_ms)
{
    thread_settle();
    if (!own) return epoll_pwait(fd, events, events_max, timeout_ms, NULL);
    uint64_t here = switches_now();
    if (switches_seen) count(&own->switches, here - (switches_seen - 1));
    count(&own->waits, 1);
    if (atomic_load(&watched->arm) && !atomic_load(&own->armed)) worker_arm();
    int n = epoll_pwait(fd, events, events_max, timeout_ms, NULL);
    int error = errno;
    switches_seen = switches_now() + 1;
    errno = error;
    return n;
}

ssize_t recv(int fd, void *to, size_t bytes, int flags)
{
    thread_settle();
    if (own) count(&own->receives, 1);
    return recvfrom(fd, to, bytes, flags, NULL, NULL);
}

ssize_t send(int fd, const void *from, size_t bytes, int flags)
{
    if (own) count(&own->sends, 1);
    return sendto(fd, from, bytes, flags, NULL, 0);
}

int epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event)
{
    if (own) count(&own->others, 1);
    return (int)syscall(SYS_epoll_ctl, epoll_fd, operation, fd, event);
}

int shutdown(int fd, int how)
{
    if (own) count(&own->others, 1);
    return (int)syscall(SYS_shutdown, fd, how);
}

int close(int fd)
{
    if (own) count(&own->others, 1);
    return (int)syscall(SYS_close, fd);
}
