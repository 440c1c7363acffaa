#include "plan/load.h"

#include "base/printed.h"

#include <math.h>

#define MINUTE_MS ((int64_t)60 * 1000)

/* ---- server ---- */

static key_read load_address, load_hosts, load_workers, load_data, load_watch;

#define FIELD(name) offsetof(struct settings_server, name)

static const struct key server_keys[] = {
    {"listen", load_address, FIELD(listen)},
    {"admin", load_address, FIELD(admin)},
    {"hosts", load_hosts},
    {"workers", load_workers, FIELD(workers), 1, 240},
    {"connections_max", load_key_int, FIELD(connections_max), 1, 1000000},
    {"per_address_max", load_key_int, FIELD(per_address_max), 0, 1000000},
    {"drain", load_key_duration, FIELD(drain_ms), 0, 60 * MINUTE_MS},
    {"head_timeout", load_key_duration, FIELD(head_timeout_ms), 1, 60 * MINUTE_MS},
    {"body_timeout", load_key_duration, FIELD(body_timeout_ms), 1, 60 * MINUTE_MS},
    {"answer_timeout", load_key_duration, FIELD(answer_timeout_ms), 1, 60 * MINUTE_MS},
    {"idle_timeout", load_key_duration, FIELD(idle_timeout_ms), 1, 24 * 60 * MINUTE_MS},
    {"data", load_data},
    {"watch", load_watch},
    {"token_file", NULL},
};
const struct key_table load_server_keys = KEY_TABLE("server", server_keys);

static bool all_of(struct span text, const char *more)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && (c < '0' || c > '9') && (c == '\0' || !strchr(more, c))) return false;
    }
    return true;
}

enum { PORT_MAX = 65535 };

/* Digits as a number, which stays above PORT_MAX once it is; -1: it is none. */
static int port_number(struct span text)
{
    int port = text.len ? 0 : -1;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return -1;
        if (port <= PORT_MAX) port = port * 10 + (text.data[i] - '0');
    }
    return text.len > 5 && port <= PORT_MAX ? -1 : port;
}

/* HOST:PORT, with an IPv6 address in brackets. Whether the host exists is for the server to find
 * out. */
static bool is_address(struct span text, int *port)
{
    size_t colon = text.len;
    while (colon > 0 && text.data[colon - 1] != ':') colon--;
    if (colon < 2 || text.len > 255) return false;
    struct span host = {text.data, colon - 1};
    *port = port_number((struct span){text.data + colon, text.len - colon});
    bool brackets = host.len > 2 && host.data[0] == '[' && host.data[host.len - 1] == ']';
    bool ok =
        brackets ? all_of((struct span){host.data + 1, host.len - 2}, ":.%") : all_of(host, ".-_");
    return ok && *port >= 0;
}

static void load_address(struct load *l, const struct yaml_tree *node, const struct key *key,
                         void *into)
{
    static const char what[] = "HOST:PORT, as 127.0.0.1:7070 or [::1]:7070";
    struct span text;
    int port;
    if (!load_text(l, node, what, &text)) return;
    if (!is_address(text, &port))
        load_error(l, node->place, "expected %s, found `%s`", what, load_show(text).text);
    else if (port > PORT_MAX)
        load_error(l, node->place, "expected a port from 0 to 65535, found `%s`",
                   load_show(text).text);
    else
        *(struct span *)load_field(into, key) = arena_copy(&l->settings->arena, text);
}

/* Of hexadecimal digits, colons and dots, with two colons at least: an IPv6 address, as far as it
 * can be told from a name with a port. */
static bool is_v6(struct span text)
{
    int colons = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (!digit && c != ':' && c != '.') return false;
        colons += c == ':';
    }
    return colons >= 2 && text.len <= 45;
}

static void load_host(struct load *l, const struct yaml_tree *node)
{
    static const char what[] = "a host's name or address without a port, as ops.example or ::1";
    struct settings_server *server = &l->settings->server;
    struct span text;
    if (!load_text(l, node, what, &text)) return;
    struct span host = text;
    bool brackets = text.len > 2 && text.data[0] == '[' && text.data[text.len - 1] == ']';
    if (brackets) host = (struct span){text.data + 1, text.len - 2};
    bool name = !brackets && host.len > 0 && host.len <= 253 && all_of(host, ".-_");
    if (!name && !is_v6(host))
        load_error(l, node->place, "expected %s, found `%s`", what, load_show(text).text);
    else if (server->host_count == SETTINGS_HOSTS_MAX)
        load_error(l, node->place, "at most %d hosts are allowed", SETTINGS_HOSTS_MAX);
    else
        server->hosts[server->host_count++] = arena_copy(&l->settings->arena, host);
}

static void load_hosts(struct load *l, const struct yaml_tree *node, const struct key *key,
                       void *into)
{
    (void)key, (void)into;
    if (!load_is_list(l, node, "a list of hosts")) return;
    for (const struct yaml_tree *child = node->first; child; child = child->next)
        load_host(l, child);
}

static void load_workers(struct load *l, const struct yaml_tree *node, const struct key *key,
                         void *into)
{
    if (node->kind == TREE_SCALAR && span_is(node->text, "auto"))
        *(int *)load_field(into, key) = 0;
    else
        load_key_int(l, node, key, into);
}

