/* One line of a capture, to and from JSON. Both directions walk the same tables, so that a member
 * cannot be written and not read. */
#include "record/capture.h"

#include "wire/json_read.h"
#include "wire/json_write.h"

#include <math.h>

#define FORMAT_NAME "interlude-capture"
enum { FORMAT_VERSION = 1 };

enum member_type { TEXT, DOUBLE, U64, U32, INT, TIME, KNOWN };

struct member {
    const char *name;
    enum member_type type;
    size_t offset, size;
    const char *missing; /* what is said if it is; NULL: it may be, and is 0 then */
};

#define MEMBER_OR_0(of, name, field, type)                                            \
    {                                                                                 \
        name, type, offsetof(struct of, field), sizeof(((struct of *)0)->field), NULL \
    }
#define MEMBER(of, name, field, type)                                            \
    {                                                                            \
        name, type, offsetof(struct of, field), sizeof(((struct of *)0)->field), \
            "this member is missing: " name                                      \
    }

static const struct member header_members[] = {
    MEMBER(capture_header, "started_us", started_us, TIME),
    MEMBER(capture_header, "shape", shape, TEXT),
    MEMBER(capture_header, "arrivals", arrivals, TEXT),
    MEMBER(capture_header, "spread", spread, TEXT),
    MEMBER(capture_header, "bodies", bodies, TEXT),
    MEMBER(capture_header, "rate", rate, DOUBLE),
    MEMBER(capture_header, "peak", peak, DOUBLE),
    MEMBER(capture_header, "trough", trough, DOUBLE),
    MEMBER(capture_header, "cycle_us", cycle_us, U64),
    MEMBER(capture_header, "duration_us", duration_us, U64),
    MEMBER(capture_header, "turn_us", turn_us, U64),
    MEMBER(capture_header, "seed", seed, U64),
    MEMBER(capture_header, "connections", connections, U64),
    {0},
};

static const struct member machine_members[] = {
    MEMBER_OR_0(machine, "cpu_model", cpu_model, TEXT),
    MEMBER_OR_0(machine, "kernel", kernel, TEXT),
    MEMBER_OR_0(machine, "clock_source", clock_source, TEXT),
    MEMBER_OR_0(machine, "cores", cores, INT),
    {0},
};

static const struct member target_members[] = {
    MEMBER(capture_target, "url", url, TEXT),
    MEMBER(capture_target, "build_version", build_version, TEXT),
    MEMBER(capture_target, "commit", commit, TEXT),
    MEMBER(capture_target, "plan_version", plan_version, TEXT),
    MEMBER(capture_target, "fingerprint", fingerprint, TEXT),
    {0},
};

static const struct member interval_members[] = {
    MEMBER(capture_interval, "target", target, U32),
    MEMBER(capture_interval, "start_us", start_us, TIME),
    MEMBER(capture_interval, "length_us", length_us, U64),
    MEMBER(capture_interval, "active_us", active_us, U64),
    MEMBER(capture_interval, "due", due, U64),
    MEMBER(capture_interval, "sent", sent, U64),
    MEMBER(capture_interval, "late", late, U64),
    MEMBER(capture_interval, "late_free", late_free, U64),
    MEMBER_OR_0(capture_interval, "taken_late", taken_late, U64),
    MEMBER(capture_interval, "queued", queued, U64),
    MEMBER(capture_interval, "unsent", unsent, U64),
    MEMBER(capture_interval, "steal_us", steal_us, KNOWN),
    MEMBER(capture_interval, "throttled_us", throttled_us, KNOWN),
    {0},
};

static const struct member error_members[] = {
    MEMBER(capture_interval, "connect", errors[CAPTURE_CONNECT], U64),
    MEMBER(capture_interval, "send", errors[CAPTURE_SEND], U64),
    MEMBER(capture_interval, "receive", errors[CAPTURE_RECEIVE], U64),
    MEMBER(capture_interval, "status", errors[CAPTURE_STATUS], U64),
    MEMBER(capture_interval, "timeout", errors[CAPTURE_TIMEOUT], U64),
    {0},
};

static const struct member latency_members[] = {
    MEMBER(hist, "count", count, U64), MEMBER(hist, "over", over, U64),
    MEMBER(hist, "sum_ns", sum, U64),  MEMBER(hist, "min_ns", min, U64),
    MEMBER(hist, "max_ns", max, U64),  {0},
};

/* ---- writing ---- */

