#include "plan/yaml_trap.h"

#include "plan/yaml_walk.h"

/* A line, read as far as its nesting goes: good enough to guess from, and not to read by. */
struct scan {
    struct yaml_walk w;
    struct yaml_walk open[YAML_TREE_DEPTH_MAX]; /* the brackets that are open, of this line */
    int depth;
    bool value;   /* a key stands before what comes next */
    bool first;   /* nothing but `- ` stands before what comes next */
    size_t fault; /* characters before it */
    struct yaml_trap *out;
};

static char byte_at(const struct scan *s, size_t ahead)
{
    return s->w.at + ahead < s->w.text.len ? s->w.text.data[s->w.at + ahead] : '\0';
}

static bool at_end(const struct scan *s)
{
    return yaml_walk_ended(&s->w) || yaml_walk_break(&s->w);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
}

static void skip_blanks(struct scan *s)
{
    while (!at_end(s) && is_blank(byte_at(s, 0))) yaml_walk_step(&s->w);
}

static bool trap(struct scan *s, const struct yaml_walk *at, const char *text)
{
    if (at->place.index > s->fault) return false;
    *s->out = (struct yaml_trap){at->place, text};
    return true;
}

/* What may stand after a text in quotes or brackets. */
static bool closes_well(const struct scan *s)
{
    char c = byte_at(s, 0);
    return at_end(s) || c == '#' || c == ':' ||
           (s->depth > 0 && (c == ',' || c == '}' || c == ']'));
}

/* Over what stands between a value and the next. */
static void read_separator(struct scan *s)
{
    char c = byte_at(s, 0);
    s->first = false;
    if (c == ':' || c == ',') {
        s->value = c == ':';
        yaml_walk_step(&s->w);
    }
}

static bool read_quoted(struct scan *s)
{
    struct yaml_walk start = s->w;
    char quote = byte_at(s, 0);
    yaml_walk_step(&s->w);
    for (; !at_end(s); yaml_walk_step(&s->w)) {
        bool twice = quote == '\'' && byte_at(s, 0) == quote && byte_at(s, 1) == quote;
        if (byte_at(s, 0) == quote && !twice) break;
        if (twice || (quote == '"' && byte_at(s, 0) == '\\')) yaml_walk_step(&s->w);
    }
    if (at_end(s)) return false;
    yaml_walk_step(&s->w);
    skip_blanks(s);
    if (!closes_well(s))
        return trap(s, &start,
                    "a text that begins with a quote ends at the next one: put quotes of the other "
                    "kind around all of it");
    read_separator(s);
    return false;
}

static bool read_close(struct scan *s)
{
    struct yaml_walk start = s->open[--s->depth];
    bool list = byte_at(s, 0) == ']';
    if (yaml_walk_byte(&start) != (list ? '[' : '{')) return false; /* and here it ends */
    yaml_walk_step(&s->w);
    skip_blanks(s);
    if (!closes_well(s))
        return trap(s, &start,
                    list ? "`[` begins a list, which ends before this line does: quote a text that "
                           "begins with it"
                         : "`{` begins a mapping, which ends before this line does: quote a text "
                           "that begins with it");
    read_separator(s);
    return false;
}

static bool read_plain(struct scan *s)
{
    struct yaml_walk start = s->w;
    for (; !at_end(s); yaml_walk_step(&s->w)) {
        char c = byte_at(s, 0);
        bool flow = s->depth > 0, empty = s->w.at == start.at;
        if (c == ':' && is_blank(byte_at(s, 1))) {
            if (s->value) return trap(s, &start, "quote a text that holds `: `");
            break;
        }
        if (c == '#' && (empty || is_blank(s->w.text.data[s->w.at - 1]))) {
            if (flow && !empty)
                return trap(s, &s->w,
                            "` #` begins a comment, to the end of the line: quote a text "
                            "that holds it");
            break;
        }
        if (flow && (c == '[' || c == '{'))
            return trap(s, &start, "between brackets, quote a text that holds one, or a comma");
        if (flow && (c == ',' || c == ']' || c == '}')) break;
    }
    if (byte_at(s, 0) == ']' || byte_at(s, 0) == '}') return false;
    if (byte_at(s, 0) == '#' || at_end(s)) {
        while (!at_end(s)) yaml_walk_step(&s->w);
        return false;
    }
    read_separator(s);
    return false;
}

