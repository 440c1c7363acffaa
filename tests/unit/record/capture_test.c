#include "record/capture.h"

#include "base/rng.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static char line_memory[CAPTURE_LINE_BYTES_MAX];

static struct span header_line(const struct capture_header *h)
{
    struct buf b = buf_of(line_memory, sizeof line_memory);
    capture_write_header(&b, h);
    assert_false(b.full);
    return buf_text(&b);
}

static struct span interval_line(const struct capture_interval *i)
{
    struct buf b = buf_of(line_memory, sizeof line_memory);
    capture_write_interval(&b, i);
    assert_false(b.full);
    return buf_text(&b);
}

static void assert_json(struct span text)
{
    json_error_t error;
    json_t *value = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, &error);
    if (!value) fail_msg("%s in %.*s", error.text, (int)text.len, text.data);
    json_decref(value);
}

static struct capture_header some_header(void)
{
    struct capture_header h = {
        .started_us = 1796025600123456,
        .machine = {"A \"quoted\" CPU", "Linux 6.1", "tsc", 2},
        .shape = "diurnal",
        .arrivals = "poisson",
        .spread = "alternate",
        .bodies = "caf\xc3\xa9.jsonl",
        .rate = 0.1,
        .peak = 20000,
        .trough = 1e-3,
        .cycle_us = 60000000,
        .duration_us = 1,
        .turn_us = 3,
        .seed = INT64_MAX,
        .connections = 64,
        .targets = 2,
        .target = {{"http://127.0.0.1:7070/v1/decide", "0.1.0", "abc", "demo-1", "9f31c2a07be4"},
                   {.url = "http://127.0.0.1:8080/"}},
    };
    return h;
}

static struct capture_interval some_interval(struct rng *r, int values)
{
    struct capture_interval i;
    capture_interval_init(&i, (uint32_t)(rng_next(r) % 2));
    i.start_us = 1796025600000000 + (int64_t)(rng_next(r) % 1000000000);
    i.length_us = 1 + rng_next(r) % 2000000;
    i.active_us = rng_next(r) % 2000000;
    uint64_t *counts[] = {&i.due,        &i.sent,   &i.late,  &i.late_free,
                          &i.taken_late, &i.queued, &i.unsent};
    for (size_t c = 0; c < COUNT(counts); c++) *counts[c] = rng_next(r) % 100000;
    for (int s = 0; s < CAPTURE_STAGE_COUNT; s++) i.errors[s] = rng_next(r) % 1000;
    i.steal_us = (int64_t)(rng_next(r) % 1000);
    i.throttled_us = rng_next(r) % 2 ? MACHINE_UNKNOWN : 5;
    for (int v = 0; v < values; v++)
        hist_record(&i.latency, rng_next(r) >> (20 + rng_next(r) % 44));
    return i;
}

static void header_round_trip(void **state)
{
    (void)state;
    struct capture_header h = some_header(), back;
    struct err e;
    assert_json(header_line(&h));
    memset(&back, 0xff, sizeof back);
    assert_int_equal(capture_read_header(header_line(&h), &back, &e), ERR_OK);
    assert_memory_equal(&back, &h, sizeof h);
    assert_int_equal(back.started_us, h.started_us);
    assert_string_equal(back.machine.cpu_model, h.machine.cpu_model);
    assert_string_equal(back.machine.clock_source, "tsc");
    assert_int_equal(back.machine.cores, 2);
    assert_string_equal(back.bodies, h.bodies);
    assert_true(back.rate == h.rate && back.peak == h.peak && back.trough == h.trough);
    assert_int_equal(back.seed, h.seed);
    assert_int_equal(back.targets, 2);
    assert_string_equal(back.target[0].fingerprint, "9f31c2a07be4");
    assert_string_equal(back.target[1].url, "http://127.0.0.1:8080/");
    assert_string_equal(back.target[1].commit, "");
}

