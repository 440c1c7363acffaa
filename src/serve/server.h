/* server: the whole of `interlude serve`, in the order in which it starts and stops.
 *
 *     control    the calling thread: signals and the drain; it waits for no file
 *     reload     reads the plan anew for SIGHUP
 *     acceptor   accepts for both ports
 *     worker-N   decide
 *     operations the other port
 *     scribe     the log (signal/)
 *
 * SIGTERM begins the drain: /readyz fails at once, answers say Connection: close; then the ports
 * close, and what has begun is finished, on both. SIGINT, or a second SIGTERM, ends the drain, and
 * gives what has begun a second; one more closes what is still open. SIGHUP reloads the plan;
 * SIGUSR1 opens the log file anew. These four are blocked from server_signals_block on, in every
 * thread that is started later; those that come during the start are heeded at its end, but for
 * SIGTERM and SIGINT: they end it at its next step.
 *
 * Threads: all functions on the same one. Ownership: server_open takes the plan, the settings and
 * the sockets. */
#ifndef INTERLUDE_SERVE_SERVER_H
#define INTERLUDE_SERVE_SERVER_H

#include "base/err.h"
#include "base/span.h"
#include "decide/plan.h"
#include "plan/settings.h"
#include "serve/listen_inherited.h"
#include "serve/service.h"

enum { SERVER_WORKERS_MAX = 240 };

struct server_config {
    struct plan *plan;                 /* taken over, on failure too */
    struct settings *settings;         /* so are these */
    const char *plan_path;             /* what a reload reads; NULL: the built-in plan. Copied */
    const char *listen;                /* HOST:PORT, instead of the plan's; NULL: the plan's */
    const char *admin;                 /* the same, of the operations port */
    struct listen_inherited inherited; /* where one is, instead of `listen` or `admin`; taken over,
                                          on failure too */
    int workers;         /* instead of the plan's; 0: the plan's; at most SERVER_WORKERS_MAX */
    struct span program; /* the version of the program, and the commit it was built from: */
    struct span commit;  /* copied */
    /* Answers decisions in the place of worker.c; its service is a worker. NULL: worker.c does. */
    void (*answer)(struct service *service, struct exchange *x);
};

struct server;

/* The first act of a program that serves. */
void server_signals_block(void);

/* The name of a SIGTERM or SIGINT that has come since server_signals_block, and waits to be heeded;
 * NULL: none has. */
const char *server_stop_asked(void);

/* Readable while server_stop_asked() is true; -1: there is none to be had. The caller closes it. */
int server_stop_fd(void);

/* Listens on both ports and starts every thread; connections are accepted from here on. NULL, with
 * ERR_USAGE or ERR_SYSTEM and a text that says what to do, if something cannot be had. Where a stop
 * was asked for before, it may accept none: server_serves then is false, and what is left to do is
 * server_close. */
struct server *server_open(const struct server_config *config, struct err *e) MUST_CHECK;

/* Where the two ports listen in truth, HOST:PORT; live as long as the server. */
const char *server_listen(const struct server *s);
const char *server_admin(const struct server *s);
/* The operations port can be reached from other machines. */
bool server_exposed(const struct server *s);
int server_workers(const struct server *s);
bool server_serves(const struct server *s);

/* Serves until a signal ends it and the last request is answered. */
void server_run(struct server *s);

/* Ends whatever runs, and writes out the log, which may take a second. Returns the number of log
 * lines that were then left unwritten. NULL is allowed. */
uint64_t server_close(struct server *s);

#endif
