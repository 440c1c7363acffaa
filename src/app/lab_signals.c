/* signals: is any signal of a running server constant, and can those that are quiet still fire. */
#include "app/app.h"

#include "base/nearest.h"
#include "lab/load_target.h"
#include "lab/quantity.h"
#include "lab/signals_drill.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DRILL_PATH "/v1/drill"

enum { DRILL_LOOKS = 40, DRILL_LOOK_MS = 50 };

static const char usage[] =
    "interlude-lab signals --check URL [--over D] [--lenient] [--require SIGNAL]...\n"
    "interlude-lab signals --drill URL\n"
    "\n"
    "URL is the operations port (http://127.0.0.1:7071).\n"
    "\n"
    "  --check URL   print the signals that are declared never or rare and are constant: they\n"
    "                fire on at least 99% of at least 1,000 opportunities; and those that look\n"
    "                so, on at least 20 opportunities. Both fail the check. The server's own\n"
    "                verdict takes two windows of five minutes; --over tells what just changed\n"
    "  --over D      judge what happens in the next D (30s) instead, by the same limits. It\n"
    "                takes traffic: at least 1,000 decisions within D\n"
    "  --lenient     let pass what looks constant on fewer than 1,000 opportunities\n"
    "  --require SIGNAL\n"
    "                fail where this signal had too few opportunities to be judged. May be given\n"
    "                again\n"
    "  --drill URL   let every rare signal fire that a request can fire, and tell whether its\n"
    "                line was written. Live traffic is told apart, but has the same budget\n"
    "\n"
    "Exit codes: 0 some signal could be judged and none is constant or looks so, or every\n"
    "drilled line was written; 1 one is constant or looks so, or none could be judged, or one\n"
    "that is required could not, or a line was not written, or a signal that the plan lets fire\n"
    "could not be made to fire; 2 usage, or there is no such server.\n";

/* One answer of GET /v1/signals. */
struct look {
    char *text, *scratch;
    struct signals_list list;
};

static void look_done(struct look *l)
{
    free(l->text);
    free(l->scratch);
    *l = (struct look){0};
}

static enum err_code look_take(const struct load_target *target, struct look *out, struct err *e)
{
    *out = (struct look){0};
    enum err_code code = lab_operations_fetch(target, &out->text, e);
    if (code) return code;
    struct span json = span_of(out->text);
    out->scratch = malloc(json.len + 1);
    INVARIANT(out->scratch != NULL);
    code = signals_list_read(json, out->scratch, &out->list, e);
    if (!code) return ERR_OK;
    look_done(out);
    return lab_operations_wrong(target, e);
}

static void wait_ns(uint64_t ns)
{
    struct timespec at = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (nanosleep(&at, &at) != 0) continue;
}

/* ---- check ---- */

/* What is asked of a check, and what it found. */
struct check {
    uint64_t over_ns; /* 0: the server's own verdict */
    bool lenient;
    int required_count;
    struct span required[SIGNALS_CHECK_SITES_MAX];

    int count[SIGNALS_VERDICT_COUNT];
    bool failed;
};

static bool is_required(const struct check *c, struct span name)
{
    for (int i = 0; i < c->required_count; i++)
        if (span_equal(c->required[i], name)) return true;
    return false;
}

static const char *too_little(enum signals_verdict verdict)
{
    return verdict == SIGNALS_TOO_FEW ? "fewer than 1,000 opportunities"
                                      : "no two windows in succession had 1,000 opportunities yet";
}

static void site_print(const struct signals_site *s, const struct signals_judgement *j,
                       bool required)
{
    if (j->looks_constant)
        printf("%.*s looks constant so far (%" PRIu64 " of %" PRIu64 "), not judged: %s\n",
               (int)s->name.len, s->name.data, j->fired, j->opportunities, too_little(j->verdict));
    else if (j->verdict == SIGNALS_CONSTANT)
        printf("%.*s is constant: declared %.*s, and it fired on %.1f%% of its opportunities; "
               "%.1f records and %.1f lines a second\n",
               (int)s->name.len, s->name.data, (int)s->expected.len, s->expected.data,
               100 * j->share, s->records_per_s, s->lines_per_s);
    if (required && j->verdict == SIGNALS_TOO_FEW)
        printf("%.*s is required, and could not be judged: it had %" PRIu64
               " opportunities, and a verdict takes 1,000\n",
               (int)s->name.len, s->name.data, j->opportunities);
}

