#include "serve/refusals.h"

#include "base/clock.h"
#include "wire/http_write.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of one request, in whole pages. */
enum { PAGE = 4096, REQUEST_BYTES = (HTTP_REQUEST_BYTES_MAX + PAGE - 1) / PAGE * PAGE };

static char *request_of(const struct refusals *r, const struct refusal *one)
{
    return r->memory + (size_t)(one - r->all) * REQUEST_BYTES;
}

static void refusal_end(struct refusals *r, struct refusal *one)
{
    if (one->fd < 0) return;
    close(one->fd);
    one->fd = -1;
    r->count--;
    if (one->len > PAGE) madvise(request_of(r, one), REQUEST_BYTES, MADV_DONTNEED);
}

static void refusal_end_untold(struct refusals *r, struct refusal *one)
{
    if (one->fd >= 0 && !one->told && one->counted)
        signal_count(r->writer, COUNTER_CONNECTIONS_UNTOLD);
    refusal_end(r, one);
}

static void refusal_tell(struct refusals *r, struct refusal *one, uint64_t now_ns)
{
    char memory[1024];
    struct buf b = buf_of(memory, sizeof memory);
    char date[HTTP_DATE_BYTES];
    http_date_write(date, clock_wall_us() / 1000000);
    struct http_head head = {.close = true, .extra = "Retry-After: 1\r\n", .date = date};
    http_write_problem(&b, &one->why, &head, one->head_read && one->reader.method == HTTP_HEAD);
    if (one->counted) signal_http(r->writer, err_status(one->why.code));
    one->told = true;
    one->until_ns = now_ns + REFUSAL_LINGER_MS * 1000000ull;
    if (send(one->fd, b.data, b.len, MSG_NOSIGNAL) < 0 || shutdown(one->fd, SHUT_WR) < 0)
        refusal_end(r, one);
}

/* Nothing more of it is needed: it is whole, or wrong, or waits for our word before its body. */
static bool refusal_has_come(struct refusals *r, struct refusal *one)
{
    char *bytes = request_of(r, one);
    enum http_result result = http_read(&one->reader, bytes, one->len);
    if (result == HTTP_HEAD_READ) {
        one->head_read = true;
        if (one->reader.expect_continue) return true;
        result = http_read(&one->reader, bytes, one->len);
    }
    return result != HTTP_MORE;
}

static void refusal_read(struct refusals *r, struct refusal *one, uint64_t now_ns)
{
    ssize_t n = recv(one->fd, request_of(r, one) + one->len, REQUEST_BYTES - one->len, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0) one->len += (size_t)n;
    bool ends = n <= 0;
    if (ends && (n < 0 || http_reader_idle(&one->reader)))
        refusal_end(r, one); /* its peer has gone, and asked for nothing */
    else if (ends || refusal_has_come(r, one))
        refusal_tell(r, one, now_ns);
}

static void refusal_discard(struct refusals *r, struct refusal *one)
{
    char memory[4096];
    ssize_t n = recv(one->fd, memory, sizeof memory, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) refusal_end(r, one);
}

/* The time is over. What has come of the request meanwhile may not have been looked at: the whole
 * process may have stood still. */
static void refusal_expire(struct refusals *r, struct refusal *one, uint64_t now_ns)
{
    if (!one->told) refusal_read(r, one, now_ns);
    if (one->fd < 0 || one->until_ns > now_ns) return;
    if (one->told || http_reader_idle(&one->reader))
        refusal_end_untold(r, one);
    else
        refusal_tell(r, one, now_ns);
}

/* A place that is empty, or whose connection has to make room: what it has sent, and nobody has
 * looked at yet, is answered first. */
static struct refusal *place_get(struct refusals *r, uint64_t now_ns)
{
    struct refusal *best = &r->all[0];
    for (int i = 0; i < r->max; i++) {
        struct refusal *one = &r->all[i];
        if (one->fd < 0) return one;
        if (one->told > best->told || (one->told == best->told && one->until_ns < best->until_ns))
            best = one;
    }
    if (!best->told) refusal_read(r, best, now_ns);
    refusal_end_untold(r, best);
    return best;
}

void refusals_add(struct refusals *r, int fd, const struct err *why, bool counted, uint64_t now_ns)
{
    struct refusal *one = place_get(r, now_ns);
    *one = (struct refusal){.fd = fd, .counted = counted, .why = *why};
    one->until_ns = now_ns + REFUSAL_REQUEST_MS * 1000000ull;
    http_reader_init(&one->reader);
    r->count++;
    struct epoll_event event = {.events = EPOLLIN,
                                .data.u64 = r->event_first + (uint64_t)(one - r->all)};
    if (epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) refusal_end_untold(r, one);
}

void refusals_event(struct refusals *r, int i, uint64_t now_ns)
{
    struct refusal *one = &r->all[i];
    if (one->fd < 0) return;
    if (one->told)
        refusal_discard(r, one);
    else
        refusal_read(r, one, now_ns);
}

void refusals_expire(struct refusals *r, uint64_t now_ns)
{
    for (int i = 0; r->count && i < r->max; i++)
        if (r->all[i].fd >= 0 && r->all[i].until_ns <= now_ns)
            refusal_expire(r, &r->all[i], now_ns);
}

void refusals_init(struct refusals *r)
{
    *r = (struct refusals){.epoll_fd = -1};
    for (int i = 0; i < REFUSALS_MAX; i++) r->all[i].fd = -1;
}

bool refusals_open(struct refusals *r, int max, int epoll_fd, uint64_t event_first,
                   struct signal_writer *writer)
{
    refusals_init(r);
    char *memory = mmap(NULL, (size_t)max * REQUEST_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    r->memory = memory;
    r->max = max;
    r->epoll_fd = epoll_fd;
    r->event_first = event_first;
    r->writer = writer;
    return true;
}

void refusals_close(struct refusals *r)
{
    for (int i = 0; i < r->max; i++) refusal_end(r, &r->all[i]);
    if (r->memory) munmap(r->memory, (size_t)r->max * REQUEST_BYTES);
    refusals_init(r);
}