static void interval_round_trip(void **state)
{
    (void)state;
    struct rng r;
    rng_init(&r, (struct hash128){1, 2});
    for (int i = 0; i < 300; i++) {
        struct capture_interval one = some_interval(&r, i % 3 ? i : 0), back;
        assert_json(interval_line(&one));
        memset(&back, 0xff, sizeof back);
        struct err e;
        assert_int_equal(capture_read_interval(interval_line(&one), &back, &e), ERR_OK);
        assert_memory_equal(&back, &one, sizeof one);
    }
}

/* At and around the largest value that a bucket tells, once and twice. */
static void values_beyond_the_last_bucket_are_read_back(void **state)
{
    (void)state;
    static const uint64_t values[] = {HIST_MAX_NS - 1, HIST_MAX_NS, HIST_MAX_NS + 1};
    for (size_t v = 0; v < COUNT(values); v++)
        for (uint64_t n = 1; n < 3; n++) {
            struct capture_interval one, back;
            struct err e;
            capture_interval_init(&one, 0);
            hist_record_n(&one.latency, values[v], n);
            assert_int_equal(one.latency.over, values[v] >= HIST_MAX_NS ? n : 0);
            assert_int_equal(capture_read_interval(interval_line(&one), &back, &e), ERR_OK);
            assert_memory_equal(&back, &one, sizeof one);
        }
}

static void the_largest_line_fits(void **state)
{
    (void)state;
    struct capture_interval i, back;
    memset(&i, 0, sizeof i);
    i.target = UINT32_MAX;
    i.start_us = i.steal_us = i.throttled_us = INT64_MAX / 2;
    i.length_us = i.active_us = i.due = i.sent = INT64_MAX;
    i.late = i.late_free = i.taken_late = i.queued = i.unsent = INT64_MAX;
    for (int s = 0; s < CAPTURE_STAGE_COUNT; s++) i.errors[s] = INT64_MAX;
    size_t last = hist_bucket(HIST_MAX_NS);
    for (size_t k = 0; k <= last; k++) {
        i.latency.buckets[k] = INT64_MAX / HIST_BUCKETS;
        i.latency.count += i.latency.buckets[k];
    }
    i.latency.sum = i.latency.max = INT64_MAX;
    i.latency.over = i.latency.buckets[last];
    struct err e;
    assert_int_equal(capture_read_interval(interval_line(&i), &back, &e), ERR_OK);
    assert_memory_equal(&back, &i, sizeof i);

    /* Every byte of every text escaped sixfold. */
    static struct capture_header h;
    memset(&h, 1, sizeof h);
    h.rate = h.peak = h.trough = -1.7976931348623157e308;
    h.targets = CAPTURE_TARGETS_MAX;
    char *texts[] = {h.shape, h.arrivals, h.spread, h.bodies};
    size_t sizes[] = {sizeof h.shape, sizeof h.arrivals, sizeof h.spread, sizeof h.bodies};
    for (size_t t = 0; t < COUNT(texts); t++) texts[t][sizes[t] - 1] = 0;
    h.machine.cpu_model[sizeof h.machine.cpu_model - 1] = 0;
    h.machine.kernel[sizeof h.machine.kernel - 1] = 0;
    h.machine.clock_source[sizeof h.machine.clock_source - 1] = 0;
    for (int t = 0; t < CAPTURE_TARGETS_MAX; t++) {
        char *of[] = {h.target[t].url, h.target[t].build_version, h.target[t].commit,
                      h.target[t].plan_version, h.target[t].fingerprint};
        for (size_t k = 0; k < COUNT(of); k++) of[k][CAPTURE_TEXT_MAX - 1] = 0;
    }
    header_line(&h);
}

