"""docs/proxies.md: its configurations, in a real nginx and a real HAProxy before two servers."""

import json
import re
import signal
import unittest

from lib import docs
from lib.proxies import Proxy
from lib.server import Server, free_port, plan, wait_for
from lib.wire import Closed, Connection, ask, decide, get, request

PAGE = "docs/proxies.md"
NAMES = "nginx", "haproxy"
SECONDS = 60.0  # for an answer, however busy the machine is


def longer(text):
    """Three times the waits of the page, which are meant for a machine that does nothing else. How
    often a server is looked at stays."""
    return re.sub(r"(timeout(?: \S+)?|_timeout) +(\d+)s",
                  lambda m: "%s %ds" % (m.group(1), 3 * int(m.group(2))), text)


def configured(name, addresses):
    """The page's configuration, with `addresses` for the page's own."""
    text = longer(docs.block(PAGE, *name.split(" ", 1)).text)
    for old, new in addresses.items():
        assert old in text, "%s: no %s" % (name, old)
        text = text.replace(old, "127.0.0.1:%d" % new)
    return text


def sum_of(server, metric, labels=""):
    """Of the series whose labels begin so."""
    text = get(server.operations, "/metrics").body.decode()
    values = re.findall(r"^%s(?:\{%s[^}]*\})? (\S+)$" % (metric, labels), text, re.M)
    return sum(float(v) for v in values)


class Pair:
    """Two servers, told apart by the version of their plans, behind one proxy."""

    def __init__(self, case, name, **settings):
        self.servers = []
        for version in "first", "second":
            self.servers.append(Server(plan(version=version, server=settings.get(version, ""))))
            case.addCleanup(self.servers[-1].close)
        ports = [s.decisions[1] for s in self.servers]
        port = free_port()
        text = configured(name, {"127.0.0.1:7070": ports[0], "127.0.0.1:7072": ports[1],
                                 "127.0.0.1:8080": port})
        self.proxy = Proxy(name, text=text, port=port)
        case.addCleanup(self.proxy.close)
        self.case = case
        # Both are asked before anything is done to one.
        wait_for(lambda: {self.version() for _ in range(4)} == {"first", "second"}, SECONDS,
                 "decisions by both")

    def ask(self, data=None):
        return ask(self.proxy.address, data or decide(), SECONDS)

    def version(self, data=None):
        """Of the plan that decided: each request gets a decision, whatever was done."""
        answer = self.ask(data)
        self.case.assertEqual(answer.status, 200, answer.body)
        return answer.json()["version"]


def behind_each(test):
    """Runs the test behind each proxy, in turn."""
    def run(case):
        for name in NAMES:
            with case.subTest(name):
                test(case, name)
            case.doCleanups()
    return run


