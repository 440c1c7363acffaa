"""The operations port."""

import unittest

from lib.server import Server, plan, wait_for
from lib.wire import Connection, ask, decide, get, post, request


class Operations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(plan())

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def metric(self, name, **labels):
        """The sum of a metric's samples that have these labels."""
        total = 0.0
        for line in get(self.server.operations, "/metrics").body.decode().split("\n"):
            if line.startswith(name) and line[len(name)] in " {" and all(
                    '%s="%s"' % label in line for label in labels.items()):
                total += float(line.rsplit(" ", 1)[1])
        return total

    def test_health_and_readiness(self):
        for path in "/healthz", "/readyz":
            a = get(self.server.operations, path)
            self.assertEqual(a.status, 200)
            self.assertTrue(a.field("Content-Type").startswith("text/plain"))

    def test_head(self):
        for path in "/healthz", "/readyz", "/metrics", "/v1/plan", "/v1/signals", "/":
            with self.subTest(path):
                with Connection(self.server.operations) as c:
                    c.send(request(path, None, "HEAD") + request("/readyz", None, "GET"))
                    a = c.answer(to_head=True)
                    self.assertEqual(a.status, 200)
                    self.assertGreater(int(a.field("Content-Length")), 0)
                    self.assertEqual(c.answer().body, b"ready\n")

    def test_home_links_to_what_there_is(self):
        a = get(self.server.operations, "/")
        self.assertTrue(a.field("Content-Type").startswith("text/html"))
        self.assertIn("default-src 'none'", a.field("Content-Security-Policy"))
        for path in "/healthz", "/readyz", "/metrics", "/v1/plan", "/v1/signals":
            self.assertIn(b'href="%s"' % path.encode(), a.body)

    def test_metrics_count(self):
        before = self.metric("interlude_decisions_total")
        codes = {code: self.metric("interlude_http_requests_total", code=code)
                 for code in ("200", "404")}
        durations = self.metric("interlude_request_duration_seconds_count")
        for _ in range(3):
            ask(self.server.decisions, decide(segment_id="core"))
        ask(self.server.decisions, request("/nothing", {}))
        for code, more in (("200", 3), ("404", 1)):
            wait_for(lambda: self.metric("interlude_http_requests_total", code=code)
                     == codes[code] + more, what="requests of " + code)
        self.assertEqual(self.metric("interlude_decisions_total"), before + 3)
        self.assertEqual(self.metric("interlude_request_duration_seconds_count"), durations + 3)
        self.assertGreaterEqual(self.metric("interlude_decisions_total", segment_id="core",
                                            variant="control", action="pod_1"), 3)

    def test_metrics_connections(self):
        held = [Connection(self.server.decisions) for _ in range(7)]
        for c in held:
            c.send(decide())
            c.answer()
        wait_for(lambda: self.metric("interlude_connections") >= 7, what="7 connections")
        for c in held:
            c.close()
        wait_for(lambda: self.metric("interlude_connections") == 0, what="no connection")

    def test_metrics_formats(self):
        a = get(self.server.operations, "/metrics")
        self.assertTrue(a.field("Content-Type").startswith("text/plain; version=0.0.4"))
        accept = "application/openmetrics-text; version=1.0.0, text/plain;q=0.5"
        a = get(self.server.operations, "/metrics", fields=[("Accept", accept)])
        self.assertTrue(a.field("Content-Type").startswith("application/openmetrics-text"))
        self.assertTrue(a.body.endswith(b"# EOF\n"))

    def test_plan(self):
        told = get(self.server.operations, "/v1/plan").json()
        self.assertEqual(told["version"], "t-1")
        self.assertEqual(told["fingerprint"],
                         ask(self.server.decisions, decide()).json()["fingerprint"])
        self.assertIn("pod_1", told["plan"])

    def test_signals(self):
        names = [s.get("name") or s.get("signal")
                 for s in get(self.server.operations, "/v1/signals").json()["signals"]]
        self.assertIn("posteriors_partial", names)

    def test_explain(self):
        body = {"request_id": "x", "time": "2026-11-30T08:00:00Z", "variant": "bayes",
                "posteriors": {"none": {"alpha": 1, "beta": 1}}}
        decisions = self.metric("interlude_decisions_total")
        explained = post(self.server.operations, "/v1/explain", body).json()
        decided = post(self.server.decisions, "/v1/decide", body).json()
        for key, value in decided.items():
            self.assertEqual(explained[key], value, key)
        self.assertIn("considered", explained)
        self.assertIn("eligible", explained)
        self.assertEqual(explained["posteriors"], "partial")
        self.assertEqual(self.metric("interlude_decisions_total"), decisions + 1)
        self.assertEqual(post(self.server.operations, "/v1/explain", b"{").code, "json_syntax")

    def test_errors(self):
        rows = [
            ("decide", request("/v1/decide", {}), 404, "unknown_path"),
            ("POST to metrics", request("/metrics", {}), 405, "method_not_allowed"),
            ("GET of reload", request("/v1/reload", None, "GET"), 405, "method_not_allowed"),
            ("explain without length", request("/v1/explain", fields=[
                ("Content-Type", "application/json")]), 411, "length_required"),
            ("explain without a type", request("/v1/explain", {}, content_type=None), 415,
             "unsupported_media_type"),
            ("reload as a form", request("/v1/reload", b"a=b", content_type="text/plain"), 415,
             "unsupported_media_type"),
            ("reload without a type", request("/v1/reload"), 415, "unsupported_media_type"),
        ]
        for name, data, status, code in rows:
            with self.subTest(name):
                a = ask(self.server.operations, data)
                self.assertEqual((a.status, a.code), (status, code))

    def test_hosts_and_origins(self):
        """A page in somebody's browser must not be able to reload our plan."""
        port = self.server.operations[1]
        ours = "localhost:%d" % port
        rows = [
            ("localhost", "localhost", None, True),
            ("with the port", ours, None, True),
            ("capitals", "LocalHost", None, True),
            ("127.0.0.1", "127.0.0.1:%d" % port, None, True),
            ("another loopback", "127.9.9.9", None, True),
            ("IPv6 loopback", "[::1]:%d" % port, None, True),
            ("a name", "interlude.example", None, False),
            ("a name that begins well", "localhost.example", None, False),
            ("an address that begins well", "127.0.0.1.example", None, False),
            ("a foreign address", "192.0.2.1", None, False),
            ("our own page", ours, "http://" + ours, True),
            ("our own page behind TLS", ours, "https://" + ours, True),
            ("a foreign page", ours, "http://example.com", False),
            ("another port's page", ours, "http://localhost:1", False),
            ("no page", ours, "null", False),
        ]
        for name, host, origin, allowed in rows:
            with self.subTest(name):
                fields = [("Origin", origin)] if origin else []
                for path in "/v1/reload", "/v1/explain":
                    a = post(self.server.operations, path, {}, host=host, fields=fields)
                    self.assertEqual(a.status, 200 if allowed else 403)
                    if not allowed:
                        self.assertEqual(a.code, "forbidden")

    def test_reading_needs_no_host_of_ours(self):
        with Connection(self.server.operations) as c:
            c.send(request("/metrics", None, "GET", host="scrape.example"))
            self.assertEqual(c.answer().status, 200)


