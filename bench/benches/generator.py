"""The load generator itself: of 20,000 requests a second from one core, how many are sent more than
a millisecond after they were due, beside how late the machine's own timers are. The server has the
other core. Twice: arrivals as listeners', at random, and evenly spaced ones."""

from lib import drive, stats
from lib.arguments import at_least

HELP = "how late interlude-lab load itself is, at 20,000/s"
PACKAGES = []
PROGRAMS = ["interlude", "interlude-lab"]
RATE = 20000
BAR_PERCENT = 0.1
KINDS = ("poisson", "constant")


def options(parser):
    parser.add_argument("--runs", type=at_least(6), default=9, help="of each, from 6 (default 9)")
    parser.add_argument(
        "--duration", type=at_least(1), default=5, help="seconds a run (default 5)"
    )


def measure(bench, target, arrivals, seconds):
    arguments = ["--arrivals", arrivals, "--body", drive.bodies_file(bench, drive.REQUEST)]
    told = drive.lab_load(bench, [target], RATE, seconds, arguments)
    result, generator = told["targets"][0], told["generator"]
    return {
        "late_percent": 100 * (result["late"] + result["unsent"]) / result["due"],
        "taken_late_percent": 100 * generator["taken_up_late"],
        "taken_p999_us": generator["taken_up_after_due"]["p999_ns"] / 1000,
        "timers_p999_us": told["machine"]["timers_late"]["p999_ns"] / 1000,
        "work": generator["work"],
        "bottleneck": generator["bottleneck"],
    }


def run(bench, report, options):
    target = bench.interlude()
    measure(bench, target, KINDS[0], 1)
    runs = {kind: [] for kind in KINDS}
    for i in range(options.runs):
        for kind in KINDS if i % 2 == 0 else KINDS[::-1]:
            report.progress(f"run {i + 1} of {options.runs}, {kind}")
            runs[kind].append(measure(bench, target, kind, options.duration))
    report.progress("")
    heads = ["sent over 1 ms late", "taken up so", "taken up late, p99.9", "timers late, p99.9"]
    rows = [["medians", *heads, "of a core"]]
    for kind in KINDS:
        middle = {key: stats.median([run[key] for run in runs[kind]]) for key in runs[kind][0]}
        row = [kind, f"{middle['late_percent']:.3f}%", f"{middle['taken_late_percent']:.3f}%"]
        row += [f"{middle['taken_p999_us']:,.0f} us", f"{middle['timers_p999_us']:,.0f} us"]
        rows.append(row + [f"{middle['work']:.0%}"])
    report.table(rows)
    report.say()
    for kind in KINDS:
        interval = stats.interval_of([run["late_percent"] for run in runs[kind]])
        report.bar(f"sent over 1 ms late, {kind}", interval, BAR_PERCENT, "%")
    report.data["runs"] = runs
