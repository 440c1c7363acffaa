"""The programs as somebody types them: which commands there are, what they take, and how they end."""

import json
import os
import subprocess
import tempfile
import unittest

from lib import lab
from lib import server as server_module
from lib.server import ROOT, plan
from lib.wire import get


BETAS = {"none": {"alpha": 20, "beta": 80}, "pod_1": {"alpha": 25, "beta": 75},
         "pod_2": {"alpha": 30, "beta": 70}, "pod_3": {"alpha": 22, "beta": 78}}


def run(*args, given="", program=None):
    return subprocess.run([program or server_module.BINARY, *args], input=given, capture_output=True,
                          text=True, timeout=60)


def line(**more):
    return json.dumps({"request_id": "r-1", "time": "2026-11-30T08:00:00Z", **more}) + "\n"


class Programs(unittest.TestCase):
    def programs(self):
        return ("interlude", server_module.BINARY), ("interlude-lab", lab.program())

    def test_version(self):
        with open(os.path.join(ROOT, "VERSION")) as f:
            version = f.read().strip()
        for argument in "version", "--version":
            ran = run(argument)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertRegex(ran.stdout, r"^interlude %s \(\w+(-dirty)?\)\n$" % version.replace(".", r"\."))

    def test_help_is_told_where_it_is_asked_for(self):
        for name, program in self.programs():
            for argument in "help", "--help", "-h":
                with self.subTest(name, argument=argument):
                    ran = run(argument, program=program)
                    self.assertEqual((ran.returncode, ran.stderr), (0, ""))
                    self.assertIn("\n  %s serve " % name, ran.stdout)
                    self.assertIn("\nExit codes: 0 done", ran.stdout)
            ran = run(program=program)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertTrue(ran.stderr.startswith(name))
            self.assertNotIn("there is no command", ran.stderr)

    def test_an_unknown_command(self):
        for name, program in self.programs():
            ran = run("serv", program=program)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertIn("there is no command `serv`", ran.stderr)

    def test_help_of_a_command(self):
        for command in "serve", "check", "decide", "version":
            ran = run(command, "--help")
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertTrue(ran.stdout.startswith("interlude"), ran.stdout)
        for command in "load", "profile", "signals":
            ran = run(command, "--help", program=lab.program())
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertTrue(ran.stdout.startswith("interlude-lab %s" % command), ran.stdout)


class Serve(unittest.TestCase):
    def test_workers(self):
        for given, workers in ("10", 10), ("1", 1), ("240", 240):
            with server_module.Server(args=["--workers", given]) as server:
                self.assertEqual(server.log("server_ready")[0]["workers"], workers)
                self.assertIn(b"\ninterlude_workers %d\n" % workers,
                              get(server.operations, "/metrics").body)
        for given in "0", "241", "-1", "1x", "", "x", "99999999999999999999":
            ran = run("serve", "--workers", given)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertIn("from 1 to 240, not `%s`" % given, ran.stderr)


class Decide(unittest.TestCase):
    def file(self, text):
        f = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self.addCleanup(f.close)
        f.write(text)
        f.flush()
        return f.name

    def test_a_line_is_a_decision(self):
        ran = run("decide", given=line(variant="bayes", posteriors=BETAS) + line(segment_id="core"))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        first, second = [json.loads(text) for text in ran.stdout.splitlines()]
        self.assertEqual((first["request_id"], first["variant"], first["policy"]),
                         ("r-1", "bayes", "bayesian"))
        self.assertEqual((second["version"], second["segment_id"]), ("demo-1", "core"))
        self.assertEqual(first["decided_at"], "2026-11-30T08:00:00.000Z")

    def test_an_id_is_made_up(self):
        ran = run("decide", given="{}\n{}\n")
        ids = [json.loads(text)["request_id"] for text in ran.stdout.splitlines()]
        self.assertEqual(len(set(ids)), 2)
        self.assertTrue(all(ids))

    def test_the_last_line_may_lack_its_end(self):
        ran = run("decide", given=line().rstrip("\n"))
        self.assertEqual((ran.returncode, json.loads(ran.stdout)["request_id"]), (0, "r-1"))

    def test_explain(self):
        """Whether the command is asked for it or the request."""
        asked = line(variant="bayes", posteriors=BETAS)
        told = {}
        for args in (), ("--explain",):
            ran = run("decide", *args, given=asked)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            told[args] = json.loads(ran.stdout)
        self.assertNotIn("considered", told[()])
        explained = told[("--explain",)]
        self.assertEqual([step["step"] for step in explained["considered"]],
                         ["allocate", "gate", "presence", "mask", "choose"])
        self.assertEqual({k: v for k, v in explained.items() if k in told[()]}, told[()])
        ran = run("decide", given=line(variant="bayes", posteriors=BETAS, explain=True))
        self.assertEqual(json.loads(ran.stdout), explained)

    def test_a_plan_of_ones_own(self):
        path = self.file(plan("t-7", action="none").replace("...", ""))
        for args in ("--config", path), ("--config=" + path,):
            ran = run("decide", *args, given=line())
            self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stderr)
            told = json.loads(ran.stdout)
            self.assertEqual((told["version"], told["action"]), ("t-7", "none"))

    def test_a_request_that_is_none(self):
        """The others are decided all the same, and the exit code says that not all were."""
        for bad in "{\n", '{"request_id": 5}\n', '{"a": "%s"}\n' % ("x" * 70000):
            ran = run("decide", given=line() + bad + line())
            self.assertEqual(ran.returncode, 1)
            lines = [json.loads(text) for text in ran.stdout.splitlines()]
            self.assertEqual([("action" in told) for told in lines], [True, False, True])
            self.assertIn("code", lines[1])

    def test_what_is_wrong_with_how_it_is_called(self):
        bad = self.file("nonsense\n")
        for args, told in ((("--explian",), "does not know `--explian`"),
                           (("x",), "does not know `x`"),
                           (("--config",), "needs a value after `--config`"),
                           (("--config", "/nowhere/plan"), "/nowhere/plan"),
                           (("--config", bad), bad + ":1:")):
            with self.subTest(args):
                ran = run("decide", *args, given=line())
                self.assertEqual((ran.returncode, ran.stdout), (2, ""))
                self.assertIn(told, ran.stderr)

    def test_output_and_input_that_fail(self):
        with open("/dev/full", "w") as full:
            ran = subprocess.run([server_module.BINARY, "decide"], input=line(), stdout=full,
                                 stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("stdout: No space left on device", ran.stderr)
        directory = os.open("/", os.O_RDONLY)
        self.addCleanup(os.close, directory)
        ran = subprocess.run([server_module.BINARY, "decide"], stdin=directory, capture_output=True,
                             text=True, timeout=60)
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn("interlude decide: stdin: Is a directory", ran.stderr)
