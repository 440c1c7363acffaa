/* signal_table: every log site and every metric, declared once.
 *
 * From these lists come the enums, the functions that tell a site (emit.h), the zeros that are
 * exported before anything fires, docs/signals.md and GET /v1/signals. A signal that is not here
 * cannot be fired, nor with other fields than it has here. Constant; any thread. */
#ifndef INTERLUDE_TABLE_SIGNAL_TABLE_H
#define INTERLUDE_TABLE_SIGNAL_TABLE_H

#include "base/span.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_LEVEL_COUNT };

/* As `log: {level: ...}` and log lines write them; ends in NULL. */
extern const char *const log_level_names[LOG_LEVEL_COUNT + 1];

/* How often a signal is expected to fire, of the times it could have. `always`: at each, since an
 * opportunity is itself a rare event that is to be told; that it is constant is then no fault, and
 * neither is that it is quiet. */
enum signal_expected {
    EXPECTED_NEVER,
    EXPECTED_RARE,
    EXPECTED_PER_REQUEST,
    EXPECTED_ALWAYS,
    EXPECTED_COUNT
};

/* What limits a site's lines: the plan's `log: {budget, sites}`, or nothing. */
enum signal_budget { BUDGET_PLAN, BUDGET_NONE };

/* What a log line may carry beside timestamp, level and event: name, kind. In the order in which a
 * line has them. An empty text, list or counts is left out. */
enum signal_field_kind {
    FIELD_KIND_TEXT,
    FIELD_KIND_LIST,
    FIELD_KIND_NUMBER,
    FIELD_KIND_PLACE,  /* a number from 1; 0, which is none, is left out */
    FIELD_KIND_COUNTS, /* by site; one that is 0 is left out */
    FIELD_KIND_FLAG,   /* true, or left out */
};

#define SIGNAL_FIELDS(X)        \
    X(drill, FLAG)              \
    X(request_id, TEXT)         \
    X(segment_id, TEXT)         \
    X(variant, TEXT)            \
    X(version, TEXT)            \
    X(missing_actions, LIST)    \
    X(invalid_actions, LIST)    \
    X(unknown_actions, LIST)    \
    X(invalid_attributes, LIST) \
    X(absent_attributes, LIST)  \
    X(requested_variant, TEXT)  \
    X(fingerprint, TEXT)        \
    X(fingerprint_before, TEXT) \
    X(trigger, TEXT)            \
    X(peer, TEXT)               \
    X(file, TEXT)               \
    X(weaker, LIST)             \
    X(units_moved_ppm, NUMBER)  \
    X(program, TEXT)            \
    X(commit, TEXT)             \
    X(pid, NUMBER)              \
    X(listen, TEXT)             \
    X(admin, TEXT)              \
    X(workers, NUMBER)          \
    X(drain_ms, NUMBER)         \
    X(reason, TEXT)             \
    X(path, TEXT)               \
    X(code, TEXT)               \
    X(line, PLACE)              \
    X(column, PLACE)            \
    X(message, TEXT)            \
    X(errors, NUMBER)           \
    X(connections, NUMBER)      \
    X(connections_max, NUMBER)  \
    X(descriptors, NUMBER)      \
    X(signal, TEXT)             \
    X(fired, NUMBER)            \
    X(opportunities, NUMBER)    \
    X(window_ms, NUMBER)        \
    X(suppressed, COUNTS)       \
    X(dropped, COUNTS)          \
    X(sink_gone, NUMBER)        \
    X(disk_full, NUMBER)        \
    X(label_sets, NUMBER)       \
    X(series, NUMBER)           \
    X(series_max, NUMBER)

#define SIGNAL_FIELD_ENUM(name, kind) FIELD_##name,
enum signal_field_id { SIGNAL_FIELDS(SIGNAL_FIELD_ENUM) FIELD_COUNT };
#undef SIGNAL_FIELD_ENUM

