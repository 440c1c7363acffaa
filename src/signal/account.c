/* The books of the log: by site, fired = written + dropped + suppressed + outranked + queued.
 *
 * Every number grows while it is read. All outcomes are read before any firing, and an outcome is
 * stored after its firing, so the difference is never negative. It could be too large: a reader
 * that is put off between the two reads sees firings whose outcomes it missed. So it is cut to what
 * rings and outbox can hold: when the outcomes were read, no more can have been under way, and what
 * is then told as fired is a number that it truly was at some moment between the two reads. */
#include "signal/state.h"

enum { RECORD_FRAME_MIN = 32 };

static uint64_t outranked(const struct signals *s, int site)
{
    uint64_t n = 0;
    for (int i = 0; i < s->writer_count; i++)
        n += atomic_load_explicit(&s->writers[i].outranked[site], memory_order_acquire);
    return n;
}

static uint64_t fired(const struct signals *s, int site)
{
    uint64_t n = cell_load(&s->scribe.fired[site]);
    for (int i = 0; i < s->writer_count; i++) n += cell_load(&s->writers[i].fired[site]);
    return n;
}

static uint64_t queued_max(const struct signals *s)
{
    return (uint64_t)s->writer_count * (s->ring_bytes / RECORD_FRAME_MIN + 1) + OUTBOX_LINES;
}

uint64_t account_counter(const struct signals *s, enum signal_counter counter)
{
    return series_cell(&s->series, (uint32_t)(CELL_COUNTERS + counter));
}

static uint64_t connections_seen(const struct signals *s)
{
    uint64_t n = 0;
    for (int c = 0; c <= COUNTER_CONNECTIONS_LAST; c++)
        n += account_counter(s, (enum signal_counter)c);
    return n;
}

/* How often the site could have fired, told by what is counted anyway: but for CELL_AGE_JUDGED, an
 * opportunity costs the request path nothing. What is counted once a start, stop or reopening has
 * no other measure than its firings. Read after `fired`, so it is never less. */
static uint64_t opportunities(const struct signals *s, int site,
                              const struct signal_account accounts[], uint64_t posteriors_asked)
{
    switch (site) {
    case SITE_POSTERIORS_PARTIAL:
    case SITE_POSTERIORS_ABSENT:
    case SITE_POSTERIORS_UNKNOWN_ACTION:
    case SITE_POSTERIORS_INVALID:
        return posteriors_asked;
    case SITE_POSTERIORS_STALE:
        return series_cell(&s->series, CELL_AGE_JUDGED);
    case SITE_SESSION_INVALID:
        return series_sum(&s->series, METRIC_STATE, 0, STATE_STATUS_COUNT);
    case SITE_UNKNOWN_VARIANT:
        return series_sum(&s->series, METRIC_ASSIGNMENTS, ASSIGNMENT_CALLER, ASSIGNMENT_CALLER) +
               series_sum(&s->series, METRIC_ASSIGNMENTS, ASSIGNMENT_UNKNOWN_VARIANT,
                          ASSIGNMENT_UNKNOWN_VARIANT);
    case SITE_PLAN_RELOADED:
    case SITE_PLAN_REFUSED:
        return accounts[SITE_PLAN_RELOADED].fired + accounts[SITE_PLAN_REFUSED].fired;
    case SITE_VERSION_REUSED:
        return accounts[SITE_PLAN_RELOADED].fired;
    case SITE_DESCRIPTORS_SHORT:
        return accounts[SITE_SERVER_STARTED].fired;
    case SITE_ACCEPT_PAUSED:
    case SITE_CONNECTIONS_MAX_REACHED:
    case SITE_PER_ADDRESS_MAX_REACHED:
        return connections_seen(s);
    case SITE_BUFFERS_MAX_REACHED:
        return series_sum(&s->series, METRIC_STATE, 0, STATE_STATUS_COUNT) +
               account_counter(s, COUNTER_CONNECTIONS_REFUSED_BUFFERS);
    case SITE_SIGNAL_CONSTANT:
        return s->scribe.watch.judged;
    case SITE_LOG_SUPPRESSED:
        return cell_load(&s->scribe.intervals);
    case SITE_METRIC_OVERFLOW:
        return s->series.serial;
    default:
        return accounts[site].fired;
    }
}

