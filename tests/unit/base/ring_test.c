#include "base/ring.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static _Alignas(64) char memory[4096];

static void frame_bytes_are_rounded(void **state)
{
    (void)state;
    static const struct {
        size_t n, frame;
    } cases[] = {{0, 8}, {1, 16}, {8, 16}, {9, 24}, {100, 112}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(ring_frame_bytes(cases[i].n), cases[i].frame);
}

static void frames_come_out_in_order(void **state)
{
    (void)state;
    struct ring r;
    ring_init(&r, memory, 256);
    size_t n;
    assert_null(ring_peek(&r, &n));
    for (int i = 0; i < 3; i++) {
        char *at = ring_reserve(&r, 20);
        assert_non_null(at);
        assert_int_equal((uintptr_t)at % 8, 0);
        memset(at, 'a' + i, 20);
        assert_int_equal(ring_used(&r), (size_t)i * 32); /* nothing is seen before the commit */
        ring_commit(&r, 20 - (size_t)i);
    }
    for (int i = 0; i < 3; i++) {
        const char *at = ring_peek(&r, &n);
        assert_non_null(at);
        assert_int_equal(n, 20 - i);
        assert_int_equal(at[0], 'a' + i);
        assert_ptr_equal(at, ring_peek(&r, &n)); /* it stays until it is released */
        ring_release(&r);
    }
    assert_null(ring_peek(&r, &n));
    assert_int_equal(ring_used(&r), 0);
}

static void a_full_ring_refuses_and_keeps_what_it_has(void **state)
{
    (void)state;
    struct ring r;
    ring_init(&r, memory, 64);
    for (int i = 0; i < 4; i++) {
        char *at = ring_reserve(&r, 8);
        assert_non_null(at);
        memset(at, '0' + i, 8);
        ring_commit(&r, 8);
    }
    assert_null(ring_reserve(&r, 0));
    assert_null(ring_reserve(&r, 1000));
    size_t n;
    for (int i = 0; i < 4; i++) {
        const char *at = ring_peek(&r, &n);
        assert_int_equal(at[7], '0' + i);
        ring_release(&r);
        assert_non_null(ring_reserve(&r, 8)); /* at once, though the view of the tail was old */
    }
}

/* A frame that would cross the end lies at the start, and what was skipped comes back. */
static void a_frame_lies_in_one_piece(void **state)
{
    (void)state;
    struct ring r;
    ring_init(&r, memory, 128);
    size_t n;
    for (int round = 0; round < 1000; round++) {
        size_t want = (size_t)(round * 7 % 53);
        char *at = ring_reserve(&r, want);
        assert_non_null(at);
        assert_true(at >= memory && at + want <= memory + 128);
        memset(at, round & 0x7f, want);
        ring_commit(&r, want);
        const char *got = ring_peek(&r, &n);
        assert_ptr_equal(got, at);
        assert_int_equal(n, want);
        for (size_t i = 0; i < n; i++) assert_int_equal(got[i], round & 0x7f);
        ring_release(&r);
    }
}

/* What the log's reserve rests on: room for one more frame is enough for any skipping. */
static void one_spare_frame_covers_the_skipping(void **state)
{
    (void)state;
    enum { CAP = 1024, MAX = 56, FRAME = MAX + 8 };
    struct ring r;
    ring_init(&r, memory, CAP);
    size_t sizes[CAP], first = 0, count = 0, used = 0, n;
    uint32_t random = 1;
    for (int i = 0; i < 200000; i++) {
        random = random * 1664525 + 1013904223;
        size_t want = random >> 16 & 63;
        if (want > MAX) want = MAX;
        if (used + ring_frame_bytes(want) <= CAP - FRAME) {
            assert_non_null(ring_reserve(&r, want));
            ring_commit(&r, want);
            sizes[(first + count++) % CAP] = want;
            used += ring_frame_bytes(want);
        } else {
            assert_non_null(ring_peek(&r, &n));
            assert_int_equal(n, sizes[first % CAP]);
            ring_release(&r);
            used -= ring_frame_bytes(n);
            first++;
            count--;
        }
    }
}

enum { SENT = 200000 };

static void *produce(void *arg)
{
    struct ring *r = arg;
    for (uint32_t i = 0; i < SENT;) {
        size_t n = 4 + i % 61;
        char *at = ring_reserve(r, n);
        if (!at) continue;
        memcpy(at, &i, 4);
        memset(at + 4, (int)(i & 0xff), n - 4);
        ring_commit(r, n);
        i++;
    }
    return NULL;
}

static void two_threads_lose_and_tear_nothing(void **state)
{
    (void)state;
    static struct ring r;
    ring_init(&r, memory, sizeof memory);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, produce, &r), 0);
    for (uint32_t i = 0; i < SENT;) {
        size_t n;
        const unsigned char *at = ring_peek(&r, &n);
        if (!at) continue;
        uint32_t number;
        memcpy(&number, at, 4);
        int torn = number != i || n != 4 + i % 61;
        for (size_t k = 4; k < n && !torn; k++) torn = at[k] != (i & 0xff);
        assert_false(torn);
        ring_release(&r);
        i++;
    }
    pthread_join(thread, NULL);
    assert_int_equal(ring_used(&r), 0);
}

/* What was reserved is committed once, and no more of it than was reserved: else it aborts. */
static void what_is_committed_was_reserved(void **state)
{
    (void)state;
    static const struct {
        size_t reserved, committed, again; /* again 99: once only */
        bool aborts;
    } rows[] = {{8, 8, 99, false}, {8, 9, 99, true}, {8, 8, 1, true}, {8, 0, 8, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            struct ring r;
            fclose(stderr); /* what an abort says */
            signal(SIGABRT, SIG_DFL);
            ring_init(&r, memory, 256);
            if (!ring_reserve(&r, rows[i].reserved)) _exit(3);
            ring_commit(&r, rows[i].committed);
            if (rows[i].again != 99) ring_commit(&r, rows[i].again);
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, rows[i].aborts);
        if (!rows[i].aborts) assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_bytes_are_rounded),
        cmocka_unit_test(frames_come_out_in_order),
        cmocka_unit_test(a_full_ring_refuses_and_keeps_what_it_has),
        cmocka_unit_test(a_frame_lies_in_one_piece),
        cmocka_unit_test(one_spare_frame_covers_the_skipping),
        cmocka_unit_test(what_is_committed_was_reserved),
        cmocka_unit_test(two_threads_lose_and_tear_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
