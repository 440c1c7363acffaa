#include "signal/state.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { STAT_BYTES = 1024 };

/* A small file of /proc, NUL-terminated; "" if it cannot be read. */
static void file_read(const char *path, char *out, size_t size)
{
    out[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t n = read(fd, out, size - 1);
    out[n > 0 ? n : 0] = '\0';
    close(fd);
}

/* Fields of /proc/self/stat after the command's name, from 3 (state) on: proc(5). */
enum { STAT_STARTTIME = 22, STAT_VSIZE = 23, STAT_RSS = 24 };

static uint64_t stat_field(const char *after_name, int field)
{
    const char *at = after_name;
    for (int i = 3; i < field && *at; i++) {
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    return strtoull(at, NULL, 10);
}

/* The text after the command's name of /proc/self/stat, from field 3 on; NULL: it cannot be read.
 */
static const char *stat_read(char *memory, size_t size)
{
    file_read("/proc/self/stat", memory, size);
    const char *name_end = strrchr(memory, ')');
    return name_end && name_end[1] ? name_end + 2 : NULL;
}

/* The kernel counts from the machine's start, on the clock that goes on while the machine sleeps
 * (proc(5)); in a time namespace both are moved alike. */
static double boot_s(void)
{
    struct timespec now, up;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || clock_gettime(CLOCK_BOOTTIME, &up) != 0)
        return 0;
    return (double)(now.tv_sec - up.tv_sec) + (double)(now.tv_nsec - up.tv_nsec) / 1e9;
}

double process_start_s(void)
{
    char text[STAT_BYTES];
    const char *fields = stat_read(text, sizeof text);
    double boot = boot_s();
    if (!fields || boot <= 0) return 0;
    return boot + (double)stat_field(fields, STAT_STARTTIME) / (double)sysconf(_SC_CLK_TCK);
}

/* By the system call: opendir() would have to find memory. */
static uint64_t open_fds(void)
{
    int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return 0;
    _Alignas(struct dirent64) char entries[4096];
    uint64_t n = 0;
    for (ssize_t len; (len = getdents64(dir, entries, sizeof entries)) > 0;)
        for (ssize_t at = 0; at < len; n++)
            at += ((const struct dirent64 *)(const void *)(entries + at))->d_reclen;
    close(dir);
    return n > 3 ? n - 3 : 0; /* `.`, `..`, and the one that reads */
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

void process_read(struct process_facts *out)
{
    *out = (struct process_facts){.open_fds = open_fds()};
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        out->cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) out->max_fds = limit.rlim_cur;
    char text[STAT_BYTES];
    const char *fields = stat_read(text, sizeof text);
    if (!fields) return;
    out->virtual_bytes = stat_field(fields, STAT_VSIZE);
    out->resident_bytes = stat_field(fields, STAT_RSS) * (uint64_t)sysconf(_SC_PAGESIZE);
}