static void load_data(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    (void)key, (void)into;
    struct span text;
    if (load_text(l, node, "none", &text) && !span_is(text, "none"))
        load_error(l, node->place, "`data` other than none is not supported yet");
}

static void load_watch(struct load *l, const struct yaml_tree *node, const struct key *key,
                       void *into)
{
    (void)key, (void)into;
    static const struct key self = {.name = "watch"};
    bool watch = false;
    load_key_bool(l, node, &self, &watch);
    if (watch) load_error(l, node->place, "`watch: true` is not supported yet");
}

void load_server(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    (void)key, (void)into;
    struct settings_server *server = &l->settings->server;
    if (!load_is_mapping(l, node, "a mapping of the server's settings")) return;
    int told = load_errors_told(l);
    load_keys(l, node, &load_server_keys, server);
    if (load_errors_told(l) > told || load_is_damaged(node))
        return; /* one of them may not be as it stands */
    const struct yaml_tree *admin = yaml_tree_find(node, SPAN("admin"));
    bool any_port =
        server->admin.len > 2 && memcmp(server->admin.data + server->admin.len - 2, ":0", 2) == 0;
    if (span_equal(server->listen, server->admin) && !any_port)
        load_error(l, admin ? admin->place : yaml_tree_find(node, SPAN("listen"))->place,
                   "`listen` and `admin` must differ: each port has its own work");
}

/* ---- log ---- */

static key_read load_sink, load_file, load_rate, load_budget, load_sites;

/* `budget` before `sites`: a site takes its burst from there. */
static const struct key log_keys[] = {
    {"level", load_key_word, offsetof(struct settings_log, level), .words = log_level_names},
    {"sink", load_sink},
    {"budget", load_budget, offsetof(struct settings_log, budget)},
    {"sites", load_sites},
};
const struct key_table load_log_keys = KEY_TABLE("log", log_keys);

static const struct key sink_keys[] = {
    {"file", load_file, offsetof(struct settings_log, file), .required = true},
};
const struct key_table load_sink_keys = KEY_TABLE("log.sink", sink_keys);

static const struct key budget_keys[] = {
    {"rate", load_rate, offsetof(struct log_budget, rate), 0, 1000000, .required = true},
    {"burst", load_key_double, offsetof(struct log_budget, burst), 1, 1000000},
};
const struct key_table load_budget_keys = KEY_TABLE("log.budget", budget_keys);

static void load_file(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    struct span text;
    if (!load_text(l, node, "a path", &text)) return;
    bool ok = text.len > 0 && text.len < 4096;
    uint32_t code;
    for (size_t i = 0; i < text.len; i++)
        if (printed_control(text.data + i, text.data + text.len, &code)) ok = false;
    if (!ok)
        load_error(l, node->place, "expected a path of 1 to 4095 bytes, all printable");
    else
        *(struct span *)load_field(into, key) = arena_copy(&l->settings->arena, text);
}

static void load_sink(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    (void)key;
    struct settings_log *log = into;
    if (node->kind == TREE_MAPPING) {
        log->sink = LOG_FILE;
        load_keys(l, node, &load_sink_keys, log);
        return;
    }
    struct span text;
    if (!load_text(l, node, "stdout, stderr or {file: PATH}", &text)) return;
    if (span_is(text, "stdout"))
        log->sink = LOG_STDOUT;
    else if (span_is(text, "stderr"))
        log->sink = LOG_STDERR;
    else
        load_error(l, node->place, "expected stdout, stderr or {file: PATH}, found `%s`",
                   load_show(text).text);
}

static void load_rate(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    if (node->kind == TREE_SCALAR && span_is(node->text, "unlimited"))
        *(double *)load_field(into, key) = INFINITY;
    else
        load_key_double(l, node, key, into);
}

static void load_budget(struct load *l, const struct yaml_tree *node, const struct key *key,
                        void *into)
{
    if (load_is_mapping(l, node, "a budget, {rate, burst}"))
        load_keys(l, node, &load_budget_keys, load_field(into, key));
}

static void load_sites(struct load *l, const struct yaml_tree *node, const struct key *key,
                       void *into)
{
    static const struct key self = {.name = ""};
    (void)key;
    struct settings_log *log = into;
    const struct span *names = signal_site_names();
    if (!load_is_mapping(l, node, "a mapping from signal to {rate, burst}")) return;
    for (const struct yaml_tree *child = node->first; child; child = child->next) {
        struct span name = child->key->text;
        int site = 0;
        while (site < SITE_COUNT && !span_equal(names[site], name)) site++;
        if (site == SITE_COUNT)
            load_error(l, child->key->place, "there is no signal `%s` with a log line%s",
                       load_show(name).text, load_nearest(name, names, SITE_SCRIBE_FIRST).text);
        else if (site >= SITE_SCRIBE_FIRST)
            load_error(l, child->key->place, "`%s` has no budget: its lines are always written",
                       load_show(name).text);
        struct log_budget budget = log->budget;
        load_budget(l, child, &self, &budget);
        if (site == SITE_COUNT) continue;
        log->sites[site].own = true;
        log->sites[site].budget = budget;
    }
}

void load_log(struct load *l, const struct yaml_tree *node, const struct key *key, void *into)
{
    (void)key, (void)into;
    if (load_is_mapping(l, node, "a mapping of the log's settings"))
        load_keys(l, node, &load_log_keys, &l->settings->log);
}
