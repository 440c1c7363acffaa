"""Signals that are constant are found, and those that are quiet are tried: /v1/drill, /v1/signals, and
interlude-lab signals."""

import http.server
import json
import os
import threading
import unittest

from lib import lab
from lib.faults import UNLIMITED, Told, fire, plan_text, serve
from lib.server import Server, free_port, wait_for
from lib.wire import Connection, decide, get, post


def lab_signals(*args):
    return lab.run("signals", *args)


def gated(condition):
    text = plan_text().replace("guardrails: {", "guardrails: {ad_free: \"%s\", " % condition)
    assert condition in text
    return text


class Drill(unittest.TestCase):
    REQUESTS = ["posteriors_partial", "posteriors_stale", "posteriors_absent",
                "posteriors_unknown_action", "posteriors_invalid", "session_invalid",
                "unknown_variant"]

    @classmethod
    def setUpClass(cls):
        cls.server = Server(plan_text())
        cls.url = lab.url(cls.server.operations)

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
            ("a typo", {"signal": "posteriors_partail"}, "posteriors_partial", "field_range"),
            ("no such", {"signal": "gremlins"}, "/v1/signals", "field_range"),
            ("none", {}, "name one", "field_range"),
            ("not a request's", {"signal": "server_started"}, "no request can fire",
             "cannot_fire"),
        ]
        for name, body, says, code in rows:
            with self.subTest(name):
                a = post(self.server.operations, "/v1/drill", body)
                self.assertEqual((a.status, a.code), (422 if code == "cannot_fire" else 400, code))
                self.assertIn(says, a.json()["detail"])
                self.assertEqual(a.json()["pointer"], "/signal")
        self.assertEqual(post(self.server.operations, "/v1/drill", b"{").code, "json_syntax")
        self.assertEqual(post(self.server.operations, "/v1/drill", {"signal": "unknown_variant"},
                              host="elsewhere.example").status, 403)
        self.assertEqual(get(self.server.operations, "/v1/drill").status, 405)
        self.assertEqual(post(self.server.decisions, "/v1/drill", {}).status, 404)

    def test_the_lab_drills_all(self):
        run = lab_signals("--drill", self.url)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        for name in self.REQUESTS:
            self.assertIn(name + ": written\n", run.stdout)
        self.assertIn("plan_refused: not drilled: no request can fire", run.stdout)

    def test_live_records_are_not_taken_for_the_drill(self):
        """Live traffic that is outranked at these two sites, all the while: the drill is written."""
        ending = threading.Event()

        def live():
            while not ending.is_set():
                fire(self.server, 5, 1)  # outranks posteriors_partial
                fire(self.server, 5, 2)  # outranks posteriors_stale
                ending.wait(0.005)
        before, lines = Told(self.server), len(self.drilled())
        thread = threading.Thread(target=live)
        thread.start()
        try:
            wait_for(lambda: Told(self.server).outcome("posteriors_stale", "outranked") >
                     before.outcome("posteriors_stale", "outranked"), what="live traffic")
            runs = [lab_signals("--drill", self.url) for _ in range(3)]
        finally:
            ending.set()
            thread.join()
        for run in runs:
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            for name in "posteriors_partial", "posteriors_stale":
                self.assertIn(name + ": written\n", run.stdout)
        # What was told is in the log. A drill fires other sites beside its own.
        self.assertGreaterEqual(len(self.drilled()) - lines, 3 * len(self.REQUESTS))

    def drilled(self):
        return [line for line in self.server.log() if line.get("drill")]

    def test_the_books_of_drills(self):
        def drills():
            return {s["name"]: s["drills"] for s in
                    get(self.server.operations, "/v1/signals").json()["signals"]}
        before = drills()
        fire(self.server, 10, 4)
        post(self.server.operations, "/v1/drill", {"signal": "unknown_variant"})
        wait_for(lambda: drills()["unknown_variant"]["written"] ==
                 before["unknown_variant"]["written"] + 1, what="the drill's line")
        for name, d in drills().items():
            self.assertEqual(d["fired"], sum(d[o] for o in ("written", "dropped", "suppressed",
                                                            "outranked", "queued")), name)
        self.assertEqual(drills()["unknown_variant"]["fired"],
                         before["unknown_variant"]["fired"] + 1)

    def test_a_gate_that_lets_some_through(self):
        """What one request in a thousand gets past, a drill gets past too."""
        for gate in ("tier != 'gold'", "has(tier) && tier != 'gold'",
                     "hour != 4 || segment_id != 'core' || tenure_days < 700"):
            with self.subTest(gate), Server(gated(gate)) as server:
                run = lab_signals("--drill", lab.url(server.operations))
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                for name in self.REQUESTS:
                    self.assertIn(name + ": written\n", run.stdout)

    def test_what_is_not_proved_is_no_success(self):
        """A gate that might let somebody through, for all that the drill can tell, and does not."""
        with Server(gated("tier == 'a' || tier != 'a'")) as server:
            run = lab_signals("--drill", lab.url(server.operations))
            answer = post(server.operations, "/v1/drill", {"signal": "posteriors_absent"})
        self.assertEqual(run.returncode, 1)
        self.assertIn("posteriors_absent: not drilled: no request that was made up", run.stdout)
        self.assertIn("unknown_variant: written\n", run.stdout)
        self.assertEqual((answer.status, answer.code), (422, "not_fired"))
        with Server(gated("true")) as server:  # no request can fire it: there is nothing to prove
            run = lab_signals("--drill", lab.url(server.operations))
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("posteriors_absent: not drilled: no request can fire", run.stdout)

    def test_a_line_that_is_not_written_is_told(self):
        with Server(plan_text("%s, sites: {unknown_variant: {rate: 0}}" % UNLIMITED)) as server:
            run = lab_signals("--drill", lab.url(server.operations))
        self.assertEqual(run.returncode, 1)
        self.assertIn("unknown_variant: suppressed\n", run.stdout)


