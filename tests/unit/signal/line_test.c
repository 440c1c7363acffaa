#include "signal/emit.h"
#include "signal/line.h"

#include "support.h"

#include <jansson.h>

static json_t *line_read(const char *memory, size_t len)
{
    assert_true(len <= LINE_BYTES_MAX);
    assert_int_equal(memory[len - 1], '\n');
    assert_null(memchr(memory, '\n', len - 1));
    json_error_t error;
    json_t *json = json_loadb(memory, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!json) fail_msg("%s: %.*s", error.text, (int)len, memory);
    return json;
}

/* The first `n` names of an array. */
static struct names first(const struct span *names, int n)
{
    return (struct names){names, sizeof *names, n < 64 ? (1ull << n) - 1 : UINT64_MAX, false};
}

static void a_record_becomes_its_line(void **state)
{
    (void)state;
    const struct span missing[] = {SPAN("pod_1"), SPAN("pod_2"), SPAN("")}, unknown = SPAN("pod_9");
    struct names with_a_gap = first(missing, 3);
    with_a_gap.places = 5;
    struct record r;
    record_posteriors_partial(
        &r, 1796025600123456, field_drill(false), field_request_id(SPAN("r\"1\n")),
        field_segment_id((struct span){0}), /* left out */
        field_variant(SPAN("bayes")), field_version(SPAN("demo-1")),
        field_missing_actions(with_a_gap), field_invalid_actions((struct names){0}), /* left out */
        field_unknown_actions(first(&unknown, 1)));
    char memory[LINE_BYTES_MAX];
    size_t len = line_render(memory, &r);
    memory[len - 1] = '\0';
    assert_string_equal(memory,
                        "{\"timestamp\":\"2026-11-30T08:00:00.123Z\",\"level\":\"warning\","
                        "\"event\":\"posteriors_partial\",\"request_id\":\"r\\\"1\\n\",\"variant\":"
                        "\"bayes\",\"version\":\"demo-1\",\"missing_actions\":[\"pod_1\",\"\"],"
                        "\"unknown_actions\":[\"pod_9\"]}");
}

/* Whoever reads lines, and whatever terminal, takes it for one line of plain text; and a reader of
 * JSON gets what the caller sent. */
static void a_line_is_one_line_for_everybody(void **state)
{
    (void)state;
    static const char *const controls[] = {
        "\n",           "\x1b[2J",      "\x7f",         "\xc2\x80",     "\xc2\x85",
        "\xc2\x9b;2J",  "\xe2\x80\xa8", "\xe2\x80\xa9", "\xd8\x9c",     "\xe2\x80\x8e",
        "\xe2\x80\x8f", "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"};
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) {
        struct span sent = span_of(controls[i]);
        struct record r;
        record_posteriors_partial(
            &r, 0, field_drill(false), field_request_id(sent), field_segment_id(sent),
            field_variant(SPAN("bayes")), field_version(SPAN("demo-1")),
            field_missing_actions((struct names){0}), field_invalid_actions((struct names){0}),
            field_unknown_actions(first(&sent, 1)));
        char memory[LINE_BYTES_MAX];
        size_t len = line_render(memory, &r);
        for (size_t k = 0; k + 1 < len; k++) assert_in_range((unsigned char)memory[k], 0x20, 0x7e);
        json_t *json = line_read(memory, len);
        assert_string_equal(json_string_value(json_object_get(json, "request_id")), sent.data);
        json_t *unknown = json_object_get(json, "unknown_actions");
        assert_string_equal(json_string_value(json_array_get(unknown, 0)), sent.data);
        json_decref(json);
    }
}

static void numbers_keep_their_sign(void **state)
{
    (void)state;
    static const int64_t numbers[] = {0, -1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct record r;
        record_init(&r, SITE_SERVER_STARTED, 0);
        record_number(&r, FIELD_pid, numbers[i]);
        record_place(&r, FIELD_line, numbers[i]); /* one that is 0 is left out */
        char memory[LINE_BYTES_MAX];
        json_t *json = line_read(memory, line_render(memory, &r));
        assert_int_equal(json_integer_value(json_object_get(json, "pid")), numbers[i]);
        assert_int_equal(json_object_get(json, "line") != NULL, numbers[i] != 0);
        json_decref(json);
    }
}

