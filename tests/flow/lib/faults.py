"""Requests with faults, a plan under which they are faults, and what the metrics say about them."""

import collections
import re

from .server import Server, free_port, plan, wait_for
from .wire import Connection, get, request

UNLIMITED = "budget: {rate: unlimited}"
BETA = {"alpha": 2, "beta": 3}
LONG = "r" * 128

# Each kind of faulty request, and how often each site fires at one.
FAULTS = [
    ({"variant": "bayes"}, {"posteriors_absent": 1}),
    ({"variant": "bayes", "posteriors": {"none": BETA, "strange" * 9: BETA, "alien" * 12: BETA}},
     {"posteriors_unknown_action": 1, "posteriors_partial": 1}),
    ({"variant": "bayes", "posteriors": {"none": BETA, "pod_1": {"alpha": -1, "beta": 1}},
      "posteriors_as_of": "2020-01-01T00:00:00Z"},
     {"posteriors_invalid": 1, "posteriors_stale": 1}),
    ({"variant": "bayes", "posteriors": {"none": BETA, "pod_1": BETA},
      "posteriors_as_of": "2020-01-01T00:00:00Z"}, {"posteriors_stale": 1}),
    ({"variant": "nobody", "session": {"elapsed_s": "soon"}},
     {"unknown_variant": 1, "session_invalid": 1}),
]


def body_of(fault, request_id=LONG):
    return dict(fault, request_id=request_id, time="2026-11-30T08:00:00Z")


def plan_text(log=UNLIMITED, version="t-1", server=""):
    text = plan(version, log=log, server=server, more="guardrails: {grace_period: 1s}\n")
    return text.replace("fallback: rules}", "fallback: rules, max_posterior_age: 1h}")


class Told:
    """One scrape."""

    def __init__(self, server):
        self.samples = collections.defaultdict(dict)
        for line in get(server.operations, "/metrics").body.decode().split("\n"):
            if line and line[0] != "#":
                name, value = line.rsplit(" ", 1)
                name, _, labels = name.partition("{")
                values = tuple(re.findall(r'="([^"]*)"', labels))
                self.samples[name][values] = float(value)

    def fired(self, site):
        return self.samples["interlude_signal_fired_total"][site,]

    def outcome(self, site, outcome):
        return self.samples["interlude_log_records_total"][site, outcome]

    def queued(self, site=None):
        queued = self.samples["interlude_log_queued_records"]
        return queued[site,] if site else sum(queued.values())

    def sites(self):
        return [site for site, in self.samples["interlude_signal_fired_total"]]

    def lost(self, reason):
        return self.samples["interlude_log_lost_total"][reason,]


def serve(case, text=None, stdout=None, close=(), workers=1):
    """A server whose log is no file of the test's: so it is asked whether it is ready."""
    listen, admin = free_port(), free_port()
    args = ["--listen", "127.0.0.1:%d" % listen, "--admin", "127.0.0.1:%d" % admin,
            "--workers", str(workers)]
    server = Server(text or plan_text(), args=args, stdout=stdout, wait=False)
    case.addCleanup(server.close)
    server.decisions, server.operations = ("127.0.0.1", listen), ("127.0.0.1", admin)

    def ready():
        if server.process.poll() is not None:
            raise AssertionError("it ended with %d: %s" % (server.process.returncode, server.errors()))
        try:
            return get(server.operations, "/readyz").status == 200
        except OSError:
            return False
    wait_for(ready, 30, "/readyz")
    return server


def fire(server, count, fault=0):
    with Connection(server.decisions) as c:
        c.send(request(body=body_of(FAULTS[fault][0])) * count)
        for _ in range(count):
            assert c.answer().status == 200


def settled(server, seconds=30.0):
    """A scrape with nothing queued."""
    def look():
        told = Told(server)
        return told if told.queued() == 0 else None
    return wait_for(look, seconds, "an empty queue")
