#include "record/machine.h"

#include <ctype.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The first bytes of a file, NUL-terminated; "" if it cannot be read. */
static struct span file_head(const char *path, char *memory, size_t size)
{
    size_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n;
        while (len < size - 1 && (n = read(fd, memory + len, size - 1 - len)) > 0) len += (size_t)n;
        close(fd);
    }
    memory[len] = 0;
    return (struct span){memory, len};
}

/* What follows `name` on the line that begins with it, up to the line's end; NULL data if none. */
static struct span line_after(struct span text, const char *name)
{
    size_t name_len = strlen(name);
    const char *at = text.data, *end = text.data + text.len;
    while (at < end) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        if (!eol) eol = end;
        if ((size_t)(eol - at) > name_len && memcmp(at, name, name_len) == 0)
            return (struct span){at + name_len, (size_t)(eol - at) - name_len};
        at = eol + 1;
    }
    return (struct span){NULL, 0};
}

/* Unsigned decimal numbers with blanks between them: the one at `index` (from 0), or unknown. */
static int64_t number_at(struct span line, int index)
{
    if (!line.len) return MACHINE_UNKNOWN;
    const char *at = line.data, *end = line.data + line.len;
    for (int i = 0;; i++) {
        while (at < end && (*at == ' ' || *at == '\t')) at++;
        int64_t value = 0;
        const char *begin = at;
        for (; at < end && isdigit((unsigned char)*at); at++)
            if (__builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, *at - '0', &value))
                return MACHINE_UNKNOWN;
        if (at == begin) return MACHINE_UNKNOWN;
        if (i == index) return value;
    }
}

static void text_copy(char *to, size_t size, struct span from)
{
    while (from.len && isspace((unsigned char)from.data[0])) from.data++, from.len--;
    while (from.len && isspace((unsigned char)from.data[from.len - 1])) from.len--;
    if (from.len > size - 1) from.len = size - 1;
    if (from.len) memcpy(to, from.data, from.len);
    to[from.len] = 0;
}

void machine_read(struct machine *out)
{
    *out = (struct machine){0};
    char memory[4096];
    struct span model = line_after(file_head("/proc/cpuinfo", memory, sizeof memory), "model name");
    const char *colon = model.len ? memchr(model.data, ':', model.len) : NULL;
    if (colon) {
        model.len -= (size_t)(colon + 1 - model.data);
        model.data = colon + 1;
        text_copy(out->cpu_model, sizeof out->cpu_model, model);
    }
    text_copy(out->clock_source, sizeof out->clock_source,
              file_head("/sys/devices/system/clocksource/clocksource0/current_clocksource", memory,
                        sizeof memory));
    struct utsname name;
    if (uname(&name) == 0)
        snprintf(out->kernel, sizeof out->kernel, "%.31s %.60s", name.sysname, name.release);
    cpu_set_t set;
    out->cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                             : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

int64_t disturbance_steal_us(struct span stat, long ticks)
{
    /* cpu user nice system idle iowait irq softirq steal */
    int64_t value = number_at(line_after(stat, "cpu "), 7);
    if (value == MACHINE_UNKNOWN || ticks <= 0) return MACHINE_UNKNOWN;
    return value * (1000000 / ticks);
}

int64_t disturbance_throttled_us(struct span cpu_stat)
{
    struct span v2 = line_after(cpu_stat, "throttled_usec ");
    if (v2.data) return number_at(v2, 0);
    struct span v1 = line_after(cpu_stat, "throttled_time ");
    int64_t ns = v1.data ? number_at(v1, 0) : MACHINE_UNKNOWN;
    return ns == MACHINE_UNKNOWN ? ns : ns / 1000;
}

/* The path of this process's cgroup in the hierarchy `name` ("0::" or ":cpu:"), and its cpu.stat
 * below `mount`. */
static int64_t cgroup_throttled_us(struct span membership, const char *name, const char *mount)
{
    const char *found = strstr(membership.data, name);
    if (!found) return MACHINE_UNKNOWN;
    found += strlen(name);
    char path[1024], memory[4096];
    int n = snprintf(path, sizeof path, "%s%.*s/cpu.stat", mount, (int)strcspn(found, "\n"), found);
    if (n < 0 || (size_t)n >= sizeof path) return MACHINE_UNKNOWN;
    return disturbance_throttled_us(file_head(path, memory, sizeof memory));
}

void disturbance_read(struct disturbance *out)
{
    char memory[4096];
    out->steal_us =
        disturbance_steal_us(file_head("/proc/stat", memory, sizeof memory), sysconf(_SC_CLK_TCK));
    struct span membership = file_head("/proc/self/cgroup", memory, sizeof memory);
    static const struct {
        const char *name, *mount;
    } places[] = {
        {"0::", "/sys/fs/cgroup"},
        {":cpu,cpuacct:", "/sys/fs/cgroup/cpu,cpuacct"},
        {":cpu:", "/sys/fs/cgroup/cpu"},
    };
    out->throttled_us = MACHINE_UNKNOWN;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (out->throttled_us != MACHINE_UNKNOWN) break;
        out->throttled_us = cgroup_throttled_us(membership, places[i].name, places[i].mount);
    }
}

static int64_t grown(int64_t later, int64_t earlier)
{
    if (later == MACHINE_UNKNOWN || earlier == MACHINE_UNKNOWN) return MACHINE_UNKNOWN;
    return later > earlier ? later - earlier : 0;
}

struct disturbance disturbance_since(struct disturbance later, struct disturbance earlier)
{
    return (struct disturbance){grown(later.steal_us, earlier.steal_us),
                                grown(later.throttled_us, earlier.throttled_us)};
}
