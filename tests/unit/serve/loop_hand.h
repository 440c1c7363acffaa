/* loop_hand: a loop that a test turns by hand, over socket pairs, with a service of its own.
 *
 * The service tells what was asked, in order. On one kind of loop, paths of the decision port are
 * answered with what was asked; on the other, those of the operations port, with texts. */
#ifndef INTERLUDE_TESTS_LOOP_HAND_H
#define INTERLUDE_TESTS_LOOP_HAND_H

#include "serve/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { HAND_CONNS = 512, HAND_TEXT_BYTES = 300000 };

/* A decision named by `number`, which the answer has as its body. */
#define HAND_DECIDE "POST /v1/decide HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n%06d"
#define HAND_GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

struct hand {
    struct loop loop;
    struct service service;
    struct texts texts;
    struct reserve reserve;
    uint32_t cut;
    uint64_t plan_told;      /* of the last answer that was sent whole */
    uint64_t longest_ns;     /* between a request's being seen and its answer's being sent */
    long answers, urgent_at; /* answers so far; how many there were before the urgent one */
    struct conn conns[HAND_CONNS];
    int clients[HAND_CONNS];
    uint32_t opened;
};

static struct hand *hand;

static inline void hand_turn_edge(struct service *service)
{
    (void)service;
}

static inline void hand_answer(struct service *service, struct exchange *x)
{
    (void)service;
    x->status = x->head.status = 200;
    size_t mark = http_head_begin(x->out, &x->head);
    if (x->route->id == ROUTE_METRICS) {
        struct text *text = text_find(&hand->texts, 0, x->now_ns);
        if (!text) {
            struct buf out;
            text = text_begin(&hand->texts, 0, &out, &hand->cut);
            char *data = buf_take(&out, HAND_TEXT_BYTES);
            memset(data, 'm', HAND_TEXT_BYTES);
            text_written(&hand->texts, text, &out, x->now_ns);
        }
        http_head_end_apart(x->out, mark, text->len);
        x->text = text_hold(text);
    } else {
        if (x->route->id == ROUTE_HEALTHZ) hand->urgent_at = hand->answers;
        x->variant = 0;
        buf_span(x->out, x->body);
        http_head_end(x->out, mark);
    }
    hand->answers++;
}

static inline void hand_answered(struct service *service, int variant, uint64_t plan, uint64_t ns)
{
    (void)service, (void)variant;
    hand->plan_told = plan;
    if (ns > hand->longest_ns) hand->longest_ns = ns;
}

static inline int hand_setup(bool operations, size_t pool_bytes, bool reserved)
{
    hand = calloc(1, sizeof *hand);
    if (!hand || !texts_init(&hand->texts, HAND_TEXT_BYTES) ||
        !reserve_init(&hand->reserve, HAND_CONNS))
        return -1;
    hand->service = (struct service){.routes = operations ? &route_operations : &route_decisions,
                                     .answer_bytes_max = 4096,
                                     .turn_begin = hand_turn_edge,
                                     .turn_end = hand_turn_edge,
                                     .answer = hand_answer,
                                     .answered = hand_answered};
    if (operations) {
        hand->service.answers_alone = true;
        hand->service.turn_answers_max = 32;
        hand->service.urgent_routes = 1u << ROUTE_HEALTHZ;
    }
    struct loop_config config = {.service = &hand->service,
                                 .conns = hand->conns,
                                 .conn_count = HAND_CONNS,
                                 .pool_bytes_max = pool_bytes,
                                 .reserve = reserved ? &hand->reserve : NULL};
    for (int kind = 0; kind < DEADLINE_COUNT; kind++)
        config.timeout_ns[kind] = (uint64_t)5000 * 1000000;
    struct err e;
    return loop_open(&hand->loop, &config, &e) == ERR_OK ? 0 : -1;
}

static inline int hand_teardown(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < hand->opened; i++)
        if (hand->clients[i] >= 0) close(hand->clients[i]);
    loop_close(&hand->loop);
    for (int i = 0; i < TEXTS_MAX; i++) assert_int_equal(hand->texts.all[i].holds, 0);
    texts_done(&hand->texts);
    reserve_done(&hand->reserve);
    free(hand);
    return 0;
}

/* A connection as the acceptor hands it in; the client's end is hand->clients[the number]. */
static inline uint32_t hand_connect(void)
{
    uint32_t slot = hand->opened++;
    int ends[2];
    assert_true(slot < HAND_CONNS);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    hand->conns[slot].fd = ends[0];
    hand->conns[slot].slot = slot;
    hand->clients[slot] = ends[1];
    handoff_put(&hand->loop.arrived, slot);
    return slot;
}

/* A turn that does not wait, where nothing has come. */
static inline bool hand_turn(void)
{
    loop_wake(&hand->loop);
    return loop_turn(&hand->loop);
}

static inline void hand_send(uint32_t slot, const char *bytes, size_t len)
{
    assert_int_equal(send(hand->clients[slot], bytes, len, MSG_NOSIGNAL), len);
}

/* `count` decisions with the numbers from `first` on. */
static inline void hand_ask(uint32_t slot, int first, int count)
{
    static char all[1 << 17];
    size_t len = 0;
    for (int i = first; i < first + count; i++) {
        len += (size_t)snprintf(all + len, sizeof all - len, HAND_DECIDE, i);
        assert_true(len < sizeof all);
    }
    hand_send(slot, all, len);
}

/* What there is to read now, up to cap - 1 bytes, NUL-terminated; -1: the connection is closed. */
static inline ssize_t hand_read(uint32_t slot, char *into, size_t cap)
{
    size_t len = 0;
    for (;;) {
        ssize_t n = recv(hand->clients[slot], into + len, cap - 1 - len, 0);
        if (n > 0) len += (size_t)n;
        into[len] = '\0';
        if (n > 0 && len < cap - 1) continue;
        if (n < 0 && errno == EAGAIN) return (ssize_t)len;
        return len ? (ssize_t)len : n == 0 || errno == ECONNRESET ? -1 : 0;
    }
}

static inline int hand_count(const char *text, const char *what)
{
    int count = 0;
    while ((text = strstr(text, what))) {
        text += strlen(what);
        count++;
    }
    return count;
}

#endif
