/* settings: what a plan's file says that decides nothing: where to listen, limits, the log.
 *
 * A plan's file has two parts. What bears on a decision is the plan (decide/plan.h); what it is
 * served with is this. They are loaded together, and apart from then on: whoever decides in a
 * process of their own has no use for settings, and two servers on different ports serve one plan.
 *
 * Threads: immutable once loaded. Ownership: everything hangs in the settings' own arena. */
#ifndef INTERLUDE_PLAN_SETTINGS_H
#define INTERLUDE_PLAN_SETTINGS_H

#include "base/arena.h"
#include "base/hash.h"
#include "table/signal_table.h"

enum { SETTINGS_HOSTS_MAX = 32 };

/* Where the plan names no other. */
#define SETTINGS_LISTEN "127.0.0.1:7070"
#define SETTINGS_ADMIN "127.0.0.1:7071"

struct settings_server {
    struct span listen, admin; /* HOST:PORT */
    /* Names and addresses, without a port and brackets, by which the operations port may be called
     * beside its own. */
    struct span hosts[SETTINGS_HOSTS_MAX];
    int host_count;
    int workers; /* 0: auto */
    int connections_max;
    int per_address_max; /* 0: no limit */
    int64_t drain_ms, head_timeout_ms, body_timeout_ms, answer_timeout_ms, idle_timeout_ms;
};

enum log_sink { LOG_STDOUT, LOG_STDERR, LOG_FILE };

struct log_budget {
    double rate; /* lines a second; 0: none; infinity: unlimited */
    double burst;
};

struct settings_log {
    enum log_level level;
    enum log_sink sink;
    struct span file; /* NUL-terminated path, where sink is LOG_FILE */
    struct log_budget budget;
    struct {
        bool own; /* this site has a budget of its own */
        struct log_budget budget;
    } sites[SITE_COUNT];
};

struct settings {
    struct arena arena;
    struct hash128 identity; /* a hash of all of them */
    struct settings_server server;
    struct settings_log log;
};

/* Dotted names of keys, as "server.listen". */
enum { SETTINGS_NAMES_MAX = 16 };
struct settings_names {
    int count;
    char names[SETTINGS_NAMES_MAX][40];
};

/* What `now` has otherwise than `started`, and only a start applies. */
void settings_not_applied(const struct settings *started, const struct settings *now,
                          struct settings_names *out);

/* NULL is allowed. */
void settings_free(struct settings *settings);

#endif
