"""What a client may take: time, memory, connections, descriptors."""

import os
import resource
import socket
import time
import unittest

from lib.server import Server, plan, resident_kb, wait_for
from lib.wire import Closed, Connection, ask, ask_full, decide, get, request

SHORT = "head_timeout: 300ms, body_timeout: 400ms, answer_timeout: 500ms, idle_timeout: 600ms"


class Deadlines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(plan(server=SHORT + ", workers: 1"))

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def connect(self, **more):
        c = Connection(self.server.decisions, **more)
        self.addCleanup(c.close)
        return c

    def assert_timed_out(self, c, what):
        a = c.answer()
        self.assertEqual((a.status, a.code, a.field("Connection")), (408, "timeout", "close"))
        self.assertIn(what, a.json()["detail"])
        self.assertTrue(c.ended())

    def test_idle_is_closed_silently(self):
        c = self.connect()
        with self.assertRaises(Closed):
            c.answer()

    def drip(self, c, data, pause):
        """Sends a byte at a time, until the server has said something."""
        c.socket.settimeout(0)
        for i in range(len(data)):
            try:
                c.socket.send(data[i:i + 1])
                if c._more():
                    break
            except BlockingIOError:
                pass
            time.sleep(pause)
        c.socket.settimeout(30)

    def test_head_is_timed_as_a_whole(self):
        c = self.connect()
        self.drip(c, decide(), 0.02)
        self.assert_timed_out(c, "head")

    def test_body_is_timed_as_a_whole(self):
        c = self.connect()
        head, body = request(body=b" " * 2000).split(b"\r\n\r\n")
        c.send(head + b"\r\n\r\n")
        self.drip(c, body, 0.02)
        self.assert_timed_out(c, "body")

    def test_answer_that_is_not_taken(self):
        c = self.connect(receive_buffer=4096)
        c.socket.settimeout(0.1)
        pushed = False
        try:
            for _ in range(1000):
                c.send(decide() * 100)
        except socket.timeout:
            pushed = True
        except ConnectionError:
            pass
        self.assertTrue(pushed, "nothing pushed back")
        time.sleep(1.5)
        with self.assertRaises(ConnectionError):
            c.socket.settimeout(30)
            while True:
                c.send(b"x" * 65536)


class EachItsOwn(unittest.TestCase):
    """One limit is short and the others are an hour: so each is its own, and no other's."""

    OTHERS = {"head_timeout", "body_timeout", "answer_timeout", "idle_timeout"}

    def serve(self, name):
        settings = ["%s: %s" % (n, "300ms" if n == name else "1h") for n in sorted(self.OTHERS)]
        server = Server(plan(server=", ".join(settings + ["workers: 1"])))
        self.addCleanup(server.close)
        return server

    def connect(self, server, **more):
        c = Connection(server.decisions, **more)
        self.addCleanup(c.close)
        return c

    def assert_late(self, c, what):
        a = c.answer()
        self.assertEqual((a.status, a.code), (408, "timeout"))
        self.assertIn("the %s of the request did not arrive within 300 ms" % what,
                      a.json()["detail"])

    def test_head(self):
        c = self.connect(self.serve("head_timeout"))
        c.send(decide()[:20])
        self.assert_late(c, "head")

    def test_body(self):
        c = self.connect(self.serve("body_timeout"))
        c.send(decide()[:-1])
        self.assert_late(c, "body")

    def test_idle(self):
        server = self.serve("idle_timeout")
        fresh, used = self.connect(server), self.connect(server)
        used.send(decide())
        self.assertEqual(used.answer().status, 200)
        for c in fresh, used:
            with self.assertRaises(Closed):
                c.answer()

    def test_answer(self):
        c = self.connect(self.serve("answer_timeout"), receive_buffer=4096)
        c.socket.settimeout(0.1)
        with self.assertRaises(socket.timeout):  # it pushes back
            for _ in range(1000):
                c.send(decide() * 100)
        c.socket.settimeout(30)
        with self.assertRaises(ConnectionError):
            while True:
                c.send(b"x" * 65536)


class DeadlinesBegin(unittest.TestCase):
    """Anew with each request: together longer than the limit, each far from it, so that a machine
    that stands still for two seconds changes nothing."""

    def test_idle_begins_with_an_answer(self):
        with Server(plan(server="idle_timeout: 4s, workers: 1")) as server, \
                Connection(server.decisions) as c:
            for _ in range(3):
                time.sleep(1.5)
                c.send(decide())
                self.assertEqual(c.answer().status, 200)
            with self.assertRaises(Closed):
                c.answer()

    def test_each_head_has_its_own_time(self):
        with Server(plan(server="head_timeout: 4s, workers: 1")) as server, \
                Connection(server.decisions) as c:
            for _ in range(3):
                whole = decide()
                c.send(whole[:20])
                time.sleep(1.5)
                c.send(whole[20:])
                self.assertEqual(c.answer().status, 200)
            c.send(decide()[:20])
            self.assertEqual(c.answer().status, 408)
            self.assertTrue(c.ended())


