#include "base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
    enum err_code code;
    const char *name;
    int status;
} told[] = {
    {ERR_OK, "ok", 0},
    {ERR_JSON_SYNTAX, "json_syntax", 400},
    {ERR_UNKNOWN_PATH, "unknown_path", 404},
    {ERR_BODY_TOO_LARGE, "body_too_large", 413},
    {ERR_PLAN_INVALID, "plan_invalid", 422},
    {ERR_CONNECTIONS_MAX, "connections_max", 503},
    {ERR_LIMIT, "limit", 0},
};

static void test_names_and_statuses(void **state)
{
    (void)state;
    assert_int_equal(ERR_OK, 0);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        assert_string_equal(err_name(told[i].code), told[i].name);
        assert_int_equal(err_status(told[i].code), told[i].status);
    }
}

/* Names are part of the interface: lower case, each once. */
static void test_every_code_is_described(void **state)
{
    (void)state;
    for (int code = 0; code < ERR_COUNT; code++) {
        const char *name = err_name(code);
        assert_true(name[0] && name[strspn(name, "abcdefghijklmnopqrstuvwxyz_")] == 0);
        assert_true(err_title(code)[0] != 0);
        int status = err_status(code);
        assert_true(status == 0 || (status >= 400 && status <= 599));
        for (int other = 0; other < code; other++) assert_string_not_equal(name, err_name(other));
    }
}

/* A row of the table of errors that begins with the status and has the code in it. */
static int rows_with(const char *docs, int status, const char *name)
{
    char number[8], code[64];
    snprintf(number, sizeof number, "%d", status);
    snprintf(code, sizeof code, "`%s`", name);
    int found = 0;
    for (const char *at = docs; (at = strstr(at, "\n| ")); at++) {
        char *row = strndup(at + 1, strcspn(at + 1, "\n"));
        assert_non_null(row);
        char *rest = strstr(row + 2, " |");
        if (rest) {
            *rest = '\0';
            found += strstr(row, number) && strstr(rest + 1, code);
        }
        free(row);
    }
    return found;
}

static void test_every_code_is_told_in_the_documents(void **state)
{
    (void)state;
    enum { BYTES_MAX = 256 * 1024 };
    char *docs = malloc(BYTES_MAX);
    assert_non_null(docs);
    FILE *f = fopen("docs/http.md", "rb");
    if (!f) fail_msg("docs/http.md cannot be read: run from the root of the repository");
    size_t len = fread(docs, 1, BYTES_MAX - 1, f);
    fclose(f);
    docs[len] = '\0';
    for (int code = 0; code < ERR_COUNT; code++) {
        int status = err_status(code);
        if (!status || code == ERR_UNAUTHORIZED) continue; /* no port asks for a token yet */
        if (code == ERR_NO_MEMORY) status = 422;           /* of a reload */
        if (rows_with(docs, status, err_name(code)) != 1)
            fail_msg("docs/http.md: %d `%s`", status, err_name(code));
    }
    free(docs);
}

static struct err used_err(void)
{
    struct err e;
    memset(&e, 'x', sizeof e);
    return e;
}

static void test_set_clears_what_was_there(void **state)
{
    (void)state;
    struct err e = used_err();
    assert_int_equal(err_set(&e, ERR_FIELD_TYPE, "%s is no %s", "it", "number"), ERR_FIELD_TYPE);
    assert_int_equal(e.code, ERR_FIELD_TYPE);
    assert_string_equal(e.text, "it is no number");
    assert_string_equal(e.pointer, "");
    assert_int_equal(e.sys, 0);
    assert_int_equal(e.line, 0);
    assert_int_equal(e.column, 0);
    assert_int_equal(e.offset, 0);
}

static void test_set_sys_tells_the_reason(void **state)
{
    (void)state;
    struct err e = used_err();
    assert_int_equal(err_set_sys(&e, ERR_SYSTEM, ENOENT, "cannot open %s", "f"), ERR_SYSTEM);
    assert_int_equal(e.sys, ENOENT);
    assert_string_equal(e.text, "cannot open f: No such file or directory");
    err_set_sys(&e, ERR_SYSTEM, 99999, "odd");
    assert_true(strncmp(e.text, "odd: ", 5) == 0 && e.text[5]);
}

static void test_no_err_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, ERR_LIMIT, "%d", 1), ERR_LIMIT);
    assert_int_equal(err_set_sys(NULL, ERR_SYSTEM, EIO, "%d", 1), ERR_SYSTEM);
}

static void test_long_texts_are_cut(void **state)
{
    (void)state;
    struct err e;
    for (int len = 240; len < 270; len++) {
        err_set(&e, ERR_LIMIT, "%0*d", len, 0);
        size_t kept = (size_t)len < sizeof e.text ? (size_t)len : sizeof e.text - 1;
        assert_int_equal(strlen(e.text), kept);
        err_set_sys(&e, ERR_SYSTEM, EIO, "%0*d", len, 0);
        assert_true(strlen(e.text) >= kept && strlen(e.text) < sizeof e.text);
    }
}

/* Runs in a child whose descriptor 2 is a pipe; returns its status, and what it wrote. */
static int run_child(int holds, char *out, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], 2);
        INVARIANT(holds == 1);
        _exit(7);
    }
    close(ends[1]);
    size_t len = 0;
    for (ssize_t n; len < size - 1 && (n = read(ends[0], out + len, size - 1 - len)) > 0;)
        len += (size_t)n;
    out[len] = 0;
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void test_a_broken_invariant_aborts_and_says_where(void **state)
{
    (void)state;
    char text[256];
    int status = run_child(0, text, sizeof text);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, "err_test.c:"));
    assert_non_null(strstr(text, "holds == 1"));
    assert_int_equal(text[strlen(text) - 1], '\n');
}

static void test_a_true_invariant_does_nothing(void **state)
{
    (void)state;
    char text[256];
    int status = run_child(1, text, sizeof text);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_statuses),
        cmocka_unit_test(test_every_code_is_described),
        cmocka_unit_test(test_every_code_is_told_in_the_documents),
        cmocka_unit_test(test_set_clears_what_was_there),
        cmocka_unit_test(test_set_sys_tells_the_reason),
        cmocka_unit_test(test_no_err_is_allowed),
        cmocka_unit_test(test_long_texts_are_cut),
        cmocka_unit_test(test_a_broken_invariant_aborts_and_says_where),
        cmocka_unit_test(test_a_true_invariant_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
