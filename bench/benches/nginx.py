"""CPU a decision, whole server, against nginx that answers a constant of the same size: at
saturation (wrk, closed loop, 64 connections), and at 10,000 requests a second (open loop).

At saturation nginx, a second nginx and Interlude run at the same time and share one core: what the
machine does, it does to all three, and what each used is the kernel's to tell. Each round starts
all three anew, in another order: where a process happens to lie in memory makes it faster or slower
by a per cent for its whole life. At 10,000/s a core that is shared would not be the same load, so
there they take turns, in alternating pairs."""

import itertools

from lib import drive, pairs, process, stats
from lib.arguments import at_least

HELP = "CPU a decision against nginx answering a constant, at saturation and at 10,000/s"
PACKAGES = ["nginx-light", "wrk"]
PROGRAMS = ["interlude", "interlude-lab"]
SATURATION_BAR = 1.0
WARM_S = 1
RATE = 10000
RATE_BAR = 0.85


def options(parser):
    parser.add_argument(
        "--pairs", type=at_least(7), default=21, help="rounds and pairs, from 7 (default 21)"
    )
    parser.add_argument("--duration", type=at_least(1), default=3, help="seconds a run (default 3)")
    parser.add_argument(
        "--only", choices=["saturation", "rate"], help="one half of it (default both)"
    )


def saturation_round(bench, starts, order, seconds):
    """One round of servers started for it: {name: run}."""
    targets = {name: starts[name]() for name in order}
    try:
        drive.saturate_together(bench, targets, WARM_S)
        return drive.saturate_together(bench, targets, seconds)
    finally:
        for target in targets.values():
            process.end(target.popen)


def tell(report, what, runs, bar, key):
    cpu = pairs.compare(runs, "cpu_us")
    report.say(what)
    rows = [["", "CPU us a request", "requests/s"]]
    for name, side in (("nginx", 0), ("interlude", 1)):
        rate = stats.median([pair[side]["rate"] for pair in runs["ab"]])
        rows.append([name, f"{cpu['ab'[side]]:.2f}", f"{rate:,.0f}"])
    report.table(rows)
    report.bar("  interlude / nginx", cpu["ratio"], bar)
    report.against_itself("  nginx / nginx", cpu["same"])
    report.generator(*pairs.bottlenecks(runs))
    report.say()
    report.data[key] = {"compared": cpu, "runs": runs}


def run(bench, report, options):
    interlude = bench.interlude()
    answer = interlude.ask(bench.body)
    report.say(f"Request {len(bench.body)} bytes, answer {len(answer)} bytes.")
    report.say()

    if options.only != "rate":
        starts = {
            "nginx": lambda: bench.nginx(answer),
            "again": lambda: bench.nginx(answer, "nginx again"),
            "interlude": bench.interlude,
        }
        orders = itertools.cycle(itertools.permutations(starts))
        runs = pairs.rounds(
            report,
            starts,
            lambda: saturation_round(bench, starts, next(orders), options.duration),
            options.pairs,
        )
        paired = pairs.of_rounds(runs, *starts)
        tell(report, "At saturation, 64 connections to each:", paired, SATURATION_BAR, "saturation")
    if options.only != "saturation":
        targets = (bench.nginx(answer), bench.nginx(answer, "nginx again"), interlude)
        for target in targets:
            drive.saturate(bench, target, 2)
        runs = pairs.run(
            report,
            f"{RATE:,}/s",
            targets,
            lambda target: drive.load(bench, target, RATE, options.duration),
            options.pairs,
        )
        tell(report, f"At {RATE:,} requests a second, open loop:", runs, RATE_BAR, "rate")
