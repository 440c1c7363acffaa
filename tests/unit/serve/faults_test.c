/* Connections, where sending and receiving fail in every way that the kernel has.
 *
 * On a connection that watches its edges, recv says EAGAIN, or less than there was room for, only
 * where nothing is left: that is the kernel's promise, and so neither is made up here. */
#include "loop_hand.h"

#include <sys/socket.h>

enum fault { FAULT_NONE, FAULT_EINTR, FAULT_EAGAIN, FAULT_SHORT, FAULT_GONE };

static enum fault fault;
static int gone_errno;
static uint32_t fault_in; /* calls until the fault; then again and again */
static uint32_t every = 1;
static bool at_recv, at_send;

/* Whether this call of the loop's fails. What the test itself sends and receives does not. */
static bool fails(bool here, int fd)
{
    for (uint32_t i = 0; i < hand->opened; i++)
        if (hand->clients[i] == fd) return false;
    if (!here || fault == FAULT_NONE) return false;
    if (fault_in-- > 0) return false;
    fault_in = every - 1;
    return true;
}

static ssize_t failure(void)
{
    errno = fault == FAULT_EINTR ? EINTR : fault == FAULT_EAGAIN ? EAGAIN : gone_errno;
    return -1;
}

ssize_t __real_send(int fd, const void *data, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t n, int flags)
{
    if (!fails(at_send, fd)) return __real_send(fd, data, n, flags);
    return fault == FAULT_SHORT ? __real_send(fd, data, n > 1 ? n / 2 : 1, flags) : failure();
}

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (!fails(at_send, fd)) return __real_sendmsg(fd, message, flags);
    if (fault != FAULT_SHORT) return failure();
    /* In the middle of the head; of what is behind it; or at the border of both. */
    static unsigned at;
    struct iovec parts[2] = {message->msg_iov[0], message->msg_iov[1]};
    if (at % 3 == 0) return __real_send(fd, parts[0].iov_base, parts[0].iov_len / 2 + 1, flags);
    if (at++ % 3 == 1) return __real_send(fd, parts[0].iov_base, parts[0].iov_len, flags);
    parts[1].iov_len = parts[1].iov_len / 2 + 1;
    return __real_sendmsg(fd, &(struct msghdr){.msg_iov = parts, .msg_iovlen = 2}, flags);
}

ssize_t __real_recv(int fd, void *data, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t n, int flags)
{
    return fails(at_recv, fd) ? failure() : __real_recv(fd, data, n, flags);
}

ssize_t __real_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n)
{
    return __real_write(fd, data, n);
}

static int decisions(void **state)
{
    (void)state;
    fault = FAULT_NONE;
    at_recv = at_send = false;
    fault_in = 0;
    every = 2;
    return hand_setup(false, 1 << 22, true);
}

static int operations(void **state)
{
    decisions(state);
    hand_teardown(state);
    return hand_setup(true, 1 << 22, true);
}

static char text[1 << 21];

/* What passes: each request has its answer, in order, and none has two. */
static void faults_that_pass_lose_and_double_nothing(void **state)
{
    (void)state;
    static const struct {
        enum fault fault;
        bool at_recv, at_send;
    } rows[] = {
        {FAULT_EINTR, true, false},  {FAULT_EINTR, false, true}, {FAULT_EINTR, true, true},
        {FAULT_EAGAIN, false, true}, {FAULT_SHORT, false, true},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        for (every = 2; every < 5; every++) {
            uint32_t slot = hand_connect();
            hand_turn();
            fault = rows[row].fault;
            at_recv = rows[row].at_recv;
            at_send = rows[row].at_send;
            fault_in = 0;
            int asked = 0, answered = 0;
            for (int turn = 0; turn < 400 && (asked < 200 || answered < asked); turn++) {
                if (asked < 200) {
                    int count = 1 + asked % 37;
                    hand_ask(slot, asked, count);
                    asked += count;
                }
                hand_turn();
                ssize_t n = hand_read(slot, text, sizeof text);
                if (n < 0) fail_msg("row %zu: closed after %d of %d", row, answered, asked);
                for (char *at = text; (at = strstr(at, "Content-Length"));) {
                    at = strstr(at, "\r\n\r\n");
                    if (!at) break;
                    at += 4;
                    answered++;
                }
            }
            fault = FAULT_NONE;
            if (answered != asked) fail_msg("row %zu: %d of %d", row, answered, asked);
        }
    }
}

