/* load_conn: one keep-alive connection of the load generator.
 *
 * The run tells it to open, to send a request, or that epoll saw something; it answers with a step,
 * and the run decides what follows. It never blocks. Registered once, edge-triggered, for both
 * directions, so that a request costs a send and a receive and no epoll_ctl.
 *
 * Threads: that of its run. Ownership: load_conn_init's memory is freed by load_conn_done. */
#ifndef INTERLUDE_LAB_LOAD_CONN_H
#define INTERLUDE_LAB_LOAD_CONN_H

#include "lab/load_answer.h"
#include "lab/load_target.h"
#include "record/capture.h"

enum load_conn_state { CONN_CLOSED, CONN_CONNECTING, CONN_IDLE, CONN_SENDING, CONN_RECEIVING };

enum load_step {
    STEP_WAIT,      /* nothing to do until epoll tells */
    STEP_CONNECTED, /* now idle */
    STEP_ANSWERED,  /* the answer is whole; now idle, but to be closed if answer.close */
    STEP_CLOSED,    /* the server closed it while it was idle: nothing was lost */
    STEP_UNREAD,    /* the server closed it before it had read the request in `out` */
    STEP_FAILED,    /* `failed` tells at which stage, `sys` the errno or 0; to be closed */
};

struct load_conn_list;

struct load_conn {
    struct load_conn *prev, *next;
    struct load_conn_list *list; /* the one that it is in, or NULL */

    uint32_t index, generation; /* what epoll hands back; a new generation for each open */
    uint32_t target;
    enum load_conn_state state;
    int fd;
    uint64_t since_ns; /* when its state's wait began; the run's */
    uint64_t due_ns;   /* when its request was due; the run's */

    struct load_answer answer;
    enum capture_stage failed;
    int sys;

    char *out; /* the request; LOAD_REQUEST_BYTES_MAX */
    size_t out_len, out_sent;
    bool again;  /* the run's: `out` is to be sent as soon as the connection is open */
    bool resent; /* the run's: and that is not the first time */
};

/* First in, first out; a connection is in one list at most. A zeroed list is empty. */
struct load_conn_list {
    struct load_conn *first, *last;
};

void load_conn_list_append(struct load_conn_list *list, struct load_conn *c);
void load_conn_list_remove(struct load_conn *c); /* nothing if it is in none */

enum { LOAD_REQUEST_BYTES_MAX = 66 * 1024 };

void load_conn_init(struct load_conn *c, uint32_t index, uint32_t target);
void load_conn_done(struct load_conn *c);

/* From CLOSED. STEP_WAIT or STEP_FAILED. */
enum load_step load_conn_open(struct load_conn *c, const struct load_target *t, int epoll);

/* From IDLE, with the request in `out`. STEP_WAIT, STEP_UNREAD or STEP_FAILED. */
enum load_step load_conn_request(struct load_conn *c);

/* Any state: epoll saw `events`. */
enum load_step load_conn_event(struct load_conn *c, uint32_t events);

/* To CLOSED, from any. */
void load_conn_close(struct load_conn *c);

#endif
