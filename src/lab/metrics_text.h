/* metrics_text: single values out of the Prometheus text format. Pure; any thread. Spans that come
 * out point into the text. */
#ifndef INTERLUDE_LAB_METRICS_TEXT_H
#define INTERLUDE_LAB_METRICS_TEXT_H

#include "base/span.h"

struct metrics_sample {
    struct span labels; /* between the braces; len 0 if there are none */
    double value;       /* not finite ones too */
};

/* The next sample of that very name in `*text`, which moves on past it; false if none is left. */
bool metrics_next(struct span *text, const char *name, struct metrics_sample *out);

/* A label's value as it is written (\\, \" and \n stay escaped); false if the sample lacks it. */
bool metrics_label(const struct metrics_sample *sample, const char *label, struct span *value);

#endif
