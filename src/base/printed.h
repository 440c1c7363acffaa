/* printed: which characters of a text may not be printed as they are.
 *
 * A line of a log, or of a message, is to be one line for whoever reads it, and to look on a
 * terminal like what it is. So these are no text: control characters (C0, DEL, C1, among them NEL,
 * and the bytes that terminals take commands from), Unicode's separators of lines and paragraphs,
 * and what changes the direction of the text around it (Unicode's Bidi_Control), with which a line
 * can be made to look like another one. Pure; any thread. */
#ifndef INTERLUDE_BASE_PRINTED_H
#define INTERLUDE_BASE_PRINTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool printed_is_control(uint32_t code)
{
    if (code < 0xa0) return code < 0x20 || code >= 0x7f;
    return code == 0x061c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* The bytes of such a character in UTF-8, if one begins at `at` < `end`, and its code in *code;
 * else 0. The bytes need not be valid UTF-8. */
size_t printed_control(const char *at, const char *end, uint32_t *code);

#endif
