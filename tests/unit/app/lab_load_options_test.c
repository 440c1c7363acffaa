/* What the options of `interlude-lab load` set, and nothing beside it. */
#include "app/lab_load_options.h"

#include "app/app.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS_MAX = 64 };

static struct lab_load_options o;

/* Reads words with spaces between them. */
static int read_words(const char *words)
{
    static char text[1024];
    static char *argv[WORDS_MAX];
    int argc = 0;
    snprintf(text, sizeof text, "load %s", words);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    assert_true(argc < WORDS_MAX);
    lab_load_options_begin(&o);
    return lab_load_options_read(&o, argc, argv);
}

#define URL "http://127.0.0.1:7070"
#define URLS URL " http://127.0.0.1:7072"

static void what_holds_without_options(void **state)
{
    (void)state;
    struct err e;
    assert_int_equal(read_words(URL " --rate 5"), EXIT_DONE);
    assert_int_equal(lab_load_options_check(&o, &e), ERR_OK);
    assert_true(o.load.shape.rate == 5);
    assert_int_equal(o.load.shape.curve, LOAD_FLAT);
    assert_int_equal(o.load.shape.arrivals, LOAD_POISSON);
    assert_int_equal(o.load.shape.duration_ns, 10000000000);
    assert_int_equal(o.load.shape.seed, 1);
    assert_int_equal(o.load.spread, LOAD_INTERLEAVE);
    assert_int_equal(o.load.connections, 64);
    assert_int_equal(o.load.timeout_ns, 5000000000);
    assert_int_equal(o.load.spin_ns, 50000);
    assert_int_equal(o.pairs.metric, PAIRS_P99);
    assert_int_equal(o.load.interval_ns, 1000000000);
    assert_int_equal(o.load.target_count, 1);
    assert_ptr_equal(o.load.targets, o.targets);
    assert_string_equal(o.load.targets[0].url, URL);
    assert_false(o.json || o.help || o.pairs.has_pids);
    assert_null(o.pairs.bar);
    assert_int_equal(o.pairs.pairs, 0);
}

static void each_option_sets_its_own(void **state)
{
    (void)state;
    struct err e;
    assert_int_equal(read_words(URLS " --shape diurnal --peak 30 --trough 20 --cycle 40ms "
                                     "--duration 50ms --arrivals constant --seed 6 --connections 7 "
                                     "--timeout 80ms --spin 9us --interval 100ms --alternate 110ms "
                                     "--posteriors some --out f --json --admin " URL "," URL),
                     EXIT_DONE);
    assert_int_equal(lab_load_options_check(&o, &e), ERR_OK);
    const struct load_shape *s = &o.load.shape;
    assert_int_equal(s->curve, LOAD_DIURNAL);
    assert_true(s->peak == 30 && s->trough == 20);
    assert_int_equal(s->cycle_ns, 40000000);
    assert_int_equal(s->duration_ns, 50000000);
    assert_int_equal(s->arrivals, LOAD_CONSTANT);
    assert_int_equal(s->seed, 6);
    assert_int_equal(o.load.connections, 7);
    assert_int_equal(o.load.timeout_ns, 80000000);
    assert_int_equal(o.load.spin_ns, 9000);
    assert_int_equal(o.load.interval_ns, 100000000);
    assert_int_equal(o.load.turn_ns, 110000000);
    assert_int_equal(o.load.spread, LOAD_ALTERNATE);
    assert_string_equal(o.posteriors, "some");
    assert_string_equal(o.out_file, "f");
    assert_true(o.json);
    assert_int_equal(o.admin_count, 2);
    assert_int_equal(o.load.target_count, 2);
    assert_string_equal(o.targets[1].url, "http://127.0.0.1:7072");
}

static void pairs_of_runs(void **state)
{
    (void)state;
    struct err e;
    assert_int_equal(read_words(URLS " --rate=1 --pairs=8 --pair-duration=9s --metric=cpu "
                                     "--pid=11,12 --bar=1.5 --posteriors=none"),
                     EXIT_DONE);
    assert_int_equal(lab_load_options_check(&o, &e), ERR_OK);
    assert_int_equal(o.pairs.pairs, 8);
    assert_int_equal(o.load.shape.duration_ns, 9000000000);
    assert_int_equal(o.pairs.metric, PAIRS_CPU);
    assert_true(o.pairs.has_pids);
    assert_int_equal(o.pairs.pids[0], 11);
    assert_int_equal(o.pairs.pids[1], 12);
    assert_int_equal(o.pairs.pids[2], 0);
    assert_non_null(o.pairs.bar);
    assert_true(*o.pairs.bar == 1.5);
    assert_int_equal(read_words(URLS " " URL " --rate 1 --pairs 6 --metric cpu --pid 1,2,3"),
                     EXIT_DONE);
    assert_int_equal(lab_load_options_check(&o, &e), ERR_OK);
    assert_int_equal(o.pairs.pids[2], 3);
    assert_int_equal(read_words(URLS " --rate 1 --pairs 6 --metric p999"), EXIT_DONE);
    assert_int_equal(lab_load_options_check(&o, &e), ERR_OK);
    assert_int_equal(o.pairs.metric, PAIRS_P999);
    assert_int_equal(o.load.shape.duration_ns, 10000000000); /* of a pair's run */
}

