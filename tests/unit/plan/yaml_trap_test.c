/* What a trap is told as stands in tests/cases/plans/bad-quote_*; here is what is none. */
#include "plan_files.h"

#include "plan/yaml_trap.h"

static void test_what_is_well_written_is_no_trap(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "  ",
        "a: b",
        "a: \"b\" # c",
        "a: 'it''s'",
        "\"a\": \"b \\\" c\"",
        "a: [b, 'c', {d: e}] # f",
        "  - {a: b, c: 127.0.0.1:70, d: \"x == y\"}",
        "- - a",
        "a: >-",
        "a: |2 # why",
        "a: >\n  b: c",
        "a: b#c",
        "a: -1 < b",
        "a: tier in ['b', 'c']",
        "%YAML 1.1",
        "? a",
        "---",
        "...",
        "a: {b: c, # d",
        "a: it's \"so\"",
        "a: \"b", /* goes on in the next line */
        "a: b]c}",
        "a: \"b\" : c",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct yaml_trap trap;
        struct span text = span_of(lines[i]);
        struct yaml_place end = {1, (uint32_t)text.len + 1, text.len};
        if (yaml_trap_find(text, end, &trap)) fail_msg("%s: %s", lines[i], trap.text);
    }
}

/* One that stands behind the fault did not cause it; one in the line before may have. */
static void test_where_it_may_stand(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct yaml_place fault;
        uint32_t line, column; /* 0: none is found */
    } rows[] = {
        {"a: b\nc: @d", {2, 4, 8}, 2, 4},
        {"a: b\nc: @d", {2, 3, 7}, 0, 0},
        {"a: @b\nc: d", {2, 4, 9}, 1, 4},
        {"a: @b\n\n \nc: d", {4, 4, 12}, 1, 4},
        {"a: @b\nc: d\ne: f", {3, 4, 14}, 0, 0},
        {"[a, b @c, @d]", {1, 11, 10}, 1, 11},
        {"- [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[ @a", {1, 41, 40}, 1, 35},
        {"caf\xc3\xa9: 'x' y", {1, 11, 10}, 1, 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct yaml_trap trap;
        bool found = yaml_trap_find(span_of(rows[i].text), rows[i].fault, &trap);
        if (found != (rows[i].line > 0) ||
            (found && (trap.place.line != rows[i].line || trap.place.column != rows[i].column)))
            fail_msg("%s: %d %u:%u", rows[i].text, found, trap.place.line, trap.place.column);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_well_written_is_no_trap),
        cmocka_unit_test(test_where_it_may_stand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