static void write_value(struct buf *b, const struct member *m, const char *at)
{
    switch (m->type) {
    case TEXT:
        json_write_string(b, span_of(at));
        return;
    case DOUBLE:
        json_write_double(b, *(const double *)(const void *)at);
        return;
    case U64:
        buf_u64(b, *(const uint64_t *)(const void *)at);
        return;
    case U32:
        buf_u64(b, *(const uint32_t *)(const void *)at);
        return;
    case INT:
        buf_i64(b, *(const int *)(const void *)at);
        return;
    case TIME:
        buf_i64(b, *(const int64_t *)(const void *)at);
        return;
    case KNOWN:
        if (*(const int64_t *)(const void *)at == MACHINE_UNKNOWN)
            buf_lit(b, "null");
        else
            buf_i64(b, *(const int64_t *)(const void *)at);
        return;
    }
}

static void write_members(struct buf *b, const struct member *members, const void *of)
{
    for (const struct member *m = members; m->name; m++) {
        json_write_key(b, span_of(m->name));
        write_value(b, m, (const char *)of + m->offset);
    }
}

static void write_object(struct buf *b, const char *key, const struct member *members,
                         const void *of)
{
    if (key) json_write_key(b, span_of(key));
    buf_char(b, '{');
    write_members(b, members, of);
    buf_char(b, '}');
}

void capture_write_header(struct buf *b, const struct capture_header *h)
{
    buf_lit(b, "{\"format\":\"" FORMAT_NAME "\",\"format_version\":");
    buf_u64(b, FORMAT_VERSION);
    buf_lit(b, ",\"sub_bits\":");
    buf_u64(b, HIST_SUB_BITS);
    write_members(b, header_members, h);
    write_object(b, "machine", machine_members, &h->machine);
    buf_lit(b, ",\"targets\":[");
    for (uint32_t i = 0; i < h->targets; i++) {
        if (i) buf_char(b, ',');
        write_object(b, NULL, target_members, &h->target[i]);
    }
    buf_lit(b, "]}");
}

static void write_latency(struct buf *b, const struct hist *h)
{
    buf_lit(b, ",\"latency\":{");
    write_members(b, latency_members, h);
    buf_lit(b, ",\"buckets\":[");
    bool first = true;
    for (size_t i = 0; i < HIST_BUCKETS; i++) {
        if (!h->buckets[i]) continue;
        if (!first) buf_char(b, ',');
        first = false;
        buf_char(b, '[');
        buf_u64(b, i);
        buf_char(b, ',');
        buf_u64(b, h->buckets[i]);
        buf_char(b, ']');
    }
    buf_lit(b, "]}");
}

void capture_write_interval(struct buf *b, const struct capture_interval *i)
{
    buf_char(b, '{');
    write_members(b, interval_members, i);
    write_object(b, "errors", error_members, i);
    /* An empty histogram's smallest value has no number that JSON readers agree on. */
    struct hist latency = i->latency;
    if (!latency.count) latency.min = 0;
    write_latency(b, &latency);
    buf_char(b, '}');
}

/* ---- reading ---- */

static bool read_u64(struct json_reader *r, uint64_t max, uint64_t *out)
{
    struct decimal n;
    if (json_peek(r) != JSON_NUMBER) {
        json_fail(r, ERR_FIELD_TYPE, "a number was expected");
        return false;
    }
    if (!json_number(r, &n)) return false;
    if (!n.integral || n.integer < 0 || (uint64_t)n.integer > max) {
        json_fail(r, ERR_FIELD_RANGE,
                  "a whole number, not below 0 and not too large, was expected");
        return false;
    }
    *out = (uint64_t)n.integer;
    return true;
}

static void read_text(struct json_reader *r, char *to, size_t size)
{
    struct span s;
    if (json_peek(r) != JSON_STRING) {
        json_fail(r, ERR_FIELD_TYPE, "a string was expected");
        return;
    }
    if (!json_string(r, &s)) return;
    if (s.len >= size || memchr(s.data, 0, s.len)) {
        json_fail(r, ERR_FIELD_RANGE, "a shorter text was expected");
        return;
    }
    if (s.len) memcpy(to, s.data, s.len);
    to[s.len] = 0;
}

static void read_double(struct json_reader *r, double *out)
{
    struct decimal n;
    if (json_peek(r) != JSON_NUMBER) {
        json_fail(r, ERR_FIELD_TYPE, "a number was expected");
        return;
    }
    if (!json_number(r, &n)) return;
    if (!isfinite(n.value))
        json_fail(r, ERR_FIELD_RANGE, "a finite number was expected");
    else
        *out = n.value;
}

