#include "wire/http_chunk.h"

#include "wire/http_field.h"

/* After what may be the end of an extension. */
static enum chunk_extension next_read(char c)
{
    if (c == ';') return CHUNK_EXT_SEMICOLON;
    return http_is_blank(c) ? CHUNK_EXT_NEXT : CHUNK_EXT_REFUSED;
}

static enum chunk_extension name_end_read(char c)
{
    if (c == '=') return CHUNK_EXT_EQUALS;
    if (c == ';') return CHUNK_EXT_SEMICOLON;
    return http_is_blank(c) ? CHUNK_EXT_NAME_BLANK : CHUNK_EXT_REFUSED;
}

/* What may stand within quotes (RFC 9110, 5.6.4): any but control characters, tabs allowed. */
static bool is_quotable(char c)
{
    return c == '\t' || ((uint8_t)c >= ' ' && c != 0x7f);
}

enum chunk_extension chunk_extension_read(enum chunk_extension state, char c)
{
    bool token = http_byte_is(c, HTTP_IN_TOKEN);
    switch (state) {
    case CHUNK_EXT_NONE:
    case CHUNK_EXT_NEXT:
        return next_read(c);
    case CHUNK_EXT_SEMICOLON:
        return token ? CHUNK_EXT_NAME : http_is_blank(c) ? state : CHUNK_EXT_REFUSED;
    case CHUNK_EXT_NAME:
        return token ? state : name_end_read(c);
    case CHUNK_EXT_NAME_BLANK:
        return name_end_read(c);
    case CHUNK_EXT_EQUALS:
        if (c == '"') return CHUNK_EXT_QUOTED;
        return token ? CHUNK_EXT_VALUE : http_is_blank(c) ? state : CHUNK_EXT_REFUSED;
    case CHUNK_EXT_VALUE:
        return token ? state : next_read(c);
    case CHUNK_EXT_QUOTED:
        if (c == '"') return CHUNK_EXT_NONE;
        if (c == '\\') return CHUNK_EXT_QUOTED_SLASH;
        return is_quotable(c) ? state : CHUNK_EXT_REFUSED;
    case CHUNK_EXT_QUOTED_SLASH:
        return is_quotable(c) ? CHUNK_EXT_QUOTED : CHUNK_EXT_REFUSED;
    case CHUNK_EXT_REFUSED:
        break;
    }
    return CHUNK_EXT_REFUSED;
}
