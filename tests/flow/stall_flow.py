"""Threads that stand still, alone and all together: who is accused, who is not, and what goes on."""

import os
import pty
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from lib import server as server_module
from lib.faults import Told, fire, plan_text
from lib.server import Server, free_port, is_sanitized, plan, wait_for
from lib.wire import Connection, decide, get, request

LIMIT_S = 5.5  # a little more than it takes to be found out


class Stall(unittest.TestCase):
    """All of them stand still at once, each in its own server, so that all is told in six seconds."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="interlude-stall-")
        cls.servers = []
        cls.addClassCleanup(cls.tidy)
        cls.stopped = cls.serve()
        cls.sanitized = is_sanitized(cls.stopped) or cls.has_sanitizers()
        if not cls.sanitized:
            library = os.path.join(cls.directory, "stuck.so")
            source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "stuck.c")
            subprocess.run([os.environ.get("CC") or "cc", "-std=gnu11", "-D_GNU_SOURCE", "-shared",
                            "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", library, source,
                            "-ldl", "-pthread"], check=True)
            cls.loops_file = os.path.join(cls.directory, "loops")
            cls.loops_hang = cls.serve(environment={"LD_PRELOAD": library,
                                                    "STUCK_FILE": cls.loops_file})
            cls.held = Connection(cls.loops_hang.operations, seconds=60)
            cls.addClassCleanup(cls.held.close)
            assert cls.ask(cls.held, "/healthz").status == 200
            with open(cls.loops_file + ".new", "w") as f:
                f.write("worker-1\nacceptor\n")
            os.rename(cls.loops_file + ".new", cls.loops_file)
        cls.log_hangs, cls.terminal = cls.serve_terminal()
        cls.began = time.monotonic()
        # What is asked while it stands still is what it answers first.
        cls.waiting = Connection(cls.stopped.operations, seconds=60)
        cls.addClassCleanup(cls.waiting.close)
        assert cls.ask(cls.waiting, "/healthz").status == 200
        cls.stopped.signal(signal.SIGSTOP)
        cls.waiting.send(request("/healthz", None, "GET"))

    @classmethod
    def tidy(cls):
        cls.stopped.signal(signal.SIGCONT)
        shutil.rmtree(cls.directory)  # nothing is stuck any more
        for server in cls.servers:
            server.close()

    @staticmethod
    def has_sanitizers():
        flags = os.path.join(os.path.dirname(server_module.BINARY), "flags")
        with open(flags) as f:
            return "-fsanitize=" in f.read()

    @classmethod
    def serve(cls, **more):
        cls.servers.append(Server(plan(server="workers: 2"), **more))
        return cls.servers[-1]

    @classmethod
    def serve_terminal(cls):
        """A terminal that nobody reads says that it has room, and then lets the writer wait."""
        master, terminal = pty.openpty()
        cls.addClassCleanup(os.close, master)
        decisions, operations = free_port(), free_port()
        server = Server(plan_text(), stdout=terminal, wait=False, args=[
            "--listen", "127.0.0.1:%d" % decisions, "--admin", "127.0.0.1:%d" % operations])
        os.close(terminal)
        cls.servers.append(server)
        server.decisions, server.operations = ("127.0.0.1", decisions), ("127.0.0.1", operations)
        wait_for(lambda: socket.socket().connect_ex(server.operations) == 0, 30, "its port")
        fire(server, 200)
        return server, master

    @staticmethod
    def ask(connection, path):
        connection.send(request(path, None, "GET"))
        return connection.answer()

    def stalled(self, text):
        """The threads that interlude_thread_stalled tells, and those it says stand still."""
        samples = [line.split('"')[1:] for line in text.split("\n")
                   if line.startswith("interlude_thread_stalled{")]
        return [name for name, _ in samples], [name for name, rest in samples if rest == "} 1"]

    ALL = ["worker-0", "worker-1", "acceptor", "scribe", "reload"]

    def test_a_log_that_hangs(self):
        """Every replica turned red for it, though all decisions were served."""
        server = self.log_hangs
        with Connection(server.operations, seconds=60) as operations, \
                Connection(server.decisions, seconds=60) as decisions:
            def told():
                self.assertEqual(self.ask(operations, "/healthz").status, 200)
                decisions.send(decide(variant="nobody"))
                self.assertEqual(decisions.answer().status, 200)
                names, stalled = self.stalled(self.ask(operations, "/metrics").body.decode())
                self.assertEqual(set(names) & set(self.ALL[2:]), set(self.ALL[2:]))
                return stalled
            wait_for(lambda: told() == ["scribe"], 60, "a scribe that stands still")
            self.assertGreater(time.monotonic() - self.began, 4.5)
            threading.Thread(target=self.read_terminal, daemon=True).start()
            wait_for(lambda: told() == [], 60, "a scribe that turns")

    def read_terminal(self):
        try:
            while os.read(self.terminal, 65536):
                pass
        except OSError:  # its other end is closed
            pass

    def test_a_loop_that_hangs(self):
        """A restart would mend it: that is what /healthz says."""
        if self.sanitized:
            self.skipTest("a sanitizer wants to be loaded first")
        accused = wait_for(lambda: self.accused(self.held), 60, "503")
        self.assertRegex(accused, r"^the thread (worker-1|acceptor) has not turned for \d+ s\n$")
        wait_for(lambda: self.stalled(self.ask(self.held, "/metrics").body.decode())[1]
                 == ["worker-1", "acceptor"], 60, "both of them")
        os.unlink(self.loops_file)
        wait_for(lambda: not self.accused(self.held), 60, "200")
        told = Told(self.loops_hang).samples["interlude_thread_stalled"]
        self.assertEqual(told, {(name,): 0.0 for name in self.ALL})

    def accused(self, connection):
        a = self.ask(connection, "/healthz")
        self.assertIn(a.status, (200, 503))
        return a.body.decode() if a.status == 503 else None

    def test_the_whole_process_stood_still(self):
        """Its own workers were accused of it, by the first probe after a pause."""
        time.sleep(max(0, self.began + LIMIT_S + 0.5 - time.monotonic()))
        self.stopped.signal(signal.SIGCONT)
        a = self.waiting.answer()
        self.assertEqual((a.status, a.body), (200, b"ok\n"))
        self.assertEqual(get(self.stopped.operations, "/healthz").status, 200)
