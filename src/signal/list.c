/* The log sites as JSON, the most useless first, each with what it costs. */
#include "base/clock.h"
#include "signal/state.h"
#include "wire/json_write.h"

/* What one firing takes on the thread that fires, and one line on the scribe's: sizes, not
 * measurements, so that the costs of two signals can be compared. */
enum { FIRING_NS = 60, LINE_NS = 7000 };

static void member_text(struct buf *b, const char *name, const char *text)
{
    json_write_key(b, span_of(name));
    json_write_string(b, span_of(text));
}

static void member_u64(struct buf *b, const char *name, uint64_t value)
{
    json_write_key(b, span_of(name));
    buf_u64(b, value);
}

static void member_rate(struct buf *b, const char *name, double value)
{
    json_write_key(b, span_of(name));
    buf_format(b, "%.3f", value);
}

static void drills_write(struct buf *b, const struct signal_drills *drills)
{
    json_write_key(b, SPAN("drills"));
    buf_char(b, '{');
    member_u64(b, "fired", drills->fired);
    for (int o = 0; o < OUTCOME_COUNT; o++)
        member_u64(b, signal_outcome_name((enum signal_outcome)o), drills->outcomes[o]);
    member_u64(b, "queued", drills->queued);
    buf_char(b, '}');
}

static void site_write(struct buf *b, enum signal_site site, const struct signal_account *account,
                       const struct signal_drills *drills, enum signal_state state,
                       const struct watch_rates *rates)
{
    const struct signal_site_row *row = &signal_sites[site];
    buf_char(b, '{');
    member_text(b, "name", row->name);
    member_text(b, "state", signal_state_name(state));
    member_text(b, "level", log_level_names[row->level]);
    member_text(b, "expected", signal_expected_name(row->expected));
    member_text(b, "budget", signal_budget_name(row->budget));
    member_text(b, "meaning", row->help);
    member_text(b, "opportunity", row->opportunity);
    member_u64(b, "fired", account->fired);
    member_u64(b, "opportunities", account->opportunities);
    for (int o = 0; o < OUTCOME_COUNT; o++)
        member_u64(b, signal_outcome_name((enum signal_outcome)o), account->outcomes[o]);
    member_u64(b, "queued", account->queued);
    drills_write(b, drills);
    json_write_key(b, SPAN("recent"));
    buf_char(b, '{');
    member_u64(b, "fired", rates->recent_fired);
    member_u64(b, "opportunities", rates->recent_opportunities);
    buf_char(b, '}');
    member_rate(b, "share", rates->share);
    json_write_key(b, SPAN("cost"));
    buf_char(b, '{');
    member_rate(b, "records_per_second", rates->fired);
    member_rate(b, "lines_per_second", rates->written);
    member_rate(b, "bytes_per_second", rates->bytes);
    member_rate(b, "estimated_ns_per_second", rates->fired * FIRING_NS + rates->written * LINE_NS);
    buf_lit(b, "}}");
}

void signals_render_list(struct signals *signals, struct buf *out)
{
    struct signal_account accounts[SITE_COUNT];
    struct signal_drills drills[SITE_COUNT];
    struct watch_rates rates[SITE_COUNT];
    enum signal_site order[SITE_COUNT];
    const struct watch *w = &signals->scribe.watch;
    pthread_mutex_lock(&signals->lock);
    account_take(signals, accounts);
    account_drills(signals, drills);
    uint64_t now_ns = clock_mono_ns();
    for (int site = 0; site < SITE_COUNT; site++)
        watch_rates(w, (enum signal_site)site, &accounts[site], now_ns, &rates[site]);
    watch_order(w, rates, order);
    buf_char(out, '[');
    for (int i = 0; i < SITE_COUNT; i++) {
        enum signal_site site = order[i];
        if (i) buf_char(out, ',');
        site_write(out, site, &accounts[site], &drills[site], w->sites[site].state, &rates[site]);
    }
    pthread_mutex_unlock(&signals->lock);
    buf_char(out, ']');
}
