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

/* utime + stime, in ticks: for kernels without schedstat. */
static bool stat_read(int pid, double *seconds)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    size_t len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[len] = 0;
    /* The name, in parentheses, may hold anything. */
    const char *after = strrchr(text, ')');
    uint64_t user, system;
    if (!after ||
        sscanf(after, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64, &user,
               &system) != 2)
        return false;
    *seconds = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    return true;
}

enum err_code target_cpu_of_pid(int pid, double *seconds, struct err *e)
{
    char directory[64];
    snprintf(directory, sizeof directory, "/proc/%d/task", pid);
    DIR *threads = opendir(directory);
    if (!threads) return err_set_sys(e, ERR_SYSTEM, errno, "process %d", pid);
    double sum = 0;
    bool any = false;
    struct dirent *entry;
    while ((entry = readdir(threads)))
        if (entry->d_name[0] != '.') any = schedstat_add(directory, entry->d_name, &sum) || any;
    closedir(threads);
    if (!any && !stat_read(pid, &sum))
        return err_set(e, ERR_SYSTEM, "process %d does not tell its processor time", pid);
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
