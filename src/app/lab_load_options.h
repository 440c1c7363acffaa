/* What `interlude-lab load` was told. Thread rule: the main thread's. */
#ifndef INTERLUDE_APP_LAB_LOAD_OPTIONS_H
#define INTERLUDE_APP_LAB_LOAD_OPTIONS_H

#include "lab/pairs_run.h"

enum { LOAD_OPTIONS_GIVEN_MAX = 64 };

struct lab_load_options {
    struct load_options load;
    struct pairs_options pairs;
    struct load_target targets[CAPTURE_TARGETS_MAX];
    struct load_target admins[CAPTURE_TARGETS_MAX], metrics[CAPTURE_TARGETS_MAX];
    uint32_t admin_count, metrics_count;
    uint64_t pair_ns;
    double bar;
    const char *body_file, *posteriors, *out_file;
    bool json, help;
    const char *given[LOAD_OPTIONS_GIVEN_MAX]; /* the options that were */
    size_t given_count;
};

extern const char lab_load_usage[];

/* What holds where nothing is said. */
void lab_load_options_begin(struct lab_load_options *o);

/* Reads the arguments. EXIT_DONE; or told on stderr, and EXIT_WRONG. Texts point into argv. */
int lab_load_options_read(struct lab_load_options *o, int argc, char **argv);

/* Do they go together? Completes what follows from them: o->load and o->pairs, but for the bodies
 * and who is told. The error says which option, and what to do. */
enum err_code lab_load_options_check(struct lab_load_options *o, struct err *e) MUST_CHECK;

#endif
