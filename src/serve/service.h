/* service: what a loop serves. The loop and its connections know HTTP; a service knows the answers.
 * Two exist: decisions (worker.c) and operations (admin.c).
 *
 * Threads: a service belongs to its loop's. Its functions must not wait for anything. */
#ifndef INTERLUDE_SERVE_SERVICE_H
#define INTERLUDE_SERVE_SERVICE_H

#include "base/buf.h"
#include "decide/probe.h"
#include "serve/route.h"
#include "serve/text.h"
#include "signal/signals.h"
#include "wire/http_write.h"

/* One request whose bytes are all there. */
struct exchange {
    const struct route *route;
    const struct http_reader *reader;
    const char *bytes; /* what the reader's ranges point into */
    struct span body;
    int fd;
    uint64_t now_ns; /* when its last byte was seen, which may have been in an earlier turn */
    int64_t wall_us;
    struct http_head head; /* how the connection goes on; status and content type are to be set */
    bool head_only;        /* the answer must have no body (HEAD) */
    struct buf *out;
    struct probe *probe; /* of a sampled request; else NULL */

    /* What the service tells back. */
    int status;
    int variant;           /* whose duration is to be counted; -1: none */
    bool counted;          /* among the answers of service->http */
    struct text_hold text; /* the body, where `out` has only the head; the caller's to release */
};

struct service {
    const struct route_table *routes;
    struct signal_writer *http;   /* counts answers; NULL: they are not counted */
    struct signal_writer *writer; /* told what the loop itself finds out; NULL: nobody is */
    const char *fields;           /* whole field lines that every answer has; NULL: none */
    size_t answer_bytes_max;      /* room that is there whenever `answer` is called */
    /* Answers are sent one by one, also where requests come together: each may have a text. */
    bool answers_alone;
    /* Of a loop's turn; what is over it waits for the next one, but for these routes, a bit each by
     * number: they are answered when they are read. 0: only time limits a turn, and nobody is read
     * before it is his turn. */
    uint32_t turn_answers_max, urgent_routes;

    /* Around a turn in which something happened. */
    void (*turn_begin)(struct service *service);
    void (*turn_end)(struct service *service);

    /* Appends the whole answer. */
    void (*answer)(struct service *service, struct exchange *x);

    /* An answer's last byte was taken by the system, `ns` after the request's last byte was seen.
     * `plan` is what plan_tag gave when it was answered. NULL: of no interest. */
    void (*answered)(struct service *service, int variant, uint64_t plan, uint64_t ns);
    uint64_t plan_tag; /* changes with the plan */

    /* Where the time of a sampled request went. NULL: none is sampled. */
    void (*sampled)(struct service *service, const struct probe *probe);
};

#endif
