/* The whole server behind its ports, driven by one thread: connections come and go over socket
 * pairs, both loops turn, plans are reloaded, the server drains, the clock jumps, calls of the
 * system fail.
 *
 * The first byte of an input chooses limits; each further one is a step, some of which take more
 * bytes. A client is clean as long as it sent only whole, valid requests. What must hold:
 *
 *   - nothing crashes, and nothing is kept: every slot, buffer, text and place comes back;
 *   - a clean client gets exactly one answer to each request, in order, and none to what it has not
 *     sent whole; some may be missing only where it may be closed early (it is `excused`);
 *   - answers are whole, and after one that says Connection: close there is nothing more.
 *
 * The clock and the calls below are the ones here (the Makefile: WRAP_server), so that time stands
 * still unless an input moves it. */
#include "base/clock.h"
#include "plan/plan_load.h"
#include "serve/admin.h"
#include "serve/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    DECIDERS = 6,
    OPERATORS = 10,
    CLIENTS = DECIDERS + OPERATORS,
    ASKED_MAX = 2000,
    OUT_MAX = 1 << 16,
    STEPS_MAX = 400,
    RELOADS_MAX = 2, /* in an input: they take long */
    ANSWER_BYTES = 1 << 18,
    SETTLE_TURNS_MAX = 3000,
};

#define MS_NS 1000000ull

/* ---- the system, as an input wants it ---- */

static _Thread_local bool
    driven; /* on the thread of the fuzz target; the scribe has the true one */
static uint64_t fake_ns;
static struct {
    int calls; /* so many more, from the next one on */
    enum { FAULT_PASSING, FAULT_SHORT, FAULT_GONE, FAULT_KINDS } kind;
} fault;

uint64_t __real_clock_mono_ns(void);
uint64_t __wrap_clock_mono_ns(void);
uint64_t __wrap_clock_mono_ns(void)
{
    return driven ? fake_ns : __real_clock_mono_ns();
}

int __real_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
    return __real_epoll_wait(fd, events, max, driven ? 0 : timeout_ms);
}

static bool fails(void)
{
    if (!driven || fault.calls == 0) return false;
    fault.calls--;
    return true;
}

ssize_t __real_send(int fd, const void *data, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t n, int flags)
{
    if (!fails()) return __real_send(fd, data, n, flags);
    if (fault.kind == FAULT_SHORT) return __real_send(fd, data, (n + 1) / 2, flags);
    errno = fault.kind == FAULT_GONE ? EPIPE : fault.calls & 1 ? EAGAIN : EINTR;
    return -1;
}

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (!fails()) return __real_sendmsg(fd, message, flags);
    const struct iovec *head = &message->msg_iov[0];
    if (fault.kind == FAULT_SHORT) return __real_send(fd, head->iov_base, head->iov_len, flags);
    errno = fault.kind == FAULT_GONE ? ECONNRESET : EAGAIN;
    return -1;
}

ssize_t __real_recv(int fd, void *data, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t n, int flags)
{
    /* At an edge, EAGAIN and too few bytes are promises of the kernel's, and never made up. */
    if (fault.kind == FAULT_SHORT || !fails()) return __real_recv(fd, data, n, flags);
    errno = fault.kind == FAULT_GONE ? EIO : EINTR;
    return -1;
}

/* ---- the world ---- */

struct client {
    int fd; /* -1: none */
    bool clean, excused;
    bool may_end; /* between two answers, though nothing is wrong: it may have to give way */
    /* What it has to say; from out[at] on it has not been sent. */
    size_t out_at, out_len;
    char out[OUT_MAX];
    /* Of the requests that are whole in `out`, and what of them is sent. */
    int asked, sent;
    size_t ends[ASKED_MAX];
    uint32_t last_four; /* bytes put into `out`: a HEAD makes answers hard to tell apart */
    bool unframed;
    /* What it got. */
    int answered;
    bool closing, ended;
    size_t head_len, body_left, body_len;
    int status;
    char head[4096], body[256];
};

static struct {
    struct signals *signals;
    struct plan_live live;
    struct reload reload;
    struct worker worker;
    struct admin admin;
    struct stall stall; /* of the decisions' loop */
    struct reserve reserve;
    char directory[64], path[128];
    int plan; /* which of the two stands there */
} server;

