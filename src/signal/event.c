/* The log lines of the threads around the workers: rare, and so they may read the clock. */
#include "base/clock.h"
#include "signal/writer.h"

static bool event_begin(struct signal_writer *writer, struct record *r, enum signal_site site)
{
    if (!writer_fire(writer, site)) return false;
    record_init(r, site, clock_wall_us());
    return true;
}

void signal_server_started(struct signal_writer *writer, struct span program, struct span commit,
                           const struct plan *plan, int64_t pid)
{
    struct record r;
    if (!event_begin(writer, &r, SITE_SERVER_STARTED)) return;
    record_text(&r, FIELD_VERSION, plan->version);
    record_text(&r, FIELD_FINGERPRINT, span_of(plan->fingerprint));
    record_text(&r, FIELD_PROGRAM, program);
    record_text(&r, FIELD_COMMIT, commit);
    record_number(&r, FIELD_PID, pid);
    writer_place(writer, &r);
}

void signal_server_ready(struct signal_writer *writer, const struct plan *plan, struct span listen,
                         struct span admin, int workers)
{
    struct record r;
    if (!event_begin(writer, &r, SITE_SERVER_READY)) return;
    record_text(&r, FIELD_VERSION, plan->version);
    record_text(&r, FIELD_LISTEN, listen);
    record_text(&r, FIELD_ADMIN, admin);
    record_number(&r, FIELD_WORKERS, workers);
    writer_place(writer, &r);
}

void signal_server_draining(struct signal_writer *writer, struct span reason, int64_t drain_ms)
{
    struct record r;
    if (!event_begin(writer, &r, SITE_SERVER_DRAINING)) return;
    record_number(&r, FIELD_DRAIN_MS, drain_ms);
    record_text(&r, FIELD_REASON, reason);
    writer_place(writer, &r);
}

void signal_server_stopped(struct signal_writer *writer, struct span reason)
{
    struct record r;
    if (!event_begin(writer, &r, SITE_SERVER_STOPPED)) return;
    record_text(&r, FIELD_REASON, reason);
    writer_place(writer, &r);
}

void signal_plan_reloaded(struct signal_writer *writer, const struct plan *plan,
                          struct span message)
{
    struct record r;
    if (!event_begin(writer, &r, SITE_PLAN_RELOADED)) return;
    record_text(&r, FIELD_VERSION, plan->version);
    record_text(&r, FIELD_FINGERPRINT, span_of(plan->fingerprint));
    record_text(&r, FIELD_MESSAGE, message);
    writer_place(writer, &r);
}

void signal_plan_refused(struct signal_writer *writer, const struct plan *served,
                         const struct err *first, int errors)
{
    struct record r;
    if (!event_begin(writer, &r, SITE_PLAN_REFUSED)) return;
    record_text(&r, FIELD_VERSION, served->version);
    record_text(&r, FIELD_CODE, span_of(err_name(first->code)));
    if (first->line) record_number(&r, FIELD_LINE, first->line);
    if (first->column) record_number(&r, FIELD_COLUMN, first->column);
    record_text(&r, FIELD_MESSAGE, span_of(first->text));
    record_number(&r, FIELD_ERRORS, errors);
    writer_place(writer, &r);
}

void signal_accept_paused(struct signal_writer *writer, enum signal_counter counter,
                          int connections)
{
    INVARIANT(counter == COUNTER_ACCEPT_PAUSED_DESCRIPTORS ||
              counter == COUNTER_ACCEPT_PAUSED_MEMORY);
    signal_count(writer, counter);
    struct record r;
    if (!event_begin(writer, &r, SITE_ACCEPT_PAUSED)) return;
    record_text(&r, FIELD_REASON,
                counter == COUNTER_ACCEPT_PAUSED_MEMORY ? SPAN("memory") : SPAN("descriptors"));
    record_number(&r, FIELD_CONNECTIONS, connections);
    writer_place(writer, &r);
}

void signal_descriptors_short(struct signal_writer *writer, int connections, int connections_max,
                              int64_t descriptors)
{
    struct record r;
    if (!event_begin(writer, &r, SITE_DESCRIPTORS_SHORT)) return;
    record_number(&r, FIELD_CONNECTIONS, connections);
    record_number(&r, FIELD_CONNECTIONS_MAX, connections_max);
    record_number(&r, FIELD_DESCRIPTORS, descriptors);
    writer_place(writer, &r);
}

void signal_connections_max_reached(struct signal_writer *writer, int connections)
{
    signal_count(writer, COUNTER_CONNECTIONS_REFUSED_MAX);
    struct record r;
    if (!event_begin(writer, &r, SITE_CONNECTIONS_MAX_REACHED)) return;
    record_number(&r, FIELD_CONNECTIONS, connections);
    writer_place(writer, &r);
}