/* One histogram of all values, and the sum of many histograms of some of them, are the same. */
static void adding_up_loses_nothing(void **state)
{
    (void)state;
    struct rng r;
    rng_init(&r, (struct hash128){3, 4});
    struct capture_interval sum, whole;
    capture_interval_init(&sum, 0);
    capture_interval_init(&whole, 0);
    uint64_t due = 0;
    for (int i = 0; i < 50; i++) {
        struct capture_interval one;
        capture_interval_init(&one, 0);
        one.start_us = 1000 + i * 10;
        one.length_us = 10;
        one.active_us = 5;
        one.due = rng_next(&r) % 100;
        due += one.due;
        one.errors[CAPTURE_TIMEOUT] = 1;
        for (int v = 0; v < 200; v++) {
            uint64_t ns = rng_next(&r) >> (20 + rng_next(&r) % 44);
            hist_record(&one.latency, ns);
            hist_record(&whole.latency, ns);
        }
        capture_interval_add(&sum, &one);
    }
    assert_memory_equal(&sum.latency, &whole.latency, sizeof whole.latency);
    assert_int_equal(sum.due, due);
    assert_int_equal(sum.errors[CAPTURE_TIMEOUT], 50);
    assert_int_equal(sum.start_us, 1000);
    assert_int_equal(sum.length_us, 500);
    assert_int_equal(sum.active_us, 250);
}

/* Every count is added to its own, and the hull is from the first start to the last end. */
static void adding_up_adds_every_count(void **state)
{
    (void)state;
    struct capture_interval one, sum;
    capture_interval_init(&one, 3);
    capture_interval_init(&sum, 3);
    uint64_t *counts[] = {&one.active_us, &one.due,        &one.sent,      &one.late,
                          &one.late_free, &one.taken_late, &one.queued,    &one.unsent,
                          &one.errors[0], &one.errors[1],  &one.errors[2], &one.errors[3],
                          &one.errors[4]};
    _Static_assert(CAPTURE_STAGE_COUNT == 5, "every stage is listed");
    for (size_t c = 0; c < COUNT(counts); c++) *counts[c] = 1000 + c;
    one.steal_us = 70, one.throttled_us = 80;
    capture_interval_add(&sum, &one);
    assert_memory_equal(&sum, &one, sizeof sum);
    capture_interval_add(&sum, &one);
    capture_interval_add(&sum, &one);
    for (size_t c = 0; c < COUNT(counts); c++) *counts[c] *= 3;
    one.steal_us = 210, one.throttled_us = 240;
    assert_memory_equal(&sum, &one, sizeof sum);

    static const struct {
        int64_t start_us;
        uint64_t length_us;
    } parts[] = {{500, 100}, {550, 20}, {700, 50}, {400, 30}, {300, 0}, {380, 500}};
    static const int64_t hull[][2] = {{500, 100}, {500, 100}, {500, 250},
                                      {400, 350}, {400, 350}, {380, 500}};
    capture_interval_init(&sum, 3);
    for (size_t i = 0; i < COUNT(parts); i++) {
        capture_interval_init(&one, 3);
        one.start_us = parts[i].start_us;
        one.length_us = parts[i].length_us;
        capture_interval_add(&sum, &one);
        assert_int_equal(sum.start_us, hull[i][0]);
        assert_int_equal(sum.length_us, hull[i][1]);
    }

    static const int64_t known[][3] = {
        {1, 2, 3}, {MACHINE_UNKNOWN, 2, MACHINE_UNKNOWN}, {1, MACHINE_UNKNOWN, MACHINE_UNKNOWN}};
    for (size_t i = 0; i < COUNT(known); i++) {
        capture_interval_init(&sum, 3);
        capture_interval_init(&one, 3);
        sum.steal_us = known[i][0], sum.throttled_us = known[i][1];
        one.steal_us = known[i][1], one.throttled_us = known[i][0];
        capture_interval_add(&sum, &one);
        assert_int_equal(sum.steal_us, known[i][2]);
        assert_int_equal(sum.throttled_us, known[i][2]);
    }
}

static void stages_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"connect", "send", "receive", "status", "timeout"};
    assert_int_equal(COUNT(names), CAPTURE_STAGE_COUNT);
    for (int i = 0; i < CAPTURE_STAGE_COUNT; i++)
        assert_string_equal(capture_stage_name((enum capture_stage)i), names[i]);
}

