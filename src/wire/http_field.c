#include "wire/http_field.h"

#include <arpa/inet.h>

enum {
    T = HTTP_IN_TOKEN,
    U = HTTP_IN_TARGET,
    H = HTTP_IN_HOST,
    TU = T | U,
    UH = U | H,
    TUH = T | UH
};
const uint8_t http_byte_class[256] = {
    ['!'] = TUH,  ['#'] = T,           ['$'] = TUH,         ['%'] = TU,         ['&'] = TUH,
    ['\''] = TUH, ['('] = UH,          [')'] = UH,          ['*'] = TUH,        ['+'] = TUH,
    [','] = UH,   ['-'] = TUH,         ['.'] = TUH,         ['/'] = U,          [':'] = U,
    [';'] = UH,   ['='] = UH,          ['?'] = U,           ['@'] = U,          ['['] = U,
    [']'] = U,    ['^'] = T,           ['_'] = TUH,         ['`'] = T,          ['|'] = T,
    ['~'] = TUH,  ['0' ... '9'] = TUH, ['A' ... 'Z'] = TUH, ['a' ... 'z'] = TUH};

static inline uint64_t load_8(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint32_t load_4(const char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Bit 5 of every letter in a word of `lower`: the bits that may differ. */
static inline uint64_t case_bits(uint64_t lower)
{
    return (lower & 0x4040404040404040u) >> 1;
}

/* Equality without regard to the case of letters. `lower` is a literal of lower-case letters,
 * digits and bytes under '@', at least 4 long, so that the masks are constants and no loop is left.
 */
static inline __attribute__((always_inline)) bool folds_to(const char *bytes, const char *lower,
                                                           size_t len)
{
    if (len < 8) {
        uint32_t head = load_4(lower), tail = load_4(lower + len - 4);
        return (load_4(bytes) | (uint32_t)case_bits(head)) == head &&
               (load_4(bytes + len - 4) | (uint32_t)case_bits(tail)) == tail;
    }
    uint64_t tail = load_8(lower + len - 8);
    uint64_t differ = (load_8(bytes + len - 8) | case_bits(tail)) ^ tail;
    for (size_t i = 0; i + 8 < len; i += 8) {
        uint64_t word = load_8(lower + i);
        differ |= (load_8(bytes + i) | case_bits(word)) ^ word;
    }
    return !differ;
}

#define FOLDS_TO(span, literal) \
    ((span).len == sizeof(literal) - 1 && folds_to((span).data, (literal), sizeof(literal) - 1))

enum field http_field_find(struct span name)
{
    switch (name.len) {
    case 4:
        return FOLDS_TO(name, "host") ? FIELD_HOST : FIELD_OTHER;
    case 6:
        if (FOLDS_TO(name, "accept")) return FIELD_ACCEPT;
        if (FOLDS_TO(name, "expect")) return FIELD_EXPECT;
        return FOLDS_TO(name, "origin") ? FIELD_ORIGIN : FIELD_OTHER;
    case 10:
        return FOLDS_TO(name, "connection") ? FIELD_CONNECTION : FIELD_OTHER;
    case 12:
        return FOLDS_TO(name, "content-type") ? FIELD_CONTENT_TYPE : FIELD_OTHER;
    case 13:
        return FOLDS_TO(name, "authorization") ? FIELD_AUTHORIZATION : FIELD_OTHER;
    case 14:
        return FOLDS_TO(name, "content-length") ? FIELD_CONTENT_LENGTH : FIELD_OTHER;
    case 16:
        return FOLDS_TO(name, "content-encoding") ? FIELD_CONTENT_ENCODING : FIELD_OTHER;
    case 17:
        return FOLDS_TO(name, "transfer-encoding") ? FIELD_TRANSFER_ENCODING : FIELD_OTHER;
    default:
        return FIELD_OTHER;
    }
}

#define BEGINS_WITH(span, literal) \
    ((span).len >= sizeof(literal) - 1 && folds_to((span).data, (literal), sizeof(literal) - 1))

uint32_t http_field_peek(struct span line, enum field *field)
{
    *field = FIELD_OTHER;
    if (line.len == 0) return 0;
    switch (line.data[0] | 0x20) {
    case 'a':
        *field = FIELD_ACCEPT;
        return BEGINS_WITH(line, "accept:") ? 6 : 0;
    case 'c':
        *field = FIELD_CONTENT_LENGTH;
        if (BEGINS_WITH(line, "content-length:")) return 14;
        *field = FIELD_CONTENT_TYPE;
        if (BEGINS_WITH(line, "content-type:")) return 12;
        *field = FIELD_CONNECTION;
        return BEGINS_WITH(line, "connection:") ? 10 : 0;
    case 'h':
        *field = FIELD_HOST;
        return BEGINS_WITH(line, "host:") ? 4 : 0;
    case 'u':
        return BEGINS_WITH(line, "user-agent:") ? 10 : 0;
    default:
        return 0;
    }
}

/* [IPv6 address]: the length with its brackets, or 0. */
static size_t ip_literal_length(struct span s)
{
    char address[INET6_ADDRSTRLEN];
    unsigned char bytes[16];
    const char *close = memchr(s.data, ']', s.len);
    if (!close) return 0;
    size_t len = (size_t)(close - s.data) - 1;
    if (len >= sizeof address) return 0;
    memcpy(address, s.data + 1, len);
    address[len] = '\0';
    return inet_pton(AF_INET6, address, bytes) == 1 ? len + 2 : 0;
}

bool http_host_is_valid(struct span s)
{
    size_t i = 0;
    if (s.len && s.data[0] == '[')
        i = ip_literal_length(s);
    else
        while (i < s.len && http_byte_is(s.data[i], HTTP_IN_HOST)) i++;
    if (i == 0) return false;
    if (i == s.len) return true;
    if (s.data[i++] != ':' || s.len - i > 5) return false;
    uint32_t port = 0;
    for (; i < s.len; i++) {
        if (!http_is_digit(s.data[i])) return false;
        port = port * 10 + (uint32_t)(s.data[i] - '0');
    }
    return port <= 65535;
}

bool http_length_read(struct span value, uint64_t *length)
{
    uint64_t n = 0;
    if (value.len == 0) return false;
    for (size_t i = 0; i < value.len; i++) {
        if (!http_is_digit(value.data[i]) || __builtin_mul_overflow(n, 10u, &n) ||
            __builtin_add_overflow(n, (uint64_t)(value.data[i] - '0'), &n))
            return false;
    }
    *length = n;
    return true;
}

enum http_coding http_coding_find(struct span value)
{
    if (FOLDS_TO(value, "chunked")) return HTTP_CODING_CHUNKED;
    if (FOLDS_TO(value, "gzip") || FOLDS_TO(value, "x-gzip") || FOLDS_TO(value, "deflate") ||
        FOLDS_TO(value, "compress") || FOLDS_TO(value, "x-compress"))
        return HTTP_CODING_COMPRESSED;
    return HTTP_CODING_UNCLEAR;
}

/* The next part of a list, without the blanks around it; a separator in quotes separates nothing.
 */
static struct span part_next(struct span *list, char separator)
{
    const char *at = list->data, *end = at + list->len;
    while (at < end && http_is_blank(*at)) at++;
    const char *from = at;
    for (bool quoted = false; at < end && (quoted || *at != separator); at++) {
        if (*at == '"')
            quoted = !quoted;
        else if (quoted && *at == '\\' && at + 1 < end)
            at++;
    }
    const char *next = at < end ? at + 1 : end;
    *list = (struct span){next, (size_t)(end - next)};
    while (at > from && http_is_blank(at[-1])) at--;
    return (struct span){from, (size_t)(at - from)};
}

struct http_connection http_connection_read(struct span value)
{
    if (FOLDS_TO(value, "keep-alive")) return (struct http_connection){.keep_alive = true};
    struct http_connection says = {false, false};
    while (value.len) {
        struct span option = part_next(&value, ',');
        if (FOLDS_TO(option, "close"))
            says.close = true;
        else if (FOLDS_TO(option, "keep-alive"))
            says.keep_alive = true;
    }
    return says;
}

bool http_is_json(struct span content_type)
{
    if (FOLDS_TO(content_type, "application/json")) return true;
    struct span type = part_next(&content_type, ';');
    return FOLDS_TO(type, "application/json");
}

bool http_is_identity(struct span content_encoding)
{
    while (content_encoding.len) {
        struct span coding = part_next(&content_encoding, ',');
        if (coding.len && !FOLDS_TO(coding, "identity")) return false;
    }
    return true;
}

bool http_is_100_continue(struct span expect)
{
    return FOLDS_TO(expect, "100-continue");
}

/* A weight in thousandths (RFC 9110, 12.4.2): 0 to 1, up to three decimals; else 1. */
static int quality_milli(struct span value)
{
    if (value.len == 0 || value.data[0] != '0') return 1000;
    int milli = 0;
    for (size_t i = 2, unit = 100; i < value.len && i < 5; i++, unit /= 10) {
        if (!http_is_digit(value.data[i])) return 1000;
        milli += (int)unit * (value.data[i] - '0');
    }
    return milli;
}

/* What a range of an Accept field is worth; 0 if it names another version of the format. */
static int range_quality(struct span params, const char *version)
{
    int quality = 1000;
    while (params.len) {
        struct span value = part_next(&params, ';');
        struct span name = part_next(&value, '=');
        if (value.len > 1 && value.data[0] == '"')
            value = (struct span){value.data + 1, value.len - 2};
        if (name.len == 1 && (name.data[0] | 0x20) == 'q')
            return quality ? quality_milli(value) : 0;
        if (version && FOLDS_TO(name, "version") && !span_is(value, version)) quality = 0;
    }
    return quality;
}

bool http_accepts_openmetrics(struct span accept)
{
    if (accept.len < sizeof "application/openmetrics-text" - 1) return false;
    int openmetrics = 0, plain = -1, text = -1, any = -1;
    while (accept.len) {
        struct span params = part_next(&accept, ',');
        struct span type = part_next(&params, ';');
        int *of = FOLDS_TO(type, "application/openmetrics-text") ? &openmetrics
                  : FOLDS_TO(type, "text/plain")                 ? &plain
                  : FOLDS_TO(type, "text/*")                     ? &text
                  : span_is(type, "*/*")                         ? &any
                                                                 : NULL;
        if (!of) continue;
        int quality = range_quality(params, of == &openmetrics ? "1.0.0" : NULL);
        if (quality > *of) *of = quality;
    }
    /* The range that says the most about a type is the one that counts (12.5.1). */
    int other = plain >= 0 ? plain : text >= 0 ? text : any;
    return openmetrics > 0 && openmetrics >= other;
}

uint32_t http_scheme_length(struct span target, bool *secure)
{
    *secure = BEGINS_WITH(target, "https://");
    return *secure ? 8 : BEGINS_WITH(target, "http://") ? 7 : 0;
}
