"""Reload, by SIGHUP and by POST /v1/reload."""

import os
import re
import signal
import threading
import time
import unittest

from lib.server import ROOT, Server, plan, wait_for
from lib.wire import Connection, ask, decide, get, post, request


RELOAD = request("/v1/reload", fields=[("Content-Type", "application/json")])


def reload(server, seconds=30.0):
    return ask(server.operations, RELOAD, seconds)


class Served(unittest.TestCase):
    def serve(self, text=None, **more):
        server = Server(text or plan(), **more)
        self.addCleanup(server.close)
        return server


class Reload(Served):
    def test_changed(self):
        server = self.serve()
        with Connection(server.decisions) as kept:
            kept.send(decide())
            first = kept.answer().json()
            server.write_plan(plan("t-2", action="none"))
            answer = reload(server)
            self.assertEqual(answer.status, 200)
            kept.send(decide())
            second = kept.answer().json()
        told = answer.json()
        self.assertEqual((told["changed"], told["version"]), (True, "t-2"))
        self.assertEqual(told["fingerprint"], second["fingerprint"])
        self.assertNotEqual(first["fingerprint"], second["fingerprint"])
        self.assertEqual((first["action"], second["action"]), ("pod_1", "none"))
        self.assertEqual(get(server.operations, "/v1/plan").json()["version"], "t-2")
        self.assertEqual(server.wait_log("plan_reloaded")["version"], "t-2")

    def test_unchanged(self):
        server = self.serve()
        told = reload(server).json()
        self.assertEqual((told["changed"], told["version"]), (False, "t-1"))

    def test_body_is_optional(self):
        server = self.serve()
        self.assertEqual(post(server.operations, "/v1/reload", {}).status, 200)
        self.assertEqual(reload(server).status, 200)

    def test_built_in_plan(self):
        with Server() as server:
            self.assertFalse(reload(server).json()["changed"])

    def test_refused(self):
        server = self.serve()
        server.write_plan(plan("t-2").replace("default_variant: control", "default_variant: contrl")
                          .replace("segments:", "segmnts:"))
        a = reload(server)
        self.assertEqual((a.status, a.code), (422, "plan_invalid"))
        self.assertEqual(a.field("Content-Type"), "application/problem+json")
        errors = a.json()["errors"]
        self.assertGreaterEqual(len(errors), 2)
        for error in errors:
            self.assertEqual(sorted(error), ["column", "line", "message"])
        self.assertEqual((errors[0]["line"], errors[0]["column"]), (6, 1))
        self.assertIn("segments", errors[0]["message"])
        now = ask(server.decisions, decide()).json()
        self.assertEqual((now["version"], now["action"]), ("t-1", "pod_1"))
        self.assertEqual(server.wait_log("plan_refused")["version"], "t-1")
        # And the next good one is taken.
        server.write_plan(plan("t-3", action="none"))
        self.assertTrue(reload(server).json()["changed"])

    def test_no_file(self):
        server = self.serve()
        os.unlink(server.plan_path)
        a = reload(server)
        self.assertEqual((a.status, a.code), (422, "plan_invalid"))
        self.assertIn("No such file", a.json()["errors"][0]["message"])
        self.assertEqual(ask(server.decisions, decide()).status, 200)

    def test_version_reused(self):
        server = self.serve()
        server.write_plan(plan("t-2", action="none"))
        self.assertEqual(reload(server).status, 200)
        # Other contents under a version that was served: served, and a warning says so.
        for count, (version, action) in enumerate((("t-2", "pod_1"), ("t-1", "none"))):
            server.write_plan(plan(version, action=action))
            told = reload(server).json()
            self.assertEqual((told["changed"], told["version_reused"]), (True, True))
            now = ask(server.decisions, decide()).json()
            self.assertEqual((now["version"], now["action"]), (version, action))
            line = server.wait_log("version_reused", count=count + 1)
            self.assertEqual((line["version"], line["fingerprint"]), (version, now["fingerprint"]))
        # The very plan that had it last may come back; and what decides nothing is no contents.
        server.write_plan(plan("t-3"))
        reload(server)
        server.write_plan(plan("t-1", action="none", log="level: debug"))
        told = reload(server).json()
        self.assertEqual((told["changed"], told["version"]), (True, "t-1"))
        self.assertNotIn("version_reused", told)
        self.assertEqual(len(server.log("version_reused")), 2)

    def test_no_version_is_never_reused(self):
        def text(level, action):
            return plan("x", action=action, log="level: " + level).replace("version: x\n", "")
        server = self.serve(text("info", "pod_1"))
        for level, action in (("warning", "pod_1"), ("info", "pod_1"), ("info", "none")):
            server.write_plan(text(level, action))
            told = reload(server).json()
            self.assertEqual(told["changed"], True)
            self.assertEqual(told["version"], told["fingerprint"])

    def test_what_only_a_start_applies(self):
        server = self.serve()
        server.write_plan(plan("t-2", server="workers: 3, head_timeout: 1s"))
        told = reload(server).json()
        self.assertIn("server.workers", told["not_applied"])
        self.assertNotIn("server.listen", told["not_applied"])
        self.assertIn("server.workers", server.wait_log("plan_reloaded")["message"])

    def test_a_plan_that_a_start_refuses(self):
        """The reload accepted budgets that no signal has; the start did not."""
        server = self.serve()
        server.write_plan(plan("t-2", log="sites: {log_suppressed: {rate: 1}}"))
        a = reload(server)
        self.assertEqual((a.status, a.code), (422, "plan_invalid"))
        self.assertIn("`log_suppressed` has no budget", a.json()["detail"])
        server.write_plan(plan("t-3", log="sites: {posteriors_partial: {rate: 1}}"))
        self.assertEqual(reload(server).status, 200)

    def test_sighup(self):
        server = self.serve()
        server.write_plan(plan("t-2", action="none"))
        server.signal(signal.SIGHUP)
        server.wait_log("plan_reloaded")
        self.assertEqual(ask(server.decisions, decide()).json()["version"], "t-2")
        server.write_plan("version: [")
        server.signal(signal.SIGHUP)
        server.wait_log("plan_refused")
        self.assertEqual(ask(server.decisions, decide()).json()["version"], "t-2")

    def fifo(self, server):
        os.unlink(server.plan_path)
        os.mkfifo(server.plan_path)

    def test_a_plan_that_became_a_fifo_hung_the_server(self):
        """SIGHUP, and nobody writes: SIGTERM and SIGINT are heard all the same, and at once."""
        for number in signal.SIGTERM, signal.SIGINT:
            with self.subTest(number):
                server = self.serve(plan(server="drain: 0s"))
                self.fifo(server)
                server.signal(signal.SIGHUP)
                self.assertEqual(get(server.operations, "/healthz").status, 200)
                self.assertEqual(ask(server.decisions, decide()).status, 200)
                began = time.monotonic()
                server.signal(number)
                self.assertEqual(server.wait_exit(), 0)
                self.assertLess(time.monotonic() - began, 1.5)

    def test_a_fifo_hung_the_operations_port(self):
        server = self.serve()
        self.fifo(server)
        a = reload(server)
        self.assertEqual((a.status, a.code), (422, "plan_invalid"))
        self.assertIn("nobody wrote to it within 2000 ms", a.json()["detail"])
        self.assertEqual(get(server.operations, "/healthz").status, 200)
        # Nor does a reload that waits keep the server when it is to stop.
        with Connection(server.operations) as c:
            c.send(RELOAD)
            time.sleep(0.1)
            began = time.monotonic()
            server.signal(signal.SIGINT)
            self.assertEqual(server.wait_exit(), 0)
            self.assertLess(time.monotonic() - began, 1.5)

    def test_a_fifo_that_is_written_to_is_a_plan(self):
        server = self.serve()
        self.fifo(server)
        server.signal(signal.SIGHUP)
        with open(server.plan_path, "w") as f:
            f.write(plan("t-2", action="none"))
        server.wait_log("plan_reloaded")
        self.assertEqual(ask(server.decisions, decide()).json()["version"], "t-2")

    def test_every_answer_is_of_one_plan(self):
        """Reloads by both ways while four clients ask: version, action and fingerprint agree, and
        none of a client's answers is of a plan older than one it has seen."""
        server = self.serve(plan("t-0", server="workers: 2"))
        faults, stop, counts = [], threading.Event(), []

        def client():
            seen, count = 0, 0
            with Connection(server.decisions) as c:
                while not stop.is_set():
                    c.send(decide() * 5)
                    for _ in range(5):
                        a = c.answer().json()
                        number = int(a["version"][2:])
                        if (a["action"] == "pod_1") != (number % 2 == 0):
                            faults.append(a)
                        if number < seen:
                            faults.append("%d after %d" % (number, seen))
                        seen = number
                        count += 1
            counts.append(count)

        paths = server.lay_out([plan("t-%d" % n, "pod_1" if n % 2 == 0 else "none",
                                     server="workers: 2") for n in range(41)])
        threads = [threading.Thread(target=client) for _ in range(4)]
        for t in threads:
            t.start()
        try:
            for number in range(1, 41):
                server.use_plan(paths[number])
                if number % 4 == 3:
                    server.signal(signal.SIGHUP)
                self.assertEqual(reload(server).status, 200)
                now = ask(server.decisions, decide()).json()
                self.assertEqual(now["version"], "t-%d" % number)
        finally:
            stop.set()
            for t in threads:
                t.join()
        self.assertEqual(faults, [])
        self.assertEqual(len(counts), 4)
        self.assertGreater(min(counts), 40)