/* A site's fields: a list, in the order above. What tells the site is made from it (emit.h), and so
 * is its row in docs/signals.md. */
#define FIELDS_REQUEST(F) F(drill) F(request_id) F(segment_id) F(variant) F(version)
#define FIELDS_POSTERIORS(F) \
    FIELDS_REQUEST(F) F(missing_actions) F(invalid_actions) F(unknown_actions)
#define FIELDS_SESSION_INVALID(F) FIELDS_REQUEST(F) F(invalid_attributes) F(absent_attributes)
#define FIELDS_UNKNOWN_VARIANT(F) FIELDS_REQUEST(F) F(requested_variant)
#define FIELDS_SERVER_STARTED(F) F(version) F(fingerprint) F(file) F(program) F(commit) F(pid)
#define FIELDS_SERVER_READY(F) F(version) F(listen) F(admin) F(workers)
#define FIELDS_SERVER_DRAINING(F) F(drain_ms) F(reason)
#define FIELDS_SERVER_STOPPED(F) F(reason)
#define FIELDS_PLAN_RELOADED(F) \
    F(version)                  \
    F(fingerprint)              \
    F(fingerprint_before) F(trigger) F(peer) F(file) F(weaker) F(units_moved_ppm) F(message)
#define FIELDS_PLAN_REFUSED(F) \
    F(version) F(trigger) F(peer) F(file) F(weaker) F(code) F(line) F(column) F(message) F(errors)
#define FIELDS_VERSION_REUSED(F) F(version) F(fingerprint)
#define FIELDS_ACCEPT_PAUSED(F) F(reason) F(connections)
#define FIELDS_DESCRIPTORS_SHORT(F) F(connections) F(connections_max) F(descriptors)
#define FIELDS_OPERATIONS_EXPOSED(F) F(admin)
#define FIELDS_CONNECTIONS_MAX_REACHED(F) F(connections)
#define FIELDS_PER_ADDRESS_MAX_REACHED(F) F(peer) F(connections)
#define FIELDS_BUFFERS_MAX_REACHED(F) F(connections)
#define FIELDS_SIGNAL_CONSTANT(F) F(signal) F(fired) F(opportunities) F(window_ms)
#define FIELDS_LOG_SUPPRESSED(F) F(suppressed) F(dropped)
#define FIELDS_LOG_LOST(F) F(sink_gone) F(disk_full)
#define FIELDS_LOG_REOPENED(F) F(path) F(message)
#define FIELDS_METRIC_OVERFLOW(F) F(label_sets) F(series) F(series_max)

#define OPPORTUNITY_POSTERIORS "a decision for which a policy was asked that reads posteriors"
#define OPPORTUNITY_AGE                                                                        \
    "a decision for which a policy with a max_posterior_age was asked, with posteriors_as_of " \
    "and at least one valid posterior"

/* enum suffix, event name, level, expected, budget, fields, what it means, what an opportunity is.
 * The posteriors_* ones stand from harmless to grave, as their statuses do. */
