"""interlude-lab load against a real server: what it tells, and what the server saw of it."""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

from lib import server as server_module
from lib.server import Server, free_port, plan
from lib.wire import get


def lab(*args):
    """The command line. The lab is built beside the server."""
    program = os.path.join(os.path.dirname(server_module.BINARY), "interlude-lab")
    return [program, "load", *[str(a) for a in args]]


def load(*args):
    return subprocess.run(lab(*args), capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)


def url(address):
    return "http://%s:%d" % address


def metric(server, name):
    """All samples of one metric, by their labels as written. A cell may be 20 ms behind."""
    time.sleep(0.05)
    found = {}
    for line in get(server.operations, "/metrics").body.decode().split("\n"):
        if line.startswith(name + "{"):
            labels, value = line[len(name) + 1:].rsplit("} ", 1)
            found[labels] = float(value)
    return found


def with_label(samples, label):
    return sum(value for labels, value in samples.items() if label in labels)


class Load(unittest.TestCase):
    def test_the_server_saw_what_the_lab_tells(self):
        with Server() as server, tempfile.TemporaryDirectory() as directory:
            capture = os.path.join(directory, "capture")
            ran = load(url(server.decisions), "--rate", 1000, "--duration", "1s", "--arrivals",
                       "constant", "--interval", "250ms", "--json", "--out", capture, "--admin",
                       url(server.operations))
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            target = json.loads(ran.stdout)["targets"][0]
            self.assertEqual((target["due"], target["answered"]), (1000, 1000))
            self.assertEqual(sum(target["errors"].values()) + target["unsent"], 0)
            self.assertEqual(metric(server, "interlude_http_requests_total")['code="200"'], 1000)
            with open(capture) as f:
                header, *intervals = [json.loads(line) for line in f]
            self.assertEqual(header["targets"][0]["plan_version"], "demo-1")
            self.assertEqual(len(header["targets"][0]["fingerprint"]), 12)
            self.assertEqual(sum(i["due"] for i in intervals), 1000)
            self.assertEqual(sum(n for i in intervals for _, n in i["latency"]["buckets"]), 1000)
            self.assertEqual(header["started_us"], intervals[0]["start_us"])
            for one, next_one in zip(intervals, intervals[1:]):
                self.assertEqual(one["start_us"] + one["length_us"], next_one["start_us"])

    def test_posteriors(self):
        with Server(plan()) as server:
            for which, status in ("all", "unknown_action"), ("none", "by_design"):
                before = with_label(metric(server, "interlude_posteriors_total"), status)
                ran = load(url(server.decisions), "--rate", 200, "--duration", "200ms",
                           "--arrivals", "constant", "--posteriors", which)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                after = with_label(metric(server, "interlude_posteriors_total"), status)
                self.assertEqual(after - before, 40, which)

    def test_bodies_from_a_file(self):
        with Server(plan()) as server, tempfile.NamedTemporaryFile("w") as bodies:
            bodies.write('{"weight": 1, "body": {"request_id": "r-{seq}", "variant": "bayes"}}\n'
                         '{"weight": 1, "body": {"request_id": 5}}\n')
            bodies.flush()
            ran = load(url(server.decisions), "--rate", 500, "--duration", "400ms", "--body",
                       bodies.name, "--json")
            target = json.loads(ran.stdout)["targets"][0]
            absent = with_label(metric(server, "interlude_posteriors_total"), "absent")
            self.assertEqual(target["answered"], absent)
            self.assertGreater(absent, 0)
            self.assertGreater(target["errors"]["status"], 0)
            self.assertEqual(target["due"], absent + target["errors"]["status"])
            # Half of all requests failed, so there is no 99th percentile.
            self.assertIsNone(target["p99_ns"])

    def test_a_stopped_server_is_seen(self):
        """A stop of 300 ms in a second: nearly a third of all requests wait for its end."""
        with Server(plan()) as server:
            running = subprocess.Popen(lab(url(server.decisions), "--rate", 1000, "--duration",
                                           "1s", "--connections", 16, "--json"),
                                       stdout=subprocess.PIPE, text=True)
            time.sleep(0.6)  # of which the lab takes 0.2 to look at the machine's timers
            server.signal(signal.SIGSTOP)
            time.sleep(0.3)
            server.signal(signal.SIGCONT)
            told = json.loads(running.communicate(timeout=30)[0])["targets"][0]
            self.assertEqual(told["due"], told["answered"])
            self.assertGreater(told["queued"], 100)
            self.assertGreater(told["p90_ns"], 100e6)

    def test_interrupted(self):
        with Server(plan()) as server:
            running = subprocess.Popen(lab(url(server.decisions), "--rate", 500, "--duration",
                                           "60s", "--json"), stdout=subprocess.PIPE, text=True)
            time.sleep(0.7)
            running.send_signal(signal.SIGINT)
            told = json.loads(running.communicate(timeout=30)[0])["targets"][0]
            self.assertEqual(running.returncode, 0)
            self.assertEqual(told["due"], told["answered"])
            self.assertTrue(0 < told["due"] < 15000)

    def test_pairs(self):
        with Server(plan(server="workers: 1")) as server:
            here = url(server.decisions)
            pid = server.process.pid
            ran = load(here, here, "--rate", 500, "--pairs", 6, "--pair-duration", "100ms",
                       "--metric", "cpu", "--pid", "%d,%d" % (pid, pid), "--bar", 1000, "--json")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            told = json.loads(ran.stdout)
            self.assertEqual(told["judged"], "met")
            self.assertEqual((len(told["ab"]["ratios"]), len(told["aa"]["ratios"])), (6, 6))
            self.assertIn(told["verdict"], ("faster", "slower", "no difference"))
            ran = load(here, here, "--rate", 500, "--pairs", 6, "--pair-duration", "50ms",
                       "--metric", "cpu", "--metrics", ",".join(2 * [url(server.operations)]),
                       "--bar", 0.001)
            self.assertIn("missed", ran.stdout)
            self.assertEqual(ran.returncode, 1)

    def test_usage(self):
        here = "http://127.0.0.1:%d" % free_port()
        for args, told in (
                ([], "a URL is needed"),
                ([here], "rate"),
                ([here, "--rate", "x"], "--rate cannot be `x`"),
                ([here, "--rate", "1", "--duration", "10"], "--duration cannot be `10`"),
                ([here, "--rate"], "needs a value after `--rate`"),
                ([here, "--rte", "1"], "does not know `--rte`"),
                (["https://127.0.0.1", "--rate", "1"], "only http://"),
                (["http://example.org", "--rate", "1"], "localhost"),
                ([here, "--rate", "1", "--body", "/nowhere"], "/nowhere: No such file"),
                ([here, "--rate", "1", "--out", "/nowhere/x"], "/nowhere/x: No such file"),
                ([here, "--rate", "1", "--posteriors", "most"], "--posteriors cannot be `most`"),
                ([here, "--rate", "1", "--bar", "1"], "needs --pairs"),
                ([here, "--rate", "1", "--pairs", "6"], "two URLs"),
                ([here, here, "--rate", "1", "--pairs", "5"], "--pairs cannot be `5`"),
                ([here, here, "--rate", "1", "--pairs", "6", "--metric", "cpu"], "--pid"),
                ([here, "--rate", "1", "--admin", here + "," + here], "--admin"),
                ([here, "--rate", "1"], "refused")):
            with self.subTest(args):
                ran = load(*args)
                self.assertEqual((ran.returncode, ran.stdout), (2, ""))
                self.assertIn(told, ran.stderr)
                self.assertTrue(ran.stderr.startswith("interlude-lab load: "), ran.stderr)
