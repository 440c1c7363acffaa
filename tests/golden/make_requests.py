"""Prints N requests, a line each: always the same ones. See tests/golden/decisions.sha256.

  python3 make_requests.py [N] [--explain]

--explain: each asks for an explanation. See tests/golden/explained.sha256.

Its random numbers are its own (splitmix64), so that no library's change can change the requests."""

import json
import sys

MASK = (1 << 64) - 1


class Random:
    def __init__(self, seed):
        self.state = seed

    def word(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def unit(self):
        return (self.word() >> 11) / (1 << 53)

    def below(self, n):
        return self.word() * n >> 64

    def chance(self, p):
        return self.unit() < p

    def pick(self, items):
        return items[self.below(len(items))]


ACTIONS = ["none", "pod_1", "pod_2", "pod_3"]
VARIANTS = ["control", "random", "exclude", "prior", "value", "cost", "best", "small"]


def positive(r):
    """A parameter: most often of everyday size, now and then from 1e-10 to 1e10."""
    kind = r.below(10)
    if kind < 5:
        return 1 + r.below(200)
    if kind < 9:
        return r.unit() * 100 + 0.001
    return (1 + r.unit()) * 10.0 ** (r.below(20) - 10)


def posterior(r, family):
    if family == 0:
        return {"alpha": positive(r), "beta": positive(r)}
    if family == 1:
        return {"mean": r.unit() * 4 - 2, "variance": positive(r)}
    if family == 2:
        return {"mu": r.unit() * 4 - 2, "lambda": positive(r), "alpha": positive(r), "beta": positive(r)}
    return {"shape": positive(r), "rate": positive(r)}


def broken(r):
    return r.pick([None, {}, 7, "x", [], {"alpha": 0, "beta": 1}, {"alpha": 1}, {"alpha": 1e999, "beta": 2},
                   {"mean": 0, "variance": 1}, {"alpha": 2, "beta": 3, "gamma": 1}])


def posteriors(r):
    if r.chance(0.1):
        return r.pick([None, {}, 3, "none"])
    family = r.pick([0, 0, 0, 1, 2, 3])
    out = {}
    for action in ACTIONS:
        if r.chance(0.05):
            continue
        out[action] = broken(r) if r.chance(0.03) else posterior(r, family)
    if r.chance(0.03):
        out["pod_9"] = posterior(r, family)
    return out


def session(r):
    fields = {
        "elapsed_s": r.below(4000) if r.chance(0.7) else r.unit() * 4000,
        "tracks_played": r.below(20),
        "seconds_since_last_break_end": r.below(2000),
        "breaks_in_session": r.below(5),
        "ads_last_hour": r.below(9),
        "ad_seconds_last_hour": r.below(260) if r.chance(0.7) else r.unit() * 260,
        "tier": r.pick(["free", "free", "free", "premium"]),
        "genre": r.pick(["news", "pop", "jazz"]),
        "affinity": r.unit(),
        "skips": r.below(9) - 4,
        "offline": r.chance(0.2),
    }
    out = {}
    for key, value in fields.items():
        kind = r.below(40)
        if kind == 0:
            continue
        out[key] = r.pick([None, -1, "x", True, 1e999, 2.5]) if kind == 1 else value
    return out


def last(r):
    out = {"seconds_ago": r.unit() * 900, "cooldown_s": r.below(1200), "ads_delivered": r.below(4)}
    kind, key = r.below(10), r.pick(["seconds_ago", "cooldown_s"])
    if kind == 0:
        del out[key]
    elif kind == 1:
        out[key] = r.pick([None, -1, "x", [], 1e999, 2e9])
    return out


def request(r, i):
    uuid = "%08x-7e1d-4000-8000-%012x" % (r.below(1 << 32), i)
    out = {"request_id": uuid if i % 3 == 0 else "g-%d" % i}
    seconds = r.below(86400)
    out["time"] = "2026-11-%02dT%02d:%02d:%02d.%03dZ" % (
        1 + r.below(30), seconds // 3600, seconds // 60 % 60, seconds % 60, r.below(1000))
    if r.chance(0.9):
        out["unit_id"] = "u-%x" % r.below(1 << 32)
    if r.chance(0.6):
        out["variant"] = r.pick(VARIANTS + ["nosuch"])
    if r.chance(0.9):
        out["segment_id"] = r.pick(["new", "casual", "core", "heavy", "vip", "\u00e9t\u00e9"])
    if r.chance(0.97):
        out["session"] = session(r)
    if r.chance(0.9):
        out["posteriors"] = posteriors(r)
    if r.chance(0.3):
        out["posteriors_as_of"] = "2026-11-%02dT%02d:00:00Z" % (1 + r.below(30), r.below(24))
    if r.chance(0.2):
        out["last"] = last(r)
    return out


def main():
    args = [a for a in sys.argv[1:] if a != "--explain"]
    explain = {"explain": True} if len(args) < len(sys.argv) - 1 else {}
    count = int(args[0]) if args else 100000
    r = Random(20261130)
    for i in range(count):
        # Python writes 1e999 as Infinity, which is no JSON.
        print(json.dumps({**request(r, i), **explain}).replace("Infinity", "1e999"))


if __name__ == "__main__":
    main()
