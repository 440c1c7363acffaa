/* What became of a drill: only its own books tell. */
#include "lab/signals_drill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void the_books_are_read(void **state)
{
    (void)state;
    char scratch[1024];
    struct signals_list list;
    struct err e;
    static const char json[] =
        "{\"signals\":[{\"name\":\"a\",\"state\":\"quiet\",\"expected\":\"rare\",\"fired\":900,"
        "\"written\":700,\"drills\":{\"fired\":11,\"written\":1,\"dropped\":2,\"suppressed\":3,"
        "\"outranked\":4,\"queued\":1,\"other\":{}}},"
        "{\"name\":\"b\",\"state\":\"quiet\",\"expected\":\"rare\"}]}";
    assert_int_equal(signals_list_read(span_of(json), scratch, &list, &e), ERR_OK);
    const struct signals_drills *d = &list.sites[0].drills;
    assert_int_equal(d->fired, 11);
    assert_int_equal(d->written, 1);
    assert_int_equal(d->dropped, 2);
    assert_int_equal(d->suppressed, 3);
    assert_int_equal(d->outranked, 4);
    assert_false(signals_drills_settled(d));
    assert_int_equal(list.sites[1].drills.fired, 0);
    assert_true(signals_drills_settled(&list.sites[1].drills));
}

static void what_became_of_it(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct signals_drills before, now;
        const char *outcome; /* how it begins */
    } rows[] = {
        {"written", {5, 2, 1, 1, 1}, {6, 3, 1, 1, 1}, "written"},
        {"dropped", {5, 2, 1, 1, 1}, {6, 2, 2, 1, 1}, "dropped"},
        {"suppressed", {5, 2, 1, 1, 1}, {6, 2, 1, 2, 1}, "suppressed"},
        {"outranked", {5, 2, 1, 1, 1}, {6, 2, 1, 1, 2}, "outranked"},
        {"two, of one outcome", {0, 0, 0, 0, 0}, {2, 2, 0, 0, 0}, "written"},
        {"two, of which one was written", {0, 0, 0, 0, 0}, {2, 1, 0, 1, 0}, "not told"},
        {"none", {5, 2, 1, 1, 1}, {5, 2, 1, 1, 1}, NULL},
        {"another process", {5, 5, 0, 0, 0}, {1, 0, 0, 1, 0}, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *outcome = signals_drill_outcome(&rows[i].before, &rows[i].now);
        bool as_told = rows[i].outcome
                           ? outcome && !strncmp(outcome, rows[i].outcome, strlen(rows[i].outcome))
                           : !outcome;
        if (!as_told) fail_msg("%s: %s", rows[i].name, outcome ? outcome : "nothing");
    }
}

static void which_refusals_are_harmless(void **state)
{
    (void)state;
    static const struct {
        const char *json, *detail;
        bool harmless;
    } rows[] = {
        {"{\"code\":\"cannot_fire\",\"detail\":\"no \\\"request\\\" can\"}", "no \"request\" can",
         true},
        {"{\"code\":\"not_fired\",\"detail\":\"cannot_fire\"}", "cannot_fire", false},
        {"{\"code\":\"field_range\",\"detail\":\"no signal\"}", "no signal", false},
        {"{\"code\":7,\"detail\":[]}", "", false},
        {"{\"code\":\"cannot_fire\"", "", false},
        {"\"cannot_fire\"", "", false},
        {"<html>", "", false},
        {"", "", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char scratch[128];
        struct signals_refusal refusal;
        signals_refusal_read(span_of(rows[i].json), scratch, &refusal);
        if (signals_refusal_harmless(&refusal) != rows[i].harmless ||
            !span_equal(refusal.detail, span_of(rows[i].detail)))
            fail_msg("%s", rows[i].json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_books_are_read),
        cmocka_unit_test(what_became_of_it),
        cmocka_unit_test(which_refusals_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