static struct {
    struct conn conns[CLIENTS];
    struct client clients[CLIENTS];
    struct loop loops[2];
    bool over[2];
    uint32_t free[2][CLIENTS];
    uint32_t free_count[2];
    uint32_t client_of[CLIENTS]; /* by slot */
    bool small_pool, keeps_few;
    uint64_t passed_ns;
    int reloads;
    enum loop_phase phase;
} world;

static bool is_operator(uint32_t i)
{
    return i >= DECIDERS;
}

/* ---- once ---- */

static void plan_put(int which)
{
    char to[128], fresh[160];
    snprintf(to, sizeof to, "%s/%d.yaml", server.directory, which);
    snprintf(fresh, sizeof fresh, "%s.new", server.path);
    unlink(fresh);
    INVARIANT(symlink(to, fresh) == 0 && rename(fresh, server.path) == 0);
    server.plan = which;
}

static void directory_remove(void)
{
    char path[160];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%d.yaml", server.directory, i);
        unlink(path);
    }
    unlink(server.path);
    rmdir(server.directory);
}

/* The demonstration plan, and one that differs in its version. */
static void plans_lay_out(void)
{
    snprintf(server.directory, sizeof server.directory, "/tmp/interlude-fuzz-XXXXXX");
    INVARIANT(mkdtemp(server.directory));
    snprintf(server.path, sizeof server.path, "%s/plan.yaml", server.directory);
    atexit(directory_remove);
    struct span text = plan_demo_text();
    for (int i = 0; i < 2; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%d.yaml", server.directory, i);
        FILE *f = fopen(path, "we");
        INVARIANT(f);
        for (size_t at = 0; at < text.len;) {
            const char *line = text.data + at, *end = memchr(line, '\n', text.len - at);
            size_t len = end ? (size_t)(end - line) + 1 : text.len - at;
            if (len > 8 && memcmp(line, "version:", 8) == 0)
                fprintf(f, "version: fuzz-%d\n", i);
            else
                fwrite(line, 1, len, f);
            at += len;
        }
        INVARIANT(fclose(f) == 0);
    }
    usleep(250000); /* from then on they are at rest, and read at once */
    plan_put(0);
}

static void server_begin(void)
{
    static const _Atomic bool ready = true;
    static struct loop *workers[] = {&world.loops[0]};
    static const struct settings_log log = {
        .level = LOG_ERROR, .sink = LOG_FILE, .file = SPAN("/dev/null")};
    struct err e;
    plans_lay_out();
    const struct signals_config config = {.writers = 2, .log = &log};
    INVARIANT(signals_open(&config, &server.signals, &e) == ERR_OK);
    struct plan_errors *errors = calloc(1, sizeof *errors);
    struct settings *settings = NULL;
    struct plan *plan = errors ? plan_load(plan_demo_text(), &settings, errors) : NULL;
    INVARIANT(plan);
    free(errors);
    INVARIANT(
        reload_init(&server.reload, &server.live, server.signals, server.path, plan, settings, 2));
    worker_init(&server.worker, &server.live, 0, signals_writer(server.signals, 0), &ready);
    stall_init(&server.stall, server.signals, &world.loops[1]);
    stall_add_loop(&server.stall, "worker-0", &world.loops[0]);
    const struct admin_config admin = {.live = &server.live,
                                       .reader = 1,
                                       .reload = &server.reload,
                                       .signals = server.signals,
                                       .writer = signals_writer(server.signals, 1),
                                       .workers = workers,
                                       .worker_count = 1,
                                       .threads = &server.stall,
                                       .ready = &ready};
    INVARIANT(admin_init(&server.admin, &admin, &e) == ERR_OK);
    server.admin.service.answer_bytes_max = ANSWER_BYTES; /* what is larger only takes time here */
    INVARIANT(reserve_init(&server.reserve, CLIENTS));
    fake_ns = __real_clock_mono_ns();
}

/* ---- each input ---- */