static void adding_up_in_any_order(void **state)
{
    (void)state;
    struct rng r;
    rng_init(&r, (struct hash128){5, 6});
    struct capture_interval some[10], forward, back;
    capture_interval_init(&forward, 7);
    capture_interval_init(&back, 7);
    for (size_t i = 0; i < COUNT(some); i++) {
        some[i] = some_interval(&r, 30);
        some[i].target = 7;
    }
    for (size_t i = 0; i < COUNT(some); i++) capture_interval_add(&forward, &some[i]);
    for (size_t i = COUNT(some); i-- > 0;) capture_interval_add(&back, &some[i]);
    assert_memory_equal(&forward, &back, sizeof forward);
    assert_int_equal(forward.throttled_us, MACHINE_UNKNOWN);
    assert_true(forward.steal_us != MACHINE_UNKNOWN);
}

static void failed_leaves_connects_out(void **state)
{
    (void)state;
    struct capture_interval i;
    capture_interval_init(&i, 0);
    i.errors[CAPTURE_CONNECT] = 1000;
    i.errors[CAPTURE_SEND] = 1;
    i.errors[CAPTURE_RECEIVE] = 20;
    i.errors[CAPTURE_STATUS] = 300;
    i.errors[CAPTURE_TIMEOUT] = 4000;
    i.unsent = 50000;
    assert_int_equal(capture_interval_failed(&i), 54321);
}

#define FORMAT "{\"format\":\"interlude-capture\",\"format_version\":1,\"sub_bits\":5,"
#define SETTING                                                                               \
    "\"started_us\":1,\"shape\":\"flat\",\"arrivals\":\"poisson\",\"spread\":\"interleave\"," \
    "\"bodies\":\"\",\"rate\":1,\"peak\":0,\"trough\":0,\"cycle_us\":0,\"duration_us\":1,"    \
    "\"turn_us\":0,\"seed\":1,\"connections\":1,"
#define TARGET                                                                     \
    "{\"url\":\"a\",\"build_version\":\"\",\"commit\":\"\",\"plan_version\":\"\"," \
    "\"fingerprint\":\"\"}"
#define HEADER FORMAT SETTING "\"targets\":[" TARGET "," TARGET "]}"

#define TIMES(target) "{\"target\":" target ",\"start_us\":1,\"length_us\":10,\"active_us\":10,"
#define COUNTS(due) \
    "\"due\":" due ",\"sent\":0,\"late\":0,\"late_free\":0,\"queued\":0,\"unsent\":0,"
#define MACHINE "\"steal_us\":null,\"throttled_us\":3,"
#define ERRORS "\"errors\":{\"connect\":0,\"send\":0,\"receive\":0,\"status\":0,\"timeout\":0},"
#define THREE_VALUES \
    "\"count\":3,\"over\":0,\"sum_ns\":11,\"min_ns\":1,\"max_ns\":5,\"buckets\":[[1,1],[5,2]]"
#define NO_VALUES "\"count\":0,\"over\":0,\"sum_ns\":0,\"min_ns\":0,\"max_ns\":0,\"buckets\":[]"
#define LINE(target, due) TIMES(target) COUNTS(due) MACHINE ERRORS "\"latency\":{" NO_VALUES "}}"
#define INTERVAL TIMES("0") COUNTS("1") MACHINE ERRORS "\"latency\":{" THREE_VALUES "}}"

/* A line that is right, in which `cut` is replaced by `put`. */
struct change {
    const char *cut, *put;
    enum err_code code;
};

static struct span changed(const char *line, const struct change *c)
{
    static char text[8192];
    const char *at = strstr(line, c->cut);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - line), line, c->put, at + strlen(c->cut));
    return span_of(text);
}