#define SIGNAL_SITES(X)                                                                            \
    X(POSTERIORS_PARTIAL, posteriors_partial, WARNING, RARE, PLAN, FIELDS_POSTERIORS,              \
      "Some of the actions that the policy asked uses came without posteriors",                    \
      OPPORTUNITY_POSTERIORS)                                                                      \
    X(POSTERIORS_STALE, posteriors_stale, WARNING, RARE, PLAN, FIELDS_POSTERIORS,                  \
      "The posteriors are older than the policy's max_posterior_age", OPPORTUNITY_AGE)             \
    X(POSTERIORS_ABSENT, posteriors_absent, WARNING, RARE, PLAN, FIELDS_POSTERIORS,                \
      "The policy asked reads posteriors and none of its actions came with any",                   \
      OPPORTUNITY_POSTERIORS)                                                                      \
    X(POSTERIORS_UNKNOWN_ACTION, posteriors_unknown_action, WARNING, RARE, PLAN,                   \
      FIELDS_POSTERIORS, "Posteriors were sent for an action that the plan does not have",         \
      OPPORTUNITY_POSTERIORS)                                                                      \
    X(POSTERIORS_INVALID, posteriors_invalid, WARNING, RARE, PLAN, FIELDS_POSTERIORS,              \
      "The posteriors of an action cannot be true, and count as missing", OPPORTUNITY_POSTERIORS)  \
    X(SESSION_INVALID, session_invalid, WARNING, RARE, PLAN, FIELDS_SESSION_INVALID,               \
      "An attribute of the session or of last holds no value of its type, and counts as unknown",  \
      "a decision")                                                                                \
    X(UNKNOWN_VARIANT, unknown_variant, WARNING, RARE, PLAN, FIELDS_UNKNOWN_VARIANT,               \
      "The request names a variant that the plan does not have; default_variant decided",          \
      "a decision whose request names a variant")                                                  \
    X(SERVER_STARTED, server_started, INFO, ALWAYS, PLAN, FIELDS_SERVER_STARTED,                   \
      "The process runs and has a plan", "a start")                                                \
    X(SERVER_READY, server_ready, INFO, ALWAYS, PLAN, FIELDS_SERVER_READY,                         \
      "Both ports are open and decisions are served", "a start")                                   \
    X(SERVER_DRAINING, server_draining, INFO, ALWAYS, PLAN, FIELDS_SERVER_DRAINING,                \
      "The server was told to stop; decisions are still served", "a stop")                         \
    X(SERVER_STOPPED, server_stopped, INFO, ALWAYS, PLAN, FIELDS_SERVER_STOPPED,                   \
      "The last request is answered", "a stop")                                                    \
    X(PLAN_RELOADED, plan_reloaded, INFO, ALWAYS, PLAN, FIELDS_PLAN_RELOADED,                      \
      "Every request read from now on is decided by this plan", "a reload that was asked for")     \
    X(PLAN_REFUSED, plan_refused, WARNING, RARE, PLAN, FIELDS_PLAN_REFUSED,                        \
      "A reload was refused; the plan served before is served on, and its version is told",        \
      "a reload that was asked for")                                                               \
    X(VERSION_REUSED, version_reused, WARNING, RARE, PLAN, FIELDS_VERSION_REUSED,                  \
      "A plan is served under a version that other contents had before; go by the fingerprint",    \
      "a reload that was taken")                                                                   \
    X(ACCEPT_PAUSED, accept_paused, WARNING, NEVER, PLAN, FIELDS_ACCEPT_PAUSED,                    \
      "Connections wait to be accepted: as many are open as descriptors or memory allow",          \
      "a connection that was accepted, refused or put off")                                        \
    X(DESCRIPTORS_SHORT, descriptors_short, WARNING, NEVER, PLAN, FIELDS_DESCRIPTORS_SHORT,        \
      "The limit of open files allows only so many of the plan's connections_max; raise the "      \
      "limit",                                                                                     \
      "a start")                                                                                   \
    X(OPERATIONS_EXPOSED, operations_exposed, WARNING, ALWAYS, PLAN, FIELDS_OPERATIONS_EXPOSED,    \
      "The operations port listens beyond loopback, and asks nobody who they are: whoever gets "   \
      "to "                                                                                        \
      "it can read the plan with its salts, and reload it",                                        \
      "a start with such a port")                                                                  \
    X(CONNECTIONS_MAX_REACHED, connections_max_reached, WARNING, NEVER, PLAN,                      \
      FIELDS_CONNECTIONS_MAX_REACHED, "A connection was refused because connections_max are open", \
      "a connection that was accepted, refused or put off")                                        \
    X(PER_ADDRESS_MAX_REACHED, per_address_max_reached, WARNING, NEVER, PLAN,                      \
      FIELDS_PER_ADDRESS_MAX_REACHED,                                                              \
      "A connection was refused because its address has per_address_max of them",                  \
      "a connection that was accepted, refused or put off")                                        \
    X(BUFFERS_MAX_REACHED, buffers_max_reached, WARNING, NEVER, PLAN, FIELDS_BUFFERS_MAX_REACHED,  \
      "A request or an answer found no buffer: all that may be had hold those of slow clients",    \
      "a decision, or a connection ended for want of a buffer")                                    \
    X(SIGNAL_CONSTANT, signal_constant, WARNING, NEVER, PLAN, FIELDS_SIGNAL_CONSTANT,              \
      "A signal that is declared never or rare fires nearly always, and so tells nothing",         \
      "a window of a signal that is declared never or rare")                                       \
    X(LOG_SUPPRESSED, log_suppressed, WARNING, NEVER, NONE, FIELDS_LOG_SUPPRESSED,                 \
      "By site, the records that a budget suppressed or that were dropped since the last such "    \
      "line",                                                                                      \
      "a report interval")                                                                         \
    X(LOG_LOST, log_lost, WARNING, NEVER, NONE, FIELDS_LOG_LOST,                                   \
      "The sink takes lines again; so many could not be written meanwhile",                        \
      "a return of the sink after a loss")                                                         \
    X(LOG_REOPENED, log_reopened, INFO, ALWAYS, NONE, FIELDS_LOG_REOPENED,                         \
      "The log file was opened anew; with a message: it could not be, and the old one is kept",    \
      "a reopening that was asked for")                                                            \
    X(METRIC_OVERFLOW, metric_overflow, WARNING, NEVER, NONE, FIELDS_METRIC_OVERFLOW,              \
      "So many label sets of a plan found no series, and count together as overflow; restart the " \
      "server, which frees the series of plans before it",                                         \
      "a plan that is loaded")

