/* load_target: a server on this machine, by its URL.
 *
 * Only http:// and only loopback: over a network the network would be what is measured, and a
 * typing slip would send 20,000 requests a second to a stranger. Any thread; values without
 * pointers. */
#ifndef INTERLUDE_LAB_LOAD_TARGET_H
#define INTERLUDE_LAB_LOAD_TARGET_H

#include "base/err.h"

#include <netinet/in.h>
#include <sys/socket.h>

enum { LOAD_URL_MAX = 256 };

struct load_target {
    char url[LOAD_URL_MAX];
    char host[LOAD_URL_MAX]; /* as it goes into the Host field */
    char path[LOAD_URL_MAX]; /* with the query */
    struct sockaddr_storage address;
    socklen_t address_len;
};

/* http://HOST[:PORT][/PATH]; HOST is localhost, an address of 127.0.0.0/8, or [::1]; the port is 80
 * if left out, the path `default_path` if left out or "/". ERR_USAGE. */
enum err_code load_target_parse(const char *url, const char *default_path, struct load_target *out,
                                struct err *e) MUST_CHECK;

/* GETs the target's path, and hands out the body of a 200, NUL-terminated; the caller frees
 * `*body`. Blocks, for 5 s at most. ERR_SYSTEM: it did not answer; ERR_HTTP_SYNTAX: with something
 * else. */
enum { LOAD_FETCH_BYTES_MAX = 16 * 1024 * 1024 };
enum err_code load_target_fetch(const struct load_target *t, char **body, struct err *e) MUST_CHECK;

/* POSTs JSON to the target's path, and hands out the body of any answer, as above. */
enum err_code load_target_post(const struct load_target *t, const char *json, int *status,
                               char **body, struct err *e) MUST_CHECK;

#endif
