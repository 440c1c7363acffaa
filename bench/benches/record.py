"""What a log record and four counters cost the request path: instructions by callgrind, and
nanoseconds, warm and with emptied caches. The decision without an anomaly is counted and told too;
what the anomaly adds is the difference."""

import json
import os
import re
import subprocess

from lib.arguments import at_least
from lib.process import BenchError

HELP = "a log record and four counters on the request path"
PACKAGES = ["valgrind"]
PROGRAMS = ["bench/record_bench"]
FEW, MANY = 500, 2500
BAR_INSTRUCTIONS, BAR_NS = 1000, 100


def options(parser):
    parser.add_argument("--rounds", type=at_least(1), default=7, help="of the timing; medians are told (7)")


def collected(bench, which, calls):
    command = ["valgrind", "--tool=callgrind", "--toggle-collect=signal_decision"]
    command += [f"--callgrind-out-file={os.path.join(bench.directory, 'callgrind.out')}"]
    command += [bench.program("bench/record_bench"), "count", which, str(calls)]
    ran = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", ran.stderr)
    if ran.returncode or not found or int(found[1]) == 0:
        raise BenchError(f"callgrind counted nothing: {ran.stderr[-1000:]}")
    return int(found[1])


def run(bench, report, options):
    counts = {}
    for which in ("complete", "absent"):
        report.progress(which)
        few, many = (collected(bench, which, calls) for calls in (FEW, MANY))
        counts[which] = (many - few) / (MANY - FEW)
    timed = []
    for _ in range(options.rounds):
        report.progress("timing")
        command = [bench.program("bench/record_bench"), "time"]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            raise BenchError(f"record_bench: {ran.stderr[-1000:]}")
        timed.append(json.loads(ran.stdout))
    report.progress("")

    def middle(values):
        return sorted(values)[len(values) // 2]

    warm = [middle([t["warm_ns"][i] for t in timed]) for i in range(2)]
    cold = [middle([t["cold_ns"][i] for t in timed]) for i in range(2)]
    added = counts["absent"] - counts["complete"]
    report.table(
        [
            ["signal_decision()", "instructions", "warm, ns", "cold, ns"],
            ["complete: counters alone", f"{counts['complete']:,.0f}", f"{warm[0]:.1f}", f"{cold[0]:.0f}"],
            ["absent: and a record, four more", f"{counts['absent']:,.0f}", f"{warm[1]:.1f}", f"{cold[1]:.0f}"],
            ["difference", f"{added:,.0f}", f"{warm[1] - warm[0]:.1f}", f"{cold[1] - cold[0]:.0f}"],
        ]
    )
    report.say()
    report.at_most("a record and four counters", round(added), BAR_INSTRUCTIONS, " instructions")
    report.at_most("a record and four counters, warm", round(warm[1] - warm[0], 1), BAR_NS, " ns")
    report.data.update({"instructions": counts, "timed": timed})
