#include "plan/print.h"

#include "base/printed.h"
#include "wire/json_write.h"

/* Words that some YAML readers take for a bool or for nothing. */
static bool is_yaml_word(struct span text)
{
    static const char *const words[] = {"y",    "n",     "yes",  "no",  "on", "off",
                                        "true", "false", "null", "nan", "inf"};
    if (text.len > 5) return false;
    char lower[6] = "";
    for (size_t i = 0; i < text.len; i++)
        lower[i] =
            (char)(text.data[i] >= 'A' && text.data[i] <= 'Z' ? text.data[i] + 32 : text.data[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (span_is((struct span){lower, text.len}, words[i])) return true;
    return false;
}

/* Whether every YAML reader takes the name for a text, unquoted. */
static bool is_plain(struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '.' || c == '-'))) return false;
    }
    return text.len > 0 && !is_yaml_word(text);
}

/* The code point at the front of valid UTF-8, and its bytes. */
static uint32_t code_point(struct span text, size_t *bytes)
{
    const unsigned char *p = (const unsigned char *)text.data;
    *bytes = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (*bytes > text.len) *bytes = 1;
    uint32_t code = *bytes == 1 ? p[0] : p[0] & (0xffu >> (*bytes + 1));
    for (size_t i = 1; i < *bytes; i++) code = code << 6 | (p[i] & 0x3f);
    return code;
}

/* What a YAML file may not hold as it is, what folding would change, and what would make the plan
 * look like another one. */
static bool needs_escape(uint32_t code)
{
    return printed_is_control(code) || code == '"' || code == '\\' || code == 0xfeff ||
           (code & 0xfffe) == 0xfffe;
}

static void put_escape(struct buf *b, uint32_t code)
{
    int width = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
    buf_char(b, '\\');
    if (code == '"' || code == '\\' || code == '\n' || code == '\t') {
        buf_char(b, code == '\n' ? 'n' : code == '\t' ? 't' : (char)code);
        return;
    }
    buf_char(b, width == 2 ? 'x' : width == 4 ? 'u' : 'U');
    buf_hex(b, code, width);
}

void print_quoted(struct buf *b, struct span text)
{
    buf_char(b, '"');
    while (text.len) {
        size_t bytes;
        uint32_t code = code_point(text, &bytes);
        if (needs_escape(code))
            put_escape(b, code);
        else
            buf_put(b, text.data, bytes);
        text = (struct span){text.data + bytes, text.len - bytes};
    }
    buf_char(b, '"');
}

void print_text(struct buf *b, struct span text)
{
    if (is_plain(text))
        buf_span(b, text);
    else
        print_quoted(b, text);
}

void print_word(struct buf *b, const char *word)
{
    buf_span(b, span_of(word));
}

void print_number(struct buf *b, double value)
{
    json_write_double(b, value);
}

void print_comma(struct buf *b, bool *first)
{
    if (!*first) buf_lit(b, ", ");
    *first = false;
}