static void loops_begin(uint8_t limits)
{
    world.small_pool = limits & 1;
    world.keeps_few = limits & 2;
    for (int i = 0; i < 2; i++) {
        struct loop_config config = {
            .service = i ? &server.admin.service : &server.worker.service,
            .conns = world.conns,
            .conn_count = CLIENTS,
            .pool_bytes_max = world.small_pool ? limits & 4 ? 0 : 4096 : 8 << 20,
            .reserve = &server.reserve,
            .kept_max = i && world.keeps_few ? OPERATORS - 3 : 0,
        };
        for (int kind = 0; kind < DEADLINE_COUNT; kind++) config.timeout_ns[kind] = 5000 * MS_NS;
        config.timeout_ns[DEADLINE_FRESH] = config.timeout_ns[DEADLINE_IDLE] = 120000 * MS_NS;
        struct err e;
        INVARIANT(loop_open(&world.loops[i], &config, &e) == ERR_OK);
        world.over[i] = false;
        world.free_count[i] = 0;
    }
    for (uint32_t i = CLIENTS; i-- > 0;) {
        world.clients[i].fd = -1;
        world.free[is_operator(i)][world.free_count[is_operator(i)]++] = i;
    }
    world.phase = LOOP_SERVING;
    world.passed_ns = 0;
    world.reloads = 0;
    fault.calls = 0;
}

static void freed_take(int which)
{
    uint32_t slot;
    while (handoff_take(&world.loops[which].freed, &slot))
        world.free[which][world.free_count[which]++] = slot;
}

static void turn(int which)
{
    if (world.over[which]) return;
    world.over[which] = !loop_turn(&world.loops[which]);
    freed_take(which);
}

static void excuse_all(void)
{
    for (uint32_t i = 0; i < CLIENTS; i++) world.clients[i].excused = true;
}

static void client_connect(uint32_t i)
{
    struct client *c = &world.clients[i];
    int which = is_operator(i), ends[2];
    if (c->fd >= 0 || world.over[which] || world.phase >= LOOP_ENDING) return;
    freed_take(which);
    if (world.free_count[which] == 0) return;
    INVARIANT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    memset(c, 0, offsetof(struct client, out));
    memset((char *)c + offsetof(struct client, asked), 0,
           sizeof *c - offsetof(struct client, asked));
    c->fd = ends[1];
    c->clean = true;
    c->excused = world.phase != LOOP_SERVING || world.passed_ns > 4000 * MS_NS ||
                 (which && world.keeps_few) || (fault.calls && fault.kind == FAULT_GONE);
    uint32_t slot = world.free[which][--world.free_count[which]];
    world.conns[slot].fd = ends[0];
    world.conns[slot].slot = slot;
    handoff_put(&world.loops[which].arrived, slot);
    loop_wake(&world.loops[which]);
    uint32_t open = OPERATORS - world.free_count[1];
    if (open >= TEXTS_MAX) /* some may be cut off */
        for (uint32_t k = DECIDERS; k < CLIENTS; k++) world.clients[k].excused = true;
}

static void client_close(struct client *c)
{
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
}

/* ---- what clients say ---- */

/* Where all is said and answered, there is room again, and numbers begin anew. */
static void begin_anew(struct client *c)
{
    if (c->out_at < c->out_len || c->answered < c->asked) return;
    c->out_at = c->out_len = 0;
    c->asked = c->sent = c->answered = 0;
}

static void put(struct client *c, const void *bytes, size_t len)
{
    if (len > OUT_MAX - c->out_len) {
        c->clean = false;
        len = OUT_MAX - c->out_len;
    }
    for (size_t i = 0; i < len; i++) {
        c->last_four = c->last_four << 8 | ((const uint8_t *)bytes)[i];
        if ((c->last_four | 0x20202020) == 0x68656164) c->unframed = true; /* head */
    }
    memcpy(c->out + c->out_len, bytes, len);
    c->out_len += len;
}

static void put_whole(struct client *c, const char *bytes, size_t len)
{
    if (c->asked == ASKED_MAX || len > OUT_MAX - c->out_len) return;
    put(c, bytes, len);
    c->ends[c->asked++] = c->out_len;
    /* One small request, and its answer, always have a place; what is pipelined may not. */
    if (world.small_pool && c->asked - c->answered > 1) c->excused = true;
}

