"""Against the Python service of the story: CPU a decision with each at its own saturation, then
both at 20, 50 and 80% of the Python service's capacity, open loop: CPU, p50, p99, p99.9 and
resident memory.

--form story: as it was. Its guard warns of every caller without posteriors, it reads its
configuration in every request, and its traffic is the fixed policy's. --form mended: both mistakes
taken out, and the documentation's 494-byte request of the learned policy."""

import json
import os

from lib import drive, pairs, stats
from lib.arguments import at_least

HELP = "CPU, latency and memory against the Python service of the story"
PACKAGES = [
    "wrk",
    "python3-fastapi",
    "python3-uvicorn",
    "python3-uvloop",
    "python3-httptools",
    "python3-structlog",
    "python3-prometheus-client",
]
PROGRAMS = ["interlude", "interlude-lab"]
BAR = 1 / 30
FORMS = {
    "story": {"guard": "unconditional", "read": "per-request"},
    "mended": {"guard": "typed", "read": "start"},
}
LATENCIES = ("p50_us", "p99_us", "p999_us")


def options(parser):
    parser.add_argument("--form", choices=list(FORMS), default="story")
    parser.add_argument("--pairs", type=at_least(7), default=7, help="at saturation, from 7 (default 7)")
    parser.add_argument("--duration", type=at_least(1), default=5, help="seconds a run there (default 5)")
    parser.add_argument("--load-pairs", type=at_least(6), default=6, help="at each load, from 6 (default 6)")
    parser.add_argument(
        "--load-duration", type=at_least(1), default=10, help="seconds a run there (default 10)"
    )
    parser.add_argument(
        "--only", choices=["saturation"], help="leave out the three loads (default: all)"
    )


def body_of(bench, form):
    """The documentation's request, or the same from a caller of the fixed policy."""
    if form == "mended":
        return drive.REQUEST
    request = json.loads(bench.body)
    request["variant"] = "control"
    del request["posteriors"]
    path = os.path.join(bench.directory, "request-control.json")
    with open(path, "w") as file:
        json.dump(request, file)
    return path


def load_tell(report, share, rate, runs):
    report.say(f"At {share:.0%} of the Python service's capacity, {rate:,} requests a second:")
    names = ("python", "python", "interlude")
    compared = pairs.tell(report, names, runs, ("cpu_us", *LATENCIES, "rss_mib"), 4)
    report.say()
    report.data[f"load_{share:.0%}"] = {"rate": rate, "compared": compared, "runs": runs}


def run(bench, report, options):
    python = bench.python(**FORMS[options.form])
    again = bench.python("python again", **FORMS[options.form])
    interlude = bench.interlude()
    targets = (python, again, interlude)
    body = body_of(bench, options.form)
    for target in targets:
        drive.saturate(bench, target, 2, body=body)

    runs = pairs.run(
        report,
        "saturation",
        targets,
        lambda target: drive.saturate(bench, target, options.duration, body=body),
        options.pairs,
    )
    cpu = pairs.compare(runs, "cpu_us")
    capacity = stats.median([a["rate"] for a, _ in runs["ab"]])
    report.data["saturation"] = {"compared": cpu, "runs": runs, "capacity": capacity}
    report.say(
        f"Each at its own saturation: python {cpu['a']:,.1f} us a request ({capacity:,.0f}/s), "
        f"interlude {cpu['b']:,.2f} us."
    )
    report.bar("  interlude / python", cpu["ratio"], BAR)
    report.against_itself("  python / python", cpu["same"])
    report.say()
    if options.only == "saturation":
        return

    def measure(rate):
        def measured(target):
            result = drive.load(bench, target, rate, options.load_duration, body=body)
            return dict(result, rss_mib=target.rss_bytes() / 2**20)

        return measured

    for share in (0.2, 0.5, 0.8):
        rate = round(capacity * share)
        runs = pairs.run(report, f"{share:.0%}", targets, measure(rate), options.load_pairs)
        load_tell(report, share, rate, runs)