/* The longest ids and names there are, of bytes that need no escape, or six times their length. */
static void the_longest_record_is_whole_or_says_so(void **state)
{
    (void)state;
    static const struct {
        char byte;
        bool cut;
    } cases[] = {{'a', false}, {'\x01', true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        memset(text, cases[i].byte, sizeof text);
        struct span longest = {text, 64}, names[ACTIONS_MAX];
        for (int k = 0; k < ACTIONS_MAX; k++) names[k] = longest;
        struct record r;
        record_posteriors_invalid(&r, 0, field_drill(true),
                                  field_request_id((struct span){text, 128}),
                                  field_segment_id(longest), field_variant(longest),
                                  field_version(longest), field_missing_actions((struct names){0}),
                                  field_invalid_actions(first(names, ACTIONS_MAX)),
                                  field_unknown_actions(first(names, REQUEST_UNKNOWN_NAMES_MAX)));
        assert_false(r.cut); /* a ring takes all of it */
        assert_true(r.bytes <= RECORD_BYTES_MAX);
        char memory[LINE_BYTES_MAX];
        json_t *json = line_read(memory, line_render(memory, &r));
        assert_int_equal(json_is_true(json_object_get(json, "cut")), cases[i].cut);
        json_decref(json);
    }
}

static void what_does_not_fit_is_left_out(void **state)
{
    (void)state;
    char text[4096];
    memset(text, 'x', sizeof text);
    struct record r;
    record_init(&r, SITE_SESSION_INVALID, 0);
    record_text(&r, FIELD_request_id, (struct span){text, sizeof text}); /* shortened */
    struct span names[ATTRIBUTES_MAX];
    for (int k = 0; k < ATTRIBUTES_MAX; k++) names[k] = (struct span){text, 64};
    record_list(&r, FIELD_invalid_attributes, first(names, ATTRIBUTES_MAX));
    record_list(&r, FIELD_absent_attributes, first(names, 1));
    record_number(&r, FIELD_pid, 7);
    assert_true(r.cut);
    assert_true(r.bytes <= RECORD_BYTES_MAX);
    char memory[LINE_BYTES_MAX];
    json_t *json = line_read(memory, line_render(memory, &r));
    assert_true(json_is_true(json_object_get(json, "cut")));
    size_t listed = json_array_size(json_object_get(json, "invalid_attributes"));
    assert_in_range(listed, 10, ATTRIBUTES_MAX - 1);
    json_decref(json);
}

/* Any mix of fields of any length: a valid line, never too long, and cut only if something is gone.
 */
static void any_record_is_a_valid_line(void **state)
{
    (void)state;
    char text[600];
    uint32_t random = 7;
    for (int i = 0; i < 20000; i++) {
        struct record r;
        record_init(&r, SITE_POSTERIORS_ABSENT, i);
        for (int id = 0; id < FIELD_COUNT; id++) {
            random = random * 1664525 + 1013904223;
            size_t len = (random >> 8) % (random >> 28 ? 40 : sizeof text);
            for (size_t k = 0; k < len; k++) text[k] = (char)(random >> (k % 25));
            struct span any = {text, len}, names[9] = {any, any, any, any, any, any, any, any, any};
            enum signal_field_id field = (enum signal_field_id)id;
            if (signal_fields[id].kind == FIELD_KIND_TEXT) record_text(&r, field, any);
            if (signal_fields[id].kind == FIELD_KIND_NUMBER) record_number(&r, field, random);
            if (signal_fields[id].kind == FIELD_KIND_LIST)
                record_list(&r, field, first(names, (random >> 16) % 9));
        }
        assert_true(r.bytes <= RECORD_BYTES_MAX);
        char memory[LINE_BYTES_MAX];
        json_decref(line_read(memory, line_render(memory, &r)));
    }
}

static void counts_by_site(void **state)
{
    (void)state;
    uint64_t counts[SITE_COUNT] = {[SITE_POSTERIORS_ABSENT] = 3, [SITE_ACCEPT_PAUSED] = UINT64_MAX};
    uint64_t none[SITE_COUNT] = {0};
    char memory[LINE_BYTES_MAX];
    struct record r;
    record_log_suppressed(&r, 0, field_suppressed(counts), field_dropped(none));
    size_t len = line_render(memory, &r);
    memory[len - 1] = '\0';
    assert_non_null(strstr(memory, "\"suppressed\":{\"posteriors_absent\":3,"
                                   "\"accept_paused\":18446744073709551615}}"));
    for (int i = 0; i < SITE_COUNT; i++) counts[i] = UINT64_MAX; /* the longest there is */
    record_log_suppressed(&r, 0, field_suppressed(counts), field_dropped(counts));
    len = line_render(memory, &r);
    memory[len - 1] = '\0';
    assert_int_equal(count_of(memory, "18446744073709551615"), 2 * SITE_COUNT);
    assert_null(strstr(memory, "\"cut\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_becomes_its_line),
        cmocka_unit_test(a_line_is_one_line_for_everybody),
        cmocka_unit_test(numbers_keep_their_sign),
        cmocka_unit_test(the_longest_record_is_whole_or_says_so),
        cmocka_unit_test(what_does_not_fit_is_left_out),
        cmocka_unit_test(any_record_is_a_valid_line),
        cmocka_unit_test(counts_by_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
