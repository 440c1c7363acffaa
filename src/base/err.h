/* err: what went wrong, where, and what to do about it.
 *
 * One list of codes for the whole product: the names are the `code` of a problem document.
 * `struct err` is owned by the caller and filled only on failure; a function that fails leaves its
 * other outputs untouched. Functions return `enum err_code`; ERR_OK is 0. Every function here may
 * be called from any thread on its own struct err. Nothing here allocates.
 *
 * Bugs do not become errors: INVARIANT aborts, in release builds too. */
#ifndef INTERLUDE_BASE_ERR_H
#define INTERLUDE_BASE_ERR_H

#include <stddef.h>
#include <stdint.h>

/* code, name, HTTP status (0: never told over HTTP), short title */
#define ERR_CODES(X)                                                                           \
    X(ERR_OK, "ok", 0, "No error")                                                             \
    X(ERR_JSON_SYNTAX, "json_syntax", 400, "The body is not valid JSON")                       \
    X(ERR_JSON_DEPTH, "json_depth", 400, "The JSON is nested too deep")                        \
    X(ERR_JSON_DUPLICATE_KEY, "json_duplicate_key", 400, "A key stands twice in an object")    \
    X(ERR_FIELD_TYPE, "field_type", 400, "A field has the wrong type")                         \
    X(ERR_FIELD_RANGE, "field_range", 400, "A field is out of range")                          \
    X(ERR_HTTP_SYNTAX, "http_syntax", 400, "The request is not valid HTTP/1.1")                \
    X(ERR_UNSUPPORTED, "unsupported", 400, "A field that is not supported yet")                \
    X(ERR_UNAUTHORIZED, "unauthorized", 401, "A token is needed")                              \
    X(ERR_FORBIDDEN, "forbidden", 403, "This Host or Origin may not do that")                  \
    X(ERR_UNKNOWN_PATH, "unknown_path", 404, "There is nothing at this path")                  \
    X(ERR_METHOD, "method_not_allowed", 405, "This path takes another method")                 \
    X(ERR_TIMEOUT, "timeout", 408, "The request did not arrive in time")                       \
    X(ERR_LENGTH_REQUIRED, "length_required", 411, "The request needs a Content-Length")       \
    X(ERR_BODY_TOO_LARGE, "body_too_large", 413, "The body is too large")                      \
    X(ERR_URI_TOO_LONG, "uri_too_long", 414, "The request target is too long")                 \
    X(ERR_MEDIA_TYPE, "unsupported_media_type", 415, "The body must be application/json")      \
    X(ERR_EXPECTATION, "expectation_failed", 417, "This expectation is not supported")         \
    X(ERR_MISDIRECTED, "misdirected_request", 421, "The request was meant for another port")   \
    X(ERR_PLAN_INVALID, "plan_invalid", 422, "The plan has errors")                            \
    X(ERR_PLAN_TAKES_AWAY, "plan_takes_away", 422, "The plan may be half a file")              \
    X(ERR_CANNOT_FIRE, "cannot_fire", 422, "No request can fire this signal")                  \
    X(ERR_NOT_FIRED, "not_fired", 422, "No request was found that fires this signal")          \
    X(ERR_HEAD_TOO_LARGE, "head_too_large", 431, "The request head is too large")              \
    X(ERR_INTERNAL, "internal", 500, "The server failed")                                      \
    X(ERR_NOT_IMPLEMENTED, "not_implemented", 501, "This method or coding is not implemented") \
    X(ERR_CONNECTIONS_MAX, "connections_max", 503, "Too many connections")                     \
    X(ERR_PER_ADDRESS_MAX, "per_address_max", 503, "Too many connections from this address")   \
    X(ERR_BUFFERS_MAX, "buffers_max", 503, "Too many requests are under way")                  \
    X(ERR_NO_MEMORY, "no_memory", 503, "There is not enough memory")                           \
    X(ERR_SYSTEM, "system", 0, "The operating system refused")                                 \
    X(ERR_USAGE, "usage", 0, "The command line is wrong")                                      \
    X(ERR_RULE, "rule", 0, "A condition is wrong")                                             \
    X(ERR_LIMIT, "limit", 0, "A limit was reached")

#define ERR_ENUM(code, name, status, title) code,
enum err_code { ERR_CODES(ERR_ENUM) ERR_COUNT };
#undef ERR_ENUM

/* What is not known is 0. `offset` counts bytes from 0 (of the body, or of a condition's text);
 * `line` and `column` count from 1. `pointer` is a JSON pointer into the body ("/session"), or "".
 * `text` is one line that a person can act on, without a final full stop. */
struct err {
    enum err_code code;
    int sys;    /* errno, where the system refused */
    int status; /* of the answer over HTTP, where it is not the code's own */
    uint32_t line, column;
    size_t offset;
    char pointer[96];
    char text[256];
};

const char *err_name(enum err_code code);
const char *err_title(enum err_code code);
int err_status(enum err_code code);

/* Fills *e and returns `code`, so a caller can `return err_set(e, ERR_X, ...)`. Clears line,
 * column, offset, pointer and sys. Cuts a text that is too long. `e` may be NULL. */
enum err_code err_set(struct err *e, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, with `sys` = `errno_value` and ": strerror" appended. */
enum err_code err_set_sys(struct err *e, enum err_code code, int errno_value, const char *format,
                          ...) __attribute__((format(printf, 4, 5)));

/* The same, of a thread that pthread_create could not start: EAGAIN is its word for a lack of
 * memory too. */
enum err_code err_set_thread(struct err *e, int errno_value, const char *name);

#define MUST_CHECK __attribute__((warn_unused_result))

/* Ends the process with file, line and the condition on descriptor 2. */
_Noreturn void err_abort(const char *file, int line, const char *condition);

#define INVARIANT(condition) ((condition) ? (void)0 : err_abort(__FILE__, __LINE__, #condition))

#endif
