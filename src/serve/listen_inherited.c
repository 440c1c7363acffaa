#include "serve/listen_inherited.h"

#include "serve/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST_FD = 3, SOCKETS_MAX = 2 };

static const char *const names[SOCKETS_MAX] = {"decide", "admin"};

/* A whole decimal number of at least 0. */
static bool number_read(const char *text, long *out)
{
    char *end;
    errno = 0;
    *out = strtol(text, &end, 10);
    return errno == 0 && *text >= '0' && *text <= '9' && *end == '\0';
}

static bool option_is(int fd, int option, int wanted)
{
    int value = -1;
    socklen_t len = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 && value == wanted;
}

static enum err_code socket_check(int fd, const char *name, struct err *e)
{
    if (fcntl(fd, F_GETFD) < 0)
        return err_set(e, ERR_USAGE, "LISTEN_FDS: descriptor %d (%s) is not open", fd, name);
    bool tcp = option_is(fd, SO_DOMAIN, AF_INET) || option_is(fd, SO_DOMAIN, AF_INET6);
    if (tcp && option_is(fd, SO_TYPE, SOCK_STREAM) && option_is(fd, SO_ACCEPTCONN, 1))
        return ERR_OK;
    return err_set(e, ERR_USAGE,
                   "LISTEN_FDS: descriptor %d (%s) is not a listening TCP socket "
                   "(ListenStream=HOST:PORT with systemd)",
                   fd, name);
}

static enum err_code difference_check(const int fds[SOCKETS_MAX], struct err *e)
{
    char where[SOCKETS_MAX][ADDRESS_TEXT_MAX];
    for (int i = 0; i < SOCKETS_MAX; i++) listen_address_write(fds[i], where[i]);
    if (strcmp(where[0], where[1]) != 0) return ERR_OK;
    return err_set(e, ERR_USAGE, "LISTEN_FDS: `decide` and `admin` are the same address, %s",
                   where[0]);
}

/* Which of `names` it is, or -1. */
static int name_find(struct span name)
{
    for (int i = 0; i < SOCKETS_MAX; i++)
        if (span_is(name, names[i])) return i;
    return -1;
}

/* By socket, its place in `names`. */
static enum err_code names_read(const char *text, int count, int places[SOCKETS_MAX], struct err *e)
{
    int colons = 0;
    for (const char *p = text; *p; p++) colons += *p == ':';
    if (colons + 1 != count)
        return err_set(e, ERR_USAGE, "LISTEN_FDNAMES has %d names, and LISTEN_FDS says %d sockets",
                       colons + 1, count);
    for (int i = 0; i < count; i++) {
        struct span name = {text, strcspn(text, ":")};
        places[i] = name_find(name);
        if (places[i] < 0)
            return err_set(e, ERR_USAGE,
                           "LISTEN_FDNAMES: `%.*s` is not known: `decide` or `admin` was expected "
                           "(FileDescriptorName= with systemd)",
                           (int)(name.len < 64 ? name.len : 64), name.data);
        if (i > 0 && places[i] == places[0])
            return err_set(e, ERR_USAGE, "LISTEN_FDNAMES: there are two sockets named `%s`",
                           names[places[i]]);
        text += name.len + 1;
    }
    return ERR_OK;
}

static enum err_code inherit(const char *count_text, const char *names_text,
                             struct listen_inherited *out, struct err *e)
{
    long count;
    int places[SOCKETS_MAX] = {0, 1}, fds[SOCKETS_MAX] = {0};
    if (!number_read(count_text, &count) || count > SOCKETS_MAX)
        return err_set(e, ERR_USAGE,
                       "LISTEN_FDS is `%.64s`: 0, 1 or 2 was expected, for `decide` and `admin`",
                       count_text);
    enum err_code code = ERR_OK;
    if (count && names_text && *names_text) code = names_read(names_text, (int)count, places, e);
    for (int i = 0; i < count && !code; i++) {
        fds[places[i]] = FIRST_FD + i;
        code = socket_check(FIRST_FD + i, names[places[i]], e);
    }
    if (!code && count == SOCKETS_MAX) code = difference_check(fds, e);
    if (code) return code;
    /* This flag is the descriptor's own, and nobody else's. */
    for (int i = 0; i < count; i++) fcntl(FIRST_FD + i, F_SETFD, FD_CLOEXEC);
    *out = (struct listen_inherited){.decide = fds[0], .admin = fds[1]};
    return ERR_OK;
}

enum err_code listen_inherit(struct listen_inherited *out, struct err *e)
{
    const char *pid_text = getenv("LISTEN_PID"), *count_text = getenv("LISTEN_FDS");
    const char *names_text = getenv("LISTEN_FDNAMES");
    struct listen_inherited found = {0};
    enum err_code code = ERR_OK;
    long pid;
    if (pid_text && !number_read(pid_text, &pid))
        code = err_set(e, ERR_USAGE, "LISTEN_PID is `%.64s`: the number of a process was expected",
                       pid_text);
    else if (pid_text && count_text && pid == getpid())
        code = inherit(count_text, names_text, &found, e);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (!code) *out = found;
    return code;
}
