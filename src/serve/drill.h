/* drill: a made-up request with a fault, so that a quiet signal can be proved to work.
 *
 * A signal that has not fired for a month may have nothing to tell, or be broken: nobody knows. A
 * drill makes up a request, for the plan that is served, at which a given log site must fire, and
 * decides it like any other. Its firing and its log line are real, and the line says that it is a
 * drill; it counts in no metric of decisions. The request path knows nothing of drills.
 *
 * What makes a site fire hangs on the plan: its variants, what their policies and conditions read,
 * what its gates let through. So requests are tried, without telling anything, until decide() says
 * of one that the site's condition holds and is the gravest; that one is served as the drill.
 *
 * Threads: a drill belongs to the operations loop's. Ownership: the caller's struct; spans that
 * come out lie in it, or in what was asked, until the next run. */
#ifndef INTERLUDE_SERVE_DRILL_H
#define INTERLUDE_SERVE_DRILL_H

#include "decide/reply.h"
#include "serve/drill_gate.h"
#include "serve/request_serve.h"

enum { DRILL_BODY_BYTES_MAX = 32 * 1024 };

struct drill {
    /* plan, cells, writer and wall_us are set by the caller before each run. */
    struct request_context request;
    struct drill_gate gate;
    struct attributes passing; /* the session of the body that is made */
    char body[DRILL_BODY_BYTES_MAX];
    char answer[REPLY_EXPLAIN_BYTES_MAX + 1024];
    char scratch[REQUEST_BYTES_MAX];
};

struct drill_outcome {
    enum signal_site site;
    struct span request, answer; /* JSON: what was made up, and the decision on it */
};

void drill_init(struct drill *d);

/* `asked`: {"signal": NAME}, and "request" where the operator has one; at most REQUEST_BYTES_MAX
 * bytes. ERR_JSON_*, ERR_FIELD_TYPE; ERR_FIELD_RANGE: there is no such signal; ERR_CANNOT_FIRE: no
 * request can fire it, under this plan or any; ERR_NOT_FIRED: the one that was given does not, or
 * one might and none that could be made up does. */
enum err_code drill_run(struct drill *d, struct span asked, struct drill_outcome *out,
                        struct err *e) MUST_CHECK;

#endif