class Last(unittest.TestCase):
    """What becomes of a `last` that cannot be read: an answer, a log line, metrics, and the account."""

    def test_a_last_from_the_future(self):
        body = {"request_id": "late", "time": "2026-11-30T08:00:00Z",
                "last": {"seconds_ago": -2, "ads_delivered": -1}}
        with Server(plan(more="guardrails: {cooldown: true}\n")) as server:
            a = post(server.decisions, "/v1/decide", body)
            self.assertEqual(a.status, 200)
            told = a.json()
            self.assertEqual((told["action"], told["state"]), ("none", "invalid"))
            self.assertIn("cooldown", told["reasons"])
            line = server.wait_log("session_invalid", 10)
            self.assertEqual(line["invalid_attributes"], ["last.seconds_ago"])
            self.assertEqual(line["absent_attributes"], ["last.cooldown_s"])
            for attribute, why in ("seconds_ago", "invalid"), ("cooldown_s", "absent"):
                sample = ('interlude_attribute_unknown_total{attribute="last.%s",why="%s"} 1\n'
                          % (attribute, why)).encode()
                wait_for(lambda: sample in get(server.operations, "/metrics").body, 10, sample)
            account = post(server.operations, "/v1/explain", body).json()["considered"]
            steps = {step["step"]: step for step in account}
            self.assertEqual(steps["presence"]["invalid_attributes"], ["last.seconds_ago"])
            self.assertEqual(steps["mask"]["guardrails"],
                             [{"guardrail": "cooldown", "what": "masked: unknown"}])


class Stall(unittest.TestCase):
    def test_other_ports_are_told(self):
        with Server(plan()) as server:
            a = ask(server.decisions, request("/healthz", None, "GET"))
            self.assertEqual(a.status, 404)
            self.assertIn("other", a.json()["detail"])
