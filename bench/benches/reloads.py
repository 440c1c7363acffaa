"""Ten reloads a second against none, at 80% of the capacity, open loop: no request fails, and p99
stays where it is.

Each reload finds another plan. In the runs without reloads the plan's file is written and the
operations port is asked as often, for its health, so that what differs is the reload alone. The
plan is compiled on the core of the load generator, which is where everything is but the worker."""

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
SHARE = 0.8
PERIOD_S = 0.1


def options(parser):
    tails.options(parser)


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


def measure(bench, target, rate, seconds, reloads):
    operator = Operator(target, reloads)
    operator.start()
    try:
        run = drive.load(bench, target, rate, seconds)
    finally:
        operator.stop()
    if operator.refused:
        raise BenchError(f"{operator.refused} of {operator.asked} were refused")
    return dict(run, asked=operator.asked)


def run(bench, report, options):
    targets = {name: started(bench, name) for name in ("none", "reloads", "none again")}
    rate = round(SHARE * tails.capacity(bench, report, targets["none"], drive.REQUEST))
    runs = pairs.rounds(
        report,
        "reloads",
        targets,
        lambda t: measure(bench, t, rate, options.duration, t is targets["reloads"]),
        options.rounds,
    )
    reloads = sum(run["asked"] for run in runs["reloads"])
    per_s = reloads / (options.duration * options.rounds)
    report.say(
        f"At {SHARE:.0%} of the capacity, {rate:,} requests a second; "
        f"{reloads:,} reloads, {per_s:.1f} a second:"
    )
    tails.tell(report, "reloads", runs, ("none", "none again", "reloads"), {"p99_us": P99_BAR})
    failed = sum(run["failed"] for run in runs["reloads"])
    report.at_most("  failed requests", failed, 0)