/* ERR_USAGE: a signal is required that there is not, or that is not judged. */
static enum err_code check_required(const struct check *c, const struct signals_list *list,
                                    struct err *e)
{
    struct span names[SIGNALS_CHECK_SITES_MAX];
    for (int i = 0; i < list->count; i++) names[i] = list->sites[i].name;
    for (int i = 0; i < c->required_count; i++) {
        struct span name = c->required[i];
        const struct signals_site *site = signals_list_find(list, name);
        if (!site) {
            struct span near = nearest_name(name, names, (size_t)list->count);
            return err_set(e, ERR_USAGE, "--require: there is no signal `%.*s`%s%.*s%s",
                           (int)name.len, name.data, near.len ? "; nearest: `" : "", (int)near.len,
                           near.data, near.len ? "`" : "");
        }
        if (signals_site_judge(site).verdict == SIGNALS_EXEMPT)
            return err_set(e, ERR_USAGE, "--require: `%.*s` is declared %.*s: it is not judged",
                           (int)name.len, name.data, (int)site->expected.len, site->expected.data);
    }
    return ERR_OK;
}

/* Judges each. ERR_USAGE: another server answers than before. `before` is NULL where the server's
 * own verdict is asked for. */
static enum err_code judge_all(struct check *c, const struct signals_list *before,
                               const struct signals_list *now, struct err *e)
{
    if (before && !span_equal(before->started_at, now->started_at))
        return err_set(e, ERR_USAGE, "the server was restarted between the two looks");
    for (int i = 0; i < now->count; i++) {
        const struct signals_site *site = &now->sites[i];
        struct signals_judgement j;
        if (before) {
            const struct signals_site *then = signals_list_find(before, site->name);
            if (!then) return err_set(e, ERR_USAGE, "the signals changed between the two looks");
            j = signals_site_judge_between(then, site);
        } else {
            j = signals_site_judge(site);
        }
        bool required = is_required(c, site->name);
        c->count[j.verdict]++;
        c->failed = c->failed || !signals_judgement_passes(&j, c->lenient, required);
        site_print(site, &j, required);
    }
    return ERR_OK;
}

static int quiet_count(const struct signals_list *list)
{
    int quiet = 0;
    for (int i = 0; i < list->count; i++) quiet += span_is(list->sites[i].state, "quiet");
    return quiet;
}

static int verdict_print(const struct check *c, const struct signals_list *list)
{
    int few = c->count[SIGNALS_TOO_FEW], young = c->count[SIGNALS_TOO_YOUNG];
    int judged = c->count[SIGNALS_CONSTANT] + c->count[SIGNALS_FINE];
    printf("%d signals: %d constant, %d fine, %d not judged (%d too few opportunities, %d too "
           "young), %d declared to fire always; %d of all quiet\n",
           list->count, c->count[SIGNALS_CONSTANT], c->count[SIGNALS_FINE], few + young, few, young,
           c->count[SIGNALS_EXEMPT], quiet_count(list));
    if (!judged)
        printf("Nothing could be judged: that takes at least 1,000 decisions, with --over D within "
               "D of live traffic, else in the last five to ten minutes.\n");
    int written = app_output_end();
    return written ? written : c->failed || !c->count[SIGNALS_FINE] ? EXIT_NO : EXIT_DONE;
}

static int check(const struct load_target *target, struct check *c)
{
    struct look before = {0}, now = {0};
    struct err e;
    bool over = c->over_ns > 0;
    enum err_code code = over ? look_take(target, &before, &e) : ERR_OK;
    if (!code && over) code = check_required(c, &before.list, &e);
    if (!code && over) wait_ns(c->over_ns);
    if (!code) code = look_take(target, &now, &e);
    if (!code) code = check_required(c, &now.list, &e);
    if (!code) code = judge_all(c, over ? &before.list : NULL, &now.list, &e);
    int exit_code = code ? app_fail("signals", &e) : verdict_print(c, &now.list);
    look_done(&before);
    look_done(&now);
    return exit_code;
}

/* ---- drill ---- */

/* The drills of a site, as soon as all of them have an outcome. *settled: it was so within two
 * seconds. */
static enum err_code drills_wait(const struct load_target *signals, struct span name,
                                 struct signals_drills *out, bool *settled, struct err *e)
{
    *settled = false;
    for (int i = 0; i < DRILL_LOOKS && !*settled; i++) {
        struct look now;
        if (i) wait_ns(DRILL_LOOK_MS * 1000000ull);
        enum err_code code = look_take(signals, &now, e);
        if (code) return code;
        const struct signals_site *site = signals_list_find(&now.list, name);
        if (site) {
            *out = site->drills;
            *settled = signals_drills_settled(out);
        }
        look_done(&now);
    }
    return ERR_OK;
}

/* EXIT_DONE: the plan lets no request fire it. */
static int refusal_tell(int status, const char *body)
{
    struct span json = span_of(body);
    struct signals_refusal refusal;
    char *scratch = malloc(json.len + 1);
    INVARIANT(scratch != NULL);
    signals_refusal_read(json, scratch, &refusal);
    if (refusal.detail.len)
        printf("not drilled: %.*s\n", (int)refusal.detail.len, refusal.detail.data);
    else
        printf("not drilled: the server answered %d\n", status);
    int code = signals_refusal_harmless(&refusal) ? EXIT_DONE : EXIT_NO;
    free(scratch);
    return code;
}