static void wrong_headers_are_refused(void **state)
{
    (void)state;
    static const struct change rows[] = {
        {"", "", ERR_OK},
        {"\"shape\"", "\"new\":[{}],\"shape\"", ERR_OK},
        {HEADER, "", ERR_JSON_SYNTAX},
        {"]}", "]", ERR_JSON_SYNTAX},
        {"]}", "]} 1", ERR_JSON_SYNTAX},
        {HEADER, "[]", ERR_JSON_SYNTAX},
        {HEADER, "{}", ERR_UNSUPPORTED},
        {"version\":1", "version\":2", ERR_UNSUPPORTED},
        {"\"format_version\":1,", "", ERR_UNSUPPORTED},
        {"\"format\":\"interlude-capture\",", "", ERR_UNSUPPORTED},
        {"\"sub_bits\":5,", "", ERR_UNSUPPORTED},
        {"interlude-capture", "other", ERR_UNSUPPORTED},
        {"interlude-capture", "interlude-capture-of-31-bytes..", ERR_UNSUPPORTED},
        {"interlude-capture", "interlude-capture-of-32-bytes...", ERR_FIELD_RANGE},
        {"sub_bits\":5", "sub_bits\":6", ERR_UNSUPPORTED},
        {"\"flat\"", "1", ERR_FIELD_TYPE},
        {"flat", "1234567890123456789012345678901", ERR_OK},
        {"flat", "12345678901234567890123456789012", ERR_FIELD_RANGE},
        {"flat", "123456789012345678901234567890123", ERR_FIELD_RANGE},
        {"flat", "", ERR_OK},
        {"flat", "a\\u0000b", ERR_FIELD_RANGE},
        {"\"rate\":1", "\"rate\":\"1\"", ERR_FIELD_TYPE},
        {"\"rate\":1", "\"rate\":1e999", ERR_FIELD_RANGE},
        {"\"seed\":1", "\"seed\":-1", ERR_FIELD_RANGE},
        {"\"seed\":1", "\"seed\":0.5", ERR_FIELD_RANGE},
        {"\"seed\":1,", "", ERR_FIELD_RANGE},
        {"\"seed\":1", "\"seed\":1,\"seed\":1", ERR_JSON_DUPLICATE_KEY},
        {"\"url\":\"a\",", "", ERR_FIELD_RANGE},
        {TARGET "," TARGET, "", ERR_FIELD_RANGE},
        {TARGET,
         TARGET "," TARGET "," TARGET "," TARGET "," TARGET "," TARGET "," TARGET "," TARGET,
         ERR_FIELD_RANGE},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct capture_header h;
        struct err e = {0};
        enum err_code code = capture_read_header(changed(HEADER, &rows[i]), &h, &e);
        if (code != rows[i].code || e.code != code)
            fail_msg("row %zu: %s, %s", i, err_name(code), e.text);
    }
}

/* Each text of a header has a longest length, one byte below its array's. */
static void texts_have_a_longest_length(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t max;
    } rows[] = {{"shape", 31},   {"arrivals", 31},      {"spread", 31},
                {"bodies", 255}, {"url", 255},          {"build_version", 255},
                {"commit", 255}, {"plan_version", 255}, {"fingerprint", 255}};
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t more = 0; more < 2; more++) {
            char line[4096], key[32];
            snprintf(key, sizeof key, "\"%s\":\"", rows[i].name);
            const char *at = strstr(HEADER, key);
            assert_non_null(at);
            at += strlen(key);
            int before = (int)(at - HEADER), fill = (int)(rows[i].max + more);
            int n =
                snprintf(line, sizeof line, "%.*s%0*d%s", before, HEADER, fill, 0, strchr(at, '"'));
            struct capture_header h;
            enum err_code code = capture_read_header((struct span){line, (size_t)n}, &h, NULL);
            if (code != (more ? ERR_FIELD_RANGE : ERR_OK))
                fail_msg("%s, %d bytes: %s", rows[i].name, fill, err_name(code));
        }
}

