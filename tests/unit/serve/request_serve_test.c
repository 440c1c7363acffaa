/* From a body to the bytes of an answer. */
#include "serve/request_serve.h"

#include "decide/reply.h"
#include "plan/plan_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define TIME "\"time\":\"2026-11-30T08:00:00Z\""

static struct request_context *context;
static char memory[2 * REPLY_EXPLAIN_BYTES_MAX];

static int group_setup(void **state)
{
    (void)state;
    struct plan_errors *errors = calloc(1, sizeof *errors);
    context = calloc(1, sizeof *context);
    if (!errors || !context) return -1;
    context->plan = plan_load(plan_demo_text(), NULL, errors);
    free(errors);
    request_id_init(&context->ids);
    context->wall_us = 1000000;
    return context->plan ? 0 : -1;
}

static int group_teardown(void **state)
{
    (void)state;
    plan_free((struct plan *)(uintptr_t)context->plan);
    free(context);
    return 0;
}

/* NUL-terminated in `memory`. */
static struct request_outcome serve(const char *body, struct http_head head, size_t cap)
{
    struct buf out = buf_of(memory, cap);
    struct request_outcome outcome = request_serve(context, span_of(body), &head, &out);
    assert_false(out.full);
    memory[out.len] = '\0';
    return outcome;
}

static void answers(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int status;
        const char *has;
    } rows[] = {
        {"{\"request_id\":\"r\"}", 200,
         "{\"request_id\":\"r\",\"decided_at\":\"1970-01-01T00:00:01.000Z\""},
        {"{" TIME "}", 200, "\"decided_at\":\"2026-11-30T08:00:00.000Z\""},
        {"{}", 200, "\"request_id\":\""},
        {"{\"request_id\":\"\"}", 200, "00000002\",\"decided_at\""},
        {"{\"variant\":\"nobody\"}", 200,
         "\"variant\":\"unknown\",\"requested_variant\":\"nobody\""},
        {"", 400, "\"code\":\"json_syntax\""},
        {"[]", 400, "\"code\":"},
        {"{\"unit_id\":1}", 400, "\"pointer\":\"/unit_id\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct request_outcome outcome = serve(rows[i].body, (struct http_head){0}, sizeof memory);
        assert_int_equal(outcome.status, rows[i].status);
        assert_true((outcome.variant >= 0) == (rows[i].status == 200));
        assert_non_null(strstr(memory, rows[i].status == 200
                                           ? "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                           : "HTTP/1.1 400 Bad Request\r\nContent-Type: "
                                             "application/problem+json\r\n"));
        if (!strstr(memory, rows[i].has)) fail_msg("%s: %s", rows[i].body, memory);
        assert_null(strstr(memory, "Connection:"));
        const char *body = strstr(memory, "\r\n\r\n") + 4;
        assert_ptr_equal(strchr(body, '\n'), body + strlen(body) - 1);
        assert_int_equal(atoi(strstr(memory, "Content-Length:") + 15), strlen(body));
    }
}

static void variants(void **state)
{
    (void)state;
    assert_int_equal(serve("{\"variant\":\"bayes\"}", (struct http_head){0}, sizeof memory).variant,
                     plan_variant_find(context->plan, SPAN("bayes")));
    assert_int_equal(
        serve("{\"variant\":\"nobody\"}", (struct http_head){0}, sizeof memory).variant,
        context->plan->variant_count);
}

static void the_connection_is_the_callers(void **state)
{
    (void)state;
    static const char date[] = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    for (int good = 0; good < 2; good++) {
        const char *body = good ? "{}" : "{";
        serve(body, (struct http_head){.close = true}, sizeof memory);
        assert_non_null(strstr(memory, "\r\nConnection: close\r\n"));
        serve(body, (struct http_head){.date = date}, sizeof memory);
        assert_non_null(strstr(memory, date));
        serve(body, (struct http_head){.keep_alive_1_0 = true}, sizeof memory);
        assert_non_null(strstr(memory, "\r\nConnection: keep-alive\r\n"));
    }
}

/* Appends, and leaves no half of an answer where one has no room. */
static void an_answer_without_room(void **state)
{
    (void)state;
    char small[420];
    struct buf out = buf_of(small, sizeof small);
    buf_lit(&out, "before");
    struct http_head head = {0};
    struct request_outcome outcome =
        request_serve(context, SPAN("{\"explain\":true}"), &head, &out);
    assert_int_equal(outcome.status, 500);
    assert_int_equal(outcome.variant, -1);
    assert_memory_equal(small, "beforeHTTP/1.1 500 ", 19);
    assert_false(out.full);
}

static void ids_differ(void **state)
{
    (void)state;
    struct request_id_maker a, b;
    char first[REQUEST_ID_MADE_BYTES], second[REQUEST_ID_MADE_BYTES];
    request_id_init(&a);
    request_id_init(&b);
    struct span one = request_id_make(&a, first);
    assert_false(span_equal(one, request_id_make(&a, second)));
    assert_false(span_equal(one, request_id_make(&b, second)));
    /* When the counter is used up, the ids go on from another prefix. */
    a.count = UINT32_MAX;
    char prefix[sizeof a.prefix];
    memcpy(prefix, a.prefix, sizeof prefix);
    assert_memory_equal(request_id_make(&a, second).data + 16, "ffffffff", 8);
    assert_memory_equal(second, prefix, sizeof prefix);
    request_id_make(&a, second);
    assert_memory_equal(second + 16, "00000000", 8);
    assert_memory_not_equal(second, prefix, sizeof prefix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(variants),
        cmocka_unit_test(the_connection_is_the_callers),
        cmocka_unit_test(an_answer_without_room),
        cmocka_unit_test(ids_differ),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