/* `>` or `|`, and nothing that a block's first line may not have. */
static bool is_block(const struct scan *s)
{
    size_t n = 1;
    while (byte_at(s, n) == '+' || byte_at(s, n) == '-' ||
           (byte_at(s, n) >= '1' && byte_at(s, n) <= '9'))
        n++;
    while (byte_at(s, n) == ' ') n++;
    char c = byte_at(s, n);
    return s->depth == 0 && (c == '\0' || c == '\n' || c == '\r' || c == '#');
}

static const char *sign_of_its_own(const struct scan *s)
{
    char c = byte_at(s, 0);
    bool alone = is_blank(byte_at(s, 1)), first_column = s->w.place.column == 1;
    switch (c) {
    case '!':
        return "`!` begins a tag: quote a text that begins with it";
    case '&':
        return "`&` begins an anchor: quote a text that begins with it";
    case '*':
        return "`*` begins an alias: quote a text that begins with it";
    case '@':
        return "a text that begins with `@` must be quoted";
    case '`':
        return "a text that begins with a backquote must be quoted";
    case '%':
        return first_column ? NULL : "a text that begins with `%` must be quoted";
    case '>':
    case '|':
        return is_block(s) ? NULL : "`>` and `|` begin a block: quote a text that begins with one";
    case '-':
        return s->value && alone ? "`- ` begins an item: quote a text that begins with it" : NULL;
    case '?':
        return s->value && alone ? "`? ` begins a key: quote a text that begins with it" : NULL;
    case ':':
        return s->value && alone ? "quote a text that begins with `: `" : NULL;
    default:
        return NULL;
    }
}

/* One value or bracket. True: it is a trap. */
static bool read_next(struct scan *s)
{
    char c = byte_at(s, 0);
    const char *sign = sign_of_its_own(s);
    if (sign) return trap(s, &s->w, sign);
    if (c == '"' || c == '\'') return read_quoted(s);
    if ((c == '}' || c == ']') && s->depth > 0) return read_close(s);
    if ((c == '{' || c == '[') && s->depth < YAML_TREE_DEPTH_MAX) {
        s->open[s->depth++] = s->w;
        s->first = s->value = false;
        yaml_walk_step(&s->w);
        return false;
    }
    if (c == ',' || (c == '-' && s->first && is_blank(byte_at(s, 1)))) {
        s->value = false;
        yaml_walk_step(&s->w);
        return false;
    }
    return read_plain(s);
}

static bool scan_line(struct yaml_walk line, size_t fault, struct yaml_trap *out)
{
    struct scan s = {.w = line, .first = true, .fault = fault, .out = out};
    for (;;) {
        while (byte_at(&s, 0) == ' ') yaml_walk_step(&s.w);
        if (s.first && byte_at(&s, 0) == '\t')
            return trap(&s, &s.w, "indent with spaces, not tabs");
        skip_blanks(&s);
        if (at_end(&s)) return false;
        size_t before = s.w.at;
        if (read_next(&s)) return true;
        if (s.w.at == before) return false;
    }
}

bool yaml_trap_find(struct span text, struct yaml_place fault, struct yaml_trap *out)
{
    struct yaml_walk line = yaml_walk_start(text), last = line;
    bool other = false; /* `last` is a line before it, and not blank */
    while (!yaml_walk_ended(&line) && line.place.line < fault.line) {
        struct yaml_walk start = line;
        bool blank = true;
        for (; !yaml_walk_ended(&line) && line.place.line == start.place.line;
             yaml_walk_step(&line))
            blank = blank && (is_blank(yaml_walk_byte(&line)) || yaml_walk_break(&line));
        if (!blank) last = start;
        other = other || !blank;
    }
    return scan_line(line, fault.index, out) || (other && scan_line(last, fault.index, out));
}
