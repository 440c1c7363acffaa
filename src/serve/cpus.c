#include "serve/cpus.h"

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { CPUS_MAX = 1024 };

static bool number_read(struct span *text, uint64_t *out)
{
    uint64_t value = 0;
    size_t i = 0;
    for (; i < text->len && text->data[i] >= '0' && text->data[i] <= '9'; i++) {
        if (value > UINT32_MAX) return false;
        value = value * 10 + (uint64_t)(text->data[i] - '0');
    }
    if (i == 0) return false;
    while (i < text->len && (text->data[i] == ' ' || text->data[i] == '\n')) i++;
    *text = (struct span){text->data + i, text->len - i};
    *out = value;
    return true;
}

int cpus_quota_read(struct span text)
{
    uint64_t quota, period;
    if (!number_read(&text, &quota) || !number_read(&text, &period) || period == 0) return 0;
    uint64_t cpus = (quota + period - 1) / period;
    return cpus > CPUS_MAX ? CPUS_MAX : (int)cpus;
}

/* 0: no limit. */
static int quota_of_file(const char *path, const char *period_path)
{
    char text[256];
    size_t len = 0;
    const char *paths[] = {path, period_path};
    for (int i = 0; i < 2 && paths[i]; i++) {
        int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
        if (fd < 0) return 0;
        ssize_t n = read(fd, text + len, sizeof text / 2 - 1);
        close(fd);
        if (n <= 0) return 0;
        len += (size_t)n;
    }
    return cpus_quota_read((struct span){text, len});
}

/* The quota of our own cgroup. In a container it is mounted at the top; elsewhere it is where
 * /proc/self/cgroup says. */
static int quota(const char *root)
{
    char line[512], path[1024], period_path[1024];
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/cpu.max", root);
    int cpus = quota_of_file(path, NULL);
    if (cpus == 0) {
        snprintf(path, sizeof path, "%s/sys/fs/cgroup/cpu/cpu.cfs_quota_us", root);
        snprintf(period_path, sizeof period_path, "%s/sys/fs/cgroup/cpu/cpu.cfs_period_us", root);
        cpus = quota_of_file(path, period_path);
    }
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *own = cpus ? NULL : fopen(path, "re");
    while (own && fgets(line, sizeof line, own)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::/", 4) != 0) continue;
        snprintf(path, sizeof path, "%s/sys/fs/cgroup/%s/cpu.max", root, line + 4);
        cpus = quota_of_file(path, NULL);
    }
    if (own) fclose(own);
    return cpus;
}

int cpus_allowed(const char *root)
{
    cpu_set_t set;
    int cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    int by_quota = quota(root);
    return by_quota && by_quota < cpus ? by_quota : cpus;
}
