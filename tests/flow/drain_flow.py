"""SIGTERM, SIGINT: how it ends."""

import signal
import time
import unittest

from lib.server import Server, plan, wait_for
from lib.wire import Closed, Connection, ask, decide, get


class Drain(unittest.TestCase):
    def serve(self, server, **more):
        s = Server(plan(server=server, **more))
        self.addCleanup(s.close)
        return s

    def assert_gone(self, server):
        with self.assertRaises(OSError):
            Connection(server.decisions)

    def test_drain(self):
        server = self.serve("drain: 1h")
        old = Connection(server.decisions)
        old.send(decide("before"))
        self.assertIsNone(old.answer().field("Connection"))
        server.signal(signal.SIGTERM)
        wait_for(lambda: get(server.operations, "/readyz").status == 503, what="/readyz 503")
        self.assertEqual(get(server.operations, "/healthz").status, 200)
        a = get(server.decisions, "/readyz")
        self.assertEqual((a.status, a.body, a.field("Connection")), (503, b"draining\n", "close"))
        # Served: on the old connection, and on new ones, each told that it is the last answer.
        for c in (old, Connection(server.decisions), Connection(server.decisions)):
            c.send(decide("during"))
            a = c.answer()
            self.assertEqual((a.status, a.field("Connection")), (200, "close"))
            self.assertTrue(c.ended())
            c.close()
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait_exit(), 0)
        self.assert_gone(server)
        self.assertEqual(server.log("server_draining")[0]["drain_ms"], 3600000)
        self.assertEqual(server.log()[-1]["event"], "server_stopped")

    def test_a_drain_lasts(self):
        server = self.serve("drain: 800ms")
        began = time.monotonic()
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait_exit(), 0)
        self.assertGreater(time.monotonic() - began, 0.75)

    def test_pipelined_while_draining(self):
        server = self.serve("drain: 1h")
        server.signal(signal.SIGTERM)
        server.wait_log("server_draining")
        with Connection(server.decisions) as c:
            c.send(decide("a") + decide("b") + decide("c"))
            got = c.answers()
            self.assertEqual([a.json()["request_id"] for a in got], ["a", "b", "c"])
            self.assertEqual([a.field("Connection") for a in got], [None, None, "close"])

    def test_no_drain(self):
        server = self.serve("drain: 0s")
        idle = Connection(server.decisions)
        began = time.monotonic()
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait_exit(), 0)
        self.assertLess(time.monotonic() - began, 9)  # and not the 10 s that it is without
        with self.assertRaises(Closed):
            idle.answer()

    def test_in_flight_is_finished(self):
        server = self.serve("drain: 0s")
        whole = decide("late")
        with Connection(server.decisions) as c:
            c.send(whole[:50])
            time.sleep(0.1)
            server.signal(signal.SIGTERM)
            wait_for(lambda: self.closed_to_others(server), what="the port closed")
            c.send(whole[50:])
            self.assertEqual(c.answer().json()["request_id"], "late")
            self.assertTrue(c.ended())
        self.assertEqual(server.wait_exit(), 0)

    @staticmethod
    def closed_to_others(server):
        try:
            Connection(server.decisions).close()
            return False
        except OSError:
            return True

    def test_second_sigterm_ends_the_drain(self):
        for second in signal.SIGTERM, signal.SIGINT:
            with self.subTest(second):
                server = self.serve("drain: 1h")
                server.signal(signal.SIGTERM)
                server.wait_log("server_draining")
                self.assertEqual(ask(server.decisions, decide()).status, 200)
                server.signal(second)
                self.assertEqual(server.wait_exit(), 0)

    def test_sigint_ends_at_once(self):
        server = self.serve("drain: 1h")
        held = [Connection(server.decisions) for _ in range(5)]
        for c in held:
            c.send(decide())
            c.answer()
        server.signal(signal.SIGINT)
        self.assertEqual(server.wait_exit(), 0)
        for c in held:
            c.close()

    def test_third_signal_waits_for_nobody(self):
        server = self.serve("drain: 1h, head_timeout: 1h")
        with Connection(server.decisions) as c:
            c.send(b"POST /v1/dec")
            time.sleep(0.1)
            server.signal(signal.SIGTERM)
            server.wait_log("server_draining")
            server.signal(signal.SIGTERM)
            wait_for(lambda: self.closed_to_others(server), what="the port closed")
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait_exit(), 0)

    def test_sigint_waits_a_second_for_what_has_begun(self):
        """On a machine that stands still the second may be over before the rest is sent."""
        self.assertTrue(any(self.is_waited_for() for _ in range(5)))

    def is_waited_for(self):
        server = self.serve("drain: 1h, head_timeout: 1h")
        whole = decide("late")
        with Connection(server.decisions) as c, Connection(server.decisions) as never:
            c.send(whole[:50])
            never.send(whole[:50])
            time.sleep(0.1)
            server.signal(signal.SIGINT)
            wait_for(lambda: self.closed_to_others(server), what="the port closed")
            try:
                c.send(whole[50:])
                answered = c.answer().json()["request_id"] == "late"
            except (Closed, ConnectionError):
                answered = False
            self.assertEqual(server.wait_exit(), 0)
        return answered

    def test_no_request_fails_while_stopping(self):
        """Clients that come and go until the port closes: each that could connect is answered."""
        server = self.serve("drain: 2s")
        server.signal(signal.SIGTERM)
        answered = 0
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                c = Connection(server.decisions)
            except ConnectionError:
                break
            with c:
                try:
                    c.send(decide())
                    self.assertEqual(c.answer().status, 200)
                    answered += 1
                except (Closed, ConnectionError):
                    # Only the one that came as the port closed may find nobody.
                    self.assertIsNotNone(server.wait_exit())
        self.assertGreater(answered, 10)
        self.assertEqual(server.wait_exit(), 0)

    def test_pipe_signal_is_nobodys_end(self):
        server = self.serve("drain: 0s")
        server.signal(signal.SIGPIPE)
        self.assertEqual(ask(server.decisions, decide()).status, 200)
