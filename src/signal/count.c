/* What a decision tells. The ordinary one, without an anomaly, takes six counts and asks a few
 * questions; everything else hangs on a bit that decide() set. */
#include "signal/cells.h"
#include "signal/emit.h"

enum {
    POSTERIORS_ANOMALIES = 1u << POSTERIORS_PARTIAL | 1u << POSTERIORS_STALE |
                           1u << POSTERIORS_ABSENT | 1u << POSTERIORS_UNKNOWN_ACTION |
                           1u << POSTERIORS_INVALID,
    POSTERIORS_SOME_MISSING =
        1u << POSTERIORS_PARTIAL | 1u << POSTERIORS_ABSENT | 1u << POSTERIORS_INVALID,
};

/* One decision, as the functions below see it. */
struct telling {
    struct signal_writer *writer;
    const struct signal_cells *cells;
    const struct plan *plan;
    const struct request *request;
    const struct decision *decision;
    int64_t wall_us;
    bool drill;
};

/* ---- records ---- */

static struct span variant(const struct telling *t)
{
    return t->decision->variant_unknown ? SPAN(VARIANT_UNKNOWN_NAME)
                                        : t->plan->variants[t->decision->variant].name;
}

static struct names actions(const struct telling *t, action_set set)
{
    return (struct names){&t->plan->actions.actions[0].name, sizeof(struct action), set, false};
}

static struct names unknown_actions(const struct request *request)
{
    int n = request->unknown_actions;
    if (n > REQUEST_UNKNOWN_NAMES_MAX) n = REQUEST_UNKNOWN_NAMES_MAX;
    return (struct names){request->unknown_names, sizeof(struct span), (1u << n) - 1,
                          request->unknown_names_cut};
}

static struct names attributes(const struct telling *t, uint64_t slots)
{
    return (struct names){&t->plan->schema.attributes[0].name, sizeof(struct attribute), slots,
                          false};
}

/* What every site of a request has: FIELDS_REQUEST. */
#define REQUEST_FIELDS(t)                                                      \
    field_drill((t)->drill), field_request_id((t)->request->request_id),       \
        field_segment_id((t)->request->segment_id), field_variant(variant(t)), \
        field_version((t)->plan->version)

static void tell_session(const struct telling *t)
{
    const struct session_state *state = &t->decision->state;
    emit_session_invalid(t->writer, t->wall_us, REQUEST_FIELDS(t),
                         field_invalid_attributes(attributes(t, state->invalid)),
                         field_absent_attributes(attributes(t, state->unknown)));
}

static void tell_unknown_variant(const struct telling *t)
{
    emit_unknown_variant(t->writer, t->wall_us, REQUEST_FIELDS(t),
                         field_requested_variant(t->request->variant_name));
}

/* Five functions that differ in nothing but their site. */
#define TELL_POSTERIORS(name)                                                        \
    static void tell_##name(const struct telling *t)                                 \
    {                                                                                \
        const struct presence *presence = &t->decision->presence;                    \
        emit_posteriors_##name(t->writer, t->wall_us, REQUEST_FIELDS(t),             \
                               field_missing_actions(actions(t, presence->missing)), \
                               field_invalid_actions(actions(t, presence->invalid)), \
                               field_unknown_actions(unknown_actions(t->request)));  \
    }
TELL_POSTERIORS(invalid)
TELL_POSTERIORS(unknown_action)
TELL_POSTERIORS(absent)
TELL_POSTERIORS(stale)
TELL_POSTERIORS(partial)
#undef TELL_POSTERIORS

static const struct {
    enum posteriors_status status;
    enum signal_site site;
    void (*tell)(const struct telling *t);
} anomalies[] = {
    /* From the gravest down: the first that holds has the line. */
    {POSTERIORS_INVALID, SITE_POSTERIORS_INVALID, tell_invalid},
    {POSTERIORS_UNKNOWN_ACTION, SITE_POSTERIORS_UNKNOWN_ACTION, tell_unknown_action},
    {POSTERIORS_ABSENT, SITE_POSTERIORS_ABSENT, tell_absent},
    {POSTERIORS_STALE, SITE_POSTERIORS_STALE, tell_stale},
    {POSTERIORS_PARTIAL, SITE_POSTERIORS_PARTIAL, tell_partial},
};

