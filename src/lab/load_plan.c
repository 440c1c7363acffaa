#include "lab/load_plan.h"

#include <math.h>

enum err_code load_shape_check(const struct load_shape *s, struct err *e)
{
    if (s->duration_ns == 0) return err_set(e, ERR_USAGE, "the duration must be above 0");
    double highest = s->curve == LOAD_FLAT ? s->rate : s->peak;
    if (!(highest > 0 && highest <= 1e7))
        return err_set(e, ERR_USAGE, "the %s must be above 0 and at most 10 million a second",
                       s->curve == LOAD_FLAT ? "rate" : "peak");
    if (s->curve == LOAD_FLAT) return ERR_OK;
    if (!(s->trough >= 0 && s->trough <= s->peak))
        return err_set(e, ERR_USAGE, "the trough must be from 0 to the peak");
    if (s->cycle_ns == 0) return err_set(e, ERR_USAGE, "a diurnal shape needs --cycle D");
    if (s->cycle_ns < LOAD_CYCLE_NS_MIN)
        return err_set(e, ERR_USAGE, "the cycle must be at least 1 ms");
    return ERR_OK;
}

static double rate_at(const struct load_shape *s, double t)
{
    if (s->curve == LOAD_FLAT) return s->rate;
    double middle = (s->peak + s->trough) / 2, swing = (s->peak - s->trough) / 2;
    return middle - swing * cos(2 * M_PI * t / ((double)s->cycle_ns / 1e9));
}

static double expected_at(const struct load_shape *s, double t)
{
    if (s->curve == LOAD_FLAT) return s->rate * t;
    double middle = (s->peak + s->trough) / 2, swing = (s->peak - s->trough) / 2;
    double turn = (double)s->cycle_ns / 1e9 / (2 * M_PI);
    return middle * t - swing * turn * sin(t / turn);
}

double load_plan_expected(const struct load_shape *shape, uint64_t t_ns)
{
    return expected_at(shape, (double)t_ns / 1e9);
}

/* The time by which `position` requests are expected; `after` is a time known not to be later.
 * Which cycle it lies in is told by division, for every cycle has the same number of requests: gaps
 * of millions of cycles cost no more than one. Rounding may miss the cycle by one. Then Newton's
 * steps while they stay within what is known to hold the root, else halving it: with a trough of 0
 * the rate, which divides the step, is 0 there. */
static double time_of(const struct load_shape *s, double position, double after)
{
    if (s->curve == LOAD_FLAT) return position / s->rate;
    double step = (double)s->cycle_ns / 1e9, cycle = floor(position / expected_at(s, step));
    double low = fmax(after, (cycle - 1) * step), high = fmax(after, (cycle + 2) * step);
    double t = fmax(after, cycle * step);
    for (int i = 0; i < 100 && high - low > 1e-10; i++) {
        double off = expected_at(s, t) - position;
        if (off == 0) return t;
        if (off < 0)
            low = t;
        else
            high = t;
        double next = t - off / rate_at(s, t);
        bool inside = next > low && next < high;
        if (inside && fabs(next - t) < 1e-10) return next;
        t = inside ? next : low + (high - low) / 2;
    }
    return t;
}

void load_plan_init(struct load_plan *p, const struct load_shape *shape)
{
    *p = (struct load_plan){.shape = *shape};
    rng_init(&p->rng, (struct hash128){shape->seed, 0x617272697665});
    /* Constant arrivals stand in the middle of their shares of time, so that a run of n/rate
     * seconds has n of them, and the first is not an edge. */
    if (shape->arrivals == LOAD_CONSTANT) p->position = -0.5;
}

bool load_plan_next(struct load_plan *p, uint64_t *due_ns)
{
    double end = (double)p->shape.duration_ns;
    if (p->at_s * 1e9 >= end) return false;
    p->position += p->shape.arrivals == LOAD_CONSTANT ? 1 : -log(rng_open01(rng_next(&p->rng)));
    double t = time_of(&p->shape, p->position, p->at_s);
    if (t > p->at_s) p->at_s = t;
    double ns = p->at_s * 1e9;
    if (ns >= end) return false;
    *due_ns = (uint64_t)ns;
    return true;
}
