"""The story's three mistakes, each alone and together: interlude-lab serve with every combination
of --guard, --log and --config-read, no budget on the log, against a collector that is fast, pauses
for 150 or 200 ms in every second, or is stopped. Traffic is a fixed policy's, which sends no
posteriors, open loop, at 50, 80 and 100% of the capacity of the slowest combination with the fast
collector.

In a round each combination runs once; the next round goes the other way. Ratios are of runs of the
same round: before (unconditional, synchronous, per-request) to after (typed, staged, start: the
product), the mistaken guard turned on again but staged to after, and a second after to after, which
is what the method makes of no difference. Six rounds are the fewest that carry an interval.

Where less than half of a run's requests were answered, it is `stalled`, and that combination is not
run again with this collector. The worker has one core; the collector, the generator and the
server's other threads, the log's too, share the other. Neither halts in between (bench/awake.c).
docs/story.md tells what to make of it."""

import fcntl
import os

from lib import drive, pairs, process, stats
from lib.arguments import at_least
from lib.process import BenchError
from lib.report import interval_text, number_text

from . import python

HELP = "what the story's mistakes cost, each alone and together, with collectors of four moods"
PACKAGES = ["wrk"]
PROGRAMS = ["interlude-lab"]

MOODS = {
    "fast": [],
    "pause150": ["--pause", "150ms", "--every", "1s"],
    "pause200": ["--pause", "200ms", "--every", "1s"],
    "stopped": ["--stopped"],
}
LOADS = {"50": 0.5, "80": 0.8, "100": 1.0}

# (guard, log, config-read)
AFTER = ("typed", "staged", "start")
AGAIN = AFTER + ("again",)
BEFORE = ("unconditional", "synchronous", "per-request")
STAGED_BUG = ("unconditional", "staged", "start")
RATIO_FORMS = [BEFORE, AFTER, STAGED_BUG]
OTHER_FORMS = [
    (guard, log, read)
    for guard in ("typed", "unconditional")
    for log in ("staged", "synchronous")
    for read in ("start", "per-request")
    if (guard, log, read) not in RATIO_FORMS
]
RATIOS = [
    ("before / after", BEFORE),
    ("staged mistake / after", STAGED_BUG),
    ("after / after", AGAIN),
]

METRICS = ("p50_us", "p99_us", "p999_us", "cpu_us")
PERCENTILES = METRICS[:3]
TIMEOUT_S = 2  # of a request; a percentile beyond it is not known
STALLED_BELOW = 0.5
ROUNDS_MIN = 6  # that carry an interval of 95%


def some_of(known):
    def read(text):
        wanted = text.split(",")
        unknown = set(wanted) - set(known)
        if unknown:
            raise ValueError
        return [name for name in known if name in wanted]

    read.__name__ = f"list (some of {','.join(known)})"
    return read


def options(parser):
    parser.add_argument("--seconds", type=at_least(1), default=5, help="a run; pauses come every second")
    parser.add_argument("--rounds", type=at_least(1), default=6, help="under 6: no intervals (default 6)")
    parser.add_argument(
        "--only",
        type=some_of(MOODS),
        default=list(MOODS),
        metavar="MOODS",
        help=f"collectors: some of {','.join(MOODS)} (default all)",
    )
    parser.add_argument(
        "--loads",
        type=some_of(LOADS),
        default=list(LOADS),
        metavar="PERCENT",
        help=f"some of {','.join(LOADS)} (default all)",
    )
    parser.add_argument(
        "--pipe",
        type=at_least(4),
        default=64,
        metavar="KIB",
        help="that the pipe to the collector holds, a power of two (default 64, as Linux has it)",
    )
    parser.add_argument(
        "--forms",
        choices=["all", "ratios"],
        default="all",
        help="ratios: only the three that the ratios are of",
    )


# ---- what is run ---------------------------------------------------------------------------------


def name_of(form):
    return ", ".join(form)


def plan_file(bench):
    """The demonstration plan without a budget. It ends as soon as it is told to."""
    return bench.plan(
        "story",
        ("budget: {rate: 10, burst: 100}", "budget: {rate: unlimited}"),
        ("workers: auto}", "workers: auto, drain: 0s}"),
    )


