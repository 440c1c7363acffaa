/* load_plan: when each request is due, settled before the first is sent.
 *
 * An open loop: listeners do not wait for one another, so neither do these requests; the schedule
 * depends on the shape and the seed and on nothing the server does. Arrivals are drawn for a rate
 * of 1 and then set on the time axis so that the expected number by time t is the integral of the
 * rate up to t; so `constant` and `poisson` serve any shape.
 *
 * Threads: one at a time. Ownership: a value without pointers. The same shape and seed give the
 * same schedule on one machine (it uses libm's log and sine). */
#ifndef INTERLUDE_LAB_LOAD_PLAN_H
#define INTERLUDE_LAB_LOAD_PLAN_H

#include "base/err.h"
#include "base/rng.h"

#include <stdbool.h>

enum { LOAD_CYCLE_NS_MIN = 1000000 };

enum load_arrivals { LOAD_CONSTANT, LOAD_POISSON };

/* LOAD_DIURNAL: a sine between `trough` and `peak`, beginning at the trough. */
enum load_curve { LOAD_FLAT, LOAD_DIURNAL };

struct load_shape {
    enum load_curve curve;
    enum load_arrivals arrivals;
    double rate;         /* flat: per second, above 0 */
    double peak, trough; /* diurnal: per second; 0 <= trough <= peak, peak above 0 */
    uint64_t cycle_ns;   /* diurnal: at least LOAD_CYCLE_NS_MIN */
    uint64_t duration_ns;
    uint64_t seed;
};

struct load_plan {
    struct load_shape shape;
    struct rng rng;
    double position; /* of the last arrival, in expected requests since the beginning */
    double at_s;     /* its time */
};

/* ERR_USAGE tells what is wrong with a shape. */
enum err_code load_shape_check(const struct load_shape *shape, struct err *e) MUST_CHECK;

/* The shape must be one that load_shape_check accepts. */
void load_plan_init(struct load_plan *p, const struct load_shape *shape);

/* The next arrival, in ns from the beginning, never before the one told last. False when none is
 * left before the shape's duration; from then on always. */
bool load_plan_next(struct load_plan *p, uint64_t *due_ns);

/* Requests expected from the beginning to `t_ns`. */
double load_plan_expected(const struct load_shape *shape, uint64_t t_ns);

#endif
