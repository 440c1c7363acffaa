#include "lab/load_body.h"

#include "base/rng.h"
#include "wire/json_read.h"
#include "wire/json_write.h"

#include "base/decimal.h"

#include <math.h>
#include <stdlib.h>

enum piece_kind { PIECE_TEXT, PIECE_SEQ, PIECE_UNIT, PIECE_INT, PIECE_FLOAT };

/* What a number can be at most as text: a sign, 19 digits; or 15 digits, a point and 6. */
enum { NUMBER_BYTES_MAX = 24, PIECES_MAX = 1024 };

struct piece {
    enum piece_kind kind;
    size_t at, len; /* PIECE_TEXT: in the body's text */
    int64_t low;    /* numbers: low + 0 .. low + range; of floats, in millionths */
    uint64_t range;
};

struct load_body {
    double weight_upto;
    char *text; /* of all its pieces */
    struct piece *pieces;
    size_t count;
};

/* ---- compiling ---- */

/* A body while it is compiled: text grows in `b`, and becomes a piece whenever a template comes. */
struct builder {
    struct json_reader *r;
    struct buf b;
    size_t text_from; /* of the piece that is growing */
    size_t number_bytes;
    struct piece pieces[PIECES_MAX];
    size_t count;
};

static void piece_add(struct builder *w, struct piece p)
{
    if (w->count == PIECES_MAX)
        json_fail(w->r, ERR_LIMIT, "a body has at most 500 templates");
    else
        w->pieces[w->count++] = p;
}

static void text_end(struct builder *w)
{
    if (w->b.len > w->text_from)
        piece_add(w, (struct piece){PIECE_TEXT, w->text_from, w->b.len - w->text_from, 0, 0});
    w->text_from = w->b.len;
}

/* LOW:HIGH in units of 1/scale. */
static bool range_read(struct span text, double scale, struct piece *p)
{
    struct decimal low, high;
    size_t n = decimal_read(text, &low);
    if (!n || n >= text.len || text.data[n] != ':') return false;
    struct span rest = {text.data + n + 1, text.len - n - 1};
    if (decimal_read(rest, &high) != rest.len || rest.len == 0) return false;
    double a = low.value * scale, z = high.value * scale;
    if (!(a >= -9e15 && a <= z && z <= 9e15)) return false;
    if (scale == 1 && !(low.integral && high.integral)) return false;
    p->low = llround(a);
    p->range = (uint64_t)(llround(z) - p->low);
    return true;
}

/* Reads "{...}" at the beginning of `text` and returns its length; 0 if there is none. A brace that
 * is followed by a word and something wrong is an error, not text: a slip must not be sent. */
static size_t template_read(struct builder *w, struct span text, struct piece *out)
{
    const char *close = text.len ? memchr(text.data, '}', text.len) : NULL;
    if (text.len < 2 || text.data[0] != '{' || text.data[1] < 'a' || text.data[1] > 'z' || !close)
        return 0;
    struct span inside = {text.data + 1, (size_t)(close - text.data) - 1};
    *out = (struct piece){PIECE_SEQ, 0, 0, 0, 0};
    bool good = true;
    if (span_is(inside, "unit")) {
        *out = (struct piece){PIECE_UNIT, 0, 0, 0, LOAD_UNITS - 1};
    } else if (inside.len > 4 && memcmp(inside.data, "int:", 4) == 0) {
        out->kind = PIECE_INT;
        good = range_read((struct span){inside.data + 4, inside.len - 4}, 1, out);
    } else if (inside.len > 6 && memcmp(inside.data, "float:", 6) == 0) {
        out->kind = PIECE_FLOAT;
        good = range_read((struct span){inside.data + 6, inside.len - 6}, 1e6, out);
    } else {
        good = span_is(inside, "seq");
    }
    if (!good)
        json_fail(w->r, ERR_FIELD_RANGE,
                  "a template is {seq}, {unit}, {int:LOW:HIGH} or {float:LOW:HIGH}");
    return inside.len + 2;
}

static void number_add(struct builder *w, struct piece p)
{
    text_end(w);
    piece_add(w, p);
    w->number_bytes += NUMBER_BYTES_MAX;
}

/* A JSON string without its quotes. */
static void text_add(struct builder *w, struct span text)
{
    if (!text.len) return;
    size_t quote = w->b.len;
    json_write_string(&w->b, text);
    if (w->b.full) return;
    w->b.len -= 2;
    memmove(w->b.data + quote, w->b.data + quote + 1, w->b.len - quote);
}

