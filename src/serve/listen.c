#include "serve/listen.h"

#include "base/buf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

enum { LISTEN_BACKLOG = 4096, HOST_BYTES_MAX = 255, PORT_MAX = 65535 };

/* Digits as a number, which stays above PORT_MAX once it is; -1: they are none. */
static int port_number(struct span port)
{
    int number = 0;
    for (size_t i = 0; i < port.len; i++) {
        if (port.data[i] < '0' || port.data[i] > '9') return -1;
        if (number <= PORT_MAX) number = number * 10 + (port.data[i] - '0');
    }
    return number;
}

/* The host without brackets, and the port, all digits; false if the text is not HOST:PORT. */
static bool split(struct span where, struct span *host, struct span *port)
{
    size_t colon = where.len;
    while (colon > 0 && where.data[colon - 1] != ':') colon--;
    if (colon < 2 || colon == where.len) return false;
    *host = (struct span){where.data, colon - 1};
    *port = (struct span){where.data + colon, where.len - colon};
    if (host->data[0] == '[') {
        if (host->len < 3 || host->data[host->len - 1] != ']') return false;
        *host = (struct span){host->data + 1, host->len - 2};
    } else if (memchr(host->data, ':', host->len)) {
        return false;
    }
    int number = port_number(*port);
    return host->len <= HOST_BYTES_MAX && number >= 0 && (port->len <= 5 || number > PORT_MAX);
}

static void address_write(const struct sockaddr_storage *a, char text[ADDRESS_TEXT_MAX])
{
    char host[INET6_ADDRSTRLEN];
    text[0] = '\0';
    if (a->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)a;
        if (inet_ntop(AF_INET, &in->sin_addr, host, sizeof host))
            snprintf(text, ADDRESS_TEXT_MAX, "%s:%u", host, ntohs(in->sin_port));
    } else if (a->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)a;
        if (inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof host))
            snprintf(text, ADDRESS_TEXT_MAX, "[%s]:%u", host, ntohs(in->sin6_port));
    }
}

void listen_address_write(int fd, char text[ADDRESS_TEXT_MAX])
{
    struct sockaddr_storage a = {0};
    socklen_t len = sizeof a;
    text[0] = '\0';
    if (getsockname(fd, (struct sockaddr *)&a, &len) == 0) address_write(&a, text);
}

void listen_peer_write(int fd, char text[ADDRESS_TEXT_MAX])
{
    struct sockaddr_storage a = {0};
    socklen_t len = sizeof a;
    text[0] = '\0';
    if (getpeername(fd, (struct sockaddr *)&a, &len) == 0) address_write(&a, text);
}

static enum err_code refused(struct span where, int error, struct err *e)
{
    int len = (int)where.len;
    switch (error) {
    case EADDRINUSE:
        return err_set(e, ERR_SYSTEM,
                       "%.*s is in use by another program: stop it, or choose another port", len,
                       where.data);
    case EADDRNOTAVAIL:
        return err_set(e, ERR_SYSTEM,
                       "%.*s is not an address of this machine: 0.0.0.0 listens on all it has", len,
                       where.data);
    case EACCES:
        return err_set(e, ERR_SYSTEM,
                       "%.*s may not be listened on by this user: choose a port from 1024 on", len,
                       where.data);
    default:
        return err_set_sys(e, ERR_SYSTEM, error, "cannot listen on %.*s", len, where.data);
    }
}

static int socket_listening(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
    if (fd < 0) return -1;
    int on = 1;
    /* So that a restart does not have to wait for the last connections' TIME_WAIT. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, LISTEN_BACKLOG) < 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* On success freeaddrinfo(*found) is the caller's to do. */
static enum err_code find(struct span where, struct addrinfo **found, struct err *e)
{
    struct span host, port;
    char host_text[HOST_BYTES_MAX + 1], port_text[6];
    if (!split(where, &host, &port))
        return err_set(e, ERR_USAGE,
                       "`%.*s` is no address to listen on: HOST:PORT was expected, such as "
                       "127.0.0.1:7070 or [::1]:7070",
                       (int)where.len, where.data);
    if (port_number(port) > PORT_MAX)
        return err_set(e, ERR_USAGE, "cannot listen on %.*s: ports go from 0 to 65535",
                       (int)where.len, where.data);
    snprintf(host_text, sizeof host_text, "%.*s", (int)host.len, host.data);
    snprintf(port_text, sizeof port_text, "%.*s", (int)port.len, port.data);

    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    int failed = getaddrinfo(host_text, port_text, &hints, found);
    if (failed)
        return err_set(e, ERR_USAGE, "cannot listen on %.*s: the host %s: %s", (int)where.len,
                       where.data, host_text, gai_strerror(failed));
    return ERR_OK;
}

enum err_code listen_open(struct span where, int *fd, char bound[ADDRESS_TEXT_MAX], struct err *e)
{
    struct addrinfo *found;
    enum err_code code = find(where, &found, e);
    if (code) return code;
    int opened = socket_listening(found), error = errno;
    freeaddrinfo(found);
    if (opened < 0) return refused(where, error, e);
    *fd = opened;
    listen_address_write(opened, bound);
    return ERR_OK;
}

/* The bytes of an address without its port; *any: it stands for all that the machine has. */
static struct span address_bytes(const struct sockaddr *a, uint16_t *port, bool *any)
{
    static const struct in6_addr any6 = IN6ADDR_ANY_INIT;
    if (a->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)a;
        *port = ntohs(in->sin_port);
        *any = in->sin_addr.s_addr == htonl(INADDR_ANY);
        return (struct span){(const char *)&in->sin_addr, sizeof in->sin_addr};
    }
    if (a->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)a;
        *port = ntohs(in->sin6_port);
        *any = memcmp(&in->sin6_addr, &any6, sizeof any6) == 0;
        return (struct span){(const char *)&in->sin6_addr, sizeof in->sin6_addr};
    }
    *port = 0;
    *any = false;
    return (struct span){NULL, 0};
}

