/* The section `server`. Nothing in it changes a decision. */
#include "plan/key.h"

#include "plan/units.h"

#define KEY_ADDRESS(member) \
    .kind = &kind_address, .offset = KEY_FIELD(struct span, settings_server, member)

/* ---- addresses ---- */

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

static void read_address(struct load *l, const struct yaml_tree *node, const struct key *key,
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
        *(struct span *)key_field(into, key) = arena_copy(&l->settings->arena, text);
}

static void print_address(struct print *p, const struct key *key, const void *from)
{
    print_quoted(p->b, *(const struct span *)key_value(from, key));
}

static void schema_address(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"type\":\"string\",\"pattern\":\"^.+:[0-9]{1,5}$\"}");
}

static const struct key_kind kind_address = {read_address, print_address, schema_address,
                                             "HOST:PORT"};

/* ---- hosts ---- */

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

static void read_host(struct load *l, const struct yaml_tree *node)
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

static void read_hosts(struct load *l, const struct yaml_tree *node, const struct key *key,
                       void *into)
{
    if (!load_is_list(l, node, "a list of hosts")) return;
    for (const struct yaml_tree *child = node->first; child; child = child->next)
        read_host(l, child);
}

static void print_hosts(struct print *p, const struct key *key, const void *from)
{
    const struct settings_server *server = from;
    bool first = true;
    buf_char(p->b, '[');
    for (int i = 0; i < server->host_count; i++) {
        print_comma(p->b, &first);
        print_quoted(p->b, server->hosts[i]);
    }
    buf_char(p->b, ']');
}

static void schema_hosts(struct buf *b, const struct key *key)
{
    buf_format(b, "{\"type\":\"array\",\"maxItems\":%d,\"items\":{\"type\":\"string\"}}",
               SETTINGS_HOSTS_MAX);
}

static const struct key_kind kind_hosts = {read_hosts, print_hosts, schema_hosts, "list of hosts"};

/* ---- a number, or auto ---- */

static void read_workers(struct load *l, const struct yaml_tree *node, const struct key *key,
                         void *into)
{
    if (node->kind == TREE_SCALAR && span_is(node->text, "auto"))
        *(int *)key_field(into, key) = 0;
    else
        kind_int.read(l, node, key, into);
}

static void print_workers(struct print *p, const struct key *key, const void *from)
{
    if (*(const int *)key_value(from, key))
        kind_int.print(p, key, from);
    else
        print_word(p->b, "auto");
}

static void schema_workers(struct buf *b, const struct key *key)
{
    buf_lit(b, "{\"anyOf\":[{\"const\":\"auto\"},");
    kind_int.schema(b, key);
    buf_lit(b, "]}");
}

static const struct key_kind kind_workers = {read_workers, print_workers, schema_workers,
                                             "`auto` or", key_bound_number};

/* ---- what only has one value yet ---- */

static void read_only(struct load *l, const struct yaml_tree *node, const struct key *key,
                      void *into)
{
    struct span text;
    bool plain = node->style == TREE_PLAIN;
    if (load_text(l, node, key->initial, &text) && !(plain && span_is(text, key->initial)))
        load_error(l, node->place, "`%s` other than %s is not supported yet", key->name,
                   key->initial);
}

static void print_only(struct print *p, const struct key *key, const void *from)
{
    print_word(p->b, key->initial);
}

static void schema_only(struct buf *b, const struct key *key)
{
    bool is_text = key->initial[0] == 'n';
    buf_format(b, is_text ? "{\"const\":\"%s\"}" : "{\"const\":%s}", key->initial);
}

static const struct key_kind kind_only = {read_only, print_only, schema_only, ""};

/* ---- the section ---- */

