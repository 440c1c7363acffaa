"""Statistics of pairs: is B more or less than A, and is a bar met.

A run on a shared machine differs from the next by more than what is to be found out. Two runs side
by side share most of that, so the ratio of a pair is steadier than either; the median over pairs
does not mind a few that were hit by something. Its interval assumes nothing about how ratios are
distributed: the true median lies below the k-th smallest of n independent values with the
probability that fewer than k of n fair coins fall heads, exactly.

The same is done with A against a second A. What that interval shows is what the method itself makes
of no difference; a difference that does not stand clear of it is none.
"""

from math import comb

CONFIDENCE = 0.95


def median(values):
    ordered = sorted(values)
    n = len(ordered)
    return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2


def rank_of(n, confidence=CONFIDENCE):
    """(k, coverage): the k-th smallest and k-th largest of n values enclose their population's
    median with probability `coverage`, the least that is at least `confidence`. (0, None): n is too
    small."""
    below = 0.0  # P(fewer than k + 1 of n coins fall heads)
    best, coverage = 0, None
    for k in range(1, (n + 1) // 2 + 1):
        below += comb(n, k - 1) / 2**n
        if 1 - 2 * below < confidence:
            break
        best, coverage = k, 1 - 2 * below
    return best, coverage


def interval_of(values, confidence=CONFIDENCE):
    """The median with its exact interval: {"n", "median", "low", "high", "coverage"}. low and high
    are None where there are too few values (under 6, for 95%)."""
    ordered = sorted(values)
    k, coverage = rank_of(len(ordered), confidence)
    return {
        "n": len(ordered),
        "median": median(ordered),
        "low": ordered[k - 1] if k else None,
        "high": ordered[-k] if k else None,
        "coverage": coverage,
    }


def ratios_of(pairs):
    """B / A of each (A, B)."""
    return [b / a for a, b in pairs]


def bar_verdict(interval, bar):
    """Whether what was measured is under the bar: `met`, `missed`, or `not resolved`."""
    if interval["low"] is None:
        return "not resolved"
    if interval["high"] < bar:
        return "met"
    return "missed" if interval["low"] > bar else "not resolved"


def change_verdict(interval, same):
    """Whether B is `less` or `more` than A, or there is `no difference` that stands clear of
    `same`, the interval of A against A."""
    if interval["low"] is None or same["low"] is None:
        return "no difference"
    if interval["low"] <= 1 <= interval["high"]:
        return "no difference"
    if interval["low"] <= same["high"] and same["low"] <= interval["high"]:
        return "no difference"
    return "less" if interval["high"] < 1 else "more"


def pair_order(pairs):
    """Which of a pair runs first: A B, B A, A B, ... so that a drift favours neither."""
    return [("a", "b") if i % 2 == 0 else ("b", "a") for i in range(pairs)]
