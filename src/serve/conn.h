/* conn: one connection, from its first byte to its last, as HTTP/1.1 has it.
 *
 * Requests are answered in order; those that arrive together are answered with one send. Once
 * CONN_ANSWERS_MAX of them have been answered, the connection waits for its next turn (loop.h).
 * While an answer is not taken by the peer, nothing more is read from it. Every wait has a limit
 * for the whole of what is waited for. After an error the connection goes on only where it is
 * certain where the next request begins; else the answer is sent, our side is shut, and what the
 * peer still sends is thrown away for a while, so that the answer is not lost with it (RFC
 * 9112, 9.6). Nothing of a body that was not read is ever taken for a request.
 *
 * Threads: a connection belongs to its loop's. Ownership: slots are the server's; an open one owns
 * its descriptor and its buffers. */
#ifndef INTERLUDE_SERVE_CONN_H
#define INTERLUDE_SERVE_CONN_H

#include "serve/deadline.h"
#include "serve/pool.h"
#include "serve/route.h"
#include "serve/text.h"
#include "wire/http_read.h"

#include <sys/epoll.h>

struct loop;

enum {
    CONN_LINGER_MS = 2000,
    /* At the end a connection that is idle is closed only after so long: a request may be on its
     * way. The first one comes with the connection. For a further one the caller may have been kept
     * up, also by a server beside us that is restarted: until a SYN that was not answered is sent
     * again, a second goes by. Who has been idle for longer knows that an idle connection may be
     * closed at any time. */
    CONN_FRESH_MS = 1000,
    CONN_QUIET_MS = 2000,
    CONN_LINGER_BYTES_MAX = 8 * 1024 * 1024,
    /* Who has been silent for less may be about to ask, and is not closed to make room. */
    CONN_SILENT_MS = 20,
    CONN_ANSWERS_MAX = 32, /* in one turn; then the others come first */
};

enum conn_state {
    CONN_CLOSED,
    CONN_READING,
    CONN_SENDING,  /* an answer waits to be taken; nothing is read */
    CONN_LINGERING /* our side is shut; what comes is thrown away */
};

/* An answer that is not sent yet, and whose duration is to be counted. */
struct conn_answered {
    uint64_t plan; /* service->plan_tag */
    uint64_t seen_ns;
    int variant;
};

struct conn {
    struct deadline deadline; /* first: what is due is the connection */
    int fd;                   /* set by the acceptor before it hands the slot over */
    uint32_t slot;
    enum conn_state state;
    bool in_body;    /* the head of the next request has been read */
    bool refused;    /* its head alone shows an error, to be told when the body has been read */
    bool last;       /* nothing is read after what has been answered */
    bool peer_ended; /* the peer has shut its side */
    bool unserved;   /* `in` has what it was not this connection's turn for any more */
    /* Where it waits for its turn, DEADLINE_QUEUED: what epoll has told and nobody has acted on
     * yet; and what it waited for before, and since when, so that no limit begins anew by that. */
    uint32_t pending;
    enum deadline_kind since_kind;
    uint64_t since_ns;
    uint64_t seen_ns; /* when what waits for its turn was seen; 0: in this turn */
    uint32_t linger_left;
    struct http_reader reader;
    const struct route *route; /* valid where in_body and not refused */

    struct pool_buf in; /* what has come of a request that is not whole, or not yet looked at */
    size_t in_len;
    /* Not sent yet: out.data[out_at..out_len), and then what is behind text_at of the text. */
    struct pool_buf out;
    size_t out_at, out_len;
    struct text_hold text;
    size_t text_at;
    int answered_count; /* struct conn_answered behind out_len, aligned */
    struct conn *next_closed;
};

/* Takes over an accepted socket: c->fd and c->slot are set, the rest is not. */
void conn_open(struct loop *l, struct conn *c);

/* What an open connection is watched for. At the edge: once it has been told, a connection that was
 * read empty costs the next wait nothing. So whoever leaves something unread has to come back for
 * it himself: conn_event does. */
enum { CONN_WATCHED = (int)(EPOLLIN | EPOLLRDHUP | EPOLLET) };

/* What epoll saw: its `events`. */
void conn_event(struct loop *l, struct conn *c, uint32_t events);

/* Instead of conn_event, where the turn is over: it waits for the next one, with what epoll saw. */
void conn_put_off(struct loop *l, struct conn *c, uint32_t events);

/* It is its turn again. */
void conn_resume(struct loop *l, struct conn *c);

/* Its deadline has passed. What has come is looked at before it is held against the peer: so in a
 * turn of the service, too. */
void conn_expire(struct loop *l, struct conn *c);

/* At once. The struct stays readable until the end of the turn. */
void conn_close(struct loop *l, struct conn *c);

#endif