/* ---- counts and records of what is not ordinary ---- */

static void posteriors_missing(const struct telling *t, const uint32_t *missing_cells)
{
    const struct presence *presence = &t->decision->presence;
    if (!(presence->conditions & POSTERIORS_SOME_MISSING)) return;
    action_set lacking = presence->missing | presence->invalid;
    for (; lacking; lacking = (action_set)(lacking & (lacking - 1)))
        signal_add(t->writer, missing_cells[__builtin_ctz(lacking)], 1);
}

static void posteriors_anomaly(const struct telling *t)
{
    const struct presence *presence = &t->decision->presence;
    bool told = false;
    for (size_t i = 0; i < sizeof anomalies / sizeof *anomalies; i++) {
        if (!(presence->conditions >> anomalies[i].status & 1)) continue;
        if (told)
            writer_outrank(t->writer, anomalies[i].site);
        else
            anomalies[i].tell(t);
        told = true;
    }
}

static void attributes_unknown(const struct telling *t)
{
    const struct session_state *state = &t->decision->state;
    for (uint64_t slots = state->unknown; slots; slots &= slots - 1)
        signal_add(t->writer, t->cells->attribute_absent[__builtin_ctzll(slots)], 1);
    for (uint64_t slots = state->invalid; slots; slots &= slots - 1)
        signal_add(t->writer, t->cells->attribute_invalid[__builtin_ctzll(slots)], 1);
}

/* What `stale` needs beside being old. */
static bool age_judged(const struct telling *t)
{
    const struct policy *asked = t->decision->asked;
    const struct presence *presence = &t->decision->presence;
    return asked && asked->max_posterior_age_us && t->request->as_of_us != REQUEST_TIME_NONE &&
           asked->actions & ~(presence->missing | presence->invalid);
}

static void anomalies_tell(const struct telling *t)
{
    if (t->decision->presence.conditions & POSTERIORS_ANOMALIES) posteriors_anomaly(t);
    if (t->decision->state.status == STATE_INVALID) tell_session(t);
    if (t->decision->variant_unknown) tell_unknown_variant(t);
}

static void masks(const struct telling *t, const struct variant_cells *v)
{
    for (uint64_t bits = t->decision->masked; bits; bits &= bits - 1)
        signal_add(t->writer, v->guardrail[__builtin_ctzll(bits)], 1);
}

void signal_decision(struct signal_writer *writer, const struct signal_cells *cells,
                     const struct plan *plan, const struct request *request,
                     const struct decision *decision, int64_t wall_us)
{
    const struct telling t = {writer, cells, plan, request, decision, wall_us, false};
    const struct presence *presence = &decision->presence;
    int variant = signal_decision_variant(plan, decision), segment = request->segment;
    const struct variant_cells *v = &cells->variant[variant];

    signal_add(writer, cell_decision(cells, variant, segment)[decision->action], 1);
    signal_add(writer, cell_posteriors(cells, variant, segment)[presence->status], 1);
    signal_add(writer, v->state[decision->state.status], 1);
    bool experiment = decision->assignment == ASSIGNMENT_EXPERIMENT;
    signal_add(writer,
               experiment ? v->experiment[decision->experiment] : v->assigned[decision->assignment],
               1);
    uint64_t covered_s = (uint64_t)decision->cooldown_s;
    if (decision->ads > 0) {
        covered_s += (uint64_t)decision->max_duration_s;
        signal_add(writer, v->ads_decided, (uint64_t)decision->ads);
    }
    signal_add(writer, v->covered_seconds, covered_s);

    if (decision->masked) masks(&t, v);
    if (presence->fallback != FALLBACK_NONE) signal_add(writer, v->fallback[presence->fallback], 1);
    if (presence->unused)
        signal_add(writer, v->posteriors_unused, (uint64_t)action_count(presence->unused));
    if (decision->choice.rule_errors)
        signal_add(writer, v->rule_errors, (uint64_t)decision->choice.rule_errors);
    if (age_judged(&t)) signal_add(writer, CELL_AGE_JUDGED, 1);
    if (presence->conditions & POSTERIORS_ANOMALIES)
        posteriors_missing(&t, cell_missing(cells, variant, segment));
    if (decision->state.status != STATE_COMPLETE) attributes_unknown(&t);
    anomalies_tell(&t);
}

