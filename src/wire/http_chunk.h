/* http_chunk: the grammar of chunk extensions (RFC 9112, 7.1.1). Half of http_read, which finds the
 * chunks; nothing else includes it.
 *
 *     *( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] )
 *
 * Nothing is done with an extension. But who passes over what is none reads another end of the line
 * than who does not, and what stands there may be somebody's request.
 *
 * Pure; any thread; nothing allocates. */
#ifndef INTERLUDE_WIRE_HTTP_CHUNK_H
#define INTERLUDE_WIRE_HTTP_CHUNK_H

#include <stdint.h>

/* What has been read of the extensions of one chunk. */
enum chunk_extension {
    CHUNK_EXT_NONE,         /* a chunk's size, or a whole extension */
    CHUNK_EXT_NEXT,         /* and blanks: another extension must follow */
    CHUNK_EXT_SEMICOLON,    /* a name must follow */
    CHUNK_EXT_NAME,         /* a name, or its beginning */
    CHUNK_EXT_NAME_BLANK,   /* and blanks */
    CHUNK_EXT_EQUALS,       /* a value must follow */
    CHUNK_EXT_VALUE,        /* a token, or its beginning */
    CHUNK_EXT_QUOTED,       /* within quotes */
    CHUNK_EXT_QUOTED_SLASH, /* after a backslash there */
    CHUNK_EXT_REFUSED,      /* the byte may not stand here */
};

/* After one more byte, of those before the carriage return that ends the line. */
enum chunk_extension chunk_extension_read(enum chunk_extension state, char c);

/* Whether the line may end here. */
static inline int chunk_extension_may_end(enum chunk_extension state)
{
    return state == CHUNK_EXT_NONE || state == CHUNK_EXT_NAME || state == CHUNK_EXT_VALUE;
}

#endif
