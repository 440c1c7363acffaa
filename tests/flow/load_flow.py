"""interlude-lab load against a real server: what it tells, and what the server saw of it."""

import json
import os
import shlex
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from lib import lab
from lib.lab import load, load_start, url
from lib.server import ROOT, Server, free_port, plan, wait_for
from lib.wire import get


def metric(server, name):
    """All samples of one metric, by their labels as written. A cell may be 20 ms behind."""
    time.sleep(0.05)
    found = {}
    for line in get(server.operations, "/metrics").body.decode().split("\n"):
        if line.startswith(name + "{"):
            labels, value = line[len(name) + 1:].rsplit("} ", 1)
            found[labels] = float(value)
    return found


def answered(server):
    return metric(server, "interlude_http_requests_total")['code="200"']


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
            wait_for(lambda: answered(server) == 1000, what="1,000 counted")
            self.assertEqual(answered(server), 1000)
            with open(capture) as f:
                header, *intervals = [json.loads(line) for line in f]
            with open(os.path.join(ROOT, "VERSION")) as f:
                self.assertEqual(header["targets"][0]["build_version"], f.read().strip())
            self.assertRegex(header["targets"][0]["commit"], "^[0-9a-z]+$")
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
                wait_for(lambda: with_label(metric(server, "interlude_posteriors_total"), status)
                         == before + 40, what="40 counted: " + which)

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
        """A stop of 600 ms in two seconds: nearly a third of all requests wait for its end."""
        with Server(plan()) as server:
            running = load_start(url(server.decisions), "--rate", 1000, "--duration", "2s",
                                 "--connections", 16, "--json", stdout=subprocess.PIPE)
            wait_for(lambda: answered(server) > 0, what="the first answer")
            server.signal(signal.SIGSTOP)
            time.sleep(0.6)
            server.signal(signal.SIGCONT)
            told = json.loads(running.communicate(timeout=30)[0])["targets"][0]
            self.assertEqual(told["due"], told["answered"])
            self.assertGreater(told["queued"], 100)
            self.assertGreater(told["p90_ns"], 100e6)

    def test_interrupted(self):
        with Server(plan()) as server:
            running = load_start(url(server.decisions), "--rate", 500, "--duration", "60s",
                                 "--json", stdout=subprocess.PIPE)
            wait_for(lambda: answered(server) > 0, what="the first answer")
            running.send_signal(signal.SIGINT)
            told = json.loads(running.communicate(timeout=30)[0])["targets"][0]
            self.assertEqual(running.returncode, 0)
            self.assertEqual(told["due"], told["answered"])
            self.assertTrue(0 < told["due"] < 15000)

    def test_a_stopped_generator_takes_the_blame(self):
        with Server(plan()) as server:
            running = load_start(url(server.decisions), "--rate", 400, "--duration", "3s",
                                 "--arrivals", "constant", "--connections", 1, "--json",
                                 stdout=subprocess.PIPE)
            wait_for(lambda: answered(server) > 0, what="the first answer")
            running.send_signal(signal.SIGSTOP)
            time.sleep(0.7)
            running.send_signal(signal.SIGCONT)
            told = json.loads(running.communicate(timeout=30)[0])["generator"]
            self.assertTrue(told["bottleneck"])
            self.assertGreater(told["taken_up_late"], 0.1)
            self.assertGreater(told["taken_up_after_due"]["p999_ns"], 300e6)

    def test_more_than_can_be_sent(self):
        with Server(plan()) as server:
            ran = load(url(server.decisions), "--rate", "1000000", "--duration", "500ms")
            self.assertRegex(ran.stdout, "warning: .* were never sent")

    def test_an_old_capture_outlives_a_run_that_cannot_start(self):
        with tempfile.TemporaryDirectory() as directory:
            capture = os.path.join(directory, "capture")
            with open(capture, "w") as f:
                f.write("old")
            ran = load("http://127.0.0.1:%d" % free_port(), "--rate", 1, "--out", capture)
            self.assertEqual(ran.returncode, 2)
            self.assertIn("refused", ran.stderr)
            with open(capture) as f:
                self.assertEqual(f.read(), "old")

    def test_a_capture_begins_with_the_run(self):
        with Server(plan()) as server, tempfile.TemporaryDirectory() as directory:
            capture = os.path.join(directory, "capture")
            running = load_start(url(server.decisions), "--rate", 10, "--duration", "60s",
                                 "--interval", "60s", "--out", capture, stdout=subprocess.DEVNULL)
            try:
                end = time.monotonic() + 30
                while not os.path.exists(capture) or not os.path.getsize(capture):
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.02)
            finally:
                running.kill()
                running.wait()
            with open(capture) as f:
                self.assertEqual(json.loads(f.read())["format"], "interlude-capture")

    def test_the_captures_reader_leaves(self):
        with Server(plan()) as server, tempfile.TemporaryDirectory() as directory:
            fifo = os.path.join(directory, "capture")
            os.mkfifo(fifo)
            running = load_start(url(server.decisions), "--rate", 100, "--duration", "1500ms",
                                 "--interval", "100ms", "--out", fifo, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
            with open(fifo, "rb") as f:
                f.read(1)
            out, told = running.communicate(timeout=30)
            self.assertEqual(running.returncode, 2)
            self.assertIn("answered", out)
            self.assertIn("the capture is not whole: Broken pipe", told)

    def test_output_that_cannot_be_written(self):
        with Server(plan()) as server:
            here = url(server.decisions)
            run = [*lab.command("load", here), "--rate", "100", "--duration", "50ms"]
            help_ = lab.command("load", "--help")
            for command in run, [*run, "--json"], help_, [lab.program(), "profile", "--help"]:
                self.assert_output_is_missed(command)

    def test_a_profile_that_cannot_be_written(self):
        with Server(plan()) as server:
            busy = load_start(url(server.decisions), "--rate", 1000, "--duration", "60s",
                              stdout=subprocess.DEVNULL)
            try:
                self.assert_output_is_missed([lab.program(), "profile", url(server.operations),
                                              "--duration", "2s"])
            finally:
                busy.kill()
                busy.wait()

    def assert_output_is_missed(self, command):
        for to in ">/dev/full", ">&-":
            with self.subTest(command=command[1:], to=to):
                ran = subprocess.run(["sh", "-c", "exec %s %s" % (shlex.join(command), to)],
                                     stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual(ran.returncode, 2)
                self.assertIn("stdout: ", ran.stderr)

    def test_a_closed_stdout_is_not_the_capture(self):
        with Server(plan()) as server, tempfile.TemporaryDirectory() as directory:
            capture = os.path.join(directory, "capture")
            command = lab.command("load", url(server.decisions), "--rate", 100,
                                  "--arrivals", "constant", "--duration", "50ms", "--out", capture)
            ran = subprocess.run(["sh", "-c", "exec %s <&- >&- 2>&-" % shlex.join(command)],
                                 timeout=60)
            self.assertEqual(ran.returncode, 2)  # what it found could not be told
            with open(capture) as f:
                header, *intervals = [json.loads(line) for line in f]
            self.assertEqual(header["format"], "interlude-capture")
            self.assertEqual(sum(i["due"] for i in intervals), 5)

    def test_a_hung_server_is_left_when_asked(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            running = load_start(url(listener.getsockname()), "--rate", 50, "--duration", "100ms",
                                 "--timeout", "50s", "--json", stdout=subprocess.PIPE)
            listener.settimeout(30)
            with listener.accept()[0] as first:
                first.settimeout(30)
                self.assertTrue(first.recv(1))
            time.sleep(1)  # the schedule is over, as a rule; if not, it is ended
            running.send_signal(signal.SIGINT)
            told = json.loads(running.communicate(timeout=30)[0])["targets"][0]
            self.assertEqual(running.returncode, 1)
            self.assertEqual(told["due"], told["errors"]["timeout"] + told["unsent"])

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

    def test_a_capture_that_cannot_be_created(self):
        with Server(plan()) as server:
            ran = load(url(server.decisions), "--rate", 1, "--out", "/nowhere/x")
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertIn("/nowhere/x: No such file", ran.stderr)

    def test_usage(self):
        here = "http://127.0.0.1:%d" % free_port()
        for args, told in (
                ([], "a URL is needed"),
                ([here], "--rate R is missing: how many requests a second"),
                ([here, "--rate", "x"], "--rate takes a number, not `x`"),
                ([here, "--rate", "1", "--duration", "10"], "--duration takes a duration above 0 with its unit, such as 10s or 250ms, not `10`"),
                ([here, "--rate"], "needs a value after `--rate`"),
                ([here, "--rte", "1"], "does not know `--rte`"),
                (["https://127.0.0.1", "--rate", "1"], "only http://"),
                (["http://example.org", "--rate", "1"], "localhost"),
                ([here, "--rate", "1", "--body", "/nowhere"], "/nowhere: No such file"),
                ([here, "--rate", "1", "--body", "/dev/null"], "/dev/null: "),
                ([here, "--rate", "1", "--posteriors", "most"], "--posteriors takes all, some, none or mix, not `most`"),
                ([here, "--rate", "1", "--bar", "1"], "--bar needs --pairs"),
                ([here, "--rate", "1", "--pair-duration", "1s"], "--pair-duration needs --pairs"),
                ([here, "--rate", "1", "--metric", "cpu"], "--metric needs --pairs"),
                ([here, "--rate", "1", "--pid", "1,2"], "--pid needs --pairs"),
                ([here, "--rate", "1", "--metrics", here], "--metrics needs --pairs"),
                ([here, "--rate", "1", "--admin", here], "--admin needs --out"),
                ([here, "--rate", "1", "--interval", "1s"], "--interval needs --out"),
                ([here, "--rate", "1", "--peak", "1"], "--peak needs --shape diurnal"),
                ([here, "--rate", "1", "--trough", "1"], "--trough needs --shape diurnal"),
                ([here, "--rate", "1", "--cycle", "1s"], "--cycle needs --shape diurnal"),
                ([here, "--shape", "diurnal", "--rate", "1"], "--rate is for --shape flat"),
                ([here, "--shape", "diurnal", "--peak", "1"], "--cycle D is missing"),
                ([here, "--shape", "diurnal", "--peak", "1", "--cycle", "1ns"], "at least 1 ms"),
                ([here, "--rate", "1", "--alternate", "1s"], "--alternate needs several URLs"),
                ([here, "--rate", "1", "--interleave"], "--interleave needs several URLs"),
                ([here, here, "--rate", "1", "--alternate", "2ns"], "at least 1 ms"),
                ([here, here, "--rate", "1", "--alternate", "1s", "--interleave"], "take one"),
                ([here, here, "--rate", "1", "--pairs", "6", "--duration", "1s"],
                 "--duration does not go with --pairs: --pair-duration"),
                ([here, here, "--rate", "1", "--pairs", "6", "--out", "x"], "--out does not go"),
                ([here, here, "--rate", "1", "--pairs", "6", "--admin", here + "," + here],
                 "--admin does not go with --pairs"),
                ([here, here, "--rate", "1", "--pairs", "6", "--interval", "1s"],
                 "--interval does not go with --pairs"),
                ([here, here, "--rate", "1", "--pairs", "6", "--alternate", "1s"],
                 "--alternate does not go with --pairs"),
                ([here, here, "--rate", "1", "--pairs", "6", "--pid", "1,2"], "--metric cpu"),
                ([here, here, "--rate", "1", "--pairs", "6", "--metrics", here + "," + here],
                 "--metric cpu"),
                ([here, here, "--rate", "1", "--pairs", "6", "--metric", "cpu", "--pid", "1,2",
                  "--metrics", here + "," + here], "--pid does not go with --metrics"),
                ([here, "--rate", "1", "--pairs", "6"], "two URLs"),
                ([here, here, "--rate", "1", "--pairs", "5"], "--pairs takes a whole number from 6 to 1000, not `5`"),
                ([here, here, "--rate", "1", "--pairs", "6", "--metric", "cpu"], "--pid"),
                ([here, "--rate", "1", "--admin", here + "," + here, "--out", "/nowhere/x"],
                 "--admin takes as many"),
                ([here, "--rate", "1"], "refused")):
            with self.subTest(args):
                ran = load(*args)
                self.assertEqual((ran.returncode, ran.stdout), (2, ""))
                self.assertIn(told, ran.stderr)
                self.assertTrue(ran.stderr.startswith("interlude-lab load: "), ran.stderr)