/* The opportunities of an ordinary decision are told by what it counts. A drill counts nothing of
 * that, so it brings its own: no site ever fires more often than it could. */
static void drill_opportunities(const struct telling *t)
{
    for (int site = SITE_POSTERIORS_PARTIAL; site <= SITE_POSTERIORS_INVALID; site++)
        if (site == SITE_POSTERIORS_STALE ? age_judged(t)
                                          : t->decision->presence.status >= POSTERIORS_COMPLETE)
            signal_add(t->writer, (uint32_t)(CELL_DRILLS + site), 1);
    signal_add(t->writer, CELL_DRILLS + SITE_SESSION_INVALID, 1);
    if (t->request->variant_name.len) signal_add(t->writer, CELL_DRILLS + SITE_UNKNOWN_VARIANT, 1);
}

struct drill_books {
    uint64_t fired[SITE_COUNT], dropped[SITE_COUNT];
    uint64_t suppressed[SITE_COUNT], outranked[SITE_COUNT];
};

static void books_look(const struct signal_writer *w, struct drill_books *out)
{
    for (int site = 0; site < SITE_COUNT; site++) {
        out->fired[site] = cell_load(&w->fired[site]);
        out->dropped[site] = cell_load(&w->dropped[site]);
        out->suppressed[site] = cell_load(&w->suppressed[site]);
        out->outranked[site] = cell_load(&w->outranked[site]);
    }
}

/* What the drill did to its thread's books, apart: the request path tells no drill from a decision.
 * What becomes of records that were placed is the scribe's to count. */
static void drill_account(struct signal_writer *w, const struct drill_books *before)
{
    struct drill_books now;
    books_look(w, &now);
    for (uint32_t site = 0; site < SITE_COUNT; site++) {
        signal_add(w, CELL_DRILLS_FIRED + site, now.fired[site] - before->fired[site]);
        signal_add(w, CELL_DRILLS_DROPPED + site, now.dropped[site] - before->dropped[site]);
        signal_add(w, CELL_DRILLS_SUPPRESSED + site,
                   now.suppressed[site] - before->suppressed[site]);
        signal_add(w, CELL_DRILLS_OUTRANKED + site, now.outranked[site] - before->outranked[site]);
    }
}

void signal_drill(struct signal_writer *writer, const struct plan *plan,
                  const struct request *request, const struct decision *decision, int64_t wall_us)
{
    const struct telling t = {writer, NULL, plan, request, decision, wall_us, true};
    struct drill_books before;
    books_look(writer, &before);
    drill_opportunities(&t);
    anomalies_tell(&t);
    drill_account(writer, &before);
}

void signal_http(struct signal_writer *writer, int status)
{
    INVARIANT(status >= 100 && status < 600);
    signal_add(writer, (uint32_t)(CELL_HTTP + status - 100), 1);
}

void signal_duration(struct signal_writer *writer, const struct signal_cells *cells, int variant,
                     uint64_t ns)
{
    uint32_t first = cells->variant[variant].duration;
    if (first == CELL_OVERFLOW) {
        signal_add(writer, CELL_OVERFLOW, 1);
        return;
    }
    signal_add(writer, first + (uint32_t)duration_bucket(ns), 1);
    signal_add(writer, first + DURATION_SUM, ns);
}

void signal_stages(struct signal_writer *writer, const struct probe *probe)
{
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        if (!probe->spent_ns[stage]) continue; /* not passed: the request was refused before */
        signal_add(writer, (uint32_t)(CELL_STAGE_NS + stage), probe->spent_ns[stage]);
        signal_add(writer, (uint32_t)(CELL_STAGE_SAMPLES + stage), 1);
    }
}

void signal_count(struct signal_writer *writer, enum signal_counter counter)
{
    signal_add(writer, (uint32_t)(CELL_COUNTERS + counter), 1);
}
