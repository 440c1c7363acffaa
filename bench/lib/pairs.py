"""Pairs of runs: A beside B, and A beside a second A, made the same way and at the same time."""

from . import stats


def run(report, what, targets, measure, pairs):
    """Measures pairs of (A, B) and of (A, A'), alternating. targets is (a, a_again, b);
    measure(target) returns a dict of numbers. Returns {"ab": [(A, B)], "aa": [(A, A')]}."""
    a, again, b = targets
    out = {"ab": [], "aa": []}
    for i, order in enumerate(stats.pair_order(pairs)):
        for kind, second in (("ab", b), ("aa", again)):
            got = {}
            for side in order:
                target = a if side == "a" else second
                report.progress(f"{what}: pair {i + 1} of {pairs}, {target.name}")
                got[side] = measure(target)
            out[kind].append((got["a"], got["b"]))
    report.progress("")
    return out


def rounds(report, targets, measure, count):
    """`measure` returns {name: run}; what it returned `count` times, as {name: [run]}."""
    runs = {name: [] for name in targets}
    for i in range(count):
        report.progress(f"round {i + 1} of {count}")
        for name, run in measure().items():
            runs[name].append(run)
    report.progress("")
    return runs


def of_rounds(runs, a, again, b):
    """The pairs of {name: [run, one a round]}, as `compare` takes them."""
    return {"ab": list(zip(runs[a], runs[b])), "aa": list(zip(runs[a], runs[again]))}


def bottlenecks(runs):
    """How many runs the generator itself held up, and of how many."""
    each = [run for kind in runs.values() for pair in kind for run in pair]
    return sum(run.get("bottleneck", False) for run in each), len(each)


def carried(run, metric):
    """Whether the figure is the target's: a percentile may be the generator's own lateness."""
    return run.get("carries", {}).get(metric, True)


def interval_of(pairs, metric):
    """The interval of the ratios of those pairs that carry the metric, and how many don't. Where
    too few do there is no interval, and the median is of all."""
    kept = [(x[metric], y[metric]) for x, y in pairs if carried(x, metric) and carried(y, metric)]
    left_out = len(pairs) - len(kept)
    if stats.rank_of(len(kept))[0]:
        return dict(stats.interval_of(stats.ratios_of(kept)), left_out=left_out)
    every = stats.ratios_of([(x[metric], y[metric]) for x, y in pairs])
    none = {"n": len(kept), "low": None, "high": None, "coverage": None}
    return {"median": stats.median(every), **none, "left_out": left_out}


def compare(runs, metric):
    """Of one metric: {"a", "b": medians, "ratio": interval of B / A, "same": interval of A' / A,
    "change": verdict}."""
    ab = [(x[metric], y[metric]) for x, y in runs["ab"]]
    ratio, same = interval_of(runs["ab"], metric), interval_of(runs["aa"], metric)
    return {
        "a": stats.median([x for x, _ in ab]),
        "b": stats.median([y for _, y in ab]),
        "ratio": ratio,
        "same": same,
        "change": stats.change_verdict(ratio, same),
    }


def tell(report, names, runs, metrics, digits):
    """A table of all metrics; names: (A, A', B). Returns {metric: as `compare` says it}."""
    rows = [["", names[0], names[2], "ratio", "95% interval", f"{names[1]} / {names[0]}"]]
    compared = {metric: compare(runs, metric) for metric in metrics}
    for metric, c in compared.items():
        row = [metric.replace("_", " "), f"{c['a']:,.1f}", f"{c['b']:,.1f}"]
        row.append(f"{c['ratio']['median']:.{digits}f}")
        for interval in (c["ratio"], c["same"]):
            low, high = interval["low"], interval["high"]
            known = low is not None
            row.append(f"{low:.{digits}f} to {high:.{digits}f}" if known else "too few")
        rows.append(row)
    report.table(rows)
    report.generator(*bottlenecks(runs))
    return compared
