#include "serve/route.h"

static const struct route decisions[] = {
    {"/v1/decide", ROUTE_DECIDE, .post = true, .needs_body = true},
    {"/readyz", ROUTE_READYZ},
};

static const struct route operations[] = {
    {"/metrics", ROUTE_METRICS},
    {"/healthz", ROUTE_HEALTHZ},
    {"/readyz", ROUTE_READYZ},
    {"/v1/plan", ROUTE_PLAN, .guarded = true},
    {"/v1/signals", ROUTE_SIGNALS, .guarded = true},
    {"/v1/explain", ROUTE_EXPLAIN, .post = true, .needs_body = true, .guarded = true},
    {"/v1/drill", ROUTE_DRILL, .post = true, .needs_body = true, .guarded = true},
    {"/v1/reload", ROUTE_RELOAD, .post = true, .guarded = true},
    {"/", ROUTE_HOME, .guarded = true},
};

static const struct route decisions_port = {"*", ROUTE_PORT};
static const struct route operations_port = {"*", ROUTE_PORT, .guarded = true};

const struct route_table route_decisions = {decisions, sizeof decisions / sizeof decisions[0],
                                            &decisions_port};
const struct route_table route_operations = {operations, sizeof operations / sizeof operations[0],
                                             &operations_port};

/* The methods of RFC 9110 and PATCH: refusing one of these is 405, another one is 501. */
static bool method_known(struct span method)
{
    static const char *const known[] = {"GET",     "HEAD",    "POST",  "PUT",  "DELETE",
                                        "CONNECT", "OPTIONS", "TRACE", "PATCH"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (span_is(method, known[i])) return true;
    return false;
}

static const struct route *route_find(const struct route_table *table, struct span path)
{
    for (int i = 0; i < table->count; i++)
        if (span_is(path, table->routes[i].path)) return &table->routes[i];
    return NULL;
}

/* OPTIONS * asks about the server; a client that knows only paths asks about / for that. */
static const struct route *route_of(const struct route_table *table, const struct http_reader *r,
                                    struct span path)
{
    const struct route *found = route_find(table, path);
    if (found || r->method != HTTP_OPTIONS) return found;
    return span_is(path, "*") || span_is(path, "/") ? table->port : NULL;
}

const char *route_allow(const struct route *route)
{
    if (route->id == ROUTE_PORT) return "Allow: GET, HEAD, POST, OPTIONS\r\n";
    return route->post ? "Allow: POST, OPTIONS\r\n" : "Allow: GET, HEAD, OPTIONS\r\n";
}

/* The length of a prefix of what a client sent that is fit to be shown in one line. */
static int shown(struct span text)
{
    return text.len > 64 ? 64 : (int)text.len;
}

enum err_code route_check(const struct route_table *table, const struct http_reader *r,
                          const char *buf, const struct route **route, struct err *e)
{
    struct span path = http_text(buf, r->path), method = http_text(buf, r->method_text);
    const struct route *found = *route = route_of(table, r, path);

    if (!method_known(method))
        return err_set(e, ERR_NOT_IMPLEMENTED, "the method `%.*s` is not one this server knows",
                       shown(method), method.data);
    if (!found) {
        const struct route_table *other =
            table == &route_decisions ? &route_operations : &route_decisions;
        const struct route *elsewhere = route_find(other, path);
        return err_set(e, ERR_UNKNOWN_PATH,
                       elsewhere && elsewhere->id != ROUTE_HOME
                           ? "`%.*s` is not on this port but on the server's other one"
                           : "there is nothing at `%.*s`",
                       shown(path), path.data);
    }
    if (r->method == HTTP_OPTIONS) return ERR_OK;
    if (found->post ? r->method != HTTP_POST : r->method != HTTP_GET && r->method != HTTP_HEAD)
        return err_set(e, ERR_METHOD, "`%s` takes %s, not %.*s", found->path,
                       found->post ? "POST" : "GET and HEAD", shown(method), method.data);
    if (!found->post) return ERR_OK;

    if (found->needs_body && !r->has_length && !r->chunked)
        return err_set(e, ERR_LENGTH_REQUIRED,
                       "a POST needs a Content-Length, or Transfer-Encoding: chunked");
    if (r->content == HTTP_CONTENT_OTHER || (found->guarded && r->content == HTTP_CONTENT_NONE))
        return err_set(e, ERR_MEDIA_TYPE, "the Content-Type has to be application/json");
    if (r->encoded && (r->chunked || r->content_length))
        return err_set(e, ERR_MEDIA_TYPE,
                       "the body must be sent as it is: no Content-Encoding but identity is read");
    return ERR_OK;
}
