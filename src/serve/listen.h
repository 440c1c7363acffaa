/* listen: addresses as people write them, and sockets that listen there. Not on the request path.
 */
#ifndef INTERLUDE_SERVE_LISTEN_H
#define INTERLUDE_SERVE_LISTEN_H

#include "base/err.h"
#include "base/span.h"

#include <netdb.h>
#include <stdbool.h>
#include <sys/socket.h>

/* "[ADDRESS]:65535" and a NUL. */
enum { ADDRESS_TEXT_MAX = 64 };

/* A socket that listens at `where`, HOST:PORT (an IPv6 address in brackets; port 0: any that is
 * free), not blocking. On success *fd is the caller's, and `bound` says where it listens in truth.
 * ERR_USAGE: `where` is no address; ERR_SYSTEM: it cannot be had, and what to do about it. */
enum err_code listen_open(struct span where, int *fd, char bound[ADDRESS_TEXT_MAX],
                          struct err *e) MUST_CHECK;

/* Whether `fd`, a listening socket, already has what `where` asks for: the same port, and the same
 * address, or one of the two stands for all addresses. False where `where` is no address. */
bool listen_overlaps(struct span where, int fd);

/* From now on nobody new gets to the listening socket `fd`: his SYN is not answered, so he tries
 * again a second later. Who has had an answer to his gets in. For a socket that is to be closed
 * soon, and is nobody else's. Where the system cannot do that, nothing changes. */
void listen_ignore_new(int fd);

/* HOST:PORT of a socket's own end, "" if it has none. */
void listen_address_write(int fd, char text[ADDRESS_TEXT_MAX]);

/* The same of its other end. */
void listen_peer_write(int fd, char text[ADDRESS_TEXT_MAX]);

/* True where `host`, a Host field, is a name by which only this machine itself or somebody who
 * knows its address can call us: a loopback name or address, or the address that `fd`, an accepted
 * connection, arrived at. Ports are not compared: they get mapped. */
bool listen_host_is_ours(struct span host, int fd);

/* True where it is one of `hosts`: names, in any case, or addresses, IPv6 without brackets. Ports
 * are not compared here either. */
bool listen_host_is_one_of(struct span host, const struct span *hosts, int count);

/* True where `fd`, a listening socket, can be reached from this machine alone: it listens at a
 * loopback address, or at none. */
bool listen_is_local(int fd);

#endif
