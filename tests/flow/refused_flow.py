"""Who finds no place is told so, whole, and after he has asked."""

import collections
import json
import os
import threading
import unittest

from lib.proxies import Proxy
from lib.server import Server, plan, wait_for
from lib.wire import Closed, Connection, ask_full, decide, get, request

HALF = len(decide()) // 2
LARGE = request(body=b'{"request_id": "large"}'.ljust(65536))
# nginx asks the next server where one answers 503.
NEXT = "proxy_next_upstream error timeout http_503 non_idempotent; client_body_buffer_size 128k;"


class Case(unittest.TestCase):
    def full(self, places=3, **more):
        """A server whose places are all taken, by requests that have begun."""
        server = Server(plan(server="connections_max: %d, workers: 1, head_timeout: 600s" % places),
                        **more)
        self.addCleanup(server.close)
        for _ in range(places):
            self.connect(server).send(decide()[:HALF])
        wait_for(lambda: "interlude_connections %d\n" % places in self.metrics(server), 20,
                 what="all are there")
        return server

    def connect(self, server):
        c = Connection(server.decisions, seconds=20)
        self.addCleanup(c.close)
        return c

    @staticmethod
    def metrics(server):
        return get(server.operations, "/metrics").body.decode()

    def value(self, server, series):
        return int(self.metrics(server).split("\n%s " % series)[1].split("\n")[0])

    def assert_told(self, server, pieces, to_head=False):
        a = ask_full(server.decisions, pieces, to_head)
        self.assertEqual((a.status, a.field("Retry-After"), a.field("Connection")),
                         (503, "1", "close"))
        if not to_head:
            self.assertEqual(a.code, "connections_max")


class Told(Case):
    def test_however_the_request_comes(self):
        server = self.full()
        whole = decide()
        requests = {
            "at once": [whole],
            "byte by byte": [whole[i:i + 1] for i in range(len(whole))],
            "its body apart": whole.partition(b"\r\n\r\n")[:2] + (whole.partition(b"\r\n\r\n")[2],),
            "large": [LARGE[i:i + 9000] for i in range(0, len(LARGE), 9000)],
            "chunked": [request(fields=[("Transfer-Encoding", "chunked")]), b"2\r\n", b"{}\r\n",
                        b"0\r\n\r\n"],
            "waits for 100": [request(body=b"{}", fields=[("Expect", "100-continue")])[:-2]],
            "half of it": [whole[:HALF]],
            "pipelined": [whole * 50],
            "wrong": [b"GET / HTTP/1.1\r\n bad\r\n"],
        }
        for name, pieces in requests.items():
            with self.subTest(name):
                self.assert_told(server, pieces)
        self.assert_told(server, [request("/readyz", None, "HEAD")], to_head=True)
        self.assertGreaterEqual(self.value(server, 'interlude_http_requests_total{code="503"}'),
                                len(requests) + 1)

    def test_who_says_nothing_is_told_nothing(self):
        server = self.full()
        silent = self.connect(server)
        with self.assertRaises(Closed):
            silent.answer()
        wait_for(lambda: self.value(server, "interlude_connections_untold_total") > 0, 20,
                 "it is counted")

    def test_a_client_that_goes_on_sending_reads_it(self):
        """What it still sent was unread when its connection was closed, and so it was reset."""
        server = self.full()
        for _ in range(10):
            self.assert_told(server, [LARGE] * 3)

    def test_no_descriptor_is_kept(self):
        """Neither by those that are silent, nor by those that don't close their side."""
        server = self.full()

        def descriptors():
            return len(os.listdir("/proc/%d/fd" % server.process.pid))
        before = descriptors()
        crowd = []
        for i in range(200):
            crowd.append(self.connect(server))
            try:
                crowd[-1].send((b"", decide()[:HALF], decide())[i % 3])
            except ConnectionError:
                pass
            self.assertLessEqual(descriptors(), before + 64 + 2)
        wait_for(lambda: descriptors() <= before, 20, "all are closed")


class Behind(Case):
    """nginx had the answer before it had sent the request. It asked the next server, and told its
    client both answers as one."""

    def calls(self, proxy, caller, got):
        for i in range(60):
            name = "r-%d-%d" % (caller, i)
            body = json.dumps({"request_id": name, "time": "2026-11-30T08:00:00Z"}).encode()
            if i % 3 == 0:
                body = body.ljust(65536)
            with Connection(proxy.address, seconds=20) as c:
                c.send(request(body=body, fields=[("Connection", "close")]))
                try:
                    a = c.answer()
                    whole = a.status == 502 or a.json().get("request_id") == name or \
                        a.code == "connections_max"
                    ends = c.ended(20)
                except (AssertionError, ValueError, Closed, OSError) as e:
                    got[repr(e)] += 1
                    continue
                got[a.status if whole and ends else "joined"] += 1

    def check(self, servers, keep):
        proxy = Proxy("nginx", [s.decisions[1] for s in servers], keep, NEXT)
        self.addCleanup(proxy.close)
        got = collections.Counter()
        callers = [threading.Thread(target=self.calls, args=(proxy, n, got)) for n in range(6)]
        for c in callers:
            c.start()
        for c in callers:
            c.join()
        return got

    def test_the_next_server_answers(self):
        for keep in False, True:
            with self.subTest(keep=keep):
                spare = Server(plan(server="connections_max: 100, workers: 1"))
                self.addCleanup(spare.close)
                full = self.full()
                self.assertEqual(self.check([full, spare], keep), {200: 360})
                self.assertGreater(
                    self.value(full, 'interlude_http_requests_total{code="503"}'), 0)

    def test_both_are_full(self):
        got = self.check([self.full(), self.full()], False)
        self.assertLessEqual(set(got), {503, 502})  # 502: nginx sent nothing for a second
        self.assertGreater(got[503], 0)
