#include "signal/watch.h"

enum { SITE_BITS = 32 };
_Static_assert((int)SITE_COUNT <= (int)SITE_BITS, "a site is a bit");

void watch_init(struct watch *w, uint64_t window_ns, uint64_t quiet_ns, uint64_t now_ns)
{
    *w = (struct watch){.window_ns = window_ns,
                        .quiet_windows = (quiet_ns + window_ns - 1) / window_ns,
                        .window_end_ns = now_ns + window_ns,
                        .look_due_ns = now_ns + window_ns / WATCH_LOOKS};
    w->last.ns = w->current.ns = w->older.ns = w->newer.ns = now_ns;
    for (int site = 0; site < SITE_COUNT; site++)
        w->sites[site].state = w->sites[site].verdict = SIGNAL_STATE_NORMAL;
}

/* ---- verdicts ---- */

static enum signal_state verdict(const struct watch *w, const struct watch_site *s)
{
    /* Both numbers of one look, so neither product is of more than a window's counts. */
    if (s->opportunities >= WATCH_OPPORTUNITIES_MIN &&
        s->fired * 100 >= s->opportunities * WATCH_FIRED_PERCENT)
        return SIGNAL_STATE_CONSTANT;
    return s->windows_silent >= w->quiet_windows ? SIGNAL_STATE_QUIET : SIGNAL_STATE_NORMAL;
}

/* True: it has just become constant. */
static bool site_judge(const struct watch *w, struct watch_site *s,
                       const struct signal_account *begin, const struct signal_account *end)
{
    s->fired = end->fired - begin->fired;
    s->opportunities = end->opportunities - begin->opportunities;
    s->windows_silent = s->fired ? 0 : s->windows_silent + 1;
    enum signal_state before = s->verdict, state = s->state;
    s->verdict = verdict(w, s);
    if (s->verdict == before) s->state = s->verdict;
    return s->state == SIGNAL_STATE_CONSTANT && state != SIGNAL_STATE_CONSTANT;
}

static void sample_take(struct watch_sample *to, const struct signal_account accounts[SITE_COUNT],
                        uint64_t now_ns)
{
    to->ns = now_ns;
    memcpy(to->of, accounts, sizeof to->of);
}

uint32_t watch_take(struct watch *w, const struct signal_account accounts[SITE_COUNT],
                    uint64_t now_ns)
{
    w->look_due_ns = now_ns + w->window_ns / WATCH_LOOKS;
    w->older = w->newer;
    sample_take(&w->newer, accounts, now_ns);
    if (now_ns < w->window_end_ns) return 0;

    uint32_t turned = 0;
    for (int site = 0; site < SITE_COUNT; site++) {
        bool constant = site_judge(w, &w->sites[site], &w->current.of[site], &accounts[site]);
        if (!watch_minds((enum signal_site)site)) continue;
        w->judged++;
        if (constant) turned |= 1u << site;
    }
    w->last = w->current;
    w->current = w->newer;
    w->window_end_ns = now_ns + w->window_ns;
    return turned;
}

/* ---- what is told ---- */

void watch_rates(const struct watch *w, enum signal_site site, const struct signal_account *account,
                 uint64_t now_ns, struct watch_rates *out)
{
    const struct signal_account *last = &w->last.of[site], *older = &w->older.of[site];
    *out = (struct watch_rates){
        .recent_fired = account->fired - last->fired,
        .recent_opportunities = account->opportunities - last->opportunities,
    };
    double fired = (double)out->recent_fired, could = (double)out->recent_opportunities;
    if (could > 0) out->share = fired < could ? fired / could : 1;
    /* One firing of one opportunity is a start; a thousand of a thousand are a fault. */
    double weight = signal_sites[site].expected == EXPECTED_NEVER ? WATCH_NEVER_WEIGHT : 1;
    if (watch_minds(site))
        out->wrong =
            weight * fired / (could > WATCH_OPPORTUNITIES_MIN ? could : WATCH_OPPORTUNITIES_MIN);
    if (out->wrong > 1) out->wrong = 1;
    if (now_ns <= w->older.ns) return;
    double seconds = (double)(now_ns - w->older.ns) / 1e9;
    out->fired = (double)(account->fired - older->fired) / seconds;
    out->written =
        (double)(account->outcomes[OUTCOME_WRITTEN] - older->outcomes[OUTCOME_WRITTEN]) / seconds;
    out->bytes = (double)(account->bytes - older->bytes) / seconds;
}

static int rank(const struct watch *w, enum signal_site site)
{
    enum signal_state state = w->sites[site].state;
    enum signal_expected expected = signal_sites[site].expected;
    if (state == SIGNAL_STATE_CONSTANT && watch_minds(site)) return 0;
    if (state == SIGNAL_STATE_QUIET) return expected == EXPECTED_PER_REQUEST ? 1 : 3;
    return 2;
}

void watch_order(const struct watch *w, const struct watch_rates rates[SITE_COUNT],
                 enum signal_site order[SITE_COUNT])
{
    for (int i = 0; i < SITE_COUNT; i++) {
        enum signal_site site = (enum signal_site)i;
        int own = rank(w, site), at = i;
        for (; at > 0; at--) {
            enum signal_site before = order[at - 1];
            int other = rank(w, before);
            if (other < own || (other == own && rates[before].wrong >= rates[site].wrong)) break;
            order[at] = before;
        }
        order[at] = site;
    }
}