#define SIGNAL_SITE_ENUM(suffix, ...) SITE_##suffix,
enum signal_site { SIGNAL_SITES(SIGNAL_SITE_ENUM) SITE_COUNT };
#undef SIGNAL_SITE_ENUM

/* Those without a budget stand last, from here on: the scribe writes them itself, past every ring.
 */
#define SIGNAL_SITE_BUDGETED(suffix, name, level, expected, budget, ...) \
    +(BUDGET_##budget == BUDGET_PLAN)
enum { SITE_SCRIBE_FIRST = 0 SIGNAL_SITES(SIGNAL_SITE_BUDGETED) };
#undef SIGNAL_SITE_BUDGETED

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM, METRIC_INFO };

/* enum suffix, family name (a counter's samples add `_total`, an info's `_info`), type, labels,
 * what it means, when a sample of it moves, how often that is expected */
#define SIGNAL_METRICS(X)                                                                         \
    X(DECISIONS, "interlude_decisions", COUNTER, "variant segment_id action",                     \
      "Decisions, by the action served", "a decision", PER_REQUEST)                               \
    X(ASSIGNMENTS, "interlude_assignments", COUNTER, "experiment assignment variant",             \
      "Decisions, by how their variant was found; experiment is none outside of one",             \
      "a decision", PER_REQUEST)                                                                  \
    X(POSTERIORS, "interlude_posteriors", COUNTER, "variant segment_id status",                   \
      "Decisions, by the gravest status of the posteriors; sums to the decisions", "a decision",  \
      PER_REQUEST)                                                                                \
    X(STATE, "interlude_state", COUNTER, "variant status",                                        \
      "Decisions, by the status of the session state; sums to the decisions", "a decision",       \
      PER_REQUEST)                                                                                \
    X(MISSING_POSTERIORS, "interlude_missing_posteriors", COUNTER,                                \
      "variant segment_id missing_action version",                                                \
      "Actions that the policy asked uses and that came without valid posteriors",                \
      OPPORTUNITY_POSTERIORS, RARE)                                                               \
    X(POSTERIORS_UNUSED, "interlude_posteriors_unused", COUNTER, "variant",                       \
      "Posteriors sent for actions of the plan that the policy asked does not use",               \
      OPPORTUNITY_POSTERIORS, RARE)                                                               \
    X(ATTRIBUTE_UNKNOWN, "interlude_attribute_unknown", COUNTER, "attribute why",                 \
      "Attributes that were needed and unknown, because absent or invalid", "a decision", RARE)   \
    X(GUARDRAIL, "interlude_guardrail", COUNTER, "variant guardrail",                             \
      "Decisions in which the guardrail took away an action", "a decision", PER_REQUEST)          \
    X(FALLBACK, "interlude_fallback", COUNTER, "variant reason",                                  \
      "Decisions left to the policy's fallback", OPPORTUNITY_POSTERIORS, RARE)                    \
    X(RULE_ERRORS, "interlude_rule_errors", COUNTER, "variant",                                   \
      "Rules that ended in an error, and so did not match", "a decision by rules", RARE)          \
    X(ADS_DECIDED, "interlude_ads_decided", COUNTER, "variant", "Ads in the pods decided",        \
      "a decision", PER_REQUEST)                                                                  \
    X(COVERED_SECONDS, "interlude_covered_seconds", COUNTER, "variant",                           \
      "Seconds until the next decision is due: cooldowns, and the longest play of the pods "      \
      "before "                                                                                   \
      "them; ads decided by covered hours is the planned dose",                                   \
      "a decision", PER_REQUEST)                                                                  \
    X(REQUEST_DURATION, "interlude_request_duration_seconds", HISTOGRAM, "variant",               \
      "From the return of the epoll_wait that saw a request's last byte to the end of its write", \
      "a decision", PER_REQUEST)                                                                  \
    X(STAGE_SECONDS, "interlude_stage_seconds", COUNTER, "stage",                                 \
      "Where the time of sampled requests goes; divide by the samples", "a sampled request",      \
      PER_REQUEST)                                                                                \
    X(STAGE_SAMPLES, "interlude_stage_samples", COUNTER, "stage",                                 \
      "Requests in which the stage was timed", "a sampled request", PER_REQUEST)                  \
    X(HTTP_REQUESTS, "interlude_http_requests", COUNTER, "code",                                  \
      "Requests answered on the decision port, by status; but for GET /readyz", "an answer",      \
      PER_REQUEST)                                                                                \
    X(CONNECTIONS, "interlude_connections", GAUGE, "", "Open connections on the decision port",   \
      "a connection's life", PER_REQUEST)                                                         \
    X(CONNECTIONS_MAX, "interlude_connections_max", GAUGE, "", "The limit of open connections",   \
      "a start", NEVER)                                                                           \
    X(CONNECTIONS_ACCEPTED, "interlude_connections_accepted", COUNTER, "",                        \
      "Connections accepted on the decision port", "a connection", RARE)                          \
    X(CONNECTIONS_REFUSED, "interlude_connections_refused", COUNTER, "reason",                    \
      "Connections refused or ended because of a limit", "a connection", NEVER)                   \
    X(CONNECTIONS_UNTOLD, "interlude_connections_untold", COUNTER, "",                            \
      "Connections refused that were ended without an answer: no request came within a second, "  \
      "or too many others waited to be told",                                                     \
      "a connection", NEVER)                                                                      \
    X(SCRAPES_CUT, "interlude_scrapes_cut", COUNTER, "",                                          \
      "Scrapes cut off because their reader was so slow that their text was needed again",        \
      "a scrape", NEVER)                                                                          \
    X(ACCEPT_PAUSED, "interlude_accept_paused", COUNTER, "reason",                                \
      "Times that accepting paused because the system ran out of something", "a connection",      \
      NEVER)                                                                                      \
    X(WORKERS, "interlude_workers", GAUGE, "", "Worker threads", "a start", NEVER)                \
    X(LOOP_LAG, "interlude_loop_lag_seconds", GAUGE, "",                                          \
      "The longest turn of a worker's loop that ended in the last 10 s, or has not ended yet",    \
      "a loop turn", PER_REQUEST)                                                                 \
    X(THREAD_STALLED, "interlude_thread_stalled", GAUGE, "thread",                                \
      "1 if the thread stands still: worker-N, acceptor and scribe (which writes the log) if "    \
      "they "                                                                                     \
      "have not turned for 5 s, reload for 15 s; time in which the whole process stood still is " \
      "not counted",                                                                              \
      "a scrape", NEVER)                                                                          \
    X(LOG_RECORDS, "interlude_log_records", COUNTER, "signal outcome",                            \
      "What became of log records; with those queued, sums to those fired", "a record fired",     \
      RARE)                                                                                       \
    X(LOG_QUEUED, "interlude_log_queued_records", GAUGE, "signal",                                \
      "Records fired that have no outcome yet", "a record fired", RARE)                           \
    X(LOG_LOST, "interlude_log_lost", COUNTER, "reason", "Records dropped, by reason",            \
      "a record fired", NEVER)                                                                    \
    X(SIGNAL_FIRED, "interlude_signal_fired", COUNTER, "signal", "Times that a log site fired",   \
      "its site's opportunity", RARE)                                                             \
    X(SIGNAL_OPPORTUNITIES, "interlude_signal_opportunities", COUNTER, "signal",                  \
      "Times that a log site could have fired", "its site's opportunity", PER_REQUEST)            \
    X(SIGNAL_STATE, "interlude_signal_state", GAUGE, "signal state",                              \
      "1 for the state that a log site is in, 0 for the others", "a window", RARE)                \
    X(METRIC_SERIES, "interlude_metric_series", GAUGE, "",                                        \
      "Series that hold a cell; an interval of a histogram counts as one", "a plan is loaded",    \
      RARE)                                                                                       \
    X(METRIC_SERIES_MAX, "interlude_metric_series_max", GAUGE, "", "The limit of series",         \
      "a start", NEVER)                                                                           \
    X(METRIC_OVERFLOW, "interlude_metric_overflow", COUNTER, "",                                  \
      "What was counted in no series of its own, because the limit of series was reached; "       \
      "seconds and ads are not counted again",                                                    \
      "a count", NEVER)                                                                           \
    X(RELOAD_SUCCESSFUL, "interlude_config_last_reload_successful", GAUGE, "",                    \
      "1 if the last load of the plan succeeded, 0 if it was refused",                            \
      "a reload that was asked for", RARE)                                                        \
    X(RELOAD_TIMESTAMP, "interlude_config_last_reload_success_timestamp_seconds", GAUGE, "",      \
      "When a plan was last loaded with success, in seconds since 1970",                          \
      "a reload that was asked for", RARE)                                                        \
    X(BUILD_INFO, "interlude_build", INFO, "version commit", "The program that runs", "a start",  \
      NEVER)                                                                                      \
    X(PLAN_INFO, "interlude_plan", INFO, "version fingerprint", "The plan that is served",        \
      "a plan is loaded", RARE)                                                                   \
    X(PLAN_FILE_INFO, "interlude_plan_file", INFO, "fingerprint",                                 \
      "What a reload of the plan's file would serve; invalid: it would be refused",               \
      "a look at the file, every 10 s", RARE)                                                     \
    X(PROCESS_CPU, "process_cpu_seconds", COUNTER, "",                                            \
      "Total user and system CPU time spent in seconds", "a scrape", PER_REQUEST)                 \
    X(PROCESS_OPEN_FDS, "process_open_fds", GAUGE, "", "Number of open file descriptors",         \
      "a scrape", PER_REQUEST)                                                                    \
    X(PROCESS_MAX_FDS, "process_max_fds", GAUGE, "", "Maximum number of open file descriptors",   \
      "a scrape", PER_REQUEST)                                                                    \
    X(PROCESS_VIRTUAL, "process_virtual_memory_bytes", GAUGE, "", "Virtual memory size in bytes", \
      "a scrape", PER_REQUEST)                                                                    \
    X(PROCESS_RESIDENT, "process_resident_memory_bytes", GAUGE, "",                               \
      "Resident memory size in bytes", "a scrape", PER_REQUEST)                                   \
    X(PROCESS_START, "process_start_time_seconds", GAUGE, "",                                     \
      "Start time of the process in seconds since 1970", "a start", NEVER)