static void wrong_intervals_are_refused(void **state)
{
    (void)state;
    static const struct change rows[] = {
        {"", "", ERR_OK},
        {"\"due\"", "\"new\":{\"due\":[1]},\"due\"", ERR_OK},
        {THREE_VALUES, NO_VALUES, ERR_OK},
        /* Nothing at all was an interval. */
        {INTERVAL, "{}", ERR_FIELD_RANGE},
        {"\"target\":0,", "", ERR_FIELD_RANGE},
        {"\"start_us\":1,", "", ERR_FIELD_RANGE},
        {"\"due\":1,", "", ERR_FIELD_RANGE},
        {MACHINE, "", ERR_FIELD_RANGE},
        {ERRORS, "", ERR_FIELD_RANGE},
        {ERRORS, ERRORS ERRORS, ERR_JSON_DUPLICATE_KEY},
        {"\"send\":0,", "", ERR_FIELD_RANGE},
        {THREE_VALUES, "", ERR_FIELD_RANGE},
        {",\"latency\":{" THREE_VALUES "}", "", ERR_FIELD_RANGE},
        {"\"count\":3", "\"count\":4", ERR_FIELD_RANGE},
        {"[1,1],[5,2]", "", ERR_FIELD_RANGE},
        {"[1,1]", "[1056,1]", ERR_FIELD_RANGE},
        {"[1,1]", "[1,1,1]", ERR_FIELD_TYPE},
        {"[1,1]", "1", ERR_JSON_SYNTAX},
        {"[5,2]", "[5,1],[5,1]", ERR_FIELD_RANGE},
        /* Beside these buckets there is no such smallest or largest value, nor such a sum. */
        {"\"min_ns\":1,\"max_ns\":5", "\"min_ns\":0,\"max_ns\":0", ERR_FIELD_RANGE},
        {"\"min_ns\":1", "\"min_ns\":2", ERR_FIELD_RANGE},
        {"\"max_ns\":5", "\"max_ns\":6", ERR_FIELD_RANGE},
        {"\"sum_ns\":11", "\"sum_ns\":2", ERR_FIELD_RANGE},
        {"\"sum_ns\":11", "\"sum_ns\":16", ERR_FIELD_RANGE},
        {"\"over\":0", "\"over\":1", ERR_FIELD_RANGE},
        {"\"over\":0", "\"new\":[{}],\"over\":0", ERR_OK},
        {"\"send\":0", "\"new\":[{}],\"send\":0", ERR_OK},
        /* These counts add up to 2^64, which is 0 to those who do not look. */
        {THREE_VALUES,
         "\"count\":0,\"over\":0,\"sum_ns\":0,\"min_ns\":0,\"max_ns\":0,\"buckets\":"
         "[[1,9223372036854775807],[2,9223372036854775807],[3,2]]",
         ERR_FIELD_RANGE},
        /* All of them at the least, and at the most, that such a sum can be. */
        {THREE_VALUES,
         "\"count\":2,\"over\":0,\"sum_ns\":10,\"min_ns\":5,\"max_ns\":5,\"buckets\":[[5,2]]",
         ERR_OK},
        {THREE_VALUES,
         "\"count\":2,\"over\":0,\"sum_ns\":11,\"min_ns\":5,\"max_ns\":5,\"buckets\":[[5,2]]",
         ERR_FIELD_RANGE},
        {THREE_VALUES,
         "\"count\":2,\"over\":0,\"sum_ns\":9,\"min_ns\":5,\"max_ns\":5,\"buckets\":[[5,2]]",
         ERR_FIELD_RANGE},
        {THREE_VALUES,
         "\"count\":2,\"over\":0,\"sum_ns\":10,\"min_ns\":6,\"max_ns\":4,\"buckets\":[[5,2]]",
         ERR_FIELD_RANGE},
        {",\"latency\":{" THREE_VALUES "}",
         ",\"latency\":{" THREE_VALUES "},\"latency\":{" THREE_VALUES "}", ERR_JSON_DUPLICATE_KEY},
        {"\"start_us\":1", "\"start_us\":4611686018427387903", ERR_OK},
        {"\"start_us\":1", "\"start_us\":4611686018427387904", ERR_FIELD_RANGE},
        {"\"target\":0", "\"target\":4294967295", ERR_OK},
        {"\"due\":1", "\"due\":9223372036854775807", ERR_OK},
        {"\"due\":1", "\"due\":9223372036854775808", ERR_FIELD_RANGE},
        {"\"steal_us\":null", "\"steal_us\":0", ERR_OK},
        {"\"steal_us\":null", "\"steal_us\":-1", ERR_FIELD_RANGE},
        {"\"connect\":0", "\"connect\":\"1\"", ERR_FIELD_TYPE},
        {"\"connect\":0", "\"connect\":-1", ERR_FIELD_RANGE},
        {"\"target\":0", "\"target\":4294967296", ERR_FIELD_RANGE},
        {"\"start_us\":1", "\"start_us\":9223372036854775807", ERR_FIELD_RANGE},
        {"\"steal_us\":null", "\"steal_us\":\"none\"", ERR_FIELD_TYPE},
        {"}}", "}", ERR_JSON_SYNTAX},
        {INTERVAL, HEADER, ERR_UNSUPPORTED},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct capture_interval interval;
        struct err e = {0};
        enum err_code code = capture_read_interval(changed(INTERVAL, &rows[i]), &interval, &e);
        if (code != rows[i].code || e.code != code)
            fail_msg("row %zu: %s, %s", i, err_name(code), e.text);
    }
    static char huge[CAPTURE_LINE_BYTES_MAX + 1];
    struct capture_interval interval;
    assert_int_equal(capture_read_interval((struct span){huge, sizeof huge}, &interval, NULL),
                     ERR_LIMIT);
}