/* `number` tells the answers apart. */
static size_t decision_make(char *into, size_t cap, uint32_t client, int number, uint8_t kind)
{
    static const char *const more[] = {
        "",
        ",\"variant\":\"bayes\"",
        ",\"variant\":\"bayes\",\"posteriors\":{\"none\":{\"alpha\":2,\"beta\":3},\"pod_1\":{}}",
        ",\"explain\":true",
        ",\"variant\":\"nobody\",\"session\":{\"elapsed_s\":\"x\"}",
        ",\"unit_id\":\"u-6\",\"session\":{\"tracks_played\":7,\"elapsed_s\":4000}",
    };
    char body[512];
    int len = snprintf(body, sizeof body, "{\"request_id\":\"c%02u-%05d\"%s}", client, number,
                       more[kind % 6]);
    static const char head[] = "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\n";
    if (kind & 8)
        return (size_t)snprintf(into, cap,
                                "%sTransfer-Encoding: chunked\r\n\r\n5\r\n%.5s\r\n%x\r\n%s"
                                "\r\n0\r\n\r\n",
                                head, body, len - 5, body + 5);
    return (size_t)snprintf(into, cap, "%s%sContent-Length: %d\r\n\r\n%s", head,
                            kind & 16 ? "Expect: 100-continue\r\n" : "", len, body);
}

static size_t operation_make(char *into, size_t cap, uint8_t kind)
{
    static const char *const gets[] = {"/healthz", "/readyz",     "/metrics", "/metrics",
                                       "/v1/plan", "/v1/signals", "/",        "/metrics"};
    static const char *const posts[][2] = {{"/v1/explain", "{\"variant\":\"bayes\"}"},
                                           {"/v1/drill", "{\"signal\":\"posteriors_absent\"}"},
                                           {"/v1/reload", ""},
                                           {"/v1/explain", "{"}};
    if (kind & 8) {
        const char *const *post = posts[kind & 3];
        return (size_t)snprintf(into, cap,
                                "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                                "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                                post[0], strlen(post[1]), post[1]);
    }
    return (size_t)snprintf(into, cap, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n",
                            gets[kind & 7],
                            kind & 16 ? "Accept: application/openmetrics-text\r\n" : "");
}

static size_t request_make(char *into, size_t cap, uint32_t i, uint8_t kind)
{
    return is_operator(i) ? operation_make(into, cap, kind)
                          : decision_make(into, cap, i, world.clients[i].asked, kind);
}

/* Sends up to `most` bytes of what it has to say. */
static bool client_send(struct client *c, size_t most)
{
    size_t rest = c->out_len - c->out_at;
    if (c->fd < 0 || rest == 0 || most == 0) return false;
    ssize_t n = __real_send(c->fd, c->out + c->out_at, rest < most ? rest : most, MSG_NOSIGNAL);
    if (n <= 0) return false;
    c->out_at += (size_t)n;
    while (c->sent < c->asked && c->ends[c->sent] <= c->out_at) c->sent++;
    return true;
}

/* ---- what clients get ---- */

/* It is late, or ended in the middle, or there is no buffer for it. */
static bool ends_connection(const struct client *c)
{
    return (c->status == 408 || c->status == 400 || c->status == 503) && c->closing && c->excused;
}

/* An answer is whole. */
static void answer_check(struct client *c)
{
    if (c->status == 100) return;
    if (!c->clean) return;
    uint32_t i = (uint32_t)(c - world.clients);
    if (!is_operator(i) && c->status != 200) {
        /* Not to a request: its connection has come to its end. */
        INVARIANT(ends_connection(c));
        return;
    }
    if (is_operator(i) && c->status != 200 && c->answered == c->sent && ends_connection(c)) return;
    INVARIANT(c->answered < c->sent);
    char wanted[64];
    int len = snprintf(wanted, sizeof wanted, "{\"request_id\":\"c%02u-%05d\"", i, c->answered);
    if (!is_operator(i))
        INVARIANT(c->body_len >= (size_t)len && memcmp(c->body, wanted, (size_t)len) == 0);
    c->answered++;
}

/* The head of an answer is whole. */
static void head_check(struct client *c)
{
    c->head[c->head_len] = '\0';
    INVARIANT(memcmp(c->head, "HTTP/1.1 ", 9) == 0);
    c->status = atoi(c->head + 9);
    INVARIANT(c->status >= 100 && c->status < 600);
    const char *length = strstr(c->head, "\r\nContent-Length:");
    INVARIANT(c->status == 100 || length);
    c->body_left = length ? strtoul(length + 17, NULL, 10) : 0;
    c->body_len = 0;
    c->closing |= strstr(c->head, "\r\nConnection: close\r\n") != NULL;
    c->head_len = 0;
    if (c->body_left == 0) answer_check(c);
}