class BackPressure(unittest.TestCase):
    def test_memory_is_bounded(self):
        """Clients that send without reading are not read from either."""
        with Server(plan(server="answer_timeout: 30s, workers: 1")) as server:
            ask(server.decisions, decide())
            before = resident_kb(server)
            clients = [Connection(server.decisions, receive_buffer=4096) for _ in range(20)]
            data = decide() * 2000
            for c in clients:
                c.socket.setblocking(False)
            for _ in range(30):
                for c in clients:
                    try:
                        c.socket.send(data)
                    except BlockingIOError:
                        pass
            time.sleep(0.2)
            self.assertLess(resident_kb(server) - before, 20 * 1000)
            self.assertEqual(ask(server.decisions, decide()).status, 200)
            # And what they asked for is all there, in order, once they read.
            for c in clients[:3]:
                c.socket.setblocking(True)
                c.socket.settimeout(30)
                for _ in range(500):
                    self.assertEqual(c.answer().status, 200)
            for c in clients:
                c.close()

    def test_halves_of_requests_are_bounded(self):
        with Server(plan(server="workers: 1")) as server:
            clients = [Connection(server.decisions) for _ in range(50)]
            half = request(body=b" " * 65536)[:60000]
            for c in clients:
                c.send(half)
            self.assertEqual(ask(server.decisions, decide()).status, 200)
            for c in clients:
                c.send(b" " * (len(request(body=b" " * 65536)) - len(half)))
                self.assertEqual(c.answer().code, "json_syntax")
                c.close()


