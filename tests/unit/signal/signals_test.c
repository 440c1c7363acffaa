/* From threads that fire to lines in a file: what is written, what is lost, and that the books
 * agree with both. */
#include "signal/writer.h"
#include "support.h"

#include <assert.h>

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static struct bench bench;

enum { OUTBOX_OWN_LINES_AND_MORE = 7 };

static int fresh(void **state)
{
    (void)state;
    bench_prepare(&bench);
    return 0;
}

static int done(void **state)
{
    (void)state;
    bench_done(&bench);
    return 0;
}

static void fire(int writer, int n)
{
    for (int i = 0; i < n; i++)
        signal_server_stopped(signals_writer(bench.signals, writer), SPAN("test"));
}

static void budget(enum signal_site site, double rate, double burst)
{
    bench.log.sites[site].own = true;
    bench.log.sites[site].budget = (struct log_budget){rate, burst};
}

/* ---- the books ---- */

enum { THREADS = 4, FIRED_EACH = 20000 };

static void *storm(void *arg)
{
    struct signal_writer *writer = arg;
    for (int i = 0; i < FIRED_EACH; i++) {
        signal_connections_max_reached(writer, i);
        if (i % 100 == 0) signal_server_stopped(writer, SPAN("rare"));
        if (i % 2000 == 0) sleep_ms(1);
    }
    return NULL;
}

static void the_books_agree_with_the_file(void **state)
{
    (void)state;
    bench_open(&bench, THREADS, 0);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, storm, signals_writer(bench.signals, i));
    uint64_t last[SITE_COUNT] = {0};
    struct signal_account all[SITE_COUNT];
    for (int look = 0; look < 300; look++) {
        signals_account(bench.signals, all);
        for (int site = 0; site < SITE_COUNT; site++) {
            uint64_t settled = 0;
            for (int o = 0; o < OUTCOME_COUNT; o++) settled += all[site].outcomes[o];
            assert_int_equal(all[site].fired, settled + all[site].queued);
            assert_true(all[site].queued < 100000);
            assert_true(all[site].fired >= last[site]);
            last[site] = all[site].fired;
        }
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    site_wait(bench.signals, SITE_CONNECTIONS_MAX_REACHED);
    site_wait(bench.signals, SITE_SERVER_STOPPED);
    signals_account(bench.signals, all);
    static const enum signal_site sites[] = {SITE_CONNECTIONS_MAX_REACHED, SITE_SERVER_STOPPED};
    static const int fired[] = {THREADS * FIRED_EACH, THREADS * FIRED_EACH / 100};
    char *text = file_text(bench.path);
    for (int i = 0; i < 2; i++) {
        const struct signal_account *a = &all[sites[i]];
        assert_int_equal(a->fired, fired[i]);
        assert_int_equal(a->queued, 0);
        assert_int_equal(a->outcomes[OUTCOME_WRITTEN] + a->outcomes[OUTCOME_DROPPED], fired[i]);
        char event[64];
        snprintf(event, sizeof event, "\"event\":\"%s\"", signal_sites[sites[i]].name);
        assert_int_equal(count_of(text, event), a->outcomes[OUTCOME_WRITTEN]);
    }
    free(text);
}

/* So many that nothing lies between them and what comes behind: each is added up once, and
 * nothing else is. */
static void the_books_are_of_every_writer(void **state)
{
    (void)state;
    enum { WRITERS = 64 };
    static_assert(WRITERS * sizeof(struct signal_writer) % 4096 == 0, "whole pages");
    bench.log.level = LOG_ERROR;
    bench_open(&bench, WRITERS, 0);
    turns_wait(bench.signals, 1);
    for (int i = 0; i < WRITERS; i++) {
        fire(i, i + 1);
        for (int k = 0; k <= i; k++) {
            signal_http(signals_writer(bench.signals, i), 100 + k);
            signal_http(signals_writer(bench.signals, i), 599 - k);
        }
    }
    uint64_t n = WRITERS * (WRITERS + 1) / 2;
    site_holds(bench.signals, SITE_SERVER_STOPPED, n, 0, 0, n, 0, 0);
    for (int site = 0; site < SITE_COUNT; site++)
        if (site != SITE_SERVER_STOPPED)
            site_holds(bench.signals, (enum signal_site)site, 0, 0, 0, 0, 0, 0);
    struct signal_drills drills[SITE_COUNT];
    signals_drills(bench.signals, drills);
    for (int site = 0; site < SITE_COUNT; site++) {
        assert_int_equal(drills[site].fired, 0);
        assert_int_equal(drills[site].queued, 0);
        for (int o = 0; o < OUTCOME_COUNT; o++) assert_int_equal(drills[site].outcomes[o], 0);
    }
}

