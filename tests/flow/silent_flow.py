"""Connections on which nothing is asked keep nobody out, and no address takes all places."""

import signal
import socket
import threading
import time
import unittest

from lib.server import Server, plan, wait_for
from lib.wire import Closed, Connection, ask, ask_full, decide, get, request

HALF = len(decide()) // 2


def open_text(path):
    with open(path) as f:
        return f.read()


def connect_from(case, address, host):
    """A connection from another address of this machine, until the test ends."""
    c = Connection.__new__(Connection)
    c.socket = socket.create_connection(address, timeout=30, source_address=(host, 0))
    c.buffer = b""
    case.addCleanup(c.close)
    return c


class Case(unittest.TestCase):
    def serve(self, settings, **more):
        server = Server(plan(server=settings), **more)
        self.addCleanup(server.close)
        return server

    def connect(self, server, count, data=b""):
        connections = [Connection(server.decisions) for _ in range(count)]
        for c in connections:
            self.addCleanup(c.close)
            c.send(data)
        return connections

    def refused(self, server):
        told = get(server.operations, "/metrics").body.decode()
        return told.split('interlude_connections_refused_total{reason="connections_max"} ')[1] \
            .split("\n")[0]


class Silent(Case):
    def test_silent_connections_took_every_place(self):
        """And kept them for 120 s. The ones that have been silent the longest go."""
        server = self.serve("connections_max: 20, workers: 2")
        held = self.connect(server, 20)
        for _ in range(5):
            with Connection(server.decisions) as c:
                c.send(decide())
                self.assertEqual(c.answer().status, 200)
        self.assertTrue(held[0].ended() or held[1].ended())
        self.assertEqual(self.refused(server), "0")
        self.assertEqual(server.log("connections_max_reached"), [])

    def test_idle_after_an_answer_gives_way_too(self):
        server = self.serve("connections_max: 4, workers: 1")
        held = self.connect(server, 4, decide())
        for c in held:
            self.assertEqual(c.answer().status, 200)
        self.assertEqual(ask(server.decisions, decide()).status, 200)
        self.assertEqual(sum(c.ended(0.05) for c in held), 1)

    def test_the_middle_of_a_request_is_kept(self):
        """503 only where nobody is silent, and then at once."""
        server = self.serve("connections_max: 6, workers: 2, head_timeout: 60s")
        held = self.connect(server, 6, decide() + decide()[:HALF])
        for c in held:
            self.assertEqual(c.answer().status, 200)
        for _ in range(3):
            self.assertEqual(ask_full(server.decisions, [decide()]).code, "connections_max")
        for c in held:
            c.send(decide()[HALF:])
            self.assertEqual(c.answer().status, 200)
        self.assertGreaterEqual(int(self.refused(server)), 3)

    def test_many_silent_and_many_that_ask(self):
        server = self.serve("connections_max: 50, workers: 2")
        for _ in range(4):
            self.connect(server, 50)
            for _ in range(20):
                self.assertEqual(ask(server.decisions, decide()).status, 200)

    def held_while_it_stood_still(self):
        """The status that somebody got who waited for a place when the process was stopped for longer
        than he may have to wait; None: this test was too slow to stop it in time."""
        server = self.serve("connections_max: 2, workers: 1")
        busy, over = self.connect(server, 2), threading.Event()

        def ask_on():
            while not over.is_set():
                for c in busy:
                    c.socket.settimeout(60)
                    c.send(decide())
                    c.answer()
        asking = threading.Thread(target=self.until_closed, args=(ask_on,))
        asking.start()
        with Connection(server.decisions, seconds=60) as c:
            began = time.monotonic()
            c.send(decide())
            server.signal(signal.SIGSTOP)
            state = "/proc/%d/stat" % server.process.pid
            wait_for(lambda: open_text(state).rsplit(") ", 1)[1][0] == "T", 20, "it is stopped")
            in_time = time.monotonic() - began < 0.1
            time.sleep(5.5 if in_time else 0)
            over.set()
            server.signal(signal.SIGCONT)
            status = c.answer().status
        asking.join()
        return status if in_time else None

    @staticmethod
    def until_closed(what):
        try:
            what()
        except (Closed, OSError):
            pass

    def test_who_waited_while_it_stood_still_gets_a_place(self):
        """He was refused at once, and for a second all others with him."""
        tries = (self.held_while_it_stood_still() for _ in range(10))
        self.assertEqual(next((t for t in tries if t), None), 200)

    def test_silent_connections_took_every_descriptor(self):
        """They give way as well, and nobody is paused."""
        server = self.serve("workers: 1", descriptors=64)
        self.connect(server, 80)
        for _ in range(5):
            self.assertEqual(ask(server.decisions, decide()).status, 200)
        self.assertEqual(server.log("accept_paused"), [])