def start(bench, form, plan, mood, pipe_kib):
    port, admin_port = process.port_free(), process.port_free()
    guard, log, read = form[:3]
    argv = [bench.program("interlude-lab"), "serve", "--workers", "1", "--config", plan]
    argv += ["--listen", f"127.0.0.1:{port}", "--admin", f"127.0.0.1:{admin_port}"]
    argv += ["--guard", guard, "--log", log, "--config-read", read]
    collector = bench.collector(*MOODS[mood])
    # One that has stopped did so long ago: its pipe is full at once.
    pipe_bytes = 4096 if mood == "stopped" else pipe_kib * 1024
    pipe_bytes = fcntl.fcntl(collector.stdin, fcntl.F_SETPIPE_SZ, pipe_bytes)
    target = bench.start(name_of(form), argv, port, admin_port, collector)
    target.collector, target.pipe_bytes = collector, pipe_bytes
    process.pin(target.pid, bench.server_core, bench.client_core, "worker")
    return target


def end(target):
    """The collector first: a worker that waits for it in a write would never end."""
    process.end(target.collector)
    process.end(target.popen)


def written_bytes(pid):
    """What a process has written by write(2): of this server's, all but a few bytes is its log.
    Answers are sent, and don't count."""
    with open(f"/proc/{pid}/io") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("wchar:"))


def measure(bench, target, rate, seconds, bodies):
    """One run. A percentile that unanswered requests hide is None."""
    cpu, written = target.cpu_s(), written_bytes(target.pid)
    arguments = ["--timeout", f"{TIMEOUT_S}s", "--body", bodies]
    told = drive.lab_load(bench, [target], rate, seconds, arguments)
    cpu, written = target.cpu_s() - cpu, written_bytes(target.pid) - written
    result = told["targets"][0]
    share = result["answered"] / max(1, result["due"])
    percentiles = {p: result[p.replace("_us", "_ns")] for p in PERCENTILES}
    return {
        **{p: ns / 1000 if ns is not None else None for p, ns in percentiles.items()},
        "cpu_us": cpu / result["answered"] * 1e6 if result["answered"] else None,
        "answered_share": share,
        "answered": result["answered"],
        "errors": result["errors"],
        "unsent": result["unsent"],
        "log_bytes_per_s": written / seconds,
        "log_bytes_per_request": written / max(1, result["answered"]),
        "stalled": share < STALLED_BELOW,
        **drive.generator_of(told),
    }


def capacity_of(bench, report, forms, plan, body, options):
    """What the slowest of them answers a second with a fast collector."""
    rates = {}
    for form in forms:
        report.progress(f"capacity: {name_of(form)}")
        target = start(bench, form, plan, "fast", options.pipe)
        drive.saturate(bench, target, 1, body=body)
        rates[form] = drive.saturate(bench, target, max(2, options.seconds), body=body)["rate"]
        end(target)
    report.progress("")
    report.say("Capacity with the fast collector, requests a second (wrk, 64 connections):")
    report.table([["guard, log, config", ""]] + [[name_of(f), f"{rates[f]:,.0f}"] for f in forms])
    report.say()
    report.data["capacity"] = {name_of(form): rate for form, rate in rates.items()}
    return min(rates.values())


def rounds_run(bench, report, what, targets, rate, options, bodies, stalled):
    """{form: runs}, one a round; a form in `stalled`, or that comes into it, has no more."""
    runs = {form: [] for form in targets}
    for turn in range(options.rounds):
        order = list(targets)
        for form in order if turn % 2 == 0 else reversed(order):
            if form in stalled:
                continue
            report.progress(f"{what}: round {turn + 1} of {options.rounds}, {name_of(form)}")
            got = measure(bench, targets[form], rate, options.seconds, bodies)
            runs[form].append(got)
            if got["stalled"]:
                stalled[form] = f"{got['answered_share']:.1%} answered at {rate:,}/s"
    report.progress("")
    return runs


# ---- what is told --------------------------------------------------------------------------------


def median_of(runs, key):
    values = [run[key] for run in runs]
    return None if None in values else stats.median(values)


def row_of(form, runs, stalled):
    if form in stalled:
        return [name_of(form), "stalled", "", "", "", "", ""]
    cells = []
    for key in METRICS:
        value = median_of(runs, key)
        cells.append("beyond" if value is None else number_text(round(value, 2)))
    volume = [median_of(runs, key) for key in ("log_bytes_per_s", "log_bytes_per_request")]
    return [name_of(form), *cells, f"{volume[0] / 1000:,.1f}", f"{volume[1]:,.0f}"]