static void string_add(struct builder *w, struct span s)
{
    struct piece p;
    if (template_read(w, s, &p) == s.len && s.len) {
        number_add(w, p);
        return;
    }
    buf_char(&w->b, '"');
    size_t from = 0, at = 0;
    while (at < s.len) {
        size_t len = template_read(w, (struct span){s.data + at, s.len - at}, &p);
        if (!len) {
            at++;
            continue;
        }
        text_add(w, (struct span){s.data + from, at - from});
        number_add(w, p);
        from = at += len;
    }
    text_add(w, (struct span){s.data + from, s.len - from});
    buf_char(&w->b, '"');
}

static void value_add(struct builder *w);

static void container_add(struct builder *w, bool object)
{
    struct span key;
    buf_char(&w->b, object ? '{' : '[');
    if (object ? !json_object_begin(w->r) : !json_array_begin(w->r)) return;
    for (bool first = true;; first = false) {
        if (object ? !json_object_next(w->r, &key) : !json_array_next(w->r)) break;
        if (!first) buf_char(&w->b, ',');
        if (object) {
            json_write_string(&w->b, key);
            buf_char(&w->b, ':');
        }
        value_add(w);
    }
    buf_char(&w->b, object ? '}' : ']');
}

/* Numbers and words go out as they were written: 1e2 is not 100 to whoever tests a reader. */
static void value_add(struct builder *w)
{
    enum json_type type = json_peek(w->r);
    struct span s;
    if (type == JSON_OBJECT || type == JSON_ARRAY) {
        container_add(w, type == JSON_OBJECT);
    } else if (type == JSON_STRING) {
        if (json_string(w->r, &s)) string_add(w, s);
    } else {
        const char *begin = w->r->at;
        if (json_skip(w->r)) buf_put(&w->b, begin, (size_t)(w->r->at - begin));
    }
}

static double weight_read(struct json_reader *r)
{
    struct decimal n;
    if (json_peek(r) != JSON_NUMBER || !json_number(r, &n) || !(n.value >= 0 && n.value <= 1e9)) {
        json_fail(r, ERR_FIELD_RANGE, "a weight is a number from 0 to 1e9");
        return 0;
    }
    return n.value;
}

static void line_read(struct builder *w, double *weight, bool *found)
{
    struct span key;
    if (!json_object_begin(w->r)) return;
    while (json_object_next(w->r, &key)) {
        if (span_is(key, "weight")) {
            *weight = weight_read(w->r);
        } else if (span_is(key, "body") && !*found) {
            *found = true;
            value_add(w);
            text_end(w);
        } else {
            json_fail(w->r, ERR_FIELD_TYPE,
                      "a line has a `body`, may have a `weight`, and nothing else; each once");
        }
    }
    json_end(w->r);
    if (w->b.full || w->b.len + w->number_bytes > LOAD_BODY_BYTES_MAX)
        json_fail(w->r, ERR_LIMIT, "a body could have more than 64 KiB");
}

static void *memory_copy(const void *from, size_t size)
{
    void *to = malloc(size ? size : 1);
    INVARIANT(to != NULL);
    if (size) memcpy(to, from, size);
    return to;
}

static enum err_code line_compile(struct load_bodies *set, struct span line, struct err *e)
{
    static const size_t text_size = LOAD_BODY_BYTES_MAX;
    struct builder *w = calloc(1, sizeof *w + text_size + line.len);
    INVARIANT(w != NULL);
    char *text = (char *)(w + 1);
    struct json_reader r;
    json_reader_init(&r, line, text + text_size, line.len);
    w->r = &r;
    w->b = buf_of(text, text_size);
    double weight = 1;
    bool found = false;
    line_read(w, &weight, &found);
    enum err_code code = r.error;
    if (code) {
        err_set(e, code, "%s", r.error_text);
        if (e) e->offset = json_error_offset(&r);
    } else if (!found) {
        code = err_set(e, ERR_FIELD_TYPE, "a line needs a `body`");
    } else if (weight > 0) {
        set->weight += weight;
        set->bodies[set->count++] =
            (struct load_body){set->weight, memory_copy(text, w->b.len),
                               memory_copy(w->pieces, w->count * sizeof *w->pieces), w->count};
    }
    free(w);
    return code;
}

static bool is_blank(struct span line)
{
    for (size_t i = 0; i < line.len; i++)
        if (!strchr(" \t\r", line.data[i]) || !line.data[i]) return false;
    return true;
}

static enum err_code lines_compile(struct load_bodies *set, struct span text, struct err *e)
{
    const char *at = text.data, *end = text.data + text.len;
    for (uint32_t number = 1; at < end; number++) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        struct span line = {at, (size_t)((eol ? eol : end) - at)};
        at += line.len + 1;
        if (is_blank(line)) continue;
        enum err_code code = ERR_OK;
        if (line.len > LOAD_BODY_LINE_MAX)
            code = err_set(e, ERR_LIMIT, "a line has at most %d bytes", LOAD_BODY_LINE_MAX);
        else if (set->count == LOAD_BODY_LINES_MAX)
            code = err_set(e, ERR_LIMIT, "a file has at most %d bodies", LOAD_BODY_LINES_MAX);
        else
            code = line_compile(set, line, e);
        if (code && e) e->line = number;
        if (code) return code;
        if (!eol) break;
    }
    return set->count ? ERR_OK : err_set(e, ERR_FIELD_RANGE, "no body has a weight above 0");
}

