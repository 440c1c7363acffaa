"""A warning on 100% of requests against none: CPU of the whole server, and p99, open loop, with half
of the core's time in use.

Every target serves the same requests, which name no variant and carry no posteriors. In one, the
plan's default variant is a fixed policy's, and nothing is to be told. In the others it is the
learned policy's, which misses its posteriors each time: it warns, with four counters more, and its
fallback, that same fixed policy, decides. One has the default budget of lines, one has none, so
that every line is written. All four run at once: their workers share one core; the rest, the logs'
threads too, the other."""

import json
import os

from lib import drive, pairs, tails
from lib.process import BenchError

HELP = "a warning on every request against none: CPU and p99"
PACKAGES = ["wrk"]
PROGRAMS = ["interlude", "interlude-lab"]
CPU_BARS = {"default budget": 1.05, "every line": 1.25}
P99_BAR = 1.05
SITE = "posteriors_absent"
NO_EXPERIMENT = (
    "  - {name: adload, salt: adload-1, slice: 20%, split: {control: 50%, bayes: 50%}}\n",
    "",
)
EXPERIMENTS = ("experiments:\n", "")
LEARNED = ("default_variant: control", "default_variant: bayes")
NO_BUDGET = ("budget: {rate: 10, burst: 100}", "budget: {rate: unlimited}")


def options(parser):
    tails.options(parser)


def body_file(bench):
    """The documentation's request without a variant and without posteriors."""
    request = json.loads(bench.body)
    del request["variant"], request["posteriors"]
    path = os.path.join(bench.directory, "request-plain.json")
    with open(path, "w") as file:
        json.dump(request, file)
    return path


def server(bench, name, *changes, collector=None):
    plan = bench.plan(name.replace(" ", "-"), EXPERIMENTS, NO_EXPERIMENT, *changes)
    return bench.interlude(name, ["--config", plan], collector)


def accounts_of(targets):
    return {name: tails.signals(target)[SITE] for name, target in targets.items()}


def fired_hold(runs, before, after):
    """Each warns of all of its requests, or of none, as it is named."""
    for name in runs:
        fired = after[name]["fired"] - before[name]["fired"]
        answered = sum(run["answered"] for run in runs[name])
        if fired != (0 if name.startswith("none") else answered):
            raise BenchError(f"{name}: {SITE} fired {fired} times in {answered} requests")


def lines_tell(report, name, before, after):
    fired, written = (after[key] - before[key] for key in ("fired", "written"))
    report.say(f"Warned of every request, {name} ({written / fired:.2%} of the lines written):")
    report.data[f"written, {name}"] = written / fired


def run(bench, report, options):
    targets = {
        "none": server(bench, "none"),
        "default budget": server(bench, "default budget", LEARNED),
        "every line": server(bench, "every line", LEARNED, NO_BUDGET),
        "none again": server(bench, "none again"),
    }
    body = body_file(bench)
    tails.same_decision(targets.values(), body)
    rate = tails.rate_for(bench, report, targets, options.share, body)
    report.say(f"{rate:,} requests a second, {options.share:g}% of the core:")
    report.data["rate"] = rate
    before = accounts_of(targets)
    runs = pairs.rounds(
        report,
        targets,
        lambda: drive.load_together(bench, targets, rate, options.duration, body=body),
        options.rounds,
    )
    after = accounts_of(targets)
    fired_hold(runs, before, after)
    for name, bar in CPU_BARS.items():
        lines_tell(report, name, before[name], after[name])
        bars = {"cpu_us": bar, "p99_us": P99_BAR}
        tails.tell(report, name, runs, ("none", "none again", name), bars)
