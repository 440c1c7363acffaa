"""Captures as they are written, read by what docs/captures.md says; and when pairs have no verdict."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

from lib.lab import load, load_start, url
from lib.server import ROOT, Server, plan


def documented_reader():
    with open(os.path.join(ROOT, "docs", "captures.md")) as f:
        block = re.search(r"(?:^    .*\n|^\n)*^    import json\n(?:^    .*\n|^\n)*", f.read(), re.M)
    return re.sub("^    ", "", block.group(), flags=re.M)


class Captures(unittest.TestCase):
    def test_the_documented_reader_adds_up(self):
        with Server(plan()) as server, tempfile.TemporaryDirectory() as directory:
            here = url(server.decisions)
            for spread in ["--interleave"], ["--alternate", "100ms"]:
                capture = os.path.join(directory, "capture.jsonl")
                ran = load(here, here, "--rate", 500, "--duration", "1s", "--interval", "300ms",
                           "--arrivals", "constant", "--out", capture, *spread)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                code = documented_reader().replace("capture.jsonl", capture)
                found = {}
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(code, found)  # the document's own code, and nothing else
                self.assertEqual(sum(found["total"].values()), 500)
                # Each line was rounded down.
                self.assertAlmostEqual(found["active_us"], 1000000, delta=100)
                self.assertGreaterEqual(found["steal_us"] or 0, 0)

    def test_a_capture_that_does_not_fit(self):
        with Server(plan()) as server:
            ran = load(url(server.decisions), "--rate", 100, "--duration", "200ms", "--out",
                       "/dev/full")
            self.assertEqual(ran.returncode, 2)
            self.assertIn("the capture is not whole: No space left on device", ran.stderr)

    def test_a_capture_too_long_to_be_read_is_not_begun(self):
        with Server(plan()) as server, tempfile.TemporaryDirectory() as directory:
            capture = os.path.join(directory, "capture.jsonl")
            ran = load(url(server.decisions), "--rate", 100, "--duration", "20m", "--interval",
                       "1ms", "--out", capture)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertIn("--interval", ran.stderr)
            self.assertFalse(os.path.exists(capture))


class Pairs(unittest.TestCase):
    def test_failed_requests_have_no_verdict(self):
        with Server(plan()) as server, tempfile.NamedTemporaryFile("w") as bodies:
            bodies.write('{"weight": 9, "body": {"request_id": "r-{seq}"}}\n'
                         '{"weight": 1, "body": {"request_id": 5}}\n')
            bodies.flush()
            here = url(server.decisions)
            args = [here, here, "--rate", 500, "--pairs", 6, "--pair-duration", "100ms",
                    "--metric", "p50", "--bar", 1000, "--body", bodies.name]
            ran = load(*args, "--json")
            told = json.loads(ran.stdout)
            self.assertEqual((ran.returncode, told["verdict"], told["judged"], told["void"]),
                             (1, "void", "void", "failed requests"))
            self.assertGreater(told["failed"], 0)
            ran = load(*args)
            self.assertEqual(ran.returncode, 1)
            self.assertIn("got no 2xx answer", ran.stdout)

    def test_a_late_generator_leaves_pairs_out(self):
        """Of six pairs none may be missing."""
        with Server(plan()) as server:
            here = url(server.decisions)
            running = load_start(here, here, "--rate", 500, "--pairs", 6, "--pair-duration",
                                 "200ms", "--metric", "p99", "--bar", 1000, "--connections", 4,
                                 "--json", stdout=subprocess.PIPE)
            while running.poll() is None:  # one might fall between two runs
                time.sleep(0.6)
                running.send_signal(signal.SIGSTOP)
                time.sleep(0.3)
                running.send_signal(signal.SIGCONT)
            told = json.loads(running.communicate(timeout=60)[0])
            self.assertEqual((running.returncode, told["failed"]), (1, 0))
            self.assertGreater(told["ab"]["late"] + told["aa"]["late"], 0)
            self.assertEqual((told["verdict"], told["judged"], told["void"]),
                             ("void", "not resolved", "too few pairs"))
            for kind in told["ab"], told["aa"]:
                self.assertEqual(kind["ratios"].count(None), kind["late"])

    def test_an_idle_process_is_named(self):
        with Server(plan()) as server:
            here = url(server.decisions)
            idle = subprocess.Popen(["sleep", "60"])
            try:
                ran = load(here, here, "--rate", 100, "--pairs", 6, "--pair-duration", "50ms",
                           "--metric", "cpu", "--pid", "%d,%d" % (idle.pid, idle.pid))
            finally:
                idle.kill()
                idle.wait()
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertIn("process %d with those below it used no processor time" % idle.pid,
                          ran.stderr)

    def test_a_twin(self):
        with Server(plan()) as a, Server(plan()) as b, Server(plan()) as twin:
            servers = [a, b, twin]
            urls = [url(s.decisions) for s in servers]
            args = [*urls, "--rate", 500, "--pairs", 6, "--pair-duration", "50ms", "--metric",
                    "cpu", "--json"]
            pids = [str(s.process.pid) for s in servers]
            ran = load(*args, "--pid", ",".join(pids))
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual(json.loads(ran.stdout)["twin"], urls[2])
            ran = load(*args, "--metrics", ",".join(url(s.operations) for s in servers))
            self.assertEqual(ran.returncode, 0, ran.stderr)
            for wrong in pids[:2], pids + pids[:1], pids[:1]:
                ran = load(*args, "--pid", ",".join(wrong))
                self.assertEqual((ran.returncode, ran.stdout), (2, ""), wrong)
                self.assertIn("--pid", ran.stderr)
