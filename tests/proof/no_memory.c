/* no_memory: makes the allocations of a program that knows nothing of it fail, by number.
 *
 *   NO_MEMORY_FILE=FILE LD_PRELOAD=no_memory.so PROGRAM ...
 *
 * FILE is mapped and shared, so that someone outside arms and disarms it while the program runs:
 * native byte order, `at`: the allocation that fails, from 1; 0: none does; `onwards`: and each one
 * after it; `count`: allocations since `at` was set (whoever sets it sets `count` to 0 first);
 * `failed`: how many failed. Mappings count too. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct control {
    _Atomic int64_t at, onwards, count, failed;
};

static struct control none;
static struct control *control = &none;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

__attribute__((constructor)) static void attach(void)
{
    const char *path = getenv("NO_MEMORY_FILE");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *at =
        (void *)syscall(SYS_mmap, NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) control = at;
    close(fd);
}

static bool fails(void)
{
    int64_t at = atomic_load(&control->at);
    if (!at) return false;
    int64_t number = atomic_fetch_add(&control->count, 1) + 1;
    if (number != at && !(atomic_load(&control->onwards) && number > at)) return false;
    atomic_fetch_add(&control->failed, 1);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (fails()) return ENOMEM;
    void *memory = __libc_memalign(alignment, bytes);
    if (!memory) return ENOMEM;
    *out = memory;
    return 0;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (fails()) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}
