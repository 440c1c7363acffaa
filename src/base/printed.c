#include "base/printed.h"

size_t printed_control(const char *at, const char *end, uint32_t *code)
{
    const unsigned char *c = (const unsigned char *)at;
    /* None of them has four bytes. */
    size_t bytes = c[0] < 0x80                   ? 1
                   : c[0] >= 0xc2 && c[0] < 0xe0 ? 2
                   : (c[0] & 0xf0) == 0xe0       ? 3
                                                 : 0;
    if (!bytes || (size_t)(end - at) < bytes) return 0;
    uint32_t of = bytes == 1 ? c[0] : c[0] & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        if ((c[i] & 0xc0) != 0x80) return 0;
        of = of << 6 | (c[i] & 0x3fu);
    }
    /* An overlong form of one is no character at all. */
    if ((bytes == 3 && of < 0x800) || !printed_is_control(of)) return 0;
    *code = of;
    return bytes;
}
