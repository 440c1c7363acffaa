"""The operations port."""

import json
import signal
import time
import unittest

from lib.faults import Told, settled
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

                for path, a in self.read(host=host, fields=fields):
                    self.assertEqual(a.status, 200 if allowed or path in self.OPEN else 403, path)
                    if a.status == 403 and a.body:
                        self.assertEqual(a.code, "forbidden")

    OPEN = "/healthz", "/readyz", "/metrics"

    def read(self, **more):
        """(path, answer) of whatever can be read."""
        with Connection(self.server.operations) as c:
            for path in self.OPEN + ("/v1/plan", "/v1/signals", "/"):
                c.send(request(path, None, "GET", **more))
                yield path, c.answer()
                c.send(request(path, None, "HEAD", **more))
                yield path, c.answer(to_head=True)

    def test_nothing_is_kept_or_guessed(self):
        rows = [request(path, None, method) for method in ("GET", "HEAD", "OPTIONS")
                for path in self.OPEN + ("/v1/plan", "/v1/signals", "/", "/nothing")]
        rows += [request("/v1/explain", {}), request("/v1/explain", b"{"), request("/v1/reload"),
                 request("/v1/plan", None, "GET", host="evil.example"), request("/metrics", {}),
                 request("/v1/drill", {}), request("*", None, "OPTIONS"), b"NONSENSE\r\n\r\n",
                 request("/" + "x" * 9000, None, "GET"), request(method="BREW")]
        for data in rows:
            a = ask(self.server.operations, data, to_head=data.startswith(b"HEAD"))
            self.assertEqual((a.field("Cache-Control"), a.field("X-Content-Type-Options")),
                             ("no-store", "nosniff"), data)

    def test_options(self):
        for target, allow in (("*", "GET, HEAD, POST, OPTIONS"), ("/", "GET, HEAD, OPTIONS"),
                              ("/v1/plan", "GET, HEAD, OPTIONS"),
                              ("/v1/reload", "POST, OPTIONS")):
            a = ask(self.server.operations, request(target, None, "OPTIONS"))
            self.assertEqual((a.status, a.field("Allow")), (204, allow), target)
            a = ask(self.server.operations, request(target, None, "OPTIONS", host="evil.example"))
            self.assertEqual((a.status, a.code), (403, "forbidden"))

    # What a scrape, or time alone, changes of a server that nobody asks anything else.
    RESTLESS = {"process_cpu_seconds_total", "process_resident_memory_bytes",
                "process_virtual_memory_bytes", "process_open_fds", "interlude_loop_lag_seconds",
                'interlude_signal_opportunities_total{signal="log_suppressed"}'}

    def test_two_scrapes_at_rest(self):
        """The start of the process was another one at each scrape."""
        with Server(plan()) as server:
            settled(server)
            scrapes = []
            for _ in range(3):
                lines = get(server.operations, "/metrics").body.decode().split("\n")
                scrapes.append(dict(line.rsplit(" ", 1) for line in lines if line[:1].isalpha()))
                time.sleep(0.3)
            self.assertIn("process_start_time_seconds", scrapes[0])
            for other in scrapes[1:]:
                self.assertEqual(scrapes[0].keys(), other.keys())
                changed = {name for name in other if other[name] != scrapes[0][name]}
                self.assertLessEqual(changed, self.RESTLESS)


class Names(unittest.TestCase):
    """Further names of the operations port, and who can get to it."""

    def asked(self, server, host):
        return ask(server.operations, request("/v1/plan", None, "GET", host=host)).status

    def test_listed_hosts(self):
        listed = "hosts: [Ops.Example, 192.0.2.7, '[2001:db8::7]']"
        with Server(plan(server=listed)) as server:
            for host, status in (("ops.example", 200), ("OPS.example:7071", 200),
                                 ("192.0.2.7", 200), ("[2001:DB8:0::7]:80", 200),
                                 ("localhost", 200), ("ops.example.evil", 403), ("192.0.2.8", 403)):
                self.assertEqual(self.asked(server, host), status, host)
            self.assertIn("Ops.Example", get(server.operations, "/v1/plan").json()["plan"])
            # A page of such a name is ours too, and a reload takes a name away or adds it.
            own = [("Origin", "http://ops.example")]
            server.write_plan(plan("t-2", server="hosts: [other.example]"))
            told = post(server.operations, "/v1/reload", {}, host="ops.example", fields=own)
            self.assertEqual((told.status, told.json()["not_applied"]), (200, []))
            self.assertEqual(self.asked(server, "ops.example"), 403)
            self.assertEqual(self.asked(server, "other.example"), 200)

    def test_an_exposed_port_warns(self):
        for admin, exposed in (("0.0.0.0:0", True), ("127.0.0.1:0", False)):
            with self.subTest(admin), \
                    Server(plan(), args=["--listen", "0.0.0.0:0", "--admin", admin]) as server:
                # The line that comes after it, if it comes.
                server.signal(signal.SIGHUP)
                server.wait_log("plan_reloaded")
                lines = server.log("operations_exposed")
                self.assertEqual([line["level"] for line in lines], ["warning"] * exposed)
                self.assertEqual([line["admin"] for line in lines],
                                 ["0.0.0.0:%d" % server.operations[1]] * exposed)
                self.assertEqual("warning: the operations port" in server.errors(), exposed)

    def test_the_plan_is_read_while_it_changes(self):
        """The one who asked waited for a lock; who held it waited for the one who asked."""
        with Server(plan()) as server:
            one, two = server.lay_out([plan("t-1"), plan("t-2", action="none")])
            with Connection(server.operations, seconds=30) as c:
                for i in range(200):
                    server.use_plan((one, two)[i % 2])
                    server.signal(signal.SIGHUP)
                    c.send(request("/v1/plan", None, "GET") * 20)
                    for _ in range(20):
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
            line = server.wait_log("session_invalid")
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