/* The outcome of the drill that was just answered; `before` are the drills before it. */
static int outcome_tell(const struct load_target *signals, struct span name,
                        const struct signals_drills *before, int *written)
{
    struct signals_drills now;
    struct err e;
    bool settled;
    if (drills_wait(signals, name, &now, &settled, &e)) {
        printf("not known\n");
        return app_fail("signals", &e);
    }
    const char *outcome = settled ? signals_drill_outcome(before, &now) : NULL;
    printf("%s\n", outcome ? outcome : "no outcome within 2 s");
    if (!outcome || strcmp(outcome, "written") != 0) return EXIT_NO;
    ++*written;
    return EXIT_DONE;
}

/* EXIT_DONE: its line was written, or no request can fire it. */
static int drill_site(const struct load_target *drills, const struct load_target *signals,
                      struct span name, int *written)
{
    char json[128], *body;
    int status;
    struct err e;
    struct signals_drills before;
    bool settled;
    snprintf(json, sizeof json, "{\"signal\":\"%.*s\"}", (int)name.len, name.data);
    if (drills_wait(signals, name, &before, &settled, &e)) return app_fail("signals", &e);
    if (!settled) {
        printf("%.*s: not drilled: an earlier drill has no outcome yet\n", (int)name.len,
               name.data);
        return EXIT_NO;
    }
    if (load_target_post(drills, json, &status, &body, &e)) {
        lab_operations_wrong(drills, &e);
        return app_fail("signals", &e);
    }
    printf("%.*s: ", (int)name.len, name.data);
    int code =
        status == 200 ? outcome_tell(signals, name, &before, written) : refusal_tell(status, body);
    free(body);
    return code;
}

static int drill(const struct load_target *signals)
{
    struct load_target drills = *signals;
    snprintf(drills.path, sizeof drills.path, "%s", DRILL_PATH);
    struct look all;
    struct err e;
    if (look_take(signals, &all, &e)) return app_fail("signals", &e);
    int worst = EXIT_DONE, lines = 0;
    for (int i = 0; i < all.list.count && worst != EXIT_WRONG; i++) {
        if (!span_is(all.list.sites[i].expected, "rare")) continue;
        int code = drill_site(&drills, signals, all.list.sites[i].name, &lines);
        if (code > worst) worst = code;
    }
    look_done(&all);
    if (!lines && worst == EXIT_DONE) {
        printf("Nothing was proved: no line was written.\n");
        worst = EXIT_NO;
    }
    int written = app_output_end();
    return written > worst ? written : worst;
}

/* Reads argv[*i], an option of --check, and moves *i on. EXIT_DONE; or told, and EXIT_WRONG. */
static int check_option(int argc, char **argv, int *i, struct check *c)
{
    static const char *const options[] = {"--check",   "--drill",   "--over",
                                          "--lenient", "--require", NULL};
    const char *value;
    if (!strcmp(argv[*i], "--lenient")) {
        c->lenient = true;
    } else if ((value = app_option(argc, argv, i, "--over"))) {
        if (!quantity_duration(value, &c->over_ns) || !c->over_ns)
            return app_usage_error("signals", "--over takes a time like 30s, not", value);
    } else if ((value = app_option(argc, argv, i, "--require"))) {
        if (c->required_count == SIGNALS_CHECK_SITES_MAX)
            return app_usage_error("signals", "these are too many of", "--require");
        c->required[c->required_count++] = span_of(value);
    } else {
        return app_unknown_option("signals", argv[*i], options, NULL);
    }
    return EXIT_DONE;
}

int lab_signals(int argc, char **argv)
{
    const char *check_url = NULL, *drill_url = NULL, *value, *of_check = NULL;
    struct check c = {0};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) {
            fputs(usage, stdout);
            return EXIT_DONE;
        }
        if ((value = app_option(argc, argv, &i, "--check"))) {
            check_url = value;
        } else if ((value = app_option(argc, argv, &i, "--drill"))) {
            drill_url = value;
        } else {
            of_check = argv[i];
            int code = check_option(argc, argv, &i, &c);
            if (code) return code;
        }
    }
    if (!check_url == !drill_url)
        return app_usage_error("signals", "needs one of", "--check URL, --drill URL");
    if (drill_url && of_check) return app_usage_error("signals", "only --check has", of_check);

    struct load_target target;
    struct err e;
    if (load_target_parse(check_url ? check_url : drill_url, "/v1/signals", &target, &e))
        return app_fail("signals", &e);
    return check_url ? check(&target, &c) : drill(&target);
}