class Connections(unittest.TestCase):
    def test_connections_max(self):
        """Each in the middle of a request: the silent ones would give way (silent_flow.py)."""
        half = len(decide()) // 2
        with Server(plan(server="connections_max: 5, workers: 2, head_timeout: 60s")) as server:
            held = [Connection(server.decisions) for _ in range(5)]
            for c in held:
                c.send(decide() + decide()[:half])
                self.assertEqual(c.answer().status, 200)
            for _ in range(3):
                a = ask_full(server.decisions, [decide()])
                self.assertEqual((a.status, a.code), (503, "connections_max"))
                self.assertGreaterEqual(int(a.field("Retry-After")), 1)
                self.assertEqual(a.field("Connection"), "close")
                self.assertIsNotNone(a.field("Date"))
            # The other port has places of its own, and says what happens.
            self.assertEqual(get(server.operations, "/readyz").status, 200)
            self.assertTrue(server.wait_log("connections_max_reached"))
            # Who has a connection keeps it; who gives it back makes a place.
            held[0].send(decide()[half:])
            self.assertEqual(held[0].answer().status, 200)
            held.pop().close()
            wait_for(lambda: ask(server.decisions, decide()).status == 200, what="a place")
            for c in held:
                c.close()

    def test_many_more_than_connections_max(self):
        plan_text = plan(server="connections_max: 2, workers: 1, head_timeout: 60s")
        with Server(plan_text) as server:
            held = [Connection(server.decisions) for _ in range(2)]
            for c in held:
                c.send(decide() + decide()[:20])
                c.answer()
            crowd = [Connection(server.decisions) for _ in range(300)]
            for c in crowd[-50:]:
                try:
                    self.assertEqual(c.answer().status, 503)
                except (Closed, ConnectionError):
                    pass
            for c in crowd + held:
                c.close()
            wait_for(lambda: ask(server.decisions, decide()).status == 200, what="a place")

    def test_slots_are_used_again(self):
        with Server(plan(server="connections_max: 8, workers: 2")) as server:
            for _ in range(300):
                wait_for(lambda: ask(server.decisions, decide()).status == 200, what="a place")

    def test_spread_over_workers(self):
        """Of 64 connections, each of 4 workers has 16: threads are told apart by their turns."""
        with Server(plan(server="workers: 4")) as server:
            held = [Connection(server.decisions) for _ in range(64)]
            for c in held:
                c.send(decide())
                c.answer()
            counts = []
            fds = "/proc/%d/fdinfo" % server.process.pid
            for fd in os.listdir(fds):
                try:
                    with open(os.path.join(fds, fd)) as f:
                        watched = f.read().count("tfd:")
                except OSError:
                    continue
                if watched >= 5:  # a worker's epoll: its connections, and its wake-up
                    counts.append(watched - 1)
            self.assertEqual(len(counts), 4)
            self.assertEqual(sum(counts), 64)
            self.assertTrue(all(14 <= n <= 18 for n in counts), counts)
            for c in held:
                c.close()

    def test_descriptors_used_up(self):
        """Accepting pauses, without spinning; who is connected is served; it goes on afterwards."""
        half = len(decide()) // 2
        with Server(plan(server="workers: 1, head_timeout: 60s"), descriptors=64) as server:
            held = []
            for _ in range(80):
                c = Connection(server.decisions)
                c.send(decide() + decide()[:half])  # silent ones would give way
                held.append(c)
            told = server.wait_log("accept_paused")
            served = told["connections"]
            for c in held[:served]:
                self.assertEqual(c.answer().status, 200)
            self.assertTrue(held[served].is_open())
            self.assertGreater(served, 20)
            self.assertLess(served, 64)
            short = server.log("descriptors_short")[0]
            self.assertEqual((short["connections_max"], short["descriptors"]), (10000, 64))
            self.assertEqual(short["connections"], served)
            self.assertEqual(told["reason"], "descriptors")
            # It went on telling that of one pause, ten times a second, and could not be asked.
            time.sleep(0.4)
            self.assertEqual(len(server.log("accept_paused")), 1)
            metrics = get(server.operations, "/metrics").body.decode()
            self.assertIn('interlude_accept_paused_total{reason="descriptors"} 1\n', metrics)
            self.assertIn("interlude_connections_max %d\n" % served, metrics)
            self.assertEqual(get(server.operations, "/healthz").status, 200)
            held[0].send(decide()[half:])
            self.assertEqual(held[0].answer().status, 200)
            before = server.cpu_seconds()
            time.sleep(0.5)
            self.assertLess(server.cpu_seconds() - before, 0.25)
            for c in held[:50]:
                c.close()
            self.assertEqual(held[-1].answer().status, 200)
            for c in held[50:]:
                c.close()

    def test_a_pause_is_told_once(self):
        """The limit falls under what is open while it runs: accepting fails every 100 ms."""
        with Server(plan(server="workers: 1")) as server:
            ask(server.decisions, decide())
            pid, kind = server.process.pid, resource.RLIMIT_NOFILE
            soft, hard = resource.prlimit(pid, kind)
            resource.prlimit(pid, kind, (8, hard))
            c = Connection(server.decisions)
            c.send(decide())
            server.wait_log("accept_paused")
            time.sleep(0.5)
            self.assertEqual(len(server.log("accept_paused")), 1)
            resource.prlimit(pid, kind, (soft, hard))
            self.assertEqual(c.answer().status, 200)
            c.close()
            metrics = get(server.operations, "/metrics").body.decode()
            self.assertIn('interlude_accept_paused_total{reason="descriptors"} 1\n', metrics)
            # A second pause is another one.
            resource.prlimit(pid, kind, (8, hard))
            c = Connection(server.decisions)
            c.send(decide())
            server.wait_log("accept_paused", count=2)
            resource.prlimit(pid, kind, (soft, hard))
            self.assertEqual(c.answer().status, 200)
            c.close()
            metrics = get(server.operations, "/metrics").body.decode()
            self.assertIn('interlude_accept_paused_total{reason="descriptors"} 2\n', metrics)

    def test_descriptors_are_enough(self):
        with Server(plan(server="workers: 1, connections_max: 20"), descriptors=400) as server:
            ask(server.decisions, decide())
            self.assertEqual(server.log("descriptors_short"), [])
            metrics = get(server.operations, "/metrics").body.decode()
            self.assertIn("interlude_connections_max 20\n", metrics)

    def test_idle_connections_took_the_operations_port(self):
        """More than it has places for: idle, and slow; whoever asks is answered."""
        for data in b"", b"G":
            for descriptors in None, 64:
                with self.subTest(data, descriptors=descriptors), \
                        Server(plan(server="workers: 1"), descriptors=descriptors) as server:
                    held = []
                    for _ in range(300):
                        held.append(Connection(server.operations))
                        held[-1].send(data)
                    for _ in range(3):
                        self.assertEqual(get(server.operations, "/healthz").status, 200)
                    self.assertEqual(get(server.operations, "/metrics").status, 200)
                    # The oldest went; the ones that came last are served.
                    self.assertTrue(held[0].ended())
                    held[-1].send(request("/readyz", None, "GET")[len(data):])
                    self.assertEqual(held[-1].answer().status, 200)
                    for c in held:
                        c.close()

    def test_idle_costs_nothing(self):
        with Server(plan(server="workers: 2")) as server:
            held = [Connection(server.decisions) for _ in range(50)]
            for c in held:
                c.send(decide())
                c.answer()
            before = server.cpu_seconds()
            time.sleep(0.6)
            self.assertLess(server.cpu_seconds() - before, 0.2)
            for c in held:
                c.close()
