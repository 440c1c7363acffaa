#include "lab/load_target.h"

#include "base/clock.h"
#include "lab/quantity.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum err_code url_wrong(struct err *e, const char *url, const char *what)
{
    return err_set(e, ERR_USAGE, "%.100s: %s", url, what);
}

/* An address of this machine's loopback, of either family. */
static bool address_of(const char *host, uint16_t port, struct load_target *t)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    if (!strcmp(host, "localhost")) host = "127.0.0.1";
    if (!strcmp(host, "[::1]")) {
        v6.sin6_addr = in6addr_loopback;
        memcpy(&t->address, &v6, sizeof v6);
        t->address_len = sizeof v6;
        return true;
    }
    if (inet_pton(AF_INET, host, &v4.sin_addr) != 1) return false;
    if (ntohl(v4.sin_addr.s_addr) >> 24 != 127) return false;
    memcpy(&t->address, &v4, sizeof v4);
    t->address_len = sizeof v4;
    return true;
}

enum err_code load_target_parse(const char *url, const char *default_path, struct load_target *out,
                                struct err *e)
{
    struct load_target t = {0};
    if (strlen(url) >= sizeof t.url) return url_wrong(e, url, "the URL is too long");
    for (const char *c = url; *c; c++)
        if (*c <= ' ' || *c > '~') return url_wrong(e, url, "a URL has no such byte");
    if (strncmp(url, "http://", 7) != 0)
        return url_wrong(e, url, "only http:// URLs can be measured");
    snprintf(t.url, sizeof t.url, "%s", url);
    const char *authority = url + 7;
    size_t len = strcspn(authority, "/?#");
    snprintf(t.host, sizeof t.host, "%.*s", (int)len, authority);
    snprintf(t.path, sizeof t.path, "%s", authority[len] ? authority + len : "/");
    if (t.path[0] != '/' || strchr(t.path, '#'))
        return url_wrong(e, url, "the path must begin with /");
    if (!strcmp(t.path, "/")) snprintf(t.path, sizeof t.path, "%s", default_path);

    char host[LOAD_URL_MAX];
    snprintf(host, sizeof host, "%s", t.host);
    char *colon = strrchr(host, ':');
    int64_t port = 80;
    if (colon && !strchr(colon, ']')) {
        *colon = 0;
        if (!quantity_integer(colon + 1, 1, 65535, &port))
            return url_wrong(e, url, "the port must be from 1 to 65535");
    }
    if (!address_of(host, (uint16_t)port, &t))
        return url_wrong(e, url, "the host must be localhost, 127.x.x.x or [::1]");
    *out = t;
    return ERR_OK;
}

/* ---- fetching: HTTP/1.0, so that the answer ends with the connection ---- */

struct answer_text {
    char *memory;
    size_t len, cap;
};

static enum err_code receive_all(int fd, struct answer_text *a, struct err *e)
{
    uint64_t end_ns = clock_mono_ns() + 5000000000u;
    for (;;) {
        if (a->cap - a->len < 64 * 1024) {
            if (a->cap > LOAD_FETCH_BYTES_MAX)
                return err_set(e, ERR_HTTP_SYNTAX, "the answer is too long");
            a->cap = a->cap ? 2 * a->cap : 256 * 1024;
            a->memory = realloc(a->memory, a->cap);
            INVARIANT(a->memory != NULL);
        }
        uint64_t now = clock_mono_ns();
        struct pollfd p = {fd, POLLIN, 0};
        int ready = now < end_ns ? poll(&p, 1, (int)((end_ns - now) / 1000000) + 1) : 0;
        if (ready == 0) return err_set_sys(e, ERR_SYSTEM, ETIMEDOUT, "no answer");
        ssize_t n = ready < 0 ? -1 : recv(fd, a->memory + a->len, a->cap - a->len - 1, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return err_set_sys(e, ERR_SYSTEM, errno, "receiving");
        if (n == 0) break;
        a->len += (size_t)n;
    }
    a->memory[a->len] = 0;
    return ERR_OK;
}

static enum err_code body_take(struct answer_text *a, int *status, struct err *e)
{
    int64_t number;
    if (a->len < 12 || strncmp(a->memory, "HTTP/1.", 7) != 0 || a->memory[8] != ' ')
        return err_set(e, ERR_HTTP_SYNTAX, "the answer is not HTTP");
    char digits[4] = {a->memory[9], a->memory[10], a->memory[11], 0};
    if (!quantity_integer(digits, 100, 599, &number))
        return err_set(e, ERR_HTTP_SYNTAX, "the answer has no status");
    char *body = strstr(a->memory, "\r\n\r\n");
    if (!body) return err_set(e, ERR_HTTP_SYNTAX, "the answer's head has no end");
    memmove(a->memory, body + 4, a->len - (size_t)(body + 4 - a->memory) + 1);
    *status = (int)number;
    return ERR_OK;
}

static enum err_code exchange_on(int fd, const struct load_target *t, const char *json,
                                 struct answer_text *a, struct err *e)
{
    char head[3 * LOAD_URL_MAX];
    int len =
        json ? snprintf(head, sizeof head,
                        "POST %s HTTP/1.0\r\nHost: %s\r\nContent-Type: application/json\r\n"
                        "Content-Length: %zu\r\n\r\n",
                        t->path, t->host, strlen(json))
             : snprintf(head, sizeof head, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", t->path, t->host);
    if (connect(fd, (const struct sockaddr *)&t->address, t->address_len) < 0)
        return err_set_sys(e, ERR_SYSTEM, errno, "connecting");
    if (send(fd, head, (size_t)len, MSG_NOSIGNAL) != len)
        return err_set_sys(e, ERR_SYSTEM, errno, "sending");
    if (json && send(fd, json, strlen(json), MSG_NOSIGNAL) != (ssize_t)strlen(json))
        return err_set_sys(e, ERR_SYSTEM, errno, "sending");
    return receive_all(fd, a, e);
}

/* `json` NULL: a GET. */
static enum err_code exchange(const struct load_target *t, const char *json, int *status,
                              char **body, struct err *e)
{
    int fd = socket(t->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return err_set_sys(e, ERR_SYSTEM, errno, "socket");
    struct answer_text a = {NULL, 0, 0};
    enum err_code code = exchange_on(fd, t, json, &a, e);
    close(fd);
    if (!code) code = body_take(&a, status, e);
    if (code)
        free(a.memory);
    else
        *body = a.memory;
    return code;
}

enum err_code load_target_fetch(const struct load_target *t, char **body, struct err *e)
{
    int status = 0;
    char *text = NULL;
    enum err_code code = exchange(t, NULL, &status, &text, e);
    if (code) return code;
    if (status == 200) {
        *body = text;
        return ERR_OK;
    }
    free(text);
    return err_set(e, ERR_HTTP_SYNTAX, "the answer is %d, not 200", status);
}

enum err_code load_target_post(const struct load_target *t, const char *json, int *status,
                               char **body, struct err *e)
{
    return exchange(t, json, status, body, e);
}
