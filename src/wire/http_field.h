/* http_field: what the names and values of HTTP fields mean. Half of http_read, which finds the
 * lines; nothing else includes it.
 *
 * Names must be tokens, values free of control characters (tabs apart) and without blanks at their
 * ends: http_read has seen to that. Pure; any thread; nothing allocates. */
#ifndef INTERLUDE_WIRE_HTTP_FIELD_H
#define INTERLUDE_WIRE_HTTP_FIELD_H

#include "base/span.h"

#include <stdint.h>

/* Where a byte may stand: in a token (RFC 9110, 5.6.2); in a target (RFC 3986: what origin-form and
 * absolute-form are made of, and no '#'); in a host name (unreserved and sub-delims). */
enum { HTTP_IN_TOKEN = 1, HTTP_IN_TARGET = 2, HTTP_IN_HOST = 4 };
extern const uint8_t http_byte_class[256];

static inline bool http_byte_is(char c, uint8_t class)
{
    return http_byte_class[(uint8_t)c] & class;
}

static inline bool http_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline bool http_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The fields that mean something here. */
enum field {
    FIELD_OTHER,
    FIELD_HOST,
    FIELD_ACCEPT,
    FIELD_EXPECT,
    FIELD_ORIGIN,
    FIELD_CONNECTION,
    FIELD_CONTENT_TYPE,
    FIELD_AUTHORIZATION,
    FIELD_CONTENT_LENGTH,
    FIELD_CONTENT_ENCODING,
    FIELD_TRANSFER_ENCODING,
    FIELD_COUNT,
};

enum field http_field_find(struct span name);

/* A short cut for what most requests carry: the length of the name that a line begins with, and its
 * field, if that is one of a few names, with its colon; else 0, and *field means nothing. Here the
 * bytes may be any. */
uint32_t http_field_peek(struct span line, enum field *field);

/* host[:port] (RFC 3986, 3.2.2 and 3.2.3), without percent-encoding and IPvFuture. */
bool http_host_is_valid(struct span value);

/* Digits alone, at least one, that fit 64 bits; else false, and *length is untouched. */
bool http_length_read(struct span value, uint64_t *length);

/* Exactly one coding that has a meaning, or anything else. */
enum http_coding { HTTP_CODING_UNCLEAR, HTTP_CODING_CHUNKED, HTTP_CODING_COMPRESSED };
enum http_coding http_coding_find(struct span value);

struct http_connection {
    bool close, keep_alive;
};
struct http_connection http_connection_read(struct span value);

bool http_is_json(struct span content_type);
/* No coding, or none but `identity`. */
bool http_is_identity(struct span content_encoding);
bool http_is_100_continue(struct span expect);
/* It names application/openmetrics-text, of version 1.0.0 or none, and does not like text/plain
 * better. */
bool http_accepts_openmetrics(struct span accept);

/* The length of the http:// or https:// that `target` begins with, or 0. *secure: it is https. */
uint32_t http_scheme_length(struct span target, bool *secure);

#endif
