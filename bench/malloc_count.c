/* malloc_count: counts, thread by thread, the allocations and the locks of a program that knows
 * nothing of it.
 *
 *   MALLOC_COUNT_FILE=FILE LD_PRELOAD=malloc_count.so PROGRAM ...
 *
 * The counts lie in FILE, mapped and shared, so that someone outside reads them at any moment
 * without a word to the program: an array of `struct slot`, one a thread in order of first use,
 * native byte order. A slot has one writer, its thread; a reader on the same machine sees 64-bit
 * values whole.
 *
 * Counted are the C library's entry points that a program reaches by name. What the C library does
 * inside (a lock in stdio, say) shows as the call that caused it, or not at all: strace's futex and
 * brk lines are the second witness. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLOTS = 256 };

struct slot {
    uint64_t tid, allocations, frees, locks;
};

static struct slot private_slots[SLOTS];
static struct slot *_Atomic slots = private_slots;
static _Atomic unsigned slots_used;
/* initial-exec: the dynamic TLS of a library may allocate on first use. */
static __thread struct slot *own __attribute__((tls_model("initial-exec")));

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

/* Before main. The counts until then are the loader's and stay behind. */
__attribute__((constructor)) static void slots_open(void)
{
    const char *path = getenv("MALLOC_COUNT_FILE");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0 || ftruncate(fd, sizeof private_slots)) return;
    void *shared = mmap(NULL, sizeof private_slots, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (shared == MAP_FAILED) return;
    atomic_store(&slots_used, 0);
    own = NULL;
    atomic_store(&slots, shared);
}

static struct slot *slot_own(void)
{
    if (own) return own;
    unsigned at = atomic_fetch_add(&slots_used, 1);
    own = &atomic_load(&slots)[at < SLOTS ? at : SLOTS - 1];
    own->tid = (uint64_t)syscall(SYS_gettid);
    return own;
}

void *malloc(size_t size)
{
    slot_own()->allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    slot_own()->allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    slot_own()->allocations++;
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size)
{
    slot_own()->allocations++;
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (alignment % sizeof(void *) || alignment == 0 || alignment & (alignment - 1)) return EINVAL;
    void *got = memalign(alignment, size);
    if (!got) return ENOMEM;
    *out = got;
    return 0;
}

void free(void *old)
{
    if (old) slot_own()->frees++;
    __libc_free(old);
}

/* Defines NAME as: count a lock, then call the C library's own. */
#define LOCK(NAME, PARAMETERS, ARGUMENTS)                                          \
    int NAME PARAMETERS                                                            \
    {                                                                              \
        static int(*_Atomic real) PARAMETERS;                                      \
        int(*call) PARAMETERS = atomic_load_explicit(&real, memory_order_relaxed); \
        if (!call) {                                                               \
            call = (int(*) PARAMETERS)dlsym(RTLD_NEXT, #NAME);                     \
            atomic_store_explicit(&real, call, memory_order_relaxed);              \
        }                                                                          \
        slot_own()->locks++;                                                       \
        return call ARGUMENTS;                                                     \
    }

LOCK(pthread_mutex_lock, (pthread_mutex_t * lock), (lock))
LOCK(pthread_mutex_trylock, (pthread_mutex_t * lock), (lock))
LOCK(pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
LOCK(pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
LOCK(pthread_spin_lock, (pthread_spinlock_t * lock), (lock))
LOCK(sem_wait, (sem_t * sem), (sem))
