/* plan_load: YAML text to a plan and settings, or every error in it with line and column.
 *
 * No I/O: the caller reads the file. Any thread; allocates (never called on the request path). */
#ifndef INTERLUDE_PLAN_PLAN_LOAD_H
#define INTERLUDE_PLAN_PLAN_LOAD_H

#include "base/buf.h"
#include "decide/plan.h"
#include "plan/settings.h"

enum { PLAN_BYTES_MAX = 1024 * 1024, PLAN_ERRORS_MAX = 64 };

/* Every error of one run, in the order of the file. `more` counts those beyond PLAN_ERRORS_MAX. */
struct plan_errors {
    int count, more;
    struct err errors[PLAN_ERRORS_MAX]; /* code ERR_PLAN_INVALID; line, column, text */
};

/* `yaml.data` may be NULL where its length is 0. On success the new plan, and where `settings` is
 * not NULL the settings that stand in the same file, both owned by the caller (plan_free,
 * settings_free). On failure NULL, *settings is untouched, and errors->count > 0: every error, code
 * ERR_PLAN_INVALID; or a single one, ERR_NO_MEMORY. */
struct plan *plan_load(struct span yaml, struct settings **settings,
                       struct plan_errors *errors) MUST_CHECK;

/* How a plan's file ends. */
enum plan_end {
    PLAN_END_CUT,    /* in the middle of a line: it is half a file */
    PLAN_END_OPEN,   /* with a line: it may be all of the file, or not */
    PLAN_END_MARKED, /* with the line `...`, or with the brace of a plan in JSON: it is all of it */
};
enum plan_end plan_end_of(struct span text);

/* plan_load of a file's text: that it is half a file is an error too, the last one told. */
struct plan *plan_load_file(struct span text, struct settings **settings,
                            struct plan_errors *errors) MUST_CHECK;

/* The same two for whoever wants to know what the plan may not mean, though it can be served: on
 * success *warnings holds every warning, in the order of the file, each with its place (code
 * ERR_PLAN_INVALID, as if it were an error); on failure none. docs/plans.md lists what is warned
 * about. NULL: they are not wanted, and cost nothing. plan_check_file also warns of a file without
 * its end mark. */
struct plan *plan_check(struct span yaml, struct settings **settings, struct plan_errors *errors,
                        struct plan_errors *warnings) MUST_CHECK;
struct plan *plan_check_file(struct span text, struct settings **settings,
                             struct plan_errors *errors, struct plan_errors *warnings) MUST_CHECK;

/* The demonstration plan's text, built in; NUL-terminated. */
struct span plan_demo_text(void);

/* The plan as it would run, as YAML: every default filled in, in a fixed order. It
 * loads again to an equal plan; PLAN_BYTES_MAX bytes always hold it, settings included. */
void plan_print(struct buf *b, const struct plan *plan);
/* The same without its version: what the fingerprint is a hash of. */
void plan_print_decides(struct buf *b, const struct plan *plan);
void settings_print(struct buf *b, const struct settings *settings);

/* What may stand in a plan, as a JSON Schema (2020-12): its shape, not all of its meaning. */
void plan_schema(struct buf *b);

/* The most metric series that the plan can make; largest: the name of the metric with the most. */
uint64_t plan_series_count(const struct plan *plan, const char **largest);

#endif