/* ---- budgets ---- */

static void over_budget_is_suppressed_and_told(void **state)
{
    (void)state;
    budget(SITE_SERVER_STOPPED, 1e-6, 5);
    bench_open(&bench, 2, 100);
    fire(0, 30);
    fire(1, 20);
    /* The site never fires again, and yet: */
    file_wait(bench.path, "\"event\":\"log_suppressed\"", 1);
    site_holds(bench.signals, SITE_SERVER_STOPPED, 50, 5, 0, 45, 0, 0);
    sleep_ms(250); /* time enough to tell it again */
    turns_wait(bench.signals, 2);
    char *text = file_text(bench.path);
    assert_int_equal(count_of(text, "\"event\":\"server_stopped\""), 5);
    assert_int_equal(count_of(text, "\"event\":\"log_suppressed\""), 1); /* once */
    assert_non_null(strstr(text, "\"suppressed\":{\"server_stopped\":45}}\n"));
    free(text);
}

static void a_closed_site_opens_as_its_bucket_fills(void **state)
{
    (void)state;
    budget(SITE_SERVER_STOPPED, 20, 1);
    bench_open(&bench, 1, 0);
    struct signal_account all[SITE_COUNT], *a = &all[SITE_SERVER_STOPPED];
    uint64_t fired = 0;
    for (uint64_t end_ns = in_ms(20000);; sleep_ms(10)) {
        fire(0, 20);
        fired += 20;
        signals_account(bench.signals, all);
        if (a->outcomes[OUTCOME_WRITTEN] >= 3 && a->outcomes[OUTCOME_SUPPRESSED] > 0) break;
        assert_true(clock_mono_ns() < end_ns);
    }
    *a = site_wait(bench.signals, SITE_SERVER_STOPPED);
    assert_int_equal(a->outcomes[OUTCOME_WRITTEN] + a->outcomes[OUTCOME_SUPPRESSED], fired);
}

/* However many come at once, and whatever burst goes with it. */
static void an_unlimited_rate_lets_everything_through(void **state)
{
    (void)state;
    budget(SITE_SERVER_STOPPED, __builtin_inf(), 100);
    bench_open(&bench, 1, 0);
    fire(0, 3000);
    file_wait(bench.path, "server_stopped", 3000);
    site_holds(bench.signals, SITE_SERVER_STOPPED, 3000, 3000, 0, 0, 0, 0);
}

static void a_rate_of_nothing_lets_nothing_through(void **state)
{
    (void)state;
    budget(SITE_SERVER_STOPPED, 0, 100);
    bench_open(&bench, 1, 0);
    fire(0, 3);
    signal_connections_max_reached(signals_writer(bench.signals, 0), 1);
    file_wait(bench.path, "connections_max_reached", 1);
    site_holds(bench.signals, SITE_SERVER_STOPPED, 3, 0, 0, 3, 0, 0);
}

static void below_the_level_is_suppressed_in_silence(void **state)
{
    (void)state;
    bench.log.level = LOG_WARNING;
    bench_open(&bench, 1, 100);
    fire(0, 3);
    signal_connections_max_reached(signals_writer(bench.signals, 0), 1);
    file_wait(bench.path, "connections_max_reached", 1);
    sleep_ms(250); /* time enough to tell it */
    turns_wait(bench.signals, 2);
    site_holds(bench.signals, SITE_SERVER_STOPPED, 3, 0, 0, 3, 0, 0);
    char *text = file_text(bench.path);
    assert_int_equal(count_of(text, "log_suppressed"), 0);
    free(text);
}

/* As a plan that is loaded does it; in force from the scribe's next turn on. */
static void level_set(enum log_level level)
{
    struct plan *plan = plan_of("v1");
    struct settings_log log = bench.log;
    log.level = level;
    struct signal_cells *cells = adopt(bench.signals, plan, &log);
    signals_release(bench.signals, cells);
    plan_free(plan);
    turns_wait(bench.signals, 1);
}