class PerAddress(Case):
    def assert_refused(self, server):
        a = ask_full(server.decisions, [decide()])
        self.assertEqual((a.status, a.code), (503, "per_address_max"))
        self.assertEqual(a.field("Retry-After"), "1")
        self.assertEqual(a.field("Connection"), "close")

    def test_one_address_has_so_many(self):
        server = self.serve("per_address_max: 3, workers: 2, head_timeout: 60s")
        held = self.connect(server, 3, decide()[:HALF])
        self.assert_refused(server)
        other = connect_from(self, server.decisions, "127.0.0.2")
        other.send(decide())
        self.assertEqual(other.answer().status, 200)
        told = server.wait_log("per_address_max_reached")
        self.assertEqual(told["connections"], 3)
        self.assertTrue(told["peer"].startswith("127.0.0.1:"), told)
        self.assertNotIn('interlude_connections_refused_total{reason="per_address_max"} 0\n',
                         get(server.operations, "/metrics").body.decode())
        for c in held:
            c.send(decide()[HALF:])
            self.assertEqual(c.answer().status, 200)
        held.pop().close()
        wait_for(lambda: ask(server.decisions, decide()).status == 200, what="a place")

    def test_who_has_his_share_takes_no_other_place(self):
        """The port is full of silent ones; he who has his share is refused before any gives way."""
        server = self.serve("connections_max: 6, per_address_max: 3, workers: 1")
        others = [connect_from(self, server.decisions, "127.0.0.2") for _ in range(3)]
        self.connect(server, 3, decide()[:HALF])
        for _ in range(20):
            self.assert_refused(server)
        for c in others:
            c.send(decide())
            self.assertEqual(c.answer().status, 200)

    def test_thousands_come_and_go(self):
        server = self.serve("per_address_max: 2, workers: 2")
        served = 0
        for i in range(1000):
            c = connect_from(self, server.decisions, "127.0.0.%d" % (1 + i % 50))
            c.send(decide())
            served += c.answer().status == 200
            c.close()
        self.assertGreater(served, 900)
        wait_for(lambda: ask(server.decisions, decide()).status == 200, what="a place")

    def test_the_operations_port_has_no_such_limit(self):
        server = self.serve("per_address_max: 1, workers: 1")
        held = [Connection(server.operations) for _ in range(5)]
        for c in held:
            c.send(request("/healthz", None, "GET"))
            self.assertEqual(c.answer().status, 200)
            c.close()


class Turns(Case):
    def test_a_crowd_of_scrapes_that_nobody_reads(self):
        """200 connections of 20 each kept `healthz` waiting for seconds."""
        server = self.serve("workers: 1")
        crowd = [Connection(server.operations, receive_buffer=4096) for _ in range(200)]
        for c in crowd:
            self.addCleanup(c.close)
            c.send(request("/metrics", None, "GET") * 20)
        for _ in range(20):
            self.assertEqual(get(server.operations, "/healthz").status, 200)
        self.assertEqual(get(server.operations, "/metrics").status, 200)
        for c in crowd[1:]:
            c.close()
        # One of them may have been cut off meanwhile; a new one reads all of its.
        with Connection(server.operations, receive_buffer=4096) as c:
            c.send(request("/metrics", None, "GET") * 20)
            for _ in range(20):
                self.assertTrue(c.answer().body.endswith(b"\n"))

    def test_pipelined_decisions_are_all_answered(self):
        server = self.serve("workers: 1")
        count, got = 3000, []
        with Connection(server.decisions, seconds=20) as c, Connection(server.decisions) as other:
            data = b"".join(decide("r-%d" % i) for i in range(count))
            c.socket.setblocking(False)
            sent = 0
            while len(got) < count:
                if sent < len(data):
                    try:
                        sent += c.socket.send(data[sent:sent + 65536])
                    except BlockingIOError:
                        pass
                other.send(decide("other"))
                self.assertEqual(other.answer().json()["request_id"], "other")
                c.socket.setblocking(True)
                c.socket.settimeout(20)
                got += [c.answer().json()["request_id"]]
                while b"\r\n\r\n" in c.buffer:
                    got.append(c.answer().json()["request_id"])
                c.socket.setblocking(False)
        self.assertEqual(got, ["r-%d" % i for i in range(count)])

    def test_what_was_pipelined_before_the_end_is_answered(self):
        """A client that says all at once and shuts its side."""
        server = self.serve("workers: 1")
        with Connection(server.decisions, seconds=20) as c:
            c.send(b"".join(decide("r-%d" % i) for i in range(500)))
            c.half_close()
            for i in range(500):
                self.assertEqual(c.answer().json()["request_id"], "r-%d" % i)
            with self.assertRaises(Closed):
                c.answer()


