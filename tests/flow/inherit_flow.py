"""Sockets that whoever starts the server has opened: LISTEN_FDS."""

import fcntl
import os
import signal
import socket
import threading
import unittest

from lib import restarts
from lib.callers import Asking
from lib.server import Server, free_port, plan, wait_for
from lib.wire import Connection, ask, decide, get


def listener(family=socket.AF_INET, host="127.0.0.1", kind=socket.SOCK_STREAM, listens=True):
    s = socket.socket(family, kind)
    s.bind((host, 0))
    if listens:
        s.listen(4096)
    return s


class Inherit(unittest.TestCase):
    def listener(self, *args, **more):
        s = listener(*args, **more)
        self.addCleanup(s.close)
        return s

    def serve(self, inherit, names=None, server="drain: 0s", **more):
        environment = dict(more.pop("environment", {}))
        if names is not None:
            environment["LISTEN_FDNAMES"] = names
        s = Server(plan(server=server), inherit=inherit, environment=environment, **more)
        self.addCleanup(s.close)
        return s

    def test_both(self):
        """Where it listens in truth is what it tells, whatever the plan and the arguments say."""
        a, b = self.listener(), self.listener()
        args = ["--listen", "127.0.0.1:%d" % free_port(), "--admin", "127.0.0.1:%d" % free_port()]
        for names, first, second in (("decide:admin", a, b), ("admin:decide", b, a),
                                     (None, a, b), ("", a, b)):
            with self.subTest(names):
                server = self.serve([first, second], names, args=args)
                self.assertEqual(server.decisions, a.getsockname())
                self.assertEqual(server.operations, b.getsockname())
                self.assertIn("http://127.0.0.1:%d," % a.getsockname()[1], server.errors())
                self.assertEqual(ask(server.decisions, decide()).status, 200)
                self.assertEqual(get(server.operations, "/readyz").status, 200)
                server.signal(signal.SIGTERM)
                self.assertEqual(server.wait_exit(), 0)

    def test_one(self):
        """The other one is opened as the plan says."""
        a = self.listener()
        for names, inherited in (("decide", "decisions"), ("admin", "operations"),
                                 (None, "decisions")):
            with self.subTest(names):
                server = self.serve([a], names)
                self.assertEqual(getattr(server, inherited), a.getsockname())
                self.assertEqual(ask(server.decisions, decide()).status, 200)
                self.assertEqual(get(server.operations, "/readyz").status, 200)
                server.signal(signal.SIGTERM)
                self.assertEqual(server.wait_exit(), 0)

    def test_ipv6(self):
        try:
            a = self.listener(socket.AF_INET6, "::1")
        except OSError:
            self.skipTest("no IPv6 here")
        server = self.serve([a])
        self.assertEqual(server.log("server_ready")[0]["listen"], "[::1]:%d" % a.getsockname()[1])
        self.assertEqual(ask(server.decisions, decide()).status, 200)

    def test_the_lab_inherits_too(self):
        a = self.listener()
        server = self.serve([a], program="interlude-lab")
        self.assertEqual(server.decisions, a.getsockname())

    def test_for_another_process(self):
        """They are ignored, as sd_listen_fds(3) does."""
        a = self.listener()
        for environment in ({"LISTEN_PID": "1"}, {"LISTEN_PID": "1", "LISTEN_FDS": "nonsense"}):
            with self.subTest(environment):
                server = self.serve([a], environment=environment)
                self.assertNotEqual(server.decisions, a.getsockname())
                self.assertEqual(ask(server.decisions, decide()).status, 200)

    def test_what_makes_no_sense(self):
        good = self.listener()
        unix = socket.socket(socket.AF_UNIX)
        self.addCleanup(unix.close)
        silent = self.listener(listens=False)
        udp = self.listener(kind=socket.SOCK_DGRAM, listens=False)
        null = open(os.devnull)
        self.addCleanup(null.close)
        rows = [
            ([good], {"LISTEN_FDS": "3"}, "LISTEN_FDS is `3`: 0, 1 or 2 was expected"),
            ([good], {"LISTEN_FDS": "-1"}, "LISTEN_FDS is `-1`"),
            ([good], {"LISTEN_FDS": "one"}, "LISTEN_FDS is `one`"),
            ([good], {"LISTEN_FDS": "2"}, "descriptor 4 (admin) is not open"),
            ([good], {"LISTEN_PID": "me"}, "LISTEN_PID is `me`"),
            ([good], {"LISTEN_FDNAMES": "decide:admin"}, "has 2 names, and LISTEN_FDS says 1"),
            ([good], {"LISTEN_FDNAMES": "interlude.socket"}, "`interlude.socket` is not known: "
             "`decide` or `admin` was expected (FileDescriptorName= with systemd)"),
            ([good, good], {"LISTEN_FDNAMES": "admin:admin"}, "two sockets named `admin`"),
            ([good, good], {}, "`decide` and `admin` are the same address, 127.0.0.1:"),
            ([silent], {}, "descriptor 3 (decide) is not a listening TCP socket"),
            ([good, silent], {}, "descriptor 4 (admin) is not a listening TCP socket"),
            ([udp], {}, "descriptor 3 (decide) is not a listening TCP socket"),
            ([unix], {}, "descriptor 3 (decide) is not a listening TCP socket"),
            ([null], {}, "descriptor 3 (decide) is not a listening TCP socket"),
        ]
        for inherit, environment, told in rows:
            with self.subTest(told):
                server = Server(plan(), inherit=inherit, environment=environment, wait=False)
                self.addCleanup(server.close)
                self.assertEqual(server.wait_exit(), 2)
                self.assertIn(told, server.errors())

    def test_nothing_about_the_socket_is_changed(self):
        """Its holder finds it as it was, and goes on: also with accept that waits."""
        a = self.listener()
        a.settimeout(None)
        flags = fcntl.fcntl(a, fcntl.F_GETFL)
        server = self.serve([a], server="drain: 200ms")
        self.assertEqual(ask(server.decisions, decide()).status, 200)
        self.assertEqual(fcntl.fcntl(a, fcntl.F_GETFL), flags)
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait_exit(), 0)
        self.assertEqual(fcntl.fcntl(a, fcntl.F_GETFL), flags)
        # Neither shut down nor filtered: who comes now waits for the next one to serve.
        with Connection(a.getsockname()) as c:
            c.send(decide("kept"))
            self.serve([a])
            self.assertEqual(c.answer().json()["request_id"], "kept")

    def test_another_process_accepts_too(self):
        """Whoever is quicker has the connection; the server waits for none of those it did not get:
        its other port answers, and it ends."""
        a = self.listener()
        self.assertTrue(a.getblocking())
        server = self.serve([a])
        over = threading.Event()
        taken = []

        def rival():
            while not over.is_set():
                taken.append(a.accept()[0])

        thread = threading.Thread(target=rival)
        thread.start()
        try:
            for _ in range(300):
                Connection(a.getsockname()).close()
                self.assertEqual(get(server.operations, "/readyz").status, 200)
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait_exit(), 0)
        finally:
            over.set()
            while thread.is_alive():
                Connection(a.getsockname()).close()
                thread.join(0.01)
            for s in taken:
                s.close()

    def test_handed_from_one_server_to_the_next(self):
        """Nobody is refused and nothing is lost, whether the next one starts before the last one
        has ended, or after."""
        a, b = self.listener(), self.listener()
        for drain in "0s", "300ms":
            with self.subTest(drain):
                self.hand_on(a, b, drain)

    def hand_on(self, a, b, drain):
        server = self.serve([a, b], server="workers: 2, drain: " + drain)
        fresh = Asking(a.getsockname(), 25, restarts.FRESH_US)
        kept = Asking(a.getsockname(), 25, restarts.KEPT_US, keep=True)
        try:
            for overlap in False, True, False, True:
                wait_for(lambda: server.process.poll() is not None or
                         restarts.decisions(server) >= restarts.BUSY_ANSWERS, 30, "callers")
                server.signal(signal.SIGTERM)
                if not overlap:
                    self.assertEqual(server.wait_exit(), 0)
                after = self.serve([a, b], server="workers: 2, drain: " + drain)
                if overlap:
                    self.assertEqual(server.wait_exit(), 0)
                server = after
            reports = {"fresh": fresh.finish(), "kept": kept.finish()}
        finally:
            fresh.kill()
            kept.kill()
        restarts.check(self, reports)
        for name, report in reports.items():
            self.assertEqual((report["refused"], report["unreached"]), (0, 0), (name, report))
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait_exit(), 0)