/* What all the lines that tell of suppressed ones have told. */
static int suppressed_told(void)
{
    char *text = file_text(bench.path);
    int told = 0;
    static const char head[] = "\"suppressed\":{\"server_stopped\":";
    for (char *at = text; (at = strstr(at, head)); told += atoi(at)) at += sizeof head - 1;
    free(text);
    return told;
}

/* A level that is lowered later makes no budget of it; and one that is raised before the report
 * takes nothing out of it. */
static void what_the_level_hid_is_never_told(void **state)
{
    (void)state;
    budget(SITE_SERVER_STOPPED, 1e-6, 5);
    bench_open(&bench, 1, 300);
    fire(0, 12);
    site_wait(bench.signals, SITE_SERVER_STOPPED); /* what waits in the ring is the level's */
    level_set(LOG_WARNING);
    fire(0, 30);
    level_set(LOG_INFO);
    fire(0, 1);
    site_wait(bench.signals, SITE_SERVER_STOPPED);
    level_set(LOG_ERROR);
    fire(0, 50);
    file_wait(bench.path, "\"event\":\"log_suppressed\"", 1);
    level_set(LOG_INFO);
    site_holds(bench.signals, SITE_SERVER_STOPPED, 93, 5, 0, 88, 0, 0);
    for (uint64_t end_ns = in_ms(20000); suppressed_told() < 12 - 5 + 1; sleep_ms(10))
        assert_true(clock_mono_ns() < end_ns);
    sleep_ms(650); /* time enough to tell more */
    turns_wait(bench.signals, 2);
    assert_int_equal(suppressed_told(), 12 - 5 + 1);
}

static void a_plan_brings_its_level_and_budgets(void **state)
{
    (void)state;
    bench_open(&bench, 1, 0);
    struct plan *plan = plan_of("v1");
    struct settings_log log = bench.log;
    log.level = LOG_ERROR;
    struct signal_cells *cells = adopt(bench.signals, plan, &log);
    turns_wait(bench.signals, 1);
    fire(0, 2);
    site_holds(bench.signals, SITE_SERVER_STOPPED, 2, 0, 0, 2, 0, 0);
    signals_release(bench.signals, cells);
    plan_free(plan);
}

/* ---- sinks ---- */

static int fifo_open(void)
{
    int fd = open(bench.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    fcntl(fd, F_SETFL, 0);
    return fd;
}

/* Reads until `what` has come; fails after twenty seconds. */
static char *fifo_read(int fd, const char *what)
{
    size_t cap = 1 << 20, len = 0;
    char *text = calloc(1, cap);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (uint64_t end_ns = in_ms(20000); clock_mono_ns() < end_ns && !strstr(text, what);) {
        ssize_t n = read(fd, text + len, cap - 1 - len);
        if (n > 0)
            len += (size_t)n;
        else
            sleep_ms(5);
    }
    if (!strstr(text, what)) fail_msg("no %s in: %s", what, text);
    return text;
}

static void a_fifo_is_waited_for(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(bench.path, 0600), 0);
    bench_open(&bench, 1, 0);
    signal_server_stopped(signals_writer(bench.signals, 0), SPAN("early"));
    turns_wait(bench.signals, 2);
    site_holds(bench.signals, SITE_SERVER_STOPPED, 1, 0, 0, 0, 0, 1);
    int fd = fifo_open();
    free(fifo_read(fd, "early"));
    site_holds(bench.signals, SITE_SERVER_STOPPED, 1, 1, 0, 0, 0, 0);
    close(fd);
}

static void a_reader_that_comes_back_is_told_what_it_missed(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(bench.path, 0600), 0);
    int fd = fifo_open();
    bench_open(&bench, 1, 0);
    fire(0, 1);
    free(fifo_read(fd, "server_stopped"));
    close(fd);
    fire(0, 7);
    site_holds(bench.signals, SITE_SERVER_STOPPED, 8, 1, 7, 0, 0, 0);
    fd = fifo_open();
    char *text = fifo_read(fd, "\n"); /* nothing fires, and yet: */
    assert_non_null(strstr(text, "\"event\":\"log_lost\",\"sink_gone\":7,\"disk_full\":0}\n"));
    free(text);
    signal_server_stopped(signals_writer(bench.signals, 0), SPAN("later"));
    free(fifo_read(fd, "later"));
    close(fd);
}

