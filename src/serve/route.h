/* route: which of a port's paths a request is for, and what its head alone already rules out.
 * Pure; any thread. */
#ifndef INTERLUDE_SERVE_ROUTE_H
#define INTERLUDE_SERVE_ROUTE_H

#include "base/err.h"
#include "wire/http_read.h"

enum route_id {
    ROUTE_DECIDE,
    ROUTE_HEALTHZ,
    ROUTE_READYZ,
    ROUTE_METRICS,
    ROUTE_PLAN,
    ROUTE_SIGNALS,
    ROUTE_EXPLAIN,
    ROUTE_DRILL,
    ROUTE_RELOAD,
    ROUTE_HOME,
    ROUTE_PORT, /* no path, but the port as a whole: OPTIONS * */
};

struct route {
    const char *path;
    enum route_id id;
    bool post;       /* POST; else GET and HEAD */
    bool needs_body; /* a POST without a length is then 411 */
    /* Changes or tells something a web page of somebody else's must not get at: the Host has to be
     * ours, the Origin none or the same, and the content type of a POST JSON in so many words. */
    bool guarded;
};

struct route_table {
    const struct route *routes;
    int count;
    const struct route *port; /* ROUTE_PORT */
};

extern const struct route_table route_decisions, route_operations;

/* The route, ERR_OK, which takes the method, or the method is OPTIONS; or what is wrong with the
 * head, in *e, whose text is to be told: 404, 405, 411, 415, 501. *route is set wherever the path
 * is known, else NULL. */
enum err_code route_check(const struct route_table *table, const struct http_reader *r,
                          const char *buf, const struct route **route, struct err *e) MUST_CHECK;

/* The Allow field line, for OPTIONS, and for a path that takes another method. */
const char *route_allow(const struct route *route);

#endif
