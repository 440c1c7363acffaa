/* hint: what somebody who has just started a server can paste into another terminal. */
#include "app/app.h"

#include "base/clock.h"
#include "serve/plan_example.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the address stands, until it is known: no JSON has this byte in it. */
enum { ADDRESS_MARK = '\x01' };

/* Within single quotes of a shell, and each object that the request holds on a line of its own. */
static void put_body(struct buf *b, struct span body)
{
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < body.len; i++) {
        char c = body.data[i];
        if (c == '\'') {
            buf_lit(b, "\\u0027");
            continue;
        }
        buf_char(b, c);
        if (c == '"') in_string = !in_string;
        if (in_string && c == '\\') {
            buf_char(b, body.data[++i]);
        } else if (!in_string) {
            depth += (c == '{') - (c == '}');
            const char *colon = memchr(body.data + i, ':', body.len - i);
            if (c == ',' && depth == 1 && colon && colon[1] == '{') buf_lit(b, "\n     ");
        }
    }
}

static void put_example(struct buf *b, const struct plan_variant *variant, struct span body)
{
    const struct policy *policy = variant->policy;
    buf_format(b, "  %.*s (%s), by the variant %.*s:\n\n", (int)policy->name.len, policy->name.data,
               policy_ops(policy->kind)->name, (int)variant->name.len, variant->name.data);
    buf_lit(b, "    curl -s http://");
    buf_char(b, ADDRESS_MARK);
    buf_lit(b, "/v1/decide -H 'Content-Type: application/json' -d '\n    ");
    put_body(b, body);
    buf_lit(b, "'\n\n");
}

char *app_hint_new(const struct plan *plan)
{
    /* Escaped, no request is twice as long; the rest is a few hundred bytes each. */
    size_t cap = (size_t)PLAN_POLICIES_MAX * 2 * PLAN_EXAMPLE_BYTES_MAX;
    struct plan_example *example = malloc(sizeof *example);
    char *text = malloc(cap);
    if (!example || !text) {
        free(example);
        free(text);
        return NULL;
    }
    struct buf b = buf_of(text, cap);
    struct span body;
    int variant;
    plan_example_init(example, plan, clock_wall_us());
    while (plan_example_next(example, &variant, &body))
        put_example(&b, &plan->variants[variant], body);
    buf_char(&b, '\0');
    free(example);
    if (!b.full) return text;
    free(text);
    return NULL;
}

void app_hint_tell(const char *hint, const char *listen)
{
    fprintf(stderr, "\nAsk it, in another terminal:\n\n");
    for (const char *at = hint; *at; at++)
        if (*at == ADDRESS_MARK)
            fputs(listen, stderr);
        else
            fputc(*at, stderr);
    fprintf(stderr, "Ctrl-C stops it.\n\n");
}
