"""Ten reloads a second against none, with 80% of the core in use, open loop: no request fails, and
p99 stays where it is.

Each reload finds another plan. Of the servers without reloads, the plan's file is written and the
operations port is asked as often, for its health, so that what differs is the reload alone. Plans
are compiled on the core of the load generator, which is where everything is but the workers."""

import http.client
import json
import threading
import time
import urllib.parse

from lib import drive, pairs, tails
from lib.process import BenchError
from lib.targets import JSON

HELP = "ten reloads a second against none, at 80% load: failed requests, p99"
PACKAGES = ["wrk"]
PROGRAMS = ["interlude", "interlude-lab"]
P99_BAR = 1.10
SHARE_PERCENT = 80
PERIOD_S = 0.1


def options(parser):
    tails.options(parser, SHARE_PERCENT)


class Operator(threading.Thread):
    """Writes a new plan and asks the operations port, ten times a second, until it is stopped."""

    def __init__(self, target, reloads):
        super().__init__()
        self.target, self.reloads = target, reloads
        self.stopping = threading.Event()
        self.asked = self.refused = 0

    def ask(self, connection):
        if self.reloads:
            connection.request("POST", "/v1/reload", b"{}", JSON)
        else:
            connection.request("GET", "/healthz")
        answer = connection.getresponse()
        told = answer.read()
        self.asked += 1
        if answer.status != 200 or (self.reloads and not json.loads(told)["changed"]):
            self.refused += 1

    def run(self):
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.target.admin).netloc)
        due = time.monotonic()
        while not self.stopping.wait(max(0, due - time.monotonic())):
            due += PERIOD_S
            self.target.versions += 1
            with open(self.target.plan_path, "w") as file:
                file.write(self.target.plan_text.replace("demo-1", f"t-{self.target.versions}"))
            self.ask(connection)
        connection.close()

    def stop(self):
        self.stopping.set()
        self.join()


def started(bench, name):
    path = bench.plan(name.replace(" ", "-"))
    target = bench.interlude(name, ["--config", path])
    target.plan_path, target.versions = path, 0
    with open(path) as file:
        target.plan_text = file.read()
    return target


def measure(bench, targets, rate, seconds):
    operators = {name: Operator(t, name == "reloads") for name, t in targets.items()}
    for operator in operators.values():
        operator.start()
    try:
        runs = drive.load_together(bench, targets, rate, seconds)
    finally:
        for operator in operators.values():
            operator.stop()
    for name, operator in operators.items():
        if operator.refused:
            raise BenchError(f"{name}: {operator.refused} of {operator.asked} were refused")
        runs[name]["asked"] = operator.asked
    return runs


def run(bench, report, options):
    targets = {name: started(bench, name) for name in ("none", "reloads", "none again")}
    rate = tails.rate_for(bench, report, targets, options.share, drive.REQUEST)
    runs = pairs.rounds(
        report,
        targets,
        lambda: measure(bench, targets, rate, options.duration),
        options.rounds,
    )
    reloads = sum(run["asked"] for run in runs["reloads"])
    per_s = reloads / (options.duration * options.rounds)
    report.say(
        f"{rate:,} requests a second, {options.share:g}% of the core; {reloads:,} reloads, "
        f"{per_s:.1f} a second:"
    )
    report.data["rate"] = rate
    tails.tell(report, "reloads", runs, ("none", "none again", "reloads"), {"p99_us": P99_BAR})
    failed = sum(run["failed"] for run in runs["reloads"])
    report.at_most("  failed requests", failed, 0)
