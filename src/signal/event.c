/* The log lines of the threads around the workers: rare, and so they may read the clock. */
#include "base/clock.h"
#include "signal/emit.h"

void signal_server_started(struct signal_writer *writer, struct span program, struct span commit,
                           const struct plan *plan, struct span file, int64_t pid)
{
    emit_server_started(writer, clock_wall_us(), field_version(plan->version),
                        field_fingerprint(span_of(plan->fingerprint)), field_file(file),
                        field_program(program), field_commit(commit), field_pid(pid));
}

void signal_server_ready(struct signal_writer *writer, const struct plan *plan, struct span listen,
                         struct span admin, int workers)
{
    emit_server_ready(writer, clock_wall_us(), field_version(plan->version), field_listen(listen),
                      field_admin(admin), field_workers(workers));
}

void signal_server_draining(struct signal_writer *writer, struct span reason, int64_t drain_ms)
{
    emit_server_draining(writer, clock_wall_us(), field_drain_ms(drain_ms), field_reason(reason));
}

void signal_server_stopped(struct signal_writer *writer, struct span reason)
{
    emit_server_stopped(writer, clock_wall_us(), field_reason(reason));
}

/* The lines of what a reload takes away, as a list. */
enum { WEAKER_LINES_MAX = 8 }; /* more would leave no room in a record for what follows */

struct weaker_lines {
    struct span texts[WEAKER_LINES_MAX];
};

static struct names weaker_names(const struct plan_weaker *weaker, struct weaker_lines *lines)
{
    int count = weaker->count < WEAKER_LINES_MAX ? weaker->count : WEAKER_LINES_MAX;
    for (int i = 0; i < count; i++) lines->texts[i] = span_of(weaker->texts[i]);
    return (struct names){lines->texts, sizeof lines->texts[0], ((uint64_t)1 << count) - 1,
                          weaker->count > count};
}

void signal_plan_reloaded(struct signal_writer *writer, const struct plan *plan,
                          const struct signal_reload *reload)
{
    struct weaker_lines lines;
    emit_plan_reloaded(writer, clock_wall_us(), field_version(plan->version),
                       field_fingerprint(span_of(plan->fingerprint)),
                       field_fingerprint_before(reload->fingerprint_before),
                       field_trigger(reload->trigger), field_peer(reload->peer),
                       field_file(reload->file), field_weaker(weaker_names(reload->weaker, &lines)),
                       field_units_moved_ppm(reload->units_moved_ppm),
                       field_message(reload->message));
}

void signal_plan_refused(struct signal_writer *writer, const struct plan *served,
                         const struct signal_reload *reload, const struct err *first, int errors)
{
    struct weaker_lines lines;
    emit_plan_refused(writer, clock_wall_us(), field_version(served->version),
                      field_trigger(reload->trigger), field_peer(reload->peer),
                      field_file(reload->file), field_weaker(weaker_names(reload->weaker, &lines)),
                      field_code(span_of(err_name(first->code))), field_line(first->line),
                      field_column(first->column), field_message(span_of(first->text)),
                      field_errors(errors));
}

void signal_version_reused(struct signal_writer *writer, const struct plan *plan)
{
    emit_version_reused(writer, clock_wall_us(), field_version(plan->version),
                        field_fingerprint(span_of(plan->fingerprint)));
}

void signal_accept_paused(struct signal_writer *writer, enum signal_counter counter,
                          int connections)
{
    bool memory = counter == COUNTER_ACCEPT_PAUSED_MEMORY;
    INVARIANT(memory || counter == COUNTER_ACCEPT_PAUSED_DESCRIPTORS);
    signal_count(writer, counter);
    emit_accept_paused(writer, clock_wall_us(),
                       field_reason(memory ? SPAN("memory") : SPAN("descriptors")),
                       field_connections(connections));
}

void signal_descriptors_short(struct signal_writer *writer, int connections, int connections_max,
                              int64_t descriptors)
{
    emit_descriptors_short(writer, clock_wall_us(), field_connections(connections),
                           field_connections_max(connections_max), field_descriptors(descriptors));
}

void signal_operations_exposed(struct signal_writer *writer, struct span admin)
{
    emit_operations_exposed(writer, clock_wall_us(), field_admin(admin));
}

void signal_connections_max_reached(struct signal_writer *writer, int connections)
{
    signal_count(writer, COUNTER_CONNECTIONS_REFUSED_MAX);
    emit_connections_max_reached(writer, clock_wall_us(), field_connections(connections));
}

void signal_per_address_max_reached(struct signal_writer *writer, struct span peer, int connections)
{
    signal_count(writer, COUNTER_CONNECTIONS_REFUSED_PER_ADDRESS);
    emit_per_address_max_reached(writer, clock_wall_us(), field_peer(peer),
                                 field_connections(connections));
}

void signal_buffers_max_reached(struct signal_writer *writer, int connections)
{
    signal_count(writer, COUNTER_CONNECTIONS_REFUSED_BUFFERS);
    emit_buffers_max_reached(writer, clock_wall_us(), field_connections(connections));
}