def ratios_of(runs, form, stalled):
    """{metric: interval} of a form's runs to those of AFTER; None where it is not known."""
    if form in stalled or AFTER in stalled:
        return None
    out = {}
    for key in METRICS:
        both = list(zip(runs[AFTER], runs[form]))
        known = both and all(a[key] and b[key] for a, b in both)
        out[key] = pairs.interval_of(both, key) if known else None
    return out


def ratio_cell(interval):
    if interval is None:
        return "beyond"
    return number_text(interval["median"]) if interval["low"] is None else interval_text(interval)


def ratio_cells(ratios):
    if ratios is None:
        return ["stalled"] + [""] * (len(METRICS) - 1)
    return [ratio_cell(ratios[key]) for key in METRICS]


def pipe_tell(report, run, pipe_bytes, rate):
    """The pause from which on the mistake is felt at all: a shorter one the pipe takes in."""
    if run["log_bytes_per_request"] and not run["stalled"]:
        ms = pipe_bytes / run["log_bytes_per_request"] / rate * 1000
        report.say(f"  The pipe holds what the mistake writes in {ms:,.0f} ms.")


def runs_tell(report, runs, stalled):
    heads = ["p50 us", "p99 us", "p99.9 us", "CPU us", "log KB/s", "log B a request"]
    rows = [["guard, log, config", *heads]]
    rows += [row_of(form, runs[form], stalled) for form in runs]
    report.table(rows)
    for form in stalled:
        report.say(f"  {name_of(form)}: {stalled[form]}")
    told = {name: ratios_of(runs, form, stalled) for name, form in RATIOS}
    heads = ["p50", "p99", "p99.9", "CPU"]
    report.say()
    report.table([["", *heads]] + [[name, *ratio_cells(told[name])] for name, _ in RATIOS])
    each = [run for form in runs for run in runs[form] if not run["stalled"]]
    report.generator(sum(run["bottleneck"] for run in each), len(each))
    return told


def mood_run(bench, report, mood, forms, plan, bodies, capacity, options):
    targets = {form: start(bench, form, plan, mood, options.pipe) for form in forms}
    stalled = {}  # form: how it was found
    for load in options.loads:
        rate = max(1, round(capacity * LOADS[load]))
        what = f"collector {mood}, {load}%"
        report.say(f"Collector {mood}, at {load}% of the slowest's capacity ({rate:,}/s):")
        runs = rounds_run(bench, report, what, targets, rate, options, bodies, stalled)
        ratios = runs_tell(report, runs, stalled)
        if runs[BEFORE]:
            pipe_tell(report, runs[BEFORE][-1], targets[BEFORE].pipe_bytes, rate)
        report.say()
        report.data[f"{mood}_{load}"] = {
            "rate": rate,
            "pipe_bytes": targets[BEFORE].pipe_bytes,
            "stalled": {name_of(form): stalled[form] for form in stalled},
            "ratios": ratios,
            "runs": {name_of(form): runs[form] for form in runs},
        }
    for target in targets.values():
        end(target)


def run(bench, report, options):
    forms = RATIO_FORMS + [AGAIN] + (OTHER_FORMS if options.forms == "all" else [])
    distinct = [form for form in forms if form != AGAIN]
    runs = len(options.only) * len(options.loads) * options.rounds * len(forms) + len(distinct)
    report.say(f"About {runs * (options.seconds + 1) / 60:,.0f} minutes. Medians of rounds.")
    if options.rounds < ROUNDS_MIN:
        report.say(f"Under {ROUNDS_MIN} rounds: ratios without intervals, which are no result.")
    report.say()
    plan, body = plan_file(bench), python.body_of(bench, "story")
    bodies = drive.bodies_file(bench, body)
    capacity = capacity_of(bench, report, distinct, plan, body, options)
    bench.awake()
    for mood in options.only:
        mood_run(bench, report, mood, forms, plan, bodies, capacity, options)
    report.say("stalled: less than half of the requests were answered.")
    report.say(f"beyond: so many requests had no answer at the run's end, or after {TIMEOUT_S} s.")