enum err_code load_bodies_compile(struct span text, struct load_bodies *out, struct err *e)
{
    struct load_bodies set = {calloc(LOAD_BODY_LINES_MAX, sizeof *set.bodies), 0, 0};
    INVARIANT(set.bodies != NULL);
    enum err_code code = lines_compile(&set, text, e);
    if (code)
        load_bodies_done(&set);
    else
        *out = set;
    return code;
}

void load_bodies_done(struct load_bodies *set)
{
    for (size_t i = 0; i < set->count; i++) {
        free(set->bodies[i].text);
        free(set->bodies[i].pieces);
    }
    free(set->bodies);
    *set = (struct load_bodies){NULL, 0, 0};
}

/* ---- making ---- */

static void float_write(struct buf *b, int64_t millionths)
{
    uint64_t n = millionths < 0 ? -(uint64_t)millionths : (uint64_t)millionths;
    if (millionths < 0) buf_char(b, '-');
    buf_u64(b, n / 1000000);
    uint64_t part = n % 1000000;
    char digits[7] = {'.'};
    size_t len = 7;
    for (int i = 6; i > 0; i--, part /= 10) digits[i] = (char)('0' + part % 10);
    while (digits[len - 1] == '0') len--;
    if (len > 1) buf_put(b, digits, len);
}

static const struct load_body *body_choose(const struct load_bodies *set, uint64_t word)
{
    double at = rng_open01(word) * set->weight;
    size_t low = 0, high = set->count - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (at < set->bodies[middle].weight_upto)
            high = middle;
        else
            low = middle + 1;
    }
    return &set->bodies[low];
}

void load_bodies_make(const struct load_bodies *set, uint64_t seed, uint64_t seq, struct buf *b)
{
    /* A key of its own for each request: what one body uses moves no other. */
    struct rng rng;
    rng_init(&rng, (struct hash128){seed, seq});
    const struct load_body *body = body_choose(set, rng_next(&rng));
    for (const struct piece *p = body->pieces; p < body->pieces + body->count; p++) {
        if (p->kind == PIECE_TEXT) {
            buf_put(b, body->text + p->at, p->len);
        } else if (p->kind == PIECE_SEQ) {
            buf_u64(b, seq);
        } else {
            /* The bias of a remainder is below 2^-9 of a share even for the widest range. */
            int64_t n = p->low + (int64_t)(rng_next(&rng) % (p->range + 1));
            if (p->kind == PIECE_FLOAT)
                float_write(b, n);
            else
                buf_i64(b, n);
        }
    }
}

/* ---- built in ---- */

#define SESSION                                                                           \
    "\"request_id\":\"r-{seq}\",\"segment_id\":\"core\",\"unit_id\":\"u-{unit}\","        \
    "\"session_id\":\"s-{seq}\",\"session\":{\"elapsed_s\":\"{int:0:7200}\","             \
    "\"tracks_played\":\"{int:0:40}\",\"seconds_since_last_break_end\":\"{int:0:3600}\"," \
    "\"breaks_in_session\":\"{int:1:6}\",\"ads_last_hour\":\"{int:0:6}\","                \
    "\"ad_seconds_last_hour\":\"{int:0:240}\",\"tier\":\"free\"}"
#define BETA(action) "\"" action "\":{\"alpha\":\"{float:1:100}\",\"beta\":\"{float:1:100}\"}"
#define LINE(weight, rest) "{\"weight\":" weight ",\"body\":{" SESSION rest "}}\n"
#define ALL                                                                            \
    ",\"variant\":\"bayes\",\"posteriors\":{" BETA("none") "," BETA("pod_1") "," BETA( \
        "pod_2") "," BETA("pod_3") "}"
#define SOME ",\"variant\":\"bayes\",\"posteriors\":{" BETA("none") "," BETA("pod_1") "}"

const char *load_bodies_built_in(const char *which)
{
    static const struct {
        const char *name, *text;
    } sets[] = {
        {"all", LINE("1", ALL)},
        {"some", LINE("1", SOME)},
        {"none", LINE("1", "")},
        {"mix", LINE("8", ALL) LINE("1", SOME) LINE("1", "")},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (!strcmp(which, sets[i].name)) return sets[i].text;
    return NULL;
}
