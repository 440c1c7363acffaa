#include "lab/load_meter.h"

#include "base/clock.h"

#define PROGRESS_NS 1000000000ull

void load_meter_init(struct load_meter *m, const struct load_options *o)
{
    m->o = o;
    for (uint32_t t = 0; t < o->target_count; t++) {
        capture_interval_init(&m->now[t], t);
        capture_interval_init(&m->last[t], t);
        capture_interval_init(&m->total[t], t);
    }
    hist_init(&m->taken_after);
}

/* The last interval lasts until the last answer: there is no boundary at the schedule's end, or the
 * few requests still under way would make an interval of their own. */
static uint64_t boundary_after(const struct load_meter *m, uint64_t now_ns)
{
    uint64_t passed = (now_ns - m->start_ns) / m->o->interval_ns;
    uint64_t boundary = m->start_ns + (passed + 1) * m->o->interval_ns;
    return boundary < m->end_ns ? boundary : UINT64_MAX;
}

void load_meter_start(struct load_meter *m, uint64_t start_ns)
{
    m->started_us = clock_wall_us() + ((int64_t)start_ns - (int64_t)clock_mono_ns()) / 1000;
    m->start_ns = m->from_ns = start_ns;
    m->end_ns = start_ns + m->o->shape.duration_ns;
    m->next_ns = boundary_after(m, start_ns);
    m->progress_ns = m->o->progress ? start_ns + PROGRESS_NS : UINT64_MAX;
    disturbance_read(&m->before);
}

void load_meter_take(struct load_meter *m, uint32_t target, uint64_t due_ns, uint64_t now_ns)
{
    m->now[target].due++;
    hist_record(&m->taken_after, now_ns - due_ns);
    if (now_ns - due_ns > LOAD_LATE_NS) m->now[target].taken_late++;
}

void load_meter_stop(struct load_meter *m, uint64_t now_ns)
{
    if (now_ns < m->start_ns) now_ns = m->start_ns;
    if (now_ns < m->end_ns) m->end_ns = now_ns;
}

/* Of [0, at): the whole rounds, of which each target has one turn, and what of its turn has passed
 * in the round that has begun. */
static uint64_t active_upto(const struct load_options *o, uint32_t target, uint64_t at_ns)
{
    uint64_t round_ns = o->turn_ns * o->target_count, begin = o->turn_ns * target;
    uint64_t whole = at_ns / round_ns * o->turn_ns, rest = at_ns % round_ns;
    if (rest <= begin) return whole;
    return whole + (rest - begin < o->turn_ns ? rest - begin : o->turn_ns);
}

uint64_t load_meter_active(const struct load_options *o, uint32_t target, uint64_t from_ns,
                           uint64_t to_ns)
{
    if (from_ns >= to_ns) return 0;
    if (o->spread == LOAD_INTERLEAVE) return to_ns - from_ns;
    return active_upto(o, target, to_ns) - active_upto(o, target, from_ns);
}

static void interval_end(struct load_meter *m, uint64_t now_ns)
{
    struct disturbance after;
    disturbance_read(&after);
    struct disturbance disturbed = disturbance_since(after, m->before);
    uint64_t from = m->from_ns - m->start_ns, to = now_ns - m->start_ns;
    uint64_t due_to = now_ns < m->end_ns ? to : m->end_ns - m->start_ns;
    for (uint32_t t = 0; t < m->o->target_count; t++) {
        struct capture_interval *now = &m->now[t];
        now->start_us = m->started_us + (int64_t)(from / 1000);
        now->length_us = to / 1000 - from / 1000;
        now->active_us = load_meter_active(m->o, t, from, due_to) / 1000;
        now->steal_us = disturbed.steal_us;
        now->throttled_us = disturbed.throttled_us;
        capture_interval_add(&m->total[t], now);
        if (m->o->interval) m->o->interval(m->o->context, now);
        m->last[t] = *now;
        capture_interval_init(now, t);
    }
    m->before = after;
    m->from_ns = now_ns;
}

static void progress_tell(struct load_meter *m, uint64_t now_ns)
{
    struct load_progress p = {
        .done_ns = (now_ns < m->end_ns ? now_ns : m->end_ns) - m->start_ns,
        .duration_ns = m->end_ns - m->start_ns,
    };
    hist_init(&p.recent);
    uint64_t recent_ns = now_ns - m->from_ns + m->last[0].length_us * 1000;
    for (uint32_t t = 0; t < m->o->target_count; t++) {
        hist_add(&p.recent, &m->last[t].latency);
        hist_add(&p.recent, &m->now[t].latency);
        const struct capture_interval *counted[] = {&m->total[t], &m->now[t]};
        for (int i = 0; i < 2; i++)
            p.failed += capture_interval_failed(counted[i]) + counted[i]->errors[CAPTURE_CONNECT];
    }
    if (recent_ns) p.rate = (double)p.recent.count * 1e9 / (double)recent_ns;
    m->o->progress(m->o->context, &p);
}

void load_meter_tick(struct load_meter *m, uint64_t now_ns)
{
    if (now_ns >= m->next_ns) {
        interval_end(m, now_ns);
        m->next_ns = boundary_after(m, now_ns);
    }
    if (now_ns >= m->progress_ns) {
        progress_tell(m, now_ns);
        m->progress_ns = now_ns + PROGRESS_NS;
    }
}

uint64_t load_meter_next(const struct load_meter *m)
{
    return m->next_ns < m->progress_ns ? m->next_ns : m->progress_ns;
}

void load_meter_finish(struct load_meter *m, uint64_t now_ns)
{
    interval_end(m, now_ns < m->from_ns ? m->from_ns : now_ns);
}