DEMO = os.path.join(ROOT, "examples", "interlude.yaml")


def demo(version="demo-2"):
    with open(DEMO) as f:
        return f.read().replace("demo-1", version).replace(":7070", ":0").replace(":7071", ":0")


class HalfAFile(Served):
    def test_half_a_plan_was_served(self):
        """The demonstration plan under another version, cut before `min_gap`: three guardrails were
        gone, and the whole file was then refused for its version."""
        server = self.serve(demo("demo-1"))
        before = get(server.operations, "/v1/plan").json()["fingerprint"]
        half = demo()[:demo().index("  min_gap:")]
        server.write_plan(half)
        a = reload(server)
        self.assertEqual((a.status, a.code), (422, "plan_takes_away"))
        self.assertEqual(a.json()["weaker"], ["guardrails.min_gap is gone",
                                              "guardrails.ads_per_hour is gone",
                                              "guardrails.ad_seconds_per_hour is gone"])
        self.assertIn("`...`", a.json()["errors"][0]["message"])
        line = server.wait_log("plan_refused")
        self.assertEqual((line["code"], line["weaker"]), ("plan_takes_away", a.json()["weaker"]))
        self.assertEqual(get(server.operations, "/v1/plan").json()["fingerprint"], before)
        server.write_plan(half[:-3])
        a = reload(server)
        self.assertEqual((a.status, a.code), (422, "plan_invalid"))
        self.assertIn("half a file", a.json()["detail"])
        # The whole is taken, under that version.
        server.write_plan(demo())
        told = reload(server).json()
        self.assertEqual((told["changed"], told["version"], told["weaker"], told["fingerprint"]),
                         (True, "demo-2", [], before))
        # And who means it says so.
        server.write_plan(half.replace("demo-2", "demo-3") + "...\n")
        told = reload(server).json()
        self.assertEqual((told["version"], len(told["weaker"])), ("demo-3", 3))
        self.assertEqual(server.wait_log("plan_reloaded", count=2)["weaker"], told["weaker"])

    def test_a_file_that_is_being_written(self):
        """Ever more of the plan, a piece every 50 ms, each piece a whole line: what is served is
        the old plan until the file has been at rest."""
        server = self.serve(demo("demo-1"))
        os.unlink(server.plan_path)  # it is a link
        with open(server.plan_path, "w", buffering=1) as f:
            reloading = threading.Thread(target=lambda: answers.append(reload(server, 10)))
            answers = []
            lines = demo().splitlines(keepends=True)
            f.write("".join(lines[:-12]))
            reloading.start()
            for line in lines[-12:]:
                f.write(line)
                time.sleep(0.05)
        reloading.join()
        self.assertEqual((answers[0].status, answers[0].json()["weaker"]), (200, []))
        self.assertEqual(answers[0].json()["version"], "demo-2")

    def test_a_file_that_never_rests(self):
        server = self.serve()
        server.write_plan(plan())
        over = threading.Event()

        def touch():
            while not over.wait(0.02):
                os.utime(server.plan_path)

        toucher = threading.Thread(target=touch)
        toucher.start()
        try:
            a = reload(server, 10)
        finally:
            over.set()
            toucher.join()
        self.assertEqual((a.status, a.code), (422, "plan_invalid"))
        self.assertIn("still being written", a.json()["detail"])
        time.sleep(0.3)
        self.assertEqual(reload(server).status, 200)


