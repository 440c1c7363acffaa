#include "lab/metrics_text.h"

#include "base/decimal.h"

#include <math.h>

static struct span span_from(struct span s, size_t at)
{
    return (struct span){s.data + at, s.len - at};
}

static bool begins(struct span s, const char *text)
{
    size_t len = strlen(text);
    return s.len >= len && memcmp(s.data, text, len) == 0;
}

/* Where the closing brace is, quotes respected; s.len if there is none. */
static size_t braces_end(struct span s)
{
    bool quoted = false;
    size_t i = 0;
    for (; i < s.len; i++) {
        char c = s.data[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (c == '}' && !quoted)
            return i;
    }
    return s.len;
}

static bool value_read(struct span s, double *out)
{
    size_t i = 0;
    while (i < s.len && s.data[i] == ' ') i++;
    s = span_from(s, i);
    bool minus = begins(s, "-");
    if (begins(s, "+") || minus) s = span_from(s, 1);
    struct decimal d;
    if (begins(s, "NaN"))
        *out = (double)NAN;
    else if (begins(s, "Inf"))
        *out = minus ? -HUGE_VAL : HUGE_VAL;
    else if (decimal_read(s, &d))
        *out = minus ? -d.value : d.value;
    else
        return false;
    return true;
}

static bool line_read(struct span line, const char *name, struct metrics_sample *out)
{
    if (!begins(line, name)) return false;
    struct span rest = span_from(line, strlen(name));
    struct metrics_sample sample = {{NULL, 0}, 0};
    if (begins(rest, "{")) {
        rest = span_from(rest, 1);
        size_t end = braces_end(rest);
        if (end == rest.len) return false;
        sample.labels = (struct span){rest.data, end};
        rest = span_from(rest, end + 1);
    }
    if (!begins(rest, " ") || !value_read(rest, &sample.value)) return false;
    *out = sample;
    return true;
}

bool metrics_next(struct span *text, const char *name, struct metrics_sample *out)
{
    while (text->len) {
        const char *eol = memchr(text->data, '\n', text->len);
        struct span line = {text->data, eol ? (size_t)(eol - text->data) : text->len};
        *text = span_from(*text, line.len + (eol ? 1 : 0));
        if (line_read(line, name, out)) return true;
    }
    return false;
}

bool metrics_label(const struct metrics_sample *sample, const char *label, struct span *value)
{
    struct span s = sample->labels;
    while (s.len) {
        while (s.len && (*s.data == ',' || *s.data == ' ')) s = span_from(s, 1);
        size_t name_len = 0;
        while (name_len < s.len && s.data[name_len] != '=') name_len++;
        struct span name = {s.data, name_len}, rest = span_from(s, name_len);
        if (!begins(rest, "=\"")) return false;
        rest = span_from(rest, 2);
        size_t end = 0;
        while (end < rest.len && rest.data[end] != '"') end += rest.data[end] == '\\' ? 2 : 1;
        if (end >= rest.len) return false;
        if (span_is(name, label)) {
            *value = (struct span){rest.data, end};
            return true;
        }
        s = span_from(rest, end + 1);
    }
    return false;
}