static void read_value(struct json_reader *r, const struct member *m, char *at)
{
    uint64_t n;
    void *to = at;
    switch (m->type) {
    case TEXT:
        read_text(r, at, m->size);
        return;
    case DOUBLE:
        read_double(r, to);
        return;
    case U64:
        if (read_u64(r, INT64_MAX, &n)) *(uint64_t *)to = n;
        return;
    case U32:
        if (read_u64(r, UINT32_MAX, &n)) *(uint32_t *)to = (uint32_t)n;
        return;
    case INT:
        if (read_u64(r, INT32_MAX, &n)) *(int *)to = (int)n;
        return;
    case TIME:
        /* Half the range, so that a start and a length can be added. */
        if (read_u64(r, INT64_MAX / 2, &n)) *(int64_t *)to = (int64_t)n;
        return;
    case KNOWN:
        if (json_peek(r) == JSON_NULL) {
            if (json_null(r)) *(int64_t *)to = MACHINE_UNKNOWN;
        } else if (read_u64(r, INT64_MAX, &n)) {
            *(int64_t *)to = (int64_t)n;
        }
        return;
    }
}

/* Reads the value of `key` if it is in the table, and notes in `seen` that it was there. */
static bool read_member(struct json_reader *r, const struct member *members, struct span key,
                        void *of, uint64_t *seen)
{
    for (const struct member *m = members; m->name; m++) {
        if (!span_is(key, m->name)) continue;
        uint64_t bit = 1ull << (m - members);
        if (*seen & bit) json_fail(r, ERR_JSON_DUPLICATE_KEY, "a member stands twice");
        *seen |= bit;
        read_value(r, m, (char *)of + m->offset);
        return true;
    }
    return false;
}

/* Half a line would be read as one on which nothing happened. */
static void check_members(struct json_reader *r, const struct member *members, uint64_t seen)
{
    for (const struct member *m = members; m->name && !r->error; m++)
        if (m->missing && !(seen & 1ull << (m - members)))
            json_fail(r, ERR_FIELD_RANGE, m->missing);
}

static void read_object(struct json_reader *r, const struct member *members, void *of)
{
    struct span key;
    uint64_t seen = 0;
    if (!json_object_begin(r)) return;
    while (json_object_next(r, &key))
        if (!read_member(r, members, key, of, &seen)) json_skip(r);
    check_members(r, members, seen);
}

static void read_targets(struct json_reader *r, struct capture_header *h)
{
    if (!json_array_begin(r)) return;
    while (json_array_next(r)) {
        if (h->targets == CAPTURE_TARGETS_MAX) {
            json_fail(r, ERR_FIELD_RANGE, "there are too many targets");
            return;
        }
        read_object(r, target_members, &h->target[h->targets++]);
    }
}

static void read_bucket(struct json_reader *r, struct hist *h)
{
    uint64_t bucket, n;
    if (!json_array_begin(r)) return;
    if (json_array_next(r) && read_u64(r, HIST_BUCKETS - 1, &bucket) && json_array_next(r) &&
        read_u64(r, INT64_MAX, &n)) {
        if (h->buckets[bucket]) json_fail(r, ERR_FIELD_RANGE, "a bucket is listed twice");
        h->buckets[bucket] = n;
    }
    if (json_array_next(r)) json_fail(r, ERR_FIELD_TYPE, "a bucket is a pair of numbers");
}

static void read_latency(struct json_reader *r, struct hist *h)
{
    struct span key;
    uint64_t seen = 0;
    if (!json_object_begin(r)) return;
    while (json_object_next(r, &key)) {
        if (read_member(r, latency_members, key, h, &seen)) continue;
        if (!span_is(key, "buckets")) {
            json_skip(r);
            continue;
        }
        if (!json_array_begin(r)) return;
        while (json_array_next(r)) read_bucket(r, h);
    }
    check_members(r, latency_members, seen);
}

static bool buckets_add_up(const struct hist *h)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < HIST_BUCKETS; i++)
        if (__builtin_add_overflow(sum, h->buckets[i], &sum)) return false;
    return sum == h->count;
}

/* The smallest and the largest value lie in the first and the last bucket that is not empty. */
static bool bounds_fit(const struct hist *h)
{
    if (!h->count) return h->min == 0 && h->max == 0;
    size_t first = 0, last = HIST_BUCKETS - 1;
    while (!h->buckets[first]) first++;
    while (!h->buckets[last]) last--;
    return h->min <= h->max && hist_bucket(h->min) == first && hist_bucket(h->max) == last;
}

static bool sum_fits(const struct hist *h)
{
    unsigned __int128 least = (unsigned __int128)h->min * h->count;
    unsigned __int128 most = (unsigned __int128)h->max * h->count;
    return h->sum >= least && h->sum <= most;
}

static bool over_fits(const struct hist *h)
{
    return h->over <= h->buckets[hist_bucket(HIST_MAX_NS)] &&
           (h->over > 0) == (h->max >= HIST_MAX_NS);
}

