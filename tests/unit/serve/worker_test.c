/* What a worker counts, turn by turn: by the plan that it serves then. */
#include "serve/worker.h"

#include "base/clock.h"
#include "plan/plan_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define PLAN                                                                                      \
    "salt: s\nactions: [{name: none, ads: 0, cooldown: 1m}, {name: pod, ads: 1, cooldown: 2m}]\n" \
    "policies: {rules: {kind: fixed, rules: [{action: none}]}}\n"                                 \
    "variants: {%s: {policy: rules}, last: {policy: rules}}\ndefault_variant: %s\n"

struct fixture {
    struct plan_live live;
    struct worker worker;
    struct signals *signals;
    struct plan_served served[2]; /* `served`s are the test's own */
    struct settings *settings[2];
    _Atomic bool ready;
    char text[SIGNALS_METRICS_BYTES_MAX + 1];
};

static struct fixture *f;

static int setup(void **state)
{
    (void)state;
    f = aligned_alloc(64, (sizeof *f + 63) & ~(size_t)63);
    if (!f) return -1;
    memset(f, 0, sizeof *f);
    const struct settings_log log = {.sink = LOG_FILE, .file = SPAN("/dev/null")};
    struct err e;
    if (signals_open(&(struct signals_config){.writers = 1, .log = &log}, &f->signals, &e))
        return -1;
    static const char *const variants[] = {"before", "after"};
    for (int i = 0; i < 2; i++) {
        char yaml[1024];
        struct plan_errors errors = {0};
        snprintf(yaml, sizeof yaml, PLAN, variants[i], variants[i]);
        struct plan *plan = plan_load(span_of(yaml), &f->settings[i], &errors);
        if (!plan) return -1;
        f->served[i] = (struct plan_served){plan, signals_cells(f->signals, plan),
                                            (uint64_t)(41 + i), f->settings[i]};
    }
    plan_live_init(&f->live, &f->served[0], 1);
    worker_init(&f->worker, &f->live, 0, signals_writer(f->signals, 0), &f->ready);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        signals_release(f->signals, f->served[i].cells);
        plan_free(f->served[i].plan);
        settings_free(f->settings[i]);
    }
    signals_close(f->signals, clock_mono_ns());
    free(f);
    return 0;
}

static bool is_told(const char *sample)
{
    struct buf b = buf_of(f->text, sizeof f->text - 1);
    signals_render_metrics(f->signals, METRICS_PROMETHEUS, &b);
    f->text[b.len] = '\0';
    return strstr(f->text, sample) != NULL;
}

#define COUNT(variant, n) \
    "\ninterlude_request_duration_seconds_count{variant=\"" variant "\"} " n "\n"

/* One that waited for its peer over a reload was counted among those of the variant that has its
 * number now. */
static void a_duration_is_that_of_its_plans_variant(void **state)
{
    (void)state;
    struct service *service = &f->worker.service;
    service->turn_begin(service);
    assert_int_equal(service->plan_tag, 41);
    assert_ptr_equal(f->worker.request.plan, f->served[0].plan);
    assert_ptr_equal(f->worker.request.cells, f->served[0].cells);
    uint64_t tag = service->plan_tag;
    service->answered(service, 0, tag, 1000);
    service->answered(service, 0, tag, 1000);
    service->turn_end(service);
    assert_true(is_told(COUNT("before", "2")));

    assert_ptr_equal(plan_live_publish(&f->live, &f->served[1]), &f->served[0]);
    service->turn_begin(service);
    assert_int_equal(service->plan_tag, 42);
    assert_ptr_equal(f->worker.request.plan, f->served[1].plan);
    service->answered(service, 0, tag, 1000);
    service->answered(service, 0, 43, 1000);
    assert_true(is_told(COUNT("after", "0")));
    assert_true(is_told(COUNT("before", "2")));
    service->answered(service, 0, service->plan_tag, 1000);
    service->turn_end(service);
    assert_true(is_told(COUNT("after", "1")));
}

/* Between two turns no plan is held: a reload need not wait for an idle worker. */
static void an_idle_worker_holds_no_plan(void **state)
{
    (void)state;
    struct service *service = &f->worker.service;
    service->turn_begin(service);
    assert_true(atomic_load(&f->live.readers[0].since) > 0);
    service->turn_end(service);
    assert_int_equal(atomic_load(&f->live.readers[0].since), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_duration_is_that_of_its_plans_variant, setup, teardown),
        cmocka_unit_test_setup_teardown(an_idle_worker_holds_no_plan, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