class Decisions(unittest.TestCase):
    @behind_each
    def test_the_answer_is_the_server_s(self, name):
        pair = Pair(self, name)
        data = decide("r-1", segment_id="core", variant="bayes", session={"elapsed_s": 7},
                      posteriors={"none": {"alpha": 2, "beta": 3},
                                  "pod_1": {"alpha": 3, "beta": 2}})
        direct = {a["version"]: a for a in (ask(s.decisions, data).json() for s in pair.servers)}
        through = pair.ask(data).json()
        self.assertEqual(through, direct[through["version"]])
        # An error comes through as it is, and is not tried again.
        refused = pair.ask(request(body=b"{"))
        self.assertEqual((refused.status, refused.code), (400, "json_syntax"))
        self.assertEqual(sum(sum_of(s, "interlude_http_requests_total", 'code="400"')
                             for s in pair.servers), 1)

    @behind_each
    def test_connections_are_kept(self, name):
        pair = Pair(self, name)

        def accepted():
            return sum(sum_of(s, "interlude_connections_accepted_total") for s in pair.servers)

        before = accepted()
        for _ in range(500):
            pair.version()
        # Health checks open some, a few a second.
        self.assertLess(accepted() - before, 250)

    @behind_each
    def test_the_largest_body(self, name):
        pair = Pair(self, name)
        body = json.dumps({"request_id": "r", "x": "x" * 65000}).encode()
        self.assertIn(pair.version(request(body=body)), ("first", "second"))
        self.assertEqual(pair.ask(request(body=b" " * 65537)).status, 413)

    @behind_each
    def test_a_drain(self, name):
        """HAProxy finds out and asks the other. nginx goes on: decisions are served to the end."""
        pair = Pair(self, name, first="drain: 1h")
        first = pair.servers[0]
        first.signal(signal.SIGTERM)
        wait_for(lambda: get(first.decisions, "/readyz").status == 503, SECONDS, "the drain")
        if name == "haproxy":
            wait_for(lambda: {pair.version() for _ in range(10)} == {"second"}, SECONDS,
                     "decisions by the second alone")
        self.assertIn(pair.version(), ("first", "second"))
        self.assertEqual(ask(first.decisions, decide(), SECONDS).status, 200)

    @behind_each
    def test_a_restart_loses_nothing(self, name):
        pair = Pair(self, name, first="drain: 1s")
        pair.servers[0].signal(signal.SIGTERM)
        while pair.servers[0].process.poll() is None:
            pair.version()
        self.assertEqual({pair.version() for _ in range(10)}, {"second"})

    @behind_each
    def test_a_killed_server(self, name):
        """Connections to it end without an answer, and new ones are refused."""
        pair = Pair(self, name)
        pair.servers[0].process.kill()
        pair.servers[0].process.wait()
        self.assertEqual({pair.version() for _ in range(10)}, {"second"})

    @behind_each
    def test_a_server_that_stands_still(self, name):
        """It has the request, however large, and does not answer: another one does."""
        pair = Pair(self, name)
        data = decide(x="x" * 64000)
        pair.servers[0].signal(signal.SIGSTOP)
        try:
            self.assertEqual({pair.version(data) for _ in range(4)}, {"second"})
        finally:
            pair.servers[0].signal(signal.SIGCONT)

    @behind_each
    def test_an_address_is_the_proxy_s(self, name):
        """The test has the proxy's address, and takes the one connection that it may have. What the
        server then answers with 503 is asked of the other."""
        pair = Pair(self, name)
        pair.servers[0].close()
        crowded = Server(plan(version="first", server="per_address_max: 1"),
                         args=("--listen", "127.0.0.1:%d" % pair.servers[0].decisions[1]))
        self.addCleanup(crowded.close)
        with self.place_of(crowded):
            for _ in range(10):
                answer = pair.ask()
                self.assertEqual((answer.status, answer.json()["version"]), (200, "second"))
            self.assertGreater(sum_of(crowded, "interlude_connections_refused_total",
                                      'reason="per_address_max"'), 0)

    def place_of(self, server):
        """The one connection that this address may have; a health check may hold it for a moment.
        """
        def got():
            c = Connection(server.decisions, SECONDS)
            try:
                c.send(decide())
                if c.answer().status == 200:
                    return c
            except (Closed, OSError):
                pass
            c.close()
            return None
        return wait_for(got, SECONDS, "a place")


class Operations(unittest.TestCase):
    def test_by_the_name_that_the_plan_lists(self):
        listed = docs.block(PAGE, "plan").text.strip()
        hosts = re.fullmatch(r"server: \{(.*)\}", listed).group(1)
        with Server(plan(server=hosts)) as server:
            port = free_port()
            text = configured("nginx operations", {"127.0.0.1:7071": server.operations[1],
                                                   "127.0.0.1:8081": port})
            proxy = Proxy("nginx", text=text, port=port)
            self.addCleanup(proxy.close)
            name = "ops.example:%d" % port
            asked = {
                (name, None): 200,
                (name, "http://" + name): 200,
                (name, "http://elsewhere.example"): 403,
                ("other.example", None): 403,
            }
            for (host, origin), status in asked.items():
                fields = [("Origin", origin)] if origin else []
                answer = ask(proxy.address, request("/v1/plan", method="GET", host=host,
                                                    fields=fields), SECONDS)
                self.assertEqual(answer.status, status, (host, origin))
            for path in "/healthz", "/readyz":
                answer = ask(proxy.address, request(path, method="GET", host="other.example"))
                self.assertEqual(answer.status, 200)