/* The bytes of the answers, in order, whatever is torn where. */
static void torn_answers_come_whole(void **state)
{
    (void)state;
    static char whole[1 << 19], torn[1 << 19];
    for (int round = 0; round < 2; round++) {
        char *into = round ? torn : whole;
        uint32_t slot = hand_connect();
        hand_turn();
        fault = round ? FAULT_SHORT : FAULT_NONE;
        at_send = true;
        fault_in = 0;
        every = 1;
        hand_ask(slot, 1000, 100);
        size_t len = 0;
        for (int turn = 0; turn < 2000; turn++) {
            hand_turn();
            ssize_t n = hand_read(slot, into + len, sizeof whole - len);
            assert_true(n >= 0);
            len += (size_t)n;
        }
        assert_int_equal(hand_count(into, "HTTP/1.1 200 OK"), 100);
        for (char *date = into; (date = strstr(date, "Date: "));) *date = '.';
        char *dates = into;
        while ((dates = strstr(dates, ".ate: "))) memset(dates, '.', HTTP_DATE_BYTES - 2);
    }
    assert_string_equal(torn, whole);
}

static void torn_scrapes_come_whole(void **state)
{
    (void)state;
    fault = FAULT_SHORT;
    at_send = true;
    every = 1;
    uint32_t slot = hand_connect();
    hand_turn();
    for (int i = 0; i < 12; i++)
        hand_send(slot, HAND_GET("/metrics"), strlen(HAND_GET("/metrics")));
    int whole = 0;
    size_t of_body = 0;
    char *head = NULL;
    static char head_bytes[512];
    size_t head_len = 0;
    for (int turn = 0; turn < 20000 && whole < 12; turn++) {
        hand_turn();
        ssize_t n = hand_read(slot, text, sizeof text);
        assert_true(n >= 0);
        for (ssize_t i = 0; i < n; i++) {
            if (of_body) {
                assert_int_equal(text[i], 'm');
                if (--of_body == 0) whole++;
                continue;
            }
            assert_true(head_len < sizeof head_bytes - 1);
            head_bytes[head_len++] = text[i];
            head_bytes[head_len] = '\0';
            if (!(head = strstr(head_bytes, "\r\n\r\n"))) continue;
            assert_memory_equal(head_bytes, "HTTP/1.1 200 OK\r\n", 17);
            of_body = HAND_TEXT_BYTES;
            head_len = 0;
        }
    }
    assert_int_equal(whole, 12);
    assert_int_equal(hand->conns[slot].state, CONN_READING);
}

/* What does not pass closes that connection, and none beside it; nothing of it is kept. */
static void faults_that_do_not_pass_end_one_connection(void **state)
{
    (void)state;
    static const int errors[] = {EIO, EPIPE, ECONNRESET, ENOSPC, ETIMEDOUT, EBADF};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        for (int sending = 0; sending < 2; sending++) {
            uint32_t bad = hand_connect(), good = hand_connect();
            hand_turn();
            fault = FAULT_GONE;
            gone_errno = errors[i];
            at_recv = !sending;
            at_send = sending;
            fault_in = 0;
            every = UINT32_MAX;
            hand_ask(bad, 0, 40);
            hand_turn();
            fault = FAULT_NONE;
            for (int turn = 0; turn < 5; turn++) hand_turn();
            assert_int_equal(hand->conns[bad].state, CONN_CLOSED);
            assert_null(hand->conns[bad].in.data);
            assert_null(hand->conns[bad].out.data);
            hand_ask(good, 0, 1);
            hand_turn();
            assert_true(hand_read(good, text, sizeof text) > 0);
            assert_int_equal(hand->conns[good].state, CONN_READING);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(faults_that_pass_lose_and_double_nothing, decisions,
                                        hand_teardown),
        cmocka_unit_test_setup_teardown(torn_answers_come_whole, decisions, hand_teardown),
        cmocka_unit_test_setup_teardown(torn_scrapes_come_whole, operations, hand_teardown),
        cmocka_unit_test_setup_teardown(faults_that_do_not_pass_end_one_connection, decisions,
                                        hand_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
