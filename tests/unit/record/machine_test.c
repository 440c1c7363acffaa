#include "record/machine.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static void steal_is_the_eighth_number(void **state)
{
    (void)state;
    static const struct {
        struct span stat;
        long ticks;
        int64_t us;
    } rows[] = {
        {SPAN("cpu  1 2 3 4 5 6 7 167 9 10\ncpu0 1 2 3 4 5 6 7 8\n"), 100, 1670000},
        {SPAN("cpu  1 2 3 4 5 6 7 0\n"), 100, 0},
        {SPAN("intr 1\ncpu  1 2 3 4 5 6 7 3 0 0"), 1000, 3000},
        {SPAN("cpu  1 2 3 4 5 6 7\n"), 100, MACHINE_UNKNOWN},
        {SPAN("cpu0 1 2 3 4 5 6 7 8\n"), 100, MACHINE_UNKNOWN},
        {SPAN("cpu  1 2 3 4 5 6 7 99999999999999999999\n"), 100, MACHINE_UNKNOWN},
        {SPAN(""), 100, MACHINE_UNKNOWN},
        {SPAN("cpu  1 2 3 4 5 6 7 8\n"), 0, MACHINE_UNKNOWN},
        {SPAN("cpu  1 2 3 4 5 6 7 8\n"), -1, MACHINE_UNKNOWN},
        {SPAN("cpu  1 2 3 4 5 6 7 8\n"), 1, 8000000},
        {SPAN("cpu \t1\t 2 \t3 4 5 6 7\t9\n"), 1000000, 9},
        {SPAN("cpu 1 2 3 4 5 6 7 10:11\n"), 1000000, 10},
        {SPAN("cpu 1 2 3 4 5 6 7 -8\n"), 100, MACHINE_UNKNOWN},
        {SPAN("cpu 1 2 x 4 5 6 7 8\n"), 100, MACHINE_UNKNOWN},
        {SPAN("cpu 1 2 3 4 5 6 7 9223372036854775807\n"), 1000000, INT64_MAX},
        {SPAN("cpu 1 2 3 4 5 6 7 9223372036854775808\n"), 1000000, MACHINE_UNKNOWN},
        {SPAN("cpu \ncpu 1 2 3 4 5 6 7 8\n"), 1000000, 8}, /* an empty line is passed over */
        {SPAN("\n\ncpu 1 2 3 4 5 6 7 8"), 1000000, 8},
        {SPAN("xcpu 1 2 3 4 5 6 7 8\n"), 100, MACHINE_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(disturbance_steal_us(rows[i].stat, rows[i].ticks), rows[i].us);
}

static void throttling_in_both_versions(void **state)
{
    (void)state;
    static const struct {
        struct span text;
        int64_t us;
    } rows[] = {
        {SPAN("usage_usec 5\nnr_periods 1\nnr_throttled 2\nthrottled_usec 1234\n"), 1234},
        {SPAN("nr_periods 1\nnr_throttled 2\nthrottled_time 1234567\n"), 1234},
        {SPAN("nr_periods 1\nnr_throttled 2\n"), MACHINE_UNKNOWN},
        {SPAN("throttled_usec \n"), MACHINE_UNKNOWN},
        {SPAN("throttled_usec 0\n"), 0},
        {SPAN("throttled_usec 9\nthrottled_time 8000\n"), 9},
        {SPAN("throttled_time 999\n"), 0},
        {SPAN("throttled_time 1000"), 1},
        {SPAN("throttled_time x\n"), MACHINE_UNKNOWN},
        {SPAN("throttled_time "), MACHINE_UNKNOWN},
        {SPAN("throttled_usec x\n"), MACHINE_UNKNOWN},
        {SPAN(""), MACHINE_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(disturbance_throttled_us(rows[i].text), rows[i].us);
}

static void growth_is_told_or_unknown(void **state)
{
    (void)state;
    static const struct {
        int64_t early, late, grown;
    } rows[] = {
        {100, 150, 50},
        {100, 100, 0},
        {0, 1, 1},
        /* A counter that went back (a container moved to another host) is no negative disturbance.
         */
        {150, 100, 0},
        {1, 0, 0},
        {20, MACHINE_UNKNOWN, MACHINE_UNKNOWN},
        {MACHINE_UNKNOWN, 20, MACHINE_UNKNOWN},
        {MACHINE_UNKNOWN, MACHINE_UNKNOWN, MACHINE_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct disturbance early = {rows[i].early, 7}, late = {rows[i].late, 9};
        struct disturbance grown = disturbance_since(late, early);
        assert_int_equal(grown.steal_us, rows[i].grown);
        assert_int_equal(grown.throttled_us, 2);
        early = (struct disturbance){7, rows[i].early},
        late = (struct disturbance){9, rows[i].late};
        grown = disturbance_since(late, early);
        assert_int_equal(grown.steal_us, 2);
        assert_int_equal(grown.throttled_us, rows[i].grown);
    }
}

/* What stands behind `name` in the first line of a file that has it; "" if none has. */
static const char *line_of(const char *path, const char *name, char line[512])
{
    const char *found = NULL;
    FILE *f = fopen(path, "r");
    while (f && !found && fgets(line, 512, f)) found = strstr(line, name);
    if (f) fclose(f);
    line[found ? strcspn(line, "\n") : 0] = 0;
    return found ? found + strlen(name) : line;
}

static void this_machine_is_told(void **state)
{
    (void)state;
    struct machine m;
    memset(&m, 0x5a, sizeof m);
    machine_read(&m);

    char line[512], kernel[256];
    const char *model = line_of("/proc/cpuinfo", "model name\t: ", line);
    if (strlen(model) >= sizeof m.cpu_model) fail_msg("%s: longer than is kept", model);
    assert_string_equal(m.cpu_model, model);
    assert_string_equal(
        m.clock_source,
        line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource", "", line));
    struct utsname name;
    assert_int_equal(uname(&name), 0);
    snprintf(kernel, sizeof kernel, "%s %s", name.sysname, name.release);
    assert_string_equal(m.kernel, kernel);
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    assert_int_equal(m.cores, CPU_COUNT(&set));
}

/* Nor does it matter that the first descriptor may be had: some start programs without a stdin. */
static void this_machine_is_told_without_a_stdin(void **state)
{
    (void)state;
    struct machine before, after;
    machine_read(&before);
    int kept = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    machine_read(&after);
    if (kept >= 0) {
        assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
        close(kept);
    }
    assert_string_equal(after.clock_source, before.clock_source);
    assert_string_equal(after.cpu_model, before.cpu_model);
}

/* One core is not what the machine has. */
static void cores_are_those_that_may_be_used(void **state)
{
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    struct machine m;
    machine_read(&m);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(m.cores, 1);
}

/* The eighth number of the first line of /proc/stat, read in another way. */
static int64_t steal_now_us(void)
{
    char line[512];
    long long steal = 0;
    int n = sscanf(line_of("/proc/stat", "cpu ", line), "%*d %*d %*d %*d %*d %*d %*d %lld", &steal);
    return n == 1 ? steal * 1000000 / sysconf(_SC_CLK_TCK) : MACHINE_UNKNOWN;
}

/* Of the cgroup of this process, in either version; unknown where it has none that tells. */
static int64_t throttled_now_us(void)
{
    static const char *const places[][3] = {
        {"0::", "/sys/fs/cgroup", "throttled_usec "},
        {":cpu,cpuacct:", "/sys/fs/cgroup/cpu,cpuacct", "throttled_time "},
        {":cpu:", "/sys/fs/cgroup/cpu", "throttled_time "},
    };
    for (size_t i = 0; i < COUNT(places); i++) {
        char line[512], path[1024];
        const char *group = line_of("/proc/self/cgroup", places[i][0], line);
        if (!group[0]) continue;
        snprintf(path, sizeof path, "%s%s/cpu.stat", places[i][1], group);
        const char *value = line_of(path, places[i][2], line);
        if (value[0]) return atoll(value) / (i ? 1000 : 1);
    }
    return MACHINE_UNKNOWN;
}

/* What is read lies between what was there before and after it. */
static void this_machine_s_disturbance_is_read(void **state)
{
    (void)state;
    int64_t steal = steal_now_us(), throttled = throttled_now_us();
    struct disturbance read;
    disturbance_read(&read);
    assert_true(read.steal_us >= steal && read.steal_us <= steal_now_us());
    assert_true(read.throttled_us >= throttled && read.throttled_us <= throttled_now_us());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steal_is_the_eighth_number),
        cmocka_unit_test(throttling_in_both_versions),
        cmocka_unit_test(growth_is_told_or_unknown),
        cmocka_unit_test(this_machine_is_told),
        cmocka_unit_test(this_machine_is_told_without_a_stdin),
        cmocka_unit_test(cores_are_those_that_may_be_used),
        cmocka_unit_test(this_machine_s_disturbance_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