/* What the parts of a histogram do not agree on would make percentiles of nothing. */
static void check_latency(struct json_reader *r, struct hist *h)
{
    if (r->error) return;
    if (!buckets_add_up(h))
        json_fail(r, ERR_FIELD_RANGE, "the buckets do not add up to the count");
    else if (!bounds_fit(h))
        json_fail(r, ERR_FIELD_RANGE, "min_ns and max_ns are not in the outermost buckets");
    else if (!sum_fits(h))
        json_fail(r, ERR_FIELD_RANGE, "sum_ns is not that of such values");
    else if (!over_fits(h))
        json_fail(r, ERR_FIELD_RANGE, "over is not that of such buckets");
    if (!h->count) h->min = UINT64_MAX;
}

static enum err_code read_end(struct json_reader *r, struct err *e)
{
    json_end(r);
    if (!r->error) return ERR_OK;
    enum err_code code = err_set(e, r->error, "%s", r->error_text);
    if (e) e->offset = json_error_offset(r);
    return code;
}

static enum err_code line_begin(struct json_reader *r, struct span line, char *scratch,
                                struct err *e)
{
    if (line.len > CAPTURE_LINE_BYTES_MAX)
        return err_set(e, ERR_LIMIT, "a line has at most %d bytes", CAPTURE_LINE_BYTES_MAX);
    json_reader_init(r, line, scratch, CAPTURE_LINE_BYTES_MAX);
    return ERR_OK;
}

enum err_code capture_read_header(struct span line, struct capture_header *out, struct err *e)
{
    char scratch[CAPTURE_LINE_BYTES_MAX], format[32] = "";
    struct json_reader r;
    enum err_code code = line_begin(&r, line, scratch, e);
    if (code) return code;
    struct capture_header h = {0};
    uint64_t version = 0, sub_bits = 0, seen = 0;
    struct span key;
    json_object_begin(&r);
    while (json_object_next(&r, &key)) {
        if (read_member(&r, header_members, key, &h, &seen)) continue;
        if (span_is(key, "format"))
            read_text(&r, format, sizeof format);
        else if (span_is(key, "format_version"))
            read_u64(&r, INT64_MAX, &version);
        else if (span_is(key, "sub_bits"))
            read_u64(&r, INT64_MAX, &sub_bits);
        else if (span_is(key, "machine"))
            read_object(&r, machine_members, &h.machine);
        else if (span_is(key, "targets"))
            read_targets(&r, &h);
        else
            json_skip(&r);
    }
    code = read_end(&r, e);
    if (code) return code;
    if (strcmp(format, FORMAT_NAME) != 0 || version != FORMAT_VERSION)
        return err_set(e, ERR_UNSUPPORTED, "not a capture of version %d", FORMAT_VERSION);
    if (sub_bits != HIST_SUB_BITS)
        return err_set(e, ERR_UNSUPPORTED, "its histograms are divided otherwise");
    check_members(&r, header_members, seen);
    if (!r.error && h.targets == 0) json_fail(&r, ERR_FIELD_RANGE, "there are no targets");
    code = read_end(&r, e);
    if (code) return code;
    *out = h;
    return ERR_OK;
}

enum err_code capture_read_interval(struct span line, struct capture_interval *out, struct err *e)
{
    char scratch[CAPTURE_LINE_BYTES_MAX];
    struct json_reader r;
    enum err_code code = line_begin(&r, line, scratch, e);
    if (code) return code;
    struct capture_interval i = {0};
    struct span key;
    uint64_t seen = 0;
    bool errors = false, latency = false;
    json_object_begin(&r);
    while (json_object_next(&r, &key)) {
        if (read_member(&r, interval_members, key, &i, &seen)) continue;
        if (span_is(key, "errors") && !errors) {
            errors = true;
            read_object(&r, error_members, &i);
        } else if (span_is(key, "latency") && !latency) {
            latency = true;
            read_latency(&r, &i.latency);
        } else if (span_is(key, "format")) {
            json_fail(&r, ERR_UNSUPPORTED,
                      "a second header: these are two captures in one file; take them apart here");
        } else if (span_is(key, "errors") || span_is(key, "latency")) {
            json_fail(&r, ERR_JSON_DUPLICATE_KEY, "a member stands twice");
        } else {
            json_skip(&r);
        }
    }
    check_members(&r, interval_members, seen);
    if (!r.error && !(errors && latency))
        json_fail(&r, ERR_FIELD_RANGE, "an interval has errors and latency");
    check_latency(&r, &i.latency);
    code = read_end(&r, e);
    if (code) return code;
    *out = i;
    return ERR_OK;
}
