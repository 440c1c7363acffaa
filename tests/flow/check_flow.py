"""interlude check: what it prints, and how it ends."""

import json
import os
import re
import subprocess
import tempfile
import unittest

from lib import server as server_module
from lib.server import ROOT, Server, plan

CASES = os.path.join(ROOT, "tests", "cases", "plans")


def check(*args):
    return subprocess.run([server_module.BINARY, "check", *args], capture_output=True, text=True)


def expected(path):
    """What the first lines of a case file say is told of it."""
    with open(path, encoding="utf-8") as f:
        return [line[len("# expect: "):].rstrip("\n") for line in f if line.startswith("# expect: ")]


class Check(unittest.TestCase):
    def cases(self, prefix):
        paths = [os.path.join(CASES, name) for name in sorted(os.listdir(CASES))
                 if name.startswith(prefix)]
        self.assertGreater(len(paths), 1)
        return paths

    def test_warnings_and_the_plan(self):
        for path in self.cases("warn-"):
            with self.subTest(path):
                run, told = check(path), expected(path)
                self.assertEqual(run.returncode, 0, run.stderr)
                lines = [re.sub(r"^(\d+:\d+): ", r"\1: warning: ", line) for line in told]
                self.assertEqual(run.stderr.splitlines(), ["%s:%s" % (path, l) for l in lines])
                good = "good, with %d warning" % len(told) if told else "good. Fingerprint"
                self.assertTrue(run.stdout.startswith("# %s: %s" % (path, good)), run.stdout)
                self.assertIn("\npolicies:\n", run.stdout)

    def test_strict_makes_errors_of_them(self):
        for path in self.cases("warn-"):
            told = expected(path)
            for args in ["--strict", path], [path, "--strict"]:
                with self.subTest(args):
                    run = check(*args)
                    self.assertEqual(run.returncode, 1 if told else 0, run.stderr)
                    self.assertEqual(run.stderr.splitlines(),
                                     ["%s:%s" % (path, line) for line in told])
                    self.assertEqual(run.stdout == "", bool(told))

    def test_what_is_wrong_is_told_once(self):
        for path in self.cases("bad-"):
            for args in ["--strict", path], [path]:
                run = check(*args)
                self.assertEqual((run.returncode, run.stdout), (1, ""), path)
                self.assertNotIn(": warning: ", run.stderr)

    def test_the_plans_that_come_with_it(self):
        example = os.path.join(ROOT, "examples", "interlude.yaml")
        run = check("--strict", example)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_what_is_printed_loads_to_the_same(self):
        """The end mark is no part of it: it is printed to be read."""
        for path in self.cases("warn-"):
            first = check(path).stdout
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
                f.write(first + "...\n")
                f.flush()
                again = check(f.name)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertNotIn("the shares sum", again.stderr)
            self.assertEqual(first.split("\n", 1)[1], again.stdout.split("\n", 1)[1])

    def test_the_schema(self):
        run = check("--schema")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        with open(os.path.join(ROOT, "docs", "plan.schema.json"), encoding="utf-8") as f:
            self.assertEqual(json.loads(run.stdout), json.load(f))
        for wrong in (["--schema", "x"], ["x", "--schema"]):
            self.assertEqual(check(*wrong).returncode, 2)

    def test_usage(self):
        for args in [], ["--strict"], ["a", "b"], ["--lenient", "a"], ["--strict", "--", "a"]:
            with self.subTest(args):
                run = check(*args)
                self.assertEqual((run.returncode, run.stdout), (2, ""))
                self.assertIn("interlude check: ", run.stderr)
        self.assertEqual(check("/nonexistent").returncode, 2)

    def test_a_server_tells_how_many(self):
        with Server(plan()) as server:
            self.assertNotIn("warning", server.errors())
        with Server(plan(more="guardrails: {ads_per_hour: 0, ads_per_day: 0}\n")) as server:
            self.assertRegex(server.errors(), r"plan\.yaml: 2 warnings: `interlude check .*` tells\n")

