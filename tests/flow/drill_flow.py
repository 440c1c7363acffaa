"""Signals that are stuck are found, and those that are quiet are tried: /v1/drill, /v1/signals, and
interlude-lab signals."""

import http.server
import json
import os
import subprocess
import threading
import unittest

from lib import server as server_module
from lib.faults import UNLIMITED, Told, fire, plan_text, serve
from lib.server import Server, free_port, wait_for
from lib.wire import get, post


def lab(*args):
    program = os.path.join(os.path.dirname(server_module.BINARY), "interlude-lab")
    return subprocess.run([program, "signals", *args], capture_output=True, text=True, timeout=60)


class Drill(unittest.TestCase):
    REQUESTS = ["posteriors_partial", "posteriors_stale", "posteriors_absent",
                "posteriors_unknown_action", "posteriors_invalid", "session_invalid",
                "unknown_variant"]

    @classmethod
    def setUpClass(cls):
        cls.server = Server(plan_text())
        cls.url = "http://%s:%d" % cls.server.operations

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def others(self):
        """Every sample that is not of the signals, the log, or the process."""
        return {name: values for name, values in Told(self.server).samples.items()
                if not name.startswith(("interlude_signal_", "interlude_log_", "process_",
                                        "interlude_loop_lag"))}

    def test_it_fires_and_counts_nowhere_else(self):
        before = self.others()
        for name in self.REQUESTS:
            with self.subTest(name):
                told, lines = Told(self.server), len(self.server.log(name))
                answer = post(self.server.operations, "/v1/drill", {"signal": name})
                self.assertEqual(answer.status, 200)
                self.assertEqual(answer.json()["signal"], name)
                line = self.server.wait_log(name, count=lines + 1)
                self.assertIs(line["drill"], True)
                self.assertEqual(line["request_id"], answer.json()["answer"]["request_id"])
                self.assertEqual(Told(self.server).fired(name), told.fired(name) + 1)
        self.assertEqual(self.others(), before)

    def test_what_is_made_up_is_told(self):
        """The request that a drill tells fires on the decision port too; and there it is none."""
        told = post(self.server.operations, "/v1/drill", {"signal": "posteriors_invalid"}).json()
        answer = post(self.server.decisions, "/v1/decide",
                      dict(told["request"], drill=True, request_id="not-a-drill"))
        self.assertEqual((answer.status, answer.json()["posteriors"]), (200, "invalid"))

        def line():
            return [x for x in self.server.log("posteriors_invalid")
                    if x["request_id"] == "not-a-drill"]
        self.assertNotIn("drill", wait_for(line)[0])

    def test_refusals(self):
        rows = [
            ("a typo", {"signal": "posteriors_partail"}, "posteriors_partial"),
            ("no such", {"signal": "gremlins"}, "/v1/signals"),
            ("none", {}, "name one"),
            ("not a request's", {"signal": "server_started"}, "no request can fire"),
        ]
        for name, body, says in rows:
            with self.subTest(name):
                a = post(self.server.operations, "/v1/drill", body)
                self.assertEqual((a.status, a.code), (400, "field_range"))
                self.assertIn(says, a.json()["detail"])
                self.assertEqual(a.json()["pointer"], "/signal")
        self.assertEqual(post(self.server.operations, "/v1/drill", b"{").code, "json_syntax")
        self.assertEqual(post(self.server.operations, "/v1/drill", {"signal": "unknown_variant"},
                              host="elsewhere.example").status, 403)
        self.assertEqual(get(self.server.operations, "/v1/drill").status, 405)
        self.assertEqual(post(self.server.decisions, "/v1/drill", {}).status, 404)

    def test_the_lab_drills_all(self):
        run = lab("--drill", self.url)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        for name in self.REQUESTS:
            self.assertIn(name + ": written\n", run.stdout)
        self.assertIn("plan_refused: not drilled: no request can fire", run.stdout)

    def test_a_line_that_is_not_written_is_told(self):
        with Server(plan_text("%s, sites: {unknown_variant: {rate: 0}}" % UNLIMITED)) as server:
            run = lab("--drill", "http://%s:%d" % server.operations)
        self.assertEqual(run.returncode, 1)
        self.assertIn("unknown_variant: suppressed\n", run.stdout)


class Check(unittest.TestCase):
    """interlude-lab signals --check."""

    def answering(self, body, status=200):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_):
                pass
        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        return "http://127.0.0.1:%d" % server.server_port

    def test_verdicts(self):
        rows = [
            ("constant, declared rare", [("a", "constant", "rare"), ("b", "normal", "rare")], 1),
            ("constant, declared never", [("a", "constant", "never")], 1),
            ("constant, as declared", [("a", "constant", "per_request")], 0),
            ("normal and quiet", [("a", "normal", "rare"), ("b", "quiet", "never")], 0),
        ]
        for name, signals, code in rows:
            with self.subTest(name):
                told = {"signals": [{"name": n, "state": s, "expected": e, "share": 0.995}
                                    for n, s, e in signals]}
                run = lab("--check", self.answering(json.dumps(told)))
                self.assertEqual(run.returncode, code, run.stderr)
                self.assertEqual("a is stuck: declared" in run.stdout, code == 1)
                self.assertNotIn("b is stuck", run.stdout)

    def test_what_is_no_server(self):
        for name, url in (("nobody", "http://127.0.0.1:%d" % free_port()),
                          ("no signals", self.answering("{}")),
                          ("no JSON", self.answering("<html>")),
                          ("an error", self.answering("{}", 500)),
                          ("not on this machine", "http://192.0.2.1:7071")):
            with self.subTest(name):
                run = lab("--check", url)
                self.assertEqual((run.returncode, run.stdout), (2, ""))
                self.assertTrue(run.stderr.startswith("interlude-lab signals: "), run.stderr)
        for args in ([], ["--check"], ["--check", "http://127.0.0.1:1", "--drill", "x"],
                     ["--check", "http://127.0.0.1:1", "--over", "soon"]):
            self.assertEqual(lab(*args).returncode, 2)

    def test_a_real_server(self):
        server = serve(self)
        url = "http://%s:%d" % server.operations
        run = lab("--check", url)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("0 stuck", run.stdout)
        absent = threading.Thread(target=lambda: [fire(server, 200) for _ in range(12)])
        timer = threading.Timer(0.3, absent.start)
        timer.start()
        run = lab("--check", url, "--over", "2s")
        timer.join()
        absent.join()
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("posteriors_absent is stuck: declared rare", run.stdout)
        # The worst comes first.
        listed = get(server.operations, "/v1/signals").json()["signals"]
        self.assertEqual(listed[0]["name"], "posteriors_absent")
        self.assertGreater(listed[0]["cost"]["records_per_second"], 0)
