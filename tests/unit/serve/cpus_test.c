#include "serve/cpus.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void quotas(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int cpus;
    } rows[] = {
        {"max 100000\n", 0},
        {"100000 100000\n", 1},
        {"150000 100000\n", 2},
        {"200000 100000\n", 2},
        {"1000 100000\n", 1},
        {"200000\n100000\n", 2},
        {"-1\n100000\n", 0},
        {"", 0},
        {"100000", 0},
        {"100000 0", 0},
        {"x y", 0},
        {"99999999999999999999 1", 0},
        {"4000000000 1", 1024},
        {"4294967295 4294967295", 1},
        {"42949672959 1", 1024},
        {"42949672960 1", 0},
        {"1024 1", 1024},
        {"1023 1", 1023},
        {"/ 1", 0},
        {": 1", 0},
        {"19 10", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(cpus_quota_read(span_of(rows[i].text)), rows[i].cpus);
}

/* ---- what the files of a cgroup say ---- */

#define SYS "/sys/fs/cgroup"

static const char *const folders[] = {"/sys",      "/sys/fs", SYS,         SYS "/cpu",
                                      SYS "/mine", "/proc",   "/proc/self"};
static const char *const files[] = {SYS "/cpu.max", SYS "/cpu/cpu.cfs_quota_us",
                                    SYS "/cpu/cpu.cfs_period_us", SYS "/mine/cpu.max",
                                    "/proc/self/cgroup"};

enum { FOLDERS = sizeof folders / sizeof *folders, FILES = sizeof files / sizeof *files };

static char root[64];

static void file_write(const char *path, const char *text)
{
    char whole[128];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    unlink(whole);
    if (!text) return;
    FILE *f = fopen(whole, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* So many processors of those that this process may use. */
static int affinity_set(int count, cpu_set_t *before)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof *before, before), 0);
    CPU_ZERO(&set);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&set) < count; cpu++)
        if (CPU_ISSET(cpu, before)) CPU_SET(cpu, &set);
    assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

static void what_is_allowed(void **state)
{
    (void)state;
    static const struct {
        const char *texts[FILES];
        int quota; /* 0: none */
    } rows[] = {
        {{NULL}, 0},
        {{"50000 100000\n"}, 1},
        {{"max 100000\n"}, 0},
        {{NULL, "60000\n", "50000\n"}, 2},
        {{NULL, "100000\n", "100000\n"}, 1},
        {{NULL, "100000\n"}, 0}, /* no period */
        {{NULL, "-1\n", "100000\n"}, 0},
        {{"max 100000\n", "100000\n", "100000\n"}, 1},
        {{NULL, NULL, NULL, "100000 100000\n", "1:cpu:/x\n0::/mine\n"}, 1},
        {{NULL, NULL, NULL, "100000 100000\n", "1:cpu:/mine\n"}, 0}, /* cgroup 1 */
        {{NULL, NULL, NULL, "100000 100000\n", "0::/other\n"}, 0},
        {{"200000 100000\n", NULL, NULL, "100000 100000\n", "0::/mine\n"}, 2},
        {{"900000 100000\n"}, 9},
    };
    snprintf(root, sizeof root, "/tmp/interlude-cpus-XXXXXX");
    assert_non_null(mkdtemp(root));
    char whole[128];
    for (int i = 0; i < FOLDERS; i++) {
        snprintf(whole, sizeof whole, "%s%s", root, folders[i]);
        assert_true(mkdir(whole, 0700) == 0 || errno == EEXIST);
    }
    for (int count = 1; count <= 2; count++) {
        cpu_set_t before;
        int may = affinity_set(count, &before);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            for (int k = 0; k < FILES; k++) file_write(files[k], rows[i].texts[k]);
            int expected = rows[i].quota && rows[i].quota < may ? rows[i].quota : may;
            if (cpus_allowed(root) != expected) fail_msg("row %zu of %d", i, may);
        }
        assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    }
    for (int k = 0; k < FILES; k++) file_write(files[k], NULL);
    for (int i = FOLDERS - 1; i >= 0; i--) {
        snprintf(whole, sizeof whole, "%s%s", root, folders[i]);
        rmdir(whole);
    }
    assert_int_equal(rmdir(root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(quotas), cmocka_unit_test(what_is_allowed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
