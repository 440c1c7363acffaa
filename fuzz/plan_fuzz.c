/* Any bytes: no crash; every error stands inside the text; and a plan that loads, printed, loads
 * again to an equal plan that is printed the same. */
#include "plan/plan_load.h"
#include "plan/yaml_walk.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_place(struct span text, const struct err *e)
{
    struct yaml_walk w = yaml_walk_start(text);
    while (!yaml_walk_ended(&w) && w.place.line < e->line) yaml_walk_step(&w);
    INVARIANT(w.place.line == e->line && e->column >= 1);
    while (!yaml_walk_ended(&w) && !yaml_walk_break(&w) && w.place.column < e->column)
        yaml_walk_step(&w);
    INVARIANT(w.place.column == e->column);
}

static void check_errors(struct span text, const struct plan_errors *errors)
{
    INVARIANT(errors->count > 0 && errors->count <= PLAN_ERRORS_MAX);
    INVARIANT(errors->more == 0 || errors->count == PLAN_ERRORS_MAX);
    if (text.len >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0)
        text = (struct span){text.data + 3, text.len - 3};
    for (int i = 0; i < errors->count; i++) {
        const struct err *e = &errors->errors[i];
        INVARIANT(e->code == ERR_PLAN_INVALID && e->text[0]);
        for (const char *c = e->text; *c; c++) INVARIANT((unsigned char)*c >= 0x20);
        if (i > 0)
            INVARIANT(e[-1].line < e->line || (e[-1].line == e->line && e[-1].column <= e->column));
        check_place(text, e);
    }
}

static void check_again(const struct plan *plan, const struct settings *settings,
                        struct plan_errors *errors)
{
    struct settings *settings_again;
    static char first[PLAN_BYTES_MAX], second[PLAN_BYTES_MAX];
    struct buf b = buf_of(first, sizeof first), c = buf_of(second, sizeof second);
    plan_print(&b, plan);
    settings_print(&b, settings);
    INVARIANT(!b.full);
    struct plan *again = plan_load(buf_text(&b), &settings_again, errors);
    INVARIANT(again != NULL);
    INVARIANT(memcmp(plan->fingerprint, again->fingerprint, sizeof plan->fingerprint) == 0);
    INVARIANT(memcmp(&settings->identity, &settings_again->identity, sizeof settings->identity) ==
              0);
    plan_print(&c, again);
    settings_print(&c, settings_again);
    INVARIANT(span_equal(buf_text(&b), buf_text(&c)));
    plan_free(again);
    settings_free(settings_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct plan_errors errors, warnings;
    struct span text = {(const char *)data, size};
    struct settings *settings = NULL;
    struct plan *plan = plan_check(text, &settings, &errors, &warnings);
    if (warnings.count) check_errors(text, &warnings);
    if (plan)
        check_again(plan, settings, &errors);
    else
        check_errors(text, &errors);
    plan_free(plan);
    settings_free(settings);
    return 0;
}
