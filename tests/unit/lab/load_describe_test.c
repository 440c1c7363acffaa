#include "lab/load_describe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static struct load_target targets[2] = {{.url = "http://127.0.0.1:1"},
                                        {.url = "http://127.0.0.1:2"}};

/* A capture was written that could not be read again. */
static void a_capture_too_long_to_be_read(void **state)
{
    (void)state;
    static const struct {
        uint64_t duration_ns, interval_ns;
        uint32_t targets;
        enum err_code code;
    } rows[] = {
        {CAPTURE_INTERVALS_MAX, 1, 1, ERR_OK},
        {CAPTURE_INTERVALS_MAX + 1, 1, 1, ERR_USAGE},
        {CAPTURE_INTERVALS_MAX, 1, 2, ERR_USAGE},
        {CAPTURE_INTERVALS_MAX / 2, 1, 2, ERR_OK},
        {CAPTURE_INTERVALS_MAX * 2ull, 2, 1, ERR_OK},
        {CAPTURE_INTERVALS_MAX * 2ull + 1, 2, 1, ERR_USAGE},
        {UINT64_MAX, 1, 1, ERR_USAGE},
        {UINT64_MAX, UINT64_MAX, 2, ERR_OK},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct load_options o = {.shape = {.duration_ns = rows[i].duration_ns, .rate = 1},
                                 .interval_ns = rows[i].interval_ns,
                                 .targets = targets,
                                 .target_count = rows[i].targets};
        static struct capture_header header;
        struct err e = {0};
        enum err_code code = load_describe(&o, "", NULL, 0, &header, &e);
        if (code != rows[i].code) fail_msg("row %zu: %s", i, e.text);
        if (code) assert_non_null(strstr(e.text, "--interval"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_too_long_to_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