class Check(unittest.TestCase):
    """interlude-lab signals --check."""

    def answering(self, *bodies, status=200):
        """A server that answers with one body after the other, then always with the last."""
        left = list(bodies)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                self.end_headers()
                self.wfile.write((left.pop(0) if len(left) > 1 else left[0]).encode())

            def log_message(self, *_):
                pass
        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        return "http://127.0.0.1:%d" % server.server_port

    @staticmethod
    def listed(*sites, started_at="2026-11-30T08:00:00.000Z"):
        return json.dumps({"started_at": started_at, "signals": [
            {"name": name, "state": state, "expected": expected, "share": 0.995, "fired": fired,
             "opportunities": opportunities,
             "recent": {"fired": fired, "opportunities": opportunities}}
            for name, state, expected, fired, opportunities in sites]})

    def test_verdicts(self):
        rows = [
            ("constant, declared rare", [("a", "constant", "rare", 2000, 2000),
                                         ("b", "normal", "rare", 0, 2000)], 1,
             ["a is constant: declared rare", "1 constant, 1 fine, 0 not judged"]),
            ("constant, declared never", [("a", "constant", "never", 2000, 2000)], 1,
             ["a is constant: declared never"]),
            ("constant, as declared", [("a", "constant", "per_request", 2000, 2000),
                                       ("b", "normal", "rare", 0, 2000)], 0,
             ["0 constant, 1 fine, 0 not judged", "1 declared to fire always"]),
            ("normal and quiet", [("a", "normal", "rare", 500, 2000),
                                  ("b", "quiet", "never", 0, 2000)], 0,
             ["0 constant, 2 fine", "1 of all quiet"]),
            ("windows are not over", [("a", "normal", "rare", 5000, 5000),
                                      ("b", "normal", "rare", 0, 5000)], 1,
             ["a looks constant so far (5000 of 5000), not judged", "1 too young"]),
            ("too few", [("a", "normal", "rare", 999, 999), ("b", "normal", "rare", 0, 30)], 1,
             ["a looks constant so far (999 of 999), not judged", "2 too few opportunities",
              "Nothing could be judged: that takes at least 1,000 decisions"]),
            ("one of few", [("a", "normal", "rare", 20, 20), ("b", "normal", "rare", 0, 2000)], 1,
             ["a looks constant so far (20 of 20), not judged", "0 constant, 1 fine, 1 not judged"]),
            ("fewer tell nothing", [("a", "normal", "rare", 19, 19),
                                    ("b", "normal", "rare", 0, 2000)], 0,
             ["0 constant, 1 fine, 1 not judged"]),
        ]
        for name, signals, code, says in rows:
            with self.subTest(name):
                run = lab_signals("--check", self.answering(self.listed(*signals)))
                self.assertEqual(run.returncode, code, run.stdout + run.stderr)
                for text in says:
                    self.assertIn(text, run.stdout)
                self.assertNotIn("b is constant", run.stdout)
                self.assertNotIn("b looks constant", run.stdout)

    def test_leniently(self):
        fine = ("b", "normal", "rare", 0, 2000)
        for name, signals, code in (
                ("looks so", [("a", "normal", "rare", 171, 171), fine], 0),
                ("is so", [("a", "constant", "rare", 2000, 2000), fine], 1),
                ("is so by its counts", [("a", "normal", "rare", 2000, 2000), fine], 1),
                ("nothing was judged", [("a", "normal", "rare", 171, 171)], 1)):
            with self.subTest(name):
                url = self.answering(self.listed(*signals))
                run = lab_signals("--check", url, "--lenient")
                self.assertEqual(run.returncode, code, run.stdout + run.stderr)
                self.assertRegex(run.stdout, "a (looks|is) constant")  # told all the same
                self.assertEqual(lab_signals("--check", url).returncode, 1)

    def test_what_is_required(self):
        listed = self.listed(("absent", "normal", "rare", 0, 12), ("stale", "quiet", "rare", 0, 2000),
                             ("partial", "normal", "rare", 30, 30),
                             ("started", "normal", "always", 1, 1))
        url = self.answering(listed)
        for require, code, says in (
                (["stale"], 0, "2 not judged"),
                (["absent"], 1, "absent is required, and could not be judged: it had 12 "
                                "opportunities, and a verdict takes 1,000"),
                (["stale", "absent"], 1, "absent is required"),
                (["partial"], 1, "partial is required"),
                (["absnt"], 2, "--require: there is no signal `absnt`; nearest: `absent`"),
                (["started"], 2, "`started` is declared always: it is not judged")):
            with self.subTest(require):
                run = lab_signals("--check", url, "--lenient",
                                  *[word for name in require for word in ("--require", name)])
                self.assertEqual(run.returncode, code, run.stdout + run.stderr)
                self.assertIn(says, run.stdout + run.stderr)
        run = lab_signals("--check", url, "--over", "1h", "--require=absnt")  # told at once
        self.assertEqual(run.returncode, 2, run.stdout)

    def test_a_few_of_a_learned_policy(self):
        """The story's own fault, on a server that most callers ask for rules: fired on all of 171."""
        server = serve(self)
        url = lab.url(server.operations)
        with Connection(server.decisions) as c:
            for body in [{"variant": "control"}] * 1200 + [{"variant": "bayes"}] * 171:
                c.send(decide(**body))
                self.assertEqual(c.answer().status, 200)

        def judged():
            run = lab_signals("--check", url)
            return run if "(171 of 171)" in run.stdout else None
        run = wait_for(judged, what="171 that fired")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("posteriors_absent looks constant so far (171 of 171), not judged", run.stdout)
        self.assertNotIn("Nothing could be judged", run.stdout)
        run = lab_signals("--check", url, "--lenient")
        self.assertEqual(run.returncode, 0, run.stdout)
        run = lab_signals("--check", url, "--lenient", "--require", "posteriors_absent")
        self.assertEqual(run.returncode, 1, run.stdout)

    def test_verdicts_over_a_time(self):
        before = ("a", "normal", "rare", 50, 100)
        rows = [
            ("constant", ("a", "normal", "rare", 1050, 1100), 1, "a is constant: declared rare"),
            ("fine again", ("a", "constant", "rare", 50, 1100), 0, "0 constant, 1 fine"),
            ("too few", ("a", "normal", "rare", 250, 300), 1,
             "a looks constant so far (200 of 200), not judged"),
            ("nothing came", before, 1, "Nothing could be judged"),
        ]
        for name, after, code, says in rows:
            with self.subTest(name):
                url = self.answering(self.listed(before), self.listed(after))
                run = lab_signals("--check", url, "--over", "1ms")
                self.assertEqual(run.returncode, code, run.stdout + run.stderr)
                self.assertIn(says, run.stdout + run.stderr)

    def test_a_restart_between_the_looks_is_no_verdict(self):
        """Though the counts are past the old ones already."""
        before, after = ("a", "normal", "rare", 50, 100), ("a", "normal", "rare", 50, 5000)
        url = self.answering(self.listed(before), self.listed(after, started_at="later"))
        run = lab_signals("--check", url, "--over", "1ms")
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("restarted between the two looks", run.stderr)

    def test_what_is_no_server(self):
        for name, url in (("nobody", "http://127.0.0.1:%d" % free_port()),
                          ("no signals", self.answering("{}")),
                          ("no JSON", self.answering("<html>")),
                          ("an error", self.answering("{}", status=500)),
                          ("not on this machine", "http://192.0.2.1:7071")):
            with self.subTest(name):
                run = lab_signals("--check", url)
                self.assertEqual((run.returncode, run.stdout), (2, ""))
                self.assertTrue(run.stderr.startswith("interlude-lab signals: " + url), run.stderr)
        for args in ([], ["--check"], ["--check", "http://127.0.0.1:1", "--drill", "x"],
                     ["--check", "http://127.0.0.1:1", "--over", "soon"],
                     ["--check", "http://127.0.0.1:1", "--require"],
                     ["--drill", "http://127.0.0.1:1", "--lenient"],
                     ["--drill", "http://127.0.0.1:1", "--require", "a"]):
            self.assertEqual(lab_signals(*args).returncode, 2)

    def test_the_error_says_what_to_do(self):
        server = serve(self)
        nobody = "http://127.0.0.1:%d" % free_port()
        for url, says in ((nobody, "start the server"),
                          (lab.url(server.decisions), "is it the operations port?")):
            for command in (["signals", "--check"], ["signals", "--drill"], ["profile"]):
                with self.subTest(url=url, command=command):
                    run = lab.run(*command, url)
                    self.assertEqual((run.returncode, run.stdout), (2, ""))
                    self.assertIn(url, run.stderr)
                    self.assertIn(says, run.stderr)
                    self.assertIn("operations port", run.stderr)
        run = lab_signals("--gremlins")
        self.assertIn("see `interlude-lab signals --help`", run.stderr)

    def test_a_profile_of_an_idle_server_is_a_sentence(self):
        server = serve(self)
        run = lab.run("profile", lab.url(server.operations), "--duration", "1ms")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("No request was sampled", run.stderr)

    def test_a_real_server(self):
        server = serve(self)
        url = lab.url(server.operations)
        for over in ([], ["--over", "1ms"]):
            run = lab_signals("--check", url, *over)
            self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
            self.assertIn("Nothing could be judged", run.stdout)
        enough = threading.Event()

        def fire_on():
            while not enough.is_set():
                fire(server, 200)
        absent = threading.Thread(target=fire_on)
        absent.start()
        try:
            run = lab_signals("--check", url, "--over", "3s")
        finally:
            enough.set()
            absent.join()
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("posteriors_absent is constant: declared rare", run.stdout)
        # Ten minutes before the server's own verdict, the check does not call it well.
        run = lab_signals("--check", url)
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("posteriors_absent looks constant so far (", run.stdout)
        # The worst comes first.
        listed = get(server.operations, "/v1/signals").json()["signals"]
        self.assertEqual(listed[0]["name"], "posteriors_absent")
        self.assertGreater(listed[0]["cost"]["records_per_second"], 0)
