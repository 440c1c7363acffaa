"""Instructions of one decision, counted by callgrind: decide() alone, and reading the request and
writing the answer beside it. The difference of two runs, so that what happens once is not in it;
counts, not timings, so that a busy machine changes nothing."""

import os
import re
import subprocess

from lib.process import BenchError

HELP = "instructions of decide(), of reading a request and of writing the answer (callgrind)"
PACKAGES = ["valgrind"]
PROGRAMS = ["bench/decide_bench"]
FEW, MANY = 500, 2500
FUNCTIONS = ("decide", "request_read", "reply_write")
BARS = {"control": 1500, "bayes": 6000, "bayes/uuid": 6000}
WHAT = {"control": "fixed", "bayes": "thompson, 4 Betas", "greedy": "greedy", "random": "uniform",
        "bayes/uuid": "thompson, 4 Betas, a UUID as request id"}


def options(parser):
    parser.add_argument(
        "--variants", default="control,bayes,bayes/uuid",
        help="of the demonstration plan; with /uuid, request ids are UUIDs (control,bayes,bayes/uuid)"
    )


def collected(bench, function, variant, calls):
    command = ["valgrind", "--tool=callgrind", f"--toggle-collect={function}"]
    command += [f"--callgrind-out-file={os.path.join(bench.directory, 'callgrind.out')}"]
    name, *ids = variant.split("/")
    command += [bench.program("bench/decide_bench"), name, str(calls), *ids]
    ran = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", ran.stderr)
    if ran.returncode or not found or int(found[1]) == 0:
        raise BenchError(f"callgrind counted nothing in {function}: {ran.stderr[-1000:]}")
    return int(found[1])


def per_call(bench, function, variant):
    few, many = (collected(bench, function, variant, calls) for calls in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def run(bench, report, options):
    rows = [["instructions a call", *FUNCTIONS]]
    counts = {}
    for variant in options.variants.split(","):
        report.progress(variant)
        counts[variant] = {f: per_call(bench, f, variant) for f in FUNCTIONS}
        name = f"{variant} ({WHAT.get(variant, 'its policy')})"
        rows.append([name] + [f"{counts[variant][f]:,.0f}" for f in FUNCTIONS])
    report.progress("")
    report.table(rows)
    report.say()
    for variant, bar in BARS.items():
        if variant in counts:
            value = counts[variant]["decide"]
            report.at_most(f"decide(), {WHAT[variant]}", round(value), bar, " instructions")
    report.data["instructions"] = counts
