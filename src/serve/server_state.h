/* server_state: what a server holds. Private to server.c, which starts and stops it, and to
 * server_run.c, which runs it. Threads: the control thread's, but for the atomics. */
#ifndef INTERLUDE_SERVE_SERVER_STATE_H
#define INTERLUDE_SERVE_SERVER_STATE_H

#include "serve/acceptor.h"
#include "serve/admin.h"
#include "serve/descriptors.h"
#include "serve/listen.h"
#include "serve/server.h"
#include "serve/worker.h"

enum server_stage {
    SERVER_SERVING,
    SERVER_DRAINING,
    SERVER_CLOSING, /* the ports close */
    SERVER_ENDING,  /* they are closed */
    SERVER_ABANDONED,
    SERVER_ENDED
};

struct loop_thread {
    struct loop *loop; /* NULL: not opened */
    pthread_t thread;
    bool started;
};

struct server {
    struct signals *signals;
    struct signal_writer *writer;
    struct plan_live live;
    struct reload reload;
    bool reloadable; /* `reload` is open */

    struct conn *conns;
    size_t conns_bytes;
    struct reserve reserve;   /* of buffers, for each of them */
    uint64_t descriptors_max; /* the limit of open files, and its parts for connections */
    struct descriptors descriptors;
    int listen_fd, admin_fd; /* until the acceptor has them */
    char listen[ADDRESS_TEXT_MAX], admin_listen[ADDRESS_TEXT_MAX];
    bool exposed; /* the operations port listens beyond loopback */
    struct acceptor acceptor;

    int worker_count;
    struct worker *workers;
    struct loop_thread threads[SERVER_WORKERS_MAX];
    struct loop *worker_loops[SERVER_WORKERS_MAX];
    struct admin *admin;
    struct loop_thread admin_thread;

    _Atomic bool ready;
    _Atomic uint64_t acceptor_turned_ns;
    struct stall stall; /* of all of these */
    enum server_stage stage;
    uint64_t until_ns; /* of the stage */
    bool hurries;      /* a signal has cut it short */
    const char *stop_reason;
};

#endif
