"""Restarts under load: what a server has taken is answered. script/soak-restarts does more."""

import os
import resource
import signal
import socket
import time
import unittest

from lib import restarts
from lib.callers import Asking
from lib.server import Server, plan, wait_for
from lib.wire import Closed, Connection, ask, decide, request


class Load(unittest.TestCase):
    """Each request that callers sent on a fresh connection, or on one that was just used."""

    def test_direct(self):
        for drain, times in ("1s", 2), ("0s", 3):
            with self.subTest(drain):
                restarts.check(self, restarts.direct(drain, times))

    def test_direct_over_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as s:
                s.bind(("::1", 0))
        except OSError:
            self.skipTest("no IPv6 here")
        restarts.check(self, restarts.direct("0s", 2, "::1"))

    def test_behind_a_proxy(self):
        for name in "nginx", "haproxy":
            for keep in False, True:
                for drain, times in ("1s", 1), ("0s", 2):
                    with self.subTest(name, keep=keep, drain=drain):
                        restarts.check(self, restarts.behind(name, keep, drain, times))

    def test_the_operations_port(self):
        """Health checks and scrapes that come in at the end are answered, too."""
        run = restarts.Restarts("0s")
        asking = [Asking(run.servers[0].operations, 10, (0, 300), keep, path)
                  for keep in (False, True) for path in ("/readyz", "/metrics")]
        answers = []
        try:
            for _ in range(3):
                self.assertEqual(ask(run.servers[0].decisions, decide()).status, 200)
                time.sleep(0.2)
                run.servers[0].signal(signal.SIGTERM)
                self.assertEqual(run.servers[0].wait_exit(), 0)
                run.servers[0].close()
                run.servers[0] = run.start(0)
            answers = [a.finish() for a in asking]
        finally:
            for a in asking:
                a.kill()
            run.close()
        for report in answers:
            self.assertGreater(report["answered"], 0)
            self.assertEqual(report["lost"], 0, report)
            self.assertLessEqual(set(report["status"]), {"503"}, report)  # /readyz, at the end


class LastOnes(unittest.TestCase):
    """Who has connected when the ports close."""

    def serve(self, server="drain: 0s", **more):
        s = Server(plan(server=server), **more)
        self.addCleanup(s.close)
        return s

    def connect(self, address):
        c = Connection(address, seconds=15)
        self.addCleanup(c.close)
        return c

    @staticmethod
    def closed(server):
        """Nobody is refused while the port closes, but his SYN is not answered."""
        try:
            Connection(server.decisions, seconds=0.05).close()
            return False
        except socket.timeout:
            return True
        except ConnectionError:
            return True

    def asks_late(self, port, data, used, stop):
        """True: it got an answer; None: this test was too slow to ask within a second."""
        server = self.serve()
        c = self.connect(getattr(server, port))
        if used:
            c.send(data)
            c.answer()
        began = time.monotonic()
        server.signal(stop)
        wait_for(lambda: self.closed(server), what="the port closed")
        time.sleep(0.1)  # a server that would close the connection has done so
        try:
            c.send(data)
            answered = c.answer().status in (200, 503)
        except (OSError, Closed) as e:
            answered = repr(e)
        late = time.monotonic() - began > 0.8
        self.assertEqual(server.wait_exit(), 0)
        return None if late and answered is not True else answered

    def test_a_connection_without_a_request_gets_a_second(self):
        ready = request("/readyz", None, "GET")
        for port, data, used, stop in (("decisions", decide(), False, signal.SIGTERM),
                                       ("decisions", decide(), True, signal.SIGTERM),
                                       ("decisions", decide(), True, signal.SIGINT),
                                       ("operations", ready, False, signal.SIGINT),
                                       ("operations", ready, True, signal.SIGTERM)):
            with self.subTest(port, used=used, stop=stop):
                tries = (self.asks_late(port, data, used, stop) for _ in range(10))
                self.assertIs(next((t for t in tries if t is not None), None), True)

    def test_a_quiet_connection_does_not_keep_it(self):
        server = self.serve()
        self.connect(server.decisions)
        self.connect(server.operations)
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait_exit(), 0)

    def test_full_of_idle_connections(self):
        """The descriptors are all taken, by connections of which some are idle once the drain begins
        and no one was before; others wait at the port."""
        server = self.serve("drain: 1s, head_timeout: 60s", descriptors=60)
        line = server.log("descriptors_short")[0]
        busy = [self.connect(server.decisions) for _ in range(line["connections"])]
        half = len(decide()) // 2
        for c in busy:
            c.send(decide() + decide()[:half])
            self.assertEqual(c.answer().status, 200)
        waiting = [self.connect(server.decisions) for _ in range(10)]
        server.wait_log("accept_paused")
        for c in waiting:
            c.send(decide())
        server.signal(signal.SIGTERM)
        for c in busy:
            c.send(decide()[half:])
            self.assertEqual(c.answer().status, 200)
        for c in waiting:
            self.assertEqual(c.answer().status, 200)
        self.assertEqual(server.wait_exit(), 0)

    def test_out_of_descriptors(self):
        """There is no descriptor for those at the port, until an idle connection is closed."""
        server = self.serve()
        idle = [self.connect(server.decisions) for _ in range(5)]
        for c in idle:
            c.send(decide())
            self.assertEqual(c.answer().status, 200)
        held = [int(fd) for fd in os.listdir("/proc/%d/fd" % server.process.pid)]
        _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (max(held) + 1, hard))
        waiting = [self.connect(server.decisions) for _ in range(5)]
        server.wait_log("accept_paused")
        for c in waiting:
            c.send(decide())
        server.signal(signal.SIGTERM)
        for c in waiting:
            self.assertEqual(c.answer().status, 200)
        self.assertEqual(server.wait_exit(), 0)

    def test_the_third_signal_ends_the_closing_of_the_ports(self):
        """They would be closing for seconds: one waits at the port, and there is no place."""
        server = self.serve("drain: 1h, head_timeout: 1h", descriptors=60)
        line = server.log("descriptors_short")[0]
        for _ in range(line["connections"]):
            self.connect(server.decisions).send(b"POST /v1/dec")
        self.connect(server.decisions)
        server.wait_log("accept_paused")
        for _ in range(3):
            server.signal(signal.SIGTERM)
            time.sleep(0.05)  # two of the same that wait are one
        self.assertEqual(server.wait_exit(), 0)
