"""What the benches of the tail share: is B's p99 within a factor of A's, open loop.

A, B and a second A run at the same time: their workers share one core, and the load generator takes
turns, request by request. So a moment in which the machine stands still, which on a shared machine
is what a p99 is made of, hits all of them alike, and a wait of one server's own hits it alone. What
one costs in CPU would slow all three; that is measured apart. The load is a share of that core's
time, found by asking."""

import json
import urllib.request

from . import drive, pairs
from .arguments import at_least
from .process import BenchError

ROUNDS, DURATION_S = 20, 10  # the fewest that a bar on latency is judged by
SHARE_PERCENT = 50
METRICS = ("cpu_us", "p50_us", "p99_us", "p999_us")


def options(parser, share_percent=SHARE_PERCENT):
    parser.add_argument("--rounds", type=at_least(6), default=ROUNDS, help=f"from 6 (default {ROUNDS})")
    parser.add_argument(
        "--duration", type=at_least(1), default=DURATION_S, help=f"seconds a run (default {DURATION_S})"
    )
    parser.add_argument(
        "--share",
        type=at_least(1, float),
        default=share_percent,
        help=f"of the workers' core, in per cent (default {share_percent})",
    )


def cpu_of(runs):
    """Microseconds a request, whoever answered it."""
    answered = sum(run["answered"] for run in runs.values())
    return sum(run["cpu_us"] * run["answered"] for run in runs.values()) / answered


def rate_for(bench, report, targets, share_percent, body):
    """Requests a second, of all targets together, at which their core is so busy."""
    rate = 10000
    for seconds in (1, 2, 3):  # CPU a request falls as the rate rises: more come at once
        report.progress(f"looking for {share_percent:g}% of the core, {rate:,} a second")
        cpu_us = cpu_of(drive.load_together(bench, targets, rate, seconds, body=body))
        rate = round(share_percent / 100 / (cpu_us / 1e6))
    report.progress("")
    return rate


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
    compared = pairs.tell(report, names, paired, METRICS, 3)
    for metric, bar in bars.items():
        what = metric.split("_")[0]
        report.bar(f"  {what}, {names[2]} / {names[0]}", compared[metric]["ratio"], bar)
        report.against_itself(f"  {what}, {names[1]} / {names[0]}", compared[metric]["same"])
    report.say()
    report.data[key] = {"compared": compared, "runs": {n: runs[n] for n in names}}