static void a_full_disk_is_told_once_there_is_space(void **state)
{
    (void)state;
    assert_int_equal(symlink("/dev/full", bench.path), 0);
    bench_open(&bench, 1, 0);
    fire(0, 4);
    site_holds(bench.signals, SITE_SERVER_STOPPED, 4, 0, 4, 0, 0, 0);
    unlink(bench.path);
    signals_reopen(bench.signals);
    file_wait(bench.path, "\"event\":\"log_lost\"", 1);
    char *text = file_text(bench.path);
    assert_non_null(strstr(text, "\"sink_gone\":0,\"disk_full\":4}\n"));
    assert_non_null(strstr(text, "\"event\":\"log_reopened\""));
    free(text);
}

/* A stopped reader stops no one; at the deadline what is left is counted, and the exit is not late.
 */
static void a_stopped_reader_does_not_delay_the_end(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(bench.path, 0600), 0);
    int fd = fifo_open();
    bench_open(&bench, 1, 0);
    for (int i = 0; i < 100; i++) {
        fire(0, 200);
        if (i % 20 == 0) sleep_ms(20);
    }
    turns_wait(bench.signals, 1); /* it has taken what it can */
    struct signal_account all[SITE_COUNT];
    signals_account(bench.signals, all);
    const struct signal_account *a = &all[SITE_SERVER_STOPPED];
    assert_int_equal(a->fired, 20000);
    assert_true(a->outcomes[OUTCOME_DROPPED] > 0);
    assert_true(a->queued > 100);
    turns_wait(bench.signals, 2); /* it is not stuck */
    signals_account(bench.signals, all);
    uint64_t queued = a->queued, written = a->outcomes[OUTCOME_WRITTEN];
    assert_int_equal(signals_close(bench.signals, in_ms(50)), queued + 1); /* log_suppressed */
    bench.signals = NULL;
    char text[1 << 17];
    ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    assert_int_equal(count_of(text, "server_stopped"), written); /* every line whole */
    close(fd);
}

/* It takes less than comes, and always something: the outbox is never empty. */
static void a_slow_reader_is_told_what_it_misses(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(bench.path, 0600), 0);
    int fd = fifo_open();
    fcntl(fd, F_SETPIPE_SZ, 4096);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    bench_open(&bench, 1, 100);
    static char text[1 << 22];
    size_t len = 0;
    int told = 0;
    for (int i = 0; i < 2000 && told < 3; i++) {
        fire(0, 200);
        ssize_t n = len + 4096 < sizeof text ? read(fd, text + len, 4096) : 0;
        len += n > 0 ? (size_t)n : 0;
        text[len] = '\0';
        told = count_of(text, "\"event\":\"log_suppressed\"");
        sleep_ms(5);
    }
    assert_int_equal(told, 3);
    struct signal_account all[SITE_COUNT];
    signals_account(bench.signals, all);
    assert_true(all[SITE_SERVER_STOPPED].queued > 100); /* it never caught up */
    close(fd);
}

static struct signal_account reopened(void)
{
    struct signal_account all[SITE_COUNT];
    signals_account(bench.signals, all);
    return all[SITE_LOG_REOPENED];
}

/* As it is done when a disk is full of logs, while whoever takes them away stands still. */
static void a_reopening_waits_for_room(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(bench.path, 0600), 0);
    int fd = fifo_open();
    bench_open(&bench, 1, 0);
    for (int i = 0; i < 20; i++) {
        fire(0, 500);
        turns_wait(bench.signals, 0);
    }
    for (int i = 0; i < OUTBOX_OWN_LINES_AND_MORE; i++) {
        signals_reopen(bench.signals);
        for (uint64_t end_ns = in_ms(20000); reopened().fired <= (uint64_t)i; sleep_ms(5))
            assert_true(clock_mono_ns() < end_ns);
    }
    char kept[128];
    snprintf(kept, sizeof kept, "%s.1", bench.path);
    assert_int_equal(rename(bench.path, kept), 0);
    assert_int_equal(mkdir(bench.path, 0700), 0);
    signals_reopen(bench.signals);
    for (uint64_t end_ns = in_ms(20000); reopened().fired <= OUTBOX_OWN_LINES_AND_MORE; sleep_ms(5))
        assert_true(clock_mono_ns() < end_ns);
    struct signal_account a = reopened();
    assert_int_equal(a.fired, OUTBOX_OWN_LINES_AND_MORE + 1);
    assert_true(a.queued > 0);
    assert_int_equal(a.fired, a.queued + a.outcomes[OUTCOME_DROPPED]);
    free(fifo_read(fd, "the old file is kept"));
    close(fd);
    rmdir(bench.path);
    rename(kept, bench.path);
}