/* Where in a line the fault is; and who does not ask is told the code all the same. */
static void a_fault_is_told_with_its_offset(void **state)
{
    (void)state;
    struct capture_header h;
    struct capture_interval i;
    struct err e = {0};
    assert_int_equal(capture_read_header(SPAN(HEADER " 1"), &h, &e), ERR_JSON_SYNTAX);
    assert_int_equal(e.offset, strlen(HEADER) + 1);
    assert_int_equal(capture_read_header(SPAN(HEADER " 1"), &h, NULL), ERR_JSON_SYNTAX);
    e = (struct err){0};
    assert_int_equal(capture_read_interval(SPAN(INTERVAL ","), &i, &e), ERR_JSON_SYNTAX);
    assert_int_equal(e.offset, strlen(INTERVAL));
    assert_int_equal(capture_read_interval(SPAN(INTERVAL ","), &i, NULL), ERR_JSON_SYNTAX);
}

/* Two targets in two intervals of a second: the sum of all lines told of four seconds, and of twice
 * what the machine lost. */
static void targets_share_their_time_and_their_machine(void **state)
{
    (void)state;
    static const struct {
        const char *spread;
        uint64_t active_us; /* of a line */
    } rows[] = {{"interleave", 1000000}, {"alternate", 500000}};
    for (size_t row = 0; row < COUNT(rows); row++) {
        static struct capture_interval lines[4];
        struct capture c = {.intervals = lines, .count = COUNT(lines)};
        snprintf(c.header.spread, sizeof c.header.spread, "%s", rows[row].spread);
        for (uint32_t i = 0; i < COUNT(lines); i++) {
            capture_interval_init(&lines[i], i % 2);
            lines[i].start_us = i / 2 * 1000000;
            lines[i].length_us = 1000000;
            lines[i].active_us = rows[row].active_us;
            lines[i].steal_us = 15000;
            lines[i].throttled_us = i < 2 ? 7 : MACHINE_UNKNOWN;
            lines[i].due = 10;
            hist_record(&lines[i].latency, 100 + i);
        }
        struct capture_interval all;
        capture_total_all(&c, &all);
        assert_int_equal(all.length_us, 2000000);
        assert_int_equal(all.active_us, 2000000);
        assert_int_equal(all.steal_us, 30000);
        assert_int_equal(all.throttled_us, MACHINE_UNKNOWN);
        assert_int_equal(all.due, 40);
        assert_int_equal(all.latency.count, 4);
        capture_total(&c, 1, &all);
        assert_int_equal(all.active_us, 2 * rows[row].active_us);
        assert_int_equal(all.steal_us, 30000);
    }
}

/* A file with these bytes, removed at once; the name that still opens it is returned. */
static const char *file_with(const char *text)
{
    static char name[64];
    char path[] = "/tmp/capture-test-XXXXXX";
    static int fd = -1;
    if (fd >= 0) close(fd);
    fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return name;
}

#define TWO HEADER "\n"

