"""Reload, by SIGHUP and by POST /v1/reload."""

import os
import signal
import threading
import time
import unittest

from lib.server import Server, plan
from lib.wire import Connection, ask, decide, get, post, request


RELOAD = request("/v1/reload", fields=[("Content-Type", "application/json")])


def reload(server, seconds=5.0):
    return ask(server.operations, RELOAD, seconds)


class Reload(unittest.TestCase):
    def serve(self, text=None, **more):
        server = Server(text or plan(), **more)
        self.addCleanup(server.close)
        return server

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
        for version, action in (("t-2", "pod_1"), ("t-1", "none")):
            server.write_plan(plan(version, action=action))
            a = reload(server)
            self.assertEqual((a.status, a.code), (422, "version_reused"))
        self.assertEqual(ask(server.decisions, decide()).json()["version"], "t-2")
        # The very plan of a version may come back.
        server.write_plan(plan("t-1"))
        told = reload(server).json()
        self.assertEqual((told["changed"], told["version"]), (True, "t-1"))

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

        threads = [threading.Thread(target=client) for _ in range(4)]
        for t in threads:
            t.start()
        try:
            for number in range(1, 41):
                server.write_plan(plan("t-%d" % number, "pod_1" if number % 2 == 0 else "none",
                                       server="workers: 2"))
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