/* At the borders of what they take. */
static void values(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        int code;
    } rows[] = {
        {"--connections 1", EXIT_DONE},
        {"--connections 0", EXIT_WRONG},
        {"--connections 10000", EXIT_DONE},
        {"--connections 10001", EXIT_WRONG},
        {"--pairs 6", EXIT_DONE},
        {"--pairs 5", EXIT_WRONG},
        {"--pairs 1000", EXIT_DONE},
        {"--pairs 1001", EXIT_WRONG},
        {"--seed 0", EXIT_DONE},
        {"--seed -1", EXIT_WRONG},
        {"--seed 1.5", EXIT_WRONG},
        {"--duration 0s", EXIT_WRONG},
        {"--spin 0s", EXIT_DONE},
        {"--spin x", EXIT_WRONG},
        {"--pid 1,2", EXIT_DONE},
        {"--pid 1,2,3", EXIT_DONE},
        {"--pid 1", EXIT_WRONG},
        {"--pid 1,2,3,4", EXIT_WRONG},
        {"--pid 0,1", EXIT_WRONG},
        {"--pid 1,", EXIT_WRONG},
        {"--pid 1,2147483647", EXIT_DONE},
        {"--pid 1,2147483648", EXIT_WRONG},
        {"--arrivals poisson", EXIT_DONE},
        {"--arrivals even", EXIT_WRONG},
        {"--shape flat", EXIT_DONE},
        {"--shape round", EXIT_WRONG},
        {"--metric p50", EXIT_DONE},
        {"--metric p51", EXIT_WRONG},
        {"--posteriors mix", EXIT_DONE},
        {"--posteriors maybe", EXIT_WRONG},
        {"--out=", EXIT_WRONG},
        {"--help", EXIT_DONE},
        {"--interleave", EXIT_DONE},
        {"-x", EXIT_WRONG},
        {URL "/x", EXIT_DONE},
        {"ftp://127.0.0.1", EXIT_WRONG},
        {"--admin " URL, EXIT_DONE},
        {"--admin x", EXIT_WRONG},
        {"--metrics " URL, EXIT_DONE},
        {"--metrics " URL ",", EXIT_WRONG},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (read_words(rows[i].words) != rows[i].code) fail_msg("%s", rows[i].words);
    char words[1024] = "";
    for (int i = 1; i <= 9; i++) {
        strcat(words, URL " ");
        assert_int_equal(read_words(words), i <= 8 ? EXIT_DONE : EXIT_WRONG);
    }
}

/* Which go together. */
static void combinations(void **state)
{
    (void)state;
    static const struct {
        const char *words, *says; /* NULL: it is fine */
    } rows[] = {
        {"--rate 1", "a URL is needed"},
        {URL " --rate 1 --out f --admin " URL, NULL},
        {URLS " --rate 1 --out f --admin " URL, "--admin takes as many"},
        {URLS " --rate 1 --alternate 1ms", NULL},
        {URLS " --rate 1 --alternate 999us", "at least 1 ms"},
        {URLS " --rate 1 --interleave", NULL},
        {URL " --rate 1 --interleave", "--interleave needs several URLs"},
        {URL " --rate 1 --alternate 1s", "--alternate needs several URLs"},
        {URL " --shape diurnal --peak 2 --trough 1 --cycle 1s", NULL},
        {URL " --shape diurnal --rate 1", "--rate is for --shape flat"},
        {URL " --rate 1 --peak 1", "--peak needs --shape diurnal"},
        {URL " --rate 1 --cycle 1s", "--cycle needs --shape diurnal"},
        {URLS " --rate 1 --pairs 6", NULL},
        {URL " --rate 1 --pairs 6", "--pairs takes two URLs"},
        {URLS " " URL " --rate 1 --pairs 6", NULL},
        {URLS " " URLS " --rate 1 --pairs 6", "--pairs takes two URLs"},
        {URLS " --rate 1 --pairs 6 --pid 1,2", "are for --metric cpu"},
        {URLS " --rate 1 --pairs 6 --metrics " URL "," URL, "are for --metric cpu"},
        {URLS " --rate 1 --pairs 6 --metric cpu", "needs --pid A,B"},
        {URLS " --rate 1 --pairs 6 --metric cpu --pid 1,2,3", "needs --pid A,B"},
        {URLS " " URL " --rate 1 --pairs 6 --metric cpu --pid 1,2", "needs --pid A,B"},
        {URLS " --rate 1 --pairs 6 --metric cpu --metrics " URL "," URL, NULL},
        {URLS " --rate 1 --pairs 6 --metric cpu --metrics " URL, "needs --pid A,B"},
        {URL " --rate 1 --posteriors all --body f", "--posteriors does not go with --body"},
        {URL " --rate 1 --bar 1", "--bar needs --pairs N"},
        {URL " --rate 1 --interval 1s", "--interval needs --out FILE"},
        {URL " --rate 1 --interval 1s --out f", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err e = {0};
        assert_int_equal(read_words(rows[i].words), EXIT_DONE);
        enum err_code code = lab_load_options_check(&o, &e);
        if ((code != ERR_OK) != (rows[i].says != NULL)) fail_msg("%s: %s", rows[i].words, e.text);
        if (code && !strstr(e.text, rows[i].says)) fail_msg("%s: %s", rows[i].words, e.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_holds_without_options),
        cmocka_unit_test(each_option_sets_its_own),
        cmocka_unit_test(pairs_of_runs),
        cmocka_unit_test(values),
        cmocka_unit_test(combinations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
