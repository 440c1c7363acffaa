/* collector: stands in for a log collector at the far end of a pipe, in all its moods.
 *
 *   collector [--rate MB/S] [--pause D --every D] [--stopped] [--report FILE]
 *
 * A service whose log line waits for the pipe is only as fast as whoever reads it, and a collector
 * is not always fast: it rotates files, is throttled, is restarted. So it reads as fast as it can
 * (the default), or at most --rate megabytes a second; but not in the first --pause of every
 * --every (both 1ms to 1h); with --stopped, nothing until SIGUSR1. The pauses lie on a fixed grid
 * of the monotonic clock, so that they don't drift with the load.
 *
 * It ends at the end of its input, or by SIGTERM or SIGINT, and then writes one JSON line to the
 * report (stdout if none is named): bytes, whole lines, seconds. */
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const int64_t second_ns = 1000000000;

static volatile sig_atomic_t ended, resumed;

struct mood {
    double bytes_per_second; /* 0: no limit */
    int64_t pause_ns, every_ns;
    bool stopped;
    const char *report;
};

static void signal_take(int number)
{
    if (number == SIGUSR1)
        resumed = 1;
    else
        ended = 1;
}

/* The signals arrive only while something is waited for (ppoll opens the mask), so that none can
 * come between looking at `ended` and going to sleep. */
static void signals_set(void)
{
    struct sigaction action = {.sa_handler = signal_take};
    static const int numbers[] = {SIGTERM, SIGINT, SIGUSR1};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sigaction(numbers[i], &action, NULL);
        sigaddset(&set, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * second_ns + t.tv_nsec;
}

/* Returns early when a signal came. */
static void sleep_until(int64_t at_ns)
{
    int64_t left_ns = at_ns - now_ns();
    if (left_ns < 0) left_ns = 0;
    struct timespec t = {.tv_sec = left_ns / second_ns, .tv_nsec = left_ns % second_ns};
    sigset_t none;
    sigemptyset(&none);
    ppoll(NULL, 0, &t, &none);
}

/* False when a signal came first. */
static bool input_wait(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    sigset_t none;
    sigemptyset(&none);
    return ppoll(&input, 1, NULL, &none) > 0;
}

static _Noreturn void usage(const char *what)
{
    fprintf(stderr,
            "collector: %s\n"
            "usage: collector [--rate MB/S] [--pause D --every D] [--stopped] [--report FILE]\n"
            "       D is a number with ms or s: 150ms, 1s\n",
            what);
    exit(2);
}

static int64_t duration_read(const char *text)
{
    char *unit;
    double number = strtod(text, &unit);
    double ms = strcmp(unit, "ms") == 0 ? number : strcmp(unit, "s") == 0 ? number * 1000 : -1;
    if (!(ms >= 1 && ms <= 3600 * 1000)) usage("a duration is 1ms to 3600s");
    return (int64_t)(ms * 1e6);
}

static struct mood mood_read(int argc, char **argv)
{
    static const struct option options[] = {
        {"rate", required_argument, NULL, 'r'},   {"pause", required_argument, NULL, 'p'},
        {"every", required_argument, NULL, 'e'},  {"stopped", no_argument, NULL, 's'},
        {"report", required_argument, NULL, 'o'}, {0},
    };
    struct mood mood = {0};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 'r': {
            char *end;
            mood.bytes_per_second = strtod(optarg, &end) * 1e6;
            if (*end || !(mood.bytes_per_second > 0)) usage("--rate is megabytes a second");
            break;
        }
        case 'p':
            mood.pause_ns = duration_read(optarg);
            break;
        case 'e':
            mood.every_ns = duration_read(optarg);
            break;
        case 's':
            mood.stopped = true;
            break;
        case 'o':
            mood.report = optarg;
            break;
        default:
            usage("unknown option");
        }
    }
    if (optind < argc) usage("takes no arguments");
    if ((mood.pause_ns == 0) != (mood.every_ns == 0))
        usage("--pause needs --every, and it --pause");
    if (mood.pause_ns >= mood.every_ns && mood.every_ns) usage("--pause is shorter than --every");
    return mood;
}

static uint64_t lines_count(const char *bytes, size_t len)
{
    uint64_t lines = 0;
    const char *end = bytes + len;
    for (const char *at = bytes; (at = memchr(at, '\n', (size_t)(end - at))); at++) lines++;
    return lines;
}

/* Waits while the mood says so; true when a read may follow. */
static bool turn_wait(const struct mood *mood, int64_t start, uint64_t bytes)
{
    if (mood->stopped && !resumed) {
        sleep_until(now_ns() + second_ns);
        return false;
    }
    int64_t now = now_ns();
    if (mood->every_ns) {
        int64_t into = (now - start) % mood->every_ns;
        if (into < mood->pause_ns) {
            sleep_until(now - into + mood->pause_ns);
            return false;
        }
    }
    if (mood->bytes_per_second > 0) {
        int64_t due = start + (int64_t)((double)bytes / mood->bytes_per_second * 1e9);
        if (due > now) {
            sleep_until(due);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    static char buffer[64 * 1024];
    struct mood mood = mood_read(argc, argv);
    signals_set();

    uint64_t bytes = 0, lines = 0;
    int64_t start = now_ns();
    /* A slow reader takes small bites, or its rate would come in lumps. */
    size_t bite = mood.bytes_per_second > 0 ? 4096 : sizeof buffer;
    while (!ended) {
        if (!turn_wait(&mood, start, bytes) || !input_wait()) continue;
        ssize_t got = read(STDIN_FILENO, buffer, bite);
        if (got == 0) break;
        if (got < 0) {
            perror("collector: read");
            return 1;
        }
        bytes += (uint64_t)got;
        lines += lines_count(buffer, (size_t)got);
    }

    FILE *out = mood.report ? fopen(mood.report, "w") : stdout;
    if (!out) {
        perror(mood.report);
        return 1;
    }
    fprintf(out, "{\"bytes\": %llu, \"lines\": %llu, \"seconds\": %.3f}\n",
            (unsigned long long)bytes, (unsigned long long)lines, (double)(now_ns() - start) / 1e9);
    return fclose(out) ? 1 : 0;
}
