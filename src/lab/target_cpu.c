#include "lab/target_cpu.h"

#include "lab/metrics_text.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool schedstat_add(const char *directory, const char *thread, double *seconds)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/schedstat", directory, thread);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    uint64_t ns;
    bool read = fscanf(file, "%" SCNu64, &ns) == 1;
    fclose(file);
    if (read) *seconds += (double)ns / 1e9;
    return read;
}

/* /proc/PID/stat from its third field on; NULL if there is no such process (any more). */
static const char *stat_read(int pid, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file) return NULL;
    size_t len = fread(text, 1, size - 1, file);
    fclose(file);
    text[len] = 0;
    /* The name, in parentheses, may hold anything. */
    const char *after = strrchr(text, ')');
    return after ? after + 1 : NULL;
}

/* utime + stime, in ticks: for kernels without schedstat. */
static bool ticks_add(int pid, double *seconds)
{
    char text[1024];
    const char *fields = stat_read(pid, text, sizeof text);
    uint64_t user, system;
    if (!fields ||
        sscanf(fields, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64, &user,
               &system) != 2)
        return false;
    *seconds += (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    return true;
}

static enum err_code process_add(int pid, double *seconds, struct err *e)
{
    char directory[64];
    snprintf(directory, sizeof directory, "/proc/%d/task", pid);
    DIR *threads = opendir(directory);
    if (!threads) return err_set_sys(e, ERR_SYSTEM, errno, "process %d", pid);
    bool any = false;
    struct dirent *entry;
    while ((entry = readdir(threads)))
        if (entry->d_name[0] != '.') any = schedstat_add(directory, entry->d_name, seconds) || any;
    closedir(threads);
    if (!any && !ticks_add(pid, seconds))
        return err_set(e, ERR_SYSTEM, "process %d does not tell its processor time", pid);
    return ERR_OK;
}

/* ---- the processes below one ---- */

struct process {
    int pid, parent;
    bool below;
};

struct processes {
    struct process *all;
    size_t count, cap;
};

static void processes_append(struct processes *p, int pid)
{
    char text[1024];
    const char *fields = stat_read(pid, text, sizeof text);
    int parent;
    if (!fields || sscanf(fields, " %*c %d", &parent) != 1) return;
    if (p->count == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 256;
        p->all = realloc(p->all, p->cap * sizeof *p->all);
        INVARIANT(p->all != NULL);
    }
    p->all[p->count++] = (struct process){pid, parent, false};
}

/* All there are. What ends meanwhile is not among them. */
static struct processes processes_read(void)
{
    struct processes p = {NULL, 0, 0};
    DIR *proc = opendir("/proc");
    if (!proc) return p;
    struct dirent *entry;
    while ((entry = readdir(proc)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            processes_append(&p, atoi(entry->d_name));
    closedir(proc);
    return p;
}

static bool is_below(const struct processes *p, int parent, int pid)
{
    if (parent == pid) return true;
    for (size_t i = 0; i < p->count; i++)
        if (p->all[i].pid == parent) return p->all[i].below;
    return false;
}

/* Marks what is below `pid`, a generation a round. */
static void processes_mark(struct processes *p, int pid)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < p->count; i++) {
            if (p->all[i].below || !is_below(p, p->all[i].parent, pid)) continue;
            p->all[i].below = more = true;
        }
    }
}

enum err_code target_cpu_of_pid(int pid, double *seconds, struct err *e)
{
    double sum = 0;
    enum err_code code = process_add(pid, &sum, e);
    if (code) return code;
    struct processes p = processes_read();
    processes_mark(&p, pid);
    /* One that has just ended took its time with it, and is no error. */
    for (size_t i = 0; i < p.count; i++)
        if (p.all[i].below && process_add(p.all[i].pid, &sum, NULL)) continue;
    free(p.all);
    *seconds = sum;
    return ERR_OK;
}

enum err_code target_cpu_of_metrics(const struct load_target *metrics, double *seconds,
                                    struct err *e)
{
    char *body = NULL;
    enum err_code code = load_target_fetch(metrics, &body, e);
    if (code) return code;
    struct span text = span_of(body);
    struct metrics_sample sample;
    if (metrics_next(&text, "process_cpu_seconds_total", &sample))
        *seconds = sample.value;
    else
        code = err_set(e, ERR_HTTP_SYNTAX, "no process_cpu_seconds_total at %.200s", metrics->url);
    free(body);
    return code;
}