class Printed(unittest.TestCase):
    """What a caller sends may end a line for some readers, and command a terminal or mislead its
    reader; the log and what people read has it escaped. The caller's own answer has it as sent."""

    NASTY = "\x1b[2J\x7f\x85\x9b2J\u2028\u2029\u061c\u200e\u200f\u202a\u202e\u2066\u2069\n"

    def plainly(self, text):
        return all(32 <= byte < 127 for byte in text)

    def test_a_line_is_one_line(self):
        with Server(plan()) as server:
            body = json.dumps({"request_id": "r" + self.NASTY, "segment_id": self.NASTY,
                               "variant": self.NASTY}, ensure_ascii=False).encode()
            a = ask(server.decisions, request(body=body))
            self.assertEqual(a.json()["request_id"], "r" + self.NASTY)
            self.assertIn("\u202a\u202e\u2066\u2069".encode(), a.body)
            line = server.wait_log("unknown_variant")
            self.assertEqual((line["request_id"], line["requested_variant"]),
                             ("r" + self.NASTY, self.NASTY))
            with open(server.log_path, "rb") as f:
                for line in f.read().split(b"\n"):
                    self.assertTrue(self.plainly(line), line)

    def test_a_problem_quotes_plainly(self):
        with Server(plan()) as server:
            body = json.dumps({"signal": self.NASTY}, ensure_ascii=False).encode()
            a = ask(server.operations, request("/v1/drill", body))
            self.assertEqual(a.status, 400)
            self.assertIn("\u202e", a.json()["detail"])
            self.assertTrue(self.plainly(a.body), a.body)


class Ready(unittest.TestCase):
    """GET /readyz on the decision port: a load balancer needs no other one."""

    def test_it_is_no_decision(self):
        with Server(plan()) as server:
            for data in (request("/readyz", None, "GET"), request("/readyz?x", None, "GET"),
                         request("/readyz", None, "GET", version="HTTP/1.0", host=None)):
                a = ask(server.decisions, data)
                self.assertEqual((a.status, a.body), (200, b"ready\n"))
                self.assertEqual(a.field("Content-Type"), "text/plain; charset=utf-8")
            a = ask(server.decisions, request("/readyz", None, "HEAD"), to_head=True)
            self.assertEqual((a.status, a.field("Content-Length")), (200, "6"))
            a = ask(server.decisions, request("/readyz", {}))
            self.assertEqual((a.status, a.field("Allow")), (405, "GET, HEAD, OPTIONS"))
            ask(server.decisions, decide())  # whatever came before it has been counted when it is

            def counted():
                told = Told(server)
                return told if told.samples["interlude_http_requests_total"].get(("200",)) == 1 \
                    else None
            told = wait_for(counted, 30, "1 answer of 200")
            self.assertEqual(sum(told.samples["interlude_decisions_total"].values()), 1)
            durations = told.samples["interlude_request_duration_seconds_count"]
            self.assertEqual(sum(durations.values()), 1)

    def test_between_decisions(self):
        with Server(plan()) as server, Connection(server.decisions) as c:
            c.send(decide("a") + request("/readyz", None, "GET") + decide("b"))
            self.assertEqual(c.answer().json()["request_id"], "a")
            self.assertEqual(c.answer().body, b"ready\n")
            self.assertEqual(c.answer().json()["request_id"], "b")


class OtherPort(unittest.TestCase):
    def test_other_ports_are_told(self):
        with Server(plan()) as server:
            a = ask(server.decisions, request("/healthz", None, "GET"))
            self.assertEqual(a.status, 404)
            self.assertIn("other", a.json()["detail"])
