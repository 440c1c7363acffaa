#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name, *title;
    int status;
} codes[ERR_COUNT] = {
#define ERR_ROW(code, name, status, title) [code] = {name, title, status},
    ERR_CODES(ERR_ROW)
#undef ERR_ROW
};

const char *err_name(enum err_code code)
{
    return codes[code].name;
}
const char *err_title(enum err_code code)
{
    return codes[code].title;
}
int err_status(enum err_code code)
{
    return codes[code].status;
}

enum err_code err_set(struct err *e, enum err_code code, const char *format, ...)
{
    if (!e) return code;
    *e = (struct err){.code = code};
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    return code;
}

enum err_code err_set_sys(struct err *e, enum err_code code, int errno_value, const char *format,
                          ...)
{
    if (!e) return code;
    *e = (struct err){.code = code, .sys = errno_value};
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    size_t used = strlen(e->text);
    const char *why = strerrordesc_np(errno_value);
    snprintf(e->text + used, sizeof e->text - used, ": %s", why ? why : "unknown error");
    return code;
}

enum err_code err_set_thread(struct err *e, int errno_value, const char *name)
{
    if (errno_value != EAGAIN && errno_value != ENOMEM)
        return err_set_sys(e, ERR_SYSTEM, errno_value, "cannot start the thread %s", name);
    return err_set(e, ERR_SYSTEM,
                   "cannot start the thread %s: there is not enough memory, or there are too many "
                   "threads",
                   name);
}

_Noreturn void err_abort(const char *file, int line, const char *condition)
{
    char text[512];
    int n = snprintf(text, sizeof text, "%s:%d: broken invariant: %s\n", file, line, condition);
    if (n > 0 && write(2, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1) < 0) abort();
    abort();
}