static const struct key server_rows[] = {
    {"listen", KEY_ADDRESS(listen), .initial = SETTINGS_LISTEN, .at_start = true,
     .help = "where decisions are asked for; unless the socket is "
             "[inherited](http.md#sockets-from-systemd-or-from-another-holder)"},
    {"admin", KEY_ADDRESS(admin), .initial = SETTINGS_ADMIN, .at_start = true,
     .help = "health, metrics, signals, drills, reload. It asks nobody who they are: keep it off "
             "the open network. Beyond loopback, the line `operations_exposed` warns at the start. "
             "Unless inherited"},
    {"hosts", .kind = &kind_hosts,
     .help = "up to 32 further names and addresses, without a port, by which the operations port "
             "may be called: see [http.md](http.md#operations). A reload applies them"},
    {"workers", .kind = &kind_workers, .offset = KEY_FIELD(int, settings_server, workers), .min = 1,
     .max = 240, .initial = "auto", .at_start = true,
     .help = "`auto`: what CPU affinity and quota allow"},
    {"connections_max", KEY_INT(settings_server, connections_max), .min = 1, .max = 1000000,
     .initial = "10000", .at_start = true,
     .help = "when so many are open, the ones that have been silent the longest [give "
             "way](http.md#errors); where none is silent, a further one is answered 503"},
    {"per_address_max", KEY_INT(settings_server, per_address_max), .max = 1000000, .initial = "0",
     .at_start = true,
     .help = "connections to `listen` from one address: an IPv4 address, or an IPv6 address's /64. "
             "0: no limit. More are answered 503. Behind a proxy all callers have the proxy's "
             "address, and share this: leave it at 0 there"},
    {"drain", KEY_DURATION(settings_server, drain_ms), .max = UNIT_HOUR_MS, .initial = "10s",
     .help = "how long requests are still served after SIGTERM; what happens "
             "[then](http.md#start-and-stop)"},
    {"head_timeout", KEY_DURATION(settings_server, head_timeout_ms), .min = 1, .max = UNIT_HOUR_MS,
     .initial = "5s", .at_start = true, .help = "for a request's head to arrive, once it began"},
    {"body_timeout", KEY_DURATION(settings_server, body_timeout_ms), .min = 1, .max = UNIT_HOUR_MS,
     .initial = "5s", .at_start = true, .help = "for its body"},
    {"answer_timeout", KEY_DURATION(settings_server, answer_timeout_ms), .min = 1,
     .max = UNIT_HOUR_MS, .initial = "5s", .at_start = true,
     .help = "for the caller to take the answer"},
    {"idle_timeout", KEY_DURATION(settings_server, idle_timeout_ms), .min = 1, .max = UNIT_DAY_MS,
     .initial = "120s", .at_start = true, .help = "for the next request on a connection"},
    {"data", .kind = &kind_only, .initial = "none",
     .help = "*not yet* another: a directory to keep history in"},
    {"watch", .kind = &kind_only, .initial = "false",
     .help = "*not yet* `true`: reload when the file changes"},
    {"token_file", NULL, .help = "a token for the operations port"},
};
const struct key_table server_keys = KEY_TABLE("server", server_rows);

static void read_server(struct load *l, const struct yaml_tree *node, const struct key *key,
                        void *into)
{
    struct settings_server *server = &l->settings->server;
    if (!load_is_mapping(l, node, "a mapping of the server's settings")) return;
    int told = load_errors_told(l);
    keys_read(l, node, &server_keys, server);
    if (load_errors_told(l) > told || load_is_damaged(node))
        return; /* one of them may not be as it stands */
    const struct yaml_tree *admin = yaml_tree_find(node, SPAN("admin"));
    bool any_port =
        server->admin.len > 2 && memcmp(server->admin.data + server->admin.len - 2, ":0", 2) == 0;
    if (span_equal(server->listen, server->admin) && !any_port)
        load_error(l, admin ? admin->place : yaml_tree_find(node, SPAN("listen"))->place,
                   "`listen` and `admin` must differ: each port has its own work");
}

const struct key_kind kind_server = {read_server, key_print_section, key_schema_section, "mapping",
                                     .block = true};