static void bytes_check(struct client *c, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n && !c->unframed;) {
        if (c->body_left) {
            size_t part = n - i < c->body_left ? n - i : c->body_left;
            size_t room = sizeof c->body - c->body_len, kept = part < room ? part : room;
            memcpy(c->body + c->body_len, bytes + i, kept);
            c->body_len += kept;
            c->body_left -= part;
            i += part;
            if (c->body_left == 0) answer_check(c);
            continue;
        }
        INVARIANT(!c->closing); /* nothing is answered after that */
        INVARIANT(c->head_len < sizeof c->head - 1);
        c->head[c->head_len++] = bytes[i++];
        if (c->head_len >= 4 && memcmp(c->head + c->head_len - 4, "\r\n\r\n", 4) == 0)
            head_check(c);
    }
}

static bool client_read(struct client *c, size_t most)
{
    static char bytes[1 << 16];
    bool any = false;
    while (c->fd >= 0 && !c->ended && most > 0) {
        ssize_t n = __real_recv(c->fd, bytes, most < sizeof bytes ? most : sizeof bytes, 0);
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) {
            c->ended = true;
            /* A clean one ends between two answers, and not before it has all that it may have. */
            if (c->clean && !c->excused)
                INVARIANT(c->may_end && c->answered == c->sent && c->body_left == 0 &&
                          c->head_len == 0);
            break;
        }
        any = true;
        bytes_check(c, bytes, (size_t)n);
        most -= (size_t)n;
    }
    return any;
}

/* ---- steps ---- */

struct input {
    const uint8_t *data;
    size_t size;
};

static uint8_t next_byte(struct input *in)
{
    if (in->size == 0) return 0;
    in->size--;
    return *in->data++;
}

static void step_ask(struct input *in, uint32_t i, bool whole)
{
    char bytes[1024];
    uint8_t kind = next_byte(in), many = next_byte(in);
    struct client *c = &world.clients[i];
    if (c->fd < 0) client_connect(i);
    if (c->fd < 0) return;
    begin_anew(c);
    bool reloads = is_operator(i) && (kind & 11) == 10;
    if (reloads && world.reloads++ >= RELOADS_MAX) return;
    if (reloads) many = 0;
    /* Only what is short, and scrapes, can always wait for its reader. */
    bool is_short = !is_operator(i) || (!(kind & 8) && ((kind & 7) < 4 || (kind & 7) == 7));
    if (world.small_pool && !is_short) c->excused = true;
    for (int n = 0; n <= (many & 63); n++)
        put_whole(c, bytes, request_make(bytes, sizeof bytes, i, kind));
    client_send(c, whole ? SIZE_MAX : (size_t)next_byte(in) * 8);
}

/* Any bytes; or a request with one of its bytes changed. */
static void step_say(struct input *in, uint32_t i)
{
    char bytes[1024];
    uint8_t len = next_byte(in);
    struct client *c = &world.clients[i];
    if (c->fd < 0) client_connect(i);
    if (c->fd < 0) return;
    c->clean = false;
    begin_anew(c);
    if (len & 128) {
        size_t n = request_make(bytes, sizeof bytes, i, len);
        bytes[next_byte(in) * 2u % n] = (char)next_byte(in);
        put(c, bytes, n);
    } else {
        size_t n = len < in->size ? len : in->size;
        put(c, in->data, n);
        in->data += n;
        in->size -= n;
    }
    client_send(c, SIZE_MAX);
}

static void step_time(uint8_t how)
{
    static const uint16_t ms[] = {1, 5, 20, 100, 1000, 2000, 5000, 60000};
    fake_ns += ms[how & 7] * MS_NS;
    world.passed_ns += ms[how & 7] * MS_NS;
    if (world.passed_ns > 4000 * MS_NS) excuse_all();
}

/* Any of them may be silent then; but what one has asked for until now, it gets. */
static void step_give_way(uint8_t how)
{
    int which = how & 1;
    for (uint32_t i = 0; i < CLIENTS; i++)
        if (is_operator(i) == (bool)which) world.clients[i].may_end = true;
    loop_ask(&world.loops[which], 1 + (how >> 1 & 3));
    turn(which);
}

