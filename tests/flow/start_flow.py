"""How it starts, and what it does where it cannot."""

import os
import shutil
import signal
import socket
import tempfile
import unittest

from lib.server import Server, free_port, plan, wait_for
from lib.wire import Connection, ask, decide, get


def listen(port, admin):
    return ["--listen", "127.0.0.1:%d" % port, "--admin", "127.0.0.1:%d" % admin]


class Start(unittest.TestCase):
    def test_port_in_use(self):
        for which in "listen", "admin":
            with self.subTest(which), socket.socket() as taken:
                taken.bind(("127.0.0.1", 0))
                taken.listen()
                port = taken.getsockname()[1]
                other = free_port()
                args = listen(port, other) if which == "listen" else listen(other, port)
                with Server(args=args, wait=False) as server:
                    self.assertEqual(server.wait_exit(), 2)
                    told = server.errors()
                    self.assertIn("127.0.0.1:%d is in use" % port, told)
                    self.assertIn("choose another port", told)

    def test_both_ports_the_same(self):
        port = free_port()
        with Server(args=listen(port, port), wait=False) as server:
            self.assertEqual(server.wait_exit(), 2)
            self.assertIn("in use", server.errors())

    def test_address_that_is_none(self):
        for address in "127.0.0.1", "127.0.0.1:", ":7070", "127.0.0.1:99999", "127.0.0.1:http":
            with self.subTest(address):
                with Server(args=["--listen", address, "--admin", "127.0.0.1:0"],
                            wait=False) as server:
                    self.assertEqual(server.wait_exit(), 2)
                    self.assertIn(address, server.errors())

    def test_address_of_another_machine(self):
        with Server(args=["--listen", "192.0.2.1:7070", "--admin", "127.0.0.1:0"],
                    wait=False) as server:
            self.assertEqual(server.wait_exit(), 2)
            self.assertIn("192.0.2.1:7070 is not an address of this machine", server.errors())

    def test_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as s:
                s.bind(("::1", 0))
        except OSError:
            self.skipTest("no IPv6 here")
        with Server(args=["--listen", "[::1]:0", "--admin", "[::1]:0"]) as server:
            self.assertEqual(ask(server.decisions, decide()).status, 200)
            self.assertEqual(get(server.operations, "/readyz").status, 200)

    def test_plan_with_a_typo(self):
        with Server(plan().replace("segments:", "segmnts:"), wait=False) as server:
            self.assertEqual(server.wait_exit(), 2)
            self.assertIn("plan.yaml:6:1:", server.errors())

    def test_restart_on_the_same_port(self):
        port, admin = free_port(), free_port()
        for _ in range(2):
            with Server(args=listen(port, admin)) as server:
                with Connection(server.decisions) as c:
                    c.send(decide())
                    self.assertEqual(c.answer().status, 200)

    def test_ready_when_it_says_so(self):
        with Server(plan(server="workers: 2")) as server:
            line = server.log("server_ready")[0]
            self.assertEqual(line["workers"], 2)
            self.assertEqual(ask(server.decisions, decide()).status, 200)
            self.assertEqual([x["event"] for x in server.log()][:2],
                             ["server_started", "server_ready"])

    def test_workers_option(self):
        with Server(plan(server="workers: 2"), args=["--workers", "3"]) as server:
            self.assertEqual(server.log("server_ready")[0]["workers"], 3)


class Sinks(unittest.TestCase):
    """stdout closed, full, or gone: decisions go on all the same, and it still ends well."""

    def check(self, port, admin):
        operations = ("127.0.0.1", admin)

        def ready():
            try:
                return get(operations, "/readyz").status == 200
            except ConnectionError:
                return False
        wait_for(ready, 30, "/readyz")
        for _ in range(50):
            body = decide(variant="bayes")  # absent posteriors: a line each
            self.assertEqual(ask(("127.0.0.1", port), body).status, 200)

    def test_stdout_closed(self):
        port, admin = free_port(), free_port()
        with Server(args=listen(port, admin), wait=False, close_stdout=True) as server:
            self.check(port, admin)
            server.signal(signal.SIGINT)
            self.assertEqual(server.wait_exit(), 0)

    def test_stdout_full(self):
        port, admin = free_port(), free_port()
        with open("/dev/full", "wb") as full:
            with Server(args=listen(port, admin), wait=False, stdout=full) as server:
                self.check(port, admin)

    def test_stdout_gone(self):
        port, admin = free_port(), free_port()
        reader, writer = os.pipe()
        with Server(args=listen(port, admin), wait=False, stdout=writer) as server:
            os.close(writer)
            os.close(reader)
            self.check(port, admin)

    def test_log_fifo_without_a_reader(self):
        """It is waited for by the scribe, and by nobody else; also where it came by a rotation."""
        for rotated in False, True:
            with self.subTest(rotated):
                port, admin = free_port(), free_port()
                directory = tempfile.mkdtemp(prefix="interlude-test-")
                self.addCleanup(shutil.rmtree, directory)
                fifo = os.path.join(directory, "log")
                if not rotated:
                    os.mkfifo(fifo)
                text = plan(log="level: info, sink: {file: %s}" % fifo)
                with Server(text, args=listen(port, admin), wait=False) as server:
                    self.check(port, admin)
                    if rotated:
                        os.unlink(fifo)
                        os.mkfifo(fifo)
                        server.signal(signal.SIGUSR1)
                    self.check(port, admin)
                    server.signal(signal.SIGINT)
                    self.assertEqual(server.wait_exit(), 0)

    def test_stdout_not_read(self):
        port, admin = free_port(), free_port()
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        try:
            while True:
                os.write(writer, b"x" * 4096)
        except BlockingIOError:
            pass
        os.set_blocking(writer, True)
        with Server(args=listen(port, admin), wait=False, stdout=writer) as server:
            os.close(writer)
            self.check(port, admin)
            server.signal(signal.SIGINT)
            self.assertEqual(server.wait_exit(), 0)
        os.close(reader)
