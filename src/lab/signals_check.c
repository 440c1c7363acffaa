#include "lab/signals_check.h"

#include "wire/json_read.h"

/* A member of an object, and who reads its value to where. */
struct member {
    const char *name;
    void (*read)(struct json_reader *r, void *to);
    void *to;
};

/* Members that are not known are skipped. */
static void read_object(struct json_reader *r, const struct member *members, size_t count)
{
    struct span key;
    if (json_peek(r) != JSON_OBJECT) {
        json_fail(r, ERR_JSON_SYNTAX, "an object was expected");
        return;
    }
    if (!json_object_begin(r)) return;
    while (json_object_next(r, &key)) {
        size_t i = 0;
        while (i < count && !span_is(key, members[i].name)) i++;
        if (i < count)
            members[i].read(r, members[i].to);
        else
            json_skip(r);
    }
}

static void read_text(struct json_reader *r, void *to)
{
    if (json_peek(r) == JSON_STRING)
        json_string(r, to);
    else
        json_fail(r, ERR_JSON_SYNTAX, "a string was expected");
}

static bool read_number(struct json_reader *r, struct decimal *out)
{
    if (json_peek(r) == JSON_NUMBER) return json_number(r, out);
    json_fail(r, ERR_JSON_SYNTAX, "a number was expected");
    return false;
}

static void read_count(struct json_reader *r, void *to)
{
    struct decimal number;
    if (!read_number(r, &number)) return;
    if (number.integral && number.integer >= 0)
        *(uint64_t *)to = (uint64_t)number.integer;
    else
        json_fail(r, ERR_JSON_SYNTAX, "a count was expected");
}

static void read_rate(struct json_reader *r, void *to)
{
    struct decimal number;
    if (read_number(r, &number)) *(double *)to = number.value;
}

static void read_cost(struct json_reader *r, void *to)
{
    struct signals_site *site = to;
    const struct member members[] = {
        {"records_per_second", read_rate, &site->records_per_s},
        {"lines_per_second", read_rate, &site->lines_per_s},
    };
    read_object(r, members, sizeof members / sizeof *members);
}

static void read_drills(struct json_reader *r, void *to)
{
    struct signals_drills *d = to;
    const struct member members[] = {
        {"fired", read_count, &d->fired},         {"written", read_count, &d->written},
        {"dropped", read_count, &d->dropped},     {"suppressed", read_count, &d->suppressed},
        {"outranked", read_count, &d->outranked},
    };
    read_object(r, members, sizeof members / sizeof *members);
}

static void read_recent(struct json_reader *r, void *to)
{
    struct signals_site *site = to;
    const struct member members[] = {
        {"fired", read_count, &site->recent_fired},
        {"opportunities", read_count, &site->recent_opportunities},
    };
    read_object(r, members, sizeof members / sizeof *members);
}

static void read_site(struct json_reader *r, struct signals_site *site)
{
    const struct member members[] = {
        {"name", read_text, &site->name},
        {"state", read_text, &site->state},
        {"expected", read_text, &site->expected},
        {"fired", read_count, &site->fired},
        {"opportunities", read_count, &site->opportunities},
        {"recent", read_recent, site},
        {"share", read_rate, &site->share},
        {"written", read_count, &site->written},
        {"dropped", read_count, &site->dropped},
        {"suppressed", read_count, &site->suppressed},
        {"outranked", read_count, &site->outranked},
        {"cost", read_cost, site},
        {"drills", read_drills, &site->drills},
    };
    *site = (struct signals_site){0};
    read_object(r, members, sizeof members / sizeof *members);
    if (!r->error && (!site->name.len || !site->state.len || !site->expected.len))
        json_fail(r, ERR_JSON_SYNTAX, "a signal lacks its name, state or expected");
}

static void read_sites(struct json_reader *r, void *to)
{
    struct signals_list *list = to;
    if (json_peek(r) != JSON_ARRAY) {
        json_fail(r, ERR_JSON_SYNTAX, "an array was expected");
        return;
    }
    json_array_begin(r);
    while (json_array_next(r)) {
        if (list->count == SIGNALS_CHECK_SITES_MAX)
            json_fail(r, ERR_JSON_SYNTAX, "these are too many signals");
        else
            read_site(r, &list->sites[list->count++]);
    }
}

enum err_code signals_list_read(struct span json, char *scratch, struct signals_list *out,
                                struct err *e)
{
    struct json_reader r;
    struct signals_list list = {0};
    const struct member members[] = {
        {"started_at", read_text, &list.started_at},
        {"signals", read_sites, &list},
    };
    json_reader_init(&r, json, scratch, json.len);
    read_object(&r, members, sizeof members / sizeof *members);
    if (json_end(&r) && !list.count) json_fail(&r, ERR_JSON_SYNTAX, "there are no signals in it");
    if (r.error) {
        err_set(e, r.error, "%s", r.error_text);
        e->offset = json_error_offset(&r);
        return r.error;
    }
    *out = list;
    return ERR_OK;
}

const struct signals_site *signals_list_find(const struct signals_list *list, struct span name)
{
    for (int i = 0; i < list->count; i++)
        if (span_equal(list->sites[i].name, name)) return &list->sites[i];
    return NULL;
}

static bool minds(const struct signals_site *site)
{
    return !span_is(site->expected, "per_request") && !span_is(site->expected, "always");
}

static bool nearly_all(uint64_t fired, uint64_t opportunities)
{
    return opportunities && fired * 100 >= opportunities * SIGNALS_FIRED_PERCENT;
}

/* `constant`: the verdict on a site that had enough opportunities and fired on nearly all. */
static struct signals_judgement judge(const struct signals_site *site, uint64_t fired,
                                      uint64_t opportunities, enum signals_verdict constant)
{
    double share = opportunities ? (double)fired / (double)opportunities : 0;
    struct signals_judgement j = {SIGNALS_EXEMPT, false, fired, opportunities, share};
    if (!minds(site)) return j;
    bool all = nearly_all(fired, opportunities);
    if (opportunities < SIGNALS_OPPORTUNITIES_MIN)
        j.verdict = SIGNALS_TOO_FEW;
    else
        j.verdict = all ? constant : SIGNALS_FINE;
    j.looks_constant = all && opportunities >= SIGNALS_LOOKS_MIN && j.verdict != SIGNALS_CONSTANT;
    return j;
}

struct signals_judgement signals_site_judge(const struct signals_site *now)
{
    struct signals_judgement j =
        judge(now, now->recent_fired, now->recent_opportunities, SIGNALS_TOO_YOUNG);
    if (j.verdict != SIGNALS_EXEMPT && span_is(now->state, "constant")) {
        j.verdict = SIGNALS_CONSTANT;
        j.looks_constant = false;
        j.share = now->share;
    }
    return j;
}

struct signals_judgement signals_site_judge_between(const struct signals_site *before,
                                                    const struct signals_site *now)
{
    return judge(now, now->fired - before->fired, now->opportunities - before->opportunities,
                 SIGNALS_CONSTANT);
}

bool signals_judgement_passes(const struct signals_judgement *j, bool lenient, bool required)
{
    bool too_few = j->verdict == SIGNALS_TOO_FEW;
    if (j->verdict == SIGNALS_CONSTANT || j->verdict == SIGNALS_TOO_YOUNG) return false;
    if (j->looks_constant && !(lenient && too_few)) return false;
    return !(required && too_few);
}