/* A terminal that nobody reads says that it takes something and then blocks for the rest. In a
 * process of its own: the blocked thread ends only with it. */
enum { NO_TERMINAL = 2 };

static int terminal_child(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return NO_TERMINAL;
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0) return 3;
    dup2(terminal, STDERR_FILENO);
    bench.log.sink = LOG_STDERR;
    bench_open(&bench, 1, 0);
    int64_t still_ms = 0;
    for (uint64_t turned_ns = 0, end_ns = in_ms(20000); still_ms < 300; still_ms += 5) {
        if (clock_mono_ns() > end_ns) return 4; /* not blocked */
        fire(0, 10);
        sleep_ms(5);
        if (signals_scribe_turned_ns(bench.signals) == turned_ns) continue;
        turned_ns = signals_scribe_turned_ns(bench.signals);
        still_ms = 0;
    }
    alarm(20); /* it ends, or is ended */
    return signals_close(bench.signals, in_ms(30)) > 0 ? 0 : 5;
}

static void a_blocked_write_does_not_delay_the_end(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) _exit(terminal_child());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_TERMINAL) {
        print_message("skipped: there is no pseudo-terminal here (/dev/pts)\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_file_is_opened_anew(void **state)
{
    (void)state;
    bench_open(&bench, 1, 0);
    fire(0, 1);
    file_wait(bench.path, "server_stopped", 1);
    struct stat st;
    assert_int_equal(stat(bench.path, &st), 0);
    assert_int_equal(st.st_mode & 07137, 0); /* at most 0640 */
    char rotated[128];
    snprintf(rotated, sizeof rotated, "%s.1", bench.path);
    assert_int_equal(rename(bench.path, rotated), 0);
    signals_reopen(bench.signals);
    for (uint64_t end_ns = in_ms(20000); access(bench.path, F_OK) != 0; sleep_ms(5))
        assert_true(clock_mono_ns() < end_ns);
    fire(0, 2);
    file_wait(bench.path, "server_stopped", 2);
    char *text = file_text(rotated);
    assert_int_equal(count_of(text, "server_stopped"), 1);
    free(text);
    unlink(rotated);
    /* Where it cannot be opened, the old one is kept, and a line says why. */
    assert_int_equal(rename(bench.path, rotated), 0);
    assert_int_equal(mkdir(bench.path, 0700), 0);
    signals_reopen(bench.signals);
    file_wait(rotated, "\"message\":\"the old file is kept", 1);
    rmdir(bench.path);
    unlink(rotated);
}

/* Neither the one who asks nor the scribe waits in open; the line comes once somebody reads. */
static void a_file_that_became_a_fifo_is_waited_for(void **state)
{
    (void)state;
    bench_open(&bench, 1, 0);
    fire(0, 1);
    file_wait(bench.path, "server_stopped", 1);
    unlink(bench.path);
    assert_int_equal(mkfifo(bench.path, 0600), 0);
    signals_reopen(bench.signals);
    turns_wait(bench.signals, 2);
    fire(0, 2);
    turns_wait(bench.signals, 2);
    site_holds(bench.signals, SITE_SERVER_STOPPED, 3, 1, 0, 0, 0, 2);
    int fd = fifo_open();
    char *text = fifo_read(fd, "server_stopped");
    assert_non_null(strstr(text, "\"event\":\"log_reopened\""));
    free(text);
    close(fd);
}

/* It fails to open as a FIFO without a reader does, but nobody could ever come to read it. */
static void a_socket_is_no_fifo(void **state)
{
    (void)state;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "%s", bench.path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)(const void *)&name, sizeof name), 0);
    struct signals_config config = {.writers = 1, .log = &bench.log};
    struct err e;
    assert_int_equal(signals_open(&config, &bench.signals, &e), ERR_SYSTEM);
    assert_non_null(strstr(e.text, bench.path));
    close(fd);
}