bool listen_overlaps(struct span where, int fd)
{
    struct sockaddr_storage own = {0};
    socklen_t len = sizeof own;
    struct addrinfo *found;
    if (getsockname(fd, (struct sockaddr *)&own, &len) < 0 || find(where, &found, NULL))
        return false;
    uint16_t port, other_port;
    bool any, other_any;
    struct span a = address_bytes((const struct sockaddr *)&own, &port, &any);
    struct span b = address_bytes(found->ai_addr, &other_port, &other_any);
    bool overlaps = port && port == other_port && (any || other_any || span_equal(a, b));
    freeaddrinfo(found);
    return overlaps;
}

/* A filter of a listening socket sees each packet to it from the TCP header on. */
void listen_ignore_new(int fd)
{
    enum { FLAGS_AT = 13, SYN = 0x02, WHOLE = 0xffff };
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, FLAGS_AT),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SYN, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, WHOLE),
    };
    struct sock_fprog filter = {sizeof code / sizeof code[0], code};
    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

/* Without the port and the brackets. */
static struct span host_name(struct span host)
{
    if (host.len && host.data[0] == '[') {
        const char *end = memchr(host.data, ']', host.len);
        if (end) return (struct span){host.data + 1, (size_t)(end - host.data) - 1};
    }
    const char *colon = host.len ? memchr(host.data, ':', host.len) : NULL;
    if (colon) host.len = (size_t)(colon - host.data);
    return host;
}

static bool is_loopback_v4(struct in_addr a)
{
    return ntohl(a.s_addr) >> 24 == 127;
}

static bool is_loopback_v6(const struct in6_addr *a)
{
    struct in_addr v4;
    if (!IN6_IS_ADDR_V4MAPPED(a)) return IN6_IS_ADDR_LOOPBACK(a);
    memcpy(&v4, &a->s6_addr[12], sizeof v4);
    return is_loopback_v4(v4);
}

/* The name, NUL-terminated, if it is short enough to be an address; else "". */
static void name_copy(char name[INET6_ADDRSTRLEN], struct span host)
{
    size_t len = host.len < INET6_ADDRSTRLEN ? host.len : 0;
    if (len) memcpy(name, host.data, len);
    name[len] = '\0';
}

bool listen_host_is_ours(struct span host, int fd)
{
    char name[INET6_ADDRSTRLEN];
    name_copy(name, host_name(host));
    if (strcasecmp(name, "localhost") == 0) return true;

    struct in_addr v4;
    struct in6_addr v6;
    bool is_v4 = inet_pton(AF_INET, name, &v4) == 1;
    bool is_v6 = !is_v4 && inet_pton(AF_INET6, name, &v6) == 1;
    if (is_v4 && is_loopback_v4(v4)) return true;
    if (is_v6 && IN6_IS_ADDR_LOOPBACK(&v6)) return true;

    struct sockaddr_storage own = {0};
    socklen_t len = sizeof own;
    if (getsockname(fd, (struct sockaddr *)&own, &len) < 0) return false;
    if (own.ss_family == AF_INET)
        return is_v4 && ((struct sockaddr_in *)&own)->sin_addr.s_addr == v4.s_addr;
    const struct in6_addr *at = &((struct sockaddr_in6 *)&own)->sin6_addr;
    if (is_v6) return IN6_ARE_ADDR_EQUAL(at, &v6);
    return is_v4 && IN6_IS_ADDR_V4MAPPED(at) && memcmp(&at->s6_addr[12], &v4, 4) == 0;
}

static bool same_v6(struct span a, struct span b)
{
    char x[INET6_ADDRSTRLEN], y[INET6_ADDRSTRLEN];
    struct in6_addr p, q;
    name_copy(x, a);
    name_copy(y, b);
    return inet_pton(AF_INET6, x, &p) == 1 && inet_pton(AF_INET6, y, &q) == 1 &&
           IN6_ARE_ADDR_EQUAL(&p, &q);
}

bool listen_host_is_one_of(struct span host, const struct span *hosts, int count)
{
    host = host_name(host);
    for (int i = 0; host.len && i < count; i++)
        if ((host.len == hosts[i].len && strncasecmp(host.data, hosts[i].data, host.len) == 0) ||
            same_v6(host, hosts[i]))
            return true;
    return false;
}

bool listen_is_local(int fd)
{
    struct sockaddr_storage own = {0};
    socklen_t len = sizeof own;
    if (getsockname(fd, (struct sockaddr *)&own, &len) < 0) return false;
    if (own.ss_family == AF_INET) return is_loopback_v4(((struct sockaddr_in *)&own)->sin_addr);
    if (own.ss_family == AF_INET6) return is_loopback_v6(&((struct sockaddr_in6 *)&own)->sin6_addr);
    return own.ss_family == AF_UNIX;
}