#define SIGNAL_METRIC_ENUM(suffix, name, type, labels, help, moves, expected) METRIC_##suffix,
enum signal_metric { SIGNAL_METRICS(SIGNAL_METRIC_ENUM) METRIC_COUNT };
#undef SIGNAL_METRIC_ENUM

enum { METRIC_LABELS_MAX = 4 };

struct signal_site_row {
    const char *name;
    enum log_level level;
    enum signal_expected expected;
    enum signal_budget budget;
    const char *fields; /* names, a space between them */
    const char *help, *opportunity;
};

struct signal_metric_row {
    const char *name;
    enum metric_type type;
    const char *labels; /* names, a space between them; at most METRIC_LABELS_MAX */
    const char *help, *moves;
    enum signal_expected expected;
};

struct signal_field_row {
    const char *name;
    enum signal_field_kind kind;
};

extern const struct signal_site_row signal_sites[SITE_COUNT];
extern const struct signal_metric_row signal_metrics[METRIC_COUNT];
extern const struct signal_field_row signal_fields[FIELD_COUNT];

/* What becomes of a record that was fired: it is `queued` until it has one of these. */
#define SIGNAL_OUTCOMES(X)      \
    X(WRITTEN, "written")       \
    X(DROPPED, "dropped")       \
    X(SUPPRESSED, "suppressed") \
    X(OUTRANKED, "outranked")