static void a_file_that_cannot_be_opened_is_an_error(void **state)
{
    (void)state;
    bench.log.file = SPAN("/nonexistent/log");
    struct signals_config config = {.writers = 1, .log = &bench.log};
    struct err e;
    assert_int_equal(signals_open(&config, &bench.signals, &e), ERR_SYSTEM);
    assert_null(bench.signals);
    assert_non_null(strstr(e.text, "/nonexistent/log"));
}

/* ---- plans ---- */

/* The reader stands still, plans come and go, and every record outlives its plan. */
static void reloads_leave_nothing_behind(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(bench.path, 0600), 0);
    int fd = fifo_open();
    bench_open(&bench, 1, 0);
    struct buf out = room();
    double series[2] = {0};
    for (int i = 0; i < 300; i++) {
        char version[32];
        snprintf(version, sizeof version, "version-%d", i);
        struct plan *plan = plan_of(version);
        struct signal_cells *cells = adopt(bench.signals, plan, &bench.log);
        for (int k = 0; k < 20; k++)
            tell(signals_writer(bench.signals, 0), cells, plan,
                 "{\"request_id\":\"r\",\"variant\":\"learned\"}");
        signals_release(bench.signals, cells);
        plan_free(plan);
        if (i % 290 != 9) continue; /* 9 and 299 */
        out.len = 0;
        signals_render_metrics(bench.signals, METRICS_PROMETHEUS, &out);
        char *text = strndup(out.data, out.len);
        series[i > 9] = strtod(strstr(text, "\ninterlude_metric_series ") + 24, NULL);
        /* Four versions, one variant that reads posteriors, four segments, three actions that it
         * uses; and interlude_plan_info. */
        assert_int_equal(count_of(text, "version=\"version-"), 4 * 4 * 3 + 1);
        free(text);
    }
    assert_true(series[0] > 0);
    assert_true(series[0] == series[1]);
    free(out.data);
    char text[1 << 17];
    ssize_t n = read(fd, text, sizeof text - 1);
    assert_true(n > 0);
    assert_true(signals_close(bench.signals, in_ms(0)) > 0);
    bench.signals = NULL;
    close(fd);
}

/* They came by writer: of a reload and a start within one turn, the reload could be told first. */
static void lines_come_in_the_order_of_time(void **state)
{
    (void)state;
    enum { WRITERS = 5, LINES = 1000 };
    bench_open(&bench, WRITERS, 0);
    for (int i = 0; i < LINES; i++) {
        /* Against the order of the rings, and not twice in a microsecond: time alone orders. */
        signal_server_draining(signals_writer(bench.signals, WRITERS - 1 - i % WRITERS),
                               SPAN("test"), i);
        for (int64_t us = clock_wall_us(); clock_wall_us() <= us;) continue;
    }
    file_wait(bench.path, "server_draining", LINES);
    char *text = file_text(bench.path);
    const char *at = text;
    for (int i = 0; i < LINES; i++) {
        at = strstr(at, "\"drain_ms\":");
        assert_non_null(at);
        at += strlen("\"drain_ms\":");
        assert_int_equal(atoi(at), i);
    }
    free(text);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, done)
    const struct CMUnitTest tests[] = {
        TEST(the_books_agree_with_the_file),
        TEST(the_books_are_of_every_writer),
        TEST(lines_come_in_the_order_of_time),
        TEST(over_budget_is_suppressed_and_told),
        TEST(a_closed_site_opens_as_its_bucket_fills),
        TEST(an_unlimited_rate_lets_everything_through),
        TEST(a_rate_of_nothing_lets_nothing_through),
        TEST(below_the_level_is_suppressed_in_silence),
        TEST(what_the_level_hid_is_never_told),
        TEST(a_plan_brings_its_level_and_budgets),
        TEST(a_fifo_is_waited_for),
        TEST(a_reader_that_comes_back_is_told_what_it_missed),
        TEST(a_full_disk_is_told_once_there_is_space),
        TEST(a_stopped_reader_does_not_delay_the_end),
        TEST(a_slow_reader_is_told_what_it_misses),
        TEST(a_reopening_waits_for_room),
        TEST(a_blocked_write_does_not_delay_the_end),
        TEST(a_file_is_opened_anew),
        TEST(a_file_that_became_a_fifo_is_waited_for),
        TEST(a_socket_is_no_fifo),
        TEST(a_file_that_cannot_be_opened_is_an_error),
        TEST(reloads_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