class WhatIsTold(Served):
    def test_of_a_reload(self):
        server = self.serve()
        before = get(server.operations, "/v1/plan").json()["fingerprint"]
        server.write_plan(plan("t-2", action="none"))
        with Connection(server.operations) as c:
            c.send(RELOAD)
            told = c.answer().json()
            peer = "%s:%d" % c.socket.getsockname()
        now = ask(server.decisions, decide()).json()["fingerprint"]
        self.assertEqual({key: told[key] for key in ("fingerprint", "fingerprint_before", "trigger",
                                                     "file", "weaker", "units_moved_ppm")},
                         {"fingerprint": now, "fingerprint_before": before, "trigger": "post",
                          "file": server.plan_path, "weaker": [], "units_moved_ppm": 0})
        line = server.wait_log("plan_reloaded")
        self.assertEqual({key: line[key] for key in ("fingerprint", "fingerprint_before", "trigger",
                                                     "peer", "file")},
                         {"fingerprint": now, "fingerprint_before": before, "trigger": "post",
                          "peer": peer, "file": server.plan_path})
        server.write_plan(plan("t-3"))
        server.signal(signal.SIGHUP)
        line = server.wait_log("plan_reloaded", count=2)
        self.assertEqual((line["trigger"], line["fingerprint_before"]), ("signal", now))
        self.assertNotIn("peer", line)
        server.write_plan("nonsense\n")
        a = reload(server)
        self.assertEqual((a.json()["trigger"], a.json()["file"]), ("post", server.plan_path))
        line = server.wait_log("plan_refused")
        self.assertEqual((line["trigger"], line["file"]), ("post", server.plan_path))

    def test_units_that_move(self):
        more = ("experiments:\n"
                "  - {name: e, salt: e-1, slice: %s, split: {control: 50%%, bayes: 50%%}}\n")
        server = self.serve(plan(more=more % "20%"))
        server.write_plan(plan("t-2", more=more % "40%"))
        moved = reload(server).json()["units_moved_ppm"]
        self.assertAlmostEqual(moved, 100000, delta=10000)
        self.assertEqual(server.wait_log("plan_reloaded")["units_moved_ppm"], moved)

    def test_of_the_built_in_plan(self):
        with Server() as server:
            told = reload(server).json()
            self.assertEqual((told["file"], told["trigger"]), (None, "post"))
            self.assertNotIn("interlude_plan_file_info{", get(server.operations, "/metrics").body.decode())

    def file_info(self, server):
        """What the file holds, and what is served."""
        text = get(server.operations, "/metrics").body.decode()
        return (re.findall('^interlude_plan_file_info{fingerprint="([^"]*)"} 1$', text, re.M),
                re.findall('^interlude_plan_info{.*fingerprint="([^"]*)"} 1$', text, re.M))

    def test_a_file_that_nobody_reloads_is_seen(self):
        server = self.serve()
        held, served = self.file_info(server)
        self.assertEqual((len(held), held), (1, served))
        server.write_plan(plan("t-2", action="none"))
        wait_for(lambda: self.file_info(server)[0] != held, 25, "a look at the file")
        held, still = self.file_info(server)
        self.assertEqual(still, served)
        self.assertNotEqual(held, ["invalid"])
        self.assertEqual(ask(server.decisions, decide()).json()["action"], "pod_1")
        self.assertEqual(server.log("plan_refused"), [])
        # A reload tells at once.
        server.write_plan(plan("t-4", action="none"))
        reload(server)
        held, served = self.file_info(server)
        self.assertEqual(held, served)
        self.assertNotEqual(served, still)
        server.write_plan("nonsense\n")
        reload(server)
        self.assertEqual(self.file_info(server), (["invalid"], served))
