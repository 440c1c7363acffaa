"""The log's reader stopped against running: p99, open loop, with half of the core in use, a warning
on every request and no budget, so that every one of them has a line to lose.

The stopped reader has read nothing since the start, and its pipe is full; it reads on when all is
measured, and then the books must balance: by site, fired = written + dropped + suppressed +
outranked, and as many lines are read as were written."""

import json
import signal
import time

from lib import drive, pairs, process, tails
from lib.process import BenchError

from . import warning

HELP = "the log's reader stopped against running: p99, and what became of each line"
PACKAGES = ["wrk"]
PROGRAMS = ["interlude", "interlude-lab"]
P99_BAR = 1.05
WAYS = ("written", "dropped", "suppressed", "outranked")


def options(parser):
    tails.options(parser)


def started(bench, name, *mood):
    changes = (warning.LEARNED, warning.NO_BUDGET)
    return warning.server(bench, name, *changes, collector=bench.collector(*mood))


def written(target):
    return sum(signal["written"] for signal in tails.signals(target).values())


def settled(target, seconds=10):
    """The site's account once nothing is queued."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        account = tails.signals(target)[warning.SITE]
        if account["queued"] == 0:
            return account
        time.sleep(0.05)
    raise BenchError(f"{target.name}: {account['queued']} lines are queued still")


def books(report, target, requests):
    """Holds the account of the stopped reader's server to the record."""
    target.collector.send_signal(signal.SIGUSR1)
    account = settled(target)
    if not account["fired"] == sum(account[way] for way in WAYS) == requests:
        raise BenchError(f"{requests} requests, but {account}")
    time.sleep(1)  # what was written is read, and what is told of it too
    total = written(target)
    process.end(target.collector)
    with open(target.collector.report) as file:
        lines = json.load(file)["lines"]
    if lines != total:
        raise BenchError(f"{lines} lines read, {total} written")
    ways = ", ".join(f"{account[way]:,} {way}" for way in WAYS)
    report.say(f"Its books balance: {requests:,} fired = {ways}.")
    report.say(f"Of all sites, {total:,} lines written, {lines:,} read.")
    report.data["account"] = {**account, "all_written": total, "all_read": lines}


def run(bench, report, options):
    targets = {
        "running": started(bench, "running"),
        "stopped": started(bench, "stopped", "--stopped"),
        "running again": started(bench, "running again"),
    }
    body = warning.body_file(bench)
    tails.same_decision(targets.values(), body)
    rate = tails.rate_for(bench, report, targets, options.share, body)
    drive.load(bench, targets["stopped"], rate // len(targets), 2, body=body)  # all is full now
    answered = tails.signals(targets["stopped"])[warning.SITE]["fired"]
    began = time.monotonic()
    runs = pairs.rounds(
        report,
        targets,
        lambda: drive.load_together(bench, targets, rate, options.duration, body=body),
        options.rounds,
    )
    stopped_s = time.monotonic() - began
    report.say(
        f"{rate:,} requests a second, {options.share:g}% of the core, each with a warning; "
        f"the reader stopped for {stopped_s:,.0f} s:"
    )
    report.data["stopped_s"] = stopped_s
    tails.tell(report, "reader", runs, ("running", "running again", "stopped"), {"p99_us": P99_BAR})
    books(report, targets["stopped"], answered + sum(run["answered"] for run in runs["stopped"]))
