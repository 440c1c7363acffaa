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

/* Every figure is another one, so that none can stand in another's place. */
static void what_was_asked_for_is_in_the_header(void **state)
{
    (void)state;
    for (int diurnal = 0; diurnal < 2; diurnal++) {
        struct load_options o = {.shape = {.curve = diurnal ? LOAD_DIURNAL : LOAD_FLAT,
                                           .arrivals = diurnal ? LOAD_POISSON : LOAD_CONSTANT,
                                           .rate = 11,
                                           .peak = 13,
                                           .trough = 12,
                                           .cycle_ns = 14000000,
                                           .duration_ns = 15000000,
                                           .seed = 16},
                                 .spread = diurnal ? LOAD_ALTERNATE : LOAD_INTERLEAVE,
                                 .turn_ns = 17000000,
                                 .interval_ns = 1000000,
                                 .connections = 18,
                                 .targets = targets,
                                 .target_count = 2};
        static struct capture_header h;
        struct err e;
        assert_int_equal(load_describe(&o, "of mine", NULL, 0, &h, &e), ERR_OK);
        assert_string_equal(h.shape, diurnal ? "diurnal" : "flat");
        assert_string_equal(h.arrivals, diurnal ? "poisson" : "constant");
        assert_string_equal(h.spread, diurnal ? "alternate" : "interleave");
        assert_string_equal(h.bodies, "of mine");
        assert_true(h.rate == (diurnal ? 0 : 11));
        assert_true(h.peak == (diurnal ? 13 : 0) && h.trough == (diurnal ? 12 : 0));
        assert_int_equal(h.cycle_us, diurnal ? 14000 : 0);
        assert_int_equal(h.turn_us, diurnal ? 17000 : 0);
        assert_int_equal(h.duration_us, 15000);
        assert_int_equal(h.seed, 16);
        assert_int_equal(h.connections, 18);
        assert_int_equal(h.targets, 2);
        for (int t = 0; t < 2; t++) {
            assert_string_equal(h.target[t].url, targets[t].url);
            assert_string_equal(h.target[t].plan_version, "");
        }
    }
}

/* Nobody is asked in vain: a server that is not there ends it, and nothing was written. */
static void an_operations_port_that_is_not_there(void **state)
{
    (void)state;
    struct load_target admin;
    struct err e;
    assert_int_equal(load_target_parse("http://127.0.0.1:1", "/metrics", &admin, &e), ERR_OK);
    const struct load_options o = {.shape = {.duration_ns = 1000, .rate = 1},
                                   .interval_ns = 1000,
                                   .targets = targets,
                                   .target_count = 2};
    struct capture_header h = {.seed = 77};
    assert_int_equal(load_describe(&o, "", &admin, 1, &h, &e), ERR_SYSTEM);
    assert_int_equal(h.seed, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_too_long_to_be_read),
        cmocka_unit_test(what_was_asked_for_is_in_the_header),
        cmocka_unit_test(an_operations_port_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
