"""Signals that come while it starts. A FIFO as the plan holds the start at its first step."""

import os
import signal
import subprocess
import time
import unittest

from lib import server as lib_server
from lib.server import Server, plan
from lib.wire import ask, decide, get

PROGRAMS = "interlude", "interlude-lab"


def write(fd, text):
    os.set_blocking(fd, True)
    os.write(fd, text.encode())
    os.close(fd)


class StartSignals(unittest.TestCase):
    def serve(self, **more):
        server = Server(plan_fifo=True, wait=False, **more)
        self.addCleanup(server.close)
        return server

    def test_a_stop_ends_the_start(self):
        for program in PROGRAMS:
            for number, name in (signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "SIGINT"):
                with self.subTest(program, signal=name):
                    server = self.serve(program=program)
                    writer = server.plan_writer()
                    server.signal(number)
                    self.assertEqual(server.wait_exit(), 0)
                    os.close(writer)
                    self.assertIn("stopped by %s during the start" % name, server.errors())
                    self.assertNotIn("cannot be read", server.errors())

    def test_others_wait_for_its_end(self):
        """SIGHUP reloads after it, SIGUSR1 changes nothing; and the log tells it in order."""
        for program in PROGRAMS:
            with self.subTest(program):
                server = self.serve(program=program)
                writer = server.plan_writer()
                for _ in range(2):
                    server.signal(signal.SIGHUP)
                    server.signal(signal.SIGUSR1)
                server.write_plan(plan("t-2"))  # beside the FIFO, which is being read
                write(writer, plan("t-1"))
                self.assertEqual(server.wait_log("plan_reloaded")["version"], "t-2")
                lines = server.log()
                self.assertEqual([line["event"] for line in lines],
                                 ["server_started", "server_ready", "plan_reloaded"])
                self.assertEqual([line.get("version") for line in lines], ["t-1", "t-1", "t-2"])
                times = [line["timestamp"] for line in lines]
                self.assertEqual(times, sorted(times))
                host, port = lines[1]["listen"].rsplit(":", 1)
                self.assertEqual(ask((host, int(port)), decide()).json()["version"], "t-2")

    def test_a_stop_at_any_time(self):
        """Whatever step it meets: the process ends well, and what it logged has an end."""
        for i in range(20):
            with self.subTest(i):
                server = self.serve()
                writer = server.plan_writer()
                write(writer, plan(server="drain: 0s"))
                time.sleep(i * 0.0004)
                server.signal(signal.SIGTERM)
                self.assertEqual(server.wait_exit(), 0, server.errors())
                events = [line["event"] for line in server.log()]
                self.assertIn(events, (
                    [],
                    ["server_started", "server_stopped"],
                    ["server_started", "server_ready", "server_draining", "server_stopped"]))
                if "server_ready" not in events:
                    self.assertIn("stopped by SIGTERM during the start", server.errors())
                    self.assertNotIn("decisions at", server.errors())

    def test_nobody_writes_the_plan(self):
        for program in PROGRAMS:
            with self.subTest(program):
                server = self.serve(program=program)
                self.assertEqual(server.wait_exit(), 2)
                self.assertIn("plan.yaml cannot be read: nobody wrote to it within 2000 ms",
                              server.errors())

    def test_a_plan_that_stops_halfway(self):
        server = self.serve()
        writer = server.plan_writer()
        os.write(writer, plan()[:100].encode())
        self.assertEqual(server.wait_exit(), 2)
        os.close(writer)
        self.assertIn("it did not end within 2000 ms", server.errors())

    def test_a_plan_that_comes_through_a_fifo(self):
        server = self.serve()
        write(server.plan_writer(), plan("t-7"))
        ready = server.wait_log("server_ready")
        host, port = ready["admin"].rsplit(":", 1)
        self.assertEqual(get((host, int(port)), "/v1/plan").json()["version"], "t-7")

    def test_no_plan(self):
        with Server(args=["--config", "/nowhere/plan.yaml", "--listen", "127.0.0.1:0"],
                    wait=False) as server:
            self.assertEqual(server.wait_exit(), 2)
            self.assertIn("/nowhere/plan.yaml cannot be read: No such file", server.errors())

    def test_other_commands_end_as_ever(self):
        """check and decide serve nobody: ^C is their end, wherever they wait."""
        for command in ["check"], ["decide", "--config"]:
            with self.subTest(command):
                holder = self.serve()  # its directory has a FIFO
                holder.signal(signal.SIGTERM)
                holder.wait_exit()
                process = subprocess.Popen([lib_server.BINARY] + command + [holder.plan_path],
                                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
                writer = holder.plan_writer()
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(10), -signal.SIGINT)
                os.close(writer)