void account_take(struct signals *s, struct signal_account accounts[SITE_COUNT])
{
    for (int site = 0; site < SITE_COUNT; site++) {
        struct signal_account *a = &accounts[site];
        *a = (struct signal_account){0};
        a->bytes = cell_load(&s->scribe.outbox.bytes[site]);
        a->outcomes[OUTCOME_WRITTEN] =
            atomic_load_explicit(&s->scribe.outbox.written[site], memory_order_acquire);
        a->outcomes[OUTCOME_DROPPED] = scribe_dropped(&s->scribe, site);
        a->outcomes[OUTCOME_SUPPRESSED] = scribe_suppressed(&s->scribe, site);
        a->outcomes[OUTCOME_OUTRANKED] = outranked(s, site);
    }
    for (int site = 0; site < SITE_COUNT; site++) {
        struct signal_account *a = &accounts[site];
        uint64_t settled = 0;
        for (int o = 0; o < OUTCOME_COUNT; o++) settled += a->outcomes[o];
        uint64_t rest = fired(s, site) - settled;
        a->queued = rest < queued_max(s) ? rest : queued_max(s);
        a->fired = settled + a->queued;
    }
    uint64_t posteriors_asked =
        series_sum(&s->series, METRIC_POSTERIORS, POSTERIORS_COMPLETE, POSTERIORS_STATUS_COUNT);
    for (int site = 0; site < SITE_COUNT; site++)
        accounts[site].opportunities = opportunities(s, site, accounts, posteriors_asked) +
                                       series_cell(&s->series, (uint32_t)(CELL_DRILLS + site));
}

void account_drills(struct signals *s, struct signal_drills drills[SITE_COUNT])
{
    const struct outbox *o = &s->scribe.outbox;
    const struct series_table *t = &s->series;
    for (uint32_t site = 0; site < SITE_COUNT; site++) {
        struct signal_drills *d = &drills[site];
        uint64_t *outcomes = d->outcomes, settled = 0;
        outcomes[OUTCOME_WRITTEN] =
            atomic_load_explicit(&o->drills_written[site], memory_order_acquire);
        outcomes[OUTCOME_DROPPED] =
            atomic_load_explicit(&o->drills_dropped[site], memory_order_acquire) +
            series_cell(t, CELL_DRILLS_DROPPED + site);
        outcomes[OUTCOME_SUPPRESSED] =
            atomic_load_explicit(&s->scribe.drills_suppressed[site], memory_order_acquire) +
            series_cell(t, CELL_DRILLS_SUPPRESSED + site);
        outcomes[OUTCOME_OUTRANKED] = series_cell(t, CELL_DRILLS_OUTRANKED + site);
        for (int i = 0; i < OUTCOME_COUNT; i++) settled += outcomes[i];
        /* A writer counts its drill as fired when it has placed the record. */
        uint64_t fired = series_cell(t, CELL_DRILLS_FIRED + site);
        d->fired = fired > settled ? fired : settled;
        d->queued = d->fired - settled;
    }
}

void signals_drills(struct signals *signals, struct signal_drills drills[SITE_COUNT])
{
    pthread_mutex_lock(&signals->lock);
    account_drills(signals, drills);
    pthread_mutex_unlock(&signals->lock);
}

void signals_account(struct signals *signals, struct signal_account accounts[SITE_COUNT])
{
    pthread_mutex_lock(&signals->lock);
    account_take(signals, accounts);
    pthread_mutex_unlock(&signals->lock);
}
