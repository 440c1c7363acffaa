#include "serve/descriptors.h"

#include <dirent.h>
#include <sys/resource.h>

enum { HELD_ESTIMATE = 64 };

static uint64_t sum(const struct descriptors *d)
{
    return (uint64_t)d->decisions + d->operations + d->refused;
}

static uint32_t part(uint32_t wanted, uint64_t most, uint32_t least)
{
    uint64_t got = wanted < most ? wanted : most;
    return got > least ? (uint32_t)got : least;
}

struct descriptors descriptors_share(uint64_t limit, uint64_t held,
                                     const struct descriptors *wanted)
{
    uint64_t beside = held + DESCRIPTORS_SPARE, left = limit > beside ? limit - beside : 0;
    if (sum(wanted) <= left) return *wanted;
    struct descriptors d;
    d.operations = part(wanted->operations, left / 8, 2);
    d.refused = part(wanted->refused, left / 16, 1);
    uint64_t others = (uint64_t)d.operations + d.refused;
    d.decisions = part(wanted->decisions, left > others ? left - others : 0, 1);
    return d;
}

uint64_t descriptors_raise(uint64_t held, const struct descriptors *wanted)
{
    struct rlimit limit;
    rlim_t need = (rlim_t)(held + DESCRIPTORS_SPARE + sum(wanted));
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return need;
    if (limit.rlim_cur >= need) return limit.rlim_cur;
    struct rlimit raised = {limit.rlim_max < need ? limit.rlim_max : need, limit.rlim_max};
    return setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

uint64_t descriptors_held(void)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir) return HELD_ESTIMATE;
    uint64_t held = 0;
    for (struct dirent *one; (one = readdir(dir));) held += one->d_name[0] != '.';
    closedir(dir);
    return held - 1; /* the directory's own */
}