static void files(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum err_code code;
        size_t count;
        uint32_t line;
    } rows[] = {
        {TWO, ERR_OK, 0, 0},
        {TWO LINE("1", "5") "\n" LINE("0", "7") "\n" LINE("1", "3") "\n", ERR_OK, 3, 0},
        {TWO LINE("1", "0") "\n{\"target\":0,\"due\":", ERR_OK, 1, 0},
        {TWO LINE("1", "0") "\n" LINE("2", "0") "\n", ERR_FIELD_RANGE, 0, 3},
        {TWO LINE("1", "0") "\n\n", ERR_JSON_SYNTAX, 0, 3},
        /* Two captures, one after the other: the second header was an empty interval. */
        {TWO LINE("1", "0") "\n" TWO LINE("1", "0") "\n", ERR_UNSUPPORTED, 0, 3},
        {"", ERR_JSON_SYNTAX, 0, 0},
        {"{}\n", ERR_UNSUPPORTED, 0, 1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct capture c = {0};
        struct err e = {0};
        enum err_code code = capture_open(file_with(rows[i].text), &c, &e);
        if (code != rows[i].code || e.line != rows[i].line || c.count != rows[i].count)
            fail_msg("row %zu: %s line %u, %zu intervals", i, err_name(code), e.line, c.count);
        if (i == 1) {
            struct capture_interval total;
            capture_total(&c, 1, &total);
            assert_int_equal(total.due, 8);
            capture_total(&c, 0, &total);
            assert_int_equal(total.due, 7);
        }
        capture_done(&c);
        assert_null(c.intervals);
        assert_int_equal(c.count, 0);
    }
    struct capture c;
    assert_int_equal(capture_open("/nowhere/at/all", &c, NULL), ERR_SYSTEM);
}

/* The longest line, and one byte more; its end is no part of it. */
static void the_longest_line_of_a_file(void **state)
{
    (void)state;
    static char text[CAPTURE_LINE_BYTES_MAX + 3];
    for (size_t len = CAPTURE_LINE_BYTES_MAX; len <= CAPTURE_LINE_BYTES_MAX + 1; len++) {
        memset(text, ' ', len);
        memcpy(text, HEADER, strlen(HEADER));
        strcpy(text + len, "\n");
        struct capture c = {0};
        struct err e = {0};
        assert_int_equal(capture_open(file_with(text), &c, &e),
                         len > CAPTURE_LINE_BYTES_MAX ? ERR_LIMIT : ERR_OK);
        capture_done(&c);
    }
}

/* More of them than a file usually has: none is lost, none is another. */
static void many_intervals_are_read(void **state)
{
    (void)state;
    enum { MANY = 300 };
    static char text[MANY * 512];
    size_t len = (size_t)snprintf(text, sizeof text, "%s\n", HEADER);
    for (int i = 0; i < MANY; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%d%s\n", TIMES("1") "\"due\":", i,
                                strstr(LINE("1", "0"), ",\"sent\""));
    struct capture c = {0};
    struct err e = {0};
    enum err_code code = capture_open(file_with(text), &c, &e);
    if (code) fail_msg("line %u: %s", e.line, e.text);
    assert_int_equal(c.count, MANY);
    for (uint64_t i = 0; i < MANY; i++) assert_int_equal(c.intervals[i].due, i);
    capture_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_round_trip),
        cmocka_unit_test(interval_round_trip),
        cmocka_unit_test(values_beyond_the_last_bucket_are_read_back),
        cmocka_unit_test(the_largest_line_fits),
        cmocka_unit_test(adding_up_loses_nothing),
        cmocka_unit_test(adding_up_adds_every_count),
        cmocka_unit_test(stages_have_names),
        cmocka_unit_test(adding_up_in_any_order),
        cmocka_unit_test(failed_leaves_connects_out),
        cmocka_unit_test(wrong_headers_are_refused),
        cmocka_unit_test(texts_have_a_longest_length),
        cmocka_unit_test(wrong_intervals_are_refused),
        cmocka_unit_test(a_fault_is_told_with_its_offset),
        cmocka_unit_test(targets_share_their_time_and_their_machine),
        cmocka_unit_test(files),
        cmocka_unit_test(the_longest_line_of_a_file),
        cmocka_unit_test(many_intervals_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