/* What a site's firings are worth: see watch.h. */
#define SIGNAL_STATES(X)    \
    X(CONSTANT, "constant") \
    X(QUIET, "quiet")       \
    X(NORMAL, "normal")

/* Why a record was dropped. */
#define SIGNAL_LOSSES(X)      \
    X(RING_FULL, "ring_full") \
    X(SINK_GONE, "sink_gone") \
    X(DISK_FULL, "disk_full") \
    X(SHUTDOWN, "shutdown")

#define SIGNAL_OUTCOME_ENUM(suffix, name) OUTCOME_##suffix,
enum signal_outcome { SIGNAL_OUTCOMES(SIGNAL_OUTCOME_ENUM) OUTCOME_COUNT };
#undef SIGNAL_OUTCOME_ENUM
#define SIGNAL_STATE_ENUM(suffix, name) SIGNAL_STATE_##suffix,
enum signal_state { SIGNAL_STATES(SIGNAL_STATE_ENUM) SIGNAL_STATE_COUNT };
#undef SIGNAL_STATE_ENUM
#define SIGNAL_LOSS_ENUM(suffix, name) LOSS_##suffix,
enum signal_loss { SIGNAL_LOSSES(SIGNAL_LOSS_ENUM) LOSS_COUNT };
#undef SIGNAL_LOSS_ENUM

const char *signal_outcome_name(enum signal_outcome outcome);
const char *signal_loss_name(enum signal_loss loss);
const char *signal_state_name(enum signal_state state);
const char *signal_expected_name(enum signal_expected expected);
const char *signal_budget_name(enum signal_budget budget);

/* The sites' names: SITE_COUNT of them. The first SITE_SCRIBE_FIRST are those that a plan's
 * `log: {sites: ...}` may give a budget. */
const struct span *signal_site_names(void);

#endif
