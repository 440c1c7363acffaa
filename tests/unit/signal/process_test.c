/* What the process says of itself, against what is known of it otherwise. */
#include "signal/state.h"
#include "support.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { MIB = 1024 * 1024 };

static struct process_facts facts(void)
{
    struct process_facts f;
    process_read(&f);
    return f;
}

static uint64_t descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    uint64_t n = 0;
    for (const struct dirent *d; (d = readdir(dir));) n += d->d_name[0] != '.';
    closedir(dir);
    return n - 1; /* the one that reads */
}

static void open_descriptors(void **state)
{
    (void)state;
    enum { MORE = 300 }; /* more than one reading of the directory tells */
    int more[MORE];
    assert_int_equal(facts().open_fds, descriptors());
    for (int i = 0; i < MORE; i++) assert_true((more[i] = dup(STDIN_FILENO)) >= 0);
    assert_int_equal(facts().open_fds, descriptors());
    for (int i = 0; i < MORE; i++) close(more[i]);
    assert_int_equal(facts().open_fds, descriptors());
}

static void the_limit_is_the_soft_one(void **state)
{
    (void)state;
    struct rlimit before, lower;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    lower = before;
    lower.rlim_cur = 123;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &lower), 0);
    assert_int_equal(facts().max_fds, 123);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(facts().max_fds, before.rlim_cur);
}

/* Pages of address space, and of those the resident ones. */
static void statm(uint64_t *virtual_bytes, uint64_t *resident_bytes)
{
    unsigned long pages, resident;
    FILE *f = fopen("/proc/self/statm", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu %lu", &pages, &resident), 2);
    fclose(f);
    *virtual_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    *resident_bytes = resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void memory(void **state)
{
    (void)state;
    uint64_t virtual_bytes, resident_bytes;
    for (size_t mib = 0; mib <= 64; mib += 64) {
        char *more =
            mib ? mmap(NULL, mib * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                : NULL;
        assert_true(more != MAP_FAILED);
        if (more) memset(more, 1, mib * MIB / 2);
        statm(&virtual_bytes, &resident_bytes);
        struct process_facts f = facts();
        /* The kernel counts resident pages by processor, and adds them up now and then. */
        assert_in_range(f.virtual_bytes, virtual_bytes - MIB, virtual_bytes + MIB);
        assert_in_range(f.resident_bytes, resident_bytes - resident_bytes / 4,
                        resident_bytes + resident_bytes / 4 + MIB);
        if (more) munmap(more, mib * MIB);
    }
}

static double used_s(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static void processor_time(void **state)
{
    (void)state;
    double before = used_s();
    while (used_s() < before + 0.05) continue;
    before = used_s();
    double told = facts().cpu_s;
    assert_true(told >= before && told <= used_s());
}

/* A process that starts now, on the clock of the wall; the kernel tells it in hundredths. */
static void the_start(void **state)
{
    (void)state;
    int told[2];
    double start_s = 0, before_s = (double)clock_wall_us() / 1e6;
    assert_int_equal(pipe(told), 0);
    pid_t pid = fork();
    if (pid == 0) {
        start_s = process_start_s();
        _exit(write(told[1], &start_s, sizeof start_s) != sizeof start_s);
    }
    double after_s = (double)clock_wall_us() / 1e6;
    assert_int_equal(read(told[0], &start_s, sizeof start_s), sizeof start_s);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(told[0]);
    close(told[1]);
    assert_true(start_s > before_s - 0.05 && start_s < after_s + 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_descriptors), cmocka_unit_test(the_limit_is_the_soft_one),
        cmocka_unit_test(memory),           cmocka_unit_test(processor_time),
        cmocka_unit_test(the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