static void step_drain(void)
{
    if (world.phase == LOOP_ENDING) return;
    world.phase++;
    excuse_all();
    for (int i = 0; i < 2; i++) loop_phase_set(&world.loops[i], world.phase);
}

static void step_fault(uint8_t how)
{
    fault.kind = how % FAULT_KINDS;
    fault.calls = 1 + (how >> 4);
    if (fault.kind == FAULT_GONE) excuse_all();
}

static void step_reload(uint8_t how)
{
    static struct reload_outcome outcome;
    if (world.reloads++ >= RELOADS_MAX) return;
    plan_put(how & 1);
    reload_run(&server.reload, RELOAD_POST, "", signals_writer(server.signals, 1), &outcome);
    INVARIANT(outcome.code == ERR_OK);
}

static void step(struct input *in)
{
    uint8_t op = next_byte(in);
    uint32_t i = (op >> 4) % CLIENTS;
    struct client *c = &world.clients[i];
    switch (op & 15) {
    case 0:
        client_connect(i);
        break;
    case 1:
    case 2:
        step_ask(in, i, true);
        break;
    case 3:
        step_ask(in, i, false);
        break;
    case 4:
    case 5:
        step_say(in, i);
        break;
    case 6:
        client_send(c, (size_t)next_byte(in) * 16);
        break;
    case 7:
        turn(0);
        break;
    case 8:
        turn(1);
        break;
    case 9:
        client_read(c, op >> 4 & 1 ? SIZE_MAX : 500);
        break;
    case 10:
        step_time(op >> 4);
        break;
    case 11:
        if (op & 16) /* the other half of them: */
            client_close(c);
        else if (c->fd >= 0)
            shutdown(c->fd, SHUT_WR), c->excused = true;
        break;
    case 12:
        step_give_way(op >> 4);
        break;
    case 13:
        step_fault(next_byte(in));
        break;
    case 14:
        step_reload(op >> 4);
        break;
    case 15:
        if ((next_byte(in) & 7) == 0) step_drain();
        break;
    }
}

/* ---- the end ---- */

static bool settle_once(void)
{
    bool any = false;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        any |= client_send(&world.clients[i], SIZE_MAX);
        any |= client_read(&world.clients[i], SIZE_MAX);
    }
    for (int i = 0; i < 2; i++) {
        long queued = world.loops[i].deadlines.counts[DEADLINE_QUEUED];
        turn(i);
        any |= queued > 0;
    }
    return any;
}

/* Everybody says what he has to say, and takes what he gets: then nothing is missing. */
static void settle(void)
{
    fault.calls = 0;
    for (int quiet = 0, turns = 0; quiet < 3; turns++) {
        INVARIANT(turns < SETTLE_TURNS_MAX);
        quiet = settle_once() ? 0 : quiet + 1;
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const struct client *c = &world.clients[i];
        if (c->fd < 0 || !c->clean || c->excused) continue;
        INVARIANT(c->answered == c->sent && (!c->ended || c->may_end));
        INVARIANT(c->ended || c->sent == c->asked);
    }
}

/* Everything comes back. */
static void loops_end(void)
{
    for (uint32_t i = 0; i < CLIENTS; i++) client_close(&world.clients[i]);
    for (int n = 0; n < 100; n++) {
        turn(0);
        turn(1);
    }
    fake_ns += 300000 * MS_NS;
    turn(0);
    turn(1);
    INVARIANT(world.free_count[0] == DECIDERS && world.free_count[1] == OPERATORS);
    for (int i = 0; i < 2; i++) {
        INVARIANT(world.loops[i].open == 0);
        for (int kind = 0; kind < DEADLINE_COUNT; kind++)
            INVARIANT(world.loops[i].deadlines.counts[kind] == 0);
        loop_close(&world.loops[i]);
    }
    for (int i = 0; i < TEXTS_MAX; i++) INVARIANT(server.admin.metrics.all[i].holds == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    driven = false;
    if (!server.signals) server_begin();
    driven = true;
    struct input in = {data, size};
    loops_begin(next_byte(&in));
    for (int steps = 0; in.size && steps < STEPS_MAX; steps++) step(&in);
    settle();
    loops_end();
    driven = false;
    return 0;
}
