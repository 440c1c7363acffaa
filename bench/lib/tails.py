"""What the benches of the tail share: is B's p99 within a factor of A's, open loop, at a share of
the capacity; A beside a second A, made the same way."""

import json
import urllib.request

from . import drive, pairs, stats
from .arguments import at_least
from .process import BenchError

PAIRS, DURATION_S = 20, 10  # the fewest that a bar on latency is judged by
METRICS = ("cpu_us", "p50_us", "p99_us", "p999_us")


def options(parser):
    parser.add_argument("--rounds", type=at_least(6), default=PAIRS, help=f"from 6 (default {PAIRS})")
    parser.add_argument(
        "--duration", type=at_least(1), default=DURATION_S, help=f"seconds a run (default {DURATION_S})"
    )


def capacity(bench, report, target, body):
    """What the target answers a second, by a closed loop; the median of three."""
    rates = []
    for _ in range(4):  # the first warms it up
        report.progress(f"capacity of {target.name}")
        rates.append(drive.saturate(bench, target, 2, body=body)["rate"])
    report.progress("")
    return stats.median(rates[1:])


def signals(target):
    """{log site: its account}, as the operations port tells it."""
    with urllib.request.urlopen(f"{target.admin}/v1/signals", timeout=5) as answer:
        return {signal["name"]: signal for signal in json.load(answer)["signals"]}


def same_decision(targets, body):
    """The comparison is of what is told, not of what is decided."""
    with open(body, "rb") as file:
        request = file.read()
    answers = [json.loads(target.ask(request)) for target in targets]
    actions = {(a["action"], a["cooldown_s"]) for a in answers}
    if len(actions) != 1:
        raise BenchError(f"the targets decide differently: {answers}")


def tell(report, key, runs, names, bars):
    """names: (A, A', B). bars: {metric: bar}. A table of all metrics, and a verdict for each
    bar."""
    paired = pairs.of_rounds(runs, *names)
    rows = [["", names[0], names[2], "ratio", "95% interval", f"{names[1]} / {names[0]}"]]
    compared = {}
    for metric in METRICS:
        c = compared[metric] = pairs.compare(paired, metric)
        row = [metric.replace("_", " "), f"{c['a']:,.1f}", f"{c['b']:,.1f}"]
        row.append(f"{c['ratio']['median']:.3f}")
        for interval in (c["ratio"], c["same"]):
            known = interval["low"] is not None
            row.append(f"{interval['low']:.3f} to {interval['high']:.3f}" if known else "too few")
        rows.append(row)
    report.table(rows)
    for metric, bar in bars.items():
        what = metric.split("_")[0]
        report.bar(f"  {what}, {names[2]} / {names[0]}", compared[metric]["ratio"], bar)
        report.against_itself(f"  {what}, {names[1]} / {names[0]}", compared[metric]["same"])
    report.generator(*pairs.bottlenecks(paired))
    report.say()
    report.data[key] = {"compared": compared, "runs": {n: runs[n] for n in names}}
